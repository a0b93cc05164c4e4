"""Fits times to exact counts, for growth.py and crossover.py.

Least squares of the relative error: each row is divided by its time, so that the
shortest memory counts as much as the longest. For the intervals the fit is repeated on
times that other runs might have found (series.py).
"""

import zlib

import numpy

from attnbench.analysis import intervals, load, series, settings

# A count differs from others if this much of it, relative to its size, is not a
# sum of multiples of theirs.
LEAST_OWN = 0.05
LEAST_COUNT, MOST_COUNT = 1e-9, 1e30
MOST_LOG = 150  # squares of such times can still be summed


def require_rounds(cells):
    """Requires of each cell what an interval is over."""
    for cell in cells.to_dict("records"):
        if len(intervals.units(series.logs(cell))) == 1:
            raise load.DataError(
                cells.attrs["path"],
                f"cell {settings.describe(cell)} has one round, which has no interval",
            )


def require_told(group, design):
    """Requires more cells than terms, with counts that are not those of another cell.
    """
    told, terms = len(numpy.unique(design, axis=0)), design.shape[1]
    if told <= terms:
        raise load.DataError(
            group.attrs["path"],
            f"{told} cells of {group['mechanism'].iloc[0]} cannot tell "
            f"{terms} coefficients and a residual",
        )


def counts(group, name):
    """Gives operations.`name` of every cell, each of a size that can be computed with."""
    numbers = numpy.array([counted[name] for counted in group["operations"]], dtype=float)
    for index, number in zip(group.index, numbers):
        if not (number == 0 or LEAST_COUNT <= number <= MOST_COUNT):
            raise load.DataError(
                f"{group.attrs['path']}: cells[{index}]",
                f"operations.{name} is {number}, it must be 0, or from {LEAST_COUNT:g} to "
                f"{MOST_COUNT:g}")
    return numbers


def is_told(column, others):
    """Whether the column says what others do not (nearly) say already."""
    return own_share(column, others) >= LEAST_OWN


def own_share(column, others):
    """Gives what multiples of `others` leave of `column`, relative to its size."""
    if (column <= 0).any():
        return 1.0
    matrix = numpy.column_stack(others) / column[:, None]
    matrix /= numpy.linalg.norm(matrix, axis=0)
    solution = numpy.linalg.lstsq(matrix, numpy.ones(len(column)), rcond=None)[0]
    return float(numpy.sqrt(numpy.mean((matrix @ solution - 1) ** 2)))


def slope_weights(x):
    """Gives the weights of y [n] whose sum is its slope over x [n] by least squares."""
    off = x - numpy.mean(x)
    return off / (off @ off)


def slope(x, y):
    return slope_weights(x) @ y


def exponent(logs, lengths):
    """Gives the Estimate of the power of the length with which times grow. `logs` has
    the series of each length.
    """
    return series.linear(logs, slope_weights(numpy.log(lengths)), series.TIME)


def tells_terms(design, times):
    """Whether no term is (nearly) a sum of multiples of the others."""
    rows = design / times[:, None]
    sizes = numpy.linalg.norm(rows, axis=0)
    return sizes.all() and numpy.linalg.matrix_rank(rows / sizes, 3e-5) == rows.shape[1]


def solve(design, times):
    """Gives the coefficients [n, k] for each row of `times` [n, cells]."""
    scale = design.max(axis=0)
    matrices = (design / scale) / times[:, :, None]
    # The columns need like sizes, or small terms would pass for rounding.
    sizes = numpy.linalg.norm(matrices, axis=1, keepdims=True)
    inverses = numpy.linalg.pinv(matrices / sizes)
    return inverses.sum(axis=2) / sizes[:, 0] / scale


def times(some):
    """Gives the time of each series."""
    return numpy.exp([intervals.center(one)[0] for one in some])


def times_of(group):
    return times(map(series.logs, group.to_dict("records")))


def redrawn_times(group):
    """Draws times [RESAMPLES, cells]. Cells of one point have the same rounds. The tails of
    a few disturbed rounds reach beyond all times: a draw stays within what can be computed
    with.
    """
    cells = group.to_dict("records")
    rounds = [zlib.crc32(cell["point"].encode()) for cell in cells]
    logs = map(series.logs, cells)
    drawn = series.redrawn(logs, series.TIME, rounds, group.index)
    return numpy.exp(numpy.clip(drawn, -MOST_LOG, MOST_LOG)).T
