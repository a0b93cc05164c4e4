"""Which speed-ups are partly those of outputs that found no entry: such an output costs
nothing. The tables of the program have the same rule and the same mark
(harness/answers/table.h).
"""

import math

from attnbench.analysis import workloads

MOST_EMPTY = 0.05  # of the outputs
MARK = " *"
WHAT = f"over {100 * MOST_EMPTY:.0f} % of the outputs have no context"
NOTE = f"*: {WHAT}, so part of this is the speed of a decoder that attends to nothing"


def zero_contexts(cell):
    """Gives the share of a cell's outputs without a context; NaN where it is unknown."""
    own = cell.get("decoder")
    if own:
        share = (own["reads"] or {}).get("zero_contexts")
        return math.nan if share is None else share
    mass = (cell.get("numerics") or {}).get("attention_mass")
    # How many outputs sequences of unlike lengths have is not in the cell.
    if (mass is None or cell["mode"] != "decode" or cell["workload"].startswith("file:")
            or workloads.is_captured(cell)):
        return math.nan
    # Results from before the latency lack it.
    if cell.get("latency", cell["end"]) is None:  # all entries are weighed, to any sum
        return 0.0
    return min(1.0, max(0.0, 1 - mass / (cell["output_length"] * cell["batch"])))


def is_marked(cell):
    return zero_contexts(cell) > MOST_EMPTY


def mark(cell):
    """Gives what is written behind the speed-up of a cell."""
    return MARK if is_marked(cell) else ""


def notes(cells):
    """Gives NOTE in a list where one of the cells, rows of a frame, is marked."""
    return [NOTE] if any(map(is_marked, cells.to_dict("records"))) else []
