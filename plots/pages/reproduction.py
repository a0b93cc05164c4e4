"""Writes REPRODUCTION.md: every claim of the papers with its verdict, and their
figures and tables beside ours.

examples:
  plots/reproduction.py results/claims.json results/claims/speedup.json -o REPRODUCTION.md
  plots/reproduction.py results/claims.json results/*.json results/claims/decoder.json

The first file is a result of `attnbench claims`, of all claims of experiments/claims.json.
The others are what figures and tables are made of, in any order; a figure, drawn by
plots/draw.py, is linked from the folder figures/ beside the first, and must be there.
What no file gives is named as not measured. Without -o the page is printed.

A pure function of these files, results/published/ and the ledger. What is wrong with
one is one line on stderr, exit code 2, and no page.
"""

import functools
import os
import re
import sys

from pages import (
    claims_markdown,
    crossover_table,
    markdown,
    matcha_cost,
    not_attempted,
    published_markdown,
    reproduction_figures,
)
from analysis import (
    ROOT,
    claims_result,
    command,
    crossover,
    load,
    published,
    reads,
    whole_decoders,
    whole_file,
    words,
)

def main(arguments=None):
    parser = command.parser("reproduction.py", __doc__)
    parser.add_argument("claims", metavar="CLAIMS")
    parser.add_argument("results", nargs="*", metavar="RESULT")
    parser.add_argument("-o", "--output", metavar="FILE", help="e.g. -o REPRODUCTION.md")
    options = parser.parse_args(arguments)
    output = options.output
    why = output and whole_file.refusal(output, [options.claims, *options.results])
    if why:
        return command.fail(f"{output}: {why}", parser.prog)
    try:
        text = page(options.claims, options.results, os.path.dirname(output or ""))
        if output is not None:
            whole_file.write(output, text.encode(errors="replace"))
    except load.DataError as error:
        return command.fail(error, parser.prog)
    except OSError as error:
        return command.fail(
            f"{output}: cannot be written: {error.strerror}", parser.prog
        )
    if output is None:
        sys.stdout.write(text)
    return 0


def page(claims_path, result_paths, folder):
    """The text of the page, its links seen from `folder`."""
    return "\n".join(Page(claims_path, result_paths, folder).lines()) + "\n"


class Page:
    def __init__(self, claims_path, result_paths, folder):
        # The claims themselves may be among `results/*.json`.
        paths = [path for path in result_paths
                 if os.path.realpath(path) != os.path.realpath(claims_path)]
        self.folder = folder or "."
        self.claims_path = claims_path
        self.result = claims_result.read(claims_path)
        self.measured = self._measured()
        self.figures_folder = os.path.join(os.path.dirname(claims_path), "figures")
        self.crossovers = [path for path in paths if is_of_crossovers(path)]
        others = [path for path in paths if path not in self.crossovers]
        self.figures = reproduction_figures.drawn(others)
        self.decoders = decoders(others)

    def lines(self):
        claims = self.result["claims"]
        papers = published.papers()
        return [
            *self._head(),
            "## Claims",
            "",
            claims_result.summary(claims),
            "",
            *claims_markdown.verdict_table(claims, self._evidence_link),
            "",
            "## What does not hold as it stands",
            "",
            *(claims_markdown.exceptions(claims) or ["Nothing."]),
            "",
            *[line for paper in papers for line in self._paper(paper)],
            "## What no paper has",
            "",
            *self._pictures(""),
            *self._crossovers(),
            "## Not attempted",
            "",
            *not_attempted.lines(papers),
            "",
            "## Corpora that are not free",
            "",
            *published_markdown.corpora(papers),
        ]

    def _head(self):
        context = self.result["context"]
        measured = self.measured
        quick = self.result["quick"]
        warnings = markdown.text("; ".join(context["warnings"]))
        return [
            f"# Reproduction{' (quick run)' if quick else ''}",
            "",
            *([f"**{claims_result.QUICK_RUN}**", ""] if quick else []),
            "Written by `plots/reproduction.py`; do not edit. What the three papers "
            "report, run again: every claim with a verdict, then paper by paper the "
            "figures, the tables and what each verdict was read from. "
            "`docs/claims.md` says what a verdict means.",
            "",
            markdown.text(words.context_text(context)),
            *_of_older(list(measured.values())),
            "",
            *machines(measured or {os.path.basename(self.claims_path): context}),
            "",
            f"Judged by {markdown.text(context['command'])}. In brackets behind a file of "
            "evidence: the SIMD level of its machine.",
            "",
            *([f"Warnings: {warnings}.", ""] if warnings else []),
        ]

    def _measured(self):
        """File -> context, of the files that verdicts were read from: they may be older
        than their judgement, and of another machine."""
        files = {evidence["file"] for claim in self.result["claims"]
                 for evidence in claim["evidence"]} - {None}
        there = [_there(file) for file in sorted(files)]
        return {path: load.read_json(path)["context"]
                for path in there if os.path.exists(path)}

    def _paper(self, paper):
        about = paper["paper"]
        key = about["key"]
        claims = [claim for claim in self.result["claims"]
                  if claim["source"].split()[0] == key]
        verdicts = {
            claim["id"]: f"{claims_markdown.name_link(claim)} "
                         f"{claims_result.kind(claim['verdict'])}"
            for claim in self.result["claims"]
        }
        lines = [
            f"## {key}",
            "",
            f"{markdown.text(about['authors'])}. [{markdown.text(about['title'])}]"
            f"(https://arxiv.org/abs/{about['arxiv']}). {markdown.text(about['venue'])}; "
            f"{markdown.text(about['version'])}.",
            "",
            f"### Figures of {key}",
            "",
            *self._pictures(key),
            f"Figures {not_attempted.numbers(key)} are "
            f"[not attempted](#{not_attempted.ANCHOR}) as the paper has them.",
            "",
            f"### Tables of {key}",
            "",
        ]
        for table in paper["tables"]:
            lines += published_markdown.table(table, self.decoders)
        lines += [
            f"### Numbers in the text of {key}",
            "",
            *published_markdown.statements(paper, verdicts),
            "",
            f"### Claims of {key}",
            "",
        ]
        for claim in claims:
            lines += claims_markdown.details(claim, self._evidence_link)
            lines += self._without_context(claim)
            if claim["id"] == matcha_cost.CLAIM:
                lines += self._matcha_cost()
        return lines

    def _without_context(self, claim):
        """Says of a claim that is judged by times how many of its cells are marked."""
        ends = [claims_result.ends(part["groups"])
                for part in claims_result.own_parts(claim)]
        if not any(reading["interval"] for pair in ends if pair for reading in pair):
            return []
        cells = {}
        for evidence in claim["evidence"]:
            found = re.fullmatch(r"cells\[(\d+)\]", evidence["place"] or "")
            path = evidence["file"] and _there(evidence["file"])
            if found and path in self.measured:
                cells[path, found[1]] = self._cells[path][int(found[1])]
        marked = sum(map(reads.is_marked, cells.values()))
        if not marked:
            return []
        return [f"In {marked} of the {len(cells)} cells of this evidence over "
                f"{100 * reads.MOST_EMPTY:.0f} % of the outputs have no context, so part of "
                "their speed is that of a decoder that attends to nothing.", ""]

    def _matcha_cost(self):
        if matcha_cost.FIGURE not in self.figures:
            return []
        (path,) = self.figures[matcha_cost.FIGURE].paths
        note = matcha_cost.note(load.load(path))
        link = self._file_link(os.path.basename(path), path)
        return [f"{markdown.text(note)} From {link}.", ""] if note else []

    def _pictures(self, key):
        lines = []
        for picture in reproduction_figures.PICTURES:
            if picture.paper == key:
                lines += self._picture(picture)
        return lines

    def _crossovers(self):
        lines = ["### From which length on", ""]
        for path in self.crossovers:
            lines += crossover_table.table(crossover.read(path)).splitlines() + [""]
        return lines if self.crossovers else [*lines, "Not measured in this run.", ""]

    def _picture(self, picture):
        if picture.figure not in self.figures:
            return [f"{picture.title}: not measured in this run.", ""]
        drawn = self.figures[picture.figure]
        image = os.path.join(self.figures_folder, f"{picture.figure}.png")
        if not os.path.exists(image):
            raise load.DataError(
                image,
                f"is not there; plots/draw.py --figure {picture.figure} "
                f"{' '.join(drawn.paths)} -o {self.figures_folder} draws it",
            )
        links = (self._file_link(os.path.basename(path), path) for path in drawn.paths)
        lines = [
            f"![{picture.title}]({self._relative(image)})",
            "",
            f"{picture.title}. {picture.caption} From {', '.join(links)}"
            + (f": {markdown.text(drawn.context)}" if drawn.context else "."),
            "",
            *(f"- {markdown.text(line)}" for line in drawn.lines),
        ]
        return [*lines, ""] if drawn.lines else lines

    def _evidence_link(self, name, path):
        """The link to a file of evidence, and the SIMD level of its machine."""
        context = self.measured.get(path and _there(path), {})
        level = context.get("simd")
        return self._file_link(name, path) + (f" ({level})" if level else "")

    def _file_link(self, name, path):
        """A link to a file that is there; otherwise its name alone."""
        there = path and _there(path)
        if path is None or not os.path.exists(there):
            return markdown.text(name)
        return markdown.link(name, self._relative(there))

    @functools.cached_property
    def _cells(self):
        return {path: load.read_json(path).get("cells", []) for path in self.measured}

    def _relative(self, path):
        return os.path.relpath(path, self.folder)


def _there(path):
    """Paths in results are those of who ran the program, in the project's folder."""
    return path if os.path.exists(path) else os.path.join(ROOT, path)


def is_of_crossovers(path):
    document = load.read_json(path)
    return (document.get("kind") == "sweep"
            and crossover.is_of_its_experiments(document))


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


def _of_older(contexts):
    """Says with what the files were measured that verdicts were read from."""
    if not contexts:
        return []
    commits = sorted({(context["commit"] or "unknown")[:10] for context in contexts})
    dates = sorted(context["date"] for context in contexts)
    return ["", f"Judged from results of commit {', '.join(commits)}, "
                f"begun from {dates[0]} to {dates[-1]}."]


def machines(measured):
    """Lines of a table with a column for each kind of machine, of file -> context. What is
    not known is left out.
    """
    kinds = {}
    for path, context in sorted(measured.items()):
        kinds.setdefault(words.machine_text(context), []).append((path, context))
    kinds = dict(sorted(kinds.items()))

    def memory(context):
        known = context.get("memory_bytes")
        return None if known is None else f"{known / 2**30:.1f} GiB"

    known = {
        "cores": lambda context: context.get("cores"),
        "caches": lambda context: ", ".join(context.get("caches") or []) or None,
        "memory": memory,
        "kernel": lambda context: context.get("kernel"),
        "compiler": lambda context: context.get("compiler"),
        "flags": lambda context: context.get("flags"),
    }
    rows = [["results", *(", ".join(os.path.basename(path) for path, _ in of_kind)
                          for of_kind in kinds.values())]]
    for name, of in known.items():
        texts = [
            " or ".join(dict.fromkeys(
                str(of(context)) for _, context in of_kind if of(context) is not None))
            for of_kind in kinds.values()
        ]
        if any(texts):
            rows.append([name, *(text or None for text in texts)])
    return markdown.table(
        ("", *map(markdown.text, kinds)),
        [[name, *map(markdown.text, texts)] for name, *texts in rows])
