"""How much of its sources a whole decoder really read, beside the ratio of its time: a
mechanism that chooses, with random weights, may stand still or run off, and is fast
for that alone.
"""

# Of a time like that of trained weights, as harness/decoder_ratios.h has them.
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
