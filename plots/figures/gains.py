"""How many times as fast as soft attention each mechanism is: its attention alone, and a
whole decoder with it, at the longest length that both results have.

A row for each mechanism and setting that both have, and one for a decoder without
attention, which shows the most that any attention could gain. The decoder is that of
Britz, table 1, with its beam.
"""

import math

from attnbench.analysis import load, names, pairing, reads, series, settings, whole_decoders, words
from figures import britz_table1, style, ticks
from figures.mocha_figure3 import FREE

NOTHING = "none"  # the mechanism of a decoder without attention
ROW_IN = 0.27


def has_data(parts):
    return len(parts) == 2


def draw(parts):
    """`parts`: the cells of attention alone, and those of whole decoders."""
    attention, decoders = parts
    length, alone, whole = ratios(parts)
    both = [label for label in alone if label in whole]
    rows = [*both, *([NOTHING] if NOTHING in whole else [])]
    figure, ((panel,),) = style.new_figure(1, 1, 0.6 + ROW_IN * len(rows))
    for place, label in enumerate(rows):
        color = style.look(label.split(",")[0], [NOTHING])[0]
        for cell, shift, fill in ((alone.get(label), -0.14, "full"),
                                  (whole[label], 0.14, "none")):
            if cell is not None:
                _draw_span(panel, cell, place + shift,
                           {"color": color, "fillstyle": fill, "marker": "o"})
    panel.axvline(1, color=style.MECHANISMS[pairing.BASELINE][0], linewidth=0.8)
    panel.set_xscale("log")
    panel.set_yticks(range(len(rows)), map(names.label, rows))
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.set_xlabel("times as fast as with soft attention")
    panel.grid(True, axis="x")
    ticks.log_ticks(panel.xaxis, *panel.get_xlim(), ticks.ratio_tick)
    handles = [style.handle(text, {"color": "#000000", "marker": "o", "linestyle": "-",
                                   "fillstyle": fill})
               for text, fill in (("attention alone", "full"),
                                  ("a whole decoder", "none"))]
    shown = attention[attention["memory_length"] == length]
    style.add_foot(figure, _caption(shown, decoders, length), handles)
    return figure, [_line(label, alone.get(label), whole[label], length)
                    for label in rows] + _notes(alone, both)


def parts_of(one, other):
    """The cells of attention alone and of whole decoders, of two results in any order,
    each as figures.data_of gives it; None where that is not what they are.
    """
    for first, second in ((one, other), (other, one)):
        if set(first) == {"sweep"} and set(second) == {"decoder"}:
            return [first["sweep"], second["decoder"]]
    return None


def ratios(parts):
    """The length, and label -> speed-up of attention alone and of a whole decoder there,
    each a row with value, low and high. At least one label has both.
    """
    attention, decoders = parts
    length = _length(attention, decoders)
    alone, whole = _alone(attention, length), _whole(decoders, length)
    if alone.keys().isdisjoint(whole):
        raise load.DataError(decoders.attrs["path"],
                             f"has no mechanism of {attention.attrs['path']}")
    return length, alone, whole


def _length(attention, decoders):
    square = attention[attention["memory_length"] == attention["output_length"]]
    common = set(square["memory_length"]) & set(decoders["memory_length"])
    if not common:
        raise load.DataError(decoders.attrs["path"],
                             f"has no length of {attention.attrs['path']}")
    return max(common)


def _alone(cells, length):
    """Label -> the row of its speed-up, with value, low and high."""
    cells = cells[(cells["memory_length"] == length) & (cells["output_length"] == length)]
    chosen = series.times(settings.select(cells, free=FREE))
    chosen["label"] = [settings.label(cell) for cell in chosen.to_dict("records")]
    return {row["label"]: row for row in pairing.speedups(chosen).to_dict("records")}


def _whole(cells, length):
    """The same of decoders whose scans read what those of trained weights do."""
    whole_decoders.require_one_setting(cells)
    rows = {}
    for cell in whole_decoders.with_ratios(cells):
        if (cell["memory_length"] != length or not cell["ratio"]
                or cell["beam"] != britz_table1.PAPERS_BEAM
                or cell["mechanism"] == pairing.BASELINE
                or not whole_decoders.is_as_trained(cell)):
            continue
        time = cell["ratio"]  # over soft attention's
        rows[settings.label(cell)] = {
            **cell, "value": 1 / time.value,
            "low": 1 / time.high,
            "high": 1 / time.low if time.low > 0 else math.inf}
    return rows


def _draw_span(panel, cell, place, look):
    if cell["low"] > 0 and cell["high"] < math.inf:
        panel.plot([cell["low"], cell["high"]], [place, place], color=look["color"])
    panel.plot([cell["value"]], [place], linestyle="none", **look)


def _caption(attention, decoders, length):
    """Each half with its own commit and machine: they may be two."""
    return (
        f"T = U = {length} entries and outputs; lines: 95 % intervals. Attention alone: d = "
        f"{attention['dim'].iloc[0]}, energies {_of_each('energy', attention)}, workload "
        f"{_of_each('workload', attention)}, threads {_of_each('threads', attention)}. "
        f"{words.context_text(attention.attrs['context'])} Whole decoder: "
        f"{decoders['layers'].iloc[0]} LSTM layers of {decoders['dim'].iloc[0]} units with "
        f"their encoder, beam {britz_table1.PAPERS_BEAM}, energies "
        f"{_of_each('energy', decoders)}, random weights, threads "
        f"{_of_each('threads', decoders)}. {words.context_text(decoders.attrs['context'])}"
    )


def _of_each(axis, cells):
    """The values of an axis, of cells that have one: fixed-size memory has no energies."""
    values = {str(value) for value in cells[axis].dropna()}
    return ", ".join(sorted(values))


def _line(label, alone, whole, length):
    text = f"{speed_text(whole)} in a whole decoder"
    if alone is not None:
        text = f"{speed_text(alone)}{reads.mark(alone)} alone, {text}"
    return f"T = U = {length}, {names.label(label)}: {text}"


def speed_text(cell):
    value, low, high = (words.ratio_text(cell[key]) for key in ("value", "low", "high"))
    interval = f"[{low}, {high}]" if math.isfinite(cell["high"]) else "(no interval)"
    return f"{value} times as fast {interval}"


def _notes(alone, both):
    return [reads.NOTE] if any(reads.is_marked(alone[label]) for label in both) else []
