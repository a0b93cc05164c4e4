"""Guards against a result of zeros, of one point, one round or nothing, of cells in error or
without optional members, that ends a command in an internal error: every figure is drawn
of it or refuses it by name, and so does the page of `attnbench report`.
"""

import copy
import json
import os
import pickle
import subprocess
import sys
import unittest
from unittest import mock

TESTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(TESTS, "python", "analysis"))

import algorithms_test
import compare_test
import decoder_test
import frontier_test
import gains_test
import growth_test
import latency_test
import monte_carlo_test
import policy_test
import roofline_test
import sharpness_test
import spoken_test
import threads_test
import trained_figures_test
from documents import read
from figures import FIGURES, draw
from made_up import (
    decoded,
    mad_cells,
    make_cell,
    make_document,
    mocha_cells,
    stability_document,
    stop,
)
from matplotlib.figure import Figure
from pages import assemble, documents
from plot_case import ROOT, PlotTest

from attnbench.analysis import load


def of_monotonic(cell):
    variant = {"exact": "exact", "partial_sums": "parallel", "nested": "triangular"}
    return {**cell, "mechanism": "monotonic", "variant": variant[cell["variant"]]}


def advice():
    time = {"time_ns": 1e6, "time_interval_ns": [0.9e6, 1.1e6], "speedup": 2.0,
            "speedup_interval": [1.8, 2.2]}
    shape = {"memory_length": 4, "output_length": 3, "dim": 2, "beam": 1, "vocabulary": 3,
             "layers": 2, "chunk_width": 4, "num_contexts": 32, "energy": "additive",
             "encoder": "timed", "memory_read": 1.0}
    found = {"message": None, "is_as_trained": True, "attention": time, "decoder": time,
             "energies_per_output": 2.0, "memory_read": 1.0, "zero_contexts": 0.0,
             "latency": {"ap": 0.5, "al": 1.0, "laal": 1.0, "dal": 1.0},
             "break_even": {"above": 8, "below": None, "about": 9.0}}
    document = make_document([])  # its context is that of a sweep
    del document["cells"]
    return {**document, "kind": "advice", "shape": shape, "lengths": [4],
            "attention_share": 0.5, "conclusion": "It pays.",
            "mechanisms": [{"mechanism": name, **found} for name in ("soft", "mocha w=4")]}


def diagnosis():
    return json.loads(subprocess.run(
        [os.environ["ATTNBENCH"], "diagnose", "--json", "--p",
         os.path.join(ROOT, "tests", "golden", "monotonic-plain.json:p_choose")],
        check=True, capture_output=True).stdout)


def stability():
    """One precision and family alone, as more only take longer."""
    document = stability_document()
    for name in ("rows", "gradients"):
        document[name] = [row for row in document[name]
                          if (row["precision"], row["family"]) == ("f32", "uniform")]
    return document


def gap_document():
    """Two points of few outputs, as more only take longer."""
    document = read("results", "gap.json")
    document["points"] = document["points"][:2]
    for point in document["points"]:
        point["rows"] = point["rows"][:2]
    return document


def authors():
    """The first build alone, as more only take longer."""
    document = read("results", "claims", "authors.json")
    build = document["builds"][0]
    document["builds"] = [build]
    document["cells"] = [
        cell for cell in document["cells"]
        if all(cell[key] == build[key] for key in ("eigen", "optimization"))]
    return document


def trained(**settings):
    """Trained models that differ in their mechanism alone."""
    document = trained_figures_test.stretch()
    document["runs"] = [run for run in document["runs"] if run["name"] in ("soft", "mocha")]
    for run in document["runs"]:
        run["settings"].update(settings)
    return document


SWEEPS = {
    "mad_figure8": mad_cells((4, 8))[:8],
    "mad_figure8_times": mad_cells((4, 8))[:8],
    "mocha_figure3": mocha_cells([10, 20]),
    "peers": [make_cell("soft", t, 8, variant=variant, mode=mode)
              for mode in ("decode", "expect") for t in (10, 100)
              for variant in ("exact", "framework")],
    "roofline": roofline_test.cells(),
    "threads": threads_test.cells((1, 4)),
    "growth": growth_test.cells(),
    "frontier": frontier_test.cells(),
    "latency": latency_test.cells(),
    "memory_share": latency_test.cells(),
    "monotonic_algorithms": list(map(of_monotonic, algorithms_test.cells())),
    "matcha_algorithms": algorithms_test.cells(),
    "britz_table1": decoder_test.cells(beams=(10,)),
    "policy": policy_test.cells(),
    "times": [make_cell("soft", t, 5) for t in (10, 20)],
    "instructions": [make_cell("soft", t, 5) | {"instructions": 10.0 * t} for t in (10, 20)],
    "decoder_times": decoder_test.cells(beams=(10,)),
}
CLIP_GRADIENT = read("results", "clip_gradient.json")
# Documents of other kinds.
OTHERS = {
    "mad_figure8_builds": authors(),
    "britz_figure2": read("results", "britz_figure2.json"),
    "stability": stability(),
    "stability_chunks": stability(),
    "stability_gradient": stability(),
    "compare": compare_test.document(compare_test.ROWS),
    "diagnosis": diagnosis(),
    "gap": gap_document(),
    "advice": advice(),
    "aa": read("results", "aa.json"),
    "monte_carlo": monte_carlo_test.output(),
    "sharpness": sharpness_test.output(),
    "alignments": decoded("mocha", length=8, num_outputs=3),
    "learning_curves": trained(noise=1),
    "learning_curves_noise": trained_figures_test.stretch(),
    "learning_curves_reordering": trained(task="reversal"),
    "learning_curves_contexts": trained_figures_test.copy(),
    "learning_curves_encodings": trained_figures_test.copy(),
    "hard_errors": trained_figures_test.stretch(),
    "clip_errors": trained_figures_test.clipping(),
    "clip_gradient": {**CLIP_GRADIENT, "rows": CLIP_GRADIENT["rows"][:14]},
    "context_errors": trained_figures_test.copy(),
    "trained_alignments": trained_figures_test.stretch(),
    "context_weights": trained_figures_test.copy(),
    "p_histogram": trained_figures_test.stretch(),
    "error_over_lateness": spoken_test.document(),
    "lateness_histogram": spoken_test.document(),
    "spoken_alignments": spoken_test.document(),
}


# ---- what is odd --------------------------------------------------------------


def zeros(value):
    """The same with 0 for each number."""
    if isinstance(value, dict):
        return {key: zeros(one) for key, one in value.items()}
    if isinstance(value, list):
        return list(map(zeros, value))
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return 0 if is_number else value


def ways_of_cells(cells):
    """{what is odd: cells}"""
    first = cells[0]

    def changed(change):
        made = copy.deepcopy(cells)
        for cell in made:
            change(cell)
        return made

    def stopped(status, which):
        made = copy.deepcopy(cells)
        for cell in made[which]:
            stop(cell, status, "no reason")
        return made

    def one_round(cell):
        cell["samples_ns"] = cell["samples_ns"][:1]
        if "decoder" in cell:
            of_attention = cell["decoder"]["attention_samples_ns"]
            cell["decoder"]["attention_samples_ns"] = of_attention[:1]

    found = {
        "no cell": [],
        "one cell": [first],
        "its last cell": cells[-1:],
        "one point": [cell for cell in cells if all(
            cell[axis] == first[axis] for axis in ("memory_length", "output_length"))],
        "one round": changed(one_round),
        "equal times": changed(lambda cell: cell.update(
            samples_ns=len(cell["samples_ns"]) * [1.0], median_ns=1.0, interval_ns=[1.0, 1.0])),
        "tiny times": changed(lambda cell: cell.update(
            samples_ns=len(cell["samples_ns"]) * [5e-324], median_ns=5e-324)),
        "one in error": stopped("error", slice(1)),
        "all in error": stopped("error", slice(None)),
        "all skipped": stopped("skipped", slice(None)),
        "all but one skipped": stopped("skipped", slice(1, None)),
    }
    # A cell may lack these members, have null for them, or have zeros in them.
    for member in ("operations", "limit", "numerics", "latency", "decoder", "spread",
                   "peak_memory_bytes", "interval_ns", "draw_ns", "prepare_ns", "encoder"):
        if any(cell.get(member) is not None for cell in cells):
            found[f"{member} of zeros"] = changed(
                lambda cell, m=member: cell.update({m: zeros(cell.get(m))}))
            found[f"no {member}"] = changed(lambda cell, m=member: cell.update({m: None}))
            found[f"{member} left out"] = changed(lambda cell, m=member: cell.pop(m, None))
    return found


def lists_in(value, at=()):
    """The places of lists and numbers, with "*" for each item of a list."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield (*at, key)
            yield from lists_in(one, (*at, key))
    elif isinstance(value, list):
        for one in value:
            yield from lists_in(one, (*at, "*"))


def put(value, place, change):
    """Changes what is at a place; a change to `put` itself leaves it out."""
    here, *rest = place
    if here == "*":
        for one in value:
            put(one, rest, change)
    elif isinstance(value, dict) and here in value:
        if rest:
            put(value[here] or {}, rest, change)
        elif change is put:
            del value[here]
        else:
            value[here] = change(value[here])


def ways_of_document(document):
    """{what is odd: document}: each member of zeros, null, left out, one item, or none."""
    changes = {"of zeros": zeros, "null": lambda one: None, "left out": put,
               "of one item": lambda one: one[:1] if isinstance(one, list) else one,
               "empty": lambda one: type(one)() if isinstance(one, (list, str)) else one}
    found = {}
    kept = pickle.dumps(document)  # read again, it is copied in a fraction of deepcopy's time
    for place in dict.fromkeys(lists_in(document)):
        if place[0] in ("context", "kind", "schema_version"):
            continue
        for name, change in changes.items():
            made = pickle.loads(kept)
            put(made, place, change)
            if made != document:
                found[f"{'.'.join(place)} {name}"] = made
    return found


class OddInput(PlotTest):
    def setUp(self):
        super().setUp()
        # Laying out takes most of the time, and fails for no data.
        quick = mock.patch.object(Figure, "draw_without_rendering", lambda figure: None)
        quick.start()
        self.addCleanup(quick.stop)

    def is_drawn(self, figure, document, what):
        """Whether it is; else it must be refused by name."""
        path = self.write(document, "odd.json")
        with self.subTest(figure=figure, what=what):
            try:
                draw.draw_files([path], figure)
                return True
            except load.DataError as error:
                self.assertIn("odd.json", str(error))
                self.assertNotIn("\n", str(error))
        return False

    def test_every_figure_is_in_a_table(self):
        self.assertEqual({*SWEEPS, *OTHERS, "gains"}, set(FIGURES))

    def test_an_odd_sweep_is_drawn_or_refused(self):
        for figure, cells in SWEEPS.items():
            document = make_document(cells)
            if figure == "roofline":
                document = roofline_test.document(cells)
            self.assertTrue(self.is_drawn(figure, document, "all of it"), figure)
            for what, odd in ways_of_cells(cells).items():
                self.is_drawn(figure, {**document, "cells": odd}, what)

    def test_one_odd_sweep_of_two_is_drawn_or_refused(self):
        sides = {"alone.json": gains_test.attention(), "whole.json": gains_test.decoders()}
        for odd_side, whole_side in (list(sides), list(sides)[::-1]):
            other = self.write(make_document(sides[whole_side]), whole_side)
            drawn = 0
            for what, odd in {"all of it": sides[odd_side],
                              **ways_of_cells(sides[odd_side])}.items():
                path = self.write(make_document(odd), odd_side)
                with self.subTest(odd=odd_side, what=what):
                    try:
                        draw.draw_files([path, other], "gains")
                        drawn += 1
                    except load.DataError as error:
                        self.assertNotIn("\n", str(error))
            self.assertGreater(drawn, 2)
        self.fails_with([self.write({"kind": "sweep"}, "a.json"), other],
                        "a.json: schema_version is missing")

    def test_an_odd_document_of_another_kind_is_drawn_or_refused(self):
        for figure, document in OTHERS.items():
            self.assertTrue(self.is_drawn(figure, document, "all of it"), figure)
            for what, odd in ways_of_document(document).items():
                self.is_drawn(figure, odd, what)

    def test_flops_of_zero_have_no_exponent(self):
        cells = [copy.deepcopy(cell) for cell in SWEEPS["growth"]
                 if cell["mechanism"] == "soft"]
        for cell in cells:
            cell["operations"]["flops"] = 0
        out = self.draws("--figure", "growth", self.write(make_document(cells)))
        self.assertIn("decode, full, soft: none, ", out)

    def test_limits_without_a_level_of_memory_are_named(self):
        limits = {**roofline_test.limits(), "levels": []}
        self.fails_with(
            ["--figure", "roofline", self.write(roofline_test.document(of_machine=[limits]))],
            "context.limits: that of precision f32 and threads 1 has no level of memory")

    def test_the_page_of_an_odd_sweep_is_made_or_refused(self):
        made = 0
        with mock.patch("pages.pictures.of_documents", lambda documents: []):
            for figure in ("peers", "growth", "latency", "matcha_algorithms", "britz_table1"):
                cells = SWEEPS[figure]
                for what, odd in {"all of it": cells, **ways_of_cells(cells)}.items():
                    path = self.write(make_document(odd))
                    with self.subTest(figure=figure, what=what):
                        try:
                            assemble.page(documents.read([path]), "title", "files")
                            made += 1
                        except load.DataError as error:
                            self.assertIn("result.json", str(error))
        self.assertGreater(made, 40)

    def test_a_page_says_which_figure_an_odd_sweep_does_not_have(self):
        cells = copy.deepcopy(SWEEPS["matcha_algorithms"])
        for cell in cells:
            cell["peak_memory_bytes"] = 0
        path = self.write(make_document(cells))
        page, _ = assemble.page(documents.read([path]), "title", "files")
        self.assertIn(b"was not drawn: result.json: cell ", page)
        self.assertIn(b"peak_memory_bytes is 0", page)


if __name__ == "__main__":
    unittest.main()
