"""Intervals of times and of ratios: how sure a number is.

They are of order statistics where there are values enough: no distribution is
assumed, no random numbers are needed, and the coverage is known exactly. Of many
that are shown together each is wider, so that all of them hold together.
"""

import math

import numpy

# Layout of code and memory alone is taken to move a time by as much, which fewer
# processes do not show: kLayoutFactor and kLeastProcesses of harness/statistics.h.
LAYOUT_FACTOR = 1.18
LEAST_PROCESSES = 5


def has_few_processes(cell):
    return (cell.get("processes") or 1) < LEAST_PROCESSES


def median_interval(values, level=0.95):
    """(median, low, high, coverage) by order statistics.

    The k-th smallest and k-th largest of n values enclose the true median
    unless fewer than k of them fall on one side of it: coverage is
    1 - 2 P(Binomial(n, 1/2) < k). The largest k that reaches `level`; the whole
    range, with its lower coverage, where there are too few values.
    """
    low, high, missed = _order_interval(values, 1 - level)
    return float(numpy.median(values)), low, high, max(0.0, 1 - missed)


def center_interval(values, miss):
    """(low, high) of positive values, which misses their centre with probability
    `miss` at most: CenterInterval of harness/statistics.h, of their logarithms.

    By order statistics where there are enough values, 1 + log2(1 / miss);
    otherwise Student's of the logarithms; of one value (0, infinity).
    """
    low, high, missed = _order_interval(values, miss)
    if missed <= miss:
        return low, high
    if len(values) == 1 or min(values) <= 0:
        return 0.0, math.inf
    logs = numpy.log(values)
    degrees = len(logs) - 1
    half = _student_quantile(degrees, miss) * math.sqrt(logs.var(ddof=1) / len(logs))
    return math.exp(logs.mean() - half), math.exp(logs.mean() + half)


def _order_interval(values, miss):
    """(low, high, the probability that they miss the median)."""
    ordered = numpy.sort(numpy.asarray(values, dtype=float))
    n = len(ordered)
    missed, k = 2 * 0.5**n, 1
    while 2 * k < n:
        more = missed + 2 * math.comb(n, k) / 2**n
        if more > miss:
            break
        missed, k = more, k + 1
    return float(ordered[k - 1]), float(ordered[n - k]), missed


def _student_quantile(degrees, miss):
    """The |t| that Student's distribution exceeds with probability `miss`."""
    # |t| = sqrt(degrees) tan(angle), and what it exceeds grows with the angle.
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        if _student_within(degrees, angle) < 1 - miss:
            low = angle
        else:
            high = angle
    return math.sqrt(degrees) * math.tan((low + high) / 2)


def _student_within(degrees, angle):
    """P(|t| <= sqrt(degrees) tan(angle)), a finite sum (Abramowitz and Stegun,
    26.7.3 and 26.7.4).
    """
    odd = degrees % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for power in range(1 if odd else 0, degrees - 1, 2):
        total += term
        term *= (power + 1) / (power + 2) * math.cos(angle) ** 2
    within = math.sin(angle) * total
    return 2 / math.pi * (angle + within) if odd else within


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
