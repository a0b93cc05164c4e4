#!/usr/bin/env python3
"""Writes the table of targets: what was aimed at, and what was measured.

examples:
  plots/targets.py results/peers_*.json
  plots/targets.py results/peers_*.json --into README.md

A pure function of result files: prints markdown, or puts it between the lines
<!-- targets --> and <!-- /targets --> of a file. A target names the file of its
experiment (peers_NAME.json for NAME) and a cell in it. A ratio is the other cell's
time over ours (growth: ours over the other's), of the two samples of the same
round where both are of one point: the median over rounds, its interval by order
statistics (95 %). `met` is "unclear"
where the interval holds the target. What is wrong is one line on stderr, exit code
2, and nothing on stdout.
"""

import argparse
import math
import os
import sys
from dataclasses import dataclass

import load
import panels

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGETS = os.path.join(ROOT, "experiments", "peers", "targets.json")
OF_POINT = ("memory_length", "output_length", "dim", "batch", "workload")
NONE = "–"
BEGIN, END = "<!-- targets -->\n", "<!-- /targets -->\n"
# What others are called in a table.
NAMES = {
    "framework": "framework",
    "published_O3": "`published_O3`",
    "partial_sums": "`partial_sums`",
}


@dataclass(frozen=True)
class Span:
    """A figure and its interval, or the reason why there is none."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    missing: str = ""


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
            put_into(options.into, text)
    except load.DataError as error:
        print(f"targets.py: {error}", file=sys.stderr)
        return 2
    if options.into is None:
        sys.stdout.write(text)
    return 0


def put_into(path, text):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    if not (page.count(BEGIN) == page.count(END) == 1):
        raise load.DataError(
            path, f"must have the lines {BEGIN.strip()} and {END.strip()} once"
        )
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + text + END + after)


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
        name = f"peers_{target['experiment']}"
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
    span = MEASURES[target["measure"]](target, cell, frame)
    beside = NONE
    if "beside" in target:
        ours = {**target["cell"], **target["beside"]}
        beside = ratio_text(
            ratio({**target, "cell": ours}, find(frame, ours), frame)
        )
    return (
        f"| {target['work']} | {aim(target)} | {text_of(target, span)} | "
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


def samples_of(cell, target):
    less = cell["prepare_ns"] if target.get("without_preparation") else 0
    return [sample - less for sample in cell["samples_ns"]]


def ratio(target, ours, frame):
    other = find(frame, {**target["cell"], **target["to"]})
    failed = failure(ours, other)
    if failed:
        return failed
    above, below = samples_of(other, target), samples_of(ours, target)
    if min(*above, *below) <= 0:
        return Span(missing="preparation takes all of the time")
    if all(ours[key] == other[key] for key in OF_POINT):
        ratios = [a / b for a, b in zip(above, below, strict=True)]
        return Span(*panels.median_interval(ratios)[:3])
    # Not measured in the same rounds: the ends that are farthest apart.
    a, low_a, high_a, _ = panels.median_interval(above)
    b, low_b, high_b, _ = panels.median_interval(below)
    return Span(a / b, low_a / high_b, high_a / low_b)


def growth(target, ours, frame):
    """Our time here over our time there."""
    span = ratio(target, ours, frame)
    if span.missing:
        return span
    return Span(1 / span.value, 1 / span.high, 1 / span.low)


def inverse_of_times(amount, cell, target):
    """amount over the time."""
    times = samples_of(cell, target)
    if min(times) <= 0:
        return Span(missing="preparation takes all of the time")
    return Span(*panels.median_interval([amount / t for t in times])[:3])


def fraction_of_limit(target, cell, _frame):
    limit = cell.get("limit")
    missing = Span(missing="the result has no limits")
    if failure(cell) or not isinstance(limit, dict):
        return failure(cell) or missing
    return inverse_of_times(limit["limit_ns"], cell, target)


def read_of_contexts(target, cell, frame):
    """Reading 2 K d numbers an output, beside the level's read bandwidth."""
    if failure(cell):
        return failure(cell)
    bandwidth = None
    for limits in frame.attrs["context"].get("limits", []):
        for level in limits["levels"]:
            if (limits["precision"], limits["threads"], level["name"]) == (
                cell["precision"],
                cell["threads"],
                target["level"],
            ):
                bandwidth = level["read_bytes_per_s"]
    if bandwidth is None:
        return Span(missing="the result has no limits")
    size = {"f32": 4, "f64": 8}[cell["precision"]]
    total = 2 * cell["num_contexts"] * cell["dim"] * size
    total *= cell["output_length"] * cell["batch"]
    times = {**target, "without_preparation": True}
    return inverse_of_times(total / bandwidth * 1e9, cell, times)


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
    "limit": fraction_of_limit,
    "read_of_contexts": read_of_contexts,
    "ns_per_element": ns_per(elements),
    "ns_per_entry": ns_per(lambda cell: cell["operations"]["energies"]),
    "peak_memory": peak_memory,
}


# ---- words ------------------------------------------------------------------


def aim(target):
    """'>= 20x framework', '<= 40 ns per entry'."""
    unit = {
        "ratio": ("x " if "variant" in target.get("to", {}) else "x the speed at ")
        + versus(target),
        "growth": f"x the time at {versus(target)}",
        "limit": " of the machine's limit",
        "read_of_contexts": f" of {target.get('level')} read bandwidth of 2 K d",
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
        return NAMES.get(to["variant"], f"`{to['variant']}`")
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
    return f"{value} [{low}, {high}]"


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
    less = cell["prepare_ns"] if target.get("without_preparation") else 0
    time = cell["median_ns"] - less
    if cell["mode"] != "decode":
        return f"{time / elements(cell):.3g} ns per element"
    if cell["operations"]["energies"] > 0:
        return f"{time / cell['operations']['energies']:.3g} ns per energy"
    outputs = cell["output_length"] * cell["batch"]
    return f"{time / outputs:.3g} ns per output"


if __name__ == "__main__":
    sys.exit(main())
