"""A panel for each mode and scope: rows are scopes, columns are modes."""

import load
import style

MODES = ("decode", "expect", "gradient")
SCOPES = ("full", "attention")
# What cells of all panels may differ in.
FREE = (
    "memory_length",
    "output_length",
    "chunk_width",
    "num_contexts",
    "mode",
    "scope",
    "schedule",
)


def pairs(cells):
    """The (mode, scope) that the cells have, in that order of modes."""
    found = set(zip(cells["mode"], cells["scope"]))
    return [(m, s) for m in MODES for s in SCOPES if (m, s) in found]


def groups(cells):
    """((mechanism, mode, scope), cells) of every mechanism in every (mode,
    scope) that any of them has; known mechanisms in their order, then others.
    """
    for name in mechanisms(cells):
        for mode, scope in pairs(cells):
            group = cells[
                (cells["mechanism"] == name)
                & (cells["mode"] == mode)
                & (cells["scope"] == scope)
            ]
            if group.empty:
                raise load.DataError(
                    cells.attrs["path"],
                    f"cells missing: {name} in mode {mode}, scope {scope}",
                )
            yield (name, mode, scope), group


def mechanisms(cells):
    known = list(style.MECHANISMS)
    rank = {name: place for place, name in enumerate(known)}
    return sorted(
        set(cells["mechanism"]), key=lambda name: (rank.get(name, len(known)), name)
    )


def new_figure(cells):
    """A figure and {(mode, scope): axes}, titled."""
    present = pairs(cells)
    rows = [s for s in SCOPES if any(scope == s for _, scope in present)]
    columns = [m for m in MODES if any(mode == m for mode, _ in present)]
    figure, grid = style.new_figure(len(rows), len(columns))
    by_pair = {}
    for row, scope in enumerate(rows):
        for column, mode in enumerate(columns):
            axes = grid[row, column]
            if (mode, scope) in present:
                axes.set_title(f"{mode}, {scope}")
                by_pair[mode, scope] = axes
            else:
                axes.set_axis_off()
    return figure, by_pair
