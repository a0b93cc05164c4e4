"""Finds what in a document is not as its schema in results/schema/ says.

jsonschema takes 0.7 ms for a cell of a sweep, 13 s for 20,000 of them. So the items of
an array are first tried by functions that are made of their schema once and take 0.05 ms.
jsonschema looks only at those that fail, and at keywords that have no such function.
"""

import functools
import json
import operator
import os
import re
import reprlib

import jsonschema

from attnbench.analysis import ROOT, command

FOLDER = os.path.join(ROOT, "results", "schema")
TYPES = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    # The program's are of 64 bits.
    "integer": lambda value: (type(value) is int or isinstance(value, float)
                              and value.is_integer()) and -2**63 <= value < 2**63,
    "null": lambda value: value is None,
    "number": lambda value: type(value) in (int, float),
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}
BASE = jsonschema.validators.extend(
    jsonschema.Draft7Validator,
    type_checker=jsonschema.Draft7Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: TYPES["integer"](value)))
# A keyword that bounds something -> its words, and what must be so.
BOUNDS = {
    "minimum": ("from {}", operator.ge),
    "maximum": ("up to {}", operator.le),
    "exclusiveMinimum": ("above {}", operator.gt),
    "exclusiveMaximum": ("below {}", operator.lt),
    "minItems": ("of at least {}", operator.ge),
    "maxItems": ("of at most {}", operator.le),
}


def first_error(document, name):
    """(place, what is wrong there) by results/schema/NAME.schema.json, or None."""
    return _first_error(document, _validator(name))


def error_of(document, schema):
    """The same by a schema."""
    return _first_error(document, BASE(schema))


def take_whole(document, name):
    """Puts 10 in the place of 10.0 wherever the schema has an integer: the program takes
    either, but Python counts by an int alone.
    """
    whole = _whole_of(name)
    if whole:
        whole(document)


@functools.cache
def _whole_of(name):
    return _whole(read(name))


def _whole(schema):
    """A function that does so in a value, and gives the value; None where the schema has no
    integer. Only members that may be one are looked at: most numbers are times.
    """
    if "integer" in _types(schema.get("type", "")):
        return lambda v: int(v) if isinstance(v, float) and v.is_integer() else v
    options = [found for one in schema.get("anyOf", ()) if (found := _whole(one))]
    if options:
        return options[0]
    members = {name: found for name, one in schema.get("properties", {}).items()
               if (found := _whole(one))}
    item = "items" in schema and _whole(schema["items"])

    def inside(value):
        if isinstance(value, dict):
            for name in members.keys() & value.keys():
                value[name] = members[name](value[name])
        elif isinstance(value, list) and item:
            value[:] = map(item, value)
        return value

    return inside if members or item else None


def _first_error(document, validator):
    best = jsonschema.exceptions.best_match
    error = best(validator.iter_errors(document))
    if error is None:
        return None
    # What is wrong in an object, or null, says more than that it is neither.
    while error.validator == "anyOf" and isinstance(error.instance, (dict, list)):
        inner = [one for one in error.context if one.validator != "type" or one.path]
        if not inner:
            break
        error = best(inner)
    key, wanted, value = error.validator, error.validator_value, error.instance
    path = list(error.absolute_path)
    if key == "required":
        absent = next(name for name in wanted if name not in value)
        return _place(path), f"{absent} is missing"
    if key == "additionalProperties" and wanted is False:
        known = error.schema.get("properties", ())
        more = next(name for name in value if name not in known)
        return _place(path), command.unknown("member", more, list(known))
    if key not in ("type", "enum", "const", "anyOf", "not", *BOUNDS):
        return _place(path), command.shortened(error.message)
    # An index belongs to the name before it, as in "samples_ns[1]".
    names = [step for step, name in enumerate(path) if isinstance(name, str)]
    last = names[-1] if names else 0
    return _place(path[:last]), (
        f"{_place(path[last:]) or 'all of it'} is {reprlib.repr(value)}, it must be "
        f"{_in_words(error.schema)}"
    )


def _place(path):
    """'context.limits[2].levels'"""
    steps = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return "".join(steps).removeprefix(".")


def _in_words(schema):
    """'integer from 1 up to 1024 or null'"""
    if "anyOf" in schema:
        return " or ".join(map(_in_words, schema["anyOf"]))
    if "not" in schema:
        return f"not {_in_words(schema['not'])}"
    allowed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if allowed:
        return "one of " * (len(allowed) > 1) + ", ".join(map(repr, allowed))
    bounds = [
        text.format(str(schema[key]).removesuffix(".0"))
        for key, (text, _) in BOUNDS.items()
        if key in schema
    ]
    kind = schema.get("type", "array" if {"minItems", "maxItems"} & set(schema) else "value")
    return " ".join([" or ".join(_types(kind)), *bounds])


def _types(wanted):
    return [wanted] if isinstance(wanted, str) else wanted


@functools.cache
def read(name):
    """The schema in results/schema/NAME.schema.json."""
    with open(os.path.join(FOLDER, f"{name}.schema.json"), encoding="utf-8") as file:
        return json.load(file)


@functools.cache
def _validator(name):
    return jsonschema.validators.extend(BASE, {"items": _first_wrong_item})(read(name))


def _first_wrong_item(validator, schema, array, _):
    """The keyword `items`, which stops at the first item that is wrong."""
    if not isinstance(array, list):
        return
    meets = test_of(schema, validator)
    for index, item in enumerate(array):
        if not meets(item):
            errors = list(validator.descend(item, schema, path=index))
            if errors:
                yield from errors
                return


def test_of(schema, validator):
    """A function that says whether a value meets the schema."""
    if isinstance(schema, bool):
        return lambda v: schema
    tests = [
        _test(key, wanted, schema, validator)
        for key, wanted in schema.items()
        if key in BASE.VALIDATORS
    ]
    if len(tests) == 1:
        return tests[0]

    def meets(value):
        for test in tests:
            if not test(value):
                return False
        return True

    return meets


def _test(key, wanted, schema, validator):
    """A function that says whether a value meets one keyword of a schema."""
    is_array, is_number, is_object = (TYPES[t] for t in ("array", "number", "object"))

    def of(schema):
        return test_of(schema, validator)

    match key:
        case "type":
            kinds = [TYPES[kind] for kind in _types(wanted)]
            if len(kinds) == 1:
                return kinds[0]
            return lambda v: any(is_it(v) for is_it in kinds)
        case "enum" | "const":
            allowed = wanted if key == "enum" else [wanted]
            # 1 equals true in Python, not in JSON.
            return lambda v: any(
                v == one and isinstance(v, bool) == isinstance(one, bool) for one in allowed
            )
        case "minItems" | "maxItems":
            _, holds = BOUNDS[key]
            return lambda v: not is_array(v) or holds(len(v), wanted)
        case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
            _, holds = BOUNDS[key]
            return lambda v: not is_number(v) or holds(v, wanted)
        case "pattern":
            search = re.compile(wanted).search
            return lambda v: not isinstance(v, str) or search(v) is not None
        case "items":
            item = of(wanted)
            return lambda v: not is_array(v) or all(map(item, v))
        case "properties":
            members = [(name, of(member)) for name, member in wanted.items()]
            return lambda v: not is_object(v) or all(
                test(v[name]) for name, test in members if name in v
            )
        case "required":
            names = set(wanted)
            return lambda v: not is_object(v) or names <= v.keys()
        case "additionalProperties":
            known, more = set(schema.get("properties", ())), of(wanted)
            return lambda v: not is_object(v) or all(
                more(v[name]) for name in v.keys() - known
            )
        case "anyOf":
            options = [of(option) for option in wanted]
            return lambda v: any(option(v) for option in options)
        case "not":
            unwanted = of(wanted)
            return lambda v: not unwanted(v)
        case "if":
            is_so, then, other = (
                of(schema.get(part, {})) for part in ("if", "then", "else")
            )
            return lambda v: (then if is_so(v) else other)(v)
        case _:
            return validator.evolve(schema={key: wanted}).is_valid
