"""How much of the speed-up is memory that was never read?

Soft attention's time over that of each mechanism that scans, against the share
of the memory that the scan passed: the papers' benchmarks, where a scan advances
about an entry an output, are at the left edge wherever T is much longer than U;
a model that reads its whole input is at the right one. Outputs that found nothing
to choose cost nothing, so points with more than a few of them stand hollow in a panel
of their own, over the share of such outputs.
"""

import math

from attnbench.analysis import load, pairing, reads, settings, words
from figures import latency, style, ticks

FREE = ["workload", "chunk_width"]
HOLLOW = {"color": "#000000", "marker": "o", "fillstyle": "none", "linestyle": "none"}


def has_data(cells):
    return (
        pairing.BASELINE in set(cells["mechanism"])
        and latency.has_data(cells)
        and cells["memory_length"].nunique() == 1
        and cells["output_length"].nunique() == 1
    )


def draw(cells):
    path = cells.attrs["path"]
    chosen = settings.select(settings.exact(cells), free=FREE).copy()
    chosen["label"] = [settings.label(cell) for cell in chosen.to_dict("records")]
    ratios = pairing.speedups(chosen)
    scans = ratios[ratios["end"].notna()
                   & [_read(cell) is not None for cell in ratios.to_dict("records")]]
    if scans.empty:
        raise load.DataError(path, "cells missing: a mechanism that scans and ends by absorb")
    lines = _lines(scans, path)
    are_apart = any(map(reads.is_marked, scans.to_dict("records")))
    figure, axes = style.new_figure(1, 2 if are_apart else 1, 2.3, style.COLUMN_IN)
    looks = style.looks(list(lines))
    for label, rows in lines.items():
        for panel, (key, chosen_rows, look) in zip(
                axes[0], _parts(rows, looks[label])):
            _draw_points(panel, key, chosen_rows, look)
    _set_axes(axes[0])
    handles = [style.handle(label, look) for label, look in looks.items()]
    if are_apart:
        handles.append(style.handle(f"hollow: {reads.WHAT}", HOLLOW))
    # Marked points are hollow here, and their caption says so.
    solid = scans[[not reads.is_marked(cell) for cell in scans.to_dict("records")]]
    style.add_foot(figure, words.caption(chosen, _text(scans), solid), handles)
    return figure, _headlines(lines)


def _lines(scans, path):
    """label -> (share, ratio) by share, at least two of them on the line."""
    lines = {}
    for cell in scans.to_dict("records"):
        if math.isnan(cell["value"]):
            continue
        lines.setdefault(cell["label"], []).append((_read(cell), cell))
    for label, rows in lines.items():
        if len(_on_line(rows)) < 2:
            raise load.DataError(
                path,
                f"cells missing: {label} under a second workload in which at "
                f"most {100 * reads.MOST_EMPTY:g} % of the outputs have no context",
            )
        rows.sort(key=lambda row: row[0])
    return lines


def _read(cell):
    return cell["reads"]["memory_read"]


def _empty(cell):
    return cell["reads"]["zero_contexts"]


def _on_line(rows):
    return [row for row in rows if not reads.is_marked(row[1])]


def _parts(rows, look):
    """Gives what each panel shows of a line: (number of a cell, rows, look)."""
    apart = [row for row in rows if reads.is_marked(row[1])]
    hollow = {**look, "fillstyle": "none", "linestyle": (0, (1, 2))}
    return ((_read, _on_line(rows), look), (_empty, apart, hollow))


def _draw_points(panel, key, rows, look):
    cells = sorted((cell for _, cell in rows), key=key)
    spans = ([cell[one] for cell in cells] for one in ("value", "low", "high"))
    style.draw_spans(panel, [key(cell) for cell in cells], *spans, look)


def _set_axes(panels):
    # All have the same y, or they could not be read side by side.
    for panel in panels:
        panel.set_yscale("log")
        panel.axhline(1, color=style.MECHANISMS[pairing.BASELINE][0], linewidth=0.8)
    low = min(panel.get_ylim()[0] for panel in panels)
    high = max(panel.get_ylim()[1] for panel in panels)
    for panel, text in zip(panels, ("share of the memory passed",
                                    "outputs without context")):
        panel.set_xlim(-0.05, 1.05)
        panel.set_ylim(low, high)
        ticks.log_ticks(panel.yaxis, low, high, ticks.ratio_tick)
        panel.grid(True)
        panel.set_xlabel(text)
    panels[0].set_ylabel("speed-up over soft")


def _text(scans):
    cell = scans.iloc[0]
    return (
        f"Decoding T = {cell['memory_length']} entries into U = "
        f"{cell['output_length']} outputs; each point is a workload, the share "
        "a mean over its draws, exact (energies less outputs that chose, over T). "
        "An output without a context costs nothing; on the right nearly all of the memory "
        "was passed."
    )


def _headlines(lines):
    said = []
    for label, rows in lines.items():
        (least, first), *_, (most, last) = _on_line(rows)
        said.append(
            f"{label}: {words.span_text(first)} where {100 * least:.0f} % of the "
            f"memory is passed, {words.span_text(last)} where {100 * most:.0f} % is"
        )
    return said
