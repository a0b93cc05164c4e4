"""Figure 8 of MAD (appendix F) as it was published, as its authors' program gives it in
each build, and as our kernels give it, all on one scale.

Soft attention's time over that of hard monotonic attention, over T and U. The axis labels
of the authors' plot are swapped (its rows are T); here they are right.
"""

import math

import pandas

from attnbench.analysis import load, pairing, published, reads, series, words
from attnbench.judge import readings
from figures import heat_maps, mad_figure8, style

TABLE = "mad-figure-8-cells"  # of results/published/mad.json
AXES = ["memory_length", "output_length"]
DIM = 256
WORKLOAD = "uniform"  # that of the authors
MEASURED = {"authors": "Eigen", "sweep": "Our kernels"}


def part_of(document, path):
    """What a result of the authors' program gives to the figure."""
    return {"path": str(path), **document}


def part_of_sweep(cells):
    """What a sweep gives to it: cells of the published grid; None if it lacks some."""
    if not mad_figure8.has_times(cells):
        return None
    ours = cells[(cells["variant"] == "exact") & (cells["workload"] == WORKLOAD)
                 & (cells["dim"] == DIM) & (cells["batch"] == 1) & (cells["threads"] == 1)
                 & cells["mechanism"].isin(mad_figure8.MECHANISMS)]
    there = set(zip(*(ours[name] for name in ("mechanism", *AXES))))
    wanted = {(mechanism, *(row[axis] for axis in AXES))
              for mechanism in mad_figure8.MECHANISMS for row in _rows()}
    if len(ours) != len(there) or not wanted <= there:
        return None
    ours.attrs.update(cells.attrs)
    return {"kind": "sweep", "path": cells.attrs["path"],
            "context": cells.attrs["context"], "cells": ours}


def has_data(parts):
    return bool(parts)


def _rows():
    return published.table(published.paper("mad"), TABLE)["rows"]


def _published_panel():
    rows = [{**row, "value": row["ratio"], "low": math.nan, "high": math.inf}
            for row in _rows()]
    return "published", pandas.DataFrame(rows)


def _build_panel(document, build):
    name = f"Eigen {build['eigen']}, {flags(build)}"
    labels = {key: build[key] for key in ("eigen", "optimization")}
    cells = [document["cells"][n] for n in readings.select(document["cells"], labels)]
    by_mechanism = {
        mechanism: {tuple(cell[axis] for axis in AXES): cell for cell in cells
                    if cell["mechanism"] == mechanism}
        for mechanism in mad_figure8.MECHANISMS}
    soft, monotonic = (by_mechanism[name] for name in mad_figure8.MECHANISMS)
    if not monotonic or not monotonic.keys() <= soft.keys():
        raise load.DataError(
            document["path"], f"cells missing: soft beside each of monotonic, of {name}")
    rows = []
    for place, cell in monotonic.items():
        if len(cell["samples_ns"]) != len(soft[place]["samples_ns"]):
            raise load.DataError(
                document["path"], f"{name}, T = {place[0]}, U = {place[1]}: soft and monotonic "
                "have different numbers of rounds")
        span = series.ratio(soft[place], cell).at().exp()
        rows.append({**dict(zip(AXES, place)), **vars(span)})
    return name, pandas.DataFrame(rows)


def flags(build):
    return "not optimised" if build["optimization"] == "none" else build["optimization"]


def _our_panel(part):
    return "our kernels, f32", pairing.speedups(part["cells"])


def draw(parts):
    """Draws all panels: gives the figure, and a headline for each."""
    authors = [part for part in parts if part["kind"] == "authors"]
    beside = [_published_panel()]
    beside += [_our_panel(part) for part in parts if part["kind"] == "sweep"]
    lines = []  # of panels: a reference, then the builds with one Eigen
    for document in authors:
        eigens = dict.fromkeys(build["eigen"] for build in document["builds"])
        for eigen in eigens:
            lines.append([_build_panel(document, build) for build in document["builds"]
                          if build["eigen"] == eigen])
    number = max(len(lines), len(beside))
    columns = 1 + max(map(len, lines), default=0)
    every = [panel for line in (beside, *lines) for panel in line]
    everything = pandas.concat([rows[[*AXES, "value"]] for _, rows in every])
    figure, axes = heat_maps.heat_map_figure(
        number, columns, everything, parts[0]["path"], lines=1)
    to_text = _ratio if columns <= heat_maps.columns_with_room(everything, lines=1) else None
    for row in range(number):
        panels = [beside[row] if row < len(beside) else None,
                  *(lines[row] if row < len(lines) else [])]
        for column in range(columns):
            panel = panels[column] if column < len(panels) else None
            if panel is None:
                axes[row, column].set_axis_off()
                continue
            title, rows = panel
            panel = axes[row, column]
            mesh = heat_maps.heat_map(
                panel, rows, mad_figure8.NORM, to_text, title, mad_figure8.COLORS)
            if column:
                panel.set_ylabel("")
    mad_figure8.color_bar(figure, mesh, axes)
    notes = list(dict.fromkeys(sum((reads.notes(rows) for _, rows in every), [])))
    style.add_foot(figure, _foot(parts, notes))
    return figure, [_headline(*panel) for panel in every] + notes


def _ratio(cell):
    """Writes the ratio alone: its interval has no room at the width of a page."""
    return words.ratio_text(cell["value"]) + reads.mark(cell).strip()


def beside_published(parts):
    """Name -> the speed-ups in the order of the published table: of the authors' program,
    built as they built it, and of our kernels.
    """
    panels = [_our_panel(part) for part in parts if part["kind"] == "sweep"]
    panels += [_build_panel(part, build) for part in parts if part["kind"] == "authors"
               for build in part["builds"]
               if build["optimization"] == "none" and build["eigen"].startswith("3.2")]
    return {name: [_text_at(rows, place) for place in _rows()]
            for name, rows in panels}


def _text_at(rows, place):
    found = rows[(rows[AXES] == [place[axis] for axis in AXES]).all(axis=1)]
    return _span_text(found.iloc[0]) if len(found) else None


def _foot(parts, notes):
    return (
        "Time of soft over time of hard monotonic attention; the results have the 95 % "
        "intervals. "
        "Published: read off the pictures in the authors' notebook (in their figure 8 the "
        "two axis labels are swapped). Eigen: their program in our own words, f64; not "
        "optimised is how they built it. Our kernels: optimised, one thread, their "
        "inputs. "
        + "".join(f"{note}. " for note in notes)
        + " ".join(f"{MEASURED[part['kind']]}: {words.context_text(part['context'])}"
                   for part in parts))


def _headline(title, rows):
    rows = rows.sort_values("value")
    ends = [
        f"{name} {_span_text(cell)} at T = {cell['memory_length']:g}, "
        f"U = {cell['output_length']:g}"
        for name, cell in (("min", rows.iloc[0]), ("max", rows.iloc[-1]))
    ]
    median = words.ratio_text(rows["value"].median())
    return f"{title}: soft / monotonic {ends[0]}, median {median}x, {ends[1]}"


def _span_text(cell):
    if math.isfinite(cell["high"]):
        return words.span_text(cell)
    return f"{words.ratio_text(cell['value'])}x"
