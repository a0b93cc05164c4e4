"""The quantities of targets, as a Measured: a ratio of two cells of one result, a share
of a bandwidth, or a time for each entry or the like.

Measures in MEASURES take (quantity, cell, all cells); those in OF_ALL take (quantity,
all cells) and find the cell themselves.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy

from attnbench.analysis import fits, intervals, load, pairing, series, settings, words
from attnbench.analysis.intervals import Estimate, Span

OF_NAME = ("energy", "schedule", "mode", "scope")
OF_POINT = ("memory_length", "output_length", "dim", "batch", "workload")
SIZES = {"f32": 4, "f64": 8}


@dataclass(frozen=True)
class Measured:
    """A figure with its interval, or the reason why there is none."""

    span: Span = Span(math.nan, math.nan, math.nan)
    missing: str = ""
    note: str = ""  # what a share is of, and the like


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
            return Measured(missing=f"{cell['status']}: {cell['message']}")
    return None


def logs(quantity, *cells):
    """Gives the series of times of cells, or the reason why there is none."""
    failed = failure(*cells)
    if failed:
        return None, failed
    taken_off = quantity.get("without_preparation", False)
    if taken_off and any(
        cell["prepare_ns"] and not cell["prepare_samples_ns"] for cell in cells
    ):
        return None, Measured(missing="the result has no prepare_samples_ns")
    found = [series.logs(cell, taken_off) for cell in cells]
    if not all(numpy.isfinite(intervals.processes(one)).all() for one in found):
        return None, Measured(missing="preparation takes all of the time")
    return found, None


def speed_over(quantity, ours, frame):
    other = find(frame, {**quantity["of"], **quantity["to"]})
    return quotient(quantity, other, ours, frame)


def time_over(quantity, ours, frame):
    other = find(frame, {**quantity["of"], **quantity["to"]})
    return quotient(quantity, ours, other, frame)


def quotient(quantity, above, below, frame):
    found, missing = logs(quantity, above, below)
    if missing:
        return missing
    kind = series.kind_of_ratio(above, below)
    if all(above[key] == below[key] for key in OF_POINT):
        pairing.require_same_rounds(above, below, frame.attrs["path"])
        with numpy.errstate(invalid="ignore"):
            estimate = intervals.estimate(found[0] - found[1], kind)
    else:
        estimate = series.linear(found, (1, -1), series.TIME, kind)
    return Measured(estimate.at().exp())


def mean_speed_over(quantity, frame):
    """Gives the cell with the least of several ratios, and their geometric mean."""
    path, ratios = frame.attrs["path"], []
    for change in quantity["among"]:
        wanted = {**quantity["of"], **change}
        ours, other = find(frame, wanted), find(frame, {**wanted, **quantity["to"]})
        if failure(ours, other):
            return ours, failure(ours, other)
        pairing.require_same_rounds(other, ours, path)
        ratios.append((series.log_ratios(other, ours), ours))
    speeds = [intervals.center(ratio)[0] for ratio, _ in ratios]
    least = min(range(len(speeds)), key=speeds.__getitem__)
    cell, weights = ratios[least][1], [1 / len(ratios)] * len(ratios)
    mean = series.linear([ratio for ratio, _ in ratios], weights, series.RATIO)
    speed = math.exp(speeds[least])
    note = f", the least {speed:.2f}x: {cell['mechanism']}, {cell['mode']}"
    return cell, Measured(mean.at().exp(), note=note)


def share_of_bandwidth(quantity, cell, frame):
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
        return Measured(missing="the result has no limits")
    found, missing = logs(quantity, cell)
    if missing:
        return missing
    time = intervals.estimate(found[0], "time")
    rate = level[f"{traffic.bandwidth}_bytes_per_s"]
    rates = numpy.log(level[f"{traffic.bandwidth}_samples"])
    _, of_rate = intervals.center(rates.reshape(1, -1, 1))
    least_ns = held * traffic.passes(cell) / rate * 1e9
    share = Estimate(math.log(least_ns) - time.value, (*time.parts, of_rate))
    note = f" of {level['name']} ({held / 2**10:.0f} KiB)"
    return Measured(share.at().exp(), note=note)


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
    def measure(quantity, cell, _frame):
        found, missing = logs(quantity, cell)
        if missing:
            return missing
        time = intervals.estimate(found[0], "time")
        return Measured(time.at().exp().over(count(cell)))

    return measure


def peak_memory(quantity, cell, frame):
    other = find(frame, {**quantity["of"], **quantity["to"]})
    if failure(cell, other):
        return failure(cell, other)
    grown = cell["peak_memory_bytes"] / other["peak_memory_bytes"]
    return Measured(Span(grown, grown, grown))


def exponent(quantity, frame):
    """Gives the cell with the greatest T, and the exponent of T of the time."""
    if (quantity["field"], quantity["against"]) != ("time", ["memory_length"]):
        raise load.DataError("a target", "has the exponent of time against T only")
    lengths = quantity["of"]["memory_length"]
    lacking = sorted(set(lengths) - set(frame["memory_length"]))
    if lacking:  # as in a quick profile
        return {}, Measured(missing=f"T = {lacking[0]} was not measured")
    cells = [find(frame, {**quantity["of"], "memory_length": t}) for t in lengths]
    cell = cells[-1]
    found, missing = logs(quantity, *cells)
    if missing:
        return cell, missing
    return cell, Measured(fits.exponent(found, lengths).at())


# ---- two programs -----------------------------------------------------------


def program_speed_over(quantity, frame):
    cell = find(frame, quantity["of"])
    if cell["ratio"] is None:
        return cell, Measured(
            missing=f"before: {cell['a_status']}, now: {cell['b_status']}"
        )
    low, high = cell["interval"] or (0, math.inf)
    return cell, Measured(Span(1 / cell["ratio"], 1 / high, 1 / low if low else math.inf))


def slowest_program_over(_quantity, frame):
    """Gives the cell of which it is surest that it got slower."""
    rows = [row for row in frame.to_dict("records") if row["interval"] is not None]
    cell = max(rows, key=lambda row: row["interval"][0])
    low, high = cell["interval"]
    place = ", ".join((settings.describe(cell),
                       *(cell[key] for key in OF_NAME if cell[key] is not None)))
    time = words.span_text({"value": cell["ratio"], "low": low, "high": high})
    note = f" of {len(rows)} cells: {place} ({time})"
    return cell, Measured(Span(low, low, low), note=note)


MEAN, EXPONENT = "mean_speed_over", "exponent"
# These give (cell, Measured).
OF_ALL = {
    MEAN: mean_speed_over,
    EXPONENT: exponent,
    "program_speed_over": program_speed_over,
    "slowest_program_over": slowest_program_over,
}
MEASURES = {
    "speed_over": speed_over,
    "time_over": time_over,
    "bytes_over": peak_memory,
    "bandwidth_share": share_of_bandwidth,
    "ns_per_element": ns_per(elements),
    "ns_per_entry": ns_per(lambda cell: cell["operations"]["energies"]),
}


def measure(quantity, frame):
    """Gives (cell, Measured) of a quantity."""
    if quantity["kind"] in OF_ALL:
        return OF_ALL[quantity["kind"]](quantity, frame)
    cell = find(frame, quantity["of"])
    return cell, MEASURES[quantity["kind"]](quantity, cell, frame)
