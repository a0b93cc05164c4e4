"""Writes the table of targets and what was measured.

examples:
  plots/targets.py results/peers_*.json results/threads.json
  plots/targets.py results/peers_*.json results/threads.json --into README.md

A pure function of result files: prints markdown, and with --into puts it between the
lines <!-- targets --> and <!-- /targets --> of a file, too. Targets are a ledger
(experiments/peers/targets.json), judged as the papers' claims are. Each part is a row:
it names a result file (without .json) and a cell in it, and its name may have axes of
the cell in braces. A ratio is the other cell's time over ours (growth: ours over the
other's), of the two samples of the same round where both are of one point: the median
over rounds. If preparation is left out, its median is subtracted, and the interval
takes in that of the preparation. A share of a bandwidth is of the smallest level of the
machine's memory that holds what is read or copied. `met` is "unclear" if the interval
holds the target. An error gives one line on stderr, exit code 2, and nothing on stdout.

All intervals of the table together miss with probability 0.05 at most (Bonferroni's
correction for their number). Each is the rule of harness/stats/statistics.h: order
statistics of rounds, or of the medians of processes, and Student's of their logarithms
where these are too few for the level; if even that is impossible, "no interval". With
fewer than five processes both ends are wider by a factor of 1.18, for the layout of
code and memory that such a measurement cannot show.
"""

import math
import os

from analysis import ROOT, command, intervals, load, measures, settings, words
from analysis.intervals import MISS
from analysis.judge import ledger, targets, verdicts
from analysis.judge.readings import Readings
from pages import page

TARGETS = os.path.join(ROOT, "experiments", "peers", "targets.json")
NONE = "–"
BEGIN, END = "<!-- targets -->\n", "<!-- /targets -->\n"
SIGNS = {"at_least": "≥", "at_most": "≤"}
MET = {verdicts.HOLDS: "yes", verdicts.FAILS: "no", verdicts.UNDECIDED: "unclear"}


def main(arguments=None):
    parser = command.parser("targets.py", __doc__)
    parser.add_argument("files", nargs="+", metavar="RESULT")
    parser.add_argument("--targets", metavar="FILE", default=TARGETS)
    parser.add_argument("--into", metavar="FILE", help="e.g. README.md")
    options = parser.parse_args(arguments)
    return page.print_into(
        parser.prog,
        lambda: table(ledger.read(options.targets), options.files),
        options.into, BEGIN, END,
    )


def table(document, paths):
    results = {
        os.path.basename(path).removesuffix(".json"): load.load(path)
        for path in paths
    }
    chosen = []
    for part in parts(document):
        name = part["quantity"]["from"]
        if name not in results:
            raise load.DataError(
                ", ".join(paths), f"there is no {name}.json among them"
            )
        chosen.append((part, results[name]))
    # A part that has an interval at all has one at every level.
    uncertain = [
        cell
        for part, frame in chosen
        for cell, span in spans(part["quantity"], frame, MISS)
        if measures.has_interval(part["quantity"], span)
    ]
    miss = MISS / max(1, len(uncertain))
    lines = [
        interval_line(uncertain, miss),
        "",
        "| work | target | measured | met | in scope `full` | ours |",
        "| --- | --- | --- | --- | --- | --- |",
        *(row(part, frame, miss) for part, frame in chosen),
    ]
    return "\n".join([*lines, "", context_line(results), ""])


def interval_line(uncertain, miss):
    """Says what the intervals of these cells in the table hold."""
    few = sum(map(intervals.has_few_processes, uncertain))
    layout = (
        f" {few} of them are of fewer than {intervals.LEAST_PROCESSES} processes and "
        f"wider by a factor of {intervals.LAYOUT_FACTOR:g} at each end: layout of code "
        "and memory alone is taken to move a time by as much, and all rounds of a "
        "process share theirs."
    )
    return (
        f"Intervals: {100 * (1 - MISS):g} % or more all {len(uncertain)} together, "
        f"{100 * (1 - miss):.4g} % each (order statistics of rounds; Student's of "
        "logarithms where rounds are too few for that)." + (layout if few else "")
    )


def context_line(results):
    """Says where everything was measured: by one commit, on one machine."""
    for key in ("commit", "cpu", "dirty"):
        values = {frame.attrs["context"][key] for frame in results.values()}
        if len(values) > 1:
            raise load.DataError(
                ", ".join(frame.attrs["path"] for frame in results.values()),
                f"mixed data: {key} is {', '.join(sorted(map(str, values)))}",
            )
    # If one result is invalid, the table must not hide it.
    contexts = [frame.attrs["context"] for frame in results.values()]
    context = max(contexts, key=lambda c: (not c["valid"], c["date"]))
    versions = {
        words.framework_text(frame.attrs["context"])
        for frame in results.values()
    } - {""}
    framework = "; ".join(sorted(versions)) or "not measured"
    return f"Framework: {framework}. {words.context_text(context)}"


def parts(document):
    """Gives the parts of all claims of the ledger, a row each."""
    return [part for claim in document["claims"] for part in claim["parts"]]


def row(part, frame, miss):
    quantity = part["quantity"]
    (cell, span), *others = spans(quantity, frame, miss)
    beside = "".join(
        text_of(quantity, other_span) + lengths_unlike(other, cell)
        for other, other_span in others
    )
    return (
        f"| {work(part, cell)} | {aim(part)} | {text_of(quantity, span)} | "
        f"{verdict(part, cell, span)} | {beside or NONE} | {cost(cell, quantity)} |"
    )


def spans(quantity, frame, miss):
    """Gives (cell, Span) of the quantity, and of what stands beside it, if anything
    does.
    """
    changes = [{}, *([quantity["beside"]] if "beside" in quantity else [])]
    return [
        measures.span_of({**quantity, "of": {**quantity["of"], **change}}, frame, miss)
        for change in changes
    ]


# ---- text -------------------------------------------------------------------


def work(part, cell):
    """Gives the part's name with the axes that it names in braces."""
    try:
        return part["name"].format(**cell)
    except KeyError as error:
        raise load.DataError(
            f"target '{part['name']}'", f"a cell has no {error.args[0]}"
        ) from error


def lengths_unlike(other, cell):
    """Writes ' at T = 8, U = 8' if the lengths are not those of `cell`."""
    axes = ("memory_length", "output_length")
    if all(other[axis] == cell[axis] for axis in axes):
        return ""
    return " at " + ", ".join(
        f"{settings.LETTERS[axis]} = {other[axis]}" for axis in axes
    )


def aim(part):
    """Writes '>= 20x framework', '<= 40 ns per entry'."""
    quantity = part["quantity"]
    to, moves = quantity.get("to", {}), quantity.get("moves", "memory")
    unit = {
        "speed_over": ("x " if "variant" in to else "x the speed at ") + versus(to),
        "time_over": f"x the time at {versus(to)}",
        "bytes_over": f"x the bytes at {versus(to)}",
        "bandwidth_share": f" of {measures.TRAFFIC[moves].words}",
        "ns_per_element": " ns per element",
        "ns_per_entry": " ns per entry",
    }[quantity["kind"]]
    if "rule" not in part:
        return f"({unit.strip().removeprefix('x ')})"
    rule = part["rule"]
    return f"{SIGNS[rule['kind']]} {rule['bound']}{unit}"


def versus(to):
    if "variant" in to:
        name = to["variant"] if to["variant"] == "framework" else f"`{to['variant']}`"
        others = ", ".join(str(to[key]) for key in to if key != "variant")
        return f"{name} ({others})" if others else name
    parts = []
    for key, value in to.items():
        axis = settings.LETTERS.get(key, key)
        extreme = value in ("least", "greatest")
        parts.append(f"the {value} {axis}" if extreme else f"{axis} = {value}")
    return ", ".join(parts)


def verdict(part, cell, span):
    if "rule" not in part:
        return NONE
    # A part that was not measured has not met its target.
    if span.missing:
        return "no"
    judged = verdicts.judge_part(part, Readings([targets.reading(cell, span)]))
    return MET[judged.groups[0].state]


def text_of(quantity, span):
    if quantity["kind"].endswith("_over"):
        return ratio_text(span)
    if span.missing:
        return span.missing
    of = f" of {span.of}" if span.of else ""
    if math.isinf(span.high):
        return f"{span.value:.3g}{of}, no interval"
    value, low, high = (f"{v:.3g}" for v in (span.value, span.low, span.high))
    return f"{value} [{low}, {high}]{of}"


def ratio_text(span):
    if span.missing:
        return span.missing
    if math.isclose(span.low, span.high, rel_tol=1e-12):  # nothing but rounding
        return f"{words.ratio_text(span.value)}x"
    if math.isinf(span.high):
        return f"{words.ratio_text(span.value)}x, no interval"
    return words.span_text(vars(span))


def cost(cell, quantity):
    """Writes our time, in the unit of its work."""
    if cell["status"] != "ok":
        return NONE
    time = cell["median_ns"] - measures.preparation(cell, quantity, MISS).value
    if not time > 0:
        return NONE
    if cell["mode"] != "decode":
        return f"{time / measures.elements(cell):.3g} ns per element"
    if cell["operations"]["energies"] > 0:
        return f"{time / cell['operations']['energies']:.3g} ns per energy"
    outputs = cell["output_length"] * cell["batch"]
    return f"{time / outputs:.3g} ns per output"
