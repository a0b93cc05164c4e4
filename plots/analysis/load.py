"""Reads what figures are made of: result documents and outputs of `decode`.

    cells = load.load("result.json")   # pandas, one row a cell

The frame has a column for every key of a cell (axes, status, samples,
...), and in `attrs` the file's `path` and the document's `context`. Everything
is checked here, once, so that a figure can trust what it gets. What is wrong
is a DataError: one line with the file, the place and what is missing. A frame
of pandas would turn null and "inf" into NaN, so all columns but the numbers
that are computed with are kept as Python objects.
"""

import json
import math

import pandas

SCHEMA_VERSION = 1

# Keys of a cell that are outcomes, or say how often it was measured. All other
# keys say what was measured: a new axis is taken for one without being named
# here.
OUTCOMES = (
    "status",
    "message",
    "samples_ns",
    "trials_per_sample",
    "processes",
    "median_ns",
    "interval_ns",
    "prepare_ns",
    "spread",
    "prepare_samples_ns",
    "draw_ns",
    "operations",
    "latency",
    "peak_memory_bytes",
    "limit",
    "numerics",
    "decoder",
    "point",
)
STATUSES = ("ok", "invalid", "error", "timeout", "skipped")
DECODER = "decoder"  # the scope of whole decoders


class DataError(Exception):
    """The file cannot give the figure; `where` is the file and the place."""

    def __init__(self, where, what):
        super().__init__(f"{where}: {what}")


def read_json(path):
    """The JSON object of a file; strict: NaN is not JSON, nor is a key twice."""
    try:
        with open(path, encoding="utf-8") as stream:
            document = json.load(
                stream,
                parse_constant=_refuse_constant,
                parse_float=_finite(float),
                parse_int=_finite(int),
                object_pairs_hook=_object,
            )
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(path, f"not JSON: {error}") from error
    if not isinstance(document, dict):
        raise DataError(path, "not a JSON object")
    return document


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
    return cells_of(read_json(path), path)


def cells_of(document, path):
    """The cells of a document that was read from `path`."""
    context = _checked_context(document, "sweep", path)
    cells = check_cells(document, path)
    # Dicts as text: two settings can then be compared, and sorted.
    rows = [
        {**cell, "options": json.dumps(cell["options"], sort_keys=True)}
        for cell in cells
    ]
    frame = pandas.DataFrame(rows, dtype=object)
    frame = frame.where(frame.notna(), None)
    for key in ("memory_length", "output_length"):
        frame[key] = frame[key].astype("int64")
    frame["median_ns"] = frame["median_ns"].astype("float64")
    frame.attrs.update(path=str(path), context=context)
    return frame


def check_cells(document, path):
    """The cells of a sweep, at least one, as they are in the document."""
    cells = get(document, "cells", list, path)
    if not cells:
        raise DataError(f"{path}: cells", "is empty")
    for index, cell in enumerate(cells):
        _check_cell(cell, f"{path}: cells[{index}]")
    return cells


def stability_of(document, path):
    """Its `rows` and `gradients` as frames, its `context` and `path`.

    A figure that is null, because something was not finite, is NaN in a frame;
    a null of what was set stays None.
    """
    context = _checked_context(document, "stability", path)
    return {
        "path": str(path),
        "context": context,
        "rows": _stability_frame(
            document, "rows", ("attention_error", "mass_error"), path
        ),
        "gradients": _stability_frame(
            document, "gradients", ("largest_gradient",), path
        ),
    }


VERDICTS = ("FASTER", "SLOWER", "SAME", "AMBIGUOUS")
# Keys of a row of `compare` that are no axes.
COMPARED = (
    "mechanism",
    "options",
    "verdict",
    "reason",
    "ratio",
    "interval",
    "a_ns",
    "a_processes",
    "b_ns",
    "b_processes",
)


def compare_of(document, path):
    """What `attnbench compare --json` printed, as it was read from `path`.

    The axes of a row are together under `axes`; `context` says of both results
    together whether they are valid.
    """
    reasons = []
    get(document, "schema_version", int, path)
    for side in ("a", "b"):
        of_side = get(document, side, dict, path)
        for key in ("path", "commit", "cpu", "date"):
            get(of_side, key, str, f"{path}: {side}")
        get(of_side, "valid", bool, f"{path}: {side}")
        for reason in get(of_side, "invalid_reasons", list, f"{path}: {side}"):
            reasons.append(f"{of_side['path']}: {reason}")
    for key in ("rows", "differences", "untimed", "only_a", "only_b"):
        get(document, key, list, path)
    for key in ("level", "margin", "comparisons"):
        get(document, key, (int, float), path)
    if document["rows"]:
        get(document, "common_ratio", (int, float), path)
    rows = []
    for index, row in enumerate(document["rows"]):
        where = f"{path}: rows[{index}]"
        if not isinstance(row, dict):
            raise DataError(where, "not an object")
        for key in ("mechanism", "verdict"):
            get(row, key, str, where)
        get(row, "options", dict, where)
        if row["verdict"] not in VERDICTS:
            raise DataError(
                where,
                f"verdict is {row['verdict']!r}, it must be one of "
                f"{', '.join(VERDICTS)}",
            )
        numbers = [row.get("ratio"), *(row.get("interval") or ())]
        if not all(is_above_zero(number) for number in numbers):
            raise DataError(where, "ratio and interval must be above 0")
        axes = {key: row[key] for key in row if key not in COMPARED}
        rows.append({**row, "axes": axes})
    context = {
        "valid": document["a"]["valid"] and document["b"]["valid"],
        "invalid_reasons": reasons,
    }
    return {**document, "rows": rows, "path": str(path), "context": context}


def steps_of(document, path):
    """What `decode` printed, as it was read from `path`, checked."""
    get(document, "mechanism", str, path)
    length = get(document, "memory_length", int, path)
    steps = get(document, "steps", list, path)
    if length < 1 or not steps:
        raise DataError(path, "no memory entries or no steps")
    for index, step in enumerate(steps):
        _check_step(step, length, f"{path}: steps[{index}]")
    return {**document, "path": str(path)}


def expect_of(document, path):
    """What `expect` printed with --latency-samples or --sharpness, as it was read
    from `path`; of both, what is there is checked.
    """
    get(document, "mechanism", str, path)
    latency = get(document, "latency", dict, path)
    if not is_above_zero(latency.get("ap")):
        raise DataError(f"{path}: latency", "ap must be above 0")
    if "sampled" in latency:
        sampled = get(latency, "sampled", dict, f"{path}: latency")
        _check_points(
            sampled, "ap_errors", ("paths", "batches", "rms"),
            f"{path}: latency.sampled",
        )
    elif "sharpness" not in document:
        raise DataError(
            path, "has neither latency.sampled (--latency-samples) nor sharpness"
        )
    if "sharpness" in document:
        _check_points(document, "sharpness", ("sharpness",), path)
        for index, point in enumerate(document["sharpness"]):
            for key in ("attention_distance", "context_distance"):
                value = point.get(key, "missing")
                if not (value is None or value == 0 or is_above_zero(value)):
                    raise DataError(
                        f"{path}: sharpness[{index}]", f"{key} is {value!r}"
                    )
    # Its `context` is left out: it has the vectors of the outputs, and is no run's.
    kept = ("mechanism", "latency", "sharpness")
    return {
        **{key: document[key] for key in kept if key in document},
        "path": str(path),
    }


def _check_points(owner, key, numbers, where):
    """A list of at least two objects whose `numbers` are above 0."""
    points = get(owner, key, list, where)
    if len(points) < 2:
        raise DataError(where, f"{key} has fewer than 2 points")
    for index, point in enumerate(points):
        place = f"{where}: {key}[{index}]"
        if not isinstance(point, dict):
            raise DataError(place, "not an object")
        for number in numbers:
            if not is_above_zero(point.get(number)):
                raise DataError(place, f"{number} must be above 0")


def _checked_context(document, kind, path):
    """The context of a result, which must be of that kind."""
    if document.get("kind") != kind:
        raise DataError(
            path, f"kind is {_given(document, 'kind')}, it must be '{kind}'"
        )
    return context_of(document, path)


def context_of(document, path):
    """The context of a result of any kind."""
    get(document, "kind", str, path)
    if document.get("schema_version") != SCHEMA_VERSION:
        raise DataError(
            path,
            f"schema_version is {_given(document, 'schema_version')}, "
            f"it must be {SCHEMA_VERSION}",
        )
    context = get(document, "context", dict, path)
    for key in ("commit", "cpu", "date"):
        get(context, key, str, f"{path}: context")
    get(context, "valid", bool, f"{path}: context")
    get(context, "invalid_reasons", list, f"{path}: context")
    get(context, "warnings", list, f"{path}: context")
    if context.get("dirty", "missing") not in (True, False, None):
        raise DataError(
            f"{path}: context",
            f"dirty is {_given(context, 'dirty')}, true, false or null is "
            "wanted",
        )
    return context


def _stability_frame(document, key, measured, path):
    rows = get(document, key, list, path)
    if not rows:
        raise DataError(f"{path}: {key}", "is empty")
    for index, row in enumerate(rows):
        where = f"{path}: {key}[{index}]"
        if not isinstance(row, dict):
            raise DataError(where, "not an object")
        for name in ("mechanism", "variant", "precision", "family"):
            get(row, name, str, where)
        for name in ("memory_length", "output_length", "not_finite"):
            get(row, name, int, where)
        for name in ("preset", "chunk_energy_scale"):
            if name not in row:
                raise DataError(where, f"{name} is missing")
        scale = row["chunk_energy_scale"]
        if not (scale is None or scale == 0 or is_above_zero(scale)):
            raise DataError(
                where, f"chunk_energy_scale is {scale!r}, it must be a number or null"
            )
        for name in measured:
            _check_measured(row, name, where)
    frame = pandas.DataFrame(rows, dtype=object)
    frame["preset"] = frame["preset"].where(frame["preset"].notna(), None)
    for name in ("memory_length", "output_length", "not_finite"):
        frame[name] = frame[name].astype("int64")
    for name in ("chunk_energy_scale", *measured):
        frame[name] = frame[name].astype("float64")
    return frame


def _check_measured(row, name, where):
    if name not in row:
        raise DataError(where, f"{name} is missing")
    value = row[name]
    if value is None and row["not_finite"] > 0:
        return
    if not (is_above_zero(value) or value == 0):
        raise DataError(
            where,
            f"{name} is {value!r}, it must be a number from 0, or null where "
            "something was not finite",
        )


def _given(document, key):
    return repr(document[key]) if key in document else "missing"


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
        raise DataError(where, f"{key} is {value!r}, it must be {names}")
    return value


def is_above_zero(value):
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and math.isfinite(value)
        and value > 0
    )


def _check_cell(cell, where):
    if not isinstance(cell, dict):
        raise DataError(where, "not an object")
    for key in ("mechanism", "variant", "workload", "precision", "scope", "status"):
        get(cell, key, str, where)
    for key in ("memory_length", "output_length"):
        if get(cell, key, int, where) < 1:
            raise DataError(where, f"{key} is {cell[key]}, it must be from 1 on")
    get(cell, "options", dict, where)
    for key in ("chunk_width", "num_contexts", "dim", "median_ns", "message"):
        if key not in cell:
            raise DataError(where, f"{key} is missing")
    for key in ("chunk_width", "num_contexts"):
        if cell[key] not in (None, "inf") and not is_above_zero(cell[key]):
            raise DataError(
                where, f"{key} is {cell[key]!r}, it must be a number, 'inf' or null"
            )
    for key, value in cell.items():
        if key not in (*OUTCOMES, "options") and isinstance(value, (dict, list)):
            raise DataError(where, f"{key} is {value!r}, it must be one value")
    if cell["status"] not in STATUSES:
        raise DataError(
            where,
            f"status is {cell['status']!r}, one of {', '.join(STATUSES)} is "
            "wanted",
        )
    if cell["status"] == "ok":
        _check_times(cell, where)
    if cell.get("scope") == DECODER:
        _check_decoder(cell, where)


def _check_decoder(cell, where):
    """What a cell of a whole decoder has beside others."""
    for key in ("beam", "vocabulary"):
        get(cell, key, int, where)
    if cell["status"] != "ok":
        return
    kind, _, share = cell["workload"].partition(":")
    if kind != "copy" or not _is_share(share):
        raise DataError(
            where,
            f"workload is {cell['workload']!r}, it must be copy:S with S from 0.01 to 1",
        )
    own, place = get(cell, "decoder", dict, where), f"{where}: decoder"
    lengths = get(own, "source_lengths", list, place)
    if not lengths or not all(isinstance(n, int) and n >= 0 for n in lengths):
        raise DataError(place, "source_lengths must hold whole numbers from 0")
    samples = get(own, "attention_samples_ns", list, place)
    if len(samples) not in (0, len(cell["samples_ns"])):
        raise DataError(
            place,
            f"attention_samples_ns has {len(samples)} numbers, of "
            f"{len(cell['samples_ns'])} samples of the whole",
        )
    numbers = [*samples, own.get("attention_median_ns")] if samples else []
    if not all(map(is_above_zero, numbers)):
        raise DataError(
            place, "attention_samples_ns and attention_median_ns must be above 0"
        )
    if own.get("reads", "missing") is not None:
        reads = get(own, "reads", dict, place)
        for key in ("energies_per_output", "memory_read", "zero_contexts"):
            if key not in reads:
                raise DataError(f"{place}: reads", f"{key} is missing")


def _is_share(text):
    try:
        return 0.01 <= float(text) <= 1
    except ValueError:
        return False


def _check_times(cell, where):
    samples = get(cell, "samples_ns", list, where)
    interval = get(cell, "interval_ns", list, where)
    if not samples or not all(is_above_zero(s) for s in samples):
        raise DataError(where, "samples_ns must hold numbers above 0")
    if len(interval) != 2 or not all(is_above_zero(s) for s in interval):
        raise DataError(where, "interval_ns must hold two numbers above 0")
    processes = cell.get("processes", 1)
    if (
        not isinstance(processes, int)
        or not is_above_zero(processes)
        or len(samples) % processes
    ):
        raise DataError(
            where,
            f"processes is {processes!r}, which does not divide the number of "
            f"samples_ns, {len(samples)}",
        )
    prepare = cell.get("prepare_samples_ns") or []
    if len(prepare) % processes or not all(
        is_above_zero(s) or s == 0 for s in prepare
    ):
        raise DataError(
            where,
            f"prepare_samples_ns must hold numbers from 0, equally many of each of "
            f"{processes} processes",
        )
    if not is_above_zero(cell["median_ns"]):
        raise DataError(
            where, f"median_ns is {cell['median_ns']!r}, it must be above 0"
        )


def _check_step(step, length, where):
    if not isinstance(step, dict):
        raise DataError(where, "not an object")
    for key in ("position", "begin", "end"):
        if key not in step:
            raise DataError(where, f"{key} is missing")
        value = step[key]
        if value is None:
            continue
        if not 1 <= get(step, key, int, where) <= length:
            raise DataError(
                where, f"{key} is {value}, it must be from 1 to {length}"
            )
    if "further_heads" in step:
        for number, head in enumerate(get(step, "further_heads", list, where)):
            _check_step(head, length, f"{where}.further_heads[{number}]")
    get(step, "inspected", int, where)
    weights = get(step, "weights", list, where)
    if (step["begin"] is None) != (step["end"] is None):
        raise DataError(where, "only one of begin and end is given")
    wanted = 0 if step["begin"] is None else step["end"] - step["begin"] + 1
    if len(weights) != wanted:
        raise DataError(
            where, f"{len(weights)} weights for {wanted} entries (begin to end)"
        )
    for weight in weights:
        if not (is_above_zero(weight) or weight == 0):
            raise DataError(where, f"weight {weight!r} is not a number from 0")
