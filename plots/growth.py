#!/usr/bin/env python3
"""How cost grows with the memory: prints two tables of a sweep over T.

examples:
  plots/growth.py growth.json
  plots/growth.py results/growth.json --into docs/speed.md

With --into both also go between the lines <!-- growth table --> and
<!-- end of growth table --> of a file.

Exponents are slopes of log(count) over log(T): exact, as counts are. Times are
fitted, for each mechanism, mode and scope, by

  median_ns = a + b energies + c chunk_energies + f flops_beyond

over all T (and w). Least squares of the relative error: each row is divided by
its median, so that the shortest memory counts as much as the longest. A term is
in it only where the counts tell it from those before it; flops_beyond, what
flops have beyond a fixed number for each energy, only where energies do not
describe them (pairs of entries of matcha, the contexts of memory). Nothing
forces a coefficient to be positive.

Intervals hold 95 percent of a bootstrap: the rounds of each cell are drawn
again, with replacement, and the fit is repeated. They tell the noise of the
clock; what the straight line itself misses is the largest residual.
"""

import argparse
import sys
from dataclasses import dataclass

import numpy

import fits
import load
import modes
import page
import settings
import words

DECADES = 2
COUNTS = ("energies", "chunk_energies", "flops")
BEGIN, END = "<!-- growth table -->\n", "<!-- end of growth table -->\n"
FREE = ("memory_length", "chunk_width", "mode", "scope", "schedule")


@dataclass(frozen=True)
class Exponent:
    overall: float  # least squares over all T
    steps: tuple  # from each T to the next


@dataclass(frozen=True)
class Term:
    name: str  # "constant", of COUNTS, or "flops_beyond"
    ns: float  # for each
    low: float
    high: float


@dataclass(frozen=True)
class Fit:
    terms: dict  # name -> Term
    notes: tuple  # why a term is not there, or is
    fitted_ns: numpy.ndarray  # of each cell, in the frame's order
    largest_residual: float  # signed share of the measured time
    largest_at: int  # the T of that cell


# ---- choosing cells ---------------------------------------------------------


def select(cells):
    """The measured cells of variant exact: each mechanism in every mode and
    scope, at each of its T, over two decades.
    """
    path = cells.attrs["path"]
    chosen = cells[cells["variant"] == "exact"]
    if chosen.empty:
        raise load.DataError(path, "cells missing: variant exact")
    chosen = settings.select(chosen, free=FREE)
    measured = chosen[chosen["status"] == "ok"]
    lengths = {
        name: sorted(set(cells["memory_length"]))
        for name, cells in chosen.groupby("mechanism")
    }
    for (name, mode, scope), group in modes.groups(measured):
        for width in dict.fromkeys(group["chunk_width"]):
            if width is None:
                of_width = group.assign(chunk_width="-")
                width = "-"
            else:
                of_width = group
            try:
                settings.require_cells(
                    of_width,
                    {"memory_length": lengths[name], "chunk_width": [width]},
                    path,
                )
            except load.DataError as error:
                raise load.DataError(
                    error, f"{name} in mode {mode}, scope {scope}"
                ) from error
        first, last = lengths[name][0], lengths[name][-1]
        if last < 10**DECADES * first:
            raise load.DataError(
                path,
                f"{name}: T from {first} to {last} is less than {DECADES} "
                "decades",
            )
        fits.require_rounds(group)
    return measured


# ---- exponents --------------------------------------------------------------


def exponent(lengths, values):
    """How `values`, one for each of `lengths`, grow; None where one is 0."""
    order = numpy.argsort(lengths)
    x = numpy.asarray(lengths, dtype=float)[order]
    y = numpy.asarray(values, dtype=float)[order]
    if (y <= 0).any():
        return None
    x, y = numpy.log(x), numpy.log(y)
    centred = x - x.mean()
    return Exponent(
        float(centred @ (y - y.mean()) / (centred @ centred)),
        tuple(float(step) for step in numpy.diff(y) / numpy.diff(x)),
    )


# ---- fit --------------------------------------------------------------------


def fit(group):
    """The Fit of the cells of one mechanism, mode and scope."""
    medians = group["median_ns"].to_numpy(dtype=float)
    names, design, notes = regressors(group)
    fits.require_told(group, design)
    found = fits.solve(design, medians[None])[0]
    resampled = fits.solve(design, fits.resampled_medians(group))
    low, high = numpy.percentile(resampled, [2.5, 97.5], axis=0)
    fitted = design @ found
    residuals = fitted / medians - 1
    worst = int(numpy.argmax(numpy.abs(residuals)))
    return Fit(
        {
            name: Term(name, *map(float, numbers))
            for name, *numbers in zip(names, found, low, high)
        },
        tuple(notes),
        fitted,
        float(residuals[worst]),
        int(group["memory_length"].iloc[worst]),
    )


def regressors(group):
    """(names, matrix [cells, names], notes): the terms that can be told."""
    names = ["constant"]
    columns = [numpy.ones(len(group))]
    notes = []
    for name, letter in (("energies", "b"), ("chunk_energies", "c")):
        column = fits.counts(group, name)
        noun = name.replace("_", " ")
        if not column.any():
            notes.append(f"no {noun}")
        elif (why := _not_told(column, names, columns)) is not None:
            notes.append(f"{noun} {why}: no {letter}")
        else:
            names.append(name)
            columns.append(column)
    flops = fits.counts(group, "flops")
    if _not_told(flops, names, columns) is None:
        beyond, an_energy = flops, 0.0
        if "energies" in names:
            energies = columns[names.index("energies")]
            an_energy = float((flops / energies).min())
            beyond = flops - an_energy * energies
        names.append("flops_beyond")
        columns.append(beyond)
        notes.append(
            f"f: of flops beyond {an_energy:.0f} for each energy"
            if an_energy
            else "f: of all flops"
        )
    return names, numpy.column_stack(columns), notes


def _not_told(column, names, columns):
    """Why `column` is (nearly) a sum of multiples of others; None if it isn't."""
    for used, why in (
        (columns[:1], "do not depend on T"),
        (columns[1:], f"are a multiple of {names[-1].replace('_', ' ')}"),
        (columns, "follow from the terms before"),
    ):
        if used and not fits.is_told(column, used):
            return why
    return None


# ---- text -------------------------------------------------------------------


def tables(cells):
    """Both tables, in Markdown."""
    chosen = select(cells)
    exponents = [
        "| mechanism | mode, scope | energies | chunk energies | flops |",
        "| --- | --- | --- | --- | --- |",
    ]
    times = [
        "| mechanism | mode, scope | a, ns | b, ns an energy | c, ns a chunk "
        "energy | f, ns a flop | largest residual | notes |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (name, mode, scope), group in modes.groups(chosen):
        for label, line in lines(group):
            row = [label, f"{mode}, {scope}"]
            row += [
                exponent_text(exponent(line["memory_length"], fits.counts(line, of)))
                for of in COUNTS
            ]
            exponents.append(_row(row))
        found = fit(group)
        terms = [
            term_text(found.terms.get(term))
            for term in ("constant", "energies", "chunk_energies", "flops_beyond")
        ]
        residual = f"{100 * found.largest_residual:+.0f} %, T = {found.largest_at}"
        times.append(
            _row([name, f"{mode}, {scope}", *terms, residual,
                  "; ".join(found.notes)])
        )
    lengths = sorted(set(chosen["memory_length"]))
    outputs = sorted(set(chosen["output_length"]))
    head = (
        f"T = {', '.join(map(str, lengths))}; "
        f"U = {', '.join(map(str, outputs))}; d = {chosen['dim'].iloc[0]}; "
        f"workload {chosen['workload'].iloc[0]}. "
        + words.context_text(chosen.attrs["context"])
    )
    return "\n".join(
        [
            head,
            "",
            "Exponents of counts over all T (in parentheses the least and the "
            "greatest from one T to the next, where they differ):",
            "",
            *exponents,
            "",
            "Time, with 95 % intervals over rounds:",
            "",
            *times,
            "",
        ]
    )


def lines(group):
    """(label, cells) of each w, in the order of T."""
    labels = [settings.label(cell) for cell in group.to_dict("records")]
    for label in dict.fromkeys(labels):
        chosen = group[[one == label for one in labels]]
        yield label, chosen.sort_values("memory_length")


def exponent_text(found):
    """'1.00', or '0.92 (0.73 to 0.99)' where it is not the same everywhere."""
    if found is None:
        return "–"
    low, high = min(found.steps), max(found.steps)
    text = slope_text(found)
    if f"{low:.2f}" != f"{high:.2f}":
        text += f" ({low:.2f} to {high:.2f})"
    return text


def slope_text(found):
    # Adding 0 makes a zero of what would be written -0.00.
    return f"{round(found.overall, 2) + 0:.2f}"


def term_text(term):
    if term is None:
        return "–"
    # Three digits, and never an exponent.
    ns, low, high = (
        f"{float(f'{number:.3g}'):.9f}".rstrip("0").rstrip(".")
        for number in (term.ns, term.low, term.high)
    )
    return f"{ns} [{low}, {high}]"


def _row(texts):
    return f"| {' | '.join(texts)} |"


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="growth.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="RESULT")
    parser.add_argument("--into", metavar="FILE", help="e.g. docs/speed.md")
    options = parser.parse_args(arguments)
    try:
        text = tables(load.load(options.file))
        if options.into is not None:
            page.put_into(options.into, BEGIN, text, END)
    except load.DataError as error:
        print(f"growth.py: {error}", file=sys.stderr)
        return 2
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
