"""Reads a result of `attnbench decoder` as the cells that crossover.py fits: the time
of attention alone, of all sources of a point, and what it was asked for.

    cells = beam_cells.of(load.read_json(path), path)

A source of n symbols is decoded in n + 1 steps, the first with one hypothesis and all
others with as many as the beam is wide, so counts follow from the lengths of the
sources. Soft attention, which takes an energy of every entry for every hypothesis, says
whether that is so. A scan passes the share s of the memory that is planted
(harness/measure/decoder_model.cc): output i, from 0, chooses entry floor(s (i - 1/2)), the
first two of them entry 0.
"""

import math

import pandas

from analysis import decoder_result, load, settings

SOFT = "soft"
# A scan may have so many more or fewer energies than are planted, as a share.
MOST_OFF = 0.1


def of(document, path):
    """One row a measured cell, with `beam`, the counts, and the `shortest` and
    `longest` source that has entries. Cells that failed, and those whose scan did
    not go as planted, are in attrs["left_out"], by name.
    """
    result = decoder_result.of(document, path)
    sources = _sources(document, path)
    rows, left_out = [], []
    for index, cell in enumerate(result["cells"]):
        where = f"{path}: cells[{index}]"
        # There is nothing to fit without attention.
        if cell["status"] == "skipped" or cell["mechanism"] == "none":
            continue
        name = _name(cell)
        if cell["status"] != "ok":
            left_out.append(f"{name}: {cell['status']}")
        else:
            row = _row(cell, sources, where)
            if row["is_as_planted"]:
                rows.append(row)
            else:
                left_out.append(f"{name}: its scan did not go as planted")
    if not rows:
        raise load.DataError(path, "cells missing: none has attention that was timed")
    frame = pandas.DataFrame(rows, dtype=object)
    frame = frame.where(frame.notna(), None)
    for key in ("median_ns", "constant", "outputs", "entries", "energies"):
        frame[key] = frame[key].astype("float64")
    frame.attrs.update(path=str(path), context=result["context"], left_out=left_out)
    return frame


def _name(cell):
    """The label of settings.label, and what its point is."""
    share = "" if cell["memory_share"] == 1 else f", share {cell['memory_share']:g}"
    return (f"{settings.label(cell)}, d = {cell['units']}{share}, "
            f"L = {cell['length']}, beam {cell['beam']}")


def _sources(document, path):
    """The lengths of the sources of each point."""
    found = {}
    for index, point in enumerate(load.get(document, "points", list, path)):
        where = f"{path}: points[{index}]"
        if not isinstance(point, dict):
            raise load.DataError(where, "not an object")
        lengths = load.get(point, "source_lengths", list, where)
        if not all(isinstance(n, int) and n >= 0 for n in lengths):
            raise load.DataError(where, "source_lengths must hold numbers from 0")
        found[point.get("point")] = lengths
    return found


def _row(cell, sources, where):
    lengths = sources.get(cell.get("point"))
    if not lengths or max(lengths) == 0:
        raise load.DataError(where, f"points has no sources of {_name(cell)}")
    for key in ("energy", "end", "processes"):
        if key not in cell:
            raise load.DataError(where, f"{key} is missing")
    if cell["chunk_width"] == "inf":
        raise load.DataError(where, "chunks without an end are not counted")
    samples = load.get(cell, "attention_samples_ns", list, where)
    if not all(map(load.is_above_zero, samples)):
        raise load.DataError(where, "attention_samples_ns must hold numbers above 0")
    if not load.is_above_zero(cell.get("attention_median_ns")):
        raise load.DataError(where, "attention_median_ns must be above 0")
    hypotheses = [1 + n * cell["beam"] for n in lengths]  # of all steps of a source
    reads = load.get(cell, "reads", dict, where)
    energies = sum(hypotheses) * load.get(
        reads, "energies_per_output", (int, float), f"{where}: reads"
    )
    wanted = sum(n * h for n, h in zip(lengths, hypotheses))
    if cell["mechanism"] == SOFT and not math.isclose(energies, wanted, rel_tol=1e-9):
        raise load.DataError(
            where,
            f"{energies:g} energies, {wanted} are those of a beam that is full after "
            "one step: is the vocabulary smaller than the beam?",
        )
    planted = sum(
        1 + n * cell["beam"] + passed(cell["memory_share"], n, cell["beam"])
        for n in lengths
        if n > 0
    )
    return {
        **{key: cell[key] for key in ("mechanism", "chunk_width", "num_contexts",
                                      "energy", "end", "beam", "memory_share")},
        "variant": "exact",
        "workload": "sources of whole decoders",
        "dim": cell["units"],
        "memory_length": cell["length"],
        "output_length": cell["length"] + 1,
        "shortest": min(n for n in lengths if n > 0),
        "longest": max(lengths),
        "samples_ns": samples,
        "processes": cell["processes"],
        "median_ns": cell["attention_median_ns"],
        "constant": len(lengths),
        "outputs": sum(hypotheses),
        "entries": sum(lengths),
        "energies": energies,
        "is_as_planted": cell["end"] is None
        or math.isclose(energies, planted, rel_tol=MOST_OFF),
        "chunk_energies": float(sum(
            chunk_energies(cell["chunk_width"], cell["memory_share"], n, cell["beam"])
            for n in lengths
        )),
    }


def passed(share, length, beam):
    """Entries that all hypotheses of a source leave behind."""
    return beam * max(0, math.floor(share * (length - 0.5)))


def chunk_energies(width, share, length, beam):
    """The chunk energies of MoChA over one source, in windows that end at the entries
    that are chosen.
    In no result; those of MAtChA (no width) are nearly as many as energies, so their
    cost is in the cost of these.
    """
    if width is None or length == 0:
        return 0
    # Outputs 1 to n whose window has more than j entries, for each j.
    longer = (
        length if j == 0 else length + 1 - math.ceil(j / share + 0.5)
        for j in range(width if share > 0 else 1)
    )
    return 1 + beam * sum(max(0, outputs) for outputs in longer)
