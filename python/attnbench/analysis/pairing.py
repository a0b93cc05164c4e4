"""Paired ratios of times. The cells of a point are timed one after the other in every
round, so sample r of both saw the same machine, and their ratios are free of what the
machine did between rounds.
"""

import math

import pandas

from attnbench.analysis import load, series, settings

BASELINE = "soft"
POINT = ["workload", "memory_length", "output_length"]


def speedups(cells):
    """Gives a row for each cell that is not soft attention's, with the ratio of soft to
    it.

    Adds `value`, `low`, `high` to the cell's columns; NaN if either of the two was
    skipped.
    """
    path = cells.attrs["path"]
    is_soft = cells["mechanism"] == BASELINE
    rows = [
        {**cell, **ratio(soft, cell, path)}
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


def ratio(base, cell, path):
    """Gives value, low and high of `base` over `cell`, two cells of one point, paired in
    their rounds; NaN where either was skipped.
    """
    if "skipped" in (base["status"], cell["status"]):
        return dict.fromkeys(("value", "low", "high"), math.nan)
    require_same_rounds(base, cell, path)
    return vars(series.ratio(base, cell).at().exp())


def require_same_rounds(base, cell, path):
    """Requires sample r of both to be of the same round of the same process."""
    counts = {
        "samples": lambda one: len(one["samples_ns"]),
        "processes": lambda one: one["processes"],
        "builds": load.builds,
    }
    for what, count in counts.items():
        of_base, of_cell = count(base), count(cell)
        if of_base != of_cell:
            raise load.DataError(
                path,
                f"cell {settings.describe(cell)} has {of_cell} {what}, that of "
                f"{base['mechanism']}, {base['variant']} has {of_base}: rounds "
                "cannot be paired",
            )
