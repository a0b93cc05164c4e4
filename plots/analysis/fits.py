"""Fits times to exact counts, for growth.py and crossover.py.

Least squares of the relative error: each row is divided by its median, so that the
shortest memory counts as much as the longest. A bootstrap makes the intervals: the
rounds of each cell are drawn again, with replacement, and the fit is repeated.
"""

import numpy

from analysis import intervals, load, settings

LEAST_ROUNDS = 4
RESAMPLES = 1000
SEED = 1
# A count differs from others if this much of it, relative to its size, is not a
# sum of multiples of theirs.
LEAST_OWN = 0.05


def require_rounds(cells):
    """Requires enough rounds of each cell for an interval."""
    for cell in cells.to_dict("records"):
        rounds = len(intervals.observations(cell["samples_ns"], cell))
        if rounds < LEAST_ROUNDS:
            raise load.DataError(
                cells.attrs["path"],
                f"cell {settings.describe(cell)} has {rounds} rounds (or processes, "
                f"where there are several), an interval wants at least {LEAST_ROUNDS}",
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
    """Gives operations.`name` of every cell."""
    return numpy.array([counted[name] for counted in group["operations"]], dtype=float)


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


def slope(x, y):
    """Fits y [n], or each column of y [n, m], over x [n] by least squares."""
    off = x - numpy.mean(x)
    return off @ (y - numpy.mean(y, axis=0)) / (off @ off)


def tells_terms(design, medians):
    """Whether no term is (nearly) a sum of multiples of the others."""
    rows = design / medians[:, None]
    sizes = numpy.linalg.norm(rows, axis=0)
    return sizes.all() and numpy.linalg.matrix_rank(rows / sizes, 3e-5) == rows.shape[1]


def solve(design, medians):
    """Gives the coefficients [n, k] for each row of `medians` [n, cells]."""
    scale = design.max(axis=0)
    matrices = (design / scale) / medians[:, :, None]
    # The columns need like sizes, or small terms would pass for rounding.
    sizes = numpy.linalg.norm(matrices, axis=1, keepdims=True)
    inverses = numpy.linalg.pinv(matrices / sizes)
    return inverses.sum(axis=2) / sizes[:, 0] / scale


def resampled_medians(group):
    """Draws medians [RESAMPLES, cells]. Cells of different T were not measured in the
    same rounds, so each one's rounds are drawn separately.
    """
    random = numpy.random.default_rng(SEED)
    columns = []
    for cell in group.to_dict("records"):
        samples = intervals.observations(cell["samples_ns"], cell)
        drawn = random.integers(len(samples), size=(RESAMPLES, len(samples)))
        columns.append(numpy.median(samples[drawn], axis=1))
    return numpy.column_stack(columns)
