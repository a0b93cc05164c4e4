"""Histograms of trained models, as steps of each alternative in a panel."""

import numpy

from attnbench.analysis.trained import Runs
from figures import style, trained_errors


def shares(document, member):
    """{alternative: that histogram of its results [seed, bin]}, of those that have it."""
    runs = Runs(document)
    found = {name: [run["result"].get(member) for run in runs.finished(name)]
             for name in runs.names}
    return {name: numpy.array(of_seeds) for name, of_seeds in found.items()
            if of_seeds and None not in of_seeds}


def draw(figure, panel, document, by_name, edges):
    """Draws the mean over seeds of each of `shares`; gives [(label, mean [bin])]."""
    found, handles = [], []
    for name, label, look in trained_errors.labelled(document, by_name):
        mean = by_name[name].mean(axis=0)
        found.append((label, mean))
        handles.append(panel.stairs(
            mean, edges, baseline=None, color=look["color"], linestyle=look["linestyle"],
            linewidth=1.2, label=label))
    panel.set_xlim(edges[0], edges[-1])
    panel.grid(True)
    style.legend_below(figure, panel, handles)
    return found
