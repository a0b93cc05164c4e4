#!/usr/bin/env python3
"""Writes the table of targets: what was aimed at, and what was measured.

examples:
  plots/targets.py results/peers_*.json results/threads.json
  plots/targets.py results/peers_*.json results/threads.json --into README.md

A pure function of result files: prints markdown, and with --into puts it between
the lines <!-- targets --> and <!-- /targets --> of a file, too. A target names a result file
(without .json) and a cell in it; its text may name axes of the cell. A ratio is
the other cell's time over ours (growth: ours over the other's), of the two samples
of the same round where both are of one point: the median over rounds, its interval
by order statistics (95 %). Where preparation is left out, its median is, and the
interval is as wide as the interval of the preparation allows. A share of a
bandwidth is of that of the smallest level of the machine's memory that holds what
is read or copied. `met` is "unclear" where the interval holds the target. What is
wrong is one line on stderr, exit code 2, and nothing on stdout.
"""

import argparse
import math
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

import load
import page
import panels

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGETS = os.path.join(ROOT, "experiments", "peers", "targets.json")
OF_POINT = ("memory_length", "output_length", "dim", "batch", "workload")
NONE = "–"
BEGIN, END = "<!-- targets -->\n", "<!-- /targets -->\n"
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
    """What a trial of one sequence moves at the least, as numbers."""

    words: str
    bandwidth: str  # "read", or "copy", which counts reading and writing
    held: Callable  # what a level must hold
    passes: Callable  # how often a trial goes through it


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


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="targets.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="RESULT")
    parser.add_argument("--targets", metavar="FILE", default=TARGETS)
    parser.add_argument("--into", metavar="FILE", help="e.g. README.md")
    options = parser.parse_args(arguments)
    try:
        text = table(load.read_json(options.targets), options.files)
        if options.into is not None:
            page.put_into(options.into, BEGIN, text, END)
    except load.DataError as error:
        print(f"targets.py: {error}", file=sys.stderr)
        return 2
    sys.stdout.write(text)
    return 0


def table(document, paths):
    results = {
        os.path.basename(path).removesuffix(".json"): load.load(path)
        for path in paths
    }
    lines = [
        "| work | target | measured | met | in scope `full` | ours |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for target in document["targets"]:
        name = target["result"]
        if name not in results:
            raise load.DataError(
                ", ".join(paths), f"there is no {name}.json among them"
            )
        lines.append(row(target, results[name]))
    return "\n".join([*lines, "", context_line(results), ""])


def context_line(results):
    """Where all of it was measured; one commit, one machine."""
    for key in ("commit", "cpu", "dirty"):
        values = {frame.attrs["context"][key] for frame in results.values()}
        if len(values) > 1:
            raise load.DataError(
                ", ".join(frame.attrs["path"] for frame in results.values()),
                f"mixed data: {key} is {', '.join(sorted(map(str, values)))}",
            )
    # The one that is wrong, where one is: the table must not hide it.
    contexts = [frame.attrs["context"] for frame in results.values()]
    context = max(contexts, key=lambda c: (not c["valid"], c["date"]))
    versions = {
        panels.framework_text(frame.attrs["context"])
        for frame in results.values()
    } - {""}
    framework = "; ".join(sorted(versions)) or "not measured"
    return f"Framework: {framework}. {panels.context_text(context)}"


def row(target, frame):
    cell = find(frame, target["cell"])
    measure = MEASURES[target["measure"]]
    span = measure(target, cell, frame)
    beside = NONE
    if "beside" in target:
        wanted = {**target["cell"], **target["beside"]}
        other = find(frame, wanted)
        beside = text_of(
            target, measure({**target, "cell": wanted}, other, frame)
        ) + lengths_unlike(other, cell)
    return (
        f"| {work(target, cell)} | {aim(target)} | {text_of(target, span)} | "
        f"{verdict(target, span)} | {beside} | {cost(cell, target)} |"
    )


def find(frame, wanted):
    """The one cell that is so; "least" and "greatest" of the file's values."""
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


# ---- measures ---------------------------------------------------------------


def failure(*cells):
    for cell in cells:
        if cell["status"] != "ok":
            return Span(missing=f"{cell['status']}: {cell['message']}")
    return None


def preparation(cell, target):
    """What is left out of each trial."""
    if not target.get("without_preparation") or cell["prepare_ns"] is None:
        return Span(0, 0, 0)
    samples = cell.get("prepare_samples_ns")
    if not samples:
        return Span(missing="the result has no prepare_samples_ns")
    return Span(*panels.median_interval(samples)[:3])


def trial(cell, target):
    """The time of a trial; of a difference the ends that are farthest apart."""
    less = preparation(cell, target)
    if less.missing:
        return less
    value, low, high, _ = panels.median_interval(
        panels.observations(cell["samples_ns"], cell)
    )
    if low <= less.high:
        return Span(missing="preparation takes all of the time")
    return Span(value - less.value, low - less.high, high - less.low)


def ratio(target, ours, frame):
    other = find(frame, {**target["cell"], **target["to"]})
    failed = failure(ours, other)
    if failed:
        return failed
    above, below = trial(other, target), trial(ours, target)
    if above.missing or below.missing:
        return above if above.missing else below
    if all(ours[key] == other[key] for key in OF_POINT):
        return paired(target, other, ours)
    # Not measured in the same rounds: the ends that are farthest apart.
    return Span(
        above.value / below.value, above.low / below.high, above.high / below.low
    )


def paired(target, other, ours):
    """The ratio round by round."""
    above, below = preparation(other, target), preparation(ours, target)

    def of(less_above, less_below):
        ratios = [
            (a - less_above) / (b - less_below)
            for a, b in zip(other["samples_ns"], ours["samples_ns"], strict=True)
        ]
        return panels.median_interval(panels.observations(ratios, ours))

    if min(ours["samples_ns"]) <= below.high:
        return Span(missing="preparation takes all of the time")
    return Span(
        of(above.value, below.value)[0],
        of(above.high, below.low)[1],
        of(above.low, below.high)[2],
    )


def growth(target, ours, frame):
    """Our time here over our time there."""
    span = ratio(target, ours, frame)
    if span.missing:
        return span
    return Span(1 / span.value, 1 / span.high, 1 / span.low)


def share_of_bandwidth(target, cell, frame):
    """The time of moving what must be moved, over ours."""
    if failure(cell):
        return failure(cell)
    if cell["batch"] != 1:
        raise load.DataError(
            frame.attrs["path"],
            f"batch is {cell['batch']}; a share of a bandwidth is of one sequence",
        )
    traffic = TRAFFIC[target["of"]]
    held = traffic.held(cell) * SIZES[cell["precision"]]
    level = level_of(held, cell, frame)
    if level is None:
        return Span(missing="the result has no limits")
    span = trial(cell, target)
    if span.missing:
        return span
    least_ns = (
        held
        * traffic.passes(cell)
        / level[f"{traffic.bandwidth}_bytes_per_s"]
        * 1e9
    )
    return Span(
        least_ns / span.value,
        least_ns / span.high,
        least_ns / span.low,
        of=f"{level['name']} ({held / 2**10:.0f} KiB)",
    )


def level_of(size_bytes, cell, frame):
    """The nearest level of a thread's memory that holds so much."""
    for limits in frame.attrs["context"].get("limits", []):
        if (limits["precision"], limits["threads"]) == (
            cell["precision"],
            cell["threads"],
        ):
            for level in limits["levels"]:
                if level["size_bytes"] is None or size_bytes <= level["size_bytes"]:
                    return level
    return None


def elements(cell):
    return cell["memory_length"] * cell["output_length"] * cell["batch"]


def ns_per(count):
    def measure(_target, cell, _frame):
        if failure(cell):
            return failure(cell)
        scale = 1 / count(cell)
        low, high = cell["interval_ns"]
        return Span(cell["median_ns"] * scale, low * scale, high * scale)

    return measure


def peak_memory(target, cell, frame):
    other = find(frame, {**target["cell"], **target["to"]})
    if failure(cell, other):
        return failure(cell, other)
    grown = cell["peak_memory_bytes"] / other["peak_memory_bytes"]
    return Span(grown, grown, grown)


MEASURES = {
    "ratio": ratio,
    "growth": growth,
    "bandwidth": share_of_bandwidth,
    "ns_per_element": ns_per(elements),
    "ns_per_entry": ns_per(lambda cell: cell["operations"]["energies"]),
    "peak_memory": peak_memory,
}


# ---- words ------------------------------------------------------------------


def work(target, cell):
    """The target's text with the axes that it names, in braces."""
    try:
        return target["work"].format(**cell)
    except KeyError as error:
        raise load.DataError(
            f"target '{target['work']}'", f"a cell has no {error.args[0]}"
        ) from error


def lengths_unlike(other, cell):
    """' at T = 8, U = 8' where the lengths are not those of `cell`."""
    axes = {"memory_length": "T", "output_length": "U"}
    if all(other[axis] == cell[axis] for axis in axes):
        return ""
    return " at " + ", ".join(f"{axes[axis]} = {other[axis]}" for axis in axes)


def aim(target):
    """'>= 20x framework', '<= 40 ns per entry'."""
    unit = {
        "ratio": ("x " if "variant" in target.get("to", {}) else "x the speed at ")
        + versus(target),
        "growth": f"x the time at {versus(target)}",
        "bandwidth": f" of {TRAFFIC[target.get('of', 'memory')].words}",
        "ns_per_element": " ns per element",
        "ns_per_entry": " ns per entry",
        "peak_memory": f"x the bytes at {versus(target)}",
    }[target["measure"]]
    for key, sign in (("at_least", "≥"), ("at_most", "≤")):
        if key in target:
            return f"{sign} {target[key]}{unit}"
    return f"({unit.strip().removeprefix('x ')})"


def versus(target):
    to = target.get("to", {})
    if "variant" in to:
        name = to["variant"] if to["variant"] == "framework" else f"`{to['variant']}`"
        others = ", ".join(str(to[key]) for key in to if key != "variant")
        return f"{name} ({others})" if others else name
    words = {"threads": "j", "chunk_width": "w", "memory_length": "T"}
    return ", ".join(
        f"the {value} {words.get(key, key)}"
        if value in ("least", "greatest")
        else f"{words.get(key, key)} = {value}"
        for key, value in to.items()
    )


def verdict(target, span):
    if "at_least" not in target and "at_most" not in target:
        return NONE
    if span.missing:
        return "no"
    if "at_least" in target:
        worst, best, wanted = span.low, span.high, target["at_least"]
    else:
        worst, best, wanted = -span.high, -span.low, -target["at_most"]
    if worst >= wanted:
        return "yes"
    return "unclear" if best >= wanted else "no"


def text_of(target, span):
    if target["measure"] in ("ratio", "growth", "peak_memory"):
        return ratio_text(span)
    if span.missing:
        return span.missing
    value, low, high = (f"{v:.3g}" for v in (span.value, span.low, span.high))
    of = f" of {span.of}" if span.of else ""
    return f"{value} [{low}, {high}]{of}"


def ratio_text(span):
    if span.missing:
        return span.missing
    if span.low == span.high:
        return f"{panels.ratio_text(span.value)}x"
    return panels.span_text(vars(span))


def cost(cell, target):
    """What ours took, in the unit of its work."""
    if cell["status"] != "ok":
        return NONE
    time = cell["median_ns"] - preparation(cell, target).value
    if not time > 0:
        return NONE
    if cell["mode"] != "decode":
        return f"{time / elements(cell):.3g} ns per element"
    if cell["operations"]["energies"] > 0:
        return f"{time / cell['operations']['energies']:.3g} ns per energy"
    outputs = cell["output_length"] * cell["batch"]
    return f"{time / outputs:.3g} ns per output"


if __name__ == "__main__":
    sys.exit(main())
