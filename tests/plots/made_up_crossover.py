"""Made-up cells whose times are of known coefficients, for fits of crossings."""

import numpy
from made_up import make_cell

LENGTHS, OUTPUTS = (16, 64, 256), (8, 32)
SHARES = {"uniform": 0.25, "diagonal": 1.0}  # of the memory, by workload
ENERGY, SCAN, CHUNK, OUTPUT, ENTRY, A = 10.0, 20.0, 15.0, 100.0, 2.0, 500.0


def timed(mechanism, t, u, workload, time_ns, operations, **changes):
    # Rounds that are not all alike: a bootstrap of equal ones has no width.
    samples = [time_ns * (1 + 1e-3 * ((r % 5) - 2)) for r in range(10)]
    return make_cell(mechanism, t, u, workload=workload, samples_ns=samples,
                     median_ns=float(numpy.median(samples)),
                     operations={"energies": 0, "chunk_energies": 0, **operations},
                     **changes)


def soft(t, u, workload):
    return timed("soft", t, u, workload, A + ENERGY * t * u, {"energies": t * u})


def monotonic(t, u, workload):
    energies = SHARES[workload] * t + u
    return timed("monotonic", t, u, workload, A + OUTPUT * u + SCAN * energies,
                 {"energies": energies})


def mocha(t, u, workload):
    energies, chunk = SHARES[workload] * t + u, 4 * u
    return timed("mocha", t, u, workload, A + SCAN * energies + CHUNK * chunk,
                 {"energies": energies, "chunk_energies": chunk}, chunk_width=4)


def memory(t, u, workload):
    return timed("memory", t, u, workload, 1000.0 + 640 * t + 640 * u, {},
                 num_contexts=32)


def cells(*makes):
    return [make(t, u, workload) for make in makes or (soft, monotonic, mocha, memory)
            for t in LENGTHS for u in OUTPUTS for workload in SHARES]
