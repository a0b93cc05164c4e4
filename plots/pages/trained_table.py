"""Prints what a result of `attnbench train` says, as a table in Markdown.

examples:
  plots/trained.py stretch.json
  plots/trained.py stretch.json --quantities results/training/monotonic.json

Errors are token error rates in percent over the held-out set, by the expectation and by
the hard process; the mean over seeds, with its 95 % interval. `discrete` is the share of
p outside 0.05 to 0.95, `mass` the probability that an output chooses an entry, `steps`
how many it takes to 90 % accuracy, by the curve.

With --into FILE the table also goes between the lines <!-- trained NAME --> and
<!-- /trained NAME --> of a file, NAME being the result's without .json.

--quantities writes what the ledger of claims reads (`attnbench claims`): the experiment
stretch gives results/training/monotonic.json, reorder and copy a file of their name.
"""

import math
import os

from analysis import command, load, trained, whole_file, words
from pages import markdown, page

HEAD = ("alternative", "seeds", "expected, %", "hard, %", "discrete", "mass", "steps",
        "seconds")


def table(runs):
    rows = []
    for name in runs.names:
        expected = runs.mean(name, "expected")
        rows.append([
            markdown.text(name), str(expected.count if expected else 0),
            _text(expected, 2), _text(runs.mean(name, "hard"), 2),
            _text(runs.mean(name, "discrete"), 3), _text(runs.mean(name, "mass"), 3),
            _text(runs.mean(name, "steps"), 0), _text(runs.mean(name, "seconds"), 0),
        ])
    document = runs.document
    head = (f"{document['experiment']}{', quick' if document['quick'] else ''}. "
            + words.context_text(document["context"]))
    return "\n".join([head, "", *markdown.table(HEAD, rows), ""])


def _text(found, digits):
    if found is None or not math.isfinite(found.value):
        return markdown.NONE
    text = f"{found.value:.{digits}f}"
    if found.interval is None:
        return text
    low, high = found.interval
    return f"{text} [{low:.{digits}f}, {high:.{digits}f}]"


def quantities_text(runs):
    """A document of kind `training`."""
    context = runs.document["context"]
    members = ("commit", "dirty", "cpu", "date", "valid", "invalid_reasons", "warnings")
    document = {"schema_version": 1, "kind": "training",
                "context": {key: context[key] for key in members},
                "quantities": trained.quantities(runs)}
    return load.document_text(document)


def main(arguments=None):
    parser = command.parser("trained.py", __doc__)
    parser.add_argument("file", metavar="RESULT")
    parser.add_argument("--into", metavar="FILE", help="e.g. docs/training.md")
    parser.add_argument("--quantities", metavar="FILE",
                        help="e.g. results/training/copy.json; is replaced")
    options = parser.parse_args(arguments)

    def make():
        runs = trained.Runs(load.read(options.file, "trained"), options.file)
        if options.quantities is not None:
            whole_file.write(options.quantities, quantities_text(runs).encode())
        return table(runs)

    name = f"trained {os.path.splitext(os.path.basename(options.file))[0]}"
    return page.print_into(
        parser.prog, make, options.into, f"<!-- {name} -->\n", f"<!-- /{name} -->\n")
