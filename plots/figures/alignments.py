"""Alignments: MoChA's figure 1 with real numbers.

Each panel is one output of `attnbench decode`: outputs down, memory entries
across, the weight of an entry as shade, a dot on the entry that was chosen, a
light outline around those whose energy was evaluated for the choice.
"""

import os

import numpy
from matplotlib import colors
from matplotlib.patches import Rectangle

from attnbench.analysis import load, names
from figures import style
from attnbench.analysis.words import context_text

COLUMNS = 3
NOTHING = {"color": "#000000", "marker": "x", "linestyle": "none", "markersize": 3.5}
MARK = "#D55E00"
OUTLINE = "#56B4E9"


def has_data(decoded):
    return bool(decoded)


def draw(decoded):
    _require_one_shape(decoded)
    matrices = [_weights(document) for document in decoded]
    top = max(1.0, max(matrix.max() for matrix in matrices))
    # The square root keeps the small weights of soft attention visible.
    norm = colors.PowerNorm(0.5, 0, top)
    columns = min(COLUMNS, len(decoded))
    rows = -(-len(decoded) // columns)
    num_outputs, length = matrices[0].shape
    figure, axes = style.new_figure(
        rows,
        columns,
        panel_height=min(4.0, max(1.5, 0.6 + 0.11 * num_outputs)),
    )
    titles = _titles(decoded)
    for panel, document, matrix, title in zip(
        axes.flat, decoded, matrices, titles
    ):
        image = _draw_panel(panel, document, matrix, norm, title)
    for panel in axes.flat[len(decoded) :]:
        panel.set_axis_off()
    bar = figure.colorbar(image, ax=axes, pad=0.02, aspect=30)
    bar.set_label("attention weight")
    style.add_foot(figure, _caption(decoded, length, num_outputs), choice_handles())
    return figure, [
        _headline(*item) for item in zip(titles, decoded, matrices)
    ]


def _require_one_shape(decoded):
    first = decoded[0]
    for document in decoded[1:]:
        for what, of in (
            ("memory_length", lambda d: d["memory_length"]),
            ("number of steps", lambda d: len(d["steps"])),
        ):
            if of(document) != of(first):
                raise load.DataError(
                    document["path"],
                    f"mixed data: {what} is {of(document)}, in "
                    f"{first['path']} {of(first)}; the figure needs one",
                )


def _weights(document):
    matrix = numpy.zeros((len(document["steps"]), document["memory_length"]))
    for row, step in zip(matrix, document["steps"]):
        for head in (step, *step.get("further_heads", ())):
            if head["begin"] is not None:
                row[head["begin"] - 1 : head["end"]] += head["weights"]
    return matrix


def _titles(decoded):
    """Names the mechanism, with a number if it is there twice."""
    of = [document["mechanism"] for document in decoded]
    return [
        f"{name} ({of[: index + 1].count(name)})"
        if of.count(name) > 1
        else name
        for index, name in enumerate(of)
    ]


def _draw_panel(axes, document, matrix, norm, title):
    num_outputs, length = matrix.shape
    image = draw_weights(axes, matrix, norm)
    for output, (first, count) in enumerate(_inspected(document), start=1):
        if count:
            axes.add_patch(
                Rectangle(
                    (first - 0.5, output - 0.5),
                    count,
                    1,
                    fill=False,
                    edgecolor=OUTLINE,
                    linewidth=min(0.5, 12 / num_outputs),
                )
            )
    if _chooses(document):
        draw_choices(axes, [step["position"] for step in document["steps"]], length)
    axes.set_ylabel("output i")
    axes.set_title(names.label(title))
    return image


def _chooses(document):
    return any(step["position"] is not None for step in document["steps"])


def draw_weights(axes, matrix, norm):
    """Draws a table of weights, a row for each output, and gives the image."""
    num_rows, length = matrix.shape
    image = axes.imshow(
        matrix,
        norm=norm,
        cmap="Greys",
        aspect="auto",
        extent=(0.5, length + 0.5, num_rows + 0.5, 0.5),
    )
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("memory entry j")
    return image


def positions(example):
    """The entry that each output of a trained run's example chose, from 1; None: none."""
    length = len(example["attention"][0])
    return [entry + 1 if entry < length else None for entry in example["choices"]]


def draw_choices(axes, chosen, length):
    """Draws a dot at the entry, from 1, of each output; of None a cross behind the last."""
    outputs = list(enumerate(chosen, 1))
    chosen = [(entry, output) for output, entry in outputs if entry is not None]
    nothing = [output for output, entry in outputs if entry is None]
    if chosen:
        axes.plot(
            *zip(*chosen),
            linestyle="none",
            marker="o",
            # A dot fits its entry; the entries are some 200 points wide.
            markersize=min(3.0, max(1.4, 120 / length)),
            color=MARK,
            markeredgewidth=0,
        )
    if nothing:
        axes.plot([length + 1] * len(nothing), nothing, **NOTHING, clip_on=False)


def choice_handles():
    return [style.handle("the entry chosen", {
                "color": MARK, "marker": "o", "linestyle": "none", "markersize": 3}),
            style.handle("the output chose nothing", NOTHING)]


def _inspected(document):
    """Gives (first, count) of the entries inspected by each output.

    An output scans on from the entry that was chosen last, itself included, whatever
    `end` is. An output without a choice has evaluated the entries that it weighs; if it
    evaluated fewer energies, nobody knows of which.
    """
    first = 1
    for index, step in enumerate(document["steps"]):
        count = step["inspected"]
        if step["position"] is None and step["begin"] is not None:
            width = step["end"] - step["begin"] + 1
            yield step["begin"], width if count >= width else 0
            continue
        if not 0 <= count <= document["memory_length"] - first + 1:
            raise load.DataError(
                f"{document['path']}: steps[{index}]",
                f"inspected is {count} from entry {first} on, of "
                f"{document['memory_length']}",
            )
        yield first, count
        first = step["position"] or first


def _caption(decoded, length, num_outputs):
    files = ", ".join(os.path.basename(d["path"]) for d in decoded)
    return (
        f"Decoding T = {length} memory entries into U = {num_outputs} outputs. "
        "Shade: attention weight (square-root scale); "
        f"outline: entries inspected for the choice. {_source(decoded, files)}"
    )


def _source(decoded, files):
    """Says where the arrays come from: a drawn workload, or case files."""
    settings = {(d.get("workload"), d.get("dim")) for d in decoded}
    contexts = [d.get("context") for d in decoded]
    if len(settings) > 1 or None in contexts:
        return f"From {files}."
    workload, dim = settings.pop()
    return f"Workload {workload}; dim {dim}. {context_text(contexts[0])}"


def _headline(title, document, matrix):
    chosen = sum(step["position"] is not None for step in document["steps"])
    inspected = sum(step["inspected"] for step in document["steps"])
    weighted = int((matrix.max(axis=0) > 0).sum())
    return (
        f"{title}: {chosen} of {len(matrix)} outputs chose an entry, "
        f"{inspected} energies inspected, {weighted} of {matrix.shape[1]} "
        "entries with weight"
    )
