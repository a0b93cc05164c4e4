"""The verdict on a part of a ledger and on a claim, from readings: pure functions.

Nothing passes because there was nothing to look at, and no bound is broken by a
reading whose interval contains it. docs/claims.md has the words of verdicts.
"""

import math
import operator
from dataclasses import dataclass, field, replace

from attnbench.analysis.intervals import FEWEST_SEEDS
from attnbench.judge import ledger, readings
from attnbench.judge.readings import Reading

HOLDS, HOLDS_ONLY_IF, DEPENDS = "holds", "holds only if", "depends on reading"
UNDECIDED, WAITS, NOT_MEASURABLE = "undecided", "waits for", "not measurable here"
# A part that fails makes its claim refuted or not reproduced, by the claim's conditions.
FAILS = "fails"
REFUTED, NOT_REPRODUCED = "refuted", "not reproduced here"
BY_CONDITIONS = {"paper": REFUTED, "ours": NOT_REPRODUCED}
# What to do where a quick run cannot tell.
QUICK_REMEDY = "run without --quick"
# A part beside the claim that has no rule.
NOT_JUDGED = "not judged"
# The verdicts of claims.
KINDS = (HOLDS, HOLDS_ONLY_IF, REFUTED, NOT_REPRODUCED, UNDECIDED, DEPENDS, WAITS,
         NOT_MEASURABLE)
# A claim with one of these says why (`because` in the ledger).
EXPLAINED = (HOLDS_ONLY_IF, REFUTED, NOT_REPRODUCED, DEPENDS)
# The label whose values are the ways in which a paper can be read.
READING = "reading"
NEEDS = "needs "  # so begins what a measurement lacks
VALUE = operator.attrgetter("value")
MOST_NAMED = 2  # of the groups for which something fails


@dataclass(frozen=True)
class Verdict:
    kind: str = NOT_JUDGED
    text: str = ""  # the condition, or why not

    def __str__(self):
        if not self.text:
            return self.kind
        joint = " " if self.kind in (HOLDS_ONLY_IF, WAITS) else ": "
        return self.kind + joint + self.text


@dataclass(frozen=True)
class Group:
    """The readings with equal values of the part's labels."""

    labels: dict  # those of `per`
    state: str = NOT_JUDGED
    why: str = ""  # undecided
    is_wide: bool = False  # the reason is an interval that contains a bound
    # There is one where the quantity reduces the group to it. Readings without a
    # number are neither least nor greatest while there are others.
    num_readings: int = 0
    least: Reading | None = None
    greatest: Reading | None = None


@dataclass(frozen=True)
class Judged:
    """A part with its verdict."""

    verdict: Verdict
    groups: list = field(default_factory=list)


def judge_part(part, found, remedy=""):
    """`found` are Readings; `remedy` says what to do where an interval is too wide.

    A group fails where a reading does, else is undecided where one is, else holds.
    A part holds where all groups do (or one, if that is what was claimed), fails where
    all do, holds only for some labels where some groups do and some fail (the undecided
    ones are named apart: they are no part of the condition), which is a matter of reading
    where one of the labels is, is undecided where only intervals are too wide to tell, and
    is else not measurable. It waits for a result that somebody has to make, and is
    undecided where the measurement lacks what it needs.
    """
    if not found.list:
        if found.waits_for:
            return Judged(Verdict(WAITS, found.waits_for))
        if found.needs:
            return Judged(Verdict(UNDECIDED, NEEDS + found.needs))
        return Judged(Verdict(NOT_MEASURABLE, found.none or "no readings"))
    per = part.get("per", [])
    members = readings.grouped(
        found.list, lambda one: {name: one.labels.get(name) for name in per}
    )
    groups = [_group(part, labels, some) for labels, some in members]
    if "rule" not in part:
        return Judged(Verdict(), groups)
    if part.get("somewhere") and _in_state(groups, HOLDS):
        return Judged(Verdict(HOLDS), groups)
    return Judged(_verdict(per, groups, remedy), groups)


def judge_claim(claim, judged, remedy=""):
    """One that fails is refuted where it was measured under the paper's conditions."""
    verdict = _of_parts(claim["parts"], judged, remedy)
    if verdict.kind == FAILS:
        return Verdict(BY_CONDITIONS[claim["conditions"]])
    return verdict


def _of_parts(parts, judged, remedy):
    """A claim is the first of fails, not measurable, waits, undecided, depends on reading,
    holds only if, that any part is which is not beside; else it holds.

    Where several hold only for some of their groups, and one has the labels of all
    others, what all of them say of each of its groups decides: none may be left. Where all
    parts have the same labels, what is undecided of a group by one part does not matter if
    the group fails by another.
    """
    own = [pair for pair in zip(parts, judged) if pair[0]["role"] != "beside"]
    by_kind = {}
    for part, one in own:
        by_kind.setdefault(one.verdict.kind, []).append((part, one))
    if FAILS in by_kind:
        return Verdict(FAILS)
    joint = _of_same_groups(own, remedy)
    if joint is not None:
        return joint
    for kind in (NOT_MEASURABLE, WAITS, UNDECIDED, DEPENDS):
        if kind in by_kind:
            # One reason is enough, with its part where there are others.
            part, one = by_kind[kind][0]
            has_name = len(parts) > 1 and kind != WAITS
            has_name = has_name and not one.verdict.text.startswith(NEEDS)
            name = part["name"] + ": " if has_name else ""
            return Verdict(kind, name + one.verdict.text)
    if HOLDS_ONLY_IF in by_kind:
        return _under_all_conditions(by_kind[HOLDS_ONLY_IF], remedy)
    return Verdict(HOLDS)


def as_a_quick_run(verdict, of_the_full_run):
    """The verdict of a quick run, which has no say beyond that of the full run (a text):
    it is the same, or undecided.
    """
    full = of_the_full_run.partition(" (undecided for ")[0]
    quick = str(verdict).partition(" (undecided for ")[0]
    is_lack = verdict.kind in (WAITS, NOT_MEASURABLE)
    if verdict.kind == UNDECIDED or quick == full or is_lack and full.startswith(verdict.kind):
        return verdict
    if is_lack:
        return Verdict(UNDECIDED, quick)
    return Verdict(UNDECIDED, f"by this quick run it {_said(quick)}, by the full run it "
                              f"{_said(full)}; {QUICK_REMEDY}")


def _said(verdict):
    return verdict if verdict.startswith((HOLDS, DEPENDS, WAITS)) else f"is {verdict}"


# ---- a group ----------------------------------------------------------------


def _group(part, labels, members):
    members = _reduced(part["quantity"], members)
    numbers = [one for one in members if one.has_number] or members[:1]
    group = Group(
        labels,
        num_readings=len(members),
        least=min(numbers, key=VALUE),
        greatest=max(numbers, key=VALUE),
    )
    if "rule" not in part:
        return group
    bounds = ledger.bounds(part["rule"])
    states = [_state(bounds, one, part.get("somewhere", False)) for one in members]
    if FAILS in states:
        return replace(group, state=FAILS)
    if UNDECIDED not in states:
        return replace(group, state=HOLDS)
    undecided = [one for one, state in zip(members, states) if state == UNDECIDED]
    lacking = [one for one in undecided if one.why or not one.has_number]
    first, is_wide = (lacking or undecided)[0], not lacking
    why = _wide_text(bounds, first) if is_wide else first.why or "no number"
    return replace(group, state=UNDECIDED, why=why, is_wide=is_wide)


def _state(bounds, reading, one_is_enough):
    """A reading holds where all of its interval is inside the bounds. That all readings
    of a part hold is then wrong with no greater probability than that one does, however
    many they are (an intersection-union test). A failure is looked for in all of them, so
    a reading fails only where all of its joint interval is outside. Where one that holds
    is enough it is the other way round.
    """
    if not reading.has_number or reading.why:
        return UNDECIDED
    own = reading.interval or (reading.value, reading.value)
    joint = reading.joint or own
    within, (low, high) = (joint, own) if one_is_enough else (own, joint)
    if bounds[0] <= within[0] and within[1] <= bounds[1]:
        return HOLDS
    return FAILS if high < bounds[0] or low > bounds[1] else UNDECIDED


def _wide_text(bounds, reading):
    """Names the bound that the interval contains; where only the joint one does, that. An
    interval of few seeds is not told, as elsewhere.
    """

    def contained(interval):
        return [b for b in bounds if math.isfinite(b) and interval[0] <= b <= interval[1]]

    own = contained(reading.interval)
    low, high = reading.interval if own else reading.joint
    bound = (own or contained(reading.joint))[0]
    if 0 < len(reading.seeds) < FEWEST_SEEDS:
        return f"{len(reading.seeds)} seeds cannot tell it from {bound:.3g}"
    name = "the interval" if own else "the joint interval"
    return f"{name} [{low:.3g}, {high:.3g}] contains {bound:.3g}"


def _reduced(quantity, members):
    """The readings that are judged. One without a number may have been any of them."""
    if "reduce" not in quantity:
        return members
    none = [one for one in members if not one.has_number]
    if none:
        return none[:1]
    reduce = quantity["reduce"]
    if reduce == "share":
        return [_share(members, quantity["low"], quantity["high"])]
    if reduce == "greatest_magnitude":
        members = [_magnitude(one) for one in members]
    pick = min if reduce == "least" else max
    return [pick(members, key=VALUE)]


def _share(members, low, high):
    """The share of the readings between `low` and `high`, of no single place."""
    inside = sum(low <= one.value <= high for one in members)
    whole = {"point": None, "place": None}
    evidence = [{**entry, **whole} for entry in members[0].evidence[:1]]
    return Reading({}, inside / len(members), None, members[0].why, evidence)


def _magnitude(reading):
    def magnitudes(interval):
        if interval is None:
            return None
        ends = sorted(map(abs, interval))
        return (0.0 if interval[0] <= 0 <= interval[1] else ends[0], ends[1])

    return replace(
        reading,
        value=abs(reading.value),
        interval=magnitudes(reading.interval),
        joint=magnitudes(reading.joint),
    )


# ---- conditions -------------------------------------------------------------


def label_text(value):
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else ledger.number_text(value)


def labels_text(labels):
    """"variant = exact, workload = uniform"; empty: no labels."""
    return ", ".join(f"{name} = {label_text(value)}" for name, value in labels.items())


def _in_state(groups, state):
    return [group for group in groups if group.state == state]


def _names(groups):
    """"a = 1, b = 2; a = 2, b = 3"."""
    return "; ".join(labels_text(group.labels) for group in groups)


def _verdict(per, groups, remedy):
    holding, failing, undecided = (
        _in_state(groups, state) for state in (HOLDS, FAILS, UNDECIDED)
    )
    if len(holding) == len(groups):
        return Verdict(HOLDS)
    if len(failing) == len(groups):
        return Verdict(FAILS)
    # Noise is no condition: only what fails elsewhere holds only somewhere.
    condition = _condition(per, holding + failing) if holding and failing else ""
    if not undecided:
        if READING in per:
            return Verdict(DEPENDS, f"it holds if {condition}")
        return Verdict(HOLDS_ONLY_IF, condition)
    is_wide = all(group.is_wide for group in undecided)
    kind = UNDECIDED if is_wide else NOT_MEASURABLE
    if not holding:
        why = _reasons(undecided, len(groups), remedy)
        if failing:
            few = len(failing) <= MOST_NAMED
            named = _names(failing) if few else f"{len(failing)} others"
            why += f", and it fails for {named}"
        return Verdict(kind, why)
    apart = (
        f"undecided for {_names(undecided)}: "
        + _reasons(undecided, len(undecided), remedy)
    )
    if failing:
        return Verdict(HOLDS_ONLY_IF, f"{condition} ({apart})")
    return Verdict(kind, f"holds for {_names(holding)}, {apart}")


def _reasons(undecided, num_all, remedy):
    """Why groups have no verdict, and which where that is not all of them. Intervals
    are all different: the first is told.
    """
    by_why = {}
    for group in undecided:
        by_why.setdefault("" if group.is_wide else group.why, []).append(group)
    texts = []
    for groups in by_why.values():
        first = groups[0]
        named = groups[:1] if first.is_wide else groups
        text = first.why
        if _names(named) and len(named) < num_all:
            text += f" ({_names(named)})"
        if first.is_wide:
            text += f", and {len(groups) - 1} more like it" if len(groups) > 1 else ""
            # No longer run adds a seed to what was trained.
            text += f"; {remedy}" if remedy and not first.least.seeds else ""
        texts.append(text)
    return ", ".join(texts)


def _values(groups, label):
    return list({label_text(group.labels[label]): None for group in groups})


def _set_text(label, values):
    if len(values) == 1:
        return f"{label} = {values[0]}"
    return f"{label} in {{{', '.join(values)}}}"


def _condition(per, groups):
    """Says for what the groups hold: "a = 1 and b in {2, 3}" where those that hold are all
    with these values; else values of labels with which all do, then what is left.
    """
    holding = _in_state(groups, HOLDS)
    described, texts = groups, []
    for label in per:
        values = _values(holding, label)
        if len(values) == len(_values(groups, label)):
            continue
        texts.append(_set_text(label, values))
        described = [one for one in described if label_text(one.labels[label]) in values]
    if len(described) == len(holding):
        return " and ".join(texts)
    left, texts = holding, []
    for label in per:
        for value in _values(left, label):
            having = [one for one in groups if label_text(one.labels[label]) == value]
            chosen = [one for one in left if label_text(one.labels[label]) == value]
            if len(chosen) > 1 and having == _in_state(having, HOLDS):
                texts.append(_set_text(label, [value]))
                left = [one for one in left if one not in chosen]
    return "; or ".join([*texts, *(labels_text(one.labels) for one in left)])


def _under_all_conditions(conditional, remedy):
    """`conditional` are (part, Judged) that hold for some groups each."""
    part, finest = max(conditional, key=lambda pair: len(pair[0].get("per", [])))
    per = part.get("per", [])
    if finest.groups and all(set(one.get("per", [])) <= set(per) for one, _ in conditional):
        together = [
            _worst(group, [judged for _, judged in conditional])
            for group in finest.groups
        ]
        return _verdict(per, together, remedy)
    texts = [judged.verdict.text for _, judged in conditional]
    if len(texts) > 1:
        texts = [f"({text})" if "; or " in text else text for text in texts]
    return Verdict(HOLDS_ONLY_IF, " and ".join(texts))


def _of_same_groups(own, remedy):
    """The verdict on the groups of parts that all have the same labels, where for some of
    them all parts hold and for others one fails, or one fails for each; else None.
    """
    per = own[0][0].get("per", [])
    of_parts = [judged for _, judged in own]
    if not per or any(part.get("per", []) != per for part, _ in own) or not all(
            one.groups for one in of_parts):
        return None
    together = _verdict(
        per, [_worst(group, of_parts) for group in of_parts[0].groups], remedy)
    return together if together.kind in (FAILS, HOLDS_ONLY_IF) else None


def _worst(group, judged):
    """The group with the worst that a part says of it, or of a group that has it."""
    badness = {HOLDS: 0, UNDECIDED: 1, FAILS: 2}
    of_it = [
        other
        for one in judged
        for other in one.groups
        if other.labels.items() <= group.labels.items()
    ]
    worst = max([group, *of_it], key=lambda one: badness[one.state])
    return replace(group, state=worst.state, why=worst.why, is_wide=worst.is_wide)
