"""What does an error that is bounded beforehand save?

Over the bound of variant banded, a line for each workload: at the top the share of all
energies that were evaluated, exact; below, for each mode and energy function, the time of
exact over that of banded, of the same rounds.
"""

import json
import math

from attnbench.analysis import columns, load, pairing, settings, words
from figures import style, ticks

FREE = ["mode", "energy", "workload", "variant", "options"]
# What a banded cell shares with the exact one that it is set beside.
PAIR = ["mode", "energy", "workload"]
MODES = {"expect": "expectation", "gradient": "expectation and gradient"}
TOLD = 1e-3  # the bound nearest to it is told in numbers
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
    top = figure.add_subplot(grid[0, 0].get_gridspec()[0, :])
    for axes in grid[0]:
        axes.remove()
    looks = dict(zip(workloads, style.line_of_each(["monotonic"] * len(workloads))))
    for energy, column in zip(energies, grid[1:].T):
        _draw_shares(top, rows, looks, modes[0], energy)
        for mode, axes in zip(modes, column):
            _draw_speedups(axes, rows, looks, mode, energy)
    panels = [[top], *grid[1:]]
    for axes in sum(map(list, panels), []):
        _set_axes(axes, sorted({row["bound"] for row in rows}))
    _share_limits(panels)
    handles = [style.handle(*one) for one in looks.items()]
    style.add_foot(figure, words.caption(cells, _text(rows[0])), handles)
    return figure, _headlines(rows, modes)


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
    for workload, line in _lines(rows, mode, energy):
        rank = list(looks).index(workload) / max(1, len(looks) - 1) - 0.5
        spans = [[row[key] for row in line] for key in ("value", "low", "high")]
        style.draw_spans(axes, [row["bound"] * SPREAD**rank for row in line], *spans,
                         looks[workload])
    axes.axhline(1, color="#909090", linewidth=0.6)
    axes.set_title(f"{MODES[mode]}, energy {energy}")
    axes.set_ylabel("speed-up over exact")


def _headlines(rows, modes):
    """A table at one bound: energies saved and speed-ups, and in mode gradient the L1 error
    beside the size of the exact gradient.
    """
    bound = min({row["bound"] for row in rows}, key=lambda one: abs(math.log(one / TOLD)))
    found = {}  # (workload, energy) -> mode -> row
    for row in rows:
        if row["bound"] == bound:
            found.setdefault((row["workload"], row["energy"]), {})[row["mode"]] = row
    table = [(f"bound {bound:g}", "energy", "energies",
              *(f"{mode}, speed-up" for mode in modes), "gradient, L1 error")]
    for (workload, energy), of_modes in found.items():
        first = next(iter(of_modes.values()))
        table.append((workload, energy, f"1/{1 / first['share']:.3g}",
                      *(words.span_text(of_modes[mode]) if mode in of_modes
                        else columns.NO_VALUE for mode in modes),
                      _error_text(of_modes.get("gradient", {}).get("band"))))
    return [line[2:] for line in columns.aligned(table)]


def _error_text(band):
    if not band or band.get("gradient_error") is None:
        return columns.NO_VALUE
    return f"{band['gradient_error']:.2g} of {band['gradient_size']:.3g}"


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
        "exact counts; where energy functions differ, a line for each. Below: time of exact "
        "over that of banded, of the same rounds, with its 95 % interval; under the line exact "
        "is faster. symbols:A:B: energies A where an entry is looked for, -B elsewhere, with "
        "noise of variance 1. Errors of the gradient are L1, of memory and states, summed."
    )
