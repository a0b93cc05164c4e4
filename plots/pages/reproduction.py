"""Writes REPRODUCTION.md, the verdicts on all claims of the papers, and the pages below it:
of each paper, with its figures and tables beside ours, and of the evidence for its claims.

examples:
  plots/reproduction.py results/claims.json results/claims/speedup.json -o REPRODUCTION.md

The first file is a result of `attnbench claims`, of all claims of experiments/claims.json.
The others are what figures and tables are made of, in any order; a figure, drawn by
plots/draw.py, is linked from the folder figures/ beside the first, and must be there.
What no file gives is named as not measured. The pages below are results/PAPER.md and
results/claims/PAPER.md in the folder of -o.

A pure function of these files, results/published/ and the ledger. What is wrong with
one is one line on stderr, exit code 2, and no page.
"""

import collections
import functools
import os
import re

from pages import (
    claims_markdown,
    markdown,
    matcha_cost,
    not_attempted,
    paper_page,
    published_markdown,
    reproduction_figures,
)
from attnbench.analysis import (
    ROOT,
    claims_result,
    command,
    load,
    published,
    reads,
    whole_decoders,
    whole_file,
    words,
)

# What a run of one's own may find instead, by kind of claim.
TOLERATED = (
    ("identity, numerics", "exact quantities and errors, of drawn numbers that are the same "
     "everywhere", "none; an error may differ in its last digits with the SIMD level"),
    ("cost", "counts and bytes, the same everywhere, and times of your machine",
     "`undecided`, where the interval of a time contains a bound; times and their "
     "ratios are those of your machine"),
    ("learned", "the committed results of training, which no run makes again", "none"),
)
COMMANDS = (
    ("`scripts/reproduce.sh`", "smaller grids, fewer rounds",
     "about 5 minutes on 2 idle cores; the first time also installs packages by sudo, "
     "and builds",
     "`out/quick/REPRODUCTION.md`"),
    ("`scripts/reproduce.sh --full`", "what the verdicts below were judged by",
     "about 5 hours; it says first how long", "`out/full/REPRODUCTION.md`"),
)
OF_NO_PAPER = ("speed", "latency", "stability", "trained", "operators", "decoder")


def main(arguments=None):
    parser = command.parser("reproduction.py", __doc__)
    parser.add_argument("claims", metavar="CLAIMS")
    parser.add_argument("results", nargs="*", metavar="RESULT")
    parser.add_argument("-o", "--output", metavar="FILE", required=True,
                        help="e.g. -o REPRODUCTION.md")
    options = parser.parse_args(arguments)
    output = options.output
    try:
        made = pages(options.claims, options.results, output)
        for path in made:
            why = whole_file.refusal(path, [options.claims, *options.results])
            if why:
                return command.fail(f"{path}: {why}", parser.prog)
        for output in made:
            os.makedirs(os.path.dirname(output) or ".", exist_ok=True)
        for output, text in made.items():
            whole_file.write(output, text.encode(errors="replace"))
    except load.DataError as error:
        return command.fail(error, parser.prog)
    except OSError as error:
        return command.fail(
            f"{output}: cannot be written: {error.strerror}", parser.prog
        )
    return 0


def pages(claims_path, result_paths, output):
    """Path -> text of all pages; that of verdicts is `output`."""
    run = Run(claims_path, result_paths)
    folder, top = os.path.split(output)
    results = os.path.join(folder, "results")
    made = {output: _top(run, Links(run, folder))}
    for paper in published.papers():
        name = f"{paper['paper']['key'].lower()}.md"
        of_claims = os.path.join(results, "claims")
        made[os.path.join(results, name)] = paper_page.lines(
            paper, run, Links(run, results), f"claims/{name}", f"../{top}")
        made[os.path.join(of_claims, name)] = _evidence(
            paper["paper"]["key"], run, Links(run, of_claims), f"../{name}")
    return {path: markdown.page(lines) for path, lines in made.items()}


class Run:
    """What the pages are made of."""

    def __init__(self, claims_path, result_paths):
        # The claims themselves may be among `results/*.json`.
        paths = [path for path in result_paths
                 if os.path.realpath(path) != os.path.realpath(claims_path)]
        self.result = claims_result.read(claims_path)
        self.claims = self.result["claims"]
        self.figures = reproduction_figures.drawn(paths)
        self.figures_folder = os.path.join(os.path.dirname(claims_path), "figures")
        self.decoders = decoders(paths)
        # File -> context, of the files that verdicts were read from: they may be older
        # than their judgement, and of another machine.
        files = {evidence["file"] for claim in self.claims
                 for evidence in claim["evidence"]} - {None}
        self.measured = {path: load.read_json(path)["context"]
                         for path in map(there, sorted(files)) if os.path.exists(path)}

    def claims_of(self, paper):
        return [claim for claim in self.claims if claim["source"].split()[0] == paper]

    def warnings(self):
        """Those of all files, each once, although the claims repeat those behind them."""
        contexts = {os.path.realpath(path): context for path, context in (
            *self.measured.items(),
            *(pair for drawn in self.figures.values()
              for pair in zip(drawn.paths, drawn.contexts)))}
        of_files = sum((context["warnings"] for context in contexts.values()), [])
        repeated = collections.Counter(self.result["context"]["warnings"])
        return list((collections.Counter(of_files) | repeated).elements())

    @functools.cached_property
    def cells(self):
        return {path: [{**cell, "reads": reads.of(cell, context)}
                       for cell in load.read_json(path).get("cells", [])]
                for path, context in self.measured.items()}


class Links:
    """Links of a page in a folder."""

    def __init__(self, run, folder):
        self.run, self.folder = run, folder or "."

    def to(self, path):
        return os.path.relpath(path, self.folder)

    def file(self, name, path):
        """A link to a file that is there; otherwise its name alone."""
        if path is None or not os.path.exists(there(path)):
            return markdown.text(name)
        return markdown.link(name, self.to(there(path)))

    def evidence(self, name, path):
        """The link to a file of evidence, and the SIMD level of its machine."""
        context = self.run.measured.get(path and there(path), {})
        level = context.get("simd")
        return self.file(name, path) + (f" ({level})" if level else "")

    def root(self, name):
        return f"[{name}]({self.to(os.path.join(ROOT, name))})"


def there(path):
    """Paths in results are those of who ran the program, in the project's folder."""
    return path if os.path.exists(path) else os.path.join(ROOT, path)


# ---- the page of all verdicts -----------------------------------------------


def _top(run, links):
    quick, papers = run.result["quick"], published.papers()
    claims = [line for paper in papers for line in (
        f"### {paper['paper']['key']}", "",
        *claims_markdown.verdict_table(run.claims_of(paper["paper"]["key"]),
                                       run.result["expected"], _page(paper)), "")]
    return [
        f"# Reproduction{' (quick run)' if quick else ''}",
        "",
        *([f"**{claims_result.QUICK_RUN}**", ""] if quick else []),
        "`plots/reproduction.py` writes this page; do not edit it. We ran again what three "
        "papers report. This page has a verdict on each of their claims; a page for each paper has "
        "its claims, figures and tables beside ours, in the paper's order: "
        + ", ".join(f"[{paper['paper']['key']}]({_page(paper)})" for paper in papers)
        + ". These lead to the evidence. What a verdict means is in "
        f"{links.root('docs/claims.md')}. What no paper has is in "
        + ", ".join(links.root(f"docs/{name}.md") for name in OF_NO_PAPER) + ".",
        "",
        *_running(run, links),
        *_expectations(run),
        "## Claims",
        "",
        *claims_result.summary(run.claims).replace(". ", ".\n- ").splitlines(),
        "",
        *claims,
        "## Not attempted",
        "",
        *not_attempted.lines(papers),
        "",
        *published_markdown.corpora(papers),
        *_warnings(run.warnings()),
    ]


def _page(paper):
    return f"results/{paper['paper']['key'].lower()}.md"


def _running(run, links):
    context, measured = run.result["context"], list(run.measured.values())
    commits = sorted({(one["commit"] or "unknown")[:10] for one in measured})
    dates = sorted(one["date"] for one in measured)
    return [
        "## Running it",
        "",
        *markdown.table(("command", "measures", "takes", "writes"), COMMANDS),
        "",
        "Both write this page and those below it, and name the verdicts that are not the "
        f"expected ones, of {links.root('results/claims.json')}.",
        "",
        "## Hardware",
        "",
        *machines(run.measured or {run.result["path"]: context}),
        "",
        f"Judged by `{context['command']}`. {markdown.text(words.run_text(context))}"
        + (f" Judged from results of commit {', '.join(commits)}, begun from {dates[0]} to "
           f"{dates[-1]}." if measured else ""),
        "",
    ]


def machines(measured):
    """Lines of a table with a row for each kind of machine, of file -> context. What is not
    known is left out.
    """
    kinds = {}
    for path, context in sorted(measured.items()):
        kinds.setdefault(words.machine_text(context), []).append((path, context))
    rows = []
    for kind, of_kind in sorted(kinds.items()):
        known = zip(*(_known(context) for _, context in of_kind))
        rows.append([kind, *(" or ".join(dict.fromkeys(filter(None, texts))) or None
                             for texts in known),
                     ", ".join(os.path.basename(path) for path, _ in of_kind)])
    head = ("machine", "cores", "memory", "caches", "kernel", "compiler", "flags", "results")
    return markdown.table(head, [list(map(markdown.text, row)) for row in rows])


def _known(context):
    cores, size = context.get("cores"), context.get("memory_bytes")
    return (cores and str(cores), size and f"{size / 2**30:.1f} GiB",
            ", ".join(context.get("caches") or []),
            *(context.get(name) for name in ("kernel", "compiler", "flags")))


def _expectations(run):
    verdicts = {claim["id"]: claim["verdict"] for claim in run.claims}
    return [
        "## What to expect",
        "",
        "The verdicts below are those of the machines above. A run of your own gives the same, "
        "with these differences:",
        "",
        *markdown.table(("claims of", "are judged by", "difference that is tolerated"),
                        TOLERATED),
        "",
        "[Figure 8 of MAD](results/mad.md#mad-figure-8) and the two claims behind it are "
        "decided with Eigen 3.2 alone (`--eigen DIR`), [gradients of a product](results/mad.md#mad-cumprod-gradient) and "
        "[memory of MAtChA](results/mocha.md#matcha-memory) with PyTorch alone "
        "(`scripts/setup.sh --training`): without them these claims stay open.",
        "",
        *_others("The committed quick run", run.result["by_quick"], run.result["expected"]),
        *_others("This run", verdicts, run.result["expected"]),
    ]


def _others(run, verdicts, expected):
    """Says which verdicts of a run, by their claims, are not those expected."""
    found = {}
    for name in sorted(expected.keys() & verdicts.keys()):
        kind = claims_result.kind(verdicts[name])
        if kind != claims_result.kind(expected[name]):
            found.setdefault(kind, []).append(name)
    told = "; ".join(f"**{kind}** of {', '.join(names)}"
                     for kind, names in sorted(found.items()))
    number = sum(map(len, found.values()))
    return [f"{run} gives {number} other verdicts: {told}.", ""] if found else []


def _warnings(warnings):
    """Counts warnings that say the same of other numbers."""
    if not warnings:
        return []
    counted = collections.Counter(re.sub(r"\b\d[\d.]*\b", "…", text) for text in warnings)
    return [
        "",
        "## Warnings",
        "",
        f"Warnings that these results carry: {len(warnings)}, of {len(counted)} kinds (… "
        "stands for numbers that differ).",
        "",
        *[f"- {count} time{'s'[count == 1:]}: {markdown.text(text)}"
          for text, count in counted.most_common()],
    ]


# ---- the evidence -----------------------------------------------------------


def _evidence(key, run, links, page):
    lines = [
        f"# Evidence for the claims of {key}",
        "",
        "`plots/reproduction.py` writes this page; do not edit it. It shows what each verdict "
        "was read from: every group of readings, then the files and the places in them that "
        f"decide, with the SIMD level of the machine. [The page of the paper]({page}) has the figures "
        "that decide beside the paper's.",
        "",
    ]
    for claim in run.claims_of(key):
        lines += claims_markdown.evidence(claim, links.evidence)
        lines += _without_context(claim, run)
        if claim["id"] == matcha_cost.CLAIM:
            lines += _matcha_cost(run, links)
    return lines[:-1]


def _without_context(claim, run):
    """Says of a claim that is judged by times how many of its cells are marked."""
    ends = [claims_result.ends(part["groups"])
            for part in claims_result.own_parts(claim)]
    if not any(reading["interval"] for pair in ends if pair for reading in pair):
        return []
    cells = {}
    for evidence in claim["evidence"]:
        found = re.fullmatch(r"cells\[(\d+)\]", evidence["place"] or "")
        path = evidence["file"] and there(evidence["file"])
        if found and path in run.measured:
            cells[path, found[1]] = run.cells[path][int(found[1])]
    marked = sum(map(reads.is_marked, cells.values()))
    if not marked:
        return []
    return [f"In {marked} of the {len(cells)} cells of this evidence over "
            f"{100 * reads.MOST_EMPTY:.0f} % of the outputs have no context, so part of "
            "their speed is that of a decoder that attends to nothing.", ""]


def _matcha_cost(run, links):
    if matcha_cost.FIGURE not in run.figures:
        return []
    (path,) = run.figures[matcha_cost.FIGURE].paths
    note = matcha_cost.note(load.load(path))
    link = links.file(os.path.basename(path), path)
    return [f"{markdown.text(note)} From {link}.", ""] if note else []


def decoders(paths):
    """The cells of whole decoders by their model (whole_decoders.MODEL)."""
    found = {}
    for path in paths:
        document = load.read_json(path)
        if document.get("kind") != "sweep":
            continue
        load.require_kind(document, path, "sweep")
        cells = load.cells_of(document, path)
        cells = cells[(cells["scope"] == load.DECODER)
                      & (cells["output_length"] == cells["memory_length"])]
        if cells.empty:
            continue
        for model, of_model in cells.groupby(list(whole_decoders.MODEL)):
            if not published_markdown.is_measured(model, of_model["memory_length"]):
                continue
            if model in found:
                raise load.DataError(
                    path,
                    "has whole decoders of "
                    f"{', '.join(map(str, model))} ({', '.join(whole_decoders.MODEL)}), "
                    "as has another file",
                )
            found[model] = of_model
    return found
