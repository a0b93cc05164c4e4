"""What a measurement must have before a quantity is read from it."""

import os

from attnbench.analysis import ROOT, load
from attnbench.judge import readings

# How a label is called in a verdict, and the option that gives what is missing.
WORDS = {"eigen_series": ("Eigen", "--eigen DIR")}


def lacking(quantity, document):
    """What cells the quantity needs and the document does not have, and which committed
    result has them; empty: it has them, or needs none.
    """
    wanted = quantity.get("needs")
    if not wanted or readings.select(document.content["cells"], wanted):
        return ""
    name, value = next(iter(wanted.items()))
    word, option = WORDS[name]
    text = f"{word} {value} ({option})"
    path = f"results/claims/{document.measurement}.json"
    if not os.path.exists(os.path.join(ROOT, path)):
        return text
    committed = load.read_json(os.path.join(ROOT, path))
    if not readings.select(committed["cells"], wanted):
        return text
    return f"{text}; {path}, of {committed['context']['cpu']}, has it"
