"""Whole decoders: the cells of a sweep of scope "decoder", timed as wholes, with what
their attention by itself took and read in the member `decoder`.
"""

from attnbench.analysis import load, pairing, reads, series, workloads

# What one model has: the size d, the share of the memory that its scans pass, the
# numbers of symbols and layers, and whether its encoder is timed. Times are of one
# number of sources.
MODEL = ("dim", "workload", "vocabulary", "layers", "encoder")
SETTING = (*MODEL, "batch")
# A mechanism that chooses may, with random weights, stand still or run off, and is fast
# for that alone. A time like that of trained weights has these.
LEAST_READ = 0.9  # of the memory
MOST_EMPTY = reads.MOST_EMPTY


def settings_of(cells):
    """Each setting of a frame, as SETTING has it."""
    return sorted(set(zip(*(cells[axis] for axis in SETTING))))


def require_one_setting(cells):
    """Refuses a second setting, where there is no place for one."""
    number = len(settings_of(cells))
    if number > 1:
        raise load.DataError(
            cells.attrs["path"],
            f"cells of {number} models ({', '.join(SETTING)}), where there must be one",
        )


def memory_share(cell):
    """S of its workload copy:S, the share of the memory that scans are to pass."""
    return workloads.number_of(cell["workload"], "copy")


def with_ratios(cells):
    """The cells of a frame as dicts with `ratio`: a Span of the time over that of
    full attention in the same rounds, of the first such cell of the point; None where
    either has no time.
    """
    rows, full = cells.to_dict("records"), {}
    for cell in rows:
        if cell["mechanism"] == pairing.BASELINE:
            full.setdefault(cell["point"], cell)
    for cell in rows:
        base = full.get(cell["point"])
        cell["ratio"] = None
        if base is not None and cell["status"] == base["status"] == "ok":
            pairing.require_same_rounds(base, cell, cells.attrs["path"])
            cell["ratio"] = series.ratio(cell, base).at().exp()
    return rows


def attention(cell):
    """The cell with the time of its attention by itself; no samples without one."""
    own = cell.get("decoder") or {}
    return {
        **cell,
        "samples_ns": own.get("attention_samples_ns"),
        "median_ns": own.get("attention_median_ns"),
        "interval_ns": own.get("attention_interval_ns"),
    }


# ---- what was read ----------------------------------------------------------


def reads_text(cell):
    """"read 97 %, 3 % empty", with "not as trained" where it is too little; nothing
    where attention reads everything by its kind, or there is none.
    """
    reads = _reads(cell)
    if not cell.get("end") or not reads:
        return ""
    said = (f"read {100 * reads['memory_read']:.0f} %, "
            f"{100 * reads['zero_contexts']:.0f} % empty")
    return said if is_as_trained(cell) else said + ", not as trained"


def is_as_trained(cell):
    """Captured scans are those of trained weights, whatever they read."""
    reads = _reads(cell)
    return not reads or workloads.is_captured(cell) or (
        reads["memory_read"] >= LEAST_READ and reads["zero_contexts"] <= MOST_EMPTY
    )


def why_not_as_trained(cell):
    """Empty where its time is that of trained weights, or there is nothing to read."""
    if is_as_trained(cell):
        return ""
    reads = _reads(cell)
    return (
        f"{100 * reads['memory_read']:.0f} % of the memory was read and "
        f"{100 * reads['zero_contexts']:.0f} % of the outputs had no entry; a time like "
        f"that of trained weights needs at least {100 * LEAST_READ:.0f} % and at most "
        f"{100 * MOST_EMPTY:.0f} %"
    )


def _reads(cell):
    """None also where all sources are empty, so that there is nothing to read."""
    reads = (cell.get("decoder") or {}).get("reads")
    return reads if reads and reads["memory_read"] is not None else None
