"""The papers' own numbers, as results/published/ holds them."""

import os

from analysis import ROOT, load

FOLDER = os.path.join(ROOT, "results", "published")
PAPERS = ("mad", "mocha", "britz")  # in the order of their years


def papers():
    """Gives the documents of all papers, in their order."""
    return [paper(name) for name in PAPERS]


def paper(name):
    return load.read(os.path.join(FOLDER, f"{name}.json"), "published")


def statement(document, name):
    """Gives the numbers of one statement of a paper."""
    return _by_id(document["statements"], name)["numbers"]


def table(document, name):
    """Gives one table of a paper."""
    return _by_id(document["tables"], name)


def _by_id(entries, name):
    return next(entry for entry in entries if entry["id"] == name)
