"""Compares two results of sweeps, B against A, as a pure function of the two documents:
what the two were measured with, the change of every cell's time (change.py), and what
changed beside times. The answer is one document (results/schema/compare.schema.json); its
text, table and exit code follow from it.

The machine may be slower on another day, for all cells alike. So a cell is judged by its
ratio over the median of all cells' ratios, the common one; whether that is the machine or
all of the code, two runs cannot tell. Fewer than LEAST_COMMON cells have nothing to be
divided by: they are judged by their ratios alone, with what a run does to a time.

Of two programs that one run measured in turn, process k of B was measured right after
process k of A. Each process has a common ratio of its own, by which its cells' ratios are
divided; the processes, or the builds, then show all that a run does.
"""

import math
from dataclasses import dataclass, replace

import numpy

from attnbench.analysis import intervals, load, series
from attnbench.answers import change, match, setups
from attnbench.answers.change import Ratio

LEAST_COMMON = 3
GOOD, FAILED, NOTHING_TO_COMPARE, NOT_VALID = 0, 1, 3, 5
SIDE = ("commit", "build_id", "date", "cpu", "simd", "valid", "invalid_reasons", "warnings")


def compare(a, b, level=change.LEVEL, margin=change.MARGIN, is_paired=False):
    """Gives the document of two results, each as (path, document). At most with probability
    `level` is any unchanged cell FASTER or SLOWER.
    """
    _check_files(a, b)
    matched = match.match(a, b)
    timed = [pair for pair in matched.both if all(map(match.is_ok, pair))]
    contexts = [one["context"] for _, one in (a, b)]
    are_one = contexts[0]["build_id"] == contexts[1]["build_id"]
    told = judged(timed, are_one, level, margin, is_paired)
    is_valid = all(context["valid"] for context in contexts)
    return {
        "schema_version": load.SCHEMA_VERSION,
        "kind": "compare",
        **{name: {"path": path, **{key: context[key] for key in SIDE}}
           for name, (path, _), context in zip("ab", (a, b), contexts)},
        "differences": setups.differences(*contexts),
        "level": level,
        "margin": margin,
        "comparisons": len(timed),
        "common_ratio": told.common,
        "common_interval": told.common_interval,
        "relative": told.is_relative,
        "paired": is_paired,
        "placement": told.placement,
        "rows": [_row(pair, one if is_valid else _of_no_meaning(one))
                 for pair, one in zip(timed, told.changes)],
        "untimed": [
            {**match.identity(pair[0]), "a_status": pair[0]["status"],
             "b_status": pair[1]["status"]}
            for pair in matched.both if not all(map(match.is_ok, pair))],
        "changes": [{**match.identity(pair[0]), **one}
                    for pair in matched.both for one in match.number_changes(*pair)],
        "only_a": list(map(match.identity, matched.only_a)),
        "only_b": list(map(match.identity, matched.only_b)),
    }


def _of_no_meaning(one):
    return replace(one, kind=change.AMBIGUOUS, detectable=math.inf, reason=(
        "a result is INVALID, so its times mean nothing; to decide: measure again"))


def _row(pair, one):
    times = [math.exp(intervals.center(series.logs(cell))[0]) for cell in pair]
    return {
        **match.identity(pair[0]),
        "verdict": one.kind,
        "reason": one.reason,
        "ratio": one.span.value,
        "interval": _finite(one.span),
        "detectable": None if math.isinf(one.detectable) else one.detectable,
        "a_ns": times[0],
        "a_processes": pair[0]["processes"],
        "b_ns": times[1],
        "b_processes": pair[1]["processes"],
    }


def _finite(span):
    """A document has no infinite number."""
    return [span.low, span.high] if math.isfinite(span.high) else None


# ---- times ------------------------------------------------------------------


@dataclass
class Told:
    """The changes of the pairs, and what they have in common: the median of all ratios with
    its interval of 95 percent. That is none without a pair, its interval unless the changes
    are relative to it. `placement` is the smallest change that another placement of the
    code does not explain, as a share.
    """

    changes: list
    common: float | None = None
    common_interval: list | None = None
    is_relative: bool = False
    placement: float | None = None


def judged(timed, are_one, level=change.LEVEL, margin=change.MARGIN, is_paired=False):
    """Gives what is Told of pairs of timed cells; are_one says that both sides are of one
    program.
    """
    told = Told([])
    if not timed:
        return told
    hidden = [_hidden(pair, are_one, is_paired) for pair in timed]
    ratios = (_paired if is_paired else _unpaired)(timed, hidden, told)
    miss = level / len(timed)
    for pair, counts, ratio in zip(timed, hidden, ratios):
        one = change.change_of(ratio, miss, margin, is_paired)
        told.changes.append(_with_draws(one, pair))
        if counts["builds"]:
            told.placement = max(
                told.placement or 0, change.detectable(ratio.effects.values(), miss))
    return told


def _hidden(pair, are_one, is_paired):
    """How often an effect is in a comparison of the pair's times that does not show it.
    Builds count unless both sides are of the same program alone.
    """
    builds = [load.builds(cell) for cell in pair]
    same_builds = are_one and builds[0] == builds[1]
    return {
        "builds": 0 if same_builds else builds.count(1),
        "processes": [cell["processes"] for cell in pair].count(1),
        "runs": 0 if is_paired else 2,  # one run measured both
    }


def _effects(pair, counts):
    """An effect of a ratio is one of two cells. A cell over the centre of all cells has half
    of that variance. Most of these are ours, so a peer's cell has a peer's effect.
    """
    return _halves("peer" if pair[0]["variant"].startswith("framework") else "ratio", counts)


def _check_files(a, b):
    """Refuses results of one name of a workload whose file held other inputs."""
    of_a, of_b = ({one["workload"]: one["hash"]
                   for one in document["context"].get("workload_files") or []}
                  for _, document in (a, b))
    for workload, value in of_a.items():
        if of_b.get(workload, value) != value:
            raise load.DataError(
                b[0], f"workload {workload} held other inputs than in {a[0]} (hash "
                f"{of_b[workload]}, not {value}); measure one of them again")


def _halves(kind, counts):
    return intervals.hidden(kind, **{name: count / 2 for name, count in counts.items()})


def _units(cell):
    if load.builds(cell) > 1:
        return "builds"
    return "processes" if cell["processes"] > 1 else "rounds"


def _unpaired(timed, hidden, told):
    """The ratios of two runs."""
    ratios = []
    for pair in timed:
        (of_a, error_a), (of_b, error_b) = (
            intervals.center(series.logs(cell)) for cell in pair)
        # The side whose samples tell less.
        units = _units(pair[0] if error_a[0] > error_b[0] else pair[1])
        ratios.append(Ratio(of_b - of_a, units, (error_a, error_b)))
    values = numpy.array([one.value for one in ratios])
    if len(timed) < LEAST_COMMON:
        told.common = math.exp(numpy.median(values))
        return [replace(one, effects=intervals.hidden("time", **counts))
                for one, counts in zip(ratios, hidden)]
    common, error = intervals.center(values[None, None])
    # A build moves each cell differently, so the centre of all hardly moves with it. Cells
    # do not show what a process does to all of them.
    counts = {**hidden[0], "builds": 0,
              "processes": sum(1 / cell["processes"] for cell in timed[0])}
    _set_common(told, common, (*intervals.hidden("time", **counts).values(), error))
    # A machine that runs at another speed does not slow all cells down alike.
    of_speed = intervals.EFFECTS["speed"]
    speed = ((of_speed["share"] * common) ** 2, of_speed["degrees"])
    return [
        replace(one, value=one.value - common,
                effects={**_effects(pair, counts), "speed": speed})
        for one, pair, counts in zip(ratios, timed, hidden)]


def _paired(timed, hidden, told):
    """The ratios of two programs that were measured in turn, of each process."""
    cells = numpy.array([
        _of_processes(pair[1]) - _of_processes(pair[0]) for pair in timed])
    common = numpy.median(cells, axis=0)
    if len(timed) >= LEAST_COMMON:
        value, error = _center(common, timed[0])
        _set_common(told, value, (*_halves("ratio", hidden[0]).values(), error))
        cells -= common
    else:
        told.common = math.exp(intervals.center(common[None, :, None])[0])
    ratios = []
    for pair, values, counts in zip(timed, cells, hidden):
        value, error = _center(values, pair)
        units = "builds" if _builds(pair) > 1 else "processes"
        ratios.append(Ratio(value, units, (error,), _effects(pair, counts)))
    return ratios


def _of_processes(cell):
    """The logarithms of the processes' times, process after process."""
    return intervals.processes(series.logs(cell)).swapaxes(0, 1).ravel()


def _builds(pair):
    of_a, of_b = map(load.builds, pair)
    return of_a if of_a == of_b else 1


def _center(values, pair):
    """Process k is of build k mod builds."""
    return intervals.center(
        values.reshape(-1, _builds(pair), 1).swapaxes(0, 1))


def _set_common(told, value, parts):
    span = intervals.Estimate(value, tuple(parts)).at().exp()
    told.common, told.common_interval = span.value, _finite(span)
    told.is_relative = True


def _with_draws(one, pair):
    """Samples of one draw and samples of all may differ by as much as draws do."""
    if len({_is_of_all_draws(cell) for cell in pair}) == 1:
        return one
    most = max(max(cell["draw_ns"]) / min(cell["draw_ns"]) if cell["draw_ns"] else 1
               for cell in pair)
    # The interval has to exclude not only 1, but all that draws explain.
    one = replace(one, detectable=max(
        one.detectable, most * one.span.high / one.span.value - 1))
    if one.span.low > most or one.span.high < 1 / most:
        return one
    return replace(
        one, kind=change.AMBIGUOUS, reason=(
            "a sample is of all draws on one side and of one on the other, and draws "
            f"differ by {change.percent_of(most - 1)}; to decide: equal trials_per_sample"))


def _is_of_all_draws(cell):
    """A sample of one trial uses one draw alone."""
    return cell["trials_per_sample"] >= len(cell["draw_ns"])


# ---- the exit code ----------------------------------------------------------


def exit_code(document):
    """The first that applies:

    NOTHING_TO_COMPARE  a side has cells that the other has not, or no time could be
                        compared: none is there, or none has an interval
    FAILED              a number changed, a status became another than ok, or a cell of B
                        failed (in A too or not)
    NOT_VALID           a result is not valid, so that its times mean nothing
    FAILED              a cell is SLOWER, or all are together, of two programs that were
                        measured in turn
    """
    if document["only_a"] or document["only_b"] or not has_intervals(document):
        return NOTHING_TO_COMPARE
    if any(map(is_worse, document["changes"])) or any(map(has_failed, document["untimed"])):
        return FAILED
    if not is_valid(document):
        return NOT_VALID
    is_slower = any(row["verdict"] == change.SLOWER for row in document["rows"])
    return FAILED if is_slower or are_all_slower(document) else GOOD


def is_valid(document):
    return document["a"]["valid"] and document["b"]["valid"]


def has_intervals(document):
    return any(row["interval"] for row in document["rows"])


def is_worse(changed):
    """A status that became ok is no change for the worse."""
    return changed["field"] != "status" or changed["b"] != "ok"


def has_failed(untimed):
    return untimed["b_status"] not in ("ok", "skipped")


def are_all_slower(document):
    span = document["common_interval"]
    return bool(
        document["paired"] and is_valid(document) and span and span[0] > 1
        and document["common_ratio"] > 1 + document["margin"])
