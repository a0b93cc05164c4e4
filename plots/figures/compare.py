"""What changed between two results?

There is a line for each cell of `attnbench compare A B --json`: the time of B over that
of A, over what all cells have in common, with its interval, sorted. Colours say better or worse, not merely different; cells
that are the same or ambiguous are grey.
"""

import math

from attnbench.analysis import command, load, names, settings, words
from figures import style, ticks

# verdict: (colour, marker, fill, what it means)
LOOKS = {
    "FASTER": ("#0072B2", "<", "full", "FASTER: B is better"),
    "SLOWER": ("#D55E00", ">", "full", "SLOWER: B is worse"),
    "SAME": ("#7F7F7F", "o", "full", "SAME: within the margin"),
    "AMBIGUOUS": ("#7F7F7F", "o", "none", "AMBIGUOUS: cannot be told"),
}
ROW_IN = 0.15
MOST_NAMED = 80  # more rows have no room for names
MOST_HEIGHT_IN = 9


def has_data(comparison):
    return bool(comparison["rows"])


def draw(comparison):
    rows = sorted(comparison["rows"], key=lambda row: row["ratio"])
    if not rows:
        raise load.DataError(comparison["path"], "rows is empty")
    height = min(MOST_HEIGHT_IN, 0.8 + ROW_IN * len(rows))
    figure, grid = style.new_figure(1, 1, height, style.PAGE_IN)
    axes = grid[0, 0]
    margin = 1 + comparison["margin"]
    axes.axvspan(1 / margin, margin, color=style.GRID, zorder=0, linewidth=0)
    axes.axvline(1, color="#000000", linewidth=0.6, zorder=1)
    for place, row in enumerate(rows):
        _draw_row(axes, place, row)
    _set_axes(axes, rows, comparison)
    used = [verdict for verdict in LOOKS if any(r["verdict"] == verdict for r in rows)]
    handles = [style.handle(LOOKS[verdict][3], _line(verdict)) for verdict in used]
    style.add_foot(figure, _caption(comparison, rows), handles)
    return figure, _headlines(comparison, rows)


def _line(verdict):
    color, marker, fill, _ = LOOKS[verdict]
    return {"color": color, "marker": marker, "fillstyle": fill, "linewidth": 1.0}


def _draw_row(axes, place, row):
    span = row["interval"]
    look = _line(row["verdict"])
    if span is not None:
        axes.plot(span, [place, place], color=look["color"], linewidth=look["linewidth"])
    axes.plot([row["ratio"]], [place], linestyle="none", **look)


def _set_axes(axes, rows, comparison):
    # Intervals of two processes may reach to infinity.
    ratios = [row["ratio"] for row in rows]
    low, high = min([*ratios, 1]) / 1.3, max([*ratios, 1]) * 1.3
    ends = [end for row in rows for end in row["interval"] or ()]
    low = max(low, min([*ends, 1]) / 1.02)
    high = min(high, max([*ends, 1]) * 1.02)
    margin = (1 + comparison["margin"]) ** 1.2
    axes.set_xscale("log")
    axes.set_xlim(min(low, 1 / margin), max(high, margin))
    ticks.log_ticks(axes.xaxis, *axes.get_xlim(), ticks.ratio_tick)
    common = ", over that of all cells together" if comparison["relative"] else ""
    axes.set_xlabel(f"time of B over time of A{common}")
    axes.set_ylim(-0.8, len(rows) - 0.2)
    if len(rows) <= MOST_NAMED:
        axes.set_yticks(range(len(rows)), map(names.label, cell_names(rows)))
    else:
        axes.set_yticks([])
        axes.set_ylabel(f"{len(rows)} cells, sorted")
    axes.tick_params(axis="y", length=0)


def cell_names(rows):
    """Names the mechanism, and what differs between the rows."""
    # Not all rows have all axes: only whole decoders have a beam.
    axes = dict.fromkeys(axis for row in rows for axis in row["axes"])
    varying = [
        axis
        for axis in axes
        if len({str(row["axes"].get(axis)) for row in rows} - {"None"}) > 1
    ]
    found = []
    for row in rows:
        words = [row["mechanism"]]
        words += filter(None, (
            settings.setting_text(axis, row["axes"].get(axis)) for axis in varying))
        options = {
            str(other["options"])
            for other in rows
            if other["mechanism"] == row["mechanism"]
        }
        if len(options) > 1:
            words += [f"{k} = {v}" for k, v in row["options"].items()]
        found.append(", ".join(words))
    return found


def _caption(comparison, rows):
    a, b = comparison["a"], comparison["b"]
    text = " ".join(f"NOT VALID: {r}." for r in comparison["context"]["invalid_reasons"])
    text += (
        f" A: {_side(a)}. B: {_side(b)}. Intervals together miss with a chance of "
        f"at most {comparison['level']:g} ({comparison['comparisons']} "
        f"comparisons); grey: the margin of {100 * comparison['margin']:g} %."
    )
    for name, side in (("A", a), ("B", b)):
        if side["warnings"]:
            text += f" {name} carries {command.counted(len(side['warnings']), 'warning')}."
    if comparison["changes"]:
        text += f" Beside times, {command.counted(len(comparison['changes']), 'number')} changed."
    if comparison["placement"] is not None:
        text += (f" Where a side is one build, no change below "
                 f"{100 * comparison['placement']:.3g} % can be told from another placement "
                 "of the code.")
    if comparison["differences"]:
        fields = ", ".join(d["field"] for d in comparison["differences"])
        text += f" The two differ in {fields}."
    left_out = len(comparison["only_a"]) + len(comparison["only_b"])
    if left_out or comparison["untimed"]:
        text += (
            f" Not shown: {command.counted(left_out, 'cell')} of one side only, "
            f"{len(comparison['untimed'])} without a time."
        )
    if any(row["interval"] is None for row in rows):
        text += " Points without a line have no interval."
    return text.strip()


def _side(side):
    return (f"{side['path']}, commit {side['commit'][:10]}, "
            f"{words.machine_text(side)}, {side['date']}")


def _headlines(comparison, rows):
    counts = ", ".join(
        f"{sum(row['verdict'] == verdict for row in rows)} {verdict}"
        for verdict in LOOKS
    )
    lines = [f"{counts}; all together {comparison['common_ratio']:.3f}"]
    worst = rows[-1]
    if worst["verdict"] == "SLOWER" and not math.isnan(worst["ratio"]):
        lines.append(f"slowest: {cell_names(rows)[-1]} {worst['ratio']:.3f}")
    return lines
