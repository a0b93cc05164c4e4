"""Results as pandas frames, and the speed-ups in them."""

import functools
import math
import os

import numpy

from attnbench import tables
from attnbench.analysis import load as source, printed, reads, schema, series
from attnbench.analysis.load import DataError
from attnbench.analysis.pairing import BASELINE

# The table that a kind gives where none is named; else it is the first list of objects.
MAIN = {
    "check": "time.ratios",
    "compare": "rows",
    "expect": "attention",
    "published": "tables.rows",
    "roofline": "limits.levels",
    "verify": "cases.quantities",
}
# Members of a document that are no table: what it is, and where it was measured.
HEAD = ("schema_version", "kind")
# Cells that agree on these do the same thing, and are compared with each other.
GROUP = source.CELL["group"]

# What speedups() adds to cells.
SPEEDUP = {"over": int, "over_mechanism": object, "speedup": float, "speedup_low": float,
           "speedup_high": float, "zero_contexts": float}


def load(paths, table=None):
    """Gives a table of results as a pandas frame without nested columns.

    `paths` is a file, or a list of files of one kind: what a command of attnbench wrote
    with -o, or printed as JSON. Without `table` it is the kind's main table, such as
    "cells" of a sweep or "claims" of claims; attrs["tables"] names all that it has, such
    as "cells.samples_ns". "document" has a row for each file, with what is in no list.

    Columns have the names of the members of the JSON, with the units in them; "path" is
    the file, and the ends of an interval of 95 percent are "low" and "high". What is
    missing is NaN or None. docs/results.md explains the members, and tables.py the names.

    attrs has what is in no list, and of results with a context `valid`, `commit`,
    `machine` (the processor) and all of `context`. Of several files it has that by path
    in `files`, and in `valid` whether all of them are.

    Raises DataError, which names the file and the place.
    """
    kind, documents = _read(paths)
    return _frame(kind, documents, table)


def speedups(paths):
    """Gives how many times as fast as soft attention each cell of sweeps is.

    A row for each timed cell that has another one to be compared with: the row of
    load(paths) with the same number, and

    over            the number of the row it is compared with: soft attention of the same
                    point, mode, scope, precision and threads, or else the first mechanism
                    there; of several the one with the most axes in common
    over_mechanism  its mechanism
    speedup         its time over that of the cell, by the ratios of the same rounds; NaN
                    where they were not measured in the same rounds
    speedup_low, speedup_high  the interval of 95 percent, which includes how much times
                    differ between runs and builds; NaN for a single round
    zero_contexts   the share of outputs without a context; above 0.05 the speed-up is
                    partly that of a decoder that attends to nothing; NaN where unknown

    These are the numbers of `attnbench show --format csv` (harness/answers/table.h).
    Raises DataError, as load does.
    """
    kind, documents = _read(paths, "sweep")
    cells = _frame(kind, documents, "cells")
    found = {}
    first = 0
    for document in documents.values():
        timed = dict(enumerate(document["cells"], first))
        first += len(timed)
        for group in _groups(timed).values():
            found |= _speedups_of(group, document["context"])
    rows = sorted(found)
    chosen = cells.loc[rows].assign(**{
        name: numpy.array([found[row][place] for row in rows], dtype)
        for place, (name, dtype) in enumerate(SPEEDUP.items())})
    chosen.attrs = cells.attrs
    return chosen


# ---- reading ----------------------------------------------------------------


def listed(paths):
    """Gives the paths of one file, or of several, as texts."""
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not several:
        raise DataError("paths", "is empty, it must name at least one result")
    return [os.fspath(path) for path in several]


def _read(paths, *kinds):
    """Gives the kind of the files, and the documents by path, checked."""
    found, documents = {}, {}
    for path in listed(paths):
        documents[path] = source.read_json(path)
        found.setdefault(_checked_kind(documents[path], path, kinds), path)
    if len(found) > 1:
        (kind, first), (other, path), *_ = found.items()
        raise DataError(
            path, f"is of kind {other!r}, and {first} is of kind {kind!r}; load one kind "
            "at a time")
    return next(iter(found)), documents


def _checked_kind(document, path, kinds):
    if "kind" not in document and not kinds:
        if "steps" in document:
            printed.steps_of(document, path)
            return "decode"
        if "attention" in document:
            _check_expected(document, path)
            return "expect"
    source.require_kind(document, path, *(kinds or _schemas()))
    return document["kind"]


def _check_expected(document, path):
    """Null stands for a number that is not finite, which printed.attention_of refuses."""
    source.get(document, "mechanism", str, path)
    rows = source.get(document, "attention", list, path)
    if not rows or not all(isinstance(row, list) for row in rows):
        raise DataError(f"{path}: attention", "is no table, or empty")


@functools.cache
def _schemas():
    """Gives the schemas of all kinds of results, by kind."""
    found = {}
    for file in sorted(os.listdir(schema.FOLDER)):
        name = file.removesuffix(".schema.json")
        if "kind" in schema.read(name)["properties"]:
            found[name] = schema.read(name)
    return found


def _body(members):
    """The members that make tables. `expect` calls an array of numbers context, too."""
    return {
        key: one for key, one in members.items()
        if key not in HEAD and not (key == "context" and isinstance(one, dict))
    }


def _plan(kind, documents):
    if kind not in _schemas():
        return tables.plan(tables.inferred([_body(one) for one in documents.values()]))
    wanted = _schemas()[kind]
    return tables.plan({**wanted, "properties": _body(wanted["properties"])})


def _frame(kind, documents, table):
    whole = _plan(kind, documents)
    inner = whole.all()[1:]
    there = {one.name: one for one in (*inner, whole)}
    if table is None:
        of_objects = (one.name for one in inner if not one.steps)
        table = MAIN.get(kind) or next(of_objects, whole.name)
    if table not in there:
        raise DataError(
            next(iter(documents)),
            f"a result of kind {kind!r} has no table {table!r}; it has {', '.join(there)}")
    for path, document in documents.items():
        tables.fill(whole, _body(document), path, table)
    frame = tables.frame(there[table])
    if kind == "sweep" and table.endswith("samples_ns"):
        _add_rounds(frame, documents)
    about = [_about(*one) for one in zip(documents.values(), whole.rows)]
    frame.attrs = {
        "kind": kind, "table": table, "tables": list(there),
        **(about[0] if len(about) == 1 else _about_all(documents, about))}
    return frame


def _about(document, row):
    context = document.get("context")
    if not isinstance(context, dict):
        return row
    named = {"valid": "valid", "commit": "commit", "machine": "cpu"}
    return {**row, **{name: context.get(key) for name, key in named.items()},
            "context": context}


def _about_all(documents, about):
    files = {"files": dict(zip(documents, about))}
    if all("valid" in one for one in about):
        files["valid"] = all(one["valid"] for one in about)
    return files


def _add_rounds(samples, documents):
    """Adds of which process, build and round of its process a sample is, from 0. The
    samples of processes stand one after the other, and process k is of build k mod
    builds.
    """
    cells = [cell for document in documents.values() for cell in document["cells"]]
    processes = numpy.array([cell["processes"] for cell in cells], dtype=int)
    builds = numpy.array([source.builds(cell) for cell in cells], dtype=int)
    of, item = samples["cells"].to_numpy(), samples["item"].to_numpy()
    rounds = (numpy.bincount(of, minlength=len(cells)) // processes)[of]
    process = item // rounds
    place = samples.columns.get_loc("item") + 1
    samples.insert(place, "process", process)
    samples.insert(place + 1, "build", process % builds[of])
    samples.insert(place + 2, "round", item % rounds)


# ---- speed-ups --------------------------------------------------------------


def _groups(rows):
    """Gives the timed cells by GROUP, each as {row: cell}."""
    groups = {}
    for row, cell in rows.items():
        if cell["status"] == "ok":
            groups.setdefault(tuple(cell[axis] for axis in GROUP), {})[row] = cell
    return groups


def _speedups_of(group, context):
    """Gives the columns of `speedups` by row."""
    found = {}
    for row, cell in group.items():
        over = _reference(cell, group)
        if over != row:
            base = group[over]
            empty = reads.of(cell, context)["zero_contexts"]
            found[row] = (over, base["mechanism"], *_span(base, cell), empty)
    return found


def _reference(cell, group):
    """Gives the row of what a cell is compared with (ReferenceOf in
    harness/answers/table.cc).
    """
    names = {row: source.mechanism_of(one) for row, one in group.items()}
    mechanism = BASELINE if BASELINE in names.values() else next(iter(names.values()))
    rows = [row for row, name in names.items() if name == mechanism]
    if source.mechanism_of(cell) == mechanism:
        return rows[0]
    # Of equals the first one is the greatest.
    return max(rows, key=lambda row: _common_axes(group[row], cell))


def _common_axes(one, other):
    return sum(one.get(axis) is not None and one[axis] == other.get(axis)
               for axis in source.AXES)


def _span(base, cell):
    """Gives value, low and high of the ratio of their times, NaN where there is none."""
    if _rounds(base) != _rounds(cell):
        return math.nan, math.nan, math.nan
    span = series.ratio(base, cell).at().exp()
    if math.isinf(span.high):
        return span.value, math.nan, math.nan
    return span.value, span.low, span.high


def _rounds(cell):
    return len(cell["samples_ns"]), cell["processes"], source.builds(cell)
