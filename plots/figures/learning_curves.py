"""How the error falls while models are trained: a figure for each question.

There is a panel for each experiment of `attnbench train`, and of one whose alternatives
differ in more than attention one for each length, encoder and so on. The error is that of
decoding by the threshold where there is a choice, on the held-out sequences of the curve.
"""

from dataclasses import dataclass

import numpy

from attnbench.analysis import names, words
from attnbench.analysis.trained import Runs, contexts, decoded
from figures import style, trained_errors

MARKS = 6  # of a line
MOST_LINES = 6  # of a panel
# Setting -> how a title tells it. Alternatives that differ in one have panels of their own.
TITLES = {"most_symbols": "L = {}", "encoder_units": "encoder of {} units",
          "steps": "{} steps"}
# Settings that one panel may mix, which shows alternatives that are none of these.
PLAIN = {"encoder_scoring": "softmax", "decoder_scoring": "softmax",
         "position_encoding": "none"}
REORDERING = ("reorder", "reversal")


@dataclass(frozen=True)
class _Panel:
    title: str
    runs: Runs
    names: list
    is_plain: bool

    def question(self):
        """What it answers: a key of QUESTIONS."""
        settings = [self.runs.settings(name) for name in self.names]
        if not self.is_plain:
            return "encodings"
        if contexts(self.runs):
            return "contexts"
        if settings[0].get("task") in REORDERING:
            return "reordering"
        return "noise" if _has_noises(self.runs) else "mechanisms"


# In the order of figures; each is a figure learning_curves_QUESTION, but for the last.
QUESTIONS = ("noise", "reordering", "contexts", "encodings", "mechanisms")


def has_data(question, documents):
    return bool(_panels(question, documents))


def draw(question, documents):
    panels = _panels(question, documents)
    columns = min(2, len(panels))  # a legend of alternatives is as wide as half of the page
    rows = -(-len(panels) // columns)
    figure, grid = style.new_figure(rows, columns, 2.9)
    said = [_draw_panel(figure, *one) for one in zip(grid.flat, panels)]
    for panel in grid.flat[len(panels):]:
        panel.set_axis_off()
    of = [document for document in documents
          if any(panel.runs.document is document for panel in panels)]
    style.add_foot(figure, _CAPTION + words.contexts_text(of))
    return figure, said


def _panels(question, documents):
    every = [panel for document in documents for panel in _panels_of(document)]
    return [panel for panel in every if panel.question() == question]


def _has_noises(runs):
    """Whether the alternatives of a mechanism differ in the noise."""
    found = {(own["mechanism"], own.get("noise")) for own in map(runs.settings, runs.names)}
    return len(found) > len({mechanism for mechanism, _ in found})


def _panels_of(document):
    runs = Runs(document)
    curved = [name for name in runs.names
              if any(run["curve"] for run in runs.finished(name))]
    groups = {}
    for name in curved:
        settings = runs.settings(name)
        key = (*(settings.get(one) for one in TITLES), names.task(settings), _is_plain(settings))
        groups.setdefault(key, []).append(name)
    found = []
    for key, members in groups.items():
        differing = [text.format(value) for place, (text, value)
                     in enumerate(zip(TITLES.values(), key))
                     if len({other[place] for other in groups}) > 1]
        title = names.of_experiment(", ".join([key[-2], *differing]), document)
        found += [_Panel(title, runs, members[first:first + MOST_LINES], key[-1])
                  for first in range(0, len(members), MOST_LINES)]
    return found


def _is_plain(settings):
    return all(settings.get(key, value) == value for key, value in PLAIN.items())


def _draw_panel(figure, axes, panel):
    runs, members = panel.runs, panel.names
    looks = style.line_of_each([runs.settings(name)["mechanism"] for name in members])
    labels = trained_errors.labels(runs, members)
    common, shown = names.apart(labels)
    handles = []
    for name, look in zip(members, looks):
        curves = [run["curve"] for run in runs.finished(name) if run["curve"]]
        steps = [point["step"] for point in curves[0]]
        errors = numpy.array([[decoded(point) for point in curve] for curve in curves])
        if len(curves) > 1:
            axes.fill_between(steps, errors.min(axis=0), errors.max(axis=0),
                              color=look["color"], alpha=0.2, linewidth=0)
        else:
            look = {**look, "linewidth": 0.5}
        handles += axes.plot(
            steps, errors.mean(axis=0), label=f"{shown[name]} (n = {len(curves)})",
            markevery=max(1, len(steps) // MARKS), **look)
    style.legend_below(figure, axes, handles)
    trained_errors.set_errors(axes.yaxis)
    axes.set_xlim(left=0)
    axes.grid(True)
    axes.set_title("\n".join(filter(None, (panel.title, common))))
    axes.set_xlabel("step")
    axes.locator_params(axis="x", nbins=5)
    axes.set_ylabel("error, %")
    ends = {name: runs.values(name, "decoded").mean() for name in members}
    best, worst = (pick(ends, key=ends.get) for pick in (min, max))
    to = f" to {ends[worst]:.2f} % ({labels[worst]})" if len(members) > 1 else ""
    return (f"{panel.title}: on all held-out sequences in the end {ends[best]:.2f} % of "
            f"error ({labels[best]}){to}")


_CAPTION = (
    "Token error rate of greedy decoding, by the threshold where there is a choice, on the "
    "held-out sequences of the curve; linear below 1 %. Line: mean of n seeds; band: from "
    "the least to the greatest of them; a thin line without a band: a single seed. "
)
