"""Compares ours with a framework: its time over ours, against the memory length.

A panel for each mode and scope, a line for each mechanism, and a dashed one for a
plain program on Eigen (published_O3), if the file has it. Both cells of a ratio were timed in
turn in the same rounds, on the same draws. Above 1 ours is faster.
"""

import pandas

from attnbench.analysis import load, modes, names, pairing, reads, settings, words
from figures import panels, style, ticks

OURS = "exact"
OTHERS = ("framework", "published_O3")
FREE = ["memory_length", "variant", "mode", "scope", "schedule"]
POINT = ["mechanism", "mode", "scope", "schedule", "memory_length"]


def has_data(cells):
    return (
        {OURS, OTHERS[0]} <= set(cells["variant"])
        and cells["memory_length"].nunique() > 1
    )


def draw(cells):
    chosen = settings.select(cells[cells["variant"].isin((OURS, *OTHERS))], free=FREE)
    _require_one_schedule(chosen)
    ratios = _ratios(chosen)
    if ratios.empty or ratios["value"].isna().all():
        raise load.DataError(
            cells.attrs["path"], "no two cells to compare, ours and a framework's"
        )
    mechanisms = modes.mechanisms(ratios)
    figure, by_pair = panels.new_figure(ratios)
    for pair, panel in by_pair.items():
        _draw_panel(panel, _of_pair(ratios, pair), mechanisms)
        panel.set_ylabel("other's time / our time")
    _share_limits(by_pair.values())
    framework = words.framework_text(cells.attrs["context"])
    style.add_foot(
        figure,
        words.caption(
            chosen,
            "Time of others over ours, with its interval; above "
            f"1 ours is faster. U = {chosen['output_length'].iloc[0]}. "
            + f"Framework: {framework}.",
            ratios,
        ),
        _handles(ratios, mechanisms, "PyTorch" if framework else "the framework"),
    )
    return figure, _headlines(ratios, mechanisms) + reads.notes(ratios)


def _require_one_schedule(cells):
    for mode, rows in cells.groupby("mode"):
        if rows["schedule"].nunique() > 1:
            values = ", ".join(sorted(set(rows["schedule"])))
            raise load.DataError(
                cells.attrs["path"],
                f"mixed data: schedule of mode {mode} is {values}; the figure "
                "needs one",
            )


def _of_pair(ratios, pair):
    return ratios[(ratios["mode"] == pair[0]) & (ratios["scope"] == pair[1])]


def _ratios(cells):
    """Gives a row for each cell that is not ours, with value, low and high, and with what
    marks a speed-up, of ours: that is what is called faster.
    """
    path, is_ours = cells.attrs["path"], cells["variant"] == OURS
    rows = [
        {**cell, "reads": own["reads"], **pairing.ratio(cell, own, path)}
        for own, cell in pairing.with_bases(cells, is_ours, POINT, OURS)
    ]
    return pandas.DataFrame(rows)


def _look(mechanism, mechanisms, variant):
    # Rank 1 is dashed and hollow; with one setting the colour stays.
    return style.line(mechanism, mechanisms, rank=OTHERS.index(variant))


def _draw_panel(panel, rows, mechanisms):
    for (mechanism, variant), line in rows.groupby(["mechanism", "variant"]):
        look = _look(mechanism, mechanisms, variant)
        style.draw_line(panel, line.sort_values("memory_length"), look)
        style.mark_points(panel, line, look)
    panel.axhline(1, color="black", linewidth=0.8)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.grid(True)
    panel.set_xlabel("memory length T")
    ticks.log_ticks(panel.xaxis, *panel.get_xlim(), "{x:.0f}")


def _share_limits(axes):
    """All panels have the same y, or they could not be read side by side."""
    limits = [panel.get_ylim() for panel in axes]
    low, high = min(l for l, _ in limits), max(h for _, h in limits)
    for panel in axes:
        panel.set_ylim(low, high)
        ticks.log_ticks(panel.yaxis, low, high, ticks.ratio_tick)


def _handles(ratios, mechanisms, framework):
    handles, named = [], dict(zip(OTHERS, (framework, "a program on Eigen")))
    for variant in OTHERS:
        for mechanism in mechanisms:
            is_there = (ratios["mechanism"] == mechanism) & (
                ratios["variant"] == variant
            )
            if is_there.any():
                look = _look(mechanism, mechanisms, variant)
                name = f"{names.mechanism(mechanism)}: {named[variant]}"
                handles.append(style.handle(name, look))
    return handles


def _headlines(ratios, mechanisms):
    lines = []
    for pair in modes.pairs(ratios):
        of_pair = _of_pair(ratios, pair)
        for variant in OTHERS:
            for mechanism in mechanisms:
                rows = of_pair[
                    (of_pair["variant"] == variant)
                    & (of_pair["mechanism"] == mechanism)
                ]
                if rows.empty:
                    continue
                last = rows.sort_values("memory_length").iloc[-1]
                lines.append(
                    f"{', '.join(pair)}, T = {last['memory_length']}: {variant} / "
                    f"{mechanism} {words.span_text(last)}"
                )
    return lines
