"""Reads the project's JSON documents, as strictly as programs do, and their schemas."""

import json
import os

import jsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# What moves a terminal's cursor or changes its colours: controls but the end of a line.
CONTROL = r"[\x00-\x09\x0b-\x1f\x7f-\x9f]"


def text(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def read(*path):
    return strict(text(*path))


def strict(text):
    def refuse(constant):
        raise ValueError(constant)

    def once(pairs):
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys)), keys
        return dict(pairs)

    return json.loads(text, parse_constant=refuse, object_pairs_hook=once)


def validate(document, schema):
    schema = read("results", "schema", schema + ".schema.json")
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.Draft7Validator(schema).validate(document)
