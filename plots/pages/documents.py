"""The result files of a page, read and checked once."""

import os
from dataclasses import dataclass

from analysis import load


KINDS = (
    "sweep",
    "verify",
    "stability",
    "roofline",
    "claims",
    "computed",
    "training",
)


@dataclass(frozen=True)
class Document:
    number: int  # on the page, from 0
    path: str
    name: str  # what the page calls the file
    kind: str
    context: dict
    content: dict  # the whole document


def read(paths):
    """A Document for each path; load.DataError names the one that is none."""
    names = [os.path.basename(path) for path in paths]
    documents = []
    for number, (path, name) in enumerate(zip(paths, names)):
        content = load.read_json(path)
        context = load.context_of(content, path)
        if content["kind"] not in KINDS:
            raise load.DataError(
                path, f"kind is {content['kind']!r}, it must be one of {', '.join(KINDS)}"
            )
        # A run that was stopped before its first cell is still to be shown.
        if content["kind"] == "sweep" and content.get("cells") != []:
            load.check_cells(content, path)
        if names.count(name) > 1:
            name = path
        documents.append(
            Document(number, path, name, content["kind"], context, content)
        )
    return documents
