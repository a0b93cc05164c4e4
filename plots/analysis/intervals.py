"""Intervals of times and of ratios: how sure a number is.

They are order statistics if there are enough values: these assume no distribution, need
no random numbers, and have an exactly known coverage. If many intervals are shown
together each is wider, so that all of them hold together. harness/stats/statistics.h
says why; a test holds its formulas to these.
"""

import math

import numpy
from scipy import stats

# The share of cases in which an interval may miss, unless something else is
# said.
MISS = 0.05
# Layout of code and memory alone is assumed to move a time by this much, which
# fewer processes do not show: kLayoutFactor and kLeastProcesses of
# harness/stats/statistics.h.
LAYOUT_FACTOR = 1.18
LEAST_PROCESSES = 5


def has_few_processes(cell):
    return cell["processes"] < LEAST_PROCESSES


def median_interval(values, level=0.95):
    """Gives (median, low, high, coverage) by order statistics: the whole range, with
    its lower coverage, if there are too few values for `level`.
    """
    low, high, missed = _order_interval(values, 1 - level)
    return float(numpy.median(values)), low, high, max(0.0, 1 - missed)


def center_interval(values, miss):
    """Gives (low, high) of positive values: log_center_interval of their logarithms;
    (0, infinity) if one is 0 and order statistics do not serve.
    """
    if has_order_interval(len(values), miss):
        return _order_interval(values, miss)[:2]
    if min(values) <= 0:
        return 0.0, math.inf
    low, high = log_center_interval(numpy.log(values), miss)
    return math.exp(low), math.exp(high)


def log_center_interval(logs, miss):
    """Gives (low, high) of logarithms, which misses their centre with probability
    `miss` at most.

    It comes from order statistics if there are enough values, 1 + log2(1 / miss), and
    otherwise is Student's of the mean; one value has no finite interval.
    """
    if has_order_interval(len(logs), miss):
        return _order_interval(logs, miss)[:2]
    if len(logs) == 1:
        return -math.inf, math.inf
    half = stats.t.isf(miss / 2, len(logs) - 1) * stats.sem(logs)
    return numpy.mean(logs) - half, numpy.mean(logs) + half


def has_order_interval(count, miss):
    """Whether the range of this many values misses seldom enough."""
    return 2 * 0.5**count <= miss


def _order_interval(values, miss):
    """Gives (low, high, the probability that they miss the median).

    The k-th smallest and k-th largest of n values enclose the true median unless fewer
    than k of them fall on one side of it, which has the probability 2 P(Binomial(n,
    1/2) < k). This takes the largest k for which that is at most `miss`, or the range
    if there is none.
    """
    ordered = numpy.sort(numpy.asarray(values, dtype=float))
    n = len(ordered)
    missed = 2 * stats.binom.cdf(numpy.arange(max(1, n // 2)), n, 0.5)
    k = max(1, int((missed <= miss * (1 + 1e-12)).sum()))
    return float(ordered[k - 1]), float(ordered[n - k]), float(missed[k - 1])


def observations(samples, cell):
    """Gives the values that an interval is over, from one for each sample of the cell.

    These are the rounds of one process; if several processes measured, the median of
    each, as what differs from process to process is the same in all its rounds.
    """
    samples = numpy.asarray(samples, dtype=float)
    processes = cell["processes"]
    if processes == 1:
        return samples
    return numpy.median(samples.reshape(processes, -1), axis=1)


def joint_level(cells, level=0.95):
    """Gives the level of each interval at which all of them together have `level`.

    This is Bonferroni's, over the cells that were measured: of hundreds of intervals at
    95 percent each, many would miss.
    """
    return 1 - (1 - level) / max(1, int((cells["status"] == "ok").sum()))


def coverage_text(ratios):
    """Says of records 'coverage 99.9 % each, 97 % or more all 24 together'."""
    missed = [1 - ratio["coverage"] for ratio in ratios]
    each = f"coverage {100 * (1 - max(missed)):.4g} %"
    if len(missed) == 1:
        return each
    together = max(0, 1 - sum(missed))
    return (
        f"{each} each, {100 * together:.3g} % or more all {len(missed)} together"
    )


def times(cells):
    """Gives the cells with `value`, `low`, `high`: the result's own, in ns."""
    spans = [span or (math.nan, math.nan) for span in cells["interval_ns"]]
    return cells.assign(
        value=cells["median_ns"],
        low=[span[0] for span in spans],
        high=[span[1] for span in spans],
    )
