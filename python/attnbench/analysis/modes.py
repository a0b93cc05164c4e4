"""The modes and scopes that cells have, and their mechanisms in order."""

from attnbench.analysis import load

# Known mechanisms, in the order of tables and legends.
MECHANISMS = ("soft", "monotonic", "mocha", "matcha", "memory", "alignatt")
MODES = ("decode", "expect", "gradient")
SCOPES = ("full", "attention")
# The axes in which cells of all panels may differ.
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
    """Gives the (mode, scope) that the cells have, in that order of modes."""
    found = set(zip(cells["mode"], cells["scope"]))
    return [(m, s) for m in MODES for s in SCOPES if (m, s) in found]


def groups(cells):
    """Gives ((mechanism, mode, scope), cells) of every mechanism in every (mode, scope)
    that any of them has; known mechanisms in their order, then others.
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
    known = MECHANISMS
    rank = {name: place for place, name in enumerate(known)}
    return sorted(
        set(cells["mechanism"]), key=lambda name: (rank.get(name, len(known)), name)
    )
