"""Quantities of a ledger that are made of a published table, and of times beside it: how
far all cells of a figure are from what a paper's figure shows.
"""

from functools import partial

import numpy

from attnbench.analysis import series
from attnbench.analysis.intervals import Span
from attnbench.judge import ratios, readings, selected
from attnbench.judge.readings import Reading, Readings, of_chance

# Figures of the logarithms of ours over the published, [cell, n]; x are the published.
FIGURES = {
    "rms_factor": lambda x, y: numpy.exp(numpy.sqrt(((y - x) ** 2).mean(axis=0))),
    "mean_factor": lambda x, y: numpy.exp((y - x).mean(axis=0)),
    # How far one factor is from being that of every cell.
    "spread": lambda x, y: numpy.exp((y - x).std(axis=0)),
    "rank_correlation": lambda x, y: series.rank_correlation(x[:, 0], y),
}


def to_published(part, document, published):
    """A figure of each group of the part, over all rows of a table: of ratios of two cells,
    or of times of `trials` trials in seconds.
    """
    quantity, per = part["quantity"], part.get("per", [])
    if "to" in quantity:
        found, none = selected.pairs(document, quantity)
    else:
        found, none = selected.cells(document, quantity["of"])
    rows = published[quantity["table"]]
    axes = [name for name in rows[0] if found and name in found[0].labels]
    groups = readings.grouped(
        found, lambda one: {name: one.labels[name] for name in per})
    whole = [(labels, _in_order(members, rows, axes)) for labels, members in groups]
    lacking = [some for _, some in whole if None in some]
    if lacking:
        there = len(rows) - lacking[0].count(None)
        return Readings([], needs=f"all {len(rows)} cells of the figure, and has {there}")
    return Readings([
        of_chance(partial(_figure, quantity, labels, members, rows), len(groups))
        for labels, members in whole
    ], none)


def _in_order(members, rows, axes):
    """The member of each row; None where there is none."""
    by_place = {tuple(one.labels[axis] for axis in axes): one for one in members}
    return [by_place.get(tuple(row[axis] for axis in axes)) for row in rows]


def _figure(quantity, labels, members, rows, miss):
    why = selected.why_not(members)
    if why:
        return ratios.without(members, labels, why)
    theirs = numpy.log([[row[quantity["column"]]] for row in rows])
    is_ratio = "to" in quantity
    logs = [one.log_ratios() if is_ratio else
            series.logs(one.cell) + numpy.log(quantity["trials"] / 1e9)
            for one in members]
    # All times of a round are moved together as far as they were.
    span = series.figure(
        logs, miss, series.RATIO if is_ratio else series.TIME,
        lambda ours: FIGURES[quantity["figure"]](theirs, ours),
        rounds=[0] * len(logs), has_state=not is_ratio)
    # Redrawing adds to what the numbers differ by already, so all that is drawn may lie
    # on one side of the number.
    span = Span(span.value, min(span.low, span.value), max(span.high, span.value))
    return ratios.reading(labels, span, selected.evidence_of(members))


def published_figure(part, document, published):
    """Each number of a column; or, against an axis, their rank correlation."""
    quantity = part["quantity"]
    rows, column = published[quantity["table"]], quantity["column"]
    axes = quantity.get("against")
    if axes is None:
        return Readings([
            Reading({name: value for name, value in row.items() if name != column},
                    float(row[column])) for row in rows])
    values = numpy.array([[row[column]] for row in rows])
    found = series.rank_correlation([row[axes[0]] for row in rows], values)
    return Readings([Reading({}, float(found[0]))])


KINDS = {"to_published": to_published, "published": published_figure}
