"""What results of `attnbench train` say: a mean of each alternative, and the quantities
that the ledger of claims asks for (kind `training`).

Seeds pair, so a difference is taken seed by seed. Intervals are 95 % ones of Student's
t over seeds; one seed has none. Errors are token error rates in percent; `decoded` is
the error of the hard process where there is one, else that of the expectation.
"""

import math
from collections import namedtuple

import numpy
from scipy import stats

from analysis import intervals, load

NINETY = 10  # percent of error: 90 percent accuracy
ENOUGH = 1  # points within the best

Mean = namedtuple("Mean", "value interval count")


class Runs:
    """Finished runs of a `trained` document, by alternative and seed."""

    def __init__(self, document, path):
        self.document = document
        self.names = list(dict.fromkeys(run["name"] for run in document["runs"]))
        self._runs = {(run["name"], run["seed"]): run for run in document["runs"]
                      if run["status"] == "ok"}
        if not self._runs:
            raise load.DataError(f"{path}: runs", "none is finished")

    def settings(self, name):
        return next(run["settings"] for run in self.document["runs"] if run["name"] == name)

    def seeds(self, *names):
        """The seeds that all of these alternatives have."""
        sets = [{seed for one, seed in self._runs if one == name} for name in names]
        return sorted(set.intersection(*sets))

    def values(self, name, measure, seeds=None):
        runs = [self._runs[name, seed] for seed in seeds or self.seeds(name)]
        found = [MEASURES[measure](run) for run in runs]
        return None if None in found else numpy.array(found, float)

    def mean(self, name, measure):
        values = self.values(name, measure)
        return None if values is None or not len(values) else mean(values)

    def difference(self, of, less, measure):
        """`of` less `less`, seed by seed."""
        seeds = self.seeds(of, less)
        if not seeds:
            return None
        return mean(self.values(of, measure, seeds) - self.values(less, measure, seeds))


def _percent(member):
    def take(run):
        value = run["result"][member]
        return None if value is None else 100 * value
    return take


def _decoded(run):
    hard = run["result"]["hard_error"]
    return 100 * (run["result"]["soft_error"] if hard is None else hard)


def _lost(run):
    hard = run["result"]["hard_error"]
    return None if hard is None else 100 * (hard - run["result"]["soft_error"])


def _steps_to_ninety(run):
    """Steps until decoding is 90 percent right; infinite if it never is."""
    reached = [point["step"] for point in run["curve"]
               if 100 * point["soft_error"] <= NINETY]
    return min(reached, default=math.inf)


MEASURES = {
    "expected": _percent("soft_error"),
    "hard": _percent("hard_error"),
    "decoded": _decoded,
    "lost": _lost,
    "mass": lambda run: run["result"]["selected_mass"],
    "discrete": lambda run: run["result"]["discrete_share"],
    "steps": _steps_to_ninety,
    "seconds": lambda run: run["seconds"],
}


def mean(values):
    value, count = float(numpy.mean(values)), len(values)
    if count < 2 or not math.isfinite(value):
        return Mean(value, None, count)
    variance = float(numpy.var(values, ddof=1)) / count
    span = intervals.Estimate(value, ((variance, count - 1),)).at()
    return Mean(value, (span.low, span.high), count)


def quantities(runs):
    """The rows of a `training` document that this experiment gives."""
    experiment = runs.document["experiment"]
    make = {"stretch": _of_stretch, "reorder": _of_reorder, "copy": _of_copy}.get(experiment)
    return list(make(runs)) if make else []


def _row(name, labels, found):
    if found is None:
        return {"name": name, "labels": labels, "value": None, "interval": None,
                "why": "no seed has all of its runs"}
    value = found.value if math.isfinite(found.value) else ("inf" if found.value > 0 else "-inf")
    interval = found.interval and list(found.interval)
    return {"name": name, "labels": {**labels, "seeds": found.count}, "value": value,
            "interval": interval}


def _of_stretch(runs):
    for name in ("noise0", "noise1"):
        labels = {"noise": runs.settings(name)["noise"]}
        yield _row("accuracy_expected_less_hard", labels, runs.mean(name, "lost"))
    yield _row("discrete_share_gained_by_noise", {},
               runs.difference("noise1", "noise0", "discrete"))
    yield _row("hard_loss_saved_by_noise", {}, runs.difference("noise0", "noise1", "lost"))
    for measure in ("expected", "hard"):
        # Errors, so that the difference of accuracies has the other sign.
        yield _row("accuracy_clipped_less_exact", {"decoding": measure},
                   runs.difference("noise1", "clipped", measure))


def _of_reorder(runs):
    for suffix in ("", "_64"):
        names = "monotonic" + suffix, "mocha_w4" + suffix, "soft" + suffix
        seeds = runs.seeds(*names)
        monotonic, mocha, soft = (runs.values(name, "decoded", seeds) for name in names)
        gap = mean((monotonic - mocha) / (monotonic - soft)) if seeds else None
        labels = {"encoder_units": runs.settings(names[0])["encoder_units"]}
        yield _row("gap_closed", labels, gap)
    yield _row("accuracy_matcha_less_mocha", {},
               runs.difference("mocha_w4", "matcha", "decoded"))


def _of_copy(runs):
    lengths, ks = (10, 20, 40), (1, 4, 8, 32)
    enough = {}
    for length in lengths:
        names = {k: f"K{k}_L{length}" for k in ks}
        for k, following in zip(ks, ks[1:]):
            yield _row("accuracy_gained_by_next_K", {"length": length, "K": k, "next": following},
                       runs.difference(names[k], names[following], "decoded"))
        errors = {k: runs.mean(name, "decoded") for k, name in names.items()}
        if None not in errors.values():
            best = min(found.value for found in errors.values())
            enough[length] = min(k for k, found in errors.items()
                                 if found.value <= best + ENOUGH)
        steps = [runs.mean(name, "steps") for name in names.values()]
        correlation = None
        if None not in steps:
            ranks = stats.rankdata([found.value for found in steps])
            if len(set(ranks)) > 1:
                value = float(stats.spearmanr(ks, ranks)[0])
                correlation = Mean(value, None, min(found.count for found in steps))
        yield _row("rank_correlation_of_K_and_steps", {"length": length}, correlation)
    ratio = None
    if lengths[0] in enough and lengths[-1] in enough:
        ratio = Mean(enough[lengths[-1]] / enough[lengths[0]], None, 1)
    yield _row("sufficient_K_longest_over_shortest", {}, ratio)
    for name in ("K8_L10", "softmax_sigmoid", "sigmoid_softmax", "sigmoid_sigmoid"):
        found = runs.mean(name, "decoded")
        if found is not None:
            ends = found.interval and tuple(100 - end for end in reversed(found.interval))
            found = Mean(100 - found.value, ends, found.count)
        settings = runs.settings(name)
        yield _row("accuracy_of_scoring",
                   {key: settings[key] for key in ("encoder_scoring", "decoder_scoring")}, found)
    for encoding in ("raw", "renormalized", "renormalized_mean"):
        yield _row("accuracy_gained_by_position_encoding", {"position_encoding": encoding},
                   runs.difference("K8_L10", f"position_{encoding}", "decoded"))
