"""Intervals of times and of ratios: how sure a number is.

They are of order statistics where there are values enough: no distribution is
assumed, no random numbers are needed, and the coverage is known exactly. Of many
that are shown together each is wider, so that all of them hold together.
harness/stats/statistics.h says why; a test holds its formulas to these.
"""

import math

import numpy
from scipy import stats

# The share of cases in which an interval may miss, where nothing else is said.
MISS = 0.05
# Layout of code and memory alone is taken to move a time by as much, which fewer
# processes do not show: kLayoutFactor and kLeastProcesses of harness/stats/statistics.h.
LAYOUT_FACTOR = 1.18
LEAST_PROCESSES = 5


def has_few_processes(cell):
    return (cell.get("processes") or 1) < LEAST_PROCESSES


def median_interval(values, level=0.95):
    """(median, low, high, coverage) by order statistics: the whole range, with its
    lower coverage, where there are too few values for `level`.
    """
    low, high, missed = _order_interval(values, 1 - level)
    return float(numpy.median(values)), low, high, max(0.0, 1 - missed)


def center_interval(values, miss):
    """(low, high) of positive values: log_center_interval of their logarithms;
    (0, infinity) where one is 0 and order statistics do not serve.
    """
    if has_order_interval(len(values), miss):
        return _order_interval(values, miss)[:2]
    if min(values) <= 0:
        return 0.0, math.inf
    low, high = log_center_interval(numpy.log(values), miss)
    return math.exp(low), math.exp(high)


def log_center_interval(logs, miss):
    """(low, high) of logarithms, which misses their centre with probability `miss` at
    most.

    By order statistics where there are enough values, 1 + log2(1 / miss);
    otherwise Student's of the mean; of one value without an end.
    """
    if has_order_interval(len(logs), miss):
        return _order_interval(logs, miss)[:2]
    if len(logs) == 1:
        return -math.inf, math.inf
    half = stats.t.isf(miss / 2, len(logs) - 1) * stats.sem(logs)
    return numpy.mean(logs) - half, numpy.mean(logs) + half


def has_order_interval(count, miss):
    """Whether the range of so many values misses seldom enough."""
    return 2 * 0.5**count <= miss


def _order_interval(values, miss):
    """(low, high, the probability that they miss the median).

    The k-th smallest and k-th largest of n values enclose the true median unless
    fewer than k of them fall on one side of it, which has the probability
    2 P(Binomial(n, 1/2) < k). The largest k for which that is at most `miss`; the
    range where there is none.
    """
    ordered = numpy.sort(numpy.asarray(values, dtype=float))
    n = len(ordered)
    missed = 2 * stats.binom.cdf(numpy.arange(max(1, n // 2)), n, 0.5)
    k = max(1, int((missed <= miss * (1 + 1e-12)).sum()))
    return float(ordered[k - 1]), float(ordered[n - k]), float(missed[k - 1])


def observations(samples, cell):
    """What an interval is over, of something for each sample of the cell.

    The rounds of its process; where several processes measured, the median of
    each: what differs from process to process is the same in all its rounds.
    """
    samples = numpy.asarray(samples, dtype=float)
    processes = cell.get("processes") or 1
    if processes == 1:
        return samples
    return numpy.median(samples.reshape(processes, -1), axis=1)


def joint_level(cells, level=0.95):
    """The level of each interval at which all of them together have `level`.

    Bonferroni's, over the cells that were measured: of hundreds of intervals
    at 95 percent each, many would miss.
    """
    return 1 - (1 - level) / max(1, int((cells["status"] == "ok").sum()))


def coverage_text(ratios):
    """'coverage 99.9 % each, 97 % or more all 24 together' of records."""
    missed = [1 - ratio["coverage"] for ratio in ratios]
    each = f"coverage {100 * (1 - max(missed)):.4g} %"
    if len(missed) == 1:
        return each
    together = max(0, 1 - sum(missed))
    return (
        f"{each} each, {100 * together:.3g} % or more all {len(missed)} together"
    )


def times(cells):
    """The cells with `value`, `low`, `high`: the result's own, in ns."""
    spans = [span or (math.nan, math.nan) for span in cells["interval_ns"]]
    return cells.assign(
        value=cells["median_ns"],
        low=[span[0] for span in spans],
        high=[span[1] for span in spans],
    )
