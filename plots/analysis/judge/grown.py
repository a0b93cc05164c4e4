"""Quantities of a ledger that are made of single cells: counts, how counts and times
grow along an axis, and times fitted to counts.
"""

import numpy

from analysis import fits, series
from analysis.intervals import MISS
from analysis.judge import readings, selected
from analysis.judge.ratios import reading, without
from analysis.judge.readings import Reading, Readings

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
                else one(quantity, labels, members, MISS / len(groups))
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
    x = numpy.log([float(cell.labels[axis]) for cell in cells])
    if len(set(x.tolist())) < 2:
        return without(cells, labels, f"there are not two values of {axis}")
    if field != "time":
        evidence = selected.evidence_of(cells)
        return Reading(labels, float(fits.slope(x, numpy.log(y))), evidence=evidence)
    times = [series.logs(cell.cell) for cell in cells]
    if not series.have_equal_shapes(times):
        return without(cells, labels, selected.NO_SAME_ROUNDS)
    figure = series.linear_figure(
        times, miss, series.TIME, lambda logs: fits.slope(x, logs)
    )
    return reading(labels, figure, selected.evidence_of(cells))


def _time_growth(quantity, labels, cells, miss):
    """The time at the greatest value of the axis over that at the least, the ends of
    the two intervals crosswise.
    """
    axis = quantity["against"][0]
    ends = [
        pick(cells, key=lambda cell: float(cell.labels[axis])) for pick in (max, min)
    ]
    if ends[0].labels[axis] == ends[1].labels[axis]:
        return without(cells, labels, f"there are not two values of {axis}")
    without_preparation = quantity["without_preparation"]
    after, before = (time(end.cell, without_preparation, miss / 2) for end in ends)
    if not (before.low > 0 and after.low > 0):
        return without(ends, labels, "the preparation may take all of the time")
    grown = series.Estimate(
        after.value / before.value, after.low / before.high, after.high / before.low
    )
    return reading(labels, grown, selected.evidence_of(ends))


def time(cell, without_preparation, miss):
    """A cell's time, without what is done once for a memory where that is asked for:
    it was timed apart from the rounds, so the ends of the two intervals are taken
    crosswise, and they share the miss.
    """

    def of(key, miss):
        return series.center_with_layout(
            series.logs(cell, key), miss, series.TIME
        ).exp()

    if not (without_preparation and cell["prepare_ns"]):
        return of("samples_ns", miss)
    whole, part = of("samples_ns", miss / 2), of("prepare_samples_ns", miss / 2)
    return series.Estimate(
        whole.value - part.value, whole.low - part.high, whole.high - part.low
    )


# ---- fit --------------------------------------------------------------------


def fit(part, document, published):
    """Times fitted to counts (fits.py): a coefficient, or the largest residual."""
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
        [_fit(quantity, *group, MISS / len(groups)) for group in groups], none
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
    medians = numpy.array([cell.cell["median_ns"] for cell in cells])
    if not fits.tells_terms(design, medians):
        return without(cells, labels, "the terms depend on each other")
    if give == "residual":
        found = _residual(design, medians, cells, miss)
    else:
        at = 1 + terms.index(give)
        found = series.figure(
            [series.logs(cell.cell) for cell in cells],
            miss,
            series.TIME,
            lambda logs: fits.solve(design, numpy.exp(logs).T)[:, at],
        )
    return reading(labels, found, selected.evidence_of(cells))


def _residual(design, medians, cells, miss):
    """The greatest |time - line| / time; of each time's interval the ends that lie
    nearest to the line and farthest from it.
    """
    line = design @ fits.solve(design, medians[None])[0]
    times = [time(cell.cell, False, miss / len(cells)) for cell in cells]
    low, high = (numpy.array([getattr(t, end) for t in times]) for end in ("low", "high"))

    def distance(at):
        return numpy.abs(at - line) / at

    near = distance(numpy.clip(line, low, high))
    far = numpy.maximum(distance(low), distance(high))
    return series.Estimate(
        float(distance(medians).max()), float(near.max()), float(far.max())
    )


KINDS = {
    "count": count,
    "exponent": _against_axis(_exponent),
    "time_growth": _against_axis(_time_growth),
    "fit": fit,
}
