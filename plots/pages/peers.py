"""Compares ours with a framework: its time over ours, of the same rounds.

A pair is a cell of variant framework and the cell of variant exact that agrees
with it on every axis. Each ratio has its 95 % interval.
"""

import json
import math

from attnbench.analysis import load, pairing, settings, words
from pages import markup

HOW = "Above 1 ours is faster. Ratios are of the same rounds, with 95 % intervals."
HEAD = (
    "mode, scope",
    "mechanism",
    "setting",
    "variant",
    "framework / ours",
    "interval",
    "ours",
    "framework",
    "note",
)


def to_html(documents, tables_of):
    """Gives a table for each sweep that has a framework; empty without one."""
    return "\n".join(
        _one(document, tables_of[document.number][0].number)
        for document in documents
        if document.kind == "sweep"
        and any(is_framework(cell) for cell in document.content["cells"])
    )


def is_framework(cell):
    return cell["variant"].startswith("framework")


def pairs(cells):
    """Gives (index of ours or None, index of the framework's), in the file's order."""
    ours = {
        _setting(cell): index
        for index, cell in enumerate(cells)
        if cell["variant"] == "exact"
    }
    return [
        (ours.get(_setting(cell)), index)
        for index, cell in enumerate(cells)
        if is_framework(cell)
    ]


def _setting(cell):
    return json.dumps(
        [
            (key, value)
            for key, value in sorted(cell.items())
            if key not in (*load.OUTCOMES, "variant")
        ],
        sort_keys=True,
    )


def _one(document, number):
    cells = document.content["cells"]
    found = pairs(cells)
    comparable = [
        (ours, theirs)
        for ours, theirs in found
        if ours is not None and cells[ours]["status"] == cells[theirs]["status"] == "ok"
    ]
    ratios = {
        theirs: pairing.ratio(cells[theirs], cells[ours], document.path)
        for ours, theirs in comparable
    }
    rows = [_row(cells, number, *pair, ratios.get(pair[1])) for pair in found]
    framework = words.framework_text(document.context)
    caption = f"{document.name}: a framework's time over ours"
    if framework:
        caption += f" ({framework})"
    how = HOW if ratios else "No pair of cells was measured."
    return (
        f"<h3>{markup.text(document.name)}</h3>\n<p>{how}</p>\n"
        + markup.table(caption, HEAD, rows)
    )


def _row(cells, number, ours, theirs, found):
    cell = cells[theirs]
    note = ""
    for of, index in (("framework", theirs), ("ours", ours)):
        if index is None:
            note += f"{of}: no such cell. "
        elif cells[index]["status"] != "ok":
            note += f"{of}: {cells[index]['status']}: {cells[index]['message']}. "
    value = span = markup.NONE
    if found:
        value = _link(number, theirs, f"{words.ratio_text(found['value'])}x")
        if math.isfinite(found["high"]):
            ends = (words.ratio_text(found[key]) for key in ("low", "high"))
            span = " to ".join(ends)
    return [
        ("td", markup.text(f"{cell.get('mode')}, {cell.get('scope')}")),
        ("th", markup.text(cell["mechanism"])),
        ("td", markup.text(_words(cell))),
        ("td", markup.text(cell["variant"])),
        ("td", value),
        ("td", span),
        ("td", _time(cells, number, ours)),
        ("td", _time(cells, number, theirs)),
        ("td", markup.text(note.strip() or None)),
    ]


def _words(cell):
    """Writes 'T = 100, U = 10, d = 256', and what else a user may have set."""
    named = {axis: f"{letter} = " for axis, letter in settings.LETTERS.items()}
    named |= dict.fromkeys(("precision", "schedule", "energy", "workload"), "")
    return ", ".join(
        f"{name}{cell[axis]}" for axis, name in named.items() if cell.get(axis) is not None
    )


def _time(cells, number, index):
    if index is None or cells[index]["status"] != "ok":
        return markup.NONE
    return _link(number, index, words.time_text(cells[index]["median_ns"]))


def _link(number, index, inner):
    return f'<a href="#cell-{number}-{index}">{inner}</a>'
