"""Errors of trained models: by the expectation beside the threshold, with noise and
without, and over the number of contexts K.
"""

import numpy

from attnbench.analysis import names, trained, words
from attnbench.analysis.trained import Runs
from figures import style

# Without attention, and with all of it -> words.
ALL = {"none": "no attention", "soft": "soft"}


def task(document):
    """Says in words what the models of an experiment are trained to do."""
    tasks = dict.fromkeys(names.task(run["settings"]) for run in document["runs"])
    return names.of_experiment("; ".join(tasks), document)


def labels(runs, of):
    """Gives alternative -> words for it."""
    return names.runs({name: runs.settings(name) for name in of})


def labelled(document, by_name):
    """(alternative, words with its number of seeds, look) of each of {alternative: something
    of each seed}.
    """
    runs = Runs(document)
    named = labels(runs, by_name)
    looks = style.line_of_each([runs.settings(name)["mechanism"] for name in by_name])
    for (name, shown), look in zip(by_name.items(), looks):
        lost = len(runs.seeds(name)) - len(runs.finished(name))
        diverged = f", {lost} diverged" if lost else ""
        yield name, f"{named[name]} (n = {len(shown)}{diverged})", look


def set_errors(axis):
    """Percent: logarithmic down to 1, linear from there to 0."""
    axis.axes.set_yscale("symlog", linthresh=1)
    axis.set_ticks([0, 1, 3, 10, 30, 100], [0, 1, 3, 10, 30, 100], minor=False)
    axis.set_ticks([], minor=True)
    axis.axes.set_ylim(0, max(130, axis.axes.get_ylim()[1]))


# ---- soft against hard --------------------------------------------------------


def has_noise(documents):
    return any(_choosing(document) for document in documents)


def draw_noise(documents):
    shown = [(document, _choosing(document)) for document in documents]
    shown = [one for one in shown if one[1]]
    most = max(len(of_panel) for _, of_panel in shown)
    figure, grid = style.new_figure(len(shown), 1, 0.6 + 0.2 * most, style.PAGE_IN)
    said, drawn = [], set()
    for panel, (document, of_panel) in zip(grid[:, 0], shown):
        said += _draw_noise(panel, document, of_panel, drawn)
    handles = [style.handle(f"by {what}", _mark("#000000", mark))
               for what, _, mark, _ in WAYS if what in drawn]
    style.add_foot(figure, _NOISE + words.contexts_text([one for one, _ in shown]),
                   handles)
    return figure, said


def _choosing(document):
    """The alternatives that choose, of an experiment that varies the noise."""
    runs = Runs(document)
    found = [name for name in runs.names if runs.values(name, "threshold") is not None]
    noises = {runs.settings(name).get("noise") for name in found}
    return found if len(noises) > 1 else []


def _mark(color, mark):
    return {"color": color, "linestyle": "none", **mark}


# How outputs attend, the measure, the mark, and how far below the middle of its row it is.
WAYS = (("the expectation", "expected", {"marker": "o", "fillstyle": "none"}, -0.18),
        ("the threshold", "threshold", {"marker": "o"}, 0),
        ("sampled choices", "sampled", {"marker": "x"}, 0.18))


def _draw_noise(panel, document, of_panel, drawn):
    runs, said = Runs(document), []
    words_of = labels(runs, of_panel)
    for row, name in enumerate(of_panel):
        color, _ = style.look(runs.settings(name)["mechanism"], [])
        means, rows, told = [], [], []
        for what, measure, mark, shift in WAYS:
            values = runs.values(name, measure)
            if values is None:  # not every result has sampled choices
                continue
            drawn.add(what)
            means.append(values.mean())
            rows.append(row + shift)
            told.append(f"{means[-1]:.2f} % by {what}")
            panel.plot(values, [rows[-1]] * len(values), color=color, marker="|",
                       linestyle="none", markersize=4, markeredgewidth=0.6)
            panel.plot(means[-1], rows[-1], **_mark(color, mark))
        panel.plot(means, rows, color=color, linewidth=0.7)
        said.append(f"{task(document)}, {words_of[name]}: {', '.join(told)}")
    common, words_of = names.apart(words_of)
    panel.set_yticks(range(len(of_panel)), [
        f"{words_of[name]}, n = {len(runs.seeds(name))}" for name in of_panel])
    panel.set_ylim(len(of_panel) - 0.5, -0.5)
    panel.set_xlim(left=0)
    panel.grid(True, axis="x")
    panel.set_xlabel("error, %")
    panel.set_title("\n".join(filter(None, (task(document), common))))
    return said


_NOISE = (
    "Token error rate of the same models by the expectation, by the threshold (an output takes the "
    "first entry with p of at least 1/2) and by choices drawn with probability p. "
    "Large marks: the mean over n seeds; dashes: each seed. "
)


# ---- the number of contexts ---------------------------------------------------


def has_contexts(documents):
    return any(trained.contexts(Runs(document)) for document in documents)


def draw_contexts(documents):
    shown = [document for document in documents if trained.contexts(Runs(document))]
    figure, grid = style.new_figure(1, len(shown), panel_height=2.4)
    said, handles = [], {}
    for panel, document in zip(grid[0], shown):
        said += _draw_contexts(panel, document, handles)
    style.add_foot(figure, _CONTEXTS + words.contexts_text(shown), handles.values())
    return figure, said


def _draw_contexts(panel, document, handles):
    runs, said = Runs(document), []
    lines = trained.contexts(runs)
    ks = sorted({k for of_length in lines.values() for k in of_length})
    places = {"none": 0, **{k: n for n, k in enumerate(ks, 1)}, "soft": len(ks) + 1}
    looks = style.line_of_each(["memory"] * len(lines))
    for (length, of_length), look in zip(lines.items(), looks):
        named = {**of_length, **{one: f"{one}_L{length}" for one in ALL}}
        found = {key: runs.values(named[key], "decoded") for key in places
                 if named.get(key) in runs.names}
        found = {key: values for key, values in found.items() if values is not None}
        for key, values in found.items():
            panel.plot([places[key]] * len(values), values, **{
                **look, "linestyle": "none", "alpha": 0.8})
        line = [(places[key], found[key].mean()) for key in ks if key in found]
        panel.plot(*zip(*line), **{**look, "marker": ""})
        for key in ALL:
            if key in found:
                panel.plot(places[key], found[key].mean(), **{**look, "marker": "_",
                                                              "markersize": 9})
        handles[length] = style.handle(f"L = {length}", look)
        texts = [f"{ALL.get(key, f'K = {key}')} {values.mean():.2f} %"
                 for key, values in found.items()]
        said.append(f"{task(document)}, L = {length}: {', '.join(texts)}")
    set_errors(panel.yaxis)
    panel.set_xticks(list(places.values()), [
        ALL.get(place, place) for place in places])
    panel.grid(True)
    panel.set_xlabel("contexts K")
    panel.set_ylabel("error, %")
    panel.set_title(task(document))
    return said


_CONTEXTS = (
    "Token error rate on sequences of up to L symbols; linear below 1 %. Marks: each seed; "
    "lines and dashes: their mean. "
)
