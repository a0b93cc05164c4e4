"""Figures with a panel for each mode and scope: rows are scopes, columns are
modes.
"""

from attnbench.analysis import modes
from figures import style

MODES = {"decode": "decoding", "expect": "expectation", "gradient": "gradient"}
SCOPES = {"full": "scores computed", "attention": "scores given"}


def title(mode, scope):
    return f"{MODES.get(mode, mode)}, {SCOPES.get(scope, scope)}"


def new_figure(cells):
    """Makes a figure and {(mode, scope): axes}, with titles."""
    present = modes.pairs(cells)
    rows = [s for s in modes.SCOPES if any(scope == s for _, scope in present)]
    columns = [m for m in modes.MODES if any(mode == m for mode, _ in present)]
    figure, grid = style.new_figure(len(rows), len(columns))
    by_pair = {}
    for row, scope in enumerate(rows):
        for column, mode in enumerate(columns):
            axes = grid[row, column]
            if (mode, scope) in present:
                axes.set_title(title(mode, scope))
                by_pair[mode, scope] = axes
            else:
                axes.set_axis_off()
    return figure, by_pair
