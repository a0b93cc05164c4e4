"""Ours against a framework: its time over ours, against the memory length.

A panel for each mode, a line for each mechanism; dashed the authors' program
(published_O3), where the file has it. Both cells of a ratio were timed in turn
in the same rounds, on the same draws. Above 1 ours is faster.
"""

import pandas
from matplotlib import lines as mlines

import load
import panels
import style

OURS = "exact"
OTHERS = ("framework", "published_O3")
FREE = ["memory_length", "variant", "mode", "scope", "schedule"]
MODES = ("decode", "expect", "gradient")
POINT = ["mechanism", "mode", "memory_length"]


def has_data(cells):
    return (
        {OURS, OTHERS[0]} <= set(cells["variant"])
        and cells["memory_length"].nunique() > 1
    )


def draw(cells):
    chosen = panels.select(cells[cells["variant"].isin((OURS, *OTHERS))], free=FREE)
    _require_one_scope(chosen)
    ratios = _ratios(chosen)
    if ratios.empty or ratios["value"].isna().all():
        raise load.DataError(
            cells.attrs["path"], "no two cells to compare, ours and a framework's"
        )
    modes = [mode for mode in MODES if mode in set(ratios["mode"])]
    mechanisms = [
        *(name for name in style.MECHANISMS if name in set(ratios["mechanism"])),
        *sorted(set(ratios["mechanism"]) - set(style.MECHANISMS)),
    ]
    figure, axes = style.new_figure(1, len(modes))
    for panel, mode in zip(axes[0], modes):
        _draw_panel(panel, ratios[ratios["mode"] == mode], mechanisms)
        scope = _scope(chosen, mode)
        panel.set_title(mode if mode == "decode" else f"{mode}, scope {scope}")
    axes[0, 0].set_ylabel("other's time / our time")
    style.add_foot(
        figure,
        panels.caption(
            chosen,
            "Time of others over that of variant exact, with its interval; above "
            f"1 ours is faster. U = {chosen['output_length'].iloc[0]}. "
            + f"Framework: {panels.framework_text(cells.attrs['context'])}.",
            ratios,
        ),
        _handles(ratios, mechanisms),
    )
    return figure, _headlines(ratios, modes, mechanisms)


def _require_one_scope(cells):
    for mode, rows in cells.groupby("mode"):
        for axis in ("scope", "schedule"):
            if rows[axis].nunique() > 1:
                values = ", ".join(sorted(set(rows[axis])))
                raise load.DataError(
                    cells.attrs["path"],
                    f"mixed data: {axis} of mode {mode} is {values}; the figure "
                    "needs one",
                )


def _scope(cells, mode):
    return cells[cells["mode"] == mode]["scope"].iloc[0]


def _ratios(cells):
    """A row for each cell that is not ours, with value, low and high."""
    path = cells.attrs["path"]
    ours = {}
    for cell in cells[cells["variant"] == OURS].to_dict("records"):
        key = tuple(cell[k] for k in POINT)
        if key in ours:
            raise load.DataError(path, f"cell twice: {panels.describe(cell)}")
        ours[key] = cell
    rows = []
    for cell in cells[cells["variant"] != OURS].to_dict("records"):
        own = ours.get(tuple(cell[k] for k in POINT))
        if own is None:
            raise load.DataError(
                path, f"cells missing: {OURS} beside {panels.describe(cell)}"
            )
        ratio = panels.ratio(cell, own, path)
        rows.append({**cell, **ratio})
    return pandas.DataFrame(rows)


def _look(mechanism, mechanisms, variant):
    # Rank 1 is dashed and hollow; one setting, so the colour stays.
    return style.line(mechanism, mechanisms, rank=OTHERS.index(variant))


def _draw_panel(panel, rows, mechanisms):
    for (mechanism, variant), line in rows.groupby(["mechanism", "variant"]):
        panels.draw_line(
            panel,
            line.sort_values("memory_length"),
            _look(mechanism, mechanisms, variant),
        )
    panel.axhline(1, color="black", linewidth=0.8)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.grid(True)
    panel.set_xlabel("memory length T")
    panels.log_ticks(panel.xaxis, *panel.get_xlim(), "{x:.0f}")
    panels.log_ticks(panel.yaxis, *panel.get_ylim(), panels.ratio_tick)


def _handles(ratios, mechanisms):
    handles = []
    for variant in OTHERS:
        for mechanism in mechanisms:
            is_there = (ratios["mechanism"] == mechanism) & (
                ratios["variant"] == variant
            )
            if is_there.any():
                look = _look(mechanism, mechanisms, variant)
                name = f"{variant} / {mechanism}"
                handles.append(mlines.Line2D([], [], label=name, **look))
    return handles


def _headlines(ratios, modes, mechanisms):
    lines = []
    for mode in modes:
        for variant in OTHERS:
            for mechanism in mechanisms:
                rows = ratios[
                    (ratios["mode"] == mode)
                    & (ratios["variant"] == variant)
                    & (ratios["mechanism"] == mechanism)
                ]
                if rows.empty:
                    continue
                last = rows.sort_values("memory_length").iloc[-1]
                lines.append(
                    f"{mode}, T = {last['memory_length']}: {variant} / "
                    f"{mechanism} {panels.span_text(last)}"
                )
    return lines
