"""Gives every number that chance moves its interval, by one rule.

A series is an array of logarithms [build, process, round]: of a time, or of the ratio of
two times of the same rounds. Rounds of a process share its code and memory, and processes
of a build its code, so the value of a process is the median of its rounds, and the
interval is over the largest units of which there are several: builds (the means of their
processes), else processes, else rounds. Of builds and processes it is Student's of the
mean. Of rounds it is that of the median, with the spread between the quartiles, which a
few disturbed rounds do not move.

No run shows what differs between runs, one of a single build does not show what builds
do, and one of a single process not what processes do: these are added as they were
measured elsewhere (results/effects.json). The degrees of freedom are Welch's and
Satterthwaite's. harness/stats has the same rule.
"""

import math
import os
from dataclasses import dataclass

import numpy
from scipy import stats

from analysis import ROOT, load

# The share of cases in which an interval may miss, unless something else is said.
MISS = 0.05
# The effects by kind: "time" of a time alone, with the machine's state in it; "ratio" of
# two cells of ours of one run; "peer" of ours and one of another program.
EFFECTS = load.read_json(os.path.join(ROOT, "results", "effects.json"))["effects"]
# The quartiles of normal values are so many standard deviations apart.
BETWEEN_QUARTILES = 1.349
# By so many values fewer do the quartiles of a few values tell their spread (simulated).
TOO_NARROW = 1.1


@dataclass(frozen=True)
class Span:
    """A number with the ends of its interval."""

    value: float
    low: float
    high: float

    def exp(self):
        with numpy.errstate(over="ignore"):
            return Span(*numpy.exp([self.value, self.low, self.high]).tolist())

    def over(self, divisor):
        return Span(self.value / divisor, self.low / divisor, self.high / divisor)


@dataclass(frozen=True)
class Estimate:
    """A number with the independent parts of its error, each as (variance, degrees)."""

    value: float
    parts: tuple = ()

    def at(self, miss=MISS):
        """Gives the Span that misses with this probability."""
        variance = sum(part for part, _ in self.parts)
        if variance == 0:
            return Span(self.value, self.value, self.value)
        if not math.isfinite(variance):
            return Span(self.value, -math.inf, math.inf)
        by_degrees = sum(part**2 / degrees for part, degrees in self.parts)
        degrees = variance**2 / by_degrees if by_degrees else math.inf
        half = float(stats.t.isf(miss / 2, degrees)) * math.sqrt(variance)
        return Span(self.value, self.value - half, self.value + half)


def estimate(logs, kind, count=1.0):
    """Gives the Estimate of a series, with the effects of its kind. A sum of series that
    builds and runs move independently has `count` times their variance.
    """
    value, own = center(logs)
    return Estimate(value, (own, *effects(kind, logs.shape, count)))


def effects(kind, shape, count=1.0):
    """Gives the parts of the error that a series of this shape does not show; the last
    is that of the run.
    """
    builds, processes = shape[:2]
    hidden = {"build": builds == 1, "process": builds * processes == 1, "run": True}
    one = EFFECTS[kind]
    return tuple(
        (count * one[f"s_{what}"] ** 2, one[f"{what}_degrees"])
        for what, is_hidden in hidden.items() if is_hidden
    )


def processes(logs):
    """Gives the values of the processes [build, process]."""
    return numpy.median(logs, axis=2)


def are_rounds(logs):
    """Whether the units of a series are its rounds."""
    return logs.shape[:2] == (1, 1)


def units(logs):
    if are_rounds(logs):
        return logs[0, 0]
    values = processes(logs)
    return values.mean(axis=1) if len(values) > 1 else values[0]


def center(logs):
    """Gives the value of a series and (variance, degrees) of its units."""
    observed = units(logs)
    count = len(observed)
    value = numpy.median(observed) if are_rounds(logs) else numpy.mean(observed)
    if count == 1:
        return float(value), (math.inf, 1)
    if are_rounds(logs):
        low, high = numpy.quantile(observed, [0.25, 0.75])
        variance = math.pi / 2 * ((high - low) / BETWEEN_QUARTILES) ** 2
        return float(value), (
            float(variance) / (count - TOO_NARROW), max(1.0, (count - 1) / 2))
    variance = numpy.var(observed, ddof=1)
    return float(value), (float(variance) / count, count - 1)


def of_draws(drawn, miss=MISS):
    """Gives (low, high) of a number as other runs might have found it."""
    # A number may be infinite, so an end does not lie between two of them.
    return (
        float(numpy.quantile(drawn, miss / 2, method="lower")),
        float(numpy.quantile(drawn, 1 - miss / 2, method="higher")),
    )
