"""What results of `attnbench train` say: a mean of each alternative, and the quantities
that the ledger of claims asks for.

Seeds pair, so a quantity of several alternatives is made seed by seed. Estimates are over
seeds, by Student's t; one seed shows nothing of chance. Errors are token error rates in
percent; `decoded` is the error by the threshold where there is a choice, else that of the
expectation.
"""

import math
import re
from collections import namedtuple

import numpy
from scipy import stats

from analysis import intervals

# Percent of error, by the curve, at which a task counts as learned. At 10, half of the
# seeds of 40 symbols to copy would have no K that learns it.
LEARNED = 20
ENOUGH = 1  # points within the best

# `estimate` is None where there is no number; `why` says so, or why it decides nothing.
# `places` are those of its runs in the document.
Quantity = namedtuple("Quantity", "name labels estimate why places")


class Runs:
    """Finished runs of a `trained` document, by alternative and seed."""

    def __init__(self, document):
        self.document = document
        self.names = list(dict.fromkeys(run["name"] for run in document["runs"]))
        self._places = {(run["name"], run["seed"]): place
                        for place, run in enumerate(document["runs"])
                        if run["status"] == "ok"}

    def finished(self, name):
        """The runs of an alternative that did not diverge, in the order of seeds."""
        return [self.document["runs"][self._places[name, seed]]
                for seed in self.seeds(name)]

    def settings(self, name):
        return next(run["settings"] for run in self.document["runs"]
                    if run["name"] == name)

    def labels(self, name, *keys):
        """These settings of an alternative; None where it is not there."""
        settings = self.settings(name) if name in self.names else {}
        return {key: settings.get(key) for key in keys}

    def seeds(self, *names):
        """The seeds with which all of these alternatives have finished."""
        sets = [{seed for one, seed in self._places if one == name} for name in names]
        return sorted(set.intersection(*sets))

    def places(self, names, seeds):
        return [self._places[name, seed] for name in names for seed in seeds]

    def values(self, name, measure, seeds=None):
        """A number a seed; None if the runs do not have it."""
        seeds = self.seeds(name) if seeds is None else seeds
        runs = self.document["runs"]
        found = [MEASURES[measure](runs[place]) for place in self.places([name], seeds)]
        return None if None in found or not found else numpy.array(found, float)

    def mean(self, name, measure):
        """The Estimate of the mean over seeds; None if there is none."""
        values = self.values(name, measure)
        return None if values is None else estimate(values)


def _percent(member):
    def take(run):
        value = run["result"][member]
        return None if value is None else 100 * value
    return take


def decoded(evaluation):
    """Percent of error of a result or a point of a curve."""
    hard = evaluation["hard_error"]
    return 100 * (evaluation["soft_error"] if hard is None else hard)


def _lost(run):
    hard = run["result"]["hard_error"]
    return None if hard is None else 100 * (hard - run["result"]["soft_error"])


def _steps_to_learn(run):
    """Steps until the error is at most LEARNED; infinite if it never is."""
    reached = [point["step"] for point in run["curve"]
               if 100 * point["soft_error"] <= LEARNED]
    return min(reached, default=math.inf)


MEASURES = {
    "expected": _percent("soft_error"),
    "hard": _percent("hard_error"),
    "decoded": lambda run: decoded(run["result"]),
    "lost": _lost,
    "mass": lambda run: run["result"]["selected_mass"],
    "discrete": lambda run: run["result"]["discrete_share"],
    "spread": lambda run: run["result"].get("context_spread"),
    "steps": _steps_to_learn,
}


def estimate(values):
    """The Estimate of the mean of a number a seed."""
    if not numpy.isfinite(values).all():
        return intervals.Estimate(float(numpy.mean(values)), ((math.inf, 1),))
    value, part = intervals.center(numpy.reshape(values, (-1, 1, 1)))
    return intervals.Estimate(value, (part,))


# ---- quantities of the ledger -------------------------------------------------


def quantities(document):
    """The Quantities that this experiment gives."""
    make = {"stretch": _of_stretch, "fed": _of_fed, "reorder": _of_reorder,
            "copy": _of_copy}.get(document["experiment"])
    return list(make(Runs(document))) if make else []


def _quantity(runs, name, labels, measure, names, formula):
    """`formula` takes an array over seeds for each of the alternatives."""
    seeds = runs.seeds(*names)
    labels = {**labels, "seeds": len(seeds)}
    if not seeds:
        return Quantity(name, labels, None, "no seed has all of its runs", [])
    places = runs.places(names, seeds)
    columns = [runs.values(one, measure, seeds) for one in names]
    if any(column is None for column in columns):
        return Quantity(name, labels, None, "its runs do not have the number", places)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        values = formula(*columns)
    if numpy.isnan(values).any():
        why = "it has no value where all runs of a seed are alike"
        return Quantity(name, labels, None, why, places)
    why = "" if len(seeds) > 1 else "one seed, which does not show what chance does"
    return Quantity(name, labels, estimate(values), why, places)


def _itself(values):
    return values


def _less(one, other):
    return one - other


def _of_noise(runs, names):
    for name in names:
        yield _quantity(runs, "accuracy_expected_less_hard", runs.labels(name, "noise"),
                        "lost", [name], _itself)


def _of_fed(runs):
    return _of_noise(runs, ("noise0", "noise1", "noise3"))


def _of_stretch(runs):
    yield from _of_noise(runs, ("noise0", "noise1"))
    yield _quantity(runs, "discrete_share_gained_by_noise", {}, "discrete",
                    ["noise1", "noise0"], _less)
    yield _quantity(runs, "hard_loss_saved_by_noise", {}, "lost", ["noise0", "noise1"],
                    _less)
    for measure, decoding in (("expected", "expected"), ("hard", "threshold")):
        # Differences of accuracies have the other sign than those of errors.
        yield _quantity(runs, "accuracy_clipped_less_exact", {"decoding": decoding},
                        measure, ["noise1", "clipped"], _less)
    yield _matcha_less_mocha(runs, "mocha")


def _of_reorder(runs):
    for suffix in ("", "_64"):
        names = ["monotonic" + suffix, "mocha_w4" + suffix, "soft" + suffix]
        labels = runs.labels(names[0], "encoder_units")
        yield _quantity(
            runs, "gap_closed", labels, "decoded", names,
            lambda monotonic, mocha, soft: (monotonic - mocha) / (monotonic - soft))
        yield _quantity(runs, "accuracy_soft_less_monotonic", labels, "decoded",
                        [names[0], names[2]], _less)
    yield _matcha_less_mocha(runs, "mocha_w4")


def _matcha_less_mocha(runs, mocha):
    return _quantity(runs, "accuracy_matcha_less_mocha", {}, "decoded", [mocha, "matcha"],
                     _less)


def contexts(runs):
    """{L: {K: alternative}} of the alternatives K<K>_L<L>."""
    found = {}
    for name in runs.names:
        match = re.fullmatch(r"K(\d+)_L(\d+)", name)
        if match:
            k, length = map(int, match.groups())
            found.setdefault(length, {})[k] = name
    return {length: dict(sorted(found[length].items())) for length in sorted(found)}


def _of_copy(runs):
    by_length = contexts(runs)
    for length, names in by_length.items():
        for (k, name), (following, next_name) in zip(
                names.items(), list(names.items())[1:]):
            yield _quantity(runs, "accuracy_gained_by_next_K",
                            {"length": length, "K": k, "next": following}, "decoded",
                            [name, next_name], _less)
        yield _quantity(runs, "rank_correlation_of_K_and_steps", {"length": length},
                        "steps", list(names.values()),
                        lambda *steps, ks=list(names): _correlations(ks, steps))
    if by_length:
        shortest, longest = min(by_length), max(by_length)
        ks = [list(by_length[length]) for length in (shortest, longest)]
        yield _quantity(
            runs, "sufficient_K_longest_over_shortest", {}, "decoded",
            [*by_length[shortest].values(), *by_length[longest].values()],
            lambda *errors: _enough(ks[1], errors[len(ks[0]):])
            / _enough(ks[0], errors[:len(ks[0])]))
    scorings = ("K8_L10", "softmax_sigmoid", "sigmoid_softmax", "sigmoid_sigmoid")
    for name in scorings:
        labels = runs.labels(name, "encoder_scoring", "decoder_scoring")
        yield _quantity(runs, "accuracy_of_scoring", labels, "decoded", [name],
                        lambda error: 100 - error)
        yield _quantity(runs, "spread_of_contexts", labels, "spread", [name], _itself)
    for encoding in ("raw", "renormalized", "renormalized_mean"):
        yield _quantity(runs, "accuracy_gained_by_position_encoding",
                        {"position_encoding": encoding}, "decoded",
                        ["K8_L10", f"position_{encoding}"], _less)


def _correlations(ks, steps):
    """Spearman's of K and steps, by seed; NaN where all take equally many."""
    found = []
    for of_seed in zip(*steps):
        ranks = stats.rankdata(of_seed)
        found.append(float(stats.spearmanr(ks, ranks)[0]) if len(set(ranks)) > 1
                     else math.nan)
    return numpy.array(found)


def _enough(ks, errors):
    """The least K within a point of the best, by seed."""
    errors = numpy.array(errors)
    is_enough = errors <= errors.min(axis=0) + ENOUGH
    return numpy.array(ks, float)[is_enough.argmax(axis=0)]
