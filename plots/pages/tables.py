"""The sortable tables: one for every list of records that a document has.

A record becomes a row by its own keys, so a new field, or a new kind of
document, is shown without being named here. Of a number the page shows four
digits; the record itself goes with the rows, one line of JSON, and every
number links to it.

Rows are data, not markup: page.js makes those that are looked at. A result
with 20,000 cells would be some 600,000 elements otherwise.
"""

import json
from dataclasses import dataclass

from attnbench.analysis import load
from pages import markup

# Lists of two numbers that are the ends of an interval.
_ENDS = (" low", " high")
MOST_EXACT = 2**53 - 1  # Number.MAX_SAFE_INTEGER


@dataclass(frozen=True)
class Table:
    number: int  # counts from 0; its records are #cell-NUMBER-INDEX
    title: str
    columns: list
    rows: list
    constants: dict  # values that all rows share, which have no column
    records: list  # None: rows link to the records of table `source`
    source: int
    links: list  # of each row, the index of its record


def of_documents(documents):
    """Gives document number -> its tables, in the order of the page."""
    tables = {}
    count = 0
    for document in documents:
        found = []
        for key, records in lists_of_records(document.content).items():
            source = count + len(found)
            found.append(_table(source, f"{document.name}: {key}", records))
            found += _of_parts(source + 1, found[-1], f"{document.name}: {key}")
        tables[document.number] = found
        count += len(found)
    return tables


def lists_of_records(content):
    """Gives key -> list, of those at the top of a document that hold objects."""
    return {
        key: value
        for key, value in content.items()
        if isinstance(value, list)
        and (key == "cells" or value)
        and all(isinstance(record, dict) for record in value)
    }


def _table(number, title, records):
    flat = [flatten(record) for record in records]
    return _of_rows(number, title, flat, records, number, list(range(len(flat))))


def _of_parts(number, whole, title):
    """Gives a table for each list of records inside the records of a table."""
    keys = [key for key in _keys(whole.records) if _holds_parts(whole.records, key)]
    made = []
    for key in keys:
        flat, links = [], []
        for index, record in enumerate(whole.records):
            owner = {
                name: value
                for name, value in flatten(record).items()
                if not name.startswith("count of ")
            }
            for part in record.get(key) or []:
                flat.append({**owner, **flatten(part, f"{key}.")})
                links.append(index)
        made.append(
            _of_rows(
                number + len(made), f"{title}: {key}", flat, None, whole.number, links
            )
        )
    return made


def _keys(records):
    return dict.fromkeys(key for record in records for key in record)


def _holds_parts(records, key):
    """Whether the records' values there are lists of records, some not empty."""
    values = [record[key] for record in records if record.get(key) is not None]
    return all(isinstance(value, list) for value in values) and {
        isinstance(part, dict) for value in values for part in value
    } == {True}


def _of_rows(number, title, flat, records, source, links):
    names = _keys(flat)
    constants, columns = {}, []
    for name in names:
        values = [row.get(name) for row in flat]
        if all(value is None for value in values):
            continue
        # A table of one row is read more easily as a row.
        if len(flat) > 1 and all(value == values[0] for value in values):
            constants[name] = values[0]
        else:
            columns.append(name)
    rows = [[row.get(name) for name in columns] for row in flat]
    return Table(number, title, columns, rows, constants, records, source, links)


def flatten(record, prefix=""):
    """Gives name -> number, text or None: the columns of a record."""
    row = {}
    for key, value in record.items():
        name = prefix + key
        if key == "options" and isinstance(value, dict):
            # Each mechanism has other options: a column for each would be empty
            # nearly everywhere.
            row[name] = ", ".join(f"{k}={scalar(v)}" for k, v in value.items())
        elif isinstance(value, dict):
            row.update(flatten(value, name + "."))
        elif isinstance(value, list):
            row.update(_flatten_list(name, key, value))
        elif value is None and "interval" in key:
            row.update(dict.fromkeys(name + end for end in _ENDS))
        else:
            row[name] = scalar(value)
    return row


def _flatten_list(name, key, values):
    if "interval" in key and len(values) == 2:
        return {name + end: value for end, value in zip(_ENDS, values)}
    return {"count of " + name: len(values)}


def scalar(value):
    """Writes true and false as words, as they are no numbers."""
    return str(value).lower() if isinstance(value, bool) else value


def _exact(value):
    """The value as page.js takes it: a number of JavaScript cannot hold every integer."""
    is_large = isinstance(value, int) and abs(value) > MOST_EXACT
    return {"whole": str(value)} if is_large else value


def lines(table):
    """Gives what page.js fills a table from: its data on the first line, then its records."""
    data = {
        "columns": table.columns,
        "constants": {name: _exact(value) for name, value in table.constants.items()},
        "rows": [[_exact(value) for value in row] for row in table.rows],
        "source": table.source,
    }
    if table.records is None:
        data["links"] = table.links
    return "\n".join(
        json.dumps(one, separators=(",", ":")) for one in (data, *(table.records or [])))


def to_html(table):
    """Makes the frame that page.js fills when it is opened."""
    n, count = table.number, len(table.rows)
    caption = markup.text(table.title)
    head = "".join(
        f'<th scope="col"><button type="button">{markup.text(name)}</button></th>'
        for name in table.columns
    )
    same = "".join(
        f"<dt>{markup.text(name)}</dt><dd>{markup.text(value)}</dd>"
        for name, value in table.constants.items()
    )
    if same:
        same = f"<p>The same in every row:</p><dl class=\"inline\">{same}</dl>"
    return f"""<details class="records" id="table-{n}">
<summary><span id="caption-{n}">{caption}</span> ({count} row{"s"[count == 1:]})</summary>
{same}
<div class="tools"><label for="filter-{n}">Filter</label>
<input type="search" id="filter-{n}" aria-describedby="filter-help" autocomplete="off">
<button type="button" class="previous">Previous rows</button>
<button type="button" class="next">Next rows</button>
<output for="filter-{n}" aria-live="polite"></output></div>
<div class="scroll" role="region" tabindex="0" aria-label="{caption}">
<table><caption>{caption}</caption>
<thead><tr><th scope="col"><button type="button">row</button></th>{head}</tr></thead>
<tbody></tbody></table></div>
<div id="opened-{n}"></div>
</details>"""


def failures(cells):
    """Gives (status, message) -> indices of the cells that have no times."""
    found = {}
    for index, cell in enumerate(cells):
        if cell["status"] != "ok":
            key = cell["status"], cell["message"]
            found.setdefault(key, []).append(index)
    order = load.STATUSES
    return dict(
        sorted(
            found.items(), key=lambda item: (order.index(item[0][0]), str(item[0][1]))
        )
    )
