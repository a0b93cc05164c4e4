"""What trained models attend to in one source of own data, such as an utterance, beside the
true ends of its symbols: MAD's figure 3 and MoChA's figure 2 with the truth.
"""

import os

import numpy
from matplotlib import colors, ticker

from attnbench.analysis import trained, words
from attnbench.analysis.trained import Runs
from figures import alignments, lateness, style, trained_errors

TRUTH = "#0072B2"
MOST_STACKED = 8
LEAST_ALIKE = 0.7  # correlation of stacked frames


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
    unit, scale = lateness.unit_of(shown)
    stacked = _draw_frames(top, example)
    named = trained_errors.labels(Runs(document), list(dict.fromkeys(
        run["name"] for run in document["runs"])))
    said = []
    for panel, run, table in zip(panels, shown, tables):
        image = alignments.draw_weights(panel, table, norm)
        image.set_interpolation("none")  # else the vector file has as many pixels as the other
        said.append(_draw_truth(panel, named[run["name"]], run["example"], ends, scale, unit))
    length = len(example["frames"])
    for panel in grid.flat:
        panel.set_xlim(0.5, length + 0.5)
        _set_times(panel, length, scale)
        panel.tick_params(labelbottom=panel is panels[-1])
        panel.set_xlabel("")
    panels[-1].set_xlabel(f"time, {unit}")
    figure.colorbar(image, ax=grid, pad=0.01, aspect=50).set_label("weight")
    settings = shown[0]["settings"]
    source = (settings.get("data_facts") or {}).get("source")
    caption = (f"Trained: {trained_errors.task(document)}, {_data(settings)}. "
               + _ALIGNMENTS.format(_speaker(shown[0]), f", {stacked} in an entry" * (stacked > 1))
               + (f"Data: {source}. " if source else ""))
    truth = style.handle("the true end of the output's symbol",
                         {"color": TRUTH, "marker": "|", "linestyle": "none"})
    style.add_foot(figure, caption + words.contexts_text([document]),
                   [truth, *alignments.choice_handles()])
    return figure, said


def _data(settings):
    return os.path.basename(settings.get("data") or "no name")


def _speaker(run):
    name = run["example"].get("speaker")
    new = any(one["speaker"] == name for one in trained.speakers(run, False))
    return "" if name is None else f" of speaker {name}" + " whom training has not heard" * new


def has_truth(example):
    return all(example.get(key) for key in ("frames", "ends", "attention"))


def _of_one_source(documents):
    """(document, the first run of each mechanism) with frames, ends and attention of one source:
    that which the most mechanisms have.
    """
    groups = {}
    for place, document in enumerate(documents):
        for run in document["runs"]:
            example = run.get("example", {})
            if has_truth(example):
                key = (place, str(example["frames"]), *example["ends"])
                groups.setdefault(key, {}).setdefault(run["settings"]["mechanism"], run)
    (place, *_), group = max(groups.items(), key=lambda one: len(one[1]), default=((0,), {}))
    return documents[place] if documents else None, list(group.values())


def stacked_in(frames):
    """How many frames, one after the other, an entry of [T, frame size] has side by side: as
    they are alike, their numbers are, for the greatest count that divides the size.
    """
    size = frames.shape[1]
    with numpy.errstate(invalid="ignore"):  # numbers that are all alike have no correlation
        return max((count for count in range(2, min(MOST_STACKED, size - 1) + 1)
                    if size % count == 0 and numpy.corrcoef(
                        frames[:, size // count:].ravel(),
                        frames[:, :-size // count].ravel())[0, 1] > LEAST_ALIKE), default=1)


def _draw_frames(panel, example):
    """Draws frames and symbols; gives how many frames an entry has."""
    entries, ends = numpy.array(example["frames"]), example["ends"]
    stacked = stacked_in(entries)
    frames = entries.reshape(len(entries) * stacked, -1).T
    panel.imshow(frames, cmap="magma", aspect="auto", origin="lower", interpolation="none",
                 extent=(0.5, len(entries) + 0.5, 0.5, len(frames) + 0.5))
    for end in ends:
        panel.axvline(end + 0.5, color="#ffffff", linewidth=0.5)
    for place, (symbol, begin, end) in enumerate(zip(example["symbols"], [0, *ends], ends)):
        # In two rows, as some symbols are shorter than their names.
        panel.annotate(symbol, ((begin + end) / 2 + 0.5, 1), (0, 2 + 7 * (place % 2)),
                       xycoords=("data", "axes fraction"), textcoords="offset points",
                       ha="center", fontsize=style.SMALLEST_PT)
    panel.set_ylabel("number in\nthe frame")
    return stacked


def _draw_truth(panel, title, example, ends, scale, unit):
    """Draws ends and choices onto the weights of a panel; gives what they say."""
    num_rows, length = len(example["attention"]), len(example["frames"])
    rows = numpy.arange(1, len(ends) + 1)
    for end in ends:
        panel.axvline(end + 0.5, color=style.GRID, linewidth=0.4)
    panel.vlines(ends + 0.5, rows - 0.5, rows + 0.5, color=TRUTH, linewidth=1)
    chosen = alignments.positions(example)
    alignments.draw_choices(panel, chosen, length)
    panel.set_ylim(num_rows + 0.5, 0.5)
    panel.set_ylabel("output i")
    panel.set_title(title, loc="left", pad=2)
    if not chosen:
        return f"{title}: chooses nothing"
    # An output that chose nothing has waited for the last entry.
    late = [scale * ((entry or length) - end) for entry, end in zip(chosen, ends)]
    mean = numpy.mean(late)
    side = "before" if mean < 0 else "after"
    return f"{title}: {abs(mean):.1f} {unit} {side} the true ends on average"


def _set_times(panel, length, scale):
    """Entry j lies from j - 1/2 to j + 1/2, so that time t of entries ends at t + 1/2."""
    total = length * scale
    times = ticker.MaxNLocator(8, steps=(1, 2, 5, 10)).tick_values(0, total)
    times = times[times <= total]
    panel.set_xticks(times / scale + 0.5, [f"{time:g}" for time in times])


_ALIGNMENTS = (
    "One held-out source{}, given its symbols; of each mechanism the first alternative that has it. "
    "Top: its frames{}, with the true symbols and their ends. The windows of an entry's frames may "
    "reach behind its end, those of the spoken phones of corpora.py by 15 ms. Below: expected weight of "
    "an entry (square-root scale). The threshold chooses. "
)
