"""Figures of results, as matplotlib's Figure. They are those of plots/draw.py."""

import contextlib
import functools
import importlib
import io
import os
import sys

import matplotlib

from attnbench.analysis import ROOT
from attnbench.results import DataError, listed

PLOTS = os.path.join(ROOT, "plots")

DOTS_PER_INCH = 120  # in a notebook


def figures(paths=None):
    """Gives {name: what it needs} of the figures that fit results; of all without `paths`.

    Raises DataError where a file cannot be read.
    """
    with _drawing() as drawing:
        names = drawing.FIGURES
        if paths is not None:
            names = drawing.fitting(drawing.read(listed(paths)))
        return {name: drawing.FIGURES[name].needs for name in names}


def draw(name, paths):
    """Gives the figure of that name of a result: a matplotlib.figure.Figure, which a
    notebook shows and `savefig(path, bbox_inches="tight")` writes. Legend and caption
    stand below the figure's own area, so without "tight" they are cut off.

    `paths` is one file, or several outputs of `attnbench decode` or `expect`. Raises
    DataError where the figure is unknown or the results do not fit it.
    """
    with _drawing() as drawing:
        if name not in drawing.FIGURES:
            raise DataError("draw", drawing.unknown_figure(name))
        ((figure, _),) = drawing.draw_files(listed(paths), name).values()
    figure._repr_png_ = functools.partial(_png, figure)
    return figure


@contextlib.contextmanager
def _drawing():
    """Gives plots/figures/draw.py. It and the figures set matplotlib as they need it; what
    the user has set is as before at the end.
    """
    settings = dict(matplotlib.rcParams.copy())
    backend = os.environ.get("MPLBACKEND")
    # Resetting matplotlib would otherwise look for a backend with windows.
    matplotlib.rcParams["backend"] = "agg"
    try:
        drawing = _module("figures.draw")
        matplotlib.rcdefaults()
        yield drawing
    finally:
        dict.update(matplotlib.rcParams, settings)
        os.environ.pop("MPLBACKEND", None)
        if backend is not None:
            os.environ["MPLBACKEND"] = backend


_ours = {}  # name -> module


def _module(name):
    """Gives a module of plots/figures. A user may have one that is called `figures`, too,
    so sys.path and sys.modules have ours only while it is imported.
    """
    theirs = _take_figures()
    sys.modules.update(_ours)
    sys.path.insert(0, PLOTS)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(PLOTS)
        _ours.update(_take_figures())
        sys.modules.update(theirs)


def _take_figures():
    names = [name for name in sys.modules if name.partition(".")[0] == "figures"]
    return {name: sys.modules.pop(name) for name in names}


def _png(figure):
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=DOTS_PER_INCH, bbox_inches="tight")
    return stream.getvalue()
