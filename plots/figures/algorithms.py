"""What do the algorithms of one training expectation cost, and of its gradient?

The panels show the bytes that each asked for and its time, over the length of the
memory, a row for each mode. Beside a line are the exponents of T: over all T, and in
parentheses over long T alone, where constant parts weigh least. A line that ends before
the others says what its last T takes.
"""

import math
from dataclasses import dataclass

from matplotlib import patheffects

from attnbench.analysis import growth, load, series, settings, words
from figures import style, ticks


@dataclass(frozen=True)
class Subject:
    mechanism: str
    what: str
    algorithms: dict  # variant: what stands behind its name


MATCHA = Subject(
    "matcha",
    "MAtChA's expectation from given p and chunk energies",
    {"exact": "ours", "pairs": "ours, pair by pair", "partial_sums": "eqs 40 to 43",
     "nested": "eq 28"},
)
MONOTONIC = Subject(
    "monotonic",
    "Monotonic attention's expectation from given p (EMMA's T x T product is made row "
    "by row)",
    {"exact": "ours", "parallel": "closed form", "triangular": "EMMA"},
)
FREE = ["memory_length", "variant", "mode"]
# Rows of panels, and what they are called.
MODES = {"expect": "expectation", "gradient": "expectation and gradient"}
LONG = 2048  # T from which on a line's exponent is given by itself
MOST_DIGITS = 36  # of all labels of an axis, each as long as the longest
SIZES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def has_data(subject, cells):
    chosen = _counted(subject, cells)
    return (
        chosen["variant"].nunique() > 1
        and chosen["memory_length"].nunique() > 1
        and "expect" in set(chosen["mode"]) <= set(MODES)
        and chosen["scope"].nunique() == 1
        and set(cells["mechanism"]) == {subject.mechanism}
    )


def draw(subject, cells):
    path = cells.attrs["path"]
    # A cell that failed must not look like the end of a line.
    of_mechanism = cells[cells["mechanism"] == subject.mechanism]
    chosen = _counted(subject, settings.select(of_mechanism, free=FREE))
    if chosen.empty:
        raise load.DataError(
            path, f"cells missing: {subject.mechanism} with peak_memory_bytes"
        )
    for cell in chosen.to_dict("records"):
        if cell["peak_memory_bytes"] == 0:
            raise load.DataError(
                path, f"cell {settings.describe(cell)}: peak_memory_bytes is 0, which has "
                "no place among powers of two")
    chosen = series.times(chosen)
    modes = [mode for mode in MODES if mode in set(chosen["mode"])]
    figure, axes = style.new_figure(len(modes), 2)
    lengths = sorted(set(chosen["memory_length"]))
    said, handles = [], {}
    for panels, mode in zip(axes, modes):
        of_mode = chosen[chosen["mode"] == mode]
        ends = [], []  # of the lines of each panel
        said += _draw_mode(subject, panels, ends, handles, of_mode, lengths[-1], path)
        _set_axes(panels, lengths, MODES[mode] if len(modes) > 1 else "")
        for panel, of_panel in zip(panels, ends):
            style.label_ends(panel, of_panel)
    style.add_foot(figure, words.caption(chosen, _text(subject, chosen)), handles.values())
    return figure, said


def _draw_mode(subject, panels, ends, handles, cells, longest, path):
    mechanism = subject.mechanism
    of_gradient = set(cells["mode"]) == {"gradient"}
    order = list(subject.algorithms)
    # Colours are those of the variants of the subject, whichever a mode has.
    others = sorted(set(cells["variant"]) - set(order))
    said = []
    for rank, variant in enumerate(order + others):
        line = cells[cells["variant"] == variant].sort_values("memory_length")
        if line.empty:
            continue
        if line["memory_length"].duplicated().any():
            raise load.DataError(path, f"cell twice: {mechanism}, {variant}")
        if len(line) < 2:
            raise load.DataError(
                path, f"cells missing: {mechanism}, {variant}, at a second T"
            )
        look = style.line(mechanism, [mechanism], rank, len(order + others))
        what = subject.algorithms.get(variant)
        name = f"{variant} ({what or 'variant'})"
        handles.setdefault(variant, style.handle(what or variant, look))
        text = _draw_line(panels, ends, line, name, look, longest)
        said.append(f"gradient, {text}" if of_gradient else text)
    return said


def _counted(subject, cells):
    return cells[
        (cells["mechanism"] == subject.mechanism)
        & cells["peak_memory_bytes"].notna()
        & (cells["status"] == "ok")
    ]


def _draw_line(panels, ends, line, name, look, longest):
    x = line["memory_length"].to_numpy(dtype=float)
    sizes = line["peak_memory_bytes"].to_numpy(dtype=float)
    of_memory, of_time = _slopes(x, sizes), _slopes(x, line["value"])
    steps = line["output_length"].astype(float)
    of_step = line.assign(
        **{key: line[key] / steps for key in ("value", "low", "high")})
    panels[0].plot(x, sizes, **look)
    style.draw_line(panels[1], of_step, look)
    last = of_step["value"].iloc[-1]
    size = size_text(sizes[-1])
    for panel, of_panel, slopes, y, cost in (
        (panels[0], ends[0], of_memory, sizes[-1], size),
        (panels[1], ends[1], of_time, last, words.time_text(last)),
    ):
        of_panel.append((y, slopes, look["color"]))
        if x[-1] < longest:
            _mark_end(panel, x[-1], y, cost, look["color"])
    cell = line.iloc[-1]
    return (
        f"{name}, T = {cell['memory_length']}: {size}, {words.time_text(cell['value'])}; "
        f"exponents of T {of_memory} of memory, {of_time} of time"
    )


def _mark_end(panel, x, y, text, color):
    panel.annotate(
        text, (x, y), xytext=(0, 4), textcoords="offset points", ha="center",
        color=color, fontsize=style.SMALLEST_PT,
        path_effects=[patheffects.withStroke(linewidth=2, foreground="white")],
    )


def _slopes(x, values):
    """Writes the exponent over all T, and that over long ones, or else the last two."""
    is_long = x >= LONG if (x >= LONG).sum() > 1 else x >= x[-2]
    every = growth.exponent(x, values)
    of_long = growth.exponent(x[is_long], values[is_long])
    return f"{growth.slope_text(every)} ({growth.slope_text(of_long)})"


def size_text(size, _=None):
    for unit, name in SIZES:
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.3g} B"


def _set_axes(panels, lengths, what):
    # Labels must not run into each other; the greatest length has one.
    step = -(-len(lengths) * len(str(lengths[-1])) // MOST_DIGITS)
    shown = lengths[::-step][::-1]
    for panel, measure, to_text in (
        (panels[0], "bytes asked for", size_text),
        (panels[1], "time per step, ns", None),
    ):
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_xticks(shown, shown)
        panel.minorticks_off()
        panel.grid(True)
        panel.set_xlim(lengths[0] / 1.4, lengths[-1] * 1.4)
        panel.set_title(what)
        panel.set_xlabel("memory length T")
        panel.set_ylabel(measure)
        # The upper limit leaves room for what the last T takes.
        low, high = panel.get_ylim()
        panel.set_ylim(low, high * (high / low) ** 0.1)
        if to_text:
            panel.set_yticks(_sizes(*panel.get_ylim()))
            panel.yaxis.set_major_formatter(to_text)
        else:
            limits = panel.get_ylim()
            ticks.log_ticks(panel.yaxis, *limits, ticks.number_tick(*limits))


def _sizes(low, high):
    """Gives at most eight powers of two."""
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    step = max(1, -(-(last - first + 1) // 8))
    return [2.0**power for power in range(first, last + 1, step)]


def _text(subject, chosen):
    cell = chosen.iloc[0]
    return (
        f"{subject.what}, U = {cell['output_length']}. Left: bytes asked for at the peak, "
        "exact. Right: time of one output, with its interval. Beside a line the exponent of "
        f"T, over all T and (in parentheses) from T = {LONG} on, or between its last two. "
        "A line that ends before the others says what its last T takes: the next takes "
        "too long, or too much memory."
    )
