"""Quantities of a ledger that are made of ratios of times: `of` over `to`, two cells of
one point, paired in their rounds or processes.
"""

import math
from dataclasses import replace
from functools import partial

import numpy

from attnbench.analysis import fits, intervals, series, whole_decoders
from attnbench.judge import readings, selected
from attnbench.judge.readings import Reading, Readings, of_chance


def time_ratio(part, document, published):
    pairs, none = selected.pairs(document, part["quantity"])
    return Readings(_time_ratios(pairs), none)


def _time_ratios(pairs):
    def one(pair, miss):
        if pair.why:
            return without(pair)
        return reading(pair.labels, pair.ratio().at(miss).exp(), pair.evidence)

    return [of_chance(partial(one, pair), len(pairs)) for pair in pairs]


def reading(labels, span, evidence):
    return Reading(labels, span.value, (span.low, span.high), "", evidence)


def without(one, labels=None, why=None):
    """The reading of a cell or pair, or of several, that has no number."""
    if isinstance(one, list):
        return Reading(labels, why=why, evidence=selected.evidence_of(one))
    return Reading(one.labels, why=one.why, evidence=one.evidence)


# ---- groups of ratios -------------------------------------------------------


def _of_groups(one):
    """A figure of each group of the part: `one` takes (quantity, labels, pairs, miss)."""

    def kind(part, document, published):
        pairs, none = selected.pairs(document, part["quantity"])
        per = part.get("per", [])
        groups = readings.grouped(
            pairs, lambda pair: {name: pair.labels[name] for name in per}
        )
        return Readings(_figures(part["quantity"], groups, one), none)

    return kind


def _figures(quantity, groups, one):
    found = []
    for labels, members in groups:
        why = selected.why_not(members)
        found.append(
            without(members, labels, why)
            if why
            else of_chance(partial(one, quantity, labels, members), len(groups))
        )
    return found


def _rank_correlation(quantity, labels, pairs, miss):
    x = [pair.labels[quantity["against"][0]] for pair in pairs]
    found = series.figure(
        [pair.log_ratios() for pair in pairs],
        miss,
        series.RATIO,
        lambda logs: series.rank_correlation(x, logs),
    )
    return reading(labels, found, selected.evidence_of(pairs))


def _place_of_greatest(quantity, labels, pairs, miss):
    """The interval has the places of all that may be the greatest: their ratio's
    interval reaches as far as that of the greatest.
    """
    found = [pair.ratio().at(miss / len(pairs)) for pair in pairs]
    places = [readings.formula_value(quantity["over"], pair.labels) for pair in pairs]
    top = max(range(len(pairs)), key=lambda n: found[n].value)
    may_be = [place for place, one in zip(places, found) if one.high >= found[top].low]
    return Reading(
        {**pairs[top].labels, **labels},
        places[top],
        (min(may_be), max(may_be)),
        "",
        pairs[top].evidence,
    )


# ---- along an axis ----------------------------------------------------------


def _along(pairs, axes):
    """Pairs that agree in all labels but those of the axes, in the first one's order."""
    groups = readings.grouped(
        pairs, lambda pair: {k: v for k, v in pair.labels.items() if k not in axes}
    )
    return [
        (labels, sorted(members, key=lambda pair: float(pair.labels[axes[0]])))
        for labels, members in groups
    ]


def _of_lines(one):
    """A figure of the pairs along axes: `one` is as in _of_groups."""

    def kind(part, document, published):
        quantity = part["quantity"]
        pairs, none = selected.pairs(document, quantity)
        pooled = [quantity["mean_of"]] if "mean_of" in quantity else []
        groups = _along(pairs, [*quantity["against"], *pooled])
        return Readings(_figures(quantity, groups, one), none)

    return kind


def _trend(quantity, labels, pairs, miss):
    """The least-squares slope of ln(ratio) against ln(axis): of the mean of ln(ratio)
    where several pairs of a point have one `of` in common.
    """
    axis = quantity["against"][0]
    points = readings.grouped(pairs, lambda pair: {axis: pair.labels[axis]})
    if len(points) < 2:
        return without(pairs, labels, f"there is only one value of {axis}")
    if any(len({pair.of.cell["point"] for pair in some}) > 1 for _, some in points):
        why = f"not all {quantity.get('mean_of')} were timed in the same rounds"
        return without(pairs, labels, why)
    x = numpy.log([float(point[axis]) for point, _ in points])
    ratios = [
        numpy.mean([pair.log_ratios() for pair in some], axis=0) for _, some in points
    ]
    # What builds and runs do is half in the time in common, half in the others.
    count = series.TIME * (1 + 1 / min(len(some) for _, some in points))
    found = series.linear(ratios, fits.slope_weights(x), count)
    return reading(labels, found.at(miss), selected.evidence_of(pairs))


def _break_even(quantity, labels, pairs, miss):
    """The value of an axis at which a ratio is 1, over a formula."""
    axis = quantity["against"][0]
    values = [pair.labels[axis] for pair in pairs]
    x = numpy.log(values)
    found = series.figure(
        [pair.log_ratios() for pair in pairs],
        miss,
        series.RATIO,
        lambda logs: _crossings(x, logs),
    )
    if math.isinf(found.value):
        why = f"the ratio is not 1 for any {axis} from {values[0]:g} to {values[-1]:g}"
        return without(pairs, labels, why)
    place = found.exp().over(readings.formula_value(quantity["over"], labels))
    return reading(labels, place, selected.evidence_of(pairs))


def _crossings(x, logs):
    """x where each column of logs [x, n] first crosses 0, linear between two values;
    where it crosses nowhere, beyond the end at which it is nearer to 0.
    """
    nearer_end = numpy.abs(logs[-1]) < numpy.abs(logs[0])
    found = numpy.where(nearer_end, math.inf, -math.inf)
    for n in reversed(range(1, len(x))):
        before, after = logs[n - 1], logs[n]
        crosses = (before > 0) != (after > 0)
        share = before / numpy.where(crosses, before - after, 1)
        found = numpy.where(crosses, x[n - 1] + (x[n] - x[n - 1]) * share, found)
    return found


# ---- whole decoders ---------------------------------------------------------


def whole_over_part(part, document, published):
    """The ratio of whole decoders over that of their attention, where the attention of
    `to` is faster: what is no speed-up bounds none.
    """
    pairs, none = selected.pairs(document, part["quantity"])
    if not pairs:
        return Readings([], none)
    missing, faster = [], []
    for pair in pairs:
        of, to = (whole_decoders.attention(side.cell) for side in (pair.of, pair.to))
        if pair.why:
            missing.append(without(pair))
        elif not (of["samples_ns"] and to["samples_ns"]):
            why = "the attention was not timed in the rounds of the whole"
            missing.append(without([pair], pair.labels, why))
        elif intervals.center(series.log_ratios(of, to))[0] >= 0:
            faster.append((pair, series.log_ratios(of, to)))

    def one(pair, of_attention, miss):
        # Both were timed in the same rounds, and each has the effects of a ratio.
        found = intervals.estimate(pair.log_ratios() - of_attention, "ratio", count=2)
        return reading(pair.labels, found.at(miss).exp(), pair.evidence)

    found = [of_chance(partial(one, *two), len(faster)) for two in faster]
    return Readings(
        missing + found,
        "attention alone is nowhere faster, so there is no speed-up to bound",
    )


def ratio_to_published(part, document, published):
    """A ratio of times over that of a published table."""
    quantity = part["quantity"]
    every, none = selected.pairs(document, quantity)
    rows, column = published.get(quantity["table"], []), quantity["column"]
    pairs, theirs = [], []
    for pair in every:
        of, to = (_published(rows, column, one.labels) for one in (pair.of, pair.to))
        if of is not None and to is not None:
            pairs.append(pair)
            theirs.append(of / to)
    if every and not pairs:
        none = f"no published table {quantity['table']} has these rows"
    def over(interval, ratio):
        return interval and tuple(end / ratio for end in interval)

    found = [
        replace(
            one,
            value=one.value / ratio,
            interval=over(one.interval, ratio),
            joint=over(one.joint, ratio),
        )
        for one, ratio in zip(_time_ratios(pairs), theirs)
    ]
    return Readings(found, none)


def _published(rows, column, labels):
    """The figure of a published table for what a cell is; None: it has no such row."""
    wanted = {**labels, "length": labels.get("memory_length")}
    for row in rows:
        keys = [key for key in ("mechanism", "num_contexts", "length") if key in row]
        if all(row[key] == wanted.get(key) for key in keys) and row[column] is not None:
            return row[column]
    return None


KINDS = {
    "time_ratio": time_ratio,
    "rank_correlation": _of_groups(_rank_correlation),
    "place_of_greatest": _of_groups(_place_of_greatest),
    "break_even": _of_lines(_break_even),
    "trend": _of_lines(_trend),
    "whole_over_part": whole_over_part,
    "ratio_to_published": ratio_to_published,
}
