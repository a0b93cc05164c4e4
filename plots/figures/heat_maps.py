"""Heat maps over T and U, each cell with its number."""

import math

import matplotlib
import numpy
from matplotlib import colors

from attnbench.analysis import load
from figures import style, ticks

COLOR_MAP = "viridis"
MOST_IN_HEAT_MAP = 64  # rows or columns whose numbers can be read


def log_norm(values):
    """The logarithmic colour scale of all panels of a figure."""
    known = [v for v in values if not math.isnan(v)]
    low, high = min(known), max(known)
    if high / low < 1.2:  # a scale needs two ends
        low, high = low / 1.1, high * 1.1
    return colors.LogNorm(low, high)


def columns_with_room(cells, lines=2):
    """Gives how many heat maps side by side a page has room for, if each cell holds
    `lines` lines of text readably; 0: not even one.
    """
    cell_width = 0.41 if lines > 1 else 0.2
    width = 0.2 + cell_width * cells["memory_length"].nunique()
    return int((style.PAGE_IN - 0.6) / width)


def heat_map_figure(panel_rows, panel_columns, cells, path, lines=2):
    """Makes a figure as wide as the page, whose cells are as high as `lines` lines of text.
    """
    for axis in ("memory_length", "output_length"):
        number = cells[axis].nunique()
        if number > MOST_IN_HEAT_MAP:
            raise load.DataError(
                path,
                f"{number} values of {axis}, a heat map has room for "
                f"{MOST_IN_HEAT_MAP}",
            )
    height = 0.5 + (0.08 + 0.1 * lines) * cells["output_length"].nunique()
    return style.new_figure(panel_rows, panel_columns, max(1.4, height), style.PAGE_IN)


def heat_map(axes, rows, norm, to_text, title, color_map=COLOR_MAP):
    """Draws a panel: x is memory_length, y output_length, each cell has its
    number, unless `to_text` is None.

    `rows` has memory_length, output_length, value and what `to_text` reads of a
    row. Cells without a value are hatched.
    """
    lengths = sorted(set(rows["memory_length"]))
    outputs = sorted(set(rows["output_length"]))
    color_map = matplotlib.colormaps.get_cmap(color_map)
    image = rows.pivot(
        index="output_length", columns="memory_length", values="value"
    ).loc[outputs, lengths]
    axes.set_facecolor(style.MISSING)
    mesh = axes.imshow(
        image.to_numpy(dtype=float),
        norm=norm,
        cmap=color_map,
        origin="lower",
        aspect="auto",
    )
    for cell in rows.to_dict("records"):
        x = lengths.index(cell["memory_length"])
        y = outputs.index(cell["output_length"])
        _write_cell(axes, x, y, cell, color_map(norm(cell["value"])), to_text)
    axes.set_xticks(range(len(lengths)), lengths)
    axes.set_yticks(range(len(outputs)), outputs)
    axes.tick_params(length=0)
    axes.set_xlabel("memory length T")
    axes.set_ylabel("output length U")
    axes.set_title(title)
    return mesh


def _write_cell(axes, x, y, cell, color, to_text):
    if math.isnan(cell["value"]):
        axes.fill(
            [x - 0.5, x + 0.5, x + 0.5, x - 0.5],
            [y - 0.5, y - 0.5, y + 0.5, y + 0.5],
            facecolor=style.MISSING,
            edgecolor="#999999",
            hatch="////",
            linewidth=0,
        )
        return
    if to_text is None:
        return
    axes.text(
        x,
        y,
        to_text(cell),
        color=ink(color),
        fontsize=style.SMALLEST_PT,
        ha="center",
        va="center",
        linespacing=1.0,
    )


def ink(color):
    """Gives the colour of a text on this one: white or black, whichever contrasts more
    where the page is printed in grey.
    """
    # The weights are those of grey copies (ITU-R BT.601); white and black contrast the
    # same with a grey of 0.46 (WCAG 2).
    return "white" if numpy.dot((0.299, 0.587, 0.114), color[:3]) < 0.46 else "black"


def no_panel(axes, title):
    """Marks a combination that the file does not have."""
    axes.set_title(title)
    axes.set_axis_off()
    axes.text(
        0.5,
        0.5,
        "not in this file",
        transform=axes.transAxes,
        ha="center",
        va="center",
        color="#666666",
    )


def color_bar(figure, mesh, all_axes, text, to_text):
    """Draws the colour scale, beside all panels."""
    bar = figure.colorbar(mesh, ax=all_axes, pad=0.02, aspect=30)
    if isinstance(mesh.norm, colors.BoundaryNorm):
        bar.set_ticks(mesh.norm.boundaries)
        bar.ax.yaxis.set_major_formatter(to_text)
    else:
        ticks.log_ticks(bar.ax.yaxis, mesh.norm.vmin, mesh.norm.vmax, to_text)
    bar.set_label(text)
    return bar
