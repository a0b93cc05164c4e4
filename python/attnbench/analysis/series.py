"""Figures of series: logarithms [build, process, round] (intervals.py)."""

import functools
import math

import numpy

from attnbench.analysis import intervals, load
from attnbench.analysis.intervals import Estimate, Span

# What builds and runs do to a time of a run whose other times it is compared with is half
# of what they do to the ratio of two.
RATIO, TIME = 1.0, 0.5
# So many that 50 lie beyond each end of a 95 % interval.
RESAMPLES = 2000
# The same results give the same intervals, so that a page of them can be held to its files.
SEED = 1


def logs(cell, without_preparation=False):
    """Gives the series of a cell's times. What is done once for a memory is taken off in
    the rounds in which it was timed too, else its median in each process; where it takes
    all of a time, that has no finite logarithm.
    """
    times = _by_process(cell, "samples_ns")
    if without_preparation and cell["prepare_ns"]:
        taken_off = _by_process(cell, "prepare_samples_ns")
        if taken_off.shape != times.shape:
            taken_off = numpy.median(taken_off, axis=2, keepdims=True)
        times = numpy.maximum(times - taken_off, 0)
    with numpy.errstate(divide="ignore"):
        return numpy.log(times)


def _by_process(cell, key):
    """Gives [build, process, round]: process k is of build k mod builds."""
    builds = load.builds(cell)
    by_process = numpy.reshape(cell[key], (cell["processes"] // builds, builds, -1))
    return by_process.swapaxes(0, 1).astype(float)


def log_ratios(of, to):
    """Gives `of` over `to`, of the same rounds: what the machine does between rounds is
    in both times of a round and drops out.
    """
    return logs(of) - logs(to)


def ratio(of, to):
    """Gives the Estimate of `of` over `to`, of the same rounds, as a logarithm."""
    if of is to:
        return Estimate(0.0)
    return intervals.estimate(log_ratios(of, to), kind_of_ratio(of, to))


def kind_of_ratio(of, to):
    """Gives the kind of effects that a ratio of two cells has."""
    are_peers = [cell.get("variant", "").startswith("framework") for cell in (of, to)]
    return "peer" if any(are_peers) and not all(are_peers) else "ratio"


def times(cells):
    """Gives the cells with `value`, `low`, `high` of their times in ns; NaN where there
    is none.
    """
    none = Span(math.nan, math.nan, math.nan)
    spans = [
        intervals.estimate(logs(cell), "time").at().exp() if cell["samples_ns"] else none
        for cell in cells.to_dict("records")
    ]
    ends = {end: [getattr(span, end) for span in spans] for end in vars(none)}
    return cells.assign(**ends)


def linear(series, weights, count, kind="ratio"):
    """Gives the Estimate of a weighted sum of series of different points, which share no
    rounds: of each process, or build, where all have the same several, and else of what
    each series gives by itself. `count` is RATIO or TIME.
    """
    weights = numpy.asarray(weights, dtype=float)
    count = count * float(weights @ weights)
    shares_processes = len({one.shape[:2] for one in series}) == 1
    if shares_processes and not intervals.are_rounds(series[0]):
        by_process = [intervals.processes(one)[..., None] for one in series]
        return intervals.estimate(numpy.tensordot(weights, by_process, 1), kind, count)
    centers = [intervals.center(one) for one in series]
    value = sum(weight * one for weight, (one, _) in zip(weights, centers))
    own = [
        (weight**2 * variance, degrees)
        for weight, (_, (variance, degrees)) in zip(weights, centers)
    ]
    smallest = numpy.min([one.shape for one in series], axis=0)
    return Estimate(float(value), (*own, *intervals.effects(kind, smallest, count)))


def figure(series, miss, count, figure, rounds=None, has_state=False):
    """Gives the Span of a figure that is not linear (a correlation, a fit): between
    quantiles of the figures that redrawn series give. `figure` takes [series, n] and gives
    n numbers. `rounds` names the rounds that each series is of; None: each has its own.
    What has_state is a time itself, and moves with the machine's state.
    """
    centers = numpy.array([[intervals.center(one)[0]] for one in series])
    value = float(figure(centers)[0])
    if any(len(intervals.units(one)) == 1 for one in series):
        return Span(value, -math.inf, math.inf)
    numbers = range(len(series))
    drawn = redrawn(series, count, rounds or numbers, numbers)
    if has_state:
        drawn += redrawn_state()
    return Span(value, *intervals.of_draws(figure(drawn), miss))


def redrawn(series, count, rounds, numbers):
    """Draws the values [series, RESAMPLES] as other runs might have found them. Series of
    the same rounds are moved together as far as their units are: what the machine does
    between rounds is in all of them. What builds and runs do is drawn for each series, by
    its number.
    """
    return numpy.array([
        _redrawn(one, count, of_rounds, number)
        for one, of_rounds, number in zip(series, rounds, numbers, strict=True)
    ])


def _redrawn(one, count, of_rounds, number):
    value, (variance, degrees) = intervals.center(one)
    off = intervals.units(one) - value
    if intervals.are_rounds(one):
        off = numpy.sign(off)  # a value moves its median by its side alone
    size = numpy.linalg.norm(off)
    normal = _normal((SEED, 0, of_rounds), (RESAMPLES, len(off)))
    scale = _scale((SEED, 0, of_rounds), variance, degrees, normal.shape)
    drawn = value + normal @ off / (size or 1) * scale
    effects = intervals.effects("ratio", one.shape, count)
    normals = _normal((SEED, 1, number), (len(effects), RESAMPLES))
    for place, (part, normal) in enumerate(zip(effects, normals, strict=True)):
        # How large the effects are is not known well, but is the same for all series.
        drawn += normal * _scale((SEED, 2, place), *part)
    return drawn


def redrawn_state():
    """Draws the machine's state, which is in all times of a run."""
    *_, state = intervals.effects("time", (1, 1))
    return _normal((SEED, 3), (RESAMPLES,)) * _scale((SEED, 3), *state, (RESAMPLES,))


def _scale(seed, variance, degrees, after=(0,)):
    """Draws what the standard deviation may have been, of an estimate of its square."""
    return numpy.sqrt(variance * degrees / _chisquare(seed, after, degrees))


# The judge asks for the same draws thousands of times.
@functools.lru_cache(maxsize=1024)
def _normal(seed, shape):
    return numpy.random.default_rng(seed).standard_normal(shape)


@functools.lru_cache(maxsize=1024)
def _chisquare(seed, after, degrees):
    """Draws what a generator gives after it has given normal numbers of that shape."""
    random = numpy.random.default_rng(seed)
    random.standard_normal(after)
    return random.chisquare(degrees, RESAMPLES)


def rank_correlation(x, y):
    """Gives Spearman's correlation of x [n] with each column of y [n, m]; 0 if a side
    is constant.
    """
    x_off, y_off = _ranks(numpy.asarray(x)[:, None])[:, 0], _ranks(numpy.asarray(y))
    size = numpy.sqrt((x_off**2).sum() * (y_off**2).sum(axis=0))
    return numpy.divide(x_off @ y_off, size, out=numpy.zeros(len(size)), where=size > 0)


def _ranks(columns):
    """Gives for each number of each column its rank less their mean; equal ones share theirs."""
    # scipy.stats.rankdata takes as long to import as all the rest of the program.
    less = (columns[None] < columns[:, None]).sum(axis=1)
    equal = (columns[None] == columns[:, None]).sum(axis=1)
    return less + (equal - len(columns)) / 2
