"""Table 1 of Britz (section 4.1) as a figure: the time of a whole decoder over
that of one with full attention, against the longest source L.

The first panel is the paper's, with a beam of 10 on a GPU; then one of ours for
each beam, with intervals. All have one scale. The paper has neither greedy
decoding nor mechanisms that choose.
"""


from analysis import load, published, settings, whole_decoders, words
from analysis.pairing import BASELINE
from figures import style

PAPERS_BEAM = 10
TABLE = "britz-table-1"


def has_data(cells):
    return (
        BASELINE in set(cells[cells["status"] == "ok"]["mechanism"])
        and cells["memory_length"].nunique() > 1
        and len(whole_decoders.settings_of(cells)) == 1
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
    names = list(dict.fromkeys(settings.label(cell) for cell in cells))
    looks = style.looks(names)
    lengths = sorted({cell["memory_length"] for cell in cells})
    beams = sorted({cell["beam"] for cell in cells}, reverse=True)
    papers = _papers_lines(lengths)
    panels_of = {"Britz, table 1: beam 10, GPU": papers}
    for beam in beams:
        title = "here: " + (f"beam {beam}" if beam > 1 else "greedy")
        panels_of[title] = _lines(cells, names, beam)
    figure, axes = style.new_figure(1, len(panels_of), panel_height=3.2)
    for panel, (title, lines) in zip(axes[0], panels_of.items()):
        _draw_panel(panel, lines, lengths, looks)
        panel.set_title(title)
    axes[0][0].set_ylabel("time over full attention's")
    low, high = _limits(panels_of.values())
    for panel in axes[0]:
        panel.set_ylim(low, high)
    handles = [style.handle(name, look) for name, look in looks.items()]
    style.add_foot(figure, _caption(frame), handles)
    return figure, _headlines(cells, papers, max(lengths))


def _lines(cells, names, beam):
    """name -> {L: (ratio, low, high)} of the cells of a beam."""
    lines = {name: {} for name in names}
    for cell in cells:
        ratio = cell["ratio"]
        if cell["beam"] == beam and ratio and whole_decoders.is_as_trained(cell):
            span = (ratio.value, ratio.low, ratio.high)
            lines[settings.label(cell)][cell["memory_length"]] = span
    return lines


def _papers_lines(lengths):
    """The same of the paper's times, which have no intervals."""
    rows = published.table(published.paper("britz"), TABLE)["rows"]
    full = {row["length"]: row["time_s"] for row in rows if row["mechanism"] == BASELINE}
    lines = {}
    for row in rows:
        if row["mechanism"] != BASELINE and row["length"] in lengths:
            name = settings.label({**row, "chunk_width": None})
            ratio = row["time_s"] / full[row["length"]]
            lines.setdefault(name, {})[row["length"]] = (ratio, ratio, ratio)
    return lines


def _draw_panel(panel, lines, lengths, looks):
    shown = [name for name in looks if lines.get(name)]
    for number, name in enumerate(shown):
        line = sorted(lines[name].items())
        # They stand beside each other, or intervals would cover each other.
        shift = 0.3 * ((number + 0.5) / len(shown) - 0.5)
        places = [lengths.index(length) + shift for length, _ in line]
        style.draw_spans(panel, places, *zip(*(point for _, point in line)), looks[name])
    panel.axhline(1, color=style.MECHANISMS[BASELINE][0], linewidth=0.8)
    panel.set_xticks(range(len(lengths)), [str(length) for length in lengths])
    panel.set_xlabel("longest source L")
    panel.grid(True)


def _limits(panels_lines):
    """Fits all values: the intervals of a few rounds may leave the panel."""
    values = [1] + [
        point[0] for lines in panels_lines for line in lines.values()
        for point in line.values()
    ]
    room = 0.08 * (max(values) - min(values))
    return min(values) - room, max(values) + room


def _caption(frame):
    ((units, _, vocabulary, _),) = whole_decoders.settings_of(frame)
    return (
        "Time to translate sources of 0 to L symbols by a whole encoder and decoder, "
        "over that of the same with full (soft) attention, measured in the same "
        "rounds; 95 % interval of each, which may leave the panel. "
        f"2 layers of {units} units, vocabulary {vocabulary}, random weights, one CPU "
        "thread. none: without attention. Left out: where less than "
        f"{100 * whole_decoders.LEAST_READ:g} % of the memory was read, or more than "
        f"{100 * whole_decoders.MOST_EMPTY:g} % of the outputs had no entry; and "
        "cells that failed. "
        + words.context_text(frame.attrs["context"])
    )


def _headlines(cells, papers, longest):
    lines = [
        f"L = {cell['memory_length']}, beam {cell['beam']}, {settings.label(cell)}: "
        f"{cell['status']}: {cell['message']}"
        for cell in cells if cell["status"] not in ("ok", "skipped")
    ]
    for cell in cells:
        if cell["memory_length"] != longest or not cell["ratio"]:
            continue
        name = settings.label(cell)
        text = (f"L = {longest}, beam {cell['beam']}, {name} / {BASELINE}: "
                f"{cell['ratio'].value:.3f}")
        paper = papers.get(name, {}).get(longest)
        if cell["beam"] == PAPERS_BEAM and paper:
            text += f" (paper: {paper[0]:.3f})"
        reads = whole_decoders.reads_text(cell)
        text += f" ({reads})" if reads else ""
        lines.append(text)
    return lines
