"""What `attnbench advise` found: how many times as fast as with soft attention the
attention of each mechanism is, and the whole decoder around it.
"""

import numpy

from attnbench.analysis import names, words
from attnbench.analysis.pairing import BASELINE
from attnbench.answers import advice_text
from figures import style, ticks

PARTS = {"attention": "attention alone", "decoder": "the whole decoder"}


def has_data(advice):
    return any(_is_shown(one) for one in advice["mechanisms"])


def draw(advice):
    shown = [one for one in advice["mechanisms"] if _is_shown(one)]
    of_rows = [names.label(one["mechanism"]) + ("" if _is_as_trained(one) else " *")
               for one in shown]
    figure, grid = style.new_figure(1, len(PARTS), panel_height=0.5 + 0.45 * len(shown))
    for panel, (part, title) in zip(grid[0], PARTS.items()):
        places = numpy.arange(len(shown))
        for place, one in zip(places, shown):
            _draw_bar(panel, place, one[part])
        panel.axvline(1, color="#000000", linewidth=0.8)
        # Attention alone may gain fifty times what the whole decoder does, and twice as
        # slow is to look as far from 1 as twice as fast.
        panel.set_xscale("log")
        ticks.log_ticks(panel.xaxis, *panel.get_xlim(), ticks.ratio_tick)
        panel.set_yticks(places, of_rows if panel is grid[0][0] else [""] * len(shown))
        # Both have the rows of all, one of which may have no bar.
        panel.set_ylim(len(shown) - 0.5, -0.5)
        panel.set_title(title)
        panel.set_xlabel("times as fast as with soft attention")
        panel.grid(True, axis="x")
    style.add_foot(figure, _caption(advice), [])
    return figure, [line.strip() for line in advice_text.verdicts(advice)]


def _is_shown(one):
    return one["decoder"] is not None and one["mechanism"] != BASELINE


def _is_as_trained(one):
    return one["attention"] is None or one["is_as_trained"]


def _draw_bar(panel, place, time):
    if time is None:
        return
    # A bar begins at 1: a logarithmic axis has no 0.
    panel.barh(place, time["speedup"] - 1, left=1, height=0.6, color="#0072B2", alpha=0.7)
    if time["speedup_interval"]:
        panel.plot(time["speedup_interval"], [place, place], color="#000000")


def _caption(advice):
    shape = advice["shape"]
    sequences = (f"{shape['sequences']} captured sequences, the longest of these lengths,"
                 if "workload" in shape else "One sequence")
    return (
        f"T = {shape['memory_length']}, U = {shape['output_length']}, "
        f"{advice_text.sizes(shape)}. {sequences} on one thread, random weights, so of "
        "speed only; lines: 95 % intervals; *: its scan did not read the memory as "
        "trained weights do. "
        + words.context_text(advice["context"])
    )
