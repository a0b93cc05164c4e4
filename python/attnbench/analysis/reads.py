"""What a cell read, and which speed-ups are partly those of outputs that found no entry:
such an output costs nothing. The tables of the program have the same rules and the same
mark (harness/answers/table.h).
"""

MEMBERS = ("memory_read", "zero_contexts")
MOST_EMPTY = 0.05  # of the outputs
MARK = " *"
WHAT = f"over {100 * MOST_EMPTY:.0f} % of the outputs have no context"
NOTE = f"*: {WHAT}, so part of this is the speed of a decoder that attends to nothing"


def of(cell, context):
    """Gives `memory_read` and `zero_contexts` of a cell: the share of the memory that was
    read and that of the outputs without a context, None where unknown. They are those of
    SetReads in harness/answers/table.cc.
    """
    own, numerics = cell.get("decoder"), cell.get("numerics") or {}
    if own:
        return _reads(*map((own["reads"] or {}).get, MEMBERS))
    mass = numerics.get("attention_mass")
    if mass is None or cell["mode"] != "decode" or cell["workload"].startswith("file:"):
        return _reads(None, None)
    # Results from before the latency lack it.
    if cell.get("latency", cell["end"]) is None:  # all entries are weighed, to any sum
        return _reads(1.0, 0.0)
    outputs, entries = _lengths(cell, context)
    passed = None
    if cell["operations"] and cell["end"] == "absorb":
        # Each energy passes an entry for good, or ends an output.
        passed = _share((cell["operations"]["energies"] - mass) / entries)
    return _reads(passed, _share(1 - mass / outputs))


def _reads(*shares):
    return dict(zip(MEMBERS, shares))


def _share(value):
    return min(1.0, max(0.0, value))


def _lengths(cell, context):
    """Gives the outputs and entries of all sequences, which of captured ones differ."""
    for file in context.get("workload_files") or []:
        if file["workload"] == cell["workload"] and file.get("entries"):
            return file["outputs"], file["entries"]
    return (cell[axis] * cell["batch"] for axis in ("output_length", "memory_length"))


def is_marked(cell):
    """Whether over MOST_EMPTY of a cell's outputs have no context. Rows of load.cells_of
    have the shares as `reads`; others are not marked.
    """
    share = (cell.get("reads") or {}).get("zero_contexts")
    return share is not None and share > MOST_EMPTY


def mark(cell):
    """Gives what is written behind the speed-up of a cell."""
    return MARK if is_marked(cell) else ""


def notes(cells):
    """Gives NOTE in a list where one of the cells, rows of a frame, is marked."""
    return [NOTE] if any(map(is_marked, cells.to_dict("records"))) else []
