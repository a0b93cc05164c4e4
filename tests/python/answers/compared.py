"""Results that no run made, for tests of comparisons."""

import copy
from unittest import mock

import made_up

from attnbench.analysis import intervals
from attnbench.answers import comparison

# Effects so small that a percent can be told; those of the project may change.
QUIET = {"s_build": 0.005, "build_degrees": 19, "s_process": 0.003, "process_degrees": 77,
         "s_run": 0.002, "run_degrees": 10}


def use_quiet(test, of_run=None, speed=None):
    """Gives the effects to a test until it ends."""
    run = {} if of_run is None else {"s_run": of_run}
    effects = {"time": {**QUIET, "s_run": 0.02, **run}, "ratio": {**QUIET, **run},
               "peer": {**QUIET, **run}, "speed": speed or {"share": 0.0, "degrees": 1}}
    patch = mock.patch.object(intervals, "EFFECTS", effects)
    patch.start()
    test.addCleanup(patch.stop)


def half_width(kind, miss, **counts):
    """The half width that effects of a kind give, so often each."""
    return intervals.Estimate(0.0, tuple(intervals.hidden(kind, **counts).values())).at(miss).high


def samples(time_ns):
    """Ten processes have two rounds each, half a percent apart."""
    return [time_ns * (1 + 0.0005 * (place // 2)) for place in range(20)]


def cell(mechanism, length, samples_ns, processes=10, **changes):
    return made_up.make_cell(
        mechanism, length, length, samples_ns=samples_ns, processes=processes, **{
            "trials_per_sample": 16, "draw_ns": [10.0, 11.0], "peak_memory_bytes": 4096,
            "options": {"threshold": 0.5}, "point": f"{length:016}",
            "operations": {"energies": 10, "memory_rows": 20, "flops": 100.5, "bytes": 400},
            "numerics": {"attention_mass": 1.0, "context_sum": -0.25, "context_l2": 2.0},
            **changes})


def cells():
    return [cell("soft", 10, samples(1000)), cell("mocha", 10, samples(100)),
            cell("soft", 20, samples(4000))]


def scaled(factor):
    found = cells()
    for one in found:
        one["samples_ns"] = [factor * sample for sample in one["samples_ns"]]
    return found


def result(of, **context):
    document = made_up.make_document(copy.deepcopy(of))
    document["context"].update(context)
    return document


def compare(before, after, **options):
    """The comparison of a.json with b.json: of cells, or of documents."""
    a, b = (one if isinstance(one, dict) else result(one) for one in (before, after))
    return comparison.compare(("a.json", a), ("b.json", b), **options)


def after_change(change):
    """Compares cells with themselves after a change to them."""
    changed = cells()
    change(changed)
    return compare(cells(), changed)
