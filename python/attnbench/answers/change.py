"""Decides whether a time, or a ratio of times, changed between two results.

Identical code that was measured twice must not look changed, so a change counts only if
its interval excludes 1; and sameness is claimed only if the interval shows it, never
because nothing was found. harness/stats/change.h has the same rule, for `check`.
"""

import math
import sys
from dataclasses import dataclass, field

from attnbench.analysis import intervals
from attnbench.analysis.intervals import Span

LEVEL = MARGIN = 0.05
KINDS = FASTER, SLOWER, SAME, AMBIGUOUS = "FASTER", "SLOWER", "SAME", "AMBIGUOUS"
IN_TURN = "compare --programs"
# What makes the interval of a ratio wide -> what it does, and what would decide. The first
# three are units of the samples, the others effects that samples of this shape do not show.
CAUSES = {
    "rounds": ("the noise of its rounds explains {}", "more --repetitions"),
    "processes": ("its processes are too few: what they differ by explains {}",
                  "more --processes"),
    "builds": ("its builds are too few: what they differ by explains {}", "more --builds"),
    "build": ("another placement of the code in memory explains {}",
              "--builds 20 on both sides"),
    "process": ("a side has one process alone, which explains {}",
                "--processes 10 on both sides"),
    "run": ("another run of the same code explains {}", IN_TURN),
    "speed": ("another speed of the machine explains {}", IN_TURN),
}
# The same of two programs that were measured in turn.
CAUSES_IN_TURN = {
    **CAUSES,
    "builds": (CAUSES["builds"][0], "more --processes"),
    "build": (CAUSES["build"][0], "build folders in place of programs"),
}


@dataclass(frozen=True)
class Ratio:
    """The logarithm of b / a with the parts (variance, degrees) of its error: those that
    the samples of the two sides show, of which `units` says what they are of, and by cause
    those that they cannot show.
    """

    value: float
    units: str
    samples: tuple
    effects: dict = field(default_factory=dict)

    def by_cause(self):
        return {self.units: self.samples,
                **{cause: (part,) for cause, part in self.effects.items()}}

    def estimate(self):
        return intervals.Estimate(self.value, (*self.effects.values(), *self.samples))


@dataclass(frozen=True)
class Change:
    kind: str
    reason: str
    span: Span  # of b / a; it may be infinite
    # The smallest change, as a share, that would be found with an interval of this width.
    detectable: float


def change_of(ratio, miss, margin, is_in_turn=False):
    """FASTER, SLOWER  the interval of b / a excludes 1, and b / a itself lies outside
                       [1 / (1 + margin), 1 + margin]
    SAME            the interval lies inside these bounds
    AMBIGUOUS       neither

    The interval misses with probability `miss`: the level of the whole table over its
    number of comparisons. With half width h of the logarithm, a change is found from
    max(exp(h) - 1, margin) on.
    """
    logs = ratio.estimate().at(miss)
    span = logs.exp()
    # No number holds the ratio of some times.
    span = Span(min(span.value, sys.float_info.max), span.low, span.high)
    found = max(_expm1(logs.high - logs.value), margin)
    kind = kind_of(span, margin)
    if kind == SAME:
        reason = f"the interval lies within {percent(margin)}"
    elif kind != AMBIGUOUS:
        reason = "the interval excludes 1"
    else:
        reason = _why(ratio, span, miss, margin, is_in_turn)
    return Change(kind, reason, span, found)


def kind_of(span, margin):
    least, most = 1 / (1 + margin), 1 + margin
    if span.low >= least and span.high <= most:
        return SAME
    if span.low > 1 and span.value > most:
        return SLOWER
    if span.high < 1 and span.value < least:
        return FASTER
    return AMBIGUOUS


def _why(ratio, span, miss, margin, is_in_turn):
    """Why nobody can tell, and what would decide: the remedies of the causes that reach
    beyond the margin even alone, else that of the largest one.
    """
    parts = {cause: sum(variance for variance, _ in of)
             for cause, of in ratio.by_cause().items()}
    if math.isinf(sum(parts.values())):
        return "a single round has no interval: more --repetitions"
    if not span.low > 0 or math.isinf(span.high):
        return "the interval is wider than numbers reach: more --repetitions"
    causes = CAUSES_IN_TURN if is_in_turn else CAUSES
    alone = {cause: detectable(of, miss) for cause, of in ratio.by_cause().items()}
    largest = max(alone, key=alone.get)
    others = [cause for cause in sorted(alone, key=alone.get, reverse=True)
              if cause == largest or alone[cause] > margin]
    remedies = dict.fromkeys(causes[cause][1] for cause in others)
    if IN_TURN in remedies:  # it takes relinks and processes of its own
        remedies = [IN_TURN]
    excludes_one = not span.low <= 1 <= span.high
    state = ("differs, but perhaps by less than the margin of" if excludes_one
             else "the interval reaches beyond the margin of")
    return (f"{state} {percent(margin)}: {causes[largest][0].format(percent_of(alone[largest]))}; "
            f"to decide: {', '.join(remedies)}")


def detectable(parts, miss):
    """The smallest change that would be found if these were the only parts, as a share."""
    return _expm1(intervals.Estimate(0.0, tuple(parts)).at(miss).high)


def _expm1(value):
    try:
        return math.expm1(value)
    except OverflowError:
        return math.inf


def percent(share):
    """'5 %', of what a user has typed."""
    return f"{100 * share:g} %"


MOST_TOLD = 1e4


def percent_of(change):
    """'3.1 %', or 'over 1000000 %' from there on."""
    if not change < MOST_TOLD:
        return f"over {100 * MOST_TOLD:.0f} %"
    return f"{100 * change:.1f} %"
