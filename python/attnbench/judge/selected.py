"""Cells of sweeps that a quantity of a ledger picks: alone, or in pairs that were timed
in the same rounds.
"""

from dataclasses import dataclass, field

from attnbench.analysis import load, series, whole_decoders
from attnbench.judge import readings


@dataclass(frozen=True)
class Cell:
    cell: dict  # of the document
    labels: dict  # mechanism, axes, "options.NAME"
    evidence: list = field(default_factory=list)
    why: str = ""  # it has no numbers; empty: it has


@dataclass(frozen=True)
class Pair:
    of: Cell
    to: Cell
    # The labels are those of `of`, and where it has none those of `to`; the mechanism
    # is that of `to` where its selector has several.
    labels: dict
    evidence: list
    why: str = ""

    def log_ratios(self):
        return series.log_ratios(self.of.cell, self.to.cell)

    def ratio(self):
        return series.ratio(self.of.cell, self.to.cell)


def cells(document, selector):
    """(the cells that match, why there is none). What cannot be measured at all is
    no reading, so skipped cells are left out.
    """
    rows = document.content["cells"]
    names = label_names(document)
    found, none = [], ""
    for index in readings.select(rows, selector):
        cell = rows[index]
        why = _why_no_numbers(cell)
        if cell.get("status", "ok") == "skipped":
            none = none or why
        else:
            evidence = [document.evidence("cells", index)]
            found.append(Cell(cell, _labels(cell, names), evidence, why))
    return found, none or ("" if found else f"no cell is {load.json_text(selector)}")


def pairs(document, quantity):
    """(pairs of cells of one point, why there is none). Axes agree that neither
    selector names; one that a mechanism does not declare agrees with anything.
    """
    of, to = quantity["of"], quantity["to"]
    of_cells, none_of = cells(document, of)
    to_cells, none_to = cells(document, to)
    free = {"mechanism", *of, *to}
    names = [name for name in label_names(document) if name not in free]
    several = isinstance(to.get("mechanism"), list)
    # Not all pairs are looked at: these must be equal anyway.
    whole = [name for name in names
             if all(one.labels[name] is not None for one in of_cells + to_cells)]
    by_key = {}
    for b in to_cells:
        by_key.setdefault(_key(b, whole), []).append(b)
    found = [
        _pair(a, b, several)
        for a in of_cells
        for b in by_key.get(_key(a, whole), ())
        if _agree(a, b, names)
    ]
    if not found and of_cells and to_cells:
        return [], "no point has a cell of both"
    return found, none_of or none_to


def label_names(document):
    # As load.OUTCOMES says, all other keys of a cell are its axes. Those of whole
    # decoders have some that others have not.
    names = dict.fromkeys(key for cell in document.content["cells"] for key in cell)
    return [name for name in names if name not in (*load.OUTCOMES, "options")]


def _labels(cell, names):
    options = {f"options.{key}": value for key, value in cell.get("options", {}).items()}
    return {**{name: cell.get(name) for name in names}, **options}


def _why_no_numbers(cell):
    status = cell.get("status", "ok")
    if status != "ok":
        return f"{status}: {cell.get('message') or '-'}"
    return whole_decoders.why_not_as_trained(cell)


def _key(one, names):
    return (one.cell.get("point"), *(one.labels[name] for name in names))


def _agree(a, b, names):
    sides = ((a.labels[name], b.labels[name]) for name in names)
    return all(None in side or side[0] == side[1] for side in sides)


def _pair(of, to, mechanism_of_to):
    labels = dict(of.labels)
    for name, value in to.labels.items():
        if labels.get(name) is None:
            labels[name] = value
    if mechanism_of_to:
        labels["mechanism"] = to.labels["mechanism"]
    why = of.why or to.why
    if not why and series.logs(of.cell).shape != series.logs(to.cell).shape:
        why = "the two were not timed in the same rounds"
    return Pair(of, to, labels, of.evidence + to.evidence, why)


def why_not(some):
    """Why cells as a whole, or pairs, say nothing of times; empty: they do."""
    return next((one.why for one in some if one.why), "")


def evidence_of(some):
    return [entry for one in some for entry in one.evidence]
