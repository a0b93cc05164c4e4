"""Reads results, and checks them.

    cells = load.load("result.json")   # pandas, one row a cell

The frame has a column for every key of a cell (axes, status, samples,
...), and in `attrs` the file's `path` and the document's `context`. Everything
is checked here, once, so that a figure can trust what it gets: that it is as its
schema says (schema.py), and what no schema can say. What is wrong is a
DataError: one line with the file, the place and what is missing. A frame
of pandas would turn null and "inf" into NaN, so all columns but the numbers
that are computed with are kept as Python objects.
"""

import collections
import json
import math
import os
import re

from attnbench.analysis import ROOT, command, input_file, reads, schema, workloads

SCHEMA_VERSION = 1

# A cell of a sweep as its schema describes it. The members that say what was measured are
# its identity, and the others, its outcomes, what came of that; cells_of adds `reads`.
CELL = schema.read("sweep")["properties"]["cells"]["items"]
AXES = frozenset(CELL["identity"]) - {"mechanism", "options"}
OUTCOMES = frozenset(CELL["properties"]) - frozenset(CELL["identity"]) | {"reads"}
STATUSES = ("ok", "invalid", "error", "timeout", "skipped")
DECODER = "decoder"  # the scope of whole decoders
# No time of a machine is beyond these; figures and fits need room around theirs.
LEAST_NS, MOST_NS = 1e-9, 1e24


class DataError(Exception):
    """The file cannot give the figure; `where` is the file and the place."""

    def __init__(self, where, what):
        super().__init__(
            f"{command.shortened(str(where))}: "
            f"{command.shortened(what, command.MOST_OF_SENTENCE)}")


def _frame(rows):
    """Of objects: a value that a row lacks, or has as None, must not make others NaN."""
    try:  # it takes half a second, and most who read a document make no frame
        import pandas
    except Exception as error:
        raise command.PackageError("pandas cannot be imported") from error
    return pandas.DataFrame(rows, dtype=object)


def committed(*parts):
    """The path of a committed result."""
    return os.path.join(ROOT, "results", *parts) + ".json"


def read_json(path, most_bytes=input_file.MOST_BYTES):
    """The JSON object of a file; strict: NaN is not JSON, nor is a key twice. Like the
    program it skips a byte order mark. Half of a surrogate pair ("\\ud800"), which no
    output can hold, becomes U+FFFD. "-" is standard input.
    """
    try:
        text = input_file.read(path, most_bytes).decode("utf-8-sig")
        document = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite(float),
            parse_int=_finite(int),
            object_pairs_hook=_object,
        )
    except input_file.Unreadable as error:
        raise DataError(path, f"cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(path, f"not JSON: {error}") from error
    if not isinstance(document, dict):
        raise DataError(path, "not a JSON object")
    return _without_halves(document) if _HALF_ESCAPED.search(text) else document


_HALF_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")


def _without_halves(value):
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, list):
        return list(map(_without_halves, value))
    if isinstance(value, dict):
        return {_without_halves(key): _without_halves(one) for key, one in value.items()}
    return value


def _refuse_constant(name):
    raise ValueError(f"{name} is not a number of JSON")


def _finite(kind):
    def parse(text):
        if math.isinf(float(text)):
            raise ValueError(f"the number {text[:20]}... is too large")
        return kind(text)

    return parse


def _object(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        twice = command.shortened(twice)
        raise ValueError(f"the key {twice!r} is there twice in one object")
    return found


def json_text(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def document_text(document):
    """A document as the program writes it: the elements of an array at the top have a
    line each.
    """
    members = []
    for key, value in document.items():
        text = json_text(value)
        if isinstance(value, list) and value:
            text = "[\n" + ",\n".join(map(json_text, value)) + "\n]"
        members.append(f"{json_text(key)}: {text}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def load(path):
    """The cells of a sweep's result document, one row each, of all scopes."""
    return cells_of(read(path, "sweep"), path)


def read(path, *kinds):
    """A document of one of the kinds (require_kind)."""
    document = read_json(path)
    require_kind(document, path, *kinds)
    return document


def cells_of(document, path):
    """The cells of a checked document that was read from `path`."""
    cells = require_some(document, "cells", path)
    # Dicts as text: two settings can then be compared, and sorted.
    rows = [
        {**cell, "mechanism": mechanism_of(cell),
         "options": json.dumps(cell["options"], sort_keys=True),
         "reads": reads.of(cell, document["context"])}
        for cell in cells
    ]
    frame = _frame(rows)
    frame = frame.where(frame.notna(), None)
    for key in ("memory_length", "output_length"):
        frame[key] = frame[key].astype("int64")
    frame["median_ns"] = frame["median_ns"].astype("float64")
    frame.attrs.update(path=str(path), context=document["context"])
    return frame


def mechanism_of(cell):
    """Names the mechanism of a cell of a document. A policy (AlignAtt, of soft attention)
    is one of its own: it decodes online, and is measured against soft attention.
    """
    return cell["options"].get("policy", cell["mechanism"])


def stability_of(document, path):
    """The `rows` and `gradients` of a checked document as frames, its `context` and `path`.

    A figure that is null, because something was not finite, is NaN in a frame;
    a null of what was set stays None.
    """
    return {
        "path": str(path),
        "context": document["context"],
        "rows": _stability_frame(document, "rows", ("attention_error", "mass_error"), path),
        "gradients": _stability_frame(document, "gradients", ("largest_gradient",), path),
    }


def builds(cell):
    """Gives how many builds measured a cell: process k is of build k mod that."""
    return cell.get("builds") or 1


def compare_of(document, path):
    """What `attnbench compare --json` printed, checked, as it was read from `path`.

    The axes of a row are together under `axes`; `context` says of both results
    together whether they are valid.
    """
    if document["rows"]:
        get(document, "common_ratio", (int, float), path)
    sides = document["a"], document["b"]
    context = {
        "valid": all(side["valid"] for side in sides),
        "invalid_reasons": [
            f"{side['path']}: {reason}"
            for side in sides
            for reason in side["invalid_reasons"]
        ],
    }
    rows = [
        {**row, "axes": {key: row[key] for key in row if key in AXES}}
        for row in document["rows"]
    ]
    return {**document, "rows": rows, "path": str(path), "context": context}


def programs_of(document, path):
    """The rows of a comparison of two programs as a frame, with their axes; its context is
    that of the newer program, B, and `older` the commit of A.

    `ratio` and `interval` are of B over A itself, not over what all rows have in common,
    and None of a cell that has no time on both sides.
    """
    if not document["paired"]:
        raise DataError(path, "is of two results; compare --programs measures in turn")
    both = compare_of(document, path)
    common = (document["common_ratio"], document["common_interval"])
    rows = [_alone(row, *common) if document["relative"] else row
            for row in document["rows"]]
    rows += [{**row, "ratio": None, "interval": None, "b_ns": None}
             for row in document["untimed"]]
    # As objects: an axis that a mechanism lacks stays None.
    frame = _frame(rows)
    frame.attrs["path"] = path
    frame.attrs["context"] = {
        **{key: document["b"][key] for key in ("commit", "cpu", "simd", "date", "warnings")},
        **both["context"],
        "dirty": None,
        "older": document["a"]["commit"],
    }
    return frame


def _alone(row, common, interval):
    """The row's ratio of B over A. Its interval misses if one of the two does."""
    ends = row["interval"] and interval and [
        own * of_all for own, of_all in zip(row["interval"], interval)]
    return {**row, "ratio": row["ratio"] * common, "interval": ends}


# ---- checks -----------------------------------------------------------------


def require_kind(document, path, *kinds):
    """Requires a result of one of the kinds, as its schema says, and of a sweep also that
    members of a cell fit each other; adds the axes that older whole decoders lack.
    """
    for key, allowed in (("kind", kinds), ("schema_version", (SCHEMA_VERSION,))):
        if document.get(key) not in allowed:
            raise DataError(
                path,
                f"{key} is {_given(document, key)}, it must be "
                f"{'one of ' * (len(allowed) > 1)}{', '.join(map(repr, allowed))}",
            )
    check_schema(document, document["kind"], path)
    _check_intervals(document, path)
    if document["kind"] == "sweep":
        _check_points(document, path)
        for index, cell in enumerate(document["cells"]):
            if cell["scope"] == DECODER:
                # Results from before these axes lack them, and have their defaults.
                cell.setdefault("layers", 2)
                cell.setdefault("encoder", "timed")
            _check_cell(cell, f"{path}: cells[{index}]")
    if document["kind"] == "authors":
        for index, cell in enumerate(document["cells"]):
            _check_rounds(cell, "samples_ns", f"{path}: cells[{index}]")


def _check_intervals(owner, where, separator=": "):
    """Requires of the intervals in an object that their lower ends stand first, which a
    schema cannot say.
    """
    for key, value in owner.items():
        place = f"{where}{separator}{key}"
        if isinstance(value, dict):
            _check_intervals(value, place, ".")
        elif not isinstance(value, list) or not value:
            continue
        elif isinstance(value[0], dict):
            for index, item in enumerate(value):
                if isinstance(item, dict):
                    _check_intervals(item, f"{place}[{index}]", ".")
        elif "interval" in key.split("_") and _is_reversed(value):
            raise DataError(place, f"is {value}, the lower end must stand first")


def _is_reversed(interval):
    """An end may be null, or "inf"."""
    ends = [end for end in interval if isinstance(end, (int, float))]
    return len(interval) == len(ends) == 2 and ends[0] > ends[1]


def check_schema(document, name, path):
    """Against results/schema/NAME.schema.json."""
    error = schema.first_error(document, name)
    if error is not None:
        place, what = error
        raise DataError(f"{path}: {place}" if place else path, what)
    schema.take_whole(document, name)


def require_some(document, key, path):
    if not document[key]:
        raise DataError(f"{path}: {key}", "is empty")
    return document[key]


def _stability_frame(document, key, measured, path):
    rows = require_some(document, key, path)
    for index, row in enumerate(rows):
        for name in measured:
            if row[name] is None and row["not_finite"] == 0:
                raise DataError(
                    f"{path}: {key}[{index}]", f"{name} is None, but nothing is not finite"
                )
    frame = _frame(rows)
    frame["preset"] = frame["preset"].where(frame["preset"].notna(), None)
    for name in ("memory_length", "output_length", "not_finite"):
        frame[name] = frame[name].astype("int64")
    for name in ("chunk_energy_scale", *measured):
        frame[name] = frame[name].astype("float64")
    return frame


def _given(document, key):
    return command.shortened(repr(document[key])) if key in document else "missing"


def get(owner, key, kind, where):
    """owner[key], which must be there and of that kind (a type, or several)."""
    if key not in owner:
        raise DataError(where, f"{key} is missing")
    value = owner[key]
    # bool is an int in Python, not in JSON.
    if not isinstance(value, kind) or (
        isinstance(value, bool) and kind is not bool
    ):
        names = getattr(kind, "__name__", "number")
        given = command.shortened(repr(value))
        raise DataError(where, f"{key} is {given}, it must be {names}")
    return value


def _check_points(document, path):
    """Requires of every point that is there all of its cells."""
    points = document["context"]["points"]
    planned = document["context"].get("cells_of_points")
    if not planned:
        return
    if len(planned) != len(points):
        raise DataError(
            f"{path}: context.cells_of_points",
            f"has {command.counted(len(planned), 'number')}, of "
            f"{command.counted(len(points), 'point')}",
        )
    there = collections.Counter(cell["point"] for cell in document["cells"])
    for point, wanted in zip(points, planned):
        if there[point] not in (0, wanted):
            raise DataError(
                path,
                f"has {there[point]} of the {wanted} cells of point {point}; --resume "
                "measures that point again",
            )


def _check_cell(cell, where):
    if cell["scope"] == DECODER:
        for key, kind in (("beam", int), ("vocabulary", int), ("layers", int), ("encoder", str)):
            get(cell, key, kind, where)
    if cell["status"] != "ok":
        return
    samples, processes = cell["samples_ns"], cell["processes"]
    times = (*samples, *(cell["interval_ns"] or ()), cell["median_ns"])
    if min(times) <= 0:
        raise DataError(where, "samples_ns, interval_ns and median_ns must be above 0")
    if not LEAST_NS <= min(times) <= max(times) <= MOST_NS:
        raise DataError(
            where, f"samples_ns, interval_ns and median_ns must be from {LEAST_NS:g} to "
            f"{MOST_NS:g}")
    if processes % builds(cell):
        raise DataError(
            where, f"{processes} processes are not equally many of {builds(cell)} builds"
        )
    for key in ("samples_ns", "prepare_samples_ns"):
        _check_rounds(cell, key, where)
    if cell["scope"] == DECODER:
        _check_decoder(cell, where)


def _check_rounds(cell, key, where):
    samples, processes = cell[key], cell["processes"]
    if len(samples) % processes:
        raise DataError(
            where,
            f"{key} has {command.counted(len(samples), 'sample')}, not equally many of each of "
            f"{processes} processes",
        )


def _check_decoder(cell, where):
    share = workloads.number_of(cell["workload"], "copy")
    if not workloads.is_captured(cell) and (share is None or not 0.01 <= share <= 1):
        raise DataError(
            where,
            f"workload is {cell['workload']!r}, it must be copy:S with S from 0.01 to 1, "
            "or captured:FILE",
        )
    own, place = cell["decoder"], f"{where}.decoder"
    of_attention, of_all = len(own["attention_samples_ns"]), len(cell["samples_ns"])
    if of_attention not in (0, of_all):
        raise DataError(
            place,
            f"attention_samples_ns has {command.counted(of_attention, 'sample')}, of {of_all} samples of "
            "the whole",
        )
    if of_attention:
        get(own, "attention_median_ns", (int, float), place)
