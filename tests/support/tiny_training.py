"""A training that takes seconds, and its result without what depends on time."""

from documents import read, validate

SETTINGS = {
    "task": "copy", "least_symbols": 0, "most_symbols": 3, "dim": 8, "encoder_units": 8,
    "embedding": 4, "steps": 60, "batch": 4, "held_out": 8, "curve_every": 20,
    "curve_held_out": 4, "energy_bias": 0, "noise": 1,
}


def experiment(*alternatives, **members):
    return {"name": "tiny", "question": "q", "source": "s", "settings": SETTINGS,
            "alternatives": list(alternatives), **members}


def result(path):
    document = read(path)
    validate(document, "trained")
    return document


def runs(path):
    return [{name: value for name, value in run.items() if name not in ("seconds", "step_ms", "step_cpu_ms")}
            for run in result(path)["runs"]]
