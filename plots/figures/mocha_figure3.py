"""Figure 3 of MoChA (appendix B): time and speed-up against T = U.

A line for each mechanism and each of its settings (w, K) that the file has, so
a new mechanism appears by being measured. A row of panels for each workload:
left the time of all U outputs, right soft attention's time over it.
"""

import math

from attnbench.analysis import load, pairing, reads, series, settings, words
from figures import style, ticks

FREE = [
    "memory_length",
    "output_length",
    "workload",
    "chunk_width",
    "num_contexts",
]
PAPERS_LENGTH = 100  # the longest of the paper's figure


def has_data(cells):
    return (
        pairing.BASELINE in set(cells["mechanism"])
        and cells["mechanism"].nunique() > 1
        and (cells["memory_length"] == cells["output_length"]).all()
        and cells["mode"].nunique() == 1
    )


def draw(cells):
    path = cells.attrs["path"]
    chosen = series.times(settings.select(cells, free=FREE))
    for cell in chosen.to_dict("records"):
        if cell["memory_length"] != cell["output_length"]:
            raise load.DataError(
                path,
                f"cell {settings.describe(cell)}: the figure takes T = U only",
            )
    chosen["label"] = [settings.label(c) for c in chosen.to_dict("records")]
    labels = _ordered_labels(chosen)
    workloads = sorted(set(chosen["workload"]), reverse=True)
    settings.require_cells(
        chosen,
        {
            "workload": workloads,
            "label": labels,
            "memory_length": sorted(set(chosen["memory_length"])),
        },
        path,
    )
    ratios = pairing.speedups(chosen)
    looks = style.looks(labels)
    # Adaptive chunks take as long as chunks of 2: both must be seen where they meet.
    for label in labels:
        if label == "matcha":
            looks[label] |= {"fillstyle": "none", "markersize": 6, "zorder": 3,
                             "linestyle": style.LINE_STYLES[2]}
    figure, axes = style.new_figure(len(workloads), 2, 2.6)
    for row, workload in enumerate(workloads):
        _draw_row(axes[row], workload, chosen, ratios, looks)
    handles = [style.handle(label, look) for label, look in looks.items()]
    if reads.notes(ratios):
        handles.append(style.mark_handle())
    text = (
        "Left: time to decode all U outputs, with its interval. Right: soft "
        "attention's time over it, with its interval."
    )
    style.add_foot(figure, words.caption(chosen, text, ratios), handles)
    return figure, _headlines(ratios, workloads, labels) + reads.notes(ratios)


def _ordered_labels(cells):
    """Orders known mechanisms as usual, then others; w and K by size."""
    known = list(style.MECHANISMS)

    def place(cell):
        name = cell["mechanism"]
        sizes = [
            math.inf if cell[key] == "inf" else cell[key] or 0
            for key in ("chunk_width", "num_contexts")
        ]
        rank = known.index(name) if name in known else len(known)
        return rank, name, sizes

    unique = cells.drop_duplicates("label").to_dict("records")
    return [cell["label"] for cell in sorted(unique, key=place)]


def _draw_row(axes, workload, chosen, ratios, looks):
    lengths = sorted(set(chosen["memory_length"]))
    sides = (
        (chosen, "time of all U outputs", ticks.time_tick),
        (ratios, "speed-up over soft", ticks.ratio_tick),
    )
    # Panels are titled by what differs between them.
    is_alone = chosen["workload"].nunique() == 1
    for panel, (rows, what, _) in zip(axes, sides):
        rows = rows[rows["workload"] == workload]
        for label, line in rows.groupby("label"):
            style.draw_line(panel, line.sort_values("memory_length"), looks[label])
            if panel is axes[1]:
                style.mark_points(panel, line, looks[label])
        panel.set_title(what if is_alone else f"{workload} inputs")
        panel.set_xlabel("memory length T = output length U")
        panel.set_ylabel(what)
        panel.set_yscale("log")
        panel.grid(True)
        if _stand_apart(lengths):
            panel.set_xticks(lengths)
    axes[1].axhline(1, color=looks[pairing.BASELINE]["color"], linewidth=0.8)
    for panel, (_, _, to_text) in zip(axes, sides):
        ticks.log_ticks(panel.yaxis, *panel.get_ylim(), to_text)


def _stand_apart(lengths):
    """Whether a tick at each length leaves its label room."""
    gaps = [b - a for a, b in zip(lengths, lengths[1:])]
    return not gaps or min(gaps) >= 0.08 * (lengths[-1] - lengths[0])


def _headlines(ratios, workloads, labels):
    lengths = set(ratios["memory_length"])
    length = PAPERS_LENGTH if PAPERS_LENGTH in lengths else max(lengths)
    at = ratios[ratios["memory_length"] == length].to_dict("records")
    at.sort(
        key=lambda cell: (
            workloads.index(cell["workload"]),
            labels.index(cell["label"]),
        )
    )
    return [
        f"{cell['workload']}, T = U = {length}: soft / {cell['label']} "
        + words.span_text(cell)
        for cell in at
    ]
