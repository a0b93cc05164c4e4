"""Reads what `attnbench expect` printed: the attention of every output.

    output = expected.of(load.read_json(path), path)

gives {"path", "mechanism", "attention"}, the last as a list of rows, all as long.
"""

from analysis import load


def is_one(document):
    return "kind" not in document and "attention" in document


def of(document, path):
    rows = document["attention"]
    load.get(document, "mechanism", str, path)
    if not isinstance(rows, list) or not rows or not isinstance(rows[0], list):
        raise load.DataError(f"{path}: attention", "is no table, or empty")
    for index, row in enumerate(rows):
        where = f"{path}: attention[{index}]"
        if not isinstance(row, list) or not row or len(row) != len(rows[0]):
            raise load.DataError(where, "is not as long as the first row")
        for value in row:
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                raise load.DataError(where, f"holds {value!r}, must be a number")
    return {"path": str(path), "mechanism": document["mechanism"], "attention": rows}
