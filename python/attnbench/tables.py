"""Makes tables of documents, by their schema: a pandas frame for each list in them, without
nested columns.

Names are those of the document:

- A list has the name of its place: "cells", "cells.samples_ns".
- A member of an object in a row is a column: "operations.flops".
- An interval is two columns: "low_ns" and "high_ns" of "interval_ns".
- A row of a list in a list has the number of the outer row, from 0, in a column of the
  outer list's name ("cells"). A row of an object also has the outer row's columns; a
  column "verdict" that both have is "claims.verdict" of the outer one.
- A row of a list of numbers or texts has its place in it, from 0: "item", or "row" and
  "column" where it is a list of lists.

Columns and their types follow from the schema, so that all documents of a kind have the
same ones. Only an object whose members the schema does not name ("options") has the
columns that are there.
"""

import functools
import math
from dataclasses import dataclass, field

import pandas

from attnbench.analysis import load

TEXT, INTEGER, NUMBER = ({"type": kind} for kind in ("string", "integer", "number"))
OPEN = {"type": "object"}  # stands in Table.columns for the columns of any members
WHOLE = "document"  # the table of one row a file
INFINITE = {"inf": math.inf, "-inf": -math.inf}
NUMERIC = {"integer", "number", "infinite"}


@dataclass
class Table:
    name: str
    columns: dict  # name -> schema, in their order
    lists: dict = field(default_factory=dict)  # place in an object -> Table
    steps: tuple = ()  # columns of the place in a list of no objects
    taken: dict = field(default_factory=dict)  # column of the outer table -> of this one
    rows: list = field(default_factory=list)

    @property
    def is_whole(self):
        return self.name == WHOLE

    @property
    def last_name(self):
        return self.name.rpartition(".")[2]

    def all(self):
        """This table, and those of all lists in it."""
        return [self, *(one for inner in self.lists.values() for one in inner.all())]


# ---- from schemas -----------------------------------------------------------


def plan(schema):
    """The Table WHOLE of documents with that schema, without rows."""
    whole = Table(WHOLE, {"path": TEXT})
    _add_members(whole, _expanded(schema, schema.get("definitions", {})))
    return whole


def inferred(values):
    """A schema of values that have none."""
    objects = [value for value in values if isinstance(value, dict)]
    if objects:
        keys = dict.fromkeys(key for one in objects for key in one)
        return {"type": "object", "properties": {
            key: inferred([one[key] for one in objects if key in one]) for key in keys}}
    lists = [value for value in values if isinstance(value, list)]
    if lists:
        return {"type": "array", "items": inferred([item for one in lists for item in one])}
    return {}


def _expanded(schema, definitions):
    if isinstance(schema, list):
        return [_expanded(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _expanded(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {
        key: _expanded(one, definitions)
        for key, one in schema.items() if key != "definitions"
    }


def _alternatives(schema):
    """The schemas, of one type each, of which a value must meet one."""
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return [one for part in schema[key] for one in _alternatives(part)]
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return [{**schema, "type": kind} for kind in kinds]
    return [schema]


def _of_type(schema, kind):
    return next((one for one in _alternatives(schema) if one.get("type") == kind), None)


def _add_members(table, schema, outer=None):
    """Adds the columns and lists of an object to a table, and those of the outer table."""
    lists = {}
    _add_columns(table, schema, "", lists)
    if outer is not None and not outer.is_whole:
        _take_columns(table, outer)
    for place, items in lists.items():
        table.lists[place] = _of_list(table, place, items)


def _add_columns(table, schema, place, lists):
    if "properties" not in schema:
        table.columns[place] = OPEN
        return
    for key, member in schema["properties"].items():
        name = f"{place}.{key}" if place else key
        inner, items = _of_type(member, "object"), _of_type(member, "array")
        if inner is not None:
            _add_columns(table, inner, name, lists)
        elif items is None:
            table.columns[name] = member
        elif ends_of(name):
            table.columns.update(dict.fromkeys(ends_of(name), NUMBER))
        else:
            lists[name] = items.get("items", {})


def _of_list(outer, place, items):
    """The table of a list that is at a place of the rows of another one."""
    table = Table(place if outer.is_whole else f"{outer.name}.{place}", {"path": TEXT})
    if not outer.is_whole:
        table.columns[outer.last_name] = INTEGER
    if (of_object := _of_type(items, "object")) is not None:
        _add_members(table, of_object, outer)
        return table
    inner = _of_type(items, "array")
    table.steps = ("item",) if inner is None else ("row", "column")
    table.columns.update(dict.fromkeys(table.steps, INTEGER))
    table.columns[table.last_name] = items if inner is None else inner.get("items", {})
    return table


def _take_columns(table, outer):
    """Puts the columns of the outer table first."""
    table.taken = {
        name: f"{outer.last_name}.{name}" if name in table.columns else name
        for name, schema in outer.columns.items() if schema is not OPEN and name != "path"
    }
    taken = {new: outer.columns[old] for old, new in table.taken.items()}
    table.columns = {"path": TEXT, **taken, **table.columns}


@functools.cache
def ends_of(name):
    """The columns of an interval's ends: "low_ns" and "high_ns" of "interval_ns"; none of
    what is no interval.
    """
    place, dot, last = name.rpartition(".")
    words = last.split("_")
    if "interval" not in words:
        return ()
    return tuple(
        place + dot + "_".join(end if word == "interval" else word for word in words)
        for end in ("low", "high")
    )


# ---- from documents ---------------------------------------------------------


def fill(whole, document, path, wanted):
    """Adds the rows of a document to WHOLE, to the table `wanted` and to those that it is
    in.
    """
    _add_row(whole, document, {"path": path}, wanted)


def _add_row(table, value, head, wanted):
    row, lists = dict(head), []
    for name, leaf in _leaves(table, value):
        ends = ends_of(name)
        if name in table.lists:
            lists.append((table.lists[name], leaf or ()))
        elif ends and ends[0] in table.columns:
            row.update(zip(ends, leaf or (None, None)))
        elif leaf is not None or name in table.columns:
            row[name] = _scalar(leaf)
    number = {} if table.is_whole else {table.last_name: len(table.rows)}
    table.rows.append(row)
    for inner, items in lists:
        if not f"{wanted}.".startswith(f"{inner.name}."):
            continue
        taken = {new: row.get(old) for old, new in inner.taken.items()}
        _add_items(inner, items, {"path": row["path"], **taken, **number}, wanted)


def _add_items(table, items, head, wanted):
    if not table.steps:
        for item in items:
            _add_row(table, item, head, wanted)
    elif len(table.steps) == 1:
        for place, item in enumerate(items):
            table.rows.append({**head, "item": place, table.last_name: _scalar(item)})
    else:
        for number, row in enumerate(items):
            for column, item in enumerate(row):
                table.rows.append({
                    **head, "row": number, "column": column, table.last_name: _scalar(item)})


def _leaves(table, value, place=""):
    """(place, value) of all members of an object that are columns or lists."""
    for key, member in value.items():
        name = f"{place}.{key}" if place else key
        if isinstance(member, dict) and table.columns.get(name, OPEN) is OPEN:
            yield from _leaves(table, member, name)
        else:
            yield name, member


def _scalar(value):
    """The value, or its JSON where the schema allows any and it is no scalar."""
    return load.json_text(value) if isinstance(value, (dict, list)) else value


# ---- frames -----------------------------------------------------------------


def frame(table):
    """The frame of a table. Integers and booleans that are never missing are int64 and
    bool, all other numbers float64 with NaN, and the rest objects with None. So are
    integers that these two types would change.
    """
    return pandas.DataFrame({
        name: _column([row.get(name) for row in table.rows], table.columns.get(name, {}))
        for name in _column_names(table)
    })


def _column_names(table):
    there = dict.fromkeys(name for row in table.rows for name in row)
    more = [name for name in there if name not in table.columns]
    names = {}
    for name, schema in table.columns.items():
        if schema is OPEN:
            names |= dict.fromkeys(
                one for one in more if not name or one.startswith(f"{name}."))
        else:
            names[name] = None
    return [*names, *(name for name in more if name not in names)]


def _column(values, schema):
    kinds = _kinds(schema, values)
    missing = any(value is None for value in values)
    if kinds and kinds <= NUMERIC:
        if kinds == {"integer"}:
            least, most = (-2**53, 2**53) if missing else (-2**63, 2**63 - 1)
            if not all(value is None or least <= value <= most for value in values):
                return pandas.Series(values, dtype="object")
            if not missing:
                return pandas.Series(values, dtype="int64")
        return pandas.Series([INFINITE.get(one, one) for one in values], dtype="float64")
    is_bool = kinds == {"boolean"} and not missing
    return pandas.Series(values, dtype="bool" if is_bool else "object")


def _kinds(schema, values):
    """The types, but for null, that a schema allows; of the values where it allows any."""
    kinds = set()
    for one in _alternatives(schema):
        if "enum" in one or "const" in one:
            kinds |= set(map(_kind, one.get("enum", [one.get("const")])))
        elif "type" in one:
            kinds.add(one["type"])
        else:
            kinds |= set(map(_kind, values))
    return kinds - {"null"}


def _kind(value):
    if isinstance(value, str):
        return "infinite" if value in INFINITE else "string"
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    return "integer" if isinstance(value, int) else "number"
