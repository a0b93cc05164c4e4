#!/usr/bin/env python3
"""From which length on is a mechanism faster than soft attention? Prints a table.

examples:
  plots/crossover.py crossover.json
  plots/crossover.py crossover.json crossover_beam.json --into docs/latency.md
  plots/crossover.py crossover.json --outputs 64 --shares 0.1,1

With --into the table also goes between the lines <!-- crossover table --> and
<!-- end of crossover table --> of a file.

The table has, for each mechanism, size d, beam and share of the memory that the scan
passes, the least T at which soft attention takes 1, 2 and 10 times as long. A sweep
has no beam: one sequence of states. With beams, greedy decoding (1) among them, there
is a table of its own for each result of `attnbench decoder`, of the time of attention
by itself. Times are those of a model, fitted for each mechanism, d and beam to every
cell of the file by

  median_ns = a + u U + t T + b energies + c chunk_energies

with the exact counts of the cells: least squares of the relative error, terms in
this order, each only where the counts tell it from those before it. A term whose
coefficient comes out below zero costs nothing that can be seen and is left out.
For other lengths the counts follow from T, U and the share s:

  soft                 energies = T U
  a scan               energies = s T + U (entries passed, and one choice an output)
  ... and chunks of w  chunk_energies = min(w, T) U
  ... and adaptive     chunk_energies = s T + U
  memory               none: its cost is in U and T

With a beam of B there are 1 + T B outputs, of all hypotheses over T + 1 steps: soft
attention takes T energies for each, a scan one for each and s (T - 1/2), rounded down,
for each hypothesis, MoChA the windows before the entries that it chooses. Where all scans of a result pass
(nearly) one share of the memory, nothing tells what an entry costs from what an output
does, and the table has the shares that were measured.

A model is no measurement: what it misses of the cells that it was fitted to is
told, and a T outside their lengths is marked. Intervals hold 95 percent of a
bootstrap over the rounds of each cell, or its processes where there are several.
"""

import argparse
import math
import re
import sys
from dataclasses import dataclass

import numpy

import beam_cells
import decoder_result
import fits
import load
import markdown
import modes
import page
import pairing
import settings
import words

SPEEDUPS = (1, 2, 10)
SHARES = "0.1,0.5,1"
MOST = 10**7  # T beyond this is "never"
LENGTHS = numpy.unique(numpy.geomspace(1, MOST, 1500).astype(int))
TERMS = ("constant", "outputs", "entries", "energies", "chunk_energies")
FREE = ("memory_length", "output_length", "dim", "workload", "chunk_width")
AXES = ("dim", "chunk_width", "num_contexts")
LEAST_LENGTHS = 2
BEGIN, END = "<!-- crossover table -->\n", "<!-- end of crossover table -->\n"


@dataclass(frozen=True)
class Model:
    names: tuple  # of TERMS
    coefficients: numpy.ndarray  # [resamples + 1, names]; the first is the fit
    largest_residual: float  # signed share of the measured time
    typical_residual: float  # root of the mean square
    adaptive: bool  # chunk_energies are those since the last choice
    width: float  # w; infinite without an end
    beam: int | None = None  # hypotheses; None: no search, U is free
    tells_energies: bool = True  # from outputs, so of any share


# ---- choosing cells ---------------------------------------------------------


def read(path):
    return of(load.read_json(path), path)


def of(document, path):
    """Cells with TERMS, `beam`, `shortest` and `longest` memory, of either kind."""
    if document.get("kind") == decoder_result.KIND:
        cells = beam_cells.of(document, path)
        fits.require_rounds(cells)
        return cells
    return select(load.cells_of(document, path))


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
    medians = group["median_ns"].to_numpy(dtype=float)
    columns = {name: group[name].to_numpy(dtype=float) for name in TERMS}
    told = names = _told(columns)
    while True:
        design = numpy.column_stack([columns[name] for name in names])
        fits.require_told(group, design)
        found = fits.solve(design, medians[None])[0]
        if (found >= 0).all():
            break
        # The one that takes most off the time of a cell.
        worst = (design * found / medians[:, None]).min(axis=0).argmin()
        names = [name for name in names if name != names[worst]]
    resampled = fits.solve(design, fits.resampled_medians(group))
    residuals = design @ found / medians - 1
    width = group["chunk_width"].iloc[0]
    chunks = columns["chunk_energies"].any()
    return Model(
        tuple(names),
        numpy.vstack([found, resampled]),
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
    """Times at LENGTHS by each of the model's coefficients, [lengths, resamples + 1].
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
    # From the first length after the last at which they do not.
    slower = theirs < speedup * ours
    last = len(LENGTHS) - 1 - slower[::-1].argmax(axis=0)
    first = numpy.where(slower.any(axis=0), last + 1, 0)
    padded = numpy.append(LENGTHS.astype(float), math.inf)
    return padded[first]


# ---- words ------------------------------------------------------------------


COLUMNS = (
    "mechanism",
    "d",
    "beam",
    "share of the memory",
    *(f"{n}x from T =" for n in SPEEDUPS),
    "the model misses: rms, most",
)


def is_of_its_experiments(document):
    """Whether a result is of experiments/crossover*.json, by its command."""
    command = document.get("context", {}).get("command", "")
    return _EXPERIMENT.search(command) is not None


_EXPERIMENT = re.compile(r"(^|[ /])crossover\w*\.json( |$)")


def table(chosen, outputs=None, shares=(0.1, 0.5, 1.0)):
    """The table of what `read` gave, in Markdown."""
    rows = table_rows(chosen, outputs, shares)
    return "\n".join([head(chosen, outputs), "", *markdown.table(COLUMNS, rows), ""])


def table_rows(chosen, outputs=None, shares=(0.1, 0.5, 1.0)):
    """Its texts, as many as COLUMNS in each row."""
    lines = []
    for dim in sorted(set(chosen["dim"])):
        of_dim = chosen[chosen["dim"] == dim]
        for beam in dict.fromkeys(of_dim["beam"]):
            at = of_dim if beam is None else of_dim[of_dim["beam"] == beam]
            lines += _rows(at, dim, beam, outputs, shares)
    return lines


def _rows(cells, dim, beam, outputs, shares):
    """Those of one d and beam."""
    lines = []
    of_soft = cells[cells["mechanism"] == pairing.BASELINE]
    if of_soft.empty:
        at = f"d = {dim}" + ("" if beam is None else f", beam {beam}")
        raise load.DataError(
            cells.attrs["path"], f"cells missing: mechanism {pairing.BASELINE}, {at}"
        )
    soft = fit(of_soft)
    soft_times = times_at(soft, pairing.BASELINE, outputs, 1)
    for name in modes.mechanisms(cells):
        if name == pairing.BASELINE:
            continue
        group = cells[cells["mechanism"] == name]
        labels = [settings.label(cell) for cell in group.to_dict("records")]
        for label in dict.fromkeys(labels):
            rows = group[[one == label for one in labels]]
            model = fit(rows)
            measured = _range(rows)
            scans = rows["end"].notna().all()
            told = shares
            if beam is not None and not model.tells_energies:
                told = sorted(set(rows["memory_share"]))
            for share in told if scans else (None,):
                times = times_at(model, name, outputs, share or 0)
                found = [crossovers(soft_times, times, n) for n in SPEEDUPS]
                lines.append(
                    [
                        label,
                        str(dim),
                        markdown.NONE if beam is None else str(beam),
                        "all" if share is None else f"{100 * share:g} %",
                        *(_length_text(f, measured) for f in found),
                        f"{_miss_text(model)} (soft {_miss_text(soft)})",
                    ]
                )
    return lines


def _range(rows):
    return rows["shortest"].min(), rows["longest"].max()


def _length_text(found, measured):
    """'40 [36, 44]', with a mark where that was not measured."""
    value, *resampled = found
    if math.isinf(value):
        return "never"
    low, high = numpy.quantile(resampled, [0.025, 0.975], method="nearest")
    mark = "" if measured[0] <= value <= measured[1] else "*"
    if value == low == high:
        return f"{_whole(value)}{mark}"
    return f"{_whole(value)}{mark} [{_whole(low)}, {_whole(high)}]"


def _miss_text(model):
    return (
        f"{100 * model.typical_residual:.0f} %, {100 * model.largest_residual:+.0f} %"
    )


def _whole(length):
    if math.isinf(length):
        return "never"
    # Lengths are tried 1 percent apart.
    digits = max(0, len(str(int(length))) - 3)
    return str(int(round(length, -digits)))


def head(chosen, outputs=None):
    """What the table is of."""
    first, last = _range(chosen)
    if chosen["beam"].iloc[0] is None:
        axes = ("batch", "threads", "precision", "energy")
        of_outputs = sorted(set(chosen["output_length"]))
        text = (
            "Decoding one sequence at a time, "
            f"{'U = T' if outputs is None else f'U = {outputs}'}; {_set(chosen, axes)}; "
            "no beam."
        )
        cells = (
            f"workloads {', '.join(sorted(set(chosen['workload'])))}, T from {first} to "
            f"{last}, U from {of_outputs[0]} to {of_outputs[-1]}"
        )
    else:
        text = (
            "Attention of whole decoders by itself, a source at a time, greedy (beam 1) "
            f"and with a beam, T + 1 outputs; {_set(chosen, ('energy',))}."
        )
        if chosen.attrs["left_out"]:
            text += (
                " Left out: "
                f"{'; '.join(chosen.attrs['left_out'])}."
            )
        passed = sorted(set(chosen["memory_share"]))
        cells = (
            f"T from {first} to {last}, scans of "
            f"{' and '.join(f'{100 * share:g} %' for share in passed)} of the memory"
        )
    return (
        f"{text} The least T from which on soft attention takes that many times as "
        f"long, by a model fitted on exact counts ({cells}), with its interval over "
        f"rounds or processes; *: not within these T; never: not up to T = {MOST}. "
        + words.context_text(chosen.attrs["context"])
    )


def _set(chosen, axes):
    return ", ".join(f"{axis} {chosen[axis].dropna().iloc[0]}" for axis in axes)


# ---- command line -----------------------------------------------------------


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="crossover.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files", metavar="RESULT", nargs="+", help="of run-sweep or of decoder"
    )
    parser.add_argument("--into", metavar="FILE", help="e.g. docs/latency.md")
    parser.add_argument(
        "--outputs", metavar="U", default="=T",
        help="a number, or =T (default, and all that a beam has)",
    )
    parser.add_argument(
        "--shares",
        metavar="LIST",
        default=SHARES,
        help=f"shares of the memory that is read, default {SHARES}",
    )
    return parser.parse_args(arguments)


def _outputs(text):
    if text == "=T":
        return None
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise load.DataError("--outputs", f"'{text}' is neither a number above 0 nor =T")


def _shares(text):
    shares = []
    for part in text.split(","):
        try:
            shares.append(float(part))
        except ValueError:
            shares.append(math.nan)
        if not 0 <= shares[-1] <= 1:
            raise load.DataError("--shares", f"'{part}' is not a number from 0 to 1")
    return shares


def main(arguments=None):
    options = parse(arguments)
    try:
        outputs, shares = _outputs(options.outputs), _shares(options.shares)
        results = [read(path) for path in options.files]
        for cells in results:
            if outputs is not None and cells["beam"].iloc[0] is not None:
                raise load.DataError(
                    "--outputs",
                    f"{cells.attrs['path']} is of whole decoders, where U follows T: "
                    "leave it out",
                )
        text = "\n".join(table(cells, outputs, shares) for cells in results)
        if options.into is not None:
            page.put_into(options.into, BEGIN, text, END)
    except load.DataError as error:
        print(f"crossover.py: {error}", file=sys.stderr)
        return 2
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
