"""Reads a result of `attnbench decoder`: whole decoders against each other.

    result = decoder_result.of(load.read_json(path), path)

gives {"path", "context", "model", "cells"}, the cells as a list of dicts, each
with its `ratio_to_soft` checked where it is ok. What is wrong is a DataError.
"""

from analysis import load

KIND = "decoder"
MODEL = ("units", "memory_share")
LABELS = ("mechanism", "num_contexts", "chunk_width", *MODEL, "length", "beam")


def of(document, path):
    if document.get("kind") != KIND:
        raise load.DataError(path, f"kind is {document.get('kind')!r}, '{KIND}' is wanted")
    context = load.context_of(document, path)
    cells = load.get(document, "cells", list, path)
    if not cells:
        raise load.DataError(f"{path}: cells", "is empty")
    model = load.get(document, "model", dict, path)
    for index, cell in enumerate(cells):
        _check(cell, f"{path}: cells[{index}]")
    return {"path": str(path), "context": context, "model": model, "cells": cells}


def models(cells):
    """Each d with each share of the memory that its scans pass, as MODEL has them."""
    return sorted({tuple(cell[key] for key in MODEL) for cell in cells})


def require_one_model(result):
    """Refuses a second model, where there is no place for one."""
    number = len(models(result["cells"]))
    if number > 1:
        raise load.DataError(
            result["path"],
            f"cells of {number} models (units, memory_share), where one is wanted",
        )


def _check(cell, where):
    if not isinstance(cell, dict):
        raise load.DataError(where, "not an object")
    for key in (*LABELS, "status", "message", "ratio_to_soft"):
        if key not in cell:
            raise load.DataError(where, f"{key} is missing")
    for key in ("units", "length", "beam"):
        load.get(cell, key, int, where)
    load.get(cell, "memory_share", (int, float), where)
    ratio = cell["ratio_to_soft"]
    if ratio is None:
        return
    numbers = [ratio.get("value"), *(ratio.get("interval") or ())]
    if not all(load.is_above_zero(number) for number in numbers):
        raise load.DataError(f"{where}: ratio_to_soft", "must hold numbers above 0")
