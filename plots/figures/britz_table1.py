"""Table 1 of Britz (section 4.1) as a figure: the time of a whole decoder over
that of one with full attention, against the longest source L.

A panel for each beam. Lines: ours, with intervals. Hollow markers beside them:
the paper's, of its beam of 10, in the panel of that beam. The paper has neither
greedy decoding nor mechanisms that choose.
"""

import os

from matplotlib import lines as mlines

import decoder_result
import load
import words
import style

BASELINE = "soft"
PLAIN = "none"
PAPERS_BEAM = 10
TABLE = "britz-table-1"
PUBLISHED = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "results", "published",
    "britz.json",
)


def has_data(result):
    return any(cell["ratio_to_soft"] for cell in result["cells"]) and (
        len({cell["length"] for cell in result["cells"]}) > 1
    )


def draw(result):
    cells = [cell for cell in result["cells"] if cell["mechanism"] != BASELINE]
    _require_ratios(cells, result["path"])
    names = list(dict.fromkeys(decoder_result.name(cell) for cell in cells))
    looks = _looks(cells, names)
    lengths = sorted({cell["length"] for cell in cells})
    beams = sorted({cell["beam"] for cell in cells}, reverse=True)
    papers = _papers_ratios(lengths)
    figure, axes = style.new_figure(1, len(beams), panel_width=3.8, panel_height=3.2)
    for panel, beam in zip(axes[0], beams):
        _draw_panel(panel, [c for c in cells if c["beam"] == beam], names, looks)
        if beam == PAPERS_BEAM:
            for (name, length), ratio in papers.items():
                if name in looks:
                    panel.plot(lengths.index(length), ratio, **_hollow(looks[name]))
        panel.axhline(1, color=style.MECHANISMS[BASELINE][0], linewidth=0.8)
        panel.set_title(f"beam {beam}" if beam > 1 else "greedy")
        panel.set_xticks(range(len(lengths)), [str(length) for length in lengths])
        panel.set_xlabel("longest source L")
        panel.set_ylabel("time over full attention's")
        panel.grid(True)
    low = min(panel.get_ylim()[0] for panel in axes[0])
    high = max(panel.get_ylim()[1] for panel in axes[0])
    for panel in axes[0]:
        panel.set_ylim(low, high)
    handles = [mlines.Line2D([], [], label=name, **looks[name]) for name in names]
    handles.append(
        mlines.Line2D([], [], label="Britz, table 1 (GPU)", linestyle="none",
                      marker="o", color="#7F7F7F", fillstyle="none")
    )
    style.add_foot(figure, _caption(result), handles)
    return figure, _headlines(cells, papers, max(lengths))


def _require_ratios(cells, path):
    for cell in cells:
        if cell["status"] not in ("ok", "skipped"):
            raise load.DataError(
                path, f"{decoder_result.name(cell)}: {cell['status']}: {cell['message']}"
            )
    if not any(cell["ratio_to_soft"] for cell in cells):
        raise load.DataError(path, "no cell has a ratio to full attention")


def _looks(cells, names):
    of = {decoder_result.name(cell): cell["mechanism"] for cell in cells}
    mechanisms = [of[name] for name in names]
    looks = {}
    for index, (name, mechanism) in enumerate(zip(names, mechanisms)):
        looks[name] = style.line(
            mechanism,
            mechanisms,
            rank=mechanisms[:index].count(mechanism),
            count=mechanisms.count(mechanism),
        )
    return looks


def _hollow(look):
    return {
        "color": look["color"],
        "marker": look["marker"],
        "fillstyle": "none",
        "markersize": 7,
        "linestyle": "none",
    }


def _draw_panel(panel, cells, names, looks):
    lengths = sorted({cell["length"] for cell in cells})
    for name in names:
        line = [
            cell
            for cell in sorted(cells, key=lambda cell: cell["length"])
            if decoder_result.name(cell) == name and cell["ratio_to_soft"]
        ]
        if not line:
            continue
        values = [cell["ratio_to_soft"]["value"] for cell in line]
        spans = [
            cell["ratio_to_soft"]["interval"] or [value, value]
            for cell, value in zip(line, values)
        ]
        panel.errorbar(
            [lengths.index(cell["length"]) for cell in line],
            values,
            (
                [max(0, value - low) for value, (low, _) in zip(values, spans)],
                [max(0, high - value) for value, (_, high) in zip(values, spans)],
            ),
            capsize=1.5,
            elinewidth=0.7,
            **looks[name],
        )


def _papers_ratios(lengths):
    """(name of the cell, L) -> the paper's time over its full attention's."""
    document = load.read_json(PUBLISHED)
    rows = next(t for t in document["tables"] if t["id"] == TABLE)["rows"]
    full = {row["length"]: row["time_s"] for row in rows if row["mechanism"] == BASELINE}
    return {
        (decoder_result.name({**row, "chunk_width": None}), row["length"]):
            row["time_s"] / full[row["length"]]
        for row in rows
        if row["mechanism"] != BASELINE and row["length"] in lengths
    }


def _caption(result):
    model = result["model"]
    return (
        "Time to translate sources of 0 to L symbols by a whole encoder and decoder, "
        "over that of the same with full (soft) attention, measured in the same "
        f"rounds; 95 % interval of each. {model['layers']} layers of {model['units']} "
        f"units, vocabulary {model['vocabulary']}, random weights, one CPU thread; "
        "hollow: the paper's times, on a GPU. none: without attention. "
        + words.context_text(result["context"])
    )


def _headlines(cells, papers, longest):
    lines = []
    for cell in cells:
        if cell["length"] != longest or not cell["ratio_to_soft"]:
            continue
        name = decoder_result.name(cell)
        text = f"L = {longest}, beam {cell['beam']}, {name} / {BASELINE}: " + (
            f"{cell['ratio_to_soft']['value']:.3f}"
        )
        if cell["beam"] == PAPERS_BEAM and (name, longest) in papers:
            text += f" (paper: {papers[name, longest]:.3f})"
        lines.append(text)
    return lines
