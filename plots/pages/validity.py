"""Whether the results may be believed, and where they are from: one line for the top of
the page, and a section in which good results are folded and all others stand open.
"""

import json

from attnbench.analysis import words
from attnbench.answers import setups
from pages import markup, tables

# Results of different commands stand on one page: their seeds may differ, too.
NOT_FINGERPRINT = (*setups.NOT_SETUP, "seed")


def to_html(documents, tables_of):
    loud = [document for document in documents if not is_good(document)]
    good = [document for document in documents if is_good(document)]
    parts = [_one(document, tables_of[document.number]) for document in loud]
    if good:
        parts += [
            f"<details><summary>{_good_text(good, bool(loud))}</summary>",
            *(_one(document, tables_of[document.number]) for document in good),
            "</details>",
        ]
    parts.append(_fingerprint(documents))
    return "\n".join(parts)


def is_good(document):
    return (
        document.context["valid"]
        and document.content.get("verdict") != "failed"
        and not _statuses([document], "ok", "skipped")
        and not missing_points(document)
    )


def mark(document):
    """Says beside what is shown of a result that it is not valid; empty if it is."""
    reasons = words.invalid_reasons(document.context)
    if not reasons:
        return ""
    return f'<p class="bad">Not valid: {markup.text("; ".join(reasons))}.</p>\n'


def _good_text(good, are_others):
    warned = sum(bool(document.context["warnings"]) for document in good)
    beside = f" ({warned} with warnings)" if warned else ""
    other = "other " if are_others else ""
    all_ = "" if len(good) == 1 else "all "
    return f"{_count(len(good), f'{other}result')}, {all_}valid{beside}"


def summary(documents):
    """Gives the line of the page that says whether anything is wrong with the results."""
    bad = [d for d in documents if not d.context["valid"]]
    wrong = [d for d in documents if d.content.get("verdict") == "failed"]
    failed = len(_statuses(documents, "ok", "skipped"))
    skipped = _statuses(documents, "ok").count("skipped")
    partial = [d for d in documents if missing_points(d)]
    text = [f"{len(bad)} of {_count(len(documents), 'result')} not valid"] * bool(bad)
    if wrong:
        text.append(f"{_count(len(wrong), 'verdict')} failed")
    if failed:
        text.append(f"{_count(failed, 'cell')} failed")
    if partial:
        text.append(f"{_count(len(partial), 'result')} not complete")
    beside = f" ({_count(skipped, 'cell')} skipped)" if skipped else ""
    if text:
        return (
            f'<p class="verdict bad">{"; ".join(text)}{beside}. '
            '<a href="#validity">Which, and why</a></p>'
        )
    every = "The result is" if len(documents) == 1 else f"All {len(documents)} results are"
    return f'<p class="verdict good">{every} valid, no cell failed{beside}.</p>'


def _statuses(documents, *without):
    """Gives the statuses of all cells but for some."""
    return [
        cell["status"]
        for document in documents
        if document.kind == "sweep"
        for cell in document.content["cells"]
        if cell["status"] not in without
    ]


def _count(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def missing_points(document):
    """How many points of the whole sweep the file has no cell of."""
    points = document.context.get("points")
    if document.kind != "sweep" or not isinstance(points, list):
        return 0
    there = {str(cell.get("point")) for cell in document.content["cells"]}
    return len(set(map(str, points)) - there)


def _one(document, its_tables):
    context = document.context
    verdict = "valid" if context["valid"] else "not valid"
    facts = [
        ("kind", document.kind),
        ("measured", context["date"]),
        ("command", context.get("command")),
        ("seed", context.get("seed")),
        ("load at the start", context.get("load")),
        ("shard", context.get("shard")),
    ]
    facts += [
        (key, value)
        for key, value in document.content.items()
        if key not in ("schema_version", "kind", "context", "cells")
        and not isinstance(value, dict)
        and not (isinstance(value, list) and (len(value) > 20 or has_objects(value)))
    ]
    parts = [
        f'<section id="file-{document.number}">',
        f"<h3>{markup.text(document.name)}: "
        f'<span class="{"good" if context["valid"] else "bad"}">{verdict}</span></h3>',
        _reasons("Not valid because", words.invalid_reasons(context)),
        _reasons("Warnings", context["warnings"]),
        _coverage(document),
        _failures(document, its_tables),
        '<dl class="inline">',
        *(
            f"<dt>{markup.text(name)}</dt><dd>{markup.text(value)}</dd>"
            for name, value in facts
            if value is not None or name in ("command", "seed", "load at the start")
        ),
        "</dl>",
        _raw(document),
        "</section>",
    ]
    return "\n".join(part for part in parts if part)


def has_objects(values):
    return any(isinstance(value, (dict, list)) for value in values)


def _reasons(title, texts):
    if not texts:
        return ""
    items = "".join(f"<li>{markup.text(text)}</li>" for text in texts)
    return f'<p>{title}:</p><ul class="reasons">{items}</ul>'


def _coverage(document):
    missing = missing_points(document)
    if not missing:
        return ""
    total = len(set(map(str, document.context["points"])))
    return (
        f'<p class="bad">Not complete: cells of {total - missing} of {total} '
        "points of the sweep.</p>"
    )


def _failures(document, its_tables):
    if document.kind != "sweep":
        return ""
    cells = document.content["cells"]
    found = tables.failures(cells)
    ok = len(cells) - sum(map(len, found.values()))
    text = f"<p>{_count(len(cells), 'cell')}, {ok} of them ok.</p>"
    if not found:
        return text
    number = next(table.number for table in its_tables if table.records is cells)
    rows = [
        [
            ("th", markup.text(status)),
            ("td", str(len(indices))),
            ("td", f'<a href="#cell-{number}-{indices[0]}">row {indices[0]}</a>'),
            ("td", markup.text(message)),
        ]
        for (status, message), indices in found.items()
    ]
    return text + markup.table(
        f"{document.name}: cells without times",
        ["status", "cells", "the first", "message"],
        rows,
    )


def _raw(document):
    # The records are left out, which have their tables.
    lists = tables.lists_of_records(document.content)
    rest = {k: v for k, v in document.content.items() if k not in lists}
    lines = []
    for key, value in rest.items():
        if isinstance(value, dict):
            lines += [f"{key}:"]
            lines += [f"  {k}: {_json(v)}" for k, v in value.items()]
        else:
            lines.append(f"{key}: {_json(value)}")
    text = markup.text("\n".join(lines))
    inner = markup.in_place(f'<pre tabindex="0">{text}</pre>')
    return (
        f"<details><summary>Raw JSON of {markup.text(document.name)} but for its "
        f"records</summary>{inner}</details>"
    )


def _json(value):
    return json.dumps(value, ensure_ascii=False)


def _fingerprint(documents):
    """Gives each field once where all results agree, and else its values, each with the
    results that have it.
    """
    flat = [
        tables.flatten(
            _with_words({k: v for k, v in d.context.items() if k not in NOT_FINGERPRINT})
        )
        for d in documents
    ]
    names = list(dict.fromkeys(name for row in flat for name in row))
    differing = [n for n in names if len({str(row.get(n)) for row in flat}) > 1]
    if len(documents) == 1:
        text = ""
    elif differing:
        text = (
            '<p class="bad">Not all were made by the same program on the same '
            f"machine; they differ in: {markup.text(', '.join(differing))}.</p>"
        )
    else:
        text = "<p>All were made by the same program on the same machine.</p>"
    if differing:
        rows = [row for name in differing for row in _values(name, documents, flat)]
        text += markup.table("Where they differ", ["field", "value", "results"], rows)
    alike = [
        [("th", markup.text(name)), ("td", markup.text(flat[0].get(name)))]
        for name in names
        if name not in differing
    ]
    return (
        '<section id="fingerprint"><h3>Fingerprint</h3>\n'
        + text
        + markup.table("Program and machine", ["field", "value"], alike)
        + "</section>"
    )


def _values(name, documents, flat):
    """Gives a row for each value of a field; results are named but for those of the most."""
    found = {}
    for document, row in zip(documents, flat):
        found.setdefault(str(row.get(name)), []).append((document.name, row.get(name)))
    rows = []
    for of in found.values():
        are_most = 2 * len(of) > len(documents)
        names = "all others" if are_most else ", ".join(one for one, _ in of)
        rows.append([("th", markup.text(name)), ("td", markup.text(of[0][1])),
                     ("td", markup.text(names))])
    return rows


def _with_words(value):
    """Puts the words of a list in the place of the list: they are told apart, not only
    counted.
    """
    if isinstance(value, dict):
        return {key: _with_words(member) for key, member in value.items()}
    return ", ".join(map(str, value)) if isinstance(value, list) else value
