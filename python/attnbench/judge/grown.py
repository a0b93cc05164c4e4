"""Quantities of a ledger that are made of single cells: counts, how counts and times
grow along an axis, and times fitted to counts.
"""

import math
from functools import partial

import numpy

from attnbench.analysis import fits, series
from attnbench.judge import readings, selected
from attnbench.judge.ratios import reading, without
from attnbench.judge.readings import Reading, Readings, of_chance

# A fit has all mechanisms together, and all values of what counts depend on.
POOLED = ("mechanism", "memory_length", "output_length", "chunk_width", "num_contexts")


def _count(cell, name):
    """A count of a cell that is ok; None: it is not known."""
    owner = cell if name == "peak_memory_bytes" else cell["operations"] or {}
    return owner.get(name)


def _unknown(name):
    return f"{name} is not counted"


def count(part, document, published):
    quantity = part["quantity"]
    cells, none = selected.cells(document, quantity["of"])

    def one(cell):
        if cell.why:
            return without(cell)
        number = _count(cell.cell, quantity["field"])
        if number is None:
            return without([cell], cell.labels, _unknown(quantity["field"]))
        over = readings.formula_value(quantity["over"], cell.labels)
        return Reading(cell.labels, number / over, evidence=cell.evidence)

    return Readings([one(cell) for cell in cells], none)


# ---- along an axis ----------------------------------------------------------


def _against_axis(one):
    """Groups have cells that agree in all labels but those that they grow against."""

    def kind(part, document, published):
        quantity = part["quantity"]
        cells, none = selected.cells(document, quantity["of"])
        against = quantity["against"]
        groups = readings.grouped(
            cells,
            lambda cell: {k: v for k, v in cell.labels.items() if k not in against},
        )
        found = []
        for labels, members in groups:
            whys = [cell.why for cell in members if cell.why]
            found.append(
                without(members, labels, whys[0])
                if whys
                else of_chance(partial(one, quantity, labels, members), len(groups))
            )
        return Readings(found, none)

    return kind


def _exponent(quantity, labels, cells, miss):
    axis, field = quantity["against"][0], quantity["field"]
    y = [1.0] * len(cells)
    if field != "time":
        y = [_count(cell.cell, field) for cell in cells]
        if None in y:
            return without(cells, labels, _unknown(field))
        # w = 1 has no chunk energies.
        cells, y = [c for c, n in zip(cells, y) if n], [n for n in y if n]
    lengths = [float(cell.labels[axis]) for cell in cells]
    if len(set(lengths)) < 2:
        return without(cells, labels, f"there are not two values of {axis}")
    if field != "time":
        evidence = selected.evidence_of(cells)
        exact = float(fits.slope(numpy.log(lengths), numpy.log(y)))
        return Reading(labels, exact, evidence=evidence)
    found = fits.exponent([series.logs(cell.cell) for cell in cells], lengths)
    return reading(labels, found.at(miss), selected.evidence_of(cells))


def _time_growth(quantity, labels, cells, miss):
    """The time at the greatest value of the axis over that at the least, each without
    what is done once for a memory where that is asked for.
    """
    axis = quantity["against"][0]
    ends = [
        pick(cells, key=lambda cell: float(cell.labels[axis])) for pick in (max, min)
    ]
    if ends[0].labels[axis] == ends[1].labels[axis]:
        return without(cells, labels, f"there are not two values of {axis}")
    times = [series.logs(end.cell, quantity["without_preparation"]) for end in ends]
    found = series.linear(times, (1, -1), series.TIME)
    if not math.isfinite(found.value):
        return without(ends, labels, "the preparation takes all of the time")
    return reading(labels, found.at(miss).exp(), selected.evidence_of(ends))


# ---- fit --------------------------------------------------------------------


def fit(part, document, published):
    """Times fitted to counts (fits.py): a coefficient, or the greatest |time - line| / time."""
    quantity = part["quantity"]
    cells, none = selected.cells(document, quantity["of"])
    groups = readings.grouped(
        cells,
        lambda cell: {
            name: cell.labels[name]
            for name in selected.label_names(document)
            if name not in POOLED and all(c.labels[name] is not None for c in cells)
        },
    )
    return Readings(
        [of_chance(partial(_fit, quantity, *group), len(groups)) for group in groups],
        none,
    )


def _fit(quantity, labels, cells, miss):
    terms, give = quantity["terms"], quantity["give"]
    why = selected.why_not(cells)
    counts = [[_count(c.cell, term) for term in terms] for c in cells] if not why else []
    for row in counts:
        why = why or next((_unknown(t) for t, n in zip(terms, row) if n is None), "")
    if not why and len(cells) <= len(terms) + 1:
        why = "too few cells for the terms"
    if why:
        return without(cells, labels, why)
    design = numpy.array([[1.0, *row] for row in counts])
    times = [series.logs(cell.cell) for cell in cells]
    if not fits.tells_terms(design, fits.times(times)):
        return without(cells, labels, "the terms depend on each other")

    def figure(logs):
        times = numpy.exp(logs).T
        found = fits.solve(design, times)
        if give == "residual":
            return (numpy.abs(times - found @ design.T) / times).max(axis=1)
        return found[:, 1 + terms.index(give)]

    # Times of one point are of the same rounds.
    points = [cell.cell["point"] for cell in cells]
    rounds = [points.index(point) for point in points]
    found = series.figure(times, miss, series.TIME, figure, rounds, has_state=True)
    return reading(labels, found, selected.evidence_of(cells))


KINDS = {
    "count": count,
    "exponent": _against_axis(_exponent),
    "time_growth": _against_axis(_time_growth),
    "fit": fit,
}
