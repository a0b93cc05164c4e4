"""Prints which number of a trained model tells what decoding by the threshold will lose.

examples:
  plots/predictors.py clipping.json
  plots/predictors.py results/training/clipping.json results/training/g2p.json \\
    results/training/energies.json results/training/guide.json --into docs/clipping.md

The loss of a run is its error by the threshold less that by the expectation. The table has
Spearman's rank correlation of each number with the loss, over all runs of a result that
choose, with its 95 % interval, of 2,000 samples of its alternatives, drawn with replacement,
each with all of its seeds. Where runs are of several folders of own data, each number and loss
is taken less its mean over the runs of its folder. Each result has a column.

With --into the table also goes between the lines <!-- predictors --> and
<!-- /predictors --> of a file.
"""

import numpy

from attnbench.analysis import command, intervals, load, series, trained
from pages import markdown, page, trained_table

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


def table(documents):
    """Of (document, its path)s: a column each."""
    counts, columns = zip(*(_of_runs(trained.Runs(document), path) for document, path in documents))
    titles = [trained_table.title(document, f", {count}")
              for (document, _), count in zip(documents, counts)]
    rows = [[words_of, *(texts.get(measure, markdown.NONE) for texts in columns)]
            for measure, words_of in PREDICTORS.items() if any(measure in one for one in columns)]
    head = ("rank correlation of the loss with",
            *(markdown.text(trained_table.experiment(document)) for document, _ in documents))
    return "\n".join(["\n\n".join(titles), "", *markdown.table(head, rows), ""])


def _of_runs(runs, path):
    """(what they are of, {measure that all of them have: its correlation})"""
    losses = {name: runs.values(name, "lost") for name in runs.names}
    losses = {name: lost for name, lost in losses.items() if lost is not None}
    data = [runs.data(name) for name in losses]
    shown = {measure: [runs.values(name, measure) for name in losses] for measure in PREDICTORS}
    lost = list(losses.values())
    texts = {measure: _text(*correlation(within(numbers, data), within(lost, data)))
             for measure, numbers in shown.items()
             if len(lost) >= 3 and not any(of_seeds is None for of_seeds in numbers)}
    if not texts:
        raise load.DataError(path, "has no three alternatives that choose, with numbers of p")
    return f"{sum(map(len, lost))} runs of {command.counted(len(lost), 'alternative')}", texts


def within(numbers, data):
    """Arrays [seeds] of alternatives, less the mean of all runs on the same data."""
    folders = numpy.concatenate(data)
    values = numpy.concatenate(numbers)
    means = {folder: values[folders == folder].mean() for folder in set(folders)}
    return [of_seeds - [means[folder] for folder in of] for of_seeds, of in zip(numbers, data)]


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
    parser.add_argument("files", metavar="RESULT", nargs="+")
    parser.add_argument("--into", metavar="FILE", help="e.g. docs/clipping.md")
    options = parser.parse_args(arguments)

    def make():
        return table([(load.read(path, "trained"), path) for path in options.files])

    return page.print_into(parser.prog, make, options.into, BEGIN, END)
