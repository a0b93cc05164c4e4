"""Paired ratios of times. The cells of a point are timed one after the other in every
round, so sample r of both saw the same machine, and the median of the ratios per round
is free of what the machine did between rounds.
"""

import math

import numpy
import pandas

from analysis import intervals, load, settings

BASELINE = "soft"
POINT = ["workload", "memory_length", "output_length"]


def speedups(cells):
    """Gives a row for each cell that is not soft attention's, with the ratio of soft to
    it.

    Adds `value`, `low`, `high`, `coverage`, `rounds` to the cell's columns; value is
    NaN if either of the two was skipped.
    """
    path = cells.attrs["path"]
    is_soft = cells["mechanism"] == BASELINE
    level = intervals.joint_level(cells[~is_soft])
    rows = [
        {**cell, **ratio(soft, cell, path, level)}
        for soft, cell in with_bases(cells, is_soft, [*POINT, "variant"], BASELINE)
    ]
    if not rows:
        raise load.DataError(path, f"cells missing: all are {BASELINE}'s")
    ratios = pandas.DataFrame(rows)
    if ratios["value"].isna().all():
        why = cells[cells["status"] == "skipped"]["message"].iloc[0]
        raise load.DataError(
            path, f"no two cells to compare, one is always skipped: {why}"
        )
    return ratios


def with_bases(cells, is_base, keys, name):
    """Gives (base, cell) for each cell that is no base: the one base that agrees with it
    on the axes `keys`. A base that is missing is told by that name.
    """
    path, bases = cells.attrs["path"], {}
    for cell in cells[is_base].to_dict("records"):
        key = tuple(cell[axis] for axis in keys)
        if key in bases:
            raise load.DataError(path, f"cell twice: {settings.describe(cell)}")
        bases[key] = cell
    found = []
    for cell in cells[~is_base].to_dict("records"):
        base = bases.get(tuple(cell[axis] for axis in keys))
        if base is None:
            raise load.DataError(
                path, f"cells missing: {name} beside {settings.describe(cell)}"
            )
        found.append((base, cell))
    return found


def ratio(base, cell, path, level=0.95):
    """Gives the ratio of `base` to `cell`, two cells of one point, round by round.

    `rounds` is the number of observations.
    """
    if "skipped" in (base["status"], cell["status"]):
        return {
            "value": math.nan,
            "low": math.nan,
            "high": math.nan,
            "coverage": math.nan,
            "rounds": 0,
        }
    require_same_rounds(base, cell, path)
    ratios = intervals.observations(
        numpy.divide(base["samples_ns"], cell["samples_ns"]), cell
    )
    value, low, high, coverage = intervals.median_interval(ratios, level)
    return {
        "value": value,
        "low": low,
        "high": high,
        "coverage": coverage,
        "rounds": len(ratios),
    }


def require_same_rounds(base, cell, path):
    """Requires sample r of both to be of the same round of the same process."""
    for what in ("samples", "processes"):
        of_base, of_cell = (
            len(one["samples_ns"]) if what == "samples" else one["processes"]
            for one in (base, cell)
        )
        if of_base != of_cell:
            raise load.DataError(
                path,
                f"cell {settings.describe(cell)} has {of_cell} {what}, that of "
                f"{base['mechanism']}, {base['variant']} has {of_base}: rounds "
                "cannot be paired",
            )
