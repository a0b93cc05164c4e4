"""What do the algorithms of one training expectation cost?

The panels show the bytes that each asked for and its time, over the length of the
memory. The legend has the exponents of T: over all T, and in parentheses between the
last two, where constant parts weigh least.
"""

import math
from dataclasses import dataclass

from analysis import growth, load, series, settings, words
from figures import style, ticks


@dataclass(frozen=True)
class Subject:
    mechanism: str
    what: str
    algorithms: dict  # variant: what stands behind its name


MATCHA = Subject(
    "matcha",
    "MAtChA's expectation from given p and chunk energies",
    {"exact": "ours", "partial_sums": "eqs 40 to 43", "nested": "eq 28"},
)
MONOTONIC = Subject(
    "monotonic",
    "Monotonic attention's expectation from given p (EMMA's T x T product is made row "
    "by row)",
    {"exact": "ours", "parallel": "closed form", "triangular": "EMMA"},
)
FREE = ["memory_length", "variant"]
SIZES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def has_data(subject, cells):
    chosen = _counted(subject, cells)
    return (
        chosen["variant"].nunique() > 1
        and chosen["memory_length"].nunique() > 1
        and set(chosen["mode"]) == {"expect"}
        and chosen["scope"].nunique() == 1
        and set(cells["mechanism"]) == {subject.mechanism}
    )


def draw(subject, cells):
    path = cells.attrs["path"]
    mechanism = subject.mechanism
    chosen = _counted(subject, cells)
    if chosen.empty:
        raise load.DataError(
            path, f"cells missing: {mechanism} with peak_memory_bytes"
        )
    chosen = series.times(settings.select(chosen, free=FREE))
    order = list(subject.algorithms)
    variants = sorted(
        set(chosen["variant"]),
        key=lambda name: (order.index(name) if name in order else len(order), name),
    )
    figure, axes = style.new_figure(1, 2)
    said = []
    for rank, variant in enumerate(variants):
        line = chosen[chosen["variant"] == variant].sort_values("memory_length")
        if line["memory_length"].duplicated().any():
            raise load.DataError(path, f"cell twice: {mechanism}, {variant}")
        if len(line) < 2:
            raise load.DataError(
                path, f"cells missing: {mechanism}, {variant}, at a second T"
            )
        look = style.line(mechanism, [mechanism], rank, len(variants))
        name = f"{variant} ({subject.algorithms.get(variant, 'variant')})"
        said.append(_draw_line(axes[0], line, name, look))
    _set_axes(axes[0], sorted(set(chosen["memory_length"])))
    style.add_foot(figure, words.caption(chosen, _text(subject, chosen)))
    return figure, said


def _counted(subject, cells):
    return cells[
        (cells["mechanism"] == subject.mechanism)
        & cells["peak_memory_bytes"].notna()
        & (cells["status"] == "ok")
    ]


def _draw_line(axes, line, name, look):
    x = line["memory_length"].to_numpy(dtype=float)
    sizes = line["peak_memory_bytes"].to_numpy(dtype=float)
    of_memory = growth.exponent(x, sizes)
    of_time = growth.exponent(x, line["value"])
    axes[0].plot(x, sizes, **look)
    style.draw_line(axes[1], line, look)
    for panel, found in zip(axes, (of_memory, of_time)):
        panel.add_line(style.handle(f"{name}: {_slopes(found)}", look))
    last = line.iloc[-1]
    return (
        f"{name}, T = {last['memory_length']}: {size_text(sizes[-1])}, "
        f"{words.time_text(last['value'])}; exponents of T {_slopes(of_memory)} "
        f"of memory, {_slopes(of_time)} of time"
    )


def _slopes(found):
    return f"{growth.slope_text(found)} ({found.steps[-1]:.2f})"


def size_text(size, _=None):
    for unit, name in SIZES:
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.3g} B"


def _set_axes(axes, lengths):
    for panel, what, to_text in (
        (axes[0], "bytes asked for", size_text),
        (axes[1], "time", ticks.time_tick),
    ):
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_xticks(lengths, lengths)
        panel.minorticks_off()
        panel.grid(True)
        panel.set_xlabel("memory length T")
        panel.set_ylabel(what)
        # The upper limit leaves room for the legend above the lines.
        low, high = panel.get_ylim()
        panel.set_ylim(low, high * (high / low) ** 0.35)
        if to_text is size_text:
            panel.set_yticks(_sizes(*panel.get_ylim()))
            panel.yaxis.set_major_formatter(to_text)
        else:
            ticks.log_ticks(panel.yaxis, *panel.get_ylim(), to_text)
        panel.legend(loc="upper left", frameon=False, labelspacing=0.25)


def _sizes(low, high):
    """Gives at most eight powers of two."""
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    step = max(1, -(-(last - first + 1) // 8))
    return [2.0**power for power in range(first, last + 1, step)]


def _text(subject, chosen):
    cell = chosen.iloc[0]
    return (
        f"{subject.what}, U = {cell['output_length']}. Left: bytes asked for at the peak, exact. "
        "Right: time, with its interval. In the legends the exponent of T, over "
        "all T and (in parentheses) between the last two."
    )
