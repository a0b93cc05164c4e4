"""The quantities of targets (measures.py) as readings of a ledger."""

from analysis import load, measures
from analysis.intervals import MISS
from analysis.judge.readings import Reading, Readings


def reading(cell, span, evidence=()):
    interval = None if span.missing else (span.low, span.high)
    return Reading(cell, span.value, interval, span.missing, list(evidence))


def _read(part, document, published):
    frame = load.cells_of(document.content, document.file or document.measurement)
    cell, span = measures.span_of(part["quantity"], frame, MISS)
    index = next(n for n, one in enumerate(frame.to_dict("records")) if one == cell)
    labels = {key: cell[key] for key in frame if key not in load.OUTCOMES}
    evidence = [document.evidence("cells", index)]
    return Readings([reading(labels, span, evidence)])


KINDS = dict.fromkeys(measures.MEASURES, _read)
