"""The result files of a page, read and checked once."""

import os
from dataclasses import dataclass

from attnbench.analysis import command, load


KINDS = (
    "sweep",
    "verify",
    "stability",
    "roofline",
    "claims",
    "computed",
    "authors",
    "trained",
    "advice",
    "diagnosis",
    "gap",
    "model_gap",
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
    # A figure shows the name, which may not be UTF-8.
    names = [command.printable(os.path.basename(path)) for path in paths]
    documents = []
    for number, (path, name) in enumerate(zip(paths, names)):
        content = load.read(path, *KINDS)
        if names.count(name) > 1:
            name = command.printable(path)
        documents.append(
            Document(number, path, name, content["kind"], content["context"], content)
        )
    return documents
