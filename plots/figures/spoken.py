"""Own data whose symbols have true ends, such as speech: how late trained models choose, how
many symbols they get wrong for it, and what they attend to beside the ends.

Times are in milliseconds where the data have the time of a frame, else in entries.
"""

import os

import numpy
from matplotlib import colors

from attnbench.analysis import names, trained, words
from attnbench.analysis.trained import Runs
from figures import alignments, style, trained_errors

TRUTH = "#0072B2"
COLUMNS = 2


def _unit(runs):
    """(milliseconds of an entry, "ms"), or (1, "entries") if a run does not have them."""
    times = [(run["settings"].get("data_facts") or {}).get("frame_ms") for run in runs]
    return ("entries", [1] * len(runs)) if None in times else ("ms", times)


# ---- errors over lateness ------------------------------------------------------


def has_errors(documents):
    return any(_late(document) for document in documents)


def draw_errors(documents):
    shown = [document for document in documents if _late(document)]
    figure, grid = style.new_figure(1, len(shown), panel_height=2.6)
    said, handles = [], {}
    for panel, document in zip(grid[0], shown):
        said += _draw_errors(panel, document, handles)
    style.add_foot(figure, _ERRORS + words.contexts_text(shown), handles.values())
    return figure, said


def late_and_error(run):
    """(mean lateness [entries], error [%]) on the speakers that training has not heard, of all
    that is held out if there are none; None without a lateness.
    """
    of_speakers = run["result"].get("speakers") or []
    new = [one for one in of_speakers if one.get("in_training") is False]
    found = [(one.get("lateness"), trained.decoded(one)) for one in new or [run["result"]]]
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
    unit, _ = _unit(sum(by_name.values(), []))
    said = []
    for name, label, look in _labelled(document, by_name):
        _, times = _unit(by_name[name]) if unit == "ms" else (unit, [1] * len(by_name[name]))
        found = numpy.array([late_and_error(run) for run in by_name[name]])
        found[:, 0] *= times
        look = {**look, "linestyle": "none"}
        panel.plot(*found.T, **{**look, "alpha": 0.4, "markersize": 2.5, "markeredgewidth": 0.5})
        lateness, error = found.mean(axis=0)
        panel.plot(lateness, error, **{**look, "markersize": 6})
        handles[document["path"], name] = style.handle(label, {**look, "markersize": 5})
        said.append(f"{trained_errors.task(document)}, {label}: {error:.2f} % of error, "
                    f"{lateness:.1f} {unit} late")
    panel.set_xscale("symlog", linthresh=100 if unit == "ms" else 3)
    ticks = (-30, -10, -3, -1, 0, 1, 3, 10, 30, 100)
    if unit == "ms":
        ticks = (-1000, -300, -100, -50, 0, 50, 100, 300, 1000, 3000, 10_000)
    low, high = panel.get_xlim()
    panel.set_xticks(ticks, ticks)
    panel.set_xticks([], minor=True)
    panel.set_xlim(min(low, 0), high)
    panel.grid(True)
    panel.set_xlabel(f"mean lateness, {unit}")
    panel.set_ylabel("error, %")
    panel.set_title(trained_errors.task(document))
    return said


def _labelled(document, by_name):
    """(alternative, words with its number of seeds, look) of each alternative."""
    runs = Runs(document)
    named = trained_errors.labels(runs, by_name)
    looks = style.line_of_each([runs.settings(name)["mechanism"] for name in by_name])
    for (name, shown), look in zip(by_name.items(), looks):
        lost = len(runs.seeds(name)) - len(runs.finished(name))
        diverged = f", {lost} diverged" if lost else ""
        yield name, f"{named[name]} (n = {len(shown)}{diverged})", look


_ERRORS = (
    "How late an output chooses its entry after the true end of its symbol, on average, given the "
    "symbols before, and the error of decoding, both on speakers that training has not heard where "
    "the data have some: the further down and left the better. What chooses nothing waits for the "
    "last entry. Small marks: each seed; large: their mean. "
)


# ---- how late each symbol is ---------------------------------------------------


def has_histogram(documents):
    return bool(_histograms(documents))


def draw_histogram(documents):
    shown = _histograms(documents)
    columns = min(COLUMNS, len(shown))
    figure, grid = style.new_figure(-(-len(shown) // columns), columns, 2.3)
    top = max(shares.max() for *_, by_name in shown for shares, _ in by_name.values())
    said = []
    for panel, (document, mechanism, by_name) in zip(grid.flat, shown):
        said += _draw_histogram(figure, panel, document, by_name)
        # The square root keeps the small shares beside those of what waits for all.
        panel.set_yscale("function", functions=(
            lambda share: numpy.sqrt(numpy.maximum(share, 0)), numpy.square))
        panel.set_ylim(0, 1.1 * max(top, 0.01))
        panel.set_yticks(*_percents(top))
        panel.set_title(f"{trained_errors.task(document)}: {names.mechanism(mechanism)}")
    for panel in grid.flat[len(shown):]:
        panel.set_axis_off()
    used = list({document["path"]: document for document, *_ in shown}.values())
    style.add_foot(figure, _HISTOGRAM + words.contexts_text(used))
    return figure, said


def _histograms(documents):
    """[(document, mechanism, {alternative: (shares [seed, bin], runs)})]"""
    found = {}
    for place, document in enumerate(documents):
        runs = Runs(document)
        for name in runs.names:
            finished = [run for run in runs.finished(name)
                        if run["result"].get("lateness_histogram")]
            if finished:
                shares = numpy.array([run["result"]["lateness_histogram"] for run in finished])
                mechanism = runs.settings(name)["mechanism"]
                found.setdefault((place, mechanism), {})[name] = shares, finished
    return [(documents[place], mechanism, by_name)
            for (place, mechanism), by_name in found.items()]


def _percents(top):
    shares = [share for share in (0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.7, 1) if share <= 1.1 * top]
    return shares, [f"{100 * share:g} %" for share in shares]


def _draw_histogram(figure, panel, document, by_name):
    unit, times = _unit(sum((runs for _, runs in by_name.values()), []))
    unit, scale = (unit, times[0]) if len(set(times)) == 1 else ("entries", 1)
    said, handles = [], []
    for name, label, look in _labelled(document, {
            name: runs for name, (_, runs) in by_name.items()}):
        mean = by_name[name][0].mean(axis=0)
        most = len(mean) // 2
        edges = (numpy.arange(len(mean) + 1) - most - 0.5) * scale
        handles.append(panel.stairs(
            mean, edges, baseline=None, color=look["color"], linestyle=look["linestyle"],
            linewidth=1.1, label=label))
        said.append(f"{trained_errors.task(document)}, {label}: {100 * mean[0]:.1f} % of symbols "
                    f"{most * scale:g} {unit} early or earlier, {100 * mean[-1]:.1f} % "
                    f"{most * scale:g} {unit} late or later")
    panel.axvline(0, color=TRUTH, linewidth=0.6)
    panel.set_xlim(edges[0], edges[-1])
    ticks = numpy.linspace(-most, most, 5) * scale
    texts = [f"{tick:g}" for tick in ticks]
    texts[0] += "\nor earlier"
    texts[-1] += "\nor later"
    panel.set_xticks(ticks, texts)
    panel.grid(True)
    panel.set_xlabel(f"lateness, {unit}", labelpad=-4)
    panel.set_ylabel("share of symbols")
    style.legend_below(figure, panel, handles)
    return said


_HISTOGRAM = (
    "How many symbols are how late: the entry that the threshold chooses, given the symbols before, "
    "after the true end (0), of all held-out data; the mean over seeds, on a square-root scale. What "
    "chooses nothing waits for the last entry. "
)


# ---- one utterance -------------------------------------------------------------


def has_alignments(documents):
    return bool(_of_one_source(documents)[1])


def draw_alignments(documents):
    document, shown = _of_one_source(documents)
    example = shown[0]["example"]
    ends = numpy.array(example["ends"])
    tables = [numpy.array(run["example"]["attention"]) for run in shown]
    norm = colors.PowerNorm(0.5, 0, max(1.0, max(table.max() for table in tables)))
    figure, grid = style.new_figure(1 + len(shown), 1, 1.25, style.PAGE_IN)
    top, *panels = grid[:, 0]
    unit, (scale, *_) = _unit(shown[:1])
    _draw_frames(top, example)
    named = trained_errors.labels(Runs(document), list(dict.fromkeys(
        run["name"] for run in document["runs"])))
    said = []
    for panel, run, table in zip(panels, shown, tables):
        image = alignments.draw_weights(panel, table, norm)
        said.append(_draw_truth(panel, named[run["name"]], run["example"], ends, scale, unit))
    length = len(example["frames"])
    for panel in grid.flat:
        panel.set_xlim(0.5, length + 0.5)
        _set_times(panel, length, scale)
        panel.set_xlabel("")
    panels[-1].set_xlabel(f"time, {unit}")
    figure.colorbar(image, ax=grid, pad=0.01, aspect=50).set_label("weight")
    settings = shown[0]["settings"]
    source = (settings.get("data_facts") or {}).get("source")
    caption = (f"Trained: {trained_errors.task(document)}, {_data(settings)}. " + _ALIGNMENTS
               + (f"Data: {source}. " if source else ""))
    truth = style.handle("the true end of the output's symbol",
                         {"color": TRUTH, "marker": "|", "linestyle": "none"})
    style.add_foot(figure, caption + words.contexts_text([document]),
                   [truth, *alignments.choice_handles()])
    return figure, said


def _data(settings):
    return os.path.basename(settings.get("data") or "no name")


def _of_one_source(documents):
    """(document, the first run of each mechanism) with frames, ends and attention of one source:
    that which the most mechanisms have.
    """
    groups = {}
    for place, document in enumerate(documents):
        for run in document["runs"]:
            example = run.get("example", {})
            if all(example.get(key) for key in ("frames", "ends", "attention")):
                key = (place, str(example["frames"]), *example["ends"])
                groups.setdefault(key, {}).setdefault(run["settings"]["mechanism"], run)
    (place, *_), group = max(groups.items(), key=lambda one: len(one[1]), default=((0,), {}))
    return documents[place] if documents else None, list(group.values())


def _draw_frames(panel, example):
    frames, ends = numpy.array(example["frames"]).T, example["ends"]
    panel.imshow(frames, cmap="magma", aspect="auto", origin="lower",
                 extent=(0.5, frames.shape[1] + 0.5, 0.5, len(frames) + 0.5))
    for end in ends:
        panel.axvline(end + 0.5, color="#ffffff", linewidth=0.5)
    for place, (symbol, begin, end) in enumerate(zip(example["symbols"], [0, *ends], ends)):
        # In two rows, as some symbols are shorter than their names.
        panel.annotate(symbol, ((begin + end) / 2 + 0.5, 1), (0, 2 + 7 * (place % 2)),
                       xycoords=("data", "axes fraction"), textcoords="offset points",
                       ha="center", fontsize=style.SMALLEST_PT)
    panel.set_ylabel("number in\nthe frame")


def _draw_truth(panel, title, example, ends, scale, unit):
    """Draws ends and choices onto the weights of a panel; gives what they say."""
    num_rows, length = len(example["attention"]), len(example["frames"])
    rows = numpy.arange(1, len(ends) + 1)
    for end in ends:
        panel.axvline(end + 0.5, color=style.GRID, linewidth=0.4)
    panel.vlines(ends + 0.5, rows - 0.5, rows + 0.5, color=TRUTH, linewidth=1)
    choices = list(enumerate(example["choices"], 1))
    chosen = [(entry + 1, output) for output, entry in choices if entry < length]
    alignments.draw_choices(panel, chosen, length)
    alignments.draw_no_choices(
        panel, [output for output, entry in choices if entry >= length], length)
    panel.set_ylim(num_rows + 0.5, 0.5)
    panel.set_ylabel("output i")
    panel.set_title(title, loc="left", pad=2)
    if not choices:
        return f"{title}: chooses nothing"
    # An output that chose nothing has waited for the last entry.
    late = [scale * (min(entry + 1, length) - end)
            for (_, entry), end in zip(choices, ends)]
    return f"{title}: {numpy.mean(late):.1f} {unit} after the true ends on average"


def _set_times(panel, length, scale):
    """Entry j lies from j - 1/2 to j + 1/2, so that time t of entries ends at t + 1/2."""
    total = length * scale
    step = next((step for power in range(9) for step in (10**power, 2 * 10**power, 5 * 10**power)
                 if total <= 8 * step), total)
    times = numpy.arange(0, total + step / 2, step)
    times = times[times <= total]
    panel.set_xticks(times / scale + 0.5, [f"{time:g}" for time in times])


_ALIGNMENTS = (
    "One held-out source, given its symbols; of each mechanism the first alternative that has it. Top: "
    "its frames, with the true symbols and their ends. Below: expected weight of an entry (square-root "
    "scale). The threshold chooses. "
)
