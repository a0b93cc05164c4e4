"""The cells of two results that are the same measurement, their names, and the numbers of
theirs that must depend on neither machine nor moment.
"""

import json
from dataclasses import dataclass

from attnbench.analysis import load, settings

# What tells a cell from all others of its sweep, and finds it in another result.
IDENTITY = load.CELL["identity"]
# Only the closed form reads these (mechanisms/monotonic/parallel_selection.cc). Results
# from before them have the same cells, so elsewhere they do not count at their defaults.
OF_PARALLEL = {"preset": "none", "term_eps": 1e-10, "denominator_eps": 1e-10}
SUMS = ("attention_mass", "context_sum", "context_l2")
# By what share of it a sum may differ from that of another machine: by rounding.
ROUNDING = {"f32": 1e-5, "f64": 1e-10}


@dataclass
class Matched:
    both: list  # (cell of a, cell of b), in a's order
    only_a: list
    only_b: list


def match(a, b):
    """Matches two documents, each as (path, document)."""
    of_a, of_b = (_by_key(*one) for one in (a, b))
    return Matched(
        [(cell, of_b[key]) for key, cell in of_a.items() if key in of_b],
        [cell for key, cell in of_a.items() if key not in of_b],
        [cell for key, cell in of_b.items() if key not in of_a])


def _by_key(path, document):
    cells = {}
    for index, cell in enumerate(document["cells"]):
        key = _key(cell)
        if key in cells:
            raise load.DataError(f"{path}: cells[{index}]", "is there twice")
        cells[key] = cell
    return cells


def _key(cell):
    options = {
        name: value for name, value in cell["options"].items()
        if cell["variant"] == "parallel" or OF_PARALLEL.get(name) != value}
    return json.dumps([*(cell.get(name) for name in IDENTITY if name != "options"),
                       sorted(options.items())])


def identity(cell):
    return {name: cell[name] for name in IDENTITY if name in cell}


def is_ok(cell):
    return cell["status"] == "ok"


class Names:
    """Short names, "mocha T=10 w=4 f64", of rows that have an identity: the mechanism, and
    the axes and options that differ between the rows.
    """

    def __init__(self, rows):
        self._values = {}
        for row in rows:
            for key, value in self._settings(row):
                self._values.setdefault(key, set()).add(value)

    def of(self, row):
        words = [row["mechanism"]]
        for key, value in self._settings(row):
            # Others have no policy, which is another value of it.
            if len(self._values[key]) > 1 or key[1:] == ("policy",):
                words.append(_axis_text(key, value) if isinstance(key, str)
                             else f"{key[1]}={_text(value)}")
        return " ".join(words)

    @staticmethod
    def _settings(row):
        for name in IDENTITY:
            if name in load.AXES and row.get(name) is not None:
                yield name, row[name]
        for name, value in sorted(row["options"].items()):
            yield (row["mechanism"], name), value


def _axis_text(axis, value):
    if axis in settings.LETTERS:
        return f"{settings.LETTERS[axis]}={value}"
    return value if isinstance(value, str) else f"{axis}={value}"


def _text(value):
    return value if isinstance(value, str) else load.json_text(value)


def number_changes(a, b):
    """Gives {"field", "a", "b"} for the status of two cells, or, of two that are ok, for
    each count and each sum over the output that differs.
    """
    if a["status"] != b["status"]:
        return [_change("status", a["status"], b["status"])]
    if not is_ok(a):
        return []
    of_a, of_b = (cell["operations"] or {} for cell in (a, b))
    found = [_change(f"operations.{name}", of_a.get(name), of_b.get(name))
             for name in {**of_a, **of_b}]
    found.append(_change("decoder.reads", *(
        (cell.get("decoder") or {}).get("reads") for cell in (a, b))))
    latencies = [cell.get("latency") for cell in (a, b)]
    # Older results have no latency of whole decoders.
    if not a.get("decoder") or None not in latencies:
        found.append(_change("latency", *latencies))
    name = "peak_memory_bytes"
    found.append(_change(name, a.get(name), b.get(name)))
    found = [one for one in found if one["a"] != one["b"]]
    sums = [{name: cell["numerics"].get(name) for name in SUMS} for cell in (a, b)]
    return found + [_change(f"numerics.{name}", *(one[name] for one in sums))
                    for name in SUMS if not _is_same_sum(name, a["precision"], *sums)]


def _change(field, a, b):
    return {"field": field, "a": a, "b": b}


def _is_same_sum(name, precision, a, b):
    """Contexts have numbers of either sign, whose sum may nearly cancel: it may differ by
    as much of context_l2.
    """
    if a[name] is None or b[name] is None:
        return a[name] == b[name]
    sizes = [a[name], b[name]]
    if name == "context_sum":
        sizes += [a["context_l2"] or 0, b["context_l2"] or 0]
    return abs(a[name] - b[name]) <= ROUNDING[precision] * max(map(abs, sizes))
