"""Figures of series of times: logarithms by process and round, [process, round].

A figure of several series takes an array [series, n] and gives n numbers: it is
called with the medians of the series, and with what its interval is made of.
"""

import math
from dataclasses import dataclass

import numpy
from scipy import stats

from analysis import intervals

# The most that layout moves the logarithm of a ratio; each of its two times
# moves by half of it.
RATIO = math.log(intervals.LAYOUT_FACTOR)
TIME = RATIO / 2
RESAMPLES = 2000
SEED = 1


@dataclass(frozen=True)
class Estimate:
    value: float
    low: float
    high: float

    def exp(self):
        return Estimate(*numpy.exp([self.value, self.low, self.high]).tolist())

    def over(self, divisor):
        return Estimate(self.value / divisor, self.low / divisor, self.high / divisor)

    def widened(self, by):
        return Estimate(self.value, self.low - by, self.high + by)


def logs(cell, key="samples_ns"):
    return numpy.log(numpy.reshape(cell[key], (cell["processes"], -1)))


def log_ratios(of, to):
    """Gives `of` over `to`, of the same rounds: what the machine does between rounds is
    in both times of a round and drops out.
    """
    return logs(of) - logs(to)


def have_equal_shapes(series):
    return len({one.shape for one in series}) == 1


def units(one):
    """Gives the values that an interval is over: rounds, or the medians of several
    processes.
    """
    return one[0] if len(one) == 1 else numpy.median(one, axis=1)


def center(one, miss):
    observed = units(one)
    return Estimate(
        float(numpy.median(observed)), *intervals.log_center_interval(observed, miss)
    )


def center_with_layout(one, miss, reach):
    """Widens the interval by what processes that are not there would have shown.
    `reach` is RATIO or TIME.
    """
    found = center(one, miss)
    return found.widened(reach) if _has_few_processes(one) else found


def _has_few_processes(one):
    return len(one) < intervals.LEAST_PROCESSES


def linear_figure(series, miss, reach, figure):
    """Gives a linear figure. Series of different points share no rounds, and it is
    arbitrary which of them are put together, but any choice estimates the same: the
    figure is made anew in each round, and its interval is that of these figures.
    """
    rounds = figure(numpy.reshape(series, (len(series), -1))).reshape(series[0].shape)
    low, high = intervals.log_center_interval(units(rounds), miss)
    return _figure(series, reach, figure, low, high)


def figure(series, miss, reach, figure, rounds=None):
    """Gives a figure that is not linear (a correlation, a fit), which of single rounds
    is another figure than of medians. The centre of each series is drawn again, and the
    interval lies between quantiles of the figures that these centres give. `rounds` names
    the rounds that each is of; those of the same rounds are drawn with the same draws:
    what the machine does between rounds is in all of them. None: each has its own.
    """
    low, high = -math.inf, math.inf
    if len(units(series[0])) > 1:
        drawn = figure(numpy.array([
            redrawn_centers(units(one), miss, numpy.random.default_rng((SEED, of)))
            for one, of in zip(series, rounds or range(len(series)), strict=True)
        ]))
        # A figure may be infinite, so quantiles do not lie between two figures.
        low = numpy.quantile(drawn, miss / 2, method="higher")
        high = numpy.quantile(drawn, 1 - miss / 2, method="lower")
    return _figure(series, reach, figure, low, high)


def redrawn_centers(observed, miss, random):
    """Draws the centre as RESAMPLES other measurements might have found it: medians of
    redrawn values, or, of few values, with Student's t.
    """
    count = len(observed)
    if intervals.has_order_interval(count, miss):
        drawn = random.integers(count, size=(RESAMPLES, count))
        return numpy.median(observed[drawn], axis=1)
    # Student's t, made of the observations' own deviations: the same draws move series
    # of the same rounds together.
    off = random.standard_normal((RESAMPLES, count)) @ (observed - numpy.mean(observed))
    scale = count * random.chisquare(count - 1, RESAMPLES)
    return numpy.mean(observed) + off / numpy.sqrt(scale)


def _figure(series, reach, figure, low, high):
    medians = numpy.array([[numpy.median(units(one))] for one in series])
    value = figure(medians)[0]
    found = Estimate(float(value), float(low), float(high))
    if not _has_few_processes(series[0]) or math.isinf(value):
        return found
    # This adds up how far the figure moves when layout moves each series alone.
    steps = reach * numpy.eye(len(series))
    moved = [numpy.abs(figure(medians + sign * steps) - value) for sign in (-1, 1)]
    return found.widened(float(numpy.maximum(*moved).sum()))


def rank_correlation(x, y):
    """Gives Spearman's correlation of x [n] with each column of y [n, m]; 0 if a side
    is constant.
    """
    ranks = stats.rankdata(y, axis=0)
    x_off, y_off = stats.rankdata(x) - (len(x) + 1) / 2, ranks - (len(x) + 1) / 2
    size = numpy.sqrt((x_off**2).sum() * (y_off**2).sum(axis=0))
    return numpy.divide(x_off @ y_off, size, out=numpy.zeros(len(size)), where=size > 0)
