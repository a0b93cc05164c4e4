"""The look of every figure: sizes, fonts, one colour and marker per mechanism.

A mechanism looks the same in every figure, so that pictures can be read side by
side. Colours are those of Okabe and Ito, which colour-blind readers can tell
apart; markers and line styles say the same thing again, for print in grey.
A mechanism that has no line in MECHANISMS takes the next of FALLBACK, in the
order of names, so a new one is drawn without any change here.

Figures are made without pyplot: no global state, no display.
"""

import io
import os
import textwrap

import matplotlib
import numpy
from matplotlib import colors, lines, transforms
from matplotlib.figure import Figure

from attnbench.analysis import modes, names, reads, whole_file, words

# A figure is drawn at the width at which it is printed: a column, or the whole page.
COLUMN_IN = 8.5 / 2.54
PAGE_IN = 17.5 / 2.54
PANEL_HEIGHT_IN = 2.2
SMALLEST_PT = 6
MARGIN_IN = 0.06  # above and below
MOST_COLUMNS = 8  # of a legend
GRID = "#dddddd"
MISSING = "#e6e6e6"  # skipped cells, hatched

# name: (colour, marker)
MECHANISMS = dict(
    zip(
        modes.MECHANISMS,
        [
            ("#000000", "o"),
            ("#0072B2", "s"),
            ("#D55E00", "^"),
            ("#009E73", "D"),
            ("#CC79A7", "v"),
            ("#882255", "p"),
        ],
        strict=True,
    )
)
FALLBACK = [
    ("#56B4E9", "P"),
    ("#E69F00", "X"),
    ("#7F7F7F", "h"),
    ("#8C6D31", "<"),
    ("#5E3C99", ">"),
    ("#B2182B", "*"),
]
LINE_STYLES = ["-", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (5, 1.5, 1, 1.5))]
FILL_STYLES = ["full", "none", "left", "bottom"]

RC = {
    "font.family": ["DejaVu Sans"],
    "font.size": 7,
    "axes.titlesize": 7,
    "axes.labelsize": 7,
    "xtick.labelsize": SMALLEST_PT,
    "ytick.labelsize": SMALLEST_PT,
    "legend.fontsize": SMALLEST_PT,
    "axes.linewidth": 0.6,
    "axes.grid": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.5,
    "hatch.color": "#999999",
    "lines.linewidth": 1.0,
    "lines.markersize": 3.5,
    "savefig.dpi": 300,
    # A $ in a name does not begin mathematics.
    "text.parse_math": False,
    # Text that stays text can be searched and copied.
    "svg.fonttype": "none",
    # The date is left out below, too, so the same data gives the same bytes.
    "svg.hashsalt": "attnbench",
}


def look(mechanism, all_mechanisms):
    """Gives the (colour, marker) of a mechanism in a file that has `all_mechanisms`."""
    if mechanism in MECHANISMS:
        return MECHANISMS[mechanism]
    others = sorted(set(all_mechanisms) - set(MECHANISMS))
    return FALLBACK[others.index(mechanism) % len(FALLBACK)]


def line(mechanism, all_mechanisms, rank=0, count=1):
    """Gives the line properties of the rank-th of `count` settings of a mechanism.

    Settings (w = 2, 4, 8) share the hue, light to dark, and differ in line
    style and in how the marker is filled.
    """
    color, marker = look(mechanism, all_mechanisms)
    red, green, blue = colors.to_rgb(color)
    if count > 1:
        # The shade goes from 35 percent white to 40 percent black around the colour.
        shade = 0.35 - 0.75 * rank / (count - 1)
        towards, amount = (1.0, shade) if shade > 0 else (0.0, -shade)
        red, green, blue = (
            c + (towards - c) * amount for c in (red, green, blue)
        )
    return {
        "color": (red, green, blue),
        "marker": marker,
        "linestyle": LINE_STYLES[rank % len(LINE_STYLES)],
        "fillstyle": FILL_STYLES[rank % len(FILL_STYLES)],
        "markerfacecoloralt": "white",
    }


def line_of_each(mechanisms):
    """Gives the same of each of a list, which has a mechanism for each of its settings."""
    return [
        line(name, mechanisms, mechanisms[:index].count(name), mechanisms.count(name))
        for index, name in enumerate(mechanisms)
    ]


def looks(labels):
    """Gives the line properties by label (settings.label)."""
    return dict(zip(labels, line_of_each([label.split(",")[0] for label in labels])))


def output_labels(outputs):
    """Names outputs of `expect` by mechanism, and by a number where it is there twice."""
    of = [output["mechanism"] for output in outputs]
    return [name if of.count(name) == 1 else f"{name}, case {of[:place].count(name) + 1}"
            for place, name in enumerate(of)]


def handle(label, look):
    """Gives what stands for a line in a legend, with the papers' name of a mechanism."""
    return lines.Line2D([], [], label=names.label(label), **look)


def draw_line(axes, line, look):
    """Draws `value` over memory_length with its interval, of rows in its order."""
    # Rows without a value stay in and interrupt the line.
    draw_spans(axes, line["memory_length"], line["value"], line["low"], line["high"], look)


def draw_spans(axes, x, value, low, high, look):
    """Draws values over x with their intervals, where these are finite."""
    x, value, low, high = (numpy.asarray(one, dtype=float) for one in (x, value, low, high))
    ends = numpy.where(numpy.isfinite(high), (value - low, high - value), 0)
    axes.errorbar(x, value, ends, capsize=1.5, elinewidth=0.7, **look)


def mark_points(axes, line, look):
    """Writes the mark of speed-ups (reads.py) above the intervals of a line."""
    for cell in line.to_dict("records"):
        if reads.is_marked(cell):
            top = cell["high"] if numpy.isfinite(cell["high"]) else cell["value"]
            axes.annotate(reads.MARK.strip(), (cell["memory_length"], top), (0, -1),
                          textcoords="offset points", ha="center", fontsize=SMALLEST_PT,
                          color=look["color"])


def label_ends(axes, ends, gap=0.075):
    """Writes texts on the right of a panel at the ends of its lines, [(y, text, color)],
    apart by at least `gap` of its height. Its limits must be set.
    """
    to_panel = axes.transScale + axes.transLimits
    places = sorted((to_panel.transform((axes.get_xlim()[0], y))[1], text, color)
                    for y, text, color in ends)
    heights = [height for height, _, _ in places]
    for rank in range(1, len(heights)):
        heights[rank] = max(heights[rank], heights[rank - 1] + gap)
    for rank, height in enumerate(reversed(heights), 1):
        heights[-rank] = min(height, 1 - gap * (rank - 1))
    for height, (_, text, color) in zip(heights, places):
        # Small letters in a light colour could not be read.
        dark = [0.65 * part for part in colors.to_rgb(color)]
        axes.text(1.02, height, text, color=dark, transform=axes.transAxes,
                  fontsize=SMALLEST_PT, va="center")


def mark_handle():
    """Gives what stands for the mark of speed-ups in a legend."""
    return lines.Line2D([], [], color="#000000", linestyle="none", label=reads.WHAT,
                        marker=(6, 2))


def new_figure(rows, columns, panel_height=PANEL_HEIGHT_IN, width=None):
    """Makes a figure and its [rows, columns] array of axes: one panel is as wide as a
    column, several in a row are as wide as the page.
    """
    matplotlib.rcParams.update(RC)
    if width is None:
        width = COLUMN_IN if columns == 1 else PAGE_IN
    figure = Figure(figsize=(width, rows * panel_height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def legend_below(figure, axes, handles):
    """Puts the legend of one panel under its labels."""
    down = transforms.ScaledTranslation(0, -0.36, figure.dpi_scale_trans)
    _legend(axes, handles, loc="upper center", bbox_to_anchor=(0.5, 0), frameon=False,
            bbox_transform=axes.transAxes + down, borderaxespad=0, handlelength=2.6)


def _legend(owner, handles, **look):
    """Makes a legend of all handles: matplotlib leaves out a label that begins with "_"."""
    handles = list(handles)
    legend = owner.legend(handles, ["-"] * len(handles), **look)
    for text, one in zip(legend.get_texts(), handles):
        text.set_text(one.get_label())
    return legend


def add_foot(figure, caption, handles=()):
    """Puts legend and caption under the panels, outside the figure's area.

    Saving crops to everything drawn, so neither can cover a panel or be cut.
    """
    # This lays the figure out once, for both formats; constrained layout would
    # otherwise make room inside the figure for what is put below it.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    width, height = figure.get_size_inches()
    y = -0.05 / height
    if handles:
        y = _add_legend(figure, list(handles), y).y0 - 0.05 / height
    # A character of DejaVu Sans is about 0.57 of its size wide.
    letters = int((width - 0.1) * 72 / (0.57 * SMALLEST_PT))
    figure.text(
        0.05 / width,
        y,
        "\n".join(textwrap.wrap(caption, letters, break_long_words=True)),
        fontsize=SMALLEST_PT,
        va="top",
        linespacing=1.25,
    )


def _add_legend(figure, handles, y):
    """Puts a legend under the panels in as few rows as fit, and gives its box."""
    for columns in range(min(len(handles), MOST_COLUMNS), 0, -1):
        legend = _legend(
            figure, handles, loc="upper center", bbox_to_anchor=(0.5, y), ncol=columns,
            frameon=False, borderaxespad=0, handlelength=2.6, columnspacing=1.2)
        figure.draw_without_rendering()
        box = legend.get_window_extent().transformed(figure.transFigure.inverted())
        if box.width <= 1 or columns == 1:
            return box
        legend.remove()


def mark_invalid(figure):
    """Says above all panels that the picture is of an invalid run."""
    height = figure.get_size_inches()[1]
    figure.text(
        0.5,
        1 + 0.05 / height,
        "INVALID: see below",
        color="#B2182B",
        fontsize=12,
        fontweight="bold",
        ha="center",
        va="bottom",
    )


def frame(figure):
    """Gives what is saved of a figure [inches]: all of its width, and no more, and what
    stands above and below its area.
    """
    drawn, width = figure.get_tightbbox(), figure.get_size_inches()[0]
    return transforms.Bbox.from_extents(
        0, drawn.y0 - MARGIN_IN, width, drawn.y1 + MARGIN_IN)


def save(figure, folder, name):
    """Writes FOLDER/NAME.png and .svg, each whole or not at all; gives the paths."""
    paths = []
    for suffix, metadata in (
        ("png", {"Software": None}),
        ("svg", {"Date": None, "Creator": "attnbench", "Title": name}),
    ):
        path = os.path.join(folder, f"{name}.{suffix}")
        stream = io.BytesIO()
        figure.savefig(
            stream,
            format=suffix,
            metadata=metadata,
            bbox_inches=frame(figure),
        )
        content = stream.getvalue()
        if suffix == "svg":
            content = words.clean(content.decode()).encode()
        whole_file.write(path, content)
        paths.append(path)
    return paths
