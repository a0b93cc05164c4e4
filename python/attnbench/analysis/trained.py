"""What results of `attnbench train` say: numbers of each seed's run, and the quantities
that the ledger of claims asks for.

Seeds pair, so a quantity of several alternatives is of the seeds that all of them have.
A ratio is that of the means over seeds: with few errors a seed the mean of ratios is
too large. A run that diverged has learned nothing, so all of its symbols are wrong.
Errors are token error rates in percent; `decoded` is the error by the threshold where
there is a choice, else that of the expectation.
"""

import math
import re
from dataclasses import dataclass

import numpy

from attnbench.analysis import command, intervals, load

# Percent of error, by the curve, at which a task counts as learned. At 10, half of the
# seeds of 40 symbols to copy would have no K that learns it.
LEARNED = 20
BINS = {"p_histogram": 20, "lateness_histogram": 21}
# What figures tell alternatives and held-out sequences apart by.
SETTINGS = ("task", "least_symbols", "most_symbols", "frame_noise", "mechanism",
            "encoder_units", "encoder_scoring", "decoder_scoring", "position_encoding", "noise")


def trained_of(document, path):
    """A checked document as figures read it. Requires what they need and its schema does
    not say: some settings, tables whose rows are equally long, and curves of the seeds of
    an alternative with as many points.
    """
    points = {}
    for place, run in enumerate(document["runs"]):
        where = f"{path}: runs[{place}]"
        for key in SETTINGS:
            if key not in run["settings"]:
                raise load.DataError(f"{where}.settings", f"{key} is missing")
        _check_example(run.get("example", {}), f"{where}.example")
        if run["status"] != "ok":
            continue
        load.get(run, "result", dict, where)
        for member, number in BINS.items():
            bins = len(run["result"].get(member, number * [0]))
            if bins != number:
                raise load.DataError(
                    f"{where}.result", f"{member} has {bins} bins, it must be {number}")
        number = points.setdefault(run["name"], len(run["curve"]))
        if len(run["curve"]) != number:
            raise load.DataError(
                where, f"curve has {command.counted(len(run['curve']), 'point')}, that of "
                f"another seed {number}")
    return {"path": str(path), **document}


def _check_example(example, where):
    for member in ("attention", "contexts", "frames"):
        lengths = {len(row) for row in example.get(member, ())}
        if len(lengths) > 1 or 0 in lengths:
            raise load.DataError(where, f"{member} has rows that are not equally long, or empty")
    counts = {member: len(example[member]) for member in ("symbols", "ends") if member in example}
    if "ends" in counts and counts["ends"] != counts.get("symbols"):
        raise load.DataError(
            where, f"ends has {command.counted(counts['ends'], 'number')}, it must be one for each "
            f"of the {counts.get('symbols', 0)} symbols")
    frames, attention = example.get("frames"), example.get("attention")
    if frames and attention and len(frames) != len(attention[0]):
        raise load.DataError(
            where, f"frames has {command.counted(len(frames), 'row')}, attention "
            f"{command.counted(len(attention[0]), 'column')}: both must be the entries")


class Runs:
    """Finished runs of a `trained` document, by alternative and seed."""

    def __init__(self, document):
        self.document = document
        self.names = list(dict.fromkeys(run["name"] for run in document["runs"]))
        self._places = {(run["name"], run["seed"]): place
                        for place, run in enumerate(document["runs"])
                        if run["status"] in ("ok", "diverged")}

    def finished(self, name):
        """The runs of an alternative that did not diverge, in the order of seeds."""
        runs = [self.document["runs"][self._places[name, seed]] for seed in self.seeds(name)]
        return [run for run in runs if run["status"] == "ok"]

    def settings(self, name):
        return next(run["settings"] for run in self.document["runs"]
                    if run["name"] == name)

    def data(self, name, seeds=None):
        """The folder of each seed's run, "" of a made task."""
        seeds = self.seeds(name) if seeds is None else seeds
        return [self.document["runs"][place]["settings"].get("data") or ""
                for place in self.places([name], seeds)]

    def seeds(self, *names):
        """The seeds with which all of these alternatives have ended."""
        sets = [{seed for one, seed in self._places if one == name} for name in names]
        return sorted(set.intersection(*sets))

    def places(self, names, seeds):
        return [self._places[name, seed] for name in names for seed in seeds]

    def values(self, name, measure, seeds=None):
        """A number a seed; None if the runs do not have it."""
        seeds = self.seeds(name) if seeds is None else seeds
        runs = self.document["runs"]
        found = [_taken(runs[place], measure) for place in self.places([name], seeds)]
        return None if None in found or not found else numpy.array(found, float)


def _taken(run, measure):
    """The number of a run; None if it has none."""
    take, bounds = MEASURES[measure]
    if run["status"] == "ok":
        return take(run)
    return max(bounds) if bounds is PERCENT else None


def _given(member):
    return lambda run: run["result"].get(member)


def _percent(member):
    def take(run):
        value = run["result"].get(member)
        return None if value is None else 100 * value
    return take


def entry_ms(run):
    """Milliseconds of an entry of own data; None if they do not say it."""
    return (run["settings"].get("data_facts") or {}).get("frame_ms")


def _ms(member):
    """Takes entries as milliseconds."""
    def take(run):
        value, time = run["result"].get(member), entry_ms(run)
        return None if None in (value, time) else value * time
    return take


def decoded(evaluation):
    """Percent of error of a result or a point of a curve."""
    hard = evaluation["hard_error"]
    return 100 * (evaluation["soft_error"] if hard is None else hard)


def speakers(run, in_training):
    """Those of its result that training has heard, or has not."""
    return [one for one in run["result"].get("speakers") or []
            if one.get("in_training") is in_training]


def _of_speakers(in_training):
    """Takes the mean percent of error on them. None without such speakers."""
    def take(run):
        of = speakers(run, in_training)
        return numpy.mean([decoded(one) for one in of]) if of else None
    return take


def _lost(run):
    hard = run["result"]["hard_error"]
    return None if hard is None else 100 * (hard - run["result"]["soft_error"])


def _undecided(run):
    share = run["result"]["discrete_share"]
    return None if share is None else 1 - share


def _steps_to_learn(run):
    """Steps until the error is at most LEARNED; infinite if it never is."""
    reached = [point["step"] for point in run["curve"]
               if 100 * point["soft_error"] <= LEARNED]
    return min(reached, default=math.inf)


PERCENT, SHARE, COUNT, ANY = (0, 100), (0, 1), (0, math.inf), (-math.inf, math.inf)
# Name -> what takes it from a run, and what it lies between.
MEASURES = {
    "expected": (_percent("soft_error"), PERCENT),
    "threshold": (_percent("hard_error"), PERCENT),
    "decoded": (lambda run: decoded(run["result"]), PERCENT),
    "heard": (_of_speakers(True), PERCENT),
    "unheard": (_of_speakers(False), PERCENT),
    "beam": (_percent("beam_error"), PERCENT),
    "sampled": (_percent("sampled_error"), PERCENT),
    "lost": (_lost, (-100, 100)),
    "mass": (lambda run: run["result"]["selected_mass"], SHARE),
    "discrete": (lambda run: run["result"]["discrete_share"], SHARE),
    "undecided": (_undecided, SHARE),
    "entropy": (_given("choice_entropy"), COUNT),
    "variation": (_given("output_variation"), SHARE),
    "alignment_ms": (_ms("alignment_error"), COUNT),
    "lateness_ms": (_ms("lateness"), ANY),
    "ap": (_given("average_proportion"), SHARE),
    "al_ms": (_ms("average_lagging"), ANY),
    "dal_ms": (_ms("differentiable_average_lagging"), ANY),
    "spread": (_given("context_spread"), COUNT),
    "steps": (_steps_to_learn, COUNT),
    # All steps where they were not enough: the least that it can take.
    "steps_at_least": (lambda run: min(_steps_to_learn(run), run["settings"]["steps"]),
                       COUNT),
}


# ---- quantities of the ledger -------------------------------------------------


@dataclass(frozen=True)
class Quantity:
    """A number that the ledger asks for."""

    labels: dict
    of_seeds: object  # intervals' Seeds, Deviations, exact Estimate; None: there is no number
    why: str  # why there is none, or why it decides nothing
    places: list  # of its runs in the document
    seeds: tuple = ()  # what each of them gives


def quantities(document, asked, per=(), bounds=(-math.inf, math.inf)):
    """The Quantities that `asked`, as the ledger has it, comes down to: one for each
    measure and alternative. `per` names settings to have as labels.
    """
    runs = Runs(document)
    of, to = asked["of"], asked.get("to", {})
    count = max(len(side.get("alternatives", ())) for side in (of, to))
    return [
        _quantity(runs, _side(of, number, measure),
                  _side(to, number, measure) if to else None, per, bounds,
                  asked.get("statistic"))
        for measure in of["measures"] for number in range(count)]


def _side(side, number, measure):
    """(alternative, what is taken off it or None, measure): number `number` of a side,
    whose single alternative goes with all of the other's.
    """
    def pick(names):
        return names[min(number, len(names) - 1)] if names else None
    own = side.get("measure", measure)
    return pick(side["alternatives"]), pick(side.get("less")), own


def _quantity(runs, of, to, per, bounds, statistic):
    sides = [of] if to is None else [of, to]
    names = list(dict.fromkeys(
        name for side in sides for name in side[:2] if name is not None))
    absent = [name for name in names if name not in runs.names]
    settings = {} if of[0] in absent else runs.settings(of[0])
    labels = {**{name: settings.get(name) for name in per}, "alternative": of[0],
              "less": of[1], "measure": of[2], "to": to and to[0]}
    if absent:
        return Quantity(labels, None, f"it has no alternative {absent[0]}", [])
    seeds = runs.seeds(*names)
    labels["seeds"] = len(seeds)
    if not seeds:
        return Quantity(labels, None, "no seed has all of its runs", [])
    places = runs.places(names, seeds)
    columns = [_column(runs, side, seeds) for side in sides]
    if any(column is None for column in columns):
        return Quantity(labels, None, "its runs do not have the number", places)
    why = "" if len(seeds) > 1 else "one seed, which does not show what chance does"
    if statistic == "deviation":
        found = intervals.Deviations(*map(tuple, columns), tuple(runs.data(names[0], seeds)))
        if not found.are_there():
            return Quantity(labels, None, why or "all of its seeds are alike", places)
        return Quantity(labels, found, why, places)
    if statistic == "t_test":
        if not any(map(numpy.ptp, columns)):
            return Quantity(labels, None, why or "all of its seeds are alike", places)
        return Quantity(labels, intervals.Estimate(intervals.p_of_t_test(*columns)), why, places)
    each = values = columns[0]
    if to is not None:
        if columns[1].mean() == 0:
            return Quantity(labels, None, "the ratio is over 0", places)
        with numpy.errstate(divide="ignore", invalid="ignore"):
            each = columns[0] / columns[1]
        values = _of_ratio(*columns)
    return Quantity(labels, intervals.Seeds(tuple(values.tolist()), bounds), why, places,
                    tuple(each.tolist()))


def _of_ratio(of, to):
    """A number a seed whose mean is the ratio of the means, and whose spread is that of the
    ratio to the first order (the delta method): R + (of - R to) / mean(to).
    """
    ratio = of.mean() / to.mean()
    return ratio + (of - ratio * to) / to.mean() if math.isfinite(ratio) else of / to


def _column(runs, side, seeds):
    """A number a seed; None if the runs do not have it."""
    name, less, measure = side
    values = runs.values(name, measure, seeds)
    taken_off = None if less is None else runs.values(less, measure, seeds)
    if less is None or values is None:
        return values
    return None if taken_off is None else values - taken_off


def contexts(runs):
    """{L: {K: alternative}} of the alternatives K<K>_L<L>."""
    found = {}
    for name in runs.names:
        match = re.fullmatch(r"K(\d+)_L(\d+)", name)
        if match:
            k, length = map(int, match.groups())
            found.setdefault(length, {})[k] = name
    return {length: dict(sorted(found[length].items())) for length in sorted(found)}
