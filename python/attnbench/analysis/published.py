"""The papers' own numbers, as results/published/ holds them."""

import itertools
import os

from attnbench.analysis import ROOT, load

FOLDER = os.path.join(ROOT, "results", "published")
PAPERS = ("mad", "mocha", "britz")  # in the order of their years


def papers():
    """Gives the documents of all papers, in their order."""
    return [paper(name) for name in PAPERS]


def paper(name):
    path = os.path.join(FOLDER, f"{name}.json")
    document = load.read(path, "published")
    require_whole(document, path)
    return document


def require_whole(document, path):
    """Requires of every row all columns, and of a grid every cell with all numbers."""
    for about in document["tables"]:
        where = f"{path}: table {about['id']}"
        for index, row in enumerate(about["rows"]):
            if set(row) != set(about["columns"]):
                odd = ", ".join(sorted(set(row) ^ set(about["columns"])))
                raise load.DataError(
                    f"{where}: rows[{index}]", f"does not have exactly the columns: {odd}")
        if "grid" in about:
            _require_grid(about, where)


def _require_grid(about, where):
    axes, rows = about["grid"], about["rows"]
    there = {tuple(row[axis] for axis in axes): row for row in rows}
    values = [sorted({row[axis] for row in rows}) for axis in axes]
    if len(there) < len(rows):
        raise load.DataError(where, f"has two rows of one cell of {' and '.join(axes)}")
    for key in itertools.product(*values):
        cell = ", ".join(f"{axis} = {value}" for axis, value in zip(axes, key))
        if key not in there:
            raise load.DataError(where, f"has no row for {cell}")
        for column, value in there[key].items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise load.DataError(
                    where, f"{column} is {value!r} for {cell}, it must be a number")


def statement(document, name):
    """Gives the numbers of one statement of a paper."""
    return _by_id(document["statements"], name)["numbers"]


def table(document, name):
    """Gives one table of a paper."""
    return _by_id(document["tables"], name)


def _by_id(entries, name):
    return next(entry for entry in entries if entry["id"] == name)
