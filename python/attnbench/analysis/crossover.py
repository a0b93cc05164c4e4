"""Fits models of time, and finds the length from which on a mechanism is faster than
soft attention.
"""

import math
import re
from dataclasses import dataclass

import numpy

from attnbench.analysis import (
    beam_cells,
    fits,
    load,
    pairing,
    settings,
)

SPEEDUPS = (1, 2, 10)
MOST = 10**7  # T beyond this is "never"
# These are 1 percent apart, so a length is printed with no more than three digits.
LENGTHS = numpy.unique(numpy.geomspace(1, MOST, 1500).astype(int))
TERMS = ("constant", "outputs", "entries", "energies", "chunk_energies")
FREE = ("memory_length", "output_length", "dim", "workload", "chunk_width")
LEAST_LENGTHS = 2
ROUNDING = 1e-9  # as a share of a time; a fit leaves it to terms that are not there


@dataclass(frozen=True)
class Model:
    names: tuple  # of TERMS
    coefficients: numpy.ndarray  # [draws + 1, names]; the first is the fit
    largest_residual: float  # signed share of the measured time
    typical_residual: float  # root of the mean square
    adaptive: bool  # chunk_energies are those since the last choice
    width: float  # w; infinite without an end
    beam: int | None = None  # hypotheses; None: no search, U is free
    tells_energies: bool = True  # from outputs, so of any share


# ---- choosing cells ---------------------------------------------------------


def read(path):
    return of(load.read(path, "sweep"), path)


def of(document, path):
    """Cells with TERMS, `beam`, `shortest` and `longest` memory: those of whole
    decoders, where all are, or of attention.
    """
    cells = load.cells_of(document, path)
    if (cells["scope"] == load.DECODER).all():
        return beam_cells.of(cells)
    return select(cells)


def select(cells):
    """Decoding cells of variant exact, with soft attention among them."""
    path = cells.attrs["path"]
    chosen = cells[(cells["variant"] == "exact") & (cells["mode"] == "decode")]
    if chosen.empty:
        raise load.DataError(path, "cells missing: variant exact, mode decode")
    chosen = settings.select(chosen, free=FREE)
    chosen = chosen[chosen["status"] == "ok"]
    if pairing.BASELINE not in set(chosen["mechanism"]):
        raise load.DataError(path, f"cells missing: mechanism {pairing.BASELINE}")
    for axis in ("memory_length", "output_length"):
        if chosen[axis].nunique() < LEAST_LENGTHS:
            raise load.DataError(
                path, f"{axis} has one value: nothing tells what it costs"
            )
    fits.require_rounds(chosen)
    return chosen.assign(
        beam=None,
        memory_share=None,
        shortest=chosen["memory_length"],
        longest=chosen["memory_length"],
        constant=1.0,
        outputs=chosen["output_length"].astype(float),
        entries=chosen["memory_length"].astype(float),
        energies=fits.counts(chosen, "energies"),
        chunk_energies=fits.counts(chosen, "chunk_energies"),
    )


# ---- model ------------------------------------------------------------------


def fit(group):
    """The Model of the cells of one mechanism, w or K, d, and beam."""
    times = fits.times_of(group)
    columns = {name: group[name].to_numpy(dtype=float) for name in TERMS}
    told = names = _told(columns)
    while True:
        design = numpy.column_stack([columns[name] for name in names])
        fits.require_told(group, design)
        found = fits.solve(design, times[None])[0]
        shares = design * found / times[:, None]
        adds = shares.max(axis=0) > ROUNDING
        if adds.all():
            break
        # Of the others the one that takes most off the time of a cell.
        worst = numpy.where(adds, math.inf, shares.min(axis=0)).argmin()
        names = [name for name in names if name != names[worst]]
    drawn = fits.solve(design, fits.redrawn_times(group))
    residuals = design @ found / times - 1
    width = group["chunk_width"].iloc[0]
    chunks = columns["chunk_energies"].any()
    return Model(
        tuple(names),
        numpy.vstack([found, drawn]),
        float(residuals[numpy.argmax(numpy.abs(residuals))]),
        float(numpy.sqrt(numpy.mean(residuals**2))),
        bool(chunks and width is None),
        math.inf if width in (None, "inf") else float(width),
        group["beam"].iloc[0],
        "energies" in told,
    )


def _told(columns):
    names = []
    for name, column in columns.items():
        used = [columns[before] for before in names]
        if column.any() and (not used or fits.is_told(column, used)):
            names.append(name)
    return names


def counts_at(model, mechanism, length, outputs, share):
    """What the terms of the model are multiplied with."""
    if model.beam is None:
        scanned = share * length + outputs
        windows = min(model.width, length) * outputs
    else:
        outputs = 1 + length * model.beam
        scanned = beam_cells.passed(share, length, model.beam) + outputs
        width = None if math.isinf(model.width) else int(model.width)
        windows = beam_cells.chunk_energies(width, share, length, model.beam)
    return {
        "constant": 1.0,
        "outputs": outputs,
        "entries": length,
        "energies": length * outputs if mechanism == pairing.BASELINE else scanned,
        "chunk_energies": scanned if model.adaptive else windows,
    }


def times_at(model, mechanism, outputs, share):
    """Times at LENGTHS by each of the model's coefficients, [lengths, draws + 1].
    `outputs` is a number, or None for U = T.
    """
    counts = [
        counts_at(model, mechanism, length, outputs or length, share)
        for length in LENGTHS.tolist()
    ]
    rows = [[count[name] for name in model.names] for count in counts]
    return numpy.array(rows, dtype=float) @ model.coefficients.T


def crossovers(theirs, ours, speedup):
    """The least T from which on they take `speedup` times as long as ours, for each of
    the coefficients; infinite where MOST is too short.
    """
    # The answer is the first length after the last at which they do not.
    slower = theirs < speedup * ours
    last = len(LENGTHS) - 1 - slower[::-1].argmax(axis=0)
    first = numpy.where(slower.any(axis=0), last + 1, 0)
    padded = numpy.append(LENGTHS.astype(float), math.inf)
    return padded[first]


def is_of_its_experiments(document):
    """Whether a result is of experiments/crossover*.json, by its command."""
    command = document.get("context", {}).get("command", "")
    return _EXPERIMENT.search(command) is not None


_EXPERIMENT = re.compile(r"(^|[ /])crossover\w*(\.json)?( |$)")
