"""The settings of a cell: its axes in letters and in words, and the cells that a figure
takes by them.
"""

import itertools
import json

from attnbench.analysis import load

# The axes that have a letter, as `attnbench list` has them.
LETTERS = {
    "memory_length": "T",
    "output_length": "U",
    "chunk_width": "w",
    "num_contexts": "K",
    "dim": "d",
    "batch": "B",
    "threads": "j",
}


def select(cells, mechanisms=None, free=()):
    """Gives the cells of these mechanisms (default: all), fit to be drawn.

    Checks that every cell is ok or skipped, and that all agree on everything
    that was set, but for the mechanism and the axes in `free`.
    """
    path = cells.attrs["path"]
    if mechanisms is not None:
        for name in mechanisms:
            if name not in set(cells["mechanism"]):
                raise load.DataError(path, f"cells missing: mechanism {name}")
        cells = cells[cells["mechanism"].isin(mechanisms)]
    for cell in cells.to_dict("records"):
        if cell["status"] not in ("ok", "skipped"):
            raise load.DataError(
                path,
                f"cell {describe(cell)} is {cell['status']}: {cell['message']}",
            )
    if (cells["status"] == "skipped").all():
        raise load.DataError(
            path, f"every cell is skipped: {cells['message'].iloc[0]}"
        )
    _require_one_setting(cells, free)
    return cells


def exact(cells):
    """Gives the cells of variant exact, of which there must be some."""
    chosen = cells[cells["variant"] == "exact"]
    if chosen.empty:
        raise load.DataError(cells.attrs["path"], "cells missing: variant exact")
    return chosen


def _require_one_setting(cells, free):
    """Refuses two values of an axis, or two options of a mechanism or a build."""
    fixed = set(cells.columns) - {*load.OUTCOMES, "mechanism", *free}
    # The published builds are double precision and end as their authors' do:
    # builds are drawn apart, so they may differ.
    apart = ["variant"] if "variant" in free else []
    for axis in sorted(fixed):
        by = [*apart, "mechanism"] if axis == "options" else apart
        found = {}
        values = map(_without_f, cells[axis]) if axis == "options" else cells[axis]
        for setting in zip(values, *(cells[key] for key in by)):
            if setting[0] is not None:
                found.setdefault(setting[1:], set()).add(setting[0])
        for values in found.values():
            if len(values) > 1:
                values = sorted(values, key=str)
                raise load.DataError(
                    cells.attrs["path"],
                    f"mixed data: {axis} is {', '.join(map(str, values))}; "
                    "the figure needs one",
                )


def _without_f(options):
    """What else is set: a label has f."""
    of = {key: value for key, value in json.loads(options or "{}").items() if key != "f"}
    return json.dumps(of, sort_keys=True)


def describe(cell):
    """Names a cell in words: 'mocha, w = 4, exact, uniform, T = 10, U = 20'."""
    return (
        f"{label(cell)}, {cell['variant']}, {cell['workload']}, "
        f"T = {cell['memory_length']}, U = {cell['output_length']}"
    )


def label(cell):
    """Names the mechanism with the settings that tell its lines apart."""
    text = cell["mechanism"]
    for axis in ("chunk_width", "num_contexts"):
        if cell[axis] is not None:
            text += f", {LETTERS[axis]} = {cell[axis]}"
    f = f_of(cell)
    return text if f is None else f"{text}, f = {f}"


def f_of(cell):
    """Option f of AlignAtt, None of others. In a row of load.cells_of options are text."""
    options = cell.get("options") or {}
    return (json.loads(options) if isinstance(options, str) else options).get("f")


def setting_text(axis, value):
    """Writes a value of an axis: 'd = 64', 'beam = 4', 'planted'; nothing for none."""
    if value is None:
        return ""
    if axis in LETTERS or not isinstance(value, str):
        return f"{LETTERS.get(axis, axis)} = {value}"
    return value


def require_cells(cells, keys, path):
    """Requires each combination of the values of `keys` (axis: values) exactly once."""
    counts = cells.groupby(list(keys)).size()
    for values in itertools.product(*keys.values()):
        found = counts.get(values if len(values) > 1 else values[0], 0)
        if found != 1:
            place = ", ".join(f"{k} = {v}" for k, v in zip(keys, values))
            what = "missing" if found == 0 else f"there {found} times"
            raise load.DataError(path, f"cells {what}: {place}")
