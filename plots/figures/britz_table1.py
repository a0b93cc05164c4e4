"""Table 1 of Britz (section 4.1) as a figure: the time of a whole decoder over
that of one with full attention.

There is a row of panels for each beam and a panel for each longest source L. In it each
mechanism has a line of its own with its ratio and interval, and below ours, hollow, the
paper's where the beam is the paper's. All have one scale. The paper has neither greedy
decoding nor mechanisms that choose.
"""

import math

from attnbench.analysis import load, names, published, settings, whole_decoders, words
from attnbench.analysis.pairing import BASELINE
from figures import policy, style

PAPERS_BEAM = 10
TABLE = "britz-table-1"
ROW_IN = 0.17
NO_GAIN = "no gain that we can measure"
PAPERS_SHIFT = 0.28  # of a line, downwards


def has_data(cells):
    # Policies have a figure of their own, and a row for each f would fill this one.
    return (
        not policy.has_data(cells)
        and BASELINE in set(cells[cells["status"] == "ok"]["mechanism"])
        and cells["memory_length"].nunique() > 1
        and len(whole_decoders.settings_of(cells)) == 1
        and (cells["output_length"] == cells["memory_length"]).all()
    )


def draw(frame):
    whole_decoders.require_one_setting(frame)
    cells = [
        cell
        for cell in whole_decoders.with_ratios(frame)
        if cell["mechanism"] != BASELINE
    ]
    if not any(cell["ratio"] for cell in cells):
        raise load.DataError(
            frame.attrs["path"], "no cell has a ratio to full attention"
        )
    labels = list(dict.fromkeys(settings.label(cell) for cell in cells))
    looks = style.looks(labels)
    lengths = sorted({cell["memory_length"] for cell in cells})
    beams = sorted({cell["beam"] for cell in cells}, reverse=True)
    ours, papers = _spans(cells), _papers_ratios(lengths)
    shown = papers if PAPERS_BEAM in beams else {}
    low, high = _limits(ours.values(), shown.values())
    figure, grid = style.new_figure(
        len(beams), len(lengths), 0.55 + ROW_IN * len(labels))
    for row, beam in zip(grid, beams):
        for panel, length in zip(row, lengths):
            of_panel = {label: ours.get((beam, length, label)) for label in labels}
            _draw_panel(panel, of_panel, looks)
            if beam == PAPERS_BEAM:
                _draw_papers(panel, [papers.get((length, one)) for one in labels], looks)
            panel.set_title(f"L = {length}, " + (f"beam {beam}" if beam > 1 else "greedy"))
            panel.set_xlim(low, high)
        row[0].set_yticks(range(len(labels)), map(_row_name, labels))
    figure.supxlabel("time over that of full attention", fontsize=7)
    style.add_foot(figure, _caption(frame), _handles(bool(shown)))
    return figure, _headlines(cells, papers)


def _row_name(label):
    """Says which mechanisms the paper's table does not have."""
    is_papers = label.startswith(("memory", "none"))
    return names.label(label) + ("" if is_papers else " (not in the paper)")


def _spans(cells):
    """(beam, L, name) -> ratio, of those that read what trained weights do."""
    return {
        (cell["beam"], cell["memory_length"], settings.label(cell)): cell["ratio"]
        for cell in cells
        if cell["ratio"] and whole_decoders.is_as_trained(cell)
    }


def _papers_ratios(lengths):
    """(L, name) -> the ratio of the paper's times, which have no intervals."""
    rows = published.table(published.paper("britz"), TABLE)["rows"]
    full = {row["length"]: row["time_s"] for row in rows if row["mechanism"] == BASELINE}
    return {
        (row["length"], settings.label({**row, "chunk_width": None})):
            row["time_s"] / full[row["length"]]
        for row in rows
        if row["mechanism"] != BASELINE and row["length"] in lengths
    }


def _draw_panel(panel, spans, looks):
    for place, (name, span) in enumerate(spans.items()):
        if span is None:
            continue
        look = {key: looks[name][key] for key in ("color", "marker")}
        if math.isfinite(span.high):
            panel.plot([span.low, span.high], [place, place], color=look["color"])
        panel.plot([span.value], [place], **look)
    panel.axvline(1, color=style.MECHANISMS[BASELINE][0], linewidth=0.8)
    panel.set_ylim(len(spans) - 0.4, -0.6)
    panel.set_yticks([])
    panel.tick_params(axis="y", length=0)
    panel.locator_params(axis="x", nbins=4)
    panel.grid(True, axis="x")


def _draw_papers(panel, ratios, looks):
    for place, (ratio, look) in enumerate(zip(ratios, looks.values())):
        if ratio is not None:
            panel.plot([ratio], [place + PAPERS_SHIFT], color=look["color"],
                       marker=look["marker"], fillstyle="none", markersize=4,
                       markeredgewidth=0.7)


def _limits(spans, papers):
    """Fits everything that is drawn: 1, each ratio, and each interval that has ends."""
    ends = [1, *papers]
    for span in spans:
        ends.append(span.value)
        if math.isfinite(span.high):
            ends += [span.low, span.high]
    room = 0.05 * (max(ends) - min(ends)) or 0.05
    return min(ends) - room, max(ends) + room


def _handles(are_papers_shown):
    black = {"color": "#000000", "marker": "o"}
    handles = [style.handle("here, with its 95 % interval", black)]
    if are_papers_shown:
        hollow = {**black, "linestyle": "none", "fillstyle": "none"}
        handles.append(style.handle("Britz, table 1: beam 10, on a GPU of 2017", hollow))
    return handles


def _caption(frame):
    ((units, _, vocabulary, layers, _, _),) = whole_decoders.settings_of(frame)
    return (
        "Time to translate sources of 0 to L symbols (L: the longest source) by a whole "
        "encoder and decoder, over that of the same with full (soft) attention, measured "
        "in the same rounds. "
        f"{layers} layers of {units} units, vocabulary {vocabulary}, random weights, one CPU "
        "thread. Left out: where less than "
        f"{100 * whole_decoders.LEAST_READ:g} % of the memory was read, or more than "
        f"{100 * whole_decoders.MOST_EMPTY:g} % of the outputs had no entry; and "
        "cells that failed. "
        + words.context_text(frame.attrs["context"])
    )


def _headlines(cells, papers):
    """Tells each failure, and a line for each mechanism and beam: all lengths, and where
    it is faster than full attention.
    """
    failures = [
        f"L = {cell['memory_length']}, beam {cell['beam']}, {settings.label(cell)}: "
        f"{cell['status']}: {cell['message']}"
        for cell in cells if cell["status"] not in ("ok", "skipped")
    ]
    lines = {}
    for cell in cells:
        if cell["ratio"]:
            lines.setdefault((cell["beam"], settings.label(cell)), []).append(cell)
    return failures + [
        f"beam {beam}, {name} / {BASELINE}: "
        + _line_text(of_line, papers) + _gain_text(of_line)
        for (beam, name), of_line in sorted(lines.items(), key=lambda line: -line[0][0])
    ]


def _line_text(cells, papers):
    """Tells what was read once where it is the same at all lengths."""
    reads = [whole_decoders.reads_text(cell) for cell in cells]
    is_same = len(set(reads)) == 1
    text = ", ".join(_ratio_text(cell, papers, "" if is_same else of_cell)
                     for cell, of_cell in zip(cells, reads))
    return text + (f" ({reads[0]})" if is_same and reads[0] else "")


def _ratio_text(cell, papers, reads):
    ratio, length = cell["ratio"], cell["memory_length"]
    text = f"{ratio.value:.2f}"
    if math.isfinite(ratio.high):
        text += f" [{ratio.low:.2f}, {ratio.high:.2f}]"
    paper = papers.get((length, settings.label(cell)))
    notes = [f"paper {paper:.2f}"] if cell["beam"] == PAPERS_BEAM and paper else []
    if reads:
        notes.append(reads)
    return text + (f" ({', '.join(notes)})" if notes else "") + f" at L = {length}"


def _gain_text(cells):
    """Of times like those of trained weights that have intervals, as they are printed."""
    known = [cell for cell in cells if math.isfinite(cell["ratio"].high)
             and whole_decoders.is_as_trained(cell)]
    gains = [str(cell["memory_length"]) for cell in known
             if round(cell["ratio"].high, 2) < 1]
    if not known:
        return ""
    return f": a gain at L = {', '.join(gains)}" if gains else f": {NO_GAIN}"
