"""Readings: what a quantity of a ledger comes down to, numbers that say what they are
of and where they stand; and the rows of documents that they are read from.
"""

import json
import math
from dataclasses import dataclass, field, replace

from attnbench.analysis.intervals import MISS, Span


@dataclass(frozen=True)
class Reading:
    labels: dict  # axis or other label -> value
    value: float = math.nan  # may be infinite; NaN: there is none
    # A number that chance moves has one: each end misses with probability MISS.
    interval: tuple | None = None
    why: str = ""  # why there is no number, or none to judge by
    evidence: list = field(default_factory=list)  # where it was read
    # A wider interval: those of all readings of the part together miss with that
    # probability. None: `interval` is it.
    joint: tuple | None = None
    # Of trained models: what each seed gave, and how far from a bound the value had to be
    # to be told from it, by `interval`.
    seeds: tuple = ()
    least_effect: float | None = None

    @property
    def has_number(self):
        return not math.isnan(self.value)


def of_chance(one, count):
    """One of `count` readings of a part; `one` makes it with an interval that misses with
    a given probability.
    """
    own, wide = one(2 * MISS), one(MISS / count)
    if own.interval is None or wide.interval is None:
        return own if wide.has_number else wide
    return replace(own, joint=wide.interval)


@dataclass(frozen=True)
class Readings:
    list: list
    none: str = ""  # why the list is empty
    waits_for: str = ""  # what somebody has to make before there are any
    needs: str = ""  # what the measurement lacks to decide


@dataclass(frozen=True)
class Document:
    """What a measurement gave."""

    measurement: str  # its name
    file: str | None  # the path as results tell it; None: it was not kept
    content: dict | None  # None: there is none,
    none: str = ""  # and why
    waits_for: str = ""  # what somebody has to make; empty: the program makes it

    def evidence(self, name, index, place=""):
        """Element `index` of a list of the document."""
        return {
            "measurement": self.measurement,
            "file": self.file,
            "point": self.content[name][index].get("point"),
            "place": f"{name}[{index}]" + (f": {place}" if place else ""),
        }


def field_of(row, name):
    """A member of a row, "options.NAME" of its options; None where there is none."""
    if name.startswith("options."):
        return row.get("options", {}).get(name.removeprefix("options."))
    return row.get(name)


def select(rows, selector):
    """The indices of the rows that match: each field has the value, one of the list of
    values, or, for the text "greatest" or "least", that value of the rows that match
    otherwise.
    """
    extremes = {"greatest": max, "least": min}
    plain = {k: v for k, v in selector.items() if not _is_in(v, list(extremes))}
    found = [
        index
        for index, row in enumerate(rows)
        if all(_matches(wanted, field_of(row, name)) for name, wanted in plain.items())
    ]
    for name, wanted in selector.items():
        if name in plain or not found:
            continue
        extreme = extremes[wanted](field_of(rows[index], name) for index in found)
        found = [index for index in found if field_of(rows[index], name) == extreme]
    return found


def _matches(wanted, value):
    return _is_in(value, wanted) if isinstance(wanted, list) else _is_in(value, [wanted])


def _is_in(value, values):
    # 1 is true in Python, and not in JSON.
    return any(
        value == one and isinstance(value, bool) == isinstance(one, bool)
        for one in values
    )


# Unit -> what its numbers lie between. Closed forms give probabilities beyond 1.
RANGES = {
    "bytes": (0, math.inf), "contexts": (0, math.inf), "correlation": (-1, 1),
    "entries": (0, math.inf), "exponent": (-math.inf, math.inf),
    "factor": (0, math.inf), "ns": (-math.inf, math.inf), "numbers": (0, math.inf),
    "of the gap": (-math.inf, math.inf), "of the source": (-1, 1), "percent": (0, 100), "points": (-100, 100),
    "probability": (0, math.inf), "quantities": (0, math.inf), "ratio": (0, math.inf),
    "share": (0, 1), "weight": (0, math.inf),
}


def range_of(part):
    return RANGES.get(part["unit"], (-math.inf, math.inf))


def within_bounds(part, one):
    """The reading with intervals that do not leave what numbers of its unit can be."""
    def cut(ends):
        if ends is None or not one.has_number:
            return ends
        span = Span(one.value, *ends).within(*range_of(part))
        return span.low, span.high
    return replace(one, interval=cut(one.interval), joint=cut(one.joint))


def grouped(items, labels_of):
    """[(labels, items)] of the items with equal labels, in the order of the first."""
    groups = {}
    for item in items:
        labels = labels_of(item)
        key = json.dumps({k: _plain(v) for k, v in labels.items()}, sort_keys=True)
        groups.setdefault(key, (labels, []))[1].append(item)
    return list(groups.values())


def _plain(value):
    # 1 and 1.0 are one number.
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number else value


FORMULAS = {
    "max(T, U)": lambda T, U, K, d: max(T, U),
    "T + U - 1": lambda T, U, K, d: T + U - 1,
    "T U / (T + U)": lambda T, U, K, d: T * U / (T + U),
    "U / T": lambda T, U, K, d: U / T,
    "2 U": lambda T, U, K, d: 2 * U,
    "d^2 T U": lambda T, U, K, d: d * d * T * U,
    "d T U": lambda T, U, K, d: d * T * U,
    "K d (T + U)": lambda T, U, K, d: K * d * (T + U),
}
_AXES = ("memory_length", "output_length", "num_contexts", "dim")


def formula_value(formula, labels):
    return FORMULAS[formula](*(labels.get(axis) for axis in _AXES))


def number(value):
    """A number of a document: "inf" or "-inf" where it is infinite, None for none."""
    return math.nan if value is None else float(value)


def number_json(value):
    """The same back."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def number_or_infinity(value):
    """What is not finite in a calculation stands as null: larger than any bound."""
    return math.inf if value is None else float(value)


def published_tables(papers):
    """The rows of every table of the papers, by its id."""
    tables = [table for paper in papers for table in paper["tables"]]
    return {table["id"]: table["rows"] for table in tables}
