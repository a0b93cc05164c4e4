"""Prints which number of a trained model tells what decoding by the threshold will lose.

examples:
  plots/predictors.py clipping.json
  plots/predictors.py results/training/clipping.json --into docs/clipping.md

The loss of a run is its error by the threshold less that by the expectation. The table has
Spearman's rank correlation of each number with the loss, over all runs that choose, with
its 95 % interval, of 2,000 samples of alternatives, drawn with replacement, each with all of
its seeds.

With --into the table also goes between the lines <!-- predictors --> and
<!-- /predictors --> of a file.
"""

import numpy

from attnbench.analysis import command, intervals, load, series, trained, words
from pages import markdown, page

BEGIN, END = "<!-- predictors -->\n", "<!-- /predictors -->\n"
SAMPLES = 2000
# Measure (trained.MEASURES) -> what it is in words.
PREDICTORS = {
    "variation": "total variation of outputs, expectation against threshold",
    "discrete": "share of p outside 0.05 to 0.95",
    "entropy": "entropy of alpha",
    "expected": "error by the expectation",
    "mass": "probability that an output chooses an entry",
}


def table(runs, path):
    losses = [(name, runs.values(name, "lost")) for name in runs.names]
    losses = [(name, lost) for name, lost in losses if lost is not None]
    shown = {measure: [runs.values(name, measure) for name, _ in losses]
             for measure in PREDICTORS}
    shown = {measure: numbers for measure, numbers in shown.items()
             if not any(of_seeds is None for of_seeds in numbers)}
    if len(losses) < 3 or not shown:
        raise load.DataError(path, "has no three alternatives that choose, with numbers of p")
    lost = [values for _, values in losses]
    rows = [[PREDICTORS[measure], _text(*correlation(numbers, lost))]
            for measure, numbers in shown.items()]
    document = runs.document
    title = markdown.paragraph(
        f"{document['experiment']}{', quick' if document['quick'] else ''}, "
        f"{sum(map(len, lost))} runs of {command.counted(len(lost), 'alternative')}. "
        + words.context_text(document["context"]))
    head = ("number of a trained model", "rank correlation with the loss")
    return "\n".join([title, "", *markdown.table(head, rows), ""])


def correlation(numbers, lost):
    """Gives Spearman's correlation of two lists, of arrays [seeds] of alternatives, and the
    ends of its interval.
    """
    random = numpy.random.default_rng(1)

    def of(places):
        x, y = (numpy.concatenate([side[place] for place in places]) for side in (numbers, lost))
        return float(series.rank_correlation(x, y[:, None])[0])

    drawn = [of(random.integers(len(lost), size=len(lost))) for _ in range(SAMPLES)]
    return of(range(len(lost))), *intervals.of_draws(drawn)


def _text(value, low, high):
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"


def main(arguments=None):
    parser = command.parser("predictors.py", __doc__)
    parser.add_argument("file", metavar="RESULT")
    parser.add_argument("--into", metavar="FILE", help="e.g. docs/clipping.md")
    options = parser.parse_args(arguments)

    def make():
        return table(trained.Runs(load.read(options.file, "trained")), options.file)

    return page.print_into(parser.prog, make, options.into, BEGIN, END)
