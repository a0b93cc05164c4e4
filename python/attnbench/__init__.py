"""Results of attnbench in Python: as pandas frames, as speed-ups, as figures.

    import attnbench

    cells = attnbench.load("mine.json")            # a row for each cell
    faster = attnbench.speedups("mine.json")       # over soft attention, with intervals
    attnbench.figures("mine.json")                 # the figures that fit, by name
    attnbench.draw("mocha_figure3", "mine.json")   # one of them

It needs pandas, SciPy, jsonschema and matplotlib. docs/python.md says how Python finds
it, and what the frames hold.
"""

from attnbench.pictures import draw, figures
from attnbench.results import DataError, load, speedups

__all__ = ["DataError", "draw", "figures", "load", "speedups"]
