"""Prints what a result of `attnbench train` says, as a table in Markdown.

examples:
  plots/trained.py stretch.json
  plots/trained.py results/training/copy.json --into docs/trained.md
  plots/trained.py results/quick/training/*.json --into docs/training.md

Errors are token error rates in percent over the held-out set, by the expectation and by
the threshold; the mean over seeds, with its 95 % interval, or what each of fewer than
5 seeds gave; "(all)": all seeds gave the same. `discrete` is the share of p outside 0.05
to 0.95, `mass` the probability that an output chooses an entry, `spread` that of the K
contexts of memory over the source, `steps` how many it takes to 20 % of error, by the
curve. Columns that say nothing of any alternative are left out.

A result with speakers has a second table: errors, by the threshold if there is a choice, on
speakers that training has heard and on those that it has not, the mean over them. Of all that is
held out it has the alignment error and lateness of choices against the true ends, and AP,
AL and DAL of the same choices. Times are in milliseconds, of data that have a `frame_ms`.

Where runs hold out several speakers, a third table has the errors on each by whom it was held
out, a number for each seed.

Of several results there is one table, with a row for each alternative of each: how long a run
took, and its errors.

With --into FILE the table also goes between the lines <!-- trained NAME --> and
<!-- /trained NAME --> of a file, NAME being the result's without .json, or `several`.
"""

import math
import os

import numpy

from attnbench.analysis import command, intervals, load, trained, words
from pages import markdown, page

# Measure of a column (trained.MEASURES): its head, and the decimals that it shows.
COLUMNS = {"expected": ("expected, %", 2), "threshold": ("threshold, %", 2),
           "beam": ("beam, %", 2), "sampled": ("sampled, %", 2),
           "discrete": ("discrete", 3), "mass": ("mass", 3), "spread": ("spread", 2),
           "steps": ("steps", 0)}
# The columns of the second table.
SPOKEN = {"heard": ("speakers heard, %", 2), "unheard": ("not heard, %", 2),
          "alignment_ms": ("alignment error, ms", 0), "lateness_ms": ("lateness, ms", 0),
          "ap": ("AP", 2), "al_ms": ("AL, ms", 0), "dal_ms": ("DAL, ms", 0)}


def table(runs):
    lines = [title(runs.document), "", *_table(runs, COLUMNS)]
    if any((run["result"] or {}).get("speakers") for run in runs.document["runs"]):
        lines += ["", *_table(runs, SPOKEN)]
    not_heard = _not_heard(runs)
    if len(not_heard) > 1:
        rows = [[markdown.text(name), *(
            ", ".join(f"{error:.2f}" for error in of_names.get(name, [])) or markdown.NONE
            for of_names in not_heard.values())] for name in runs.names]
        lines += ["", *markdown.table(
            ["alternative", *(f"{speaker} not heard, %" for speaker in not_heard)], rows)]
    return "\n".join([*lines, ""])


def overview(results):
    """Of several `Runs`."""
    shown = {measure: COLUMNS[measure] for measure in ("expected", "threshold")}
    rows = []
    for runs in results:
        for name in runs.names:
            seconds = [run["seconds"] for run in runs.finished(name)]
            rows.append([
                markdown.text(experiment(runs.document)), markdown.text(name),
                str(len(runs.seeds(name))),
                f"{numpy.mean(seconds):.0f}" if seconds else markdown.NONE,
                *(values_text(runs.values(name, measure), measure, digits)
                  for measure, (_, digits) in shown.items())])
    head = ["experiment", "alternative", "seeds", "seconds a run",
            *(head for head, _ in shown.values())]
    latest = {}  # of each commit and machine
    for runs in results:
        context = runs.document["context"]
        latest[context["commit"], words.machine_text(context)] = runs.document
    return "\n".join([markdown.paragraph(words.contexts_text(latest.values())), "",
                      *markdown.table(head, rows), ""])


def _not_heard(runs):
    """{speaker: {alternative: percent of error of each seed that has not heard the speaker}}"""
    found = {}
    for name in runs.names:
        for run in runs.finished(name):
            for one in trained.speakers(run, False):
                found.setdefault(one["speaker"], {}).setdefault(name, []).append(
                    trained.decoded(one))
    return dict(sorted(found.items()))


def _table(runs, heads):
    columns = {
        measure: [values_text(runs.values(name, measure), measure, digits) for name in runs.names]
        for measure, (_, digits) in heads.items()}
    shown = [measure for measure, texts in columns.items()
             if set(texts) != {markdown.NONE}]
    rows = [[markdown.text(name), str(len(runs.seeds(name)))]
            + [columns[measure][row] for measure in shown]
            for row, name in enumerate(runs.names)]
    head = ("alternative", "seeds", *(heads[measure][0] for measure in shown))
    return markdown.table(head, rows)


def experiment(document):
    return document["experiment"] + ", quick" * document["quick"]


def title(document, more=""):
    return markdown.paragraph(
        f"{experiment(document)}{more}. {words.context_text(document['context'])}")


def values_text(values, measure, digits):
    """Of the numbers of an alternative's seeds. What is infinite is no number."""
    is_few = values is not None and len(values) < intervals.FEWEST_SEEDS
    if values is None or not (numpy.any if is_few else numpy.all)(numpy.isfinite(values)):
        return markdown.NONE

    def text(value):
        return f"{value:.{digits}f}" if math.isfinite(value) else markdown.NONE

    if len(values) == 1:
        return text(values[0])
    if len(set(values)) == 1:
        return f"{text(values[0])} (all)"
    if is_few:
        return ", ".join(map(text, values))
    _, bounds = trained.MEASURES[measure]
    span = intervals.Seeds(tuple(values.tolist()), bounds).at()
    return f"{text(span.value)} [{text(span.low)}, {text(span.high)}]"


def main(arguments=None):
    parser = command.parser("trained.py", __doc__)
    parser.add_argument("files", metavar="RESULT", nargs="+")
    parser.add_argument("--into", metavar="FILE", help="e.g. docs/trained.md")
    options = parser.parse_args(arguments)

    def make():
        results = [trained.Runs(load.read(path, "trained")) for path in options.files]
        return overview(results) if len(results) > 1 else table(*results)

    of = (os.path.splitext(os.path.basename(options.files[0]))[0]
          if len(options.files) == 1 else "several")
    return page.print_into(parser.prog, make, options.into,
                           f"<!-- trained {of} -->\n", f"<!-- /trained {of} -->\n")
