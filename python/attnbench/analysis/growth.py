"""The growth of counts and times with T: exponents, and times fitted to counts."""

from dataclasses import dataclass

import numpy

from attnbench.analysis import fits, intervals, load, modes, series, settings

DECADES = 2
COUNTS = ("energies", "chunk_energies", "flops")
FREE = ("memory_length", "chunk_width", "mode", "scope", "schedule")


@dataclass(frozen=True)
class Exponent:
    overall: float  # by least squares over all T
    steps: tuple  # from each T to the next


@dataclass(frozen=True)
class Term:
    name: str  # "constant", one of COUNTS, or "flops_beyond"
    ns: float  # one for each term
    low: float
    high: float


@dataclass(frozen=True)
class Fit:
    terms: dict  # name -> Term
    notes: tuple  # says why a term is not there, or is
    fitted_ns: numpy.ndarray  # one for each cell, in the frame's order
    largest_residual: float  # as a signed share of the measured time
    largest_at: int  # the T of that cell


# ---- choosing cells ---------------------------------------------------------


def select(cells):
    """Gives the measured cells of variant exact, but for whole decoders: each mechanism
    in every mode and scope, at each of its T, over two decades.
    """
    path = cells.attrs["path"]
    chosen = settings.exact(cells[cells["scope"] != load.DECODER])
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
    """Gives how `values`, one for each of `lengths`, grow; None if one is 0."""
    order = numpy.argsort(lengths)
    x = numpy.asarray(lengths, dtype=float)[order]
    y = numpy.asarray(values, dtype=float)[order]
    if (y <= 0).any():
        return None
    x, y = numpy.log(x), numpy.log(y)
    return Exponent(
        float(fits.slope(x, y)),
        tuple(float(step) for step in numpy.diff(y) / numpy.diff(x)),
    )


# ---- fit --------------------------------------------------------------------


def fit(group):
    """Gives the Fit of the cells of one mechanism, mode and scope."""
    times = fits.times_of(group)
    names, design, notes = regressors(group)
    fits.require_told(group, design)
    found = fits.solve(design, times[None])[0]
    state = numpy.exp(series.redrawn_state())
    drawn = state[:, None] * fits.solve(design, fits.redrawn_times(group))
    ends = [intervals.of_draws(column) for column in drawn.T]
    fitted = design @ found
    residuals = fitted / times - 1
    worst = int(numpy.argmax(numpy.abs(residuals)))
    return Fit(
        {
            name: Term(name, float(ns), *interval)
            for name, ns, interval in zip(names, found, ends)
        },
        tuple(notes),
        fitted,
        float(residuals[worst]),
        int(group["memory_length"].iloc[worst]),
    )


def regressors(group):
    """Gives (names, matrix [cells, names], notes) of the terms that differ from the
    others.
    """
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
    if flops.any() and _not_told(flops, names, columns) is None:
        beyond, an_energy = flops, 0.0
        if "energies" in names:
            energies = columns[names.index("energies")]
            has_some = energies > 0
            an_energy = float((flops[has_some] / energies[has_some]).min())
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
    """Says why `column` is (nearly) a sum of multiples of others; None if it is not."""
    for used, why in (
        (columns[:1], "do not depend on T"),
        (columns[1:], f"are a multiple of {names[-1].replace('_', ' ')}"),
        (columns, "follow from the terms before"),
    ):
        if used and not fits.is_told(column, used):
            return why
    return None


def slope_text(found):
    """Writes an exponent in two digits, or that there is none (exponent)."""
    if found is None:
        return "none"
    # Adding 0 turns -0.00 into 0.00.
    return f"{round(found.overall, 2) + 0:.2f}"


def lines(group):
    """Gives (label, cells) of each w, in the order of T."""
    labels = [settings.label(cell) for cell in group.to_dict("records")]
    for label in dict.fromkeys(labels):
        chosen = group[[one == label for one in labels]]
        yield label, chosen.sort_values("memory_length")
