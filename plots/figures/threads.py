"""How much faster is a batch on more threads?

There is a panel for each mode and scope, a line for each mechanism, and another for
each further pair of lengths it was measured at: the time on one thread over the time on
several. Cells that differ in threads only were timed in turn in every round, so their
ratio is taken round by round.
"""

import math

from attnbench.analysis import load, modes, pairing, settings, words
from figures import panels, style, ticks

IDEAL = {"color": "#909090", "linestyle": (0, (5, 1.5)), "linewidth": 0.8}
FREE = (*modes.FREE, "threads")
# Good lines lie on one another, so each line's points stand beside their number
# of threads, by the line's share of this factor.
SPREAD = 1.06
LEAST_THREADS = 4  # of the most; two points say no more than two numbers
LENGTHS = ["memory_length", "output_length"]


def has_data(cells):
    """Whether the file is meant for this figure: all of it is over threads, up to as many
    as make a curve.
    """
    chosen = cells[(cells["variant"] == "exact") & (cells["status"] == "ok")]
    of_each = chosen.groupby(["mechanism", "mode", "scope"])["threads"]
    return (
        not chosen.empty
        and bool((of_each.nunique() > 1).all())
        and chosen["threads"].max() >= LEAST_THREADS
    )


def select(cells):
    return settings.select(settings.exact(cells), free=FREE)


def ratios_of(chosen):
    """(mechanism, mode, scope, lengths) -> {threads: time on one over that}."""
    return {
        (*key, lengths): _ratios(cells)
        for key, group in modes.groups(chosen)
        for lengths, cells in group.groupby(LENGTHS, sort=False)
    }


def draw(cells):
    path = cells.attrs["path"]
    chosen = select(cells)
    ratios = ratios_of(chosen)
    labels = _labels(ratios)
    measured = sorted({n for of_key in ratios.values() for n in of_key})
    if measured[-1] < LEAST_THREADS:
        raise load.DataError(
            path,
            f"no cell that was measured is on more than {measured[-1]} threads, the figure "
            f"is drawn from {LEAST_THREADS} on",
        )
    for (name, mode, scope, lengths), of_key in ratios.items():
        for threads in measured:
            if threads not in of_key:
                raise load.DataError(
                    path,
                    f"cells missing: {name} in mode {mode}, scope {scope}, "
                    f"{_length_text(lengths)}, on {threads} threads",
                )
    figure, by_pair = panels.new_figure(chosen)
    names = modes.mechanisms(chosen)
    looks = {
        label: style.line(key[0], names, rank)
        for key, (label, rank) in labels.items()
    }
    for (key, of_key), (label, _) in zip(ratios.items(), labels.values()):
        _draw_line(by_pair[key[1:3]], looks, label, of_key)
    top = max(axes.get_ylim()[1] for axes in by_pair.values())
    for axes in by_pair.values():
        _set_axes(axes, measured, top)
    handles = [style.handle(*one) for one in (*looks.items(), ("ideal", IDEAL))]
    style.add_foot(figure, words.caption(chosen, _text(chosen)), handles)
    return figure, _headlines(chosen, ratios, labels)


# ---- data -------------------------------------------------------------------


def _ratios(group):
    """Gives, for each number of threads, the time on one thread over that, with its
    interval.
    """
    path = group.attrs["path"]
    by_threads = {}
    for cell in group.to_dict("records"):
        if cell["status"] == "skipped":
            continue
        if cell["threads"] in by_threads:
            raise load.DataError(
                path,
                f"cell twice: {settings.describe(cell)}, {cell['mode']}, "
                f"{cell['scope']}, threads = {cell['threads']}",
            )
        by_threads[cell["threads"]] = cell
    if 1 not in by_threads:
        cell = group.iloc[0]
        raise load.DataError(
            path,
            f"cells missing: {cell['mechanism']} in mode {cell['mode']}, scope "
            f"{cell['scope']}, {_length_text([cell[a] for a in LENGTHS])}, on 1 "
            "thread",
        )
    one = by_threads[1]
    ratios = {}
    for threads, cell in sorted(by_threads.items()):
        for axis in ("chunk_width", "num_contexts", "schedule"):
            if cell[axis] != one[axis]:
                raise load.DataError(
                    path,
                    f"mixed data: {axis} is {one[axis]} on 1 thread and "
                    f"{cell[axis]} on {threads}: {settings.describe(cell)}",
                )
        ratios[threads] = pairing.ratio(one, cell, path)
    return ratios


# ---- drawing ----------------------------------------------------------------


def _draw_line(axes, looks, label, of_key):
    share = list(looks).index(label) / max(1, len(looks) - 1) - 0.5
    x = [threads * SPREAD**share for threads in of_key]
    spans = ([r[key] for r in of_key.values()] for key in ("value", "low", "high"))
    style.draw_spans(axes, x, *spans, looks[label])


def _set_axes(axes, measured, top):
    last = measured[-1]
    axes.plot([1, last], [1, last], zorder=1, **IDEAL)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(1 / 1.1, last * 1.1)
    low, high = 1 / 1.1, max(last * 1.1, top)
    axes.set_ylim(min(low, axes.get_ylim()[0]), high)
    axes.set_xticks(measured, measured)
    axes.minorticks_off()
    ticks.log_ticks(axes.yaxis, *axes.get_ylim(), ticks.ratio_tick)
    axes.grid(True)
    axes.set_xlabel("threads")
    axes.set_ylabel("speed-up over one thread")


# ---- words ------------------------------------------------------------------


def _length_text(lengths):
    return "T = {}, U = {}".format(*lengths)


def _labels(ratios):
    """Gives each line its label and its number among the mechanism's lines in the
    panel: all but the first have lengths in the label.
    """
    labels, lines = {}, {}
    for key in ratios:
        *panel, lengths = key
        rank = lines[tuple(panel)] = lines.get(tuple(panel), -1) + 1
        text = f", {_length_text(lengths)}" if rank else ""
        labels[key] = (key[0] + text, rank)
    return labels


def _text(chosen):
    text = (
        "Time on one thread over the time on several, of the same rounds, with its "
        "95 % interval. Points stand side by side, or they would hide each other."
    )
    for mode, scope in modes.pairs(chosen):
        cells = chosen[(chosen["mode"] == mode) & (chosen["scope"] == scope)]
        text += f" {panels.title(mode, scope).capitalize()}: {_sizes(cells)}."
    return text


def _sizes(cells):
    texts = []
    for lengths, group in cells.groupby(LENGTHS, sort=False):
        text = _length_text(lengths)
        limits = [
            cell["limit"]
            for cell in group.to_dict("records")
            if cell["threads"] == 1 and cell["limit"]
        ]
        if limits:
            sizes = [limit["working_set_bytes"] / 2**10 for limit in limits]
            text += (
                f", one thread touches {min(sizes):.0f} to {max(sizes):.0f} KiB "
                "for a draw"
            )
        texts.append(text)
    return "; ".join(texts)


def _headlines(chosen, ratios, labels):
    """Tells each line of each mode and scope on the most threads."""
    said = []
    for panel in modes.pairs(chosen):
        for key, of_key in ratios.items():
            if key[1:3] != panel:
                continue
            last = max(of_key)
            said.append(
                f"{', '.join(panel)}, {last} threads, {labels[key][0]}: "
                f"{_precise(of_key[last])}"
            )
    return said


def _precise(ratio):
    """Writes '1.93x [1.90, 1.95]': a tenth is a lot here."""
    if math.isinf(ratio["high"]):
        return words.span_text(ratio)
    value, low, high = (ratio[key] for key in ("value", "low", "high"))
    return f"{value:.2f}x [{low:.2f}, {high:.2f}]"
