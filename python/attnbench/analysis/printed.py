"""Reads what `decode` and `expect` printed, which has no schema.

    output = printed.attention_of(load.read_json(path), path)

Each function refuses what is not as it should be with a load.DataError.
"""

from attnbench.analysis import load


def has_attention(document):
    return "kind" not in document and "attention" in document


def attention_of(document, path):
    """{"path", "mechanism", "attention"} of what `expect` printed, the last as a list of
    rows, all as long.
    """
    rows = document["attention"]
    load.get(document, "mechanism", str, path)
    if not isinstance(rows, list) or not rows or not isinstance(rows[0], list):
        raise load.DataError(f"{path}: attention", "is no table, or empty")
    for index, row in enumerate(rows):
        where = f"{path}: attention[{index}]"
        if not isinstance(row, list) or not row or len(row) != len(rows[0]):
            raise load.DataError(where, "is not as long as the first row")
        for value in row:
            if not _is_number(value):
                raise load.DataError(where, f"holds {value!r}, must be a number")
    return {"path": str(path), "mechanism": document["mechanism"], "attention": rows}


def steps_of(document, path):
    """What `decode` printed, as it was read from `path`, checked."""
    load.get(document, "mechanism", str, path)
    length = load.get(document, "memory_length", int, path)
    steps = load.get(document, "steps", list, path)
    if length < 1 or not steps:
        raise load.DataError(path, "no memory entries or no steps")
    for index, step in enumerate(steps):
        _check_step(step, length, f"{path}: steps[{index}]")
    return {**document, "path": str(path)}


def expect_of(document, path):
    """What `expect` printed with --latency-samples or --sharpness, as it was read
    from `path`; of both, what is there is checked.
    """
    load.get(document, "mechanism", str, path)
    latency = load.get(document, "latency", dict, path)
    if not _is_above_zero(latency.get("ap")):
        raise load.DataError(f"{path}: latency", "ap must be above 0")
    if "sampled" in latency:
        sampled = load.get(latency, "sampled", dict, f"{path}: latency")
        place = f"{path}: latency.sampled"
        load.get(sampled, "paths", int, place)
        proportion = load.get(sampled, "ap", dict, place)
        for key in ("mean", "standard_error"):
            if not _is_above_zero(proportion.get(key)):
                raise load.DataError(f"{place}.ap", f"{key} must be above 0")
        _check_points(sampled, "ap_errors", ("paths", "batches", "rms"), place)
    elif "sharpness" not in document:
        raise load.DataError(
            path, "has neither latency.sampled (--latency-samples) nor sharpness"
        )
    if "sharpness" in document:
        _check_points(document, "sharpness", ("sharpness",), path)
        for index, point in enumerate(document["sharpness"]):
            for key in ("attention_distance", "context_distance"):
                value = point.get(key, "missing")
                is_left_out = value is None and key == "context_distance"
                if not (is_left_out or _is_number(value) and value >= 0):
                    raise load.DataError(
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
    points = load.get(owner, key, list, where)
    if len(points) < 2:
        raise load.DataError(where, f"{key} has fewer than 2 points")
    for index, point in enumerate(points):
        place = f"{where}: {key}[{index}]"
        if not isinstance(point, dict):
            raise load.DataError(place, "not an object")
        for number in numbers:
            if not _is_above_zero(point.get(number)):
                raise load.DataError(place, f"{number} must be above 0")


def _check_step(step, length, where):
    if not isinstance(step, dict):
        raise load.DataError(where, "not an object")
    for key in ("position", "begin", "end"):
        if key not in step:
            raise load.DataError(where, f"{key} is missing")
        value = step[key]
        if value is None:
            continue
        if not 1 <= load.get(step, key, int, where) <= length:
            raise load.DataError(
                where, f"{key} is {value}, it must be from 1 to {length}"
            )
    if "further_heads" in step:
        for number, head in enumerate(load.get(step, "further_heads", list, where)):
            _check_step(head, length, f"{where}.further_heads[{number}]")
    load.get(step, "inspected", int, where)
    weights = load.get(step, "weights", list, where)
    if (step["begin"] is None) != (step["end"] is None):
        raise load.DataError(where, "only one of begin and end is given")
    wanted = 0 if step["begin"] is None else step["end"] - step["begin"] + 1
    if len(weights) != wanted:
        raise load.DataError(
            where, f"{len(weights)} weights for {wanted} entries (begin to end)"
        )
    for weight in weights:
        if not (_is_number(weight) and weight >= 0):
            raise load.DataError(where, f"weight {weight!r} is not a number from 0")


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_above_zero(value):
    return _is_number(value) and value > 0
