"""What does it cost to decode early: AlignAtt beside mechanisms that choose.

A panel for each length: how many times as fast as soft attention, which waits for the
whole memory, the attention of a whole decoder is, against how far its outputs lag (DAL).
AlignAtt is a line over its f.
"""

from attnbench.analysis import load, names, pairing, series, settings, whole_decoders, words
from figures import style, ticks

POLICY = "alignatt"


def has_data(cells):
    return POLICY in set(_online(cells)["mechanism"])


def draw(cells):
    path = cells.attrs["path"]
    whole_decoders.require_one_setting(cells)
    if cells["beam"].nunique() > 1:
        raise load.DataError(path, "cells of several beams, where there must be one")
    if not has_data(cells):
        raise load.DataError(path, f"cells missing: {POLICY} with a latency")
    lengths = sorted(set(cells["memory_length"]))
    figure, axes = style.new_figure(1, len(lengths))
    found = {length: lines_of(cells[cells["memory_length"] == length], path)
             for length in lengths}
    looks = style.looks(list(dict.fromkeys(sum(map(list, found.values()), []))))
    for panel, (length, lines) in zip(axes[0], found.items()):
        for line, points in lines.items():
            _draw_line(panel, points, looks[line])
        panel.set_title(f"T = U = {length}" if _is_square(cells) else f"T = {length}")
        panel.set_yscale("log")
        panel.axhline(1, color=style.MECHANISMS[pairing.BASELINE][0], linewidth=0.8)
        # f doubles from point to point.
        panel.set_xscale("log")
        panel.margins(x=0.1)
        ticks.log_ticks(panel.xaxis, *panel.get_xlim(),
                        ticks.number_tick(*panel.get_xlim()))
        ticks.log_ticks(panel.yaxis, *panel.get_ylim(), ticks.ratio_tick)
        panel.set_xlabel("lag (DAL), entries")
        panel.grid(True)
    axes[0][0].set_ylabel("attention, times as fast as soft")
    handles = [style.handle(line, look) for line, look in looks.items()]
    style.add_foot(figure, _caption(cells), handles)
    return figure, [_said(length, line, points) for length, lines in found.items()
                    for line, points in lines.items()]


def _online(cells):
    return cells[[isinstance(cell.get("latency"), dict) and cell["status"] == "ok"
                  for cell in cells.to_dict("records")]]


def _is_square(cells):
    return (cells["memory_length"] == cells["output_length"]).all()


def lines_of(cells, path):
    """Line -> its points, by their lag: AlignAtt has one for each f."""
    base = [cell for cell in cells.to_dict("records")
            if cell["mechanism"] == pairing.BASELINE and cell["status"] == "ok"]
    if len(base) != 1:
        raise load.DataError(path, f"{len(base)} cells of soft that are ok at a length, "
                             "where there must be one")
    lines = {}
    for cell in _online(cells).to_dict("records"):
        pairing.require_same_rounds(base[0], cell, path)
        span = series.ratio(*map(whole_decoders.attention, (base[0], cell))).at().exp()
        line = POLICY if cell["mechanism"] == POLICY else settings.label(cell)
        lines.setdefault(line, []).append(
            {**vars(span), "lag": cell["latency"]["dal"], "ap": cell["latency"]["ap"],
             "f": settings.f_of(cell)})
    return {line: sorted(points, key=lambda one: one["lag"])
            for line, points in lines.items()}


def _draw_line(panel, points, look):
    style.draw_spans(panel, *([one[key] for one in points]
                              for key in ("lag", "value", "low", "high")), look)
    for one in points:
        if one["f"] is not None:
            panel.annotate(one["f"], (one["lag"], one["value"]), (3, 2),
                           textcoords="offset points", fontsize=style.SMALLEST_PT,
                           color=look["color"])


def _caption(cells):
    cell = cells.iloc[0]
    return (
        "Attention of whole decoders by itself, with its lag: differentiable average "
        "lagging, the entries by which outputs are behind a decoder that keeps pace, a "
        "mean over sources. AlignAtt waits while an output attends most to one of the "
        f"last f entries read; the numbers are f. d = {cell['dim']}, {cell['layers']} LSTM layers, beam "
        f"{cell['beam']}, energies {', '.join(sorted(set(cells['energy'].dropna())))}, "
        "random weights whose scans, and whose largest weights, pass the whole memory. "
        "Lines: 95 % intervals. " + words.context_text(cells.attrs["context"]))


def _said(length, line, points):
    """Tells a line: of several points, its ends alone."""
    def ends(texts):
        return " to ".join(dict.fromkeys((texts[0], texts[-1])))

    fs = [str(one["f"]) for one in points if one["f"] is not None]
    name = names.label(line) + (f", f = {ends(fs)}" if fs else "")
    speeds = ([words.span_text(points[0])] if len(points) == 1 else
              [f"{words.ratio_text(one['value'])}x" for one in points])
    lags, aps = ([format(one[key], spec) for one in points]
                 for key, spec in (("lag", ".1f"), ("ap", ".2f")))
    return (f"T = {length}, {name}: {ends(speeds)} as fast as soft attention, {ends(lags)} "
            f"entries late (DAL), AP {ends(aps)}")
