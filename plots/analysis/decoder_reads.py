"""How much of its sources a whole decoder really read, beside the ratio of its time: a
mechanism that chooses, with random weights, may stand still or run off, and is fast
for that alone.
"""

# A time like that of trained weights has these; so has harness/measure/decoder_ratios.h.
LEAST_READ = 0.9  # of the memory
MOST_EMPTY = 0.05  # of the outputs


def text(cell):
    """"read 97 %, 3 % empty", with "not as trained" where it is too little; nothing
    where attention reads everything by its kind, or there is none.
    """
    reads = cell.get("reads")
    if not cell.get("end") or not reads or reads["memory_read"] is None:
        return ""
    said = (f"read {100 * reads['memory_read']:.0f} %, "
            f"{100 * reads['zero_contexts']:.0f} % empty")
    return said if is_as_trained(cell) else said + ", not as trained"


def is_as_trained(cell):
    reads = cell.get("reads")
    return (
        not reads
        or reads["memory_read"] is None
        or (reads["memory_read"] >= LEAST_READ and reads["zero_contexts"] <= MOST_EMPTY)
    )


def why_not_as_trained(cell):
    """Empty where its time is that of trained weights, or there is nothing to read."""
    if is_as_trained(cell):
        return ""
    reads = cell["reads"]
    return (
        f"{100 * reads['memory_read']:.0f} % of the memory was read and "
        f"{100 * reads['zero_contexts']:.0f} % of the outputs had no entry; a time like "
        f"that of trained weights needs at least {100 * LEAST_READ:.0f} % and at most "
        f"{100 * MOST_EMPTY:.0f} %"
    )
