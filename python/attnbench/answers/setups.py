"""In what two results were measured differently, of all that decides times."""

from attnbench.analysis import schema

# What changes from run to run on one machine. It differs in every pair, and is no part of
# the setup (harness/machine/fingerprint.h).
NOT_SETUP = (
    "command",
    "date",
    "load",
    "load_end",
    "memory_bytes",
    "valid",
    "invalid_reasons",
    "warnings",
    "points",
    "cells_of_points",
    "processes",
    "shard",
    "runs",
    "limits",
    "calibration",
    "workload_files",  # comparison.py
)
SETUP = [name for name in schema.read("sweep")["properties"]["context"]["properties"]
         if name not in NOT_SETUP]


def differences(a, b):
    """Gives {"field", "a", "b"} for each field in which two contexts differ, such as
    "loaded.blas.core". Of runs that differ among themselves, nobody knows which cells come
    from which run: all that they have is a list. A context that lacks a member is from
    before it, and nobody knows whether they differ there.
    """
    sides = [_setups_of(a), _setups_of(b)]
    first = sides[0][0]
    # Where a run does not differ from the first one, it has what that has.
    found = [[dict(_differing(first, one)) for one in side] for side in sides]
    of_first = {field: values[0] for side in found for one in side
                for field, values in one.items()}
    return [
        {"field": field, **{name: _one_or_all([one.get(field, (value, value))[1] for one in side])
                            for name, side in zip("ab", found)}}
        for field, value in of_first.items()]


def _setups_of(context):
    """The setups of all runs, each once."""
    common = {name: context[name] for name in SETUP if name in context}
    runs = [{**common, **(run.get("differs") or {})} for run in context.get("runs") or [{}]]
    return _distinct(runs)


def _differing(a, b):
    """(field, (a's value, b's value)) where two setups differ."""
    for name in a:
        if name in b:
            yield from _differing_at(name, a[name], b[name])


def _differing_at(field, a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        for name in {**a, **b}:
            yield from _differing_at(f"{field}.{name}", a.get(name), b.get(name))
    elif a != b:
        yield field, (a, b)


def _one_or_all(values):
    every = _distinct(values)
    return every[0] if len(every) == 1 else every


def _distinct(values):
    return [value for place, value in enumerate(values) if value not in values[:place]]
