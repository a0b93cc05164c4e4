"""The times of any sweep, or its counts of instructions: lines over the axis that has
the most values, or bars where no axis of numbers varies.

It is for sweeps that no other figure is meant for. Other axes that vary have a panel for
each of their values; a cell that has no such axis (memory has no energy) is in all of
them.
"""

import collections
import json
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.ticker import EngFormatter

from attnbench.analysis import load, names, series, settings, words
from figures import style, ticks

WORKS = {"decode": "a decode", "expect": "an expectation", "gradient": "a gradient"}
# Only these name a sweep, where they do not vary.
IN_TITLES = ("memory_length", "output_length", "dim", "beam")
LENGTHS = ("memory_length", "output_length")
NAMES = {"num_contexts": "contexts", "dim": "size"}
MOST_PANELS = 18
MOST_COLUMNS = 3
MOST_TICKS = 6
# Axes that span more are logarithmic.
MOST_LINEAR = 5
TITLE_PT = 8
ROW_IN = 0.15


@dataclass(frozen=True)
class _Measure:
    name: str
    text: Callable  # of a value
    tick: Callable


TIME = _Measure("time", words.time_text, ticks.time_tick)
INSTRUCTIONS = _Measure("instructions", "{:,.0f}".format, EngFormatter(sep=""))


def has_data(cells):
    return bool((cells["status"] == "ok").any())


def has_instructions(cells):
    return "instructions" in cells and bool(cells["instructions"].notna().any())


def title(cells, measure=TIME):
    """Says what was measured, over what, at which sizes."""
    return _title(_plan(_timed(cells)), measure)


def title_of_instructions(cells):
    return title(_counted(cells), INSTRUCTIONS)


def draw(cells):
    return _draw(cells, series.times(_timed(cells)), TIME)


def draw_instructions(cells):
    counted = _counted(cells)
    spans = {"value": counted["instructions"], "low": math.nan, "high": math.nan}
    return _draw(cells, counted.assign(**spans), INSTRUCTIONS)


def _counted(cells):
    if not has_instructions(cells):
        raise load.DataError(cells.attrs["path"], "no cell has a count of instructions")
    return cells[cells["instructions"].notna()]


def _draw(cells, chosen, measure):
    plan = _plan(chosen)
    panels = _panels(plan)
    shown = dict(list(panels.items())[:MOST_PANELS])
    looks = style.looks(list(dict.fromkeys(row["label"] for row in plan.rows)))
    figure, grid = _new_figure(_title(plan, measure), plan, shown)
    is_log = _spans_much([row["value"] for row in plan.rows])
    most = max(map(len, shown.values()))
    for axes, (name, rows) in zip(grid.flat, shown.items()):
        if plan.x is None:
            _draw_bars(axes, rows, looks, most, measure)
        else:
            _draw_lines(axes, rows, plan.x, looks, is_log, measure)
        axes.set_title(name)
    for axes in grid.flat[len(shown):]:
        axes.set_axis_off()
    handles = [style.handle(*one) for one in looks.items()] if plan.x else []
    text = _text(len(cells) - len(chosen), chosen, panels, measure)
    style.add_foot(figure, words.caption(chosen, text), handles)
    return figure, [_headline(name, rows, plan.x, measure) for name, rows in shown.items()]


# ---- what is drawn where ----------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    rows: list  # cells as dicts, with `label`, the name of their line or bar
    x: str | None  # the axis of the lines
    apart: list  # the axes that have panels


def _timed(cells):
    chosen = cells[cells["status"] == "ok"]
    if chosen.empty:
        raise load.DataError(cells.attrs["path"], "no cell has a time")
    return chosen


def _plan(cells):
    rows = cells.to_dict("records")
    varying = [
        axis for axis in cells.columns
        if axis not in (*load.OUTCOMES, "value", "low", "high")
        and len(_values(rows, axis)) > 1
    ]
    x = _axis_of_lines(rows, varying)
    _label(rows, x, varying)
    apart = []
    for axis in varying:
        if axis in ("mechanism", "variant", "options", "chunk_width", "num_contexts", x):
            continue
        if axis in LENGTHS and x in LENGTHS and _follows(rows, axis, x):
            continue
        if _follows(rows, axis, "label"):
            for row in rows:
                row["follows"].append(settings.setting_text(axis, row[axis]))
        else:
            apart.append(axis)
    for row in rows:
        row["label"] = ", ".join([row["label"], *filter(None, row.pop("follows"))])
    return _Plan(rows, x, apart)


def _values(rows, axis):
    return list(dict.fromkeys(row[axis] for row in rows if row[axis] is not None))


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _axis_of_lines(rows, varying):
    """Gives the axis with the most numbers, if every mechanism has one."""
    mechanisms, counts = set(_values(rows, "mechanism")), {}
    for axis in varying:
        have = [row for row in rows if _is_number(row[axis])]
        count = len({row[axis] for row in have})
        if count > 1 and {row["mechanism"] for row in have} == mechanisms:
            counts[axis] = count
    return max(counts, key=counts.get, default=None)


def _follows(rows, axis, other):
    """Whether there is one value of the axis for each of the other's."""
    found = collections.defaultdict(set)
    for row in rows:
        if row[axis] is not None:
            found[row[other]].add(row[axis])
    return all(len(values) == 1 for values in found.values())


def _label(rows, x, varying):
    """Names the line of each row: its mechanism, and what else tells lines apart."""
    options = _varying_options(rows)
    for row in rows:
        text = settings.label({**row, x: None} if _is_number(row.get(x)) else row)
        if "variant" in varying:
            text += f", {row['variant']}"
        given = json.loads(row["options"])
        for name in options[row["mechanism"]]:
            text += f", {name} = {given.get(name)}"
        row.update(label=text, follows=[])


def _varying_options(rows):
    """Gives mechanism -> names of the options in which its cells differ."""
    found = collections.defaultdict(lambda: collections.defaultdict(set))
    for row in rows:
        for name, value in json.loads(row["options"]).items():
            found[row["mechanism"]][name].add(str(value))
    return collections.defaultdict(list, {
        mechanism: [name for name, values in options.items() if len(values) > 1]
        for mechanism, options in found.items()
    })


def _panels(plan):
    """Gives the title of each panel -> its rows, in the order of the axes' values."""
    ranks = {}
    for axis in plan.apart:
        values = _values(plan.rows, axis)
        ordered = sorted(values) if all(map(_is_number, values)) else values
        ranks[axis] = {value: rank for rank, value in enumerate([None, *ordered])}
    of_row = [tuple(row[axis] for axis in plan.apart) for row in plan.rows]
    every = set(of_row)
    whole = [one for one in every if not any(_has(o, one) for o in every - {one})]
    whole.sort(key=lambda one: [ranks[a][value] for a, value in zip(plan.apart, one)])
    return {
        ", ".join(filter(None, map(settings.setting_text, plan.apart, panel))):
            [row for row, own in zip(plan.rows, of_row) if _has(panel, own)]
        for panel in whole
    }


def _has(panel, own):
    """Whether the cell is of the panel, but for axes that the cell does not have."""
    return all(one is None or one == value for value, one in zip(panel, own))


# ---- drawing ----------------------------------------------------------------


def _new_figure(headline, plan, shown):
    columns = min(MOST_COLUMNS, len(shown))
    if len(shown) == 4:
        columns = 2
    height, width = style.PANEL_HEIGHT_IN, style.PAGE_IN
    if plan.x is None:
        height = 0.8 + ROW_IN * max(map(len, shown.values()))
    figure, grid = style.new_figure(-(-len(shown) // columns), columns, height, width)
    letters = int(width * 72 / (0.57 * TITLE_PT))
    figure.suptitle("\n".join(textwrap.wrap(headline, letters)), fontsize=TITLE_PT)
    return figure, grid


def _spans_much(values):
    return min(values) > 0 and max(values) / min(values) > MOST_LINEAR


def _draw_lines(axes, rows, x, looks, is_log, measure):
    lines = collections.defaultdict(list)
    for row in rows:
        lines[row["label"]].append(row)
    for label, line in lines.items():
        points = sorted(
            (row for row in line if _is_number(row[x])), key=lambda row: row[x])
        if points:
            spans = ([row[key] for row in points] for key in (x, "value", "low", "high"))
            style.draw_spans(axes, *spans, looks[label])
        for row in line:
            if not _is_number(row[x]):  # it does not have this axis
                look = {key: looks[label][key] for key in ("color", "linestyle")}
                axes.axhline(row["value"], **look)
    _set_x_axis(axes, sorted({row[x] for row in rows if _is_number(row[x])}))
    axes.set_xlabel(_axis_text(rows, x))
    axes.set_ylabel(measure.name)
    axes.grid(True)
    if is_log:
        axes.set_yscale("log")
        ticks.log_ticks(axes.yaxis, *axes.get_ylim(), measure.tick)
    else:
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(measure.tick)


def _set_x_axis(axes, values):
    if _spans_much(values):
        axes.set_xscale("log")
        ticks.log_ticks(axes.xaxis, *axes.get_xlim(), "{x:g}")
    if len(values) <= MOST_TICKS:
        axes.set_xticks(values, [f"{value:g}" for value in values])
        axes.minorticks_off()


def _axis_text(rows, x):
    name = NAMES.get(x, x.replace("_", " "))
    letter = settings.LETTERS.get(x)
    text = f"{name} {letter}" if letter else name
    is_square = x == LENGTHS[0] and all(row[x] == row[LENGTHS[1]] for row in rows)
    return f"{text} = U" if is_square else text


def _draw_bars(axes, rows, looks, places, measure):
    """Draws a bar for each row, in as many places as the fullest panel has."""
    longest = max(max(row["value"], _end(row)) for row in rows)
    for place, row in enumerate(rows):
        axes.barh(place, row["value"], height=0.7, color=looks[row["label"]]["color"],
                  alpha=0.5)
        if math.isfinite(row["high"]):
            axes.plot([row["low"], row["high"]], [place, place], color="#000000")
        axes.text(_end(row) + 0.02 * longest, place, measure.text(row["value"]),
                  fontsize=style.SMALLEST_PT, va="center")
    axes.set_yticks(range(len(rows)), [names.label(row["label"]) for row in rows])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(places - 0.4, -0.6)
    axes.set_xlim(0, 1.4 * longest)
    axes.xaxis.set_major_formatter(measure.tick)
    axes.locator_params(axis="x", nbins=4)
    axes.set_xlabel(measure.name)
    axes.grid(True, axis="x")


def _end(row):
    return row["high"] if math.isfinite(row["high"]) else row["value"]


# ---- words ------------------------------------------------------------------


def _title(plan, measure):
    rows = plan.rows
    modes, mechanisms = _values(rows, "mode"), _values(rows, "mechanism")
    work = WORKS.get(modes[0], modes[0]) if len(modes) == 1 else "each mode"
    if _values(rows, "scope") == [load.DECODER]:
        work = "a whole decoder"
    text = f"{measure.name.capitalize()} of {work}"
    if len(mechanisms) == 1:
        text += f" with {mechanisms[0]}"
    if plan.x is not None:
        text += f" by {_axis_text(rows, plan.x)}"
    elif len(mechanisms) > 1:
        text += " by mechanism"
    elif len(_values(rows, "variant")) > 1:
        text += " by variant"
    sizes = [
        settings.setting_text(axis, rows[0][axis])
        for axis in IN_TITLES
        if axis in rows[0] and len(_values(rows, axis)) == 1
    ]
    return ", ".join(filter(None, [text, *sizes]))


def _text(left_out, cells, panels, measure):
    is_whole = set(cells["scope"]) == {load.DECODER}
    text = measure.name.capitalize()
    text += " to translate all sources" if is_whole else " of all outputs"
    text += (", with its 95 % interval where there are several rounds."
             if measure == TIME else ", counted by valgrind, whatever else the machine did.")
    if left_out:
        text += (f" Left out: {left_out} of {left_out + len(cells)} cells, which have no "
                 f"{measure.name}.")
    if len(panels) > MOST_PANELS:
        text += f" Not shown: {len(panels) - MOST_PANELS} of {len(panels)} settings."
    return text


def _headline(name, rows, x, measure):
    """Tells the value of each line at its end, or of each bar."""
    at = ""
    if x is not None:
        last = max(row[x] for row in rows if _is_number(row[x]))
        at = settings.setting_text(x, last)
        rows = [row for row in rows if row[x] == last or not _is_number(row[x])]
    values = "; ".join(
        f"{row['label']} {measure.text(row['value'])}"
        for row in sorted(rows, key=lambda row: row["value"])
    )
    return ": ".join(filter(None, [", ".join(filter(None, [name, at])), values]))
