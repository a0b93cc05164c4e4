"""What does an error that is bounded beforehand save?

Over the bound of variant banded, a column for each energy function and a line for each
workload: at the top the share of all energies that were evaluated, exact; below, for each
mode, the time of exact over that of banded, of the same rounds.
"""

import json
import math

from attnbench.analysis import load, pairing, settings, words
from figures import style, ticks

FREE = ["mode", "energy", "workload", "variant", "options"]
# What a banded cell shares with the exact one that it is set beside.
PAIR = ["mode", "energy", "workload"]
MODES = {"expect": "expectation", "gradient": "expectation and gradient"}
SPREAD = 1.25  # intervals that lie on one another stand side by side within this factor


def has_data(cells):
    banded = cells[(cells["variant"] == "banded") & (cells["status"] == "ok")]
    return (
        not banded.empty
        and set(cells["variant"]) == {"banded", "exact"}
        and banded["options"].nunique() > 1
        and set(cells["mode"]) <= set(MODES)
    )


def select(cells):
    """Gives a row for each banded cell, with `bound`, `share` of all energies and the
    speed-up: `value`, `low` and `high`.
    """
    path = cells.attrs["path"]
    chosen = settings.select(cells, free=FREE)
    if chosen["mechanism"].nunique() > 1:
        raise load.DataError(path, "mixed data: several mechanisms; the figure needs one")
    chosen = chosen[chosen["variant"].isin(["banded", "exact"])]
    is_exact = chosen["variant"] == "exact"
    rows = [
        {**cell, **pairing.ratio(exact, cell, path), "bound": _bound(cell, path),
         "share": _share(exact, cell, path)}
        for exact, cell in pairing.with_bases(chosen, is_exact, PAIR, "exact")
        if cell["status"] == "ok" and exact["status"] == "ok"
    ]
    if not rows:
        raise load.DataError(path, "cells missing: variant banded beside exact")
    return sorted(rows, key=lambda row: row["bound"])


def _bound(cell, path):
    bound = json.loads(cell["options"]).get("bound")
    if not bound:
        raise load.DataError(path, f"cell {settings.describe(cell)} has no option bound")
    return bound


def _share(exact, cell, path):
    counts = [(one["operations"] or {}).get("energies") for one in (cell, exact)]
    if not all(counts):
        raise load.DataError(
            path, f"cell {settings.describe(cell)}, or exact beside it, has no energies")
    return counts[0] / counts[1]


def draw(cells):
    rows = select(cells)
    energies = _values(rows, "energy")
    workloads = _values(rows, "workload")
    modes = [mode for mode in MODES if mode in _values(rows, "mode")]
    figure, grid = style.new_figure(1 + len(modes), len(energies))
    looks = dict(zip(workloads, style.line_of_each(["monotonic"] * len(workloads))))
    said = []
    for energy, column in zip(energies, grid.T):
        for mode, axes in zip(modes, column[1:]):
            said += _draw_speedups(axes, rows, looks, mode, energy)
        _draw_shares(column[0], rows, looks, modes[0], energy)
        for axes in column:
            _set_axes(axes, sorted({row["bound"] for row in rows}))
        column[0].set_title(f"energy {energy}")
    _share_limits(grid)
    handles = [style.handle(*one) for one in looks.items()]
    style.add_foot(figure, words.caption(cells, _text(rows[0])), handles)
    return figure, said


def _values(rows, key):
    return list(dict.fromkeys(row[key] for row in rows))


def _lines(rows, mode, energy):
    for workload in _values(rows, "workload"):
        line = [row for row in rows if (row["mode"], row["energy"], row["workload"])
                == (mode, energy, workload)]
        if line:
            yield workload, line


def _draw_shares(axes, rows, looks, mode, energy):
    for workload, line in _lines(rows, mode, energy):
        axes.plot([row["bound"] for row in line], [row["share"] for row in line],
                  **looks[workload])
    axes.set_ylabel("share of energies")


def _draw_speedups(axes, rows, looks, mode, energy):
    said = []
    for workload, line in _lines(rows, mode, energy):
        rank = list(looks).index(workload) / max(1, len(looks) - 1) - 0.5
        spans = [[row[key] for row in line] for key in ("value", "low", "high")]
        style.draw_spans(axes, [row["bound"] * SPREAD**rank for row in line], *spans,
                         looks[workload])
        said += _headlines(f"{mode}, {energy}, {workload}", line[::-1])
    axes.axhline(1, color="#909090", linewidth=0.6)
    axes.set_title(MODES[mode])
    axes.set_ylabel("speed-up over exact")
    return said


def _headlines(name, line):
    """Tells the bounds of a line: energies saved and speed-up, and in mode gradient the L1
    error beside the size of the exact gradient.
    """
    yield f"{name}: " + "; ".join(
        f"bound {row['bound']:g}: 1/{1 / row['share']:.3g} of the energies, "
        f"{words.span_text(row)}"
        for row in line
    )
    errors = [
        f"{band['gradient_error']:.2g} of {band['gradient_size']:.3g} at {row['bound']:g}"
        for row in line
        if (band := row.get("band") or {}).get("gradient_error") is not None
    ]
    if errors:
        yield f"{name}, L1 error of the gradient: " + ", ".join(errors)


def _set_axes(axes, bounds):
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(bounds[-1] * 1.6, bounds[0] / 1.6)
    axes.set_xticks(bounds, [f"{bound:g}" for bound in bounds])
    axes.minorticks_off()
    axes.grid(True)
    axes.set_xlabel("bound of the L1 error of a row")


def _share_limits(grid):
    """Gives the panels of a row the same limits, and ticks that fit them."""
    for rank, row in enumerate(grid):
        limits = [axes.get_ylim() for axes in row]
        low, high = min(low for low, _ in limits), max(high for _, high in limits)
        to_text = ticks.ratio_tick if rank else ticks.number_tick(low, high)
        for axes in row:
            if not (math.isfinite(low) and math.isfinite(high)):
                continue
            axes.set_ylim(low, high)
            ticks.log_ticks(axes.yaxis, low, high, to_text)


def _text(cell):
    return (
        f"Variant banded of {cell['mechanism']}, T = {cell['memory_length']}, U = "
        f"{cell['output_length']}, d = {cell['dim']}. Top: energies evaluated over all T U, "
        "exact counts. Below: time of exact over that of banded, of the same rounds, with "
        "its 95 % interval; under the line exact is faster. symbols:A:B: energies A where an "
        "entry is looked for, -B elsewhere, with noise of variance 1."
    )
