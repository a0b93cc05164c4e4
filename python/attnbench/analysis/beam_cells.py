"""Makes of whole decoders the cells that crossover.py fits: the time of attention
alone, of all sources of a point, and what it was asked for.

A source of n symbols is decoded in n + 1 steps, the first with one hypothesis and all
others with as many as the beam is wide, so counts follow from the lengths of the
sources. Soft attention, which takes an energy of every entry for every hypothesis, says
whether that is so. A scan passes the share s of the memory that is planted
(harness/measure/whole_decoder_model.cc): output i, from 0, chooses entry floor(s (i - 1/2)), the
first two of them entry 0.
"""

import math

import pandas

from attnbench.analysis import fits, load, pairing, settings, whole_decoders

# A scan may have so many more or fewer energies than are planted, as a share.
MOST_OFF = 0.1


def of(cells):
    """One row a measured cell, with `memory_share`, the counts, and the `shortest` and
    `longest` source that has entries. Cells that failed, and those whose scan did
    not go as planted, are in attrs["left_out"], by name.
    """
    rows, left_out = [], []
    for index, cell in zip(cells.index, cells.to_dict("records")):
        # There is nothing to fit without attention.
        if cell["status"] == "skipped" or cell["mechanism"] == "none":
            continue
        if cell["status"] != "ok":
            left_out.append(f"{_name(cell)}: {cell['status']}")
            continue
        if cell["output_length"] != cell["memory_length"]:
            left_out.append(f"{_name(cell)}: its outputs are not as many as its entries")
            continue
        row = _row(cell, f"{cells.attrs['path']}: cells[{index}]")
        if row["is_as_planted"]:
            rows.append(row)
        else:
            left_out.append(f"{_name(cell)}: its scan did not go as planted")
    if not rows:
        raise load.DataError(
            cells.attrs["path"], "cells missing: none has attention that was timed"
        )
    frame = pandas.DataFrame(rows, dtype=object)
    frame = frame.where(frame.notna(), None)
    for key in ("median_ns", "constant", "outputs", "entries", "energies"):
        frame[key] = frame[key].astype("float64")
    frame.attrs.update(cells.attrs, left_out=left_out)
    fits.require_rounds(frame)
    return frame


def _name(cell):
    """The label of settings.label, and what its point is."""
    share = whole_decoders.memory_share(cell)
    share_text = "" if share == 1 else f", share {share:g}"
    return (f"{settings.label(cell)}, d = {cell['dim']}{share_text}, "
            f"L = {cell['memory_length']}, beam {cell['beam']}")


def _row(cell, where):
    if cell["chunk_width"] == "inf":
        raise load.DataError(where, "chunks without an end are not counted")
    timed = whole_decoders.attention(cell)
    if not timed["samples_ns"]:
        raise load.DataError(where, "attention_samples_ns is empty")
    beam, share = cell["beam"], whole_decoders.memory_share(cell)
    if share is None:
        raise load.DataError(where, f"workload is {cell['workload']!r}, it must be copy:S")
    lengths = cell["decoder"]["source_lengths"]
    with_entries = [n for n in lengths if n > 0]
    if not with_entries:
        raise load.DataError(where, "source_lengths: no source has entries")
    hypotheses = [1 + n * beam for n in lengths]  # of all steps of a source
    energies = sum(hypotheses) * load.get(
        cell["decoder"]["reads"] or {}, "energies_per_output", (int, float),
        f"{where}: decoder: reads",
    )
    wanted = sum(n * h for n, h in zip(lengths, hypotheses))
    if cell["mechanism"] == pairing.BASELINE and not math.isclose(
        energies, wanted, rel_tol=1e-9
    ):
        raise load.DataError(
            where,
            f"{energies} energies, {wanted} are those of a beam that is full after "
            "one step: is the vocabulary smaller than the beam?",
        )
    planted = sum(1 + n * beam + passed(share, n, beam) for n in with_entries)
    return {
        **timed,
        "memory_share": share,
        "shortest": min(with_entries),
        "longest": max(lengths),
        "constant": len(lengths),
        "outputs": sum(hypotheses),
        "entries": sum(lengths),
        "energies": energies,
        "is_as_planted": cell["end"] is None
        or math.isclose(energies, planted, rel_tol=MOST_OFF),
        "chunk_energies": float(sum(
            chunk_energies(cell["chunk_width"], share, n, beam) for n in lengths
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
