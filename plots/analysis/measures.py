"""The quantities of targets, as a Span: a ratio of two cells of one result, a share of
a bandwidth, or a time for each entry or the like.

Every measure takes the quantity, its cell, all cells, and the probability with which
its interval may miss, which several intervals share. With fewer than five processes the
interval is wider by what their layout may have done, once for the figure, as in
harness/stats/change.h.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy

from analysis import intervals, load, pairing

OF_POINT = ("memory_length", "output_length", "dim", "batch", "workload")
SIZES = {"f32": 4, "f64": 8}


@dataclass(frozen=True)
class Span:
    """A figure and its interval, or the reason why there is none."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    missing: str = ""
    of: str = ""  # what it is a share of


@dataclass(frozen=True)
class Traffic:
    """Gives the numbers that a trial of one sequence moves at least."""

    words: str
    bandwidth: str  # "read", or "copy", which counts both ways
    held: Callable  # the array that a level must hold
    passes: Callable  # how often a trial goes through this array


TRAFFIC = {
    "memory": Traffic(
        "reading T d an output",
        "read",
        lambda cell: cell["memory_length"] * cell["dim"],
        lambda cell: cell["output_length"],
    ),
    "contexts": Traffic(
        "reading 2 K d an output",
        "read",
        lambda cell: 2 * cell["num_contexts"] * cell["dim"],
        lambda cell: cell["output_length"],
    ),
    "alpha": Traffic(
        "copying p to alpha",
        "copy",
        lambda cell: 2 * cell["memory_length"] * cell["output_length"],
        lambda cell: 1,
    ),
}


def find(frame, wanted):
    """Gives the one cell with these axes; "least" and "greatest" are of the file's
    values.
    """
    rows = frame
    for key, value in wanted.items():
        if key not in frame:
            raise load.DataError(frame.attrs["path"], f"{key} is missing")
        if value in ("least", "greatest"):
            values = frame[key]
            value = values.min() if value == "least" else values.max()
        rows = rows[rows[key] == value]
    if len(rows) != 1:
        place = ", ".join(f"{k} = {v}" for k, v in wanted.items())
        what = "missing" if rows.empty else f"there {len(rows)} times"
        raise load.DataError(frame.attrs["path"], f"cell {what}: {place}")
    return rows.to_dict("records")[0]


def failure(*cells):
    for cell in cells:
        if cell["status"] != "ok":
            return Span(missing=f"{cell['status']}: {cell['message']}")
    return None


def leaves_out(quantity, cell):
    """Whether preparation is left out of the time, which adds an uncertain number."""
    return bool(quantity.get("without_preparation") and cell["prepare_ns"])


def center(values, cell, miss):
    """Gives the median of something for each sample of the cell, with its interval."""
    observed = intervals.observations(values, cell)
    return Span(
        float(numpy.median(observed)), *intervals.center_interval(observed, miss)
    )


def preparation(cell, quantity, miss):
    """Gives the time that is left out of each trial."""
    if not leaves_out(quantity, cell):
        return Span(0, 0, 0)
    samples = cell["prepare_samples_ns"]
    if not samples:
        return Span(missing="the result has no prepare_samples_ns")
    return center(samples, cell, miss)


def trial(cell, quantity, miss):
    """Gives the time of a trial; a difference takes the ends that are farthest apart.
    """
    each = miss / (1 + leaves_out(quantity, cell))
    whole, less = center(cell["samples_ns"], cell, each), preparation(cell, quantity, each)
    if less.missing:
        return less
    if whole.value <= less.value:
        return Span(missing="preparation takes all of the time")
    value = whole.value - less.value
    if whole.low <= less.high:
        return Span(value, 0, math.inf)
    return Span(value, whole.low - less.high, whole.high - less.low)


def over(numerator, denominator):
    return numerator / denominator if denominator else math.inf


def with_layout(span, *cells):
    """Widens the interval by what processes that are not there would have shown."""
    if span.missing or not any(map(intervals.has_few_processes, cells)):
        return span
    return replace(
        span,
        low=span.low / intervals.LAYOUT_FACTOR,
        high=span.high * intervals.LAYOUT_FACTOR,
    )


def ratio(quantity, ours, frame, miss):
    other = find(frame, {**quantity["of"], **quantity["to"]})
    failed = failure(ours, other)
    if failed:
        return failed
    if all(ours[key] == other[key] for key in OF_POINT):
        span = paired(quantity, other, ours, frame.attrs["path"], miss)
        return with_layout(span, ours, other)
    above, below = trial(other, quantity, miss / 2), trial(ours, quantity, miss / 2)
    if above.missing or below.missing:
        return above if above.missing else below
    # They were not measured in the same rounds, so the farthest ends count.
    span = Span(
        above.value / below.value,
        above.low / below.high,
        over(above.high, below.low),
    )
    return with_layout(span, ours, other)


def paired(quantity, other, ours, path, miss):
    """Takes the ratio round by round."""
    pairing.require_same_rounds(other, ours, path)
    each = miss / (1 + leaves_out(quantity, other) + leaves_out(quantity, ours))
    above, below = preparation(other, quantity, each), preparation(ours, quantity, each)
    if above.missing or below.missing:
        return above if above.missing else below

    def of(less_above, less_below):
        ratios = [
            (a - less_above) / (b - less_below)
            for a, b in zip(other["samples_ns"], ours["samples_ns"], strict=True)
        ]
        return center(ratios, ours, each)

    fastest = ((min(other["samples_ns"]), above), (min(ours["samples_ns"]), below))
    if any(sample <= less.value for sample, less in fastest):
        return Span(missing="preparation takes all of the time")
    value = of(above.value, below.value).value
    if any(sample <= less.high for sample, less in fastest):
        return Span(value, 0, math.inf)
    return Span(
        value, of(above.high, below.low).low, of(above.low, below.high).high
    )


def growth(quantity, ours, frame, miss):
    """Gives our time here over our time there."""
    span = ratio(quantity, ours, frame, miss)
    if span.missing:
        return span
    return Span(1 / span.value, 1 / span.high, over(1, span.low))


def share_of_bandwidth(quantity, cell, frame, miss):
    """Gives the time of moving what must be moved, over ours."""
    if failure(cell):
        return failure(cell)
    if cell["batch"] != 1:
        raise load.DataError(
            frame.attrs["path"],
            f"batch is {cell['batch']}; a share of a bandwidth is of one sequence",
        )
    traffic = TRAFFIC[quantity["moves"]]
    held = traffic.held(cell) * SIZES[cell["precision"]]
    level = level_of(held, cell, frame)
    if level is None:
        return Span(missing="the result has no limits")
    span = trial(cell, quantity, miss)
    if span.missing:
        return span
    least_ns = (
        held
        * traffic.passes(cell)
        / level[f"{traffic.bandwidth}_bytes_per_s"]
        * 1e9
    )
    share = Span(
        least_ns / span.value,
        least_ns / span.high,
        over(least_ns, span.low),
        of=f"{level['name']} ({held / 2**10:.0f} KiB)",
    )
    return with_layout(share, cell)


def level_of(size_bytes, cell, frame):
    """Gives the nearest level of a thread's memory that holds so much."""
    limits = limits_of(frame, cell["precision"], cell["threads"])
    for level in limits["levels"] if limits else ():
        if level["size_bytes"] is None or size_bytes <= level["size_bytes"]:
            return level
    return None


def limits_of(frame, precision, threads):
    """Gives what was measured of the machine at these; None where nothing was."""
    for limits in frame.attrs["context"]["limits"]:
        if (limits["precision"], limits["threads"]) == (precision, threads):
            return limits
    return None


def elements(cell):
    return cell["memory_length"] * cell["output_length"] * cell["batch"]


def ns_per(count):
    def measure(_quantity, cell, _frame, miss):
        if failure(cell):
            return failure(cell)
        span = center(cell["samples_ns"], cell, miss)
        ends = (span.value, span.low, span.high)
        return with_layout(Span(*(end / count(cell) for end in ends)), cell)

    return measure


def peak_memory(quantity, cell, frame, _miss):
    other = find(frame, {**quantity["of"], **quantity["to"]})
    if failure(cell, other):
        return failure(cell, other)
    grown = cell["peak_memory_bytes"] / other["peak_memory_bytes"]
    return Span(grown, grown, grown)


MEASURES = {
    "speed_over": ratio,
    "time_over": growth,
    "bytes_over": peak_memory,
    "bandwidth_share": share_of_bandwidth,
    "ns_per_element": ns_per(elements),
    "ns_per_entry": ns_per(lambda cell: cell["operations"]["energies"]),
}


def span_of(quantity, frame, miss):
    """Gives (cell, Span) of a quantity."""
    cell = find(frame, quantity["of"])
    return cell, MEASURES[quantity["kind"]](quantity, cell, frame, miss)


def has_interval(quantity, span):
    """Whether the figure is uncertain; bytes are exact."""
    return not span.missing and quantity["kind"] != "bytes_over"
