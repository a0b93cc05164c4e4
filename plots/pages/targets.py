"""Writes the table of targets and what was measured.

examples:
  plots/targets.py results/peers_*.json results/threads.json results/matcha_algorithms.json
  plots/targets.py results/peers_*.json results/threads.json results/matcha_algorithms.json \
    results/kernels_again.json --into docs/speed.md

A pure function of result files: prints markdown, and with --into puts it between the
lines <!-- targets --> and <!-- /targets --> of a file, too. Targets are a ledger
(experiments/peers/targets.json), judged as the papers' claims are. Each part is a row:
it names a result file (without .json) and a cell in it, and its name may have axes of
the cell in braces. A ratio is the other cell's time over ours (growth: ours over the
other's), of the two samples of the same round where both are of one point. Preparation
that is left out is subtracted in every round. What two programs took is of a comparison
(attnbench compare --programs --json). A share of a bandwidth is of the smallest level of
the machine's memory that holds what is read or copied. An error gives one line on
stderr, exit code 2, and nothing on stdout.

Each row has its own 95 % interval. Its verdict is the first of these that is so:
  not measured     its file was not given
  met              the whole interval is on the right side of the target
  met within 10 %  it is on the right side of a target that is 10 % easier
  missed           it is on the wrong side of the target, or its file has no figure
  open             the interval holds the target
"""

import math
import os

from attnbench.analysis import ROOT, command, intervals, load, measures, reads, settings, words
from attnbench.analysis.intervals import MISS
from attnbench.judge import ledger, targets, verdicts
from attnbench.judge.readings import Readings
from pages import markdown, page

TARGETS = os.path.join(ROOT, "experiments", "peers", "targets.json")
NONE = "–"
COMPARE = "compare"
BEGIN, END = "<!-- targets -->\n", "<!-- /targets -->\n"
SIGNS = {"at_least": "≥", "at_most": "≤"}
EASIER = {"at_least": 0.9, "at_most": 1.1}
MET, NEARLY, MISSED, OPEN = "met", "met within 10 %", "missed", "open"
NOT_MEASURED = "not measured"
VERDICTS = (MET, NEARLY, MISSED, OPEN, NOT_MEASURED)


def main(arguments=None):
    parser = command.parser("targets.py", __doc__)
    parser.add_argument("files", nargs="+", metavar="RESULT")
    parser.add_argument("--targets", metavar="FILE", default=TARGETS)
    parser.add_argument("--into", metavar="FILE", help="e.g. docs/speed.md")
    options = parser.parse_args(arguments)
    return page.print_into(
        parser.prog,
        lambda: table(ledger.read(options.targets), options.files),
        options.into, BEGIN, END,
    )


def table(document, paths):
    results = {
        os.path.basename(path).removesuffix(".json"): read(path) for path in paths
    }
    rows, found = [], []
    for part in parts(document):
        name = part["quantity"]["from"]
        if name in results:
            fields, span = row(part, results[name])
        else:
            fields, span = unmeasured(part)
        rows.append(f"| {' | '.join(fields)} |")
        found.append((fields[3], span))
    is_marked = any(markdown.text(reads.MARK) in row for row in rows)
    note = [f"{markdown.text(reads.NOTE)}.", ""] if is_marked else []
    return "\n".join([
        f"{context_line(results)} {count_line(found)}",
        "",
        "| work | target | measured | verdict | in scope `full` | ours |",
        "| --- | --- | --- | --- | --- | --- |",
        *rows,
        "",
        *note,
    ])


def read(path):
    """The cells of a sweep, or the rows of a comparison of two programs."""
    document = load.read(path, "sweep", COMPARE)
    of_kind = load.cells_of if document["kind"] == "sweep" else load.programs_of
    return of_kind(document, path)


def count_line(found):
    """Says how many verdicts there are of each kind, and how many chance may give. Of
    what was found it takes (verdict, span).
    """
    judged = [(said, span) for said, span in found if said != NONE]
    kinds = [said for said, _ in judged]
    counts = ", ".join(f"{n} {kind}" for kind in VERDICTS if (n := kinds.count(kind)))
    # A span of one number, as of bytes, is no interval.
    by_chance = sum(span.low < span.high < math.inf for _, span in judged)
    return (
        f"{len(judged)} rows have a target: {counts}. {by_chance} of them have an "
        f"interval, each about a {100 * (1 - MISS):g} % one, so about "
        f"{MISS * by_chance:.3g} false verdicts are to be expected, if every true value "
        "is exactly its target."
    )


def context_line(results):
    """Says where everything was measured: by one commit, on one machine."""
    for key in ("commit", "cpu", "simd", "dirty"):
        # A comparison does not know whether its sources had changes.
        values = {frame.attrs["context"][key] for frame in results.values()} - {None}
        if len(values) > 1:
            raise load.DataError(
                ", ".join(frame.attrs["path"] for frame in results.values()),
                f"mixed data: {key} is {', '.join(sorted(map(str, values)))}",
            )
    # If one result is invalid, the table must not hide it.
    contexts = [frame.attrs["context"] for frame in results.values()]
    context = max(
        contexts, key=lambda c: (not c["valid"], c["dirty"] is not None, c["date"])
    )
    versions = {
        words.framework_text(frame.attrs["context"])
        for frame in results.values()
    } - {""}
    framework = "; ".join(sorted(versions)) or "not measured"
    older = "".join(
        f"The program before: commit {context['older'][:10]}. "
        for context in contexts if "older" in context
    )
    warnings = sum(len(context["warnings"]) for context in contexts)
    return markdown.text(f"Framework: {framework}. {older}{words.run_text(context)} "
                         f"Warnings of all results: {warnings}.")


def parts(document):
    """Gives the parts of all claims of the ledger, a row each."""
    return [part for claim in document["claims"] for part in claim["parts"]]


def unmeasured(part):
    """Gives the same as `row` where the part's file is not given."""
    said = NOT_MEASURED if "rule" in part else NONE
    fields = [part["name"], aim(part), NOT_MEASURED, said, NONE, NONE]
    return fields, measures.Measured().span


def row(part, frame):
    """Gives the fields of a part's row, and the span that it is judged by."""
    quantity = part["quantity"]
    cell, measured = measures.measure(quantity, frame)
    beside = NONE
    if "beside" in quantity:
        changed = {**quantity, "of": {**quantity["of"], **quantity["beside"]}}
        other, other_measured = measures.measure(changed, frame)
        beside = marked_text(quantity, other, other_measured) + lengths_unlike(other, cell)
    return [
        work(part, cell), aim(part), marked_text(quantity, cell, measured),
        verdict(part, cell, measured), beside, cost(cell, quantity),
    ], measured.span


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
    speed = ("x " if "variant" in to else "x the speed at ") + versus(to)
    unit = {
        "speed_over": speed,
        measures.MEAN: speed,
        "time_over": f"x the time at {versus(to)}",
        "bytes_over": f"x the bytes at {versus(to)}",
        "bandwidth_share": f" of {measures.TRAFFIC[moves].words}",
        "ns_per_element": " ns per element",
        "ns_per_entry": " ns per entry",
        measures.EXPONENT: " as the exponent of T",
        "program_speed_over": "x the program before",
        "slowest_program_over": "x the time of the program before, at the low end of its interval",
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


def verdict(part, cell, measured):
    if "rule" not in part:
        return NONE
    if measured.missing:
        return MISSED
    rule = part["rule"]
    easier = {**rule, "bound": EASIER[rule["kind"]] * rule["bound"]}

    def state(rule):
        found = Readings([targets.reading(cell, measured)])
        return verdicts.judge_part({**part, "rule": rule}, found).groups[0].state

    if state(rule) == verdicts.HOLDS:
        return MET
    if state(easier) == verdicts.HOLDS:
        return NEARLY
    return MISSED if state(rule) == verdicts.FAILS else OPEN


def marked_text(quantity, cell, measured):
    is_speed = quantity["kind"] in ("speed_over", "time_over")
    mark = markdown.text(reads.mark(cell)) if is_speed else ""
    return text_of(quantity, measured) + mark


def text_of(quantity, measured):
    span, missing = measured.span, measured.missing
    if missing:
        return missing
    if quantity["kind"].endswith("_over"):
        text = ratio_text(span)
    elif math.isinf(span.high):
        text = f"{span.value:.3g}, no interval"
    else:
        value, low, high = (f"{v:.3g}" for v in (span.value, span.low, span.high))
        text = f"{value} [{low}, {high}]"
    return text + measured.note


def ratio_text(span):
    if math.isclose(span.low, span.high, rel_tol=1e-12):  # nothing but rounding
        return f"{words.ratio_text(span.value)}x"
    return words.span_text(vars(span))


def cost(cell, quantity):
    """Writes our time, in the unit of its work."""
    if quantity["kind"] in (measures.MEAN, "slowest_program_over"):
        return NONE
    time = time_of(cell, quantity)
    if time is None:
        return NONE
    if cell["mode"] != "decode":
        return f"{time / measures.elements(cell):.3g} ns per element"
    energies = cell.get("operations", {}).get("energies", 0)
    if energies > 0:
        return f"{time / energies:.3g} ns per energy"
    outputs = cell["output_length"] * cell["batch"]
    return f"{time / outputs:.3g} ns per output"


def time_of(cell, quantity):
    """Gives our time of a cell in ns; None where there is none."""
    if not cell or "b_ns" in cell:
        return cell.get("b_ns")
    found, missing = measures.logs(quantity, cell)
    return None if missing else math.exp(intervals.center(found[0])[0])
