"""The quantities of targets (measures.py) as readings of a ledger."""

from attnbench.analysis import load, measures
from attnbench.judge.readings import Reading, Readings


def reading(cell, measured, evidence=()):
    span, missing = measured.span, measured.missing
    interval = None if missing else (span.low, span.high)
    return Reading(cell, span.value, interval, missing, list(evidence))


def _read(part, document, published):
    frame = load.cells_of(document.content, document.file or document.measurement)
    cell, measured = measures.measure(part["quantity"], frame)
    index = next(n for n, one in enumerate(frame.to_dict("records")) if one == cell)
    labels = {key: cell[key] for key in frame if key not in load.OUTCOMES}
    evidence = [document.evidence("cells", index)]
    return Readings([reading(labels, measured, evidence)])


KINDS = dict.fromkeys((*measures.MEASURES, measures.MEAN), _read)
