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

What models learn is of seeds, not of a series (Seeds, Deviations).
"""

import math
import os
from dataclasses import dataclass

import numpy
from scipy import special

from attnbench.analysis import ROOT, load

# The share of cases in which an interval may miss, unless something else is said.
MISS = 0.05
# The effects by kind: "time" of a time alone, with the machine's state in it; "ratio" of
# two cells of ours of one run; "peer" of ours and one of another program.
EFFECTS = load.read_json(os.path.join(ROOT, "results", "effects.json"))["effects"]
# The quartiles of normal values are so many standard deviations apart.
BETWEEN_QUARTILES = 1.349
# By so many values fewer do the quartiles of a few values tell their spread (simulated).
TOO_NARROW = 1.1
# Of fewer seeds the values themselves are printed: Student's interval would be several
# times as wide as they are apart.
FEWEST_SEEDS = 5


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

    def within(self, least, greatest):
        """Gives the Span with no end beyond what the number can be."""
        return Span(
            self.value,
            max(self.low, min(least, self.value)),
            min(self.high, max(greatest, self.value)),
        )


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
        half = student(degrees, miss / 2) * math.sqrt(variance)
        return Span(self.value, self.value - half, self.value + half)


@dataclass(frozen=True)
class Seeds:
    """The mean of a number that each seed gives, between the `bounds` of the number."""

    values: tuple
    bounds: tuple = (-math.inf, math.inf)

    def at(self, miss=MISS):
        """Gives the Span that misses with this probability: Student's, within the bounds.

        Values that are equal but for rounding show no spread. Had more than 1 - (miss / 2)^(1 / n) of all seeds
        another value, n equal ones would be seen with a probability below miss / 2. That
        share may differ, by as much as the bounds allow.
        """
        count, value = len(self.values), float(numpy.mean(self.values))
        if count == 1 or not math.isfinite(value):
            return Span(value, -math.inf, math.inf).within(*self.bounds)
        if not self._are_equal():
            variance = float(numpy.var(self.values, ddof=1)) / count
            return Estimate(value, ((variance, count - 1),)).at(miss).within(*self.bounds)
        share = 1 - (miss / 2) ** (1 / count)
        low, high = self.bounds
        return Span(value, value - share * (value - low), value + share * (high - value))

    def _are_equal(self):
        return numpy.ptp(self.values) <= 1e-12 * numpy.max(numpy.abs(self.values))

    def half_width(self, miss):
        """Gives that of the interval, where the bounds would not cut it off."""
        span = (self if self._are_equal() else Seeds(self.values)).at(miss)
        return (span.high - span.low) / 2 if math.isfinite(span.value) else math.inf


@dataclass(frozen=True)
class Deviations:
    """The standard deviation of one number over seeds, over that of another. Seeds of several
    data have their own mean each: what the data make of the number is no spread of it.
    """

    of: tuple
    to: tuple
    data: tuple  # of each seed: what tells its data from others

    def at(self, miss=MISS):
        """Gives the Span that misses with this probability, by the F distribution."""
        of, to = (self._squares(values) for values in (self.of, self.to))
        ratio, degrees = math.sqrt(of / to), len(self.data) - len(set(self.data))
        most, least = special.fdtri(degrees, degrees, [1 - miss / 2, miss / 2]).tolist()
        return Span(ratio, ratio / math.sqrt(most), ratio / math.sqrt(least))

    def are_there(self):
        """Whether both vary."""
        return min(map(self._squares, (self.of, self.to))) > 0

    def _squares(self, values):
        """The sum of squared distances from the mean of the same data."""
        groups = ([value for value, data in zip(values, self.data) if data == one]
                  for one in dict.fromkeys(self.data))
        return sum(float(numpy.var(group)) * len(group) for group in groups)

    def half_width(self, miss):
        """Gives how far above 1 the ratio would have to be to be told from it."""
        return self.at(miss).value / self.at(miss).low - 1


def p_of_t_test(of, to):
    """Gives the p-value of Student's unpaired t-test: how often means would be at least as far
    apart if chance alone moved them.
    """
    from scipy import stats  # takes longer to import than all else here
    return float(stats.ttest_ind(of, to).pvalue)


def student(degrees, tail):
    """Gives what Student's t exceeds with the probability `tail`, to 1e-13 of it."""
    found = -float(special.stdtrit(degrees, tail))
    # Further out SciPy's own numbers end.
    if not math.isfinite(degrees) or tail < 1e-60:
        return found
    # SciPy stops at 1e-8 of the probability; one step of Newton's goes on from there.
    log_density = (
        math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)
        - math.log(degrees * math.pi) / 2
        - (degrees + 1) / 2 * math.log1p(found**2 / degrees))
    return found + (
        float(special.stdtr(degrees, -found)) - tail) / math.exp(log_density)


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


def hidden(kind, builds=0.0, processes=0.0, runs=0.0):
    """Gives the parts of the error by what makes them, of a number in which the effect of
    a build, a process and a run of that kind is so often.
    """
    one = EFFECTS[kind]
    counts = {"build": builds, "process": processes, "run": runs}
    return {what: (count * one[f"s_{what}"] ** 2, one[f"{what}_degrees"])
            for what, count in counts.items() if count}


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
