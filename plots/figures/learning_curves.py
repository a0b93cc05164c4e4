"""How the error falls while models are trained.

There is a panel for each experiment of `attnbench train`, and of one whose alternatives
differ in more than attention one for each length, encoder and so on. The error is that of
decoding by the threshold where there is a choice, on the held-out sequences of the curve.
"""

import numpy

from analysis import words
from analysis.trained import Runs, decoded
from figures import style, trained_errors

COLUMNS = 2
MARKS = 6  # of a line
# Setting -> how a title tells it. Alternatives that differ in one have panels of their own.
TITLES = {"most_symbols": "L = {}", "encoder_units": "encoder of {} units"}
# Settings that one panel may mix, which shows alternatives that are none of these.
PLAIN = {"encoder_scoring": "softmax", "decoder_scoring": "softmax",
         "position_encoding": "none"}


def has_data(documents):
    return bool(_panels(documents))


def draw(documents):
    panels = _panels(documents)
    rows = -(-len(panels) // COLUMNS)
    figure, grid = style.new_figure(rows, min(COLUMNS, len(panels)), panel_width=4.3,
                                    panel_height=2.3)
    said = [_draw_panel(panel, *one) for panel, one in zip(grid.flat, panels)]
    for panel in grid.flat[len(panels):]:
        panel.set_axis_off()
    style.add_foot(figure, _CAPTION + words.contexts_text(documents))
    return figure, said


def _panels(documents):
    """[(title, runs, names)]"""
    found = []
    for document in documents:
        runs = Runs(document)
        names = [name for name in runs.names
                 if any(run["curve"] for run in runs.finished(name))]
        groups = {}
        for name in names:
            settings = runs.settings(name)
            key = (*(settings[one] for one in TITLES), _is_plain(settings))
            groups.setdefault(key, []).append(name)
        for key, members in groups.items():
            differing = [text.format(value) for place, (text, value)
                         in enumerate(zip(TITLES.values(), key))
                         if len({other[place] for other in groups}) > 1]
            if not key[-1]:
                differing.append("scorings and position encodings")
            title = ", ".join([trained_errors.title(document), *differing])
            found.append((title, runs, members))
    return found


def _is_plain(settings):
    return all(settings[key] == value for key, value in PLAIN.items())


def _draw_panel(panel, title, runs, names):
    looks = style.line_of_each([runs.settings(name)["mechanism"] for name in names])
    handles = []
    for name, look in zip(names, looks):
        curves = [run["curve"] for run in runs.finished(name) if run["curve"]]
        steps = [point["step"] for point in curves[0]]
        errors = numpy.array([[decoded(point) for point in curve] for curve in curves])
        thin = {**look, "marker": "", "linewidth": 0.5, "alpha": 0.4}
        panel.plot(steps, errors.T, **thin)
        handles += panel.plot(steps, errors.mean(axis=0), label=name,
                              markevery=max(1, len(steps) // MARKS), **look)
    style.legend_beside(panel, handles)
    trained_errors.set_errors(panel.yaxis)
    panel.set_xlim(left=0)
    panel.grid(True)
    panel.set_title(title)
    panel.set_xlabel("step")
    panel.locator_params(axis="x", nbins=5)
    panel.set_ylabel("error, %")
    ends = {name: runs.values(name, "decoded").mean() for name in names}
    best, worst = (pick(ends, key=ends.get) for pick in (min, max))
    return (f"{title}: on all held-out sequences in the end {ends[best]:.2f} % of error "
            f"({best}) to {ends[worst]:.2f} % ({worst})")


_CAPTION = (
    "Token error rate of greedy decoding, by the threshold where there is a choice, on the "
    "held-out sequences of the curve; linear below 1 %. Thin: each seed; thick: their "
    "mean. "
)
