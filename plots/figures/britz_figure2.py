"""Figure 2 of Britz (section 3.2): the position encoding L over source position s and
context k, which the paper shows as a surface.

This draws the numbers that the program multiplies scores by:
experiments/cases/britz_figure2.json has scores of 1 after the sigmoid everywhere and a
place outside of it, and each output mixes one context alone, so that the attention of
output k to entry s is L(k, s) itself. Such a surface is linear in s and in k; any other
attention is of another case.
"""

import numpy

from attnbench.analysis import load, published
from figures import style

LARGEST_CURVE = 1e-12  # f64
STATEMENT = "britz-figure-2"


def has_data(outputs):
    return len(outputs) == 1 and _is_surface(_table(outputs[0]))


def draw(outputs):
    table = _table(outputs[0])
    if len(outputs) != 1 or not _is_surface(table):
        raise load.DataError(
            outputs[0]["path"],
            "is no position encoding: wanted is what `attnbench expect "
            "experiments/cases/britz_figure2.json` prints",
        )
    contexts, length = table.shape
    figure, axes = style.new_figure(1, 2)
    _draw_map(figure, axes[0, 0], table)
    _draw_lines(axes[0, 1], table)
    papers = published.statement(published.paper("britz"), STATEMENT)["value"]
    center = table[contexts // 2 - 1, length // 2 - 1]
    style.add_foot(
        figure,
        "Position encoding L of Britz eq 10 over source position s and context k, "
        f"S = {length} and K = {contexts}, both from 1, as the program multiplies scores "
        "by it: expected attention where every score is 1. Dots: k = K/2, "
        f"s = S/2, where the paper says {papers:g}.",
    )
    return figure, [
        f"L(K/2, S/2) = {center:.15g} (the paper: {papers:g})",
        f"greatest |L(k, s) - L(K - k, S - s)| = {_asymmetry(table):.2g}",
    ]


def _table(output):
    return numpy.array(output["attention"], dtype=float)


def _is_surface(table):
    """Whether it is linear in each direction, but no plane: eq 10 gives that."""
    if min(table.shape) < 4 or any(size % 2 for size in table.shape):
        return False
    curve = max(abs(numpy.diff(table, 2, axis=axis)).max() for axis in (0, 1))
    twist = abs(numpy.diff(numpy.diff(table, axis=0), axis=1)).max()
    return bool(curve <= LARGEST_CURVE < twist)


def _asymmetry(table):
    inner = table[:-1, :-1]  # k = 1 .. K - 1, s = 1 .. S - 1
    return abs(inner - inner[::-1, ::-1]).max()


def _draw_map(figure, panel, table):
    contexts, length = table.shape
    s, k = numpy.arange(1, length + 1), numpy.arange(1, contexts + 1)
    mesh = panel.pcolormesh(s, k, table, cmap="viridis", vmin=0, vmax=1,
                            shading="nearest", rasterized=True)
    # The contour of 0.5 is left out: it crosses itself and goes astray there.
    levels = [level / 10 for level in (1, 2, 3, 4, 6, 7, 8, 9)]
    lines = panel.contour(s, k, table, levels=levels, colors="white", linewidths=0.6)
    panel.clabel(lines, fontsize=style.SMALLEST_PT, fmt="%.1f")
    panel.axvline(length / 2, color="white", linewidth=0.6)
    panel.axhline(contexts / 2, color="white", linewidth=0.6)
    panel.plot(length / 2, contexts / 2, "o", color="white", markersize=3)
    panel.set_xlabel("source position s")
    panel.set_ylabel("context k")
    panel.set_title("L(k, s)")
    figure.colorbar(mesh, ax=panel, pad=0.02)


def _draw_lines(panel, table):
    contexts, length = table.shape
    s = numpy.arange(1, length + 1)
    shown = sorted({1, contexts // 4, contexts // 2, 3 * contexts // 4, contexts})
    for rank, k in enumerate(shown):
        look = style.line("memory", ["memory"], rank, len(shown))
        panel.plot(s, table[k - 1], label=f"k = {k}",
                   **{**look, "marker": "none"})
    panel.plot(length / 2, table[contexts // 2 - 1, length // 2 - 1], "k.")
    panel.set_xlabel("source position s")
    panel.set_ylabel("L")
    panel.set_ylim(0, 1)
    panel.grid(True)
    panel.legend(frameon=False, ncol=2, loc="upper center")
