"""How late is a decoder that chooses, against the bias r of its energies?

Four panels over r: the share of the memory that was waited for (AP), the lag
behind a decoder that keeps pace (AL, DAL), and the shares of the memory that was
read and of the outputs that found nothing to choose. Two in a row: where three
share the width of a page their letters cannot be read. Mechanisms whose figures
are the same share a line: a chunk does not change what is chosen.
"""

import math

from attnbench.analysis import load, modes, settings, words, workloads
from figures import style

FREE = ["workload", "chunk_width"]
FIGURES = ("ap", "al", "dal")
DASHES = (0, (5, 1.5))
TITLES = (
    "average proportion (AP)",
    "lag, entries",
    "share of the memory passed",
    "share of outputs without a context",
)


def has_data(cells):
    chosen = cells[[_bias(w) is not None for w in cells["workload"]]]
    return chosen["workload"].nunique() > 1 and not _online(chosen).empty


def draw(cells):
    path = cells.attrs["path"]
    chosen = cells[[_bias(w) is not None for w in cells["workload"]]]
    if chosen.empty:
        raise load.DataError(path, "cells missing: workload bias:R")
    chosen = _online(chosen)
    if chosen.empty:
        raise load.DataError(
            path,
            "no cell has a latency: a mechanism that decodes online, measured by "
            "a program that has the field",
        )
    chosen = settings.select(chosen, free=FREE)
    lines = _lines(chosen, path)
    figure, axes = style.new_figure(2, 2)
    axes = axes.ravel()
    names = modes.mechanisms(chosen)
    looks = {
        label: style.line(label.split(";")[0].split(",")[0], names)
        for label in lines
    }
    for label, rows in lines.items():
        _draw_line(axes, rows, looks[label])
    _set_axes(axes)
    handles = [style.handle(label, look) for label, look in looks.items()]
    style.add_foot(figure, words.caption(chosen, _text(chosen)), handles)
    return figure, _headlines(lines)


# ---- data -------------------------------------------------------------------


def _bias(workload):
    return workloads.number_of(workload, "bias")


def _online(cells):
    """Keeps the cells that have a latency; results before the field have none."""
    if "latency" not in cells:
        return cells[:0]
    return cells[[isinstance(latency, dict) for latency in cells["latency"]]]


def _row(cell):
    return {
        "r": _bias(cell["workload"]),
        **{figure: cell["latency"][figure] for figure in FIGURES},
        "passed": cell["reads"]["memory_read"],
        "empty": cell["reads"]["zero_contexts"],
    }


def _lines(chosen, path):
    """label -> rows by r; of mechanisms whose rows are the same, one line."""
    by_label = {}
    for cell in chosen.to_dict("records"):
        rows = by_label.setdefault(settings.label(cell), {})
        row = _row(cell)
        if row["r"] in rows:
            raise load.DataError(path, f"cell twice: {settings.describe(cell)}")
        rows[row["r"]] = row
    biases = sorted({r for rows in by_label.values() for r in rows})
    for label, rows in by_label.items():
        for r in biases:
            if r not in rows:
                raise load.DataError(
                    path, f"cells missing: {label}, workload bias:{r:g}"
                )
    joined = []
    for label, rows in by_label.items():
        rows = [rows[r] for r in biases]
        for of_line, others in joined:
            if _are_same(rows, others):
                of_line.append(label)
                break
        else:
            joined.append(([label], rows))
    return {"; ".join(labels): rows for labels, rows in joined}


def _are_same(rows, others):
    # Latency is exact; weights of a chunk sum to 1 up to rounding.
    return all(
        row[key] == other[key]
        or key in ("passed", "empty") and None not in (row[key], other[key])
        and math.isclose(row[key], other[key], rel_tol=1e-4, abs_tol=1e-4)
        for row, other in zip(rows, others)
        for key in row
    )


# ---- drawing ----------------------------------------------------------------


def _draw_line(axes, rows, look):
    # From early to late, left to right: a decoder waits the longer the lower r is.
    rows = rows[::-1]
    r = [-row["r"] for row in rows]
    plain = {**look, "linestyle": "-"}
    for panel, key in zip(axes, ("ap", "al", "passed", "empty")):
        panel.plot(r, [row[key] for row in rows], **plain)
    dashed = {**look, "linestyle": DASHES, "fillstyle": "none"}
    axes[1].plot(r, [row["dal"] for row in rows], **dashed)


def _set_axes(axes):
    for panel, title in zip(axes, TITLES):
        panel.set_ylabel(title)
        panel.set_xlabel("−r, the negative bias of energies: early to late")
        panel.grid(True)
        if panel is not axes[1]:
            panel.set_ylim(-0.03, 1.03)
    axes[1].axhline(0, color="#909090", linewidth=0.8)
    grey = {"color": "#555555", "linewidth": 1.2}
    axes[1].legend(
        handles=[
            style.handle(text, {**grey, "linestyle": dashes, "fillstyle": fill, "marker": "s"})
            for text, dashes, fill in (("AL", "-", "full"), ("DAL", DASHES, "none"))
        ],
        loc="upper left",
        frameon=False,
    )


# ---- words ------------------------------------------------------------------


def _text(chosen):
    cell = chosen.iloc[0]
    return (
        f"Decoding T = {cell['memory_length']} entries into U = "
        f"{cell['output_length']} outputs, means over all draws, exact. AP: mean "
        "share of the memory that was read before an output; AL, DAL: entries "
        "behind a decoder that keeps pace. Where nothing was chosen an output "
        "waited for the whole memory. Mechanisms with the same figures share a "
        "line."
    )


def _percent(share):
    return "an unknown share" if share is None else f"{100 * share:.0f} %"


def _headlines(lines):
    return [
        f"{label}, r = {row['r']:g}: AP {row['ap']:.3f}, AL {row['al']:.1f}, DAL "
        f"{row['dal']:.1f} entries, {_percent(row['passed'])} of the memory "
        f"passed, {_percent(row['empty'])} of the outputs without a context"
        for label, rows in lines.items()
        for row in (rows[-1], rows[len(rows) // 2], rows[0])
    ]
