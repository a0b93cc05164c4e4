"""How late trained models choose, where own data have the true ends of their symbols, and
how many symbols they get wrong for it.
"""

import numpy

from attnbench.analysis import names, trained, words
from attnbench.analysis.trained import Runs
from figures import histograms, style, trained_errors

COLUMNS = 2


def unit_of(runs):
    """("ms", milliseconds of an entry) where all runs have the same, else ("entries", 1)."""
    time, *others = set(map(trained.entry_ms, runs))
    return ("entries", 1) if others or time is None else ("ms", time)


# ---- errors over lateness ------------------------------------------------------


def has_errors(documents):
    return any(_late(document) for document in documents)


def draw_errors(documents):
    shown = [document for document in documents if _late(document)]
    figure, grid = style.new_figure(1, len(shown), panel_height=3)
    said, handles = [], {}
    for panel, document in zip(grid[0], shown):
        said += _draw_errors(panel, document, handles)
    new = sorted({one["speaker"] for document in shown for runs in _late(document).values()
                  for run in runs for one in trained.speakers(run, False)})
    style.add_foot(figure, _ERRORS.format(", ".join(new) or "none")
                   + words.contexts_text(shown), handles.values())
    return figure, said


def late_and_error(run):
    """(mean lateness [entries], error [%]) on the speakers that training has not heard, of all
    that is held out if there are none; None without a lateness.
    """
    found = [(one.get("lateness"), trained.decoded(one))
             for one in trained.speakers(run, False) or [run["result"]]]
    if any(lateness is None for lateness, _ in found):
        return None
    return tuple(numpy.mean(found, axis=0).tolist())


def _late(document):
    """{alternative: its runs that have a lateness}"""
    runs = Runs(document)
    found = {name: [run for run in runs.finished(name) if late_and_error(run)]
             for name in runs.names}
    return {name: of_name for name, of_name in found.items() if of_name}


def _draw_errors(panel, document, handles):
    by_name = _late(document)
    unit, scale = unit_of(sum(by_name.values(), []))
    said = []
    for name, label, look in trained_errors.labelled(document, by_name):
        found = numpy.array([late_and_error(run) for run in by_name[name]]) * (scale, 1)
        look = {**look, "linestyle": "none"}
        panel.plot(*found.T, **{**look, "alpha": 0.4, "markersize": 2.5, "markeredgewidth": 0.5})
        lateness, error = _mean(found, by_name[name])
        panel.plot(lateness, error, **{**look, "markersize": 6})
        if by_name[name][0]["result"]["hard_error"] is None:
            panel.annotate("waits for all", (lateness, error), (-6, 0),
                           textcoords="offset points", fontsize=style.SMALLEST_PT,
                           ha="right", va="center")
        handles[label, str(look)] = style.handle(label, {**look, "markersize": 5})
        said.append(f"{trained_errors.task(document)}, {label}: {error:.2f} % of error, "
                    f"{lateness:.1f} {unit} late")
    panel.set_xscale("symlog", linthresh=100 if unit == "ms" else 3, linscale=2)
    ticks = (-30, -10, -3, -1, 0, 1, 3, 10, 30, 100)
    if unit == "ms":
        ticks = (-1000, -300, -100, -50, 0, 25, 50, 75, 100, 300, 1000, 3000, 10_000)
    low, high = panel.get_xlim()
    panel.set_xticks(ticks, ticks)
    panel.set_xticks([], minor=True)
    panel.set_xlim(min(low, 0), max(high, 0))
    panel.grid(True)
    panel.set_xlabel(f"mean lateness, {unit}")
    panel.set_ylabel("error, %")
    panel.set_title(trained_errors.task(document))
    return said


def _mean(found, runs):
    """Over rows [run, number]; each folder of own data weighs the same, as folders hold out
    different speakers and alternatives have different numbers of seeds.
    """
    folders = [run["settings"].get("data") for run in runs]
    return numpy.mean([found[[one == folder for one in folders]].mean(axis=0)
                       for folder in dict.fromkeys(folders)], axis=0)


_ERRORS = (
    "How late an output chooses its entry after the true end of its symbol, on average, given the "
    "symbols before, and the error of decoding, both on speakers that training has not heard where "
    "the data have some (here {}): the further down and left the better. What chooses nothing waits "
    "for the last entry. Its axis is logarithmic from 100 ms (or 3 entries) on. Small marks: each "
    "seed; large: their mean, in which each speaker counts the same. "
)


# ---- how late each symbol is ---------------------------------------------------


def has_histogram(documents):
    return bool(_histograms(documents))


def draw_histogram(documents):
    shown = _histograms(documents)
    columns = min(COLUMNS, len(shown))
    figure, grid = style.new_figure(-(-len(shown) // columns), columns, 2.3)
    top = max(shares.max() for *_, by_name in shown for shares in by_name.values())
    used = [one for one in documents if any(one is document for document, *_ in shown)]
    said = []
    for panel, (document, mechanism, by_name) in zip(grid.flat, shown):
        said += _draw_histogram(figure, panel, document, by_name)
        # The square root keeps the small shares beside those of what waits for all.
        panel.set_yscale("function", functions=(
            lambda share: numpy.sqrt(numpy.maximum(share, 0)), numpy.square))
        panel.set_ylim(0, 1.1 * max(top, 0.01))
        panel.set_yticks(*_percents(top))
        title = names.mechanism(mechanism)
        panel.set_title(f"{trained_errors.task(document)}: {title}" if len(used) > 1 else title)
    for panel in grid.flat[len(shown):]:
        panel.set_axis_off()
    tasks = "; ".join(dict.fromkeys(map(trained_errors.task, used)))
    style.add_foot(figure, f"Trained: {tasks}. " + _HISTOGRAM + words.contexts_text(used))
    return figure, said


def _histograms(documents):
    """[(document, mechanism, {alternative: shares [seed, bin]})]"""
    found = {}
    for place, document in enumerate(documents):
        settings = Runs(document).settings
        for name, shares in histograms.shares(document, "lateness_histogram").items():
            found.setdefault((place, settings(name)["mechanism"]), {})[name] = shares
    return [(documents[place], mechanism, by_name)
            for (place, mechanism), by_name in found.items()]


def _percents(top):
    shares = [share for share in (0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.7, 1) if share <= 1.1 * top]
    return shares, [f"{100 * share:g} %" for share in shares]


def _draw_histogram(figure, panel, document, by_name):
    runs = Runs(document)
    unit, scale = unit_of(sum(map(runs.finished, by_name), []))
    bins = trained.BINS["lateness_histogram"]
    most = bins // 2 * scale
    found = histograms.draw(figure, panel, document, by_name,
                            (numpy.arange(bins + 1) - bins / 2) * scale)
    panel.axvline(0, color="#7F7F7F", linewidth=0.8)
    ticks = numpy.linspace(-most, most, 5)
    texts = [f"{tick:g}" for tick in ticks]
    texts[0] += "\nor earlier"
    texts[-1] += "\nor later"
    panel.set_xticks(ticks, texts)
    panel.set_xlabel(f"lateness, {unit}", labelpad=-4)
    panel.set_ylabel("share of symbols")
    return [f"{trained_errors.task(document)}, {label}: {100 * mean[0]:.1f} % of symbols "
            f"{most:g} {unit} early or earlier, {100 * mean[-1]:.1f} % {most:g} {unit} late or later"
            for label, mean in found]


_HISTOGRAM = (
    "How many symbols are how late: the entry that the threshold chooses, given the symbols before, "
    "after the true end (0), of all that is held out, also of speakers that training has heard; the "
    "mean over seeds, on a square-root scale. What chooses nothing waits for the last entry. "
)
