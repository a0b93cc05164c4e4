"""Guards against a figure made of a result that is wrong: a hole in its data,
data that does not belong together, a file of another kind. Each must give exit
code 2, one line that names the place, and no picture.
"""

import contextlib
import io
import unittest

from plot_case import PlotTest
from figures import draw
from made_up import (
    decoded,
    mad_cells,
    make_cell,
    make_document,
    mocha_cells,
    stop,
)


class WrongInput(PlotTest):
    def changed(self, cells, **changes):
        cells[-1].update(changes)
        return self.write(make_document(cells))

    def test_a_file_that_is_not_there(self):
        path = str(self.folder / "absent.json")
        self.fails_with([path], path, "No such file")

    def test_a_grid_with_a_hole(self):
        cells = mad_cells(lengths=(4, 8))
        gone = cells.pop(3)
        self.assertEqual(gone["mechanism"], "monotonic")
        self.fails_with(
            [self.write(make_document(cells))],
            "result.json: cells missing: workload = uniform, variant = exact, "
            "mechanism = monotonic, memory_length = 4, output_length = 8",
        )

    def test_a_grid_that_is_too_large_for_a_heat_map(self):
        cells = [make_cell(mechanism, t, u) for mechanism in ("soft", "monotonic")
                 for t in range(1, 66) for u in (1, 2)]
        self.fails_with(
            [self.write(make_document(cells))], "65 values of memory_length", "64"
        )

    def test_a_line_with_a_hole(self):
        cells = mocha_cells([10, 20])
        self.assertEqual(cells.pop()["mechanism"], "memory")
        self.fails_with(
            [self.write(make_document(cells))],
            "cells missing",
            "label = memory, K = 32, memory_length = 20",
        )

    def test_a_mechanism_that_the_figure_needs(self):
        cells = [c for c in mocha_cells() if c["mechanism"] != "soft"]
        self.fails_with(
            ["--figure", "mad_figure8", self.write(make_document(cells))],
            "cells missing: mechanism soft",
        )
        for cell in cells:
            stop(cell, "error", "no room")
        self.fails_with(
            [self.write(make_document(cells))], "fits no figure", "draw --list"
        )

    def test_mixed_data(self):
        for changes, said in (
            ({"precision": "f64"}, "precision is f32, f64"),
            ({"dim": 64}, "dim is 256, 64"),
            ({"threads": 2}, "threads is 1, 2"),
            ({"options": {"threshold": 0.4}}, "options is"),
        ):
            path = self.changed(mocha_cells([10, 20]), **changes)
            self.fails_with([path], "mixed data: " + said)

    def test_an_axis_that_this_code_does_not_know_is_an_axis(self):
        cells = mocha_cells([10, 20])
        for index, cell in enumerate(cells):
            cell["beam"] = 1 + index % 2
        self.fails_with(
            [self.write(make_document(cells))], "mixed data: beam is 1, 2"
        )

    def test_a_cell_that_failed(self):
        for status in ("invalid", "error", "timeout"):
            cells = mocha_cells([10, 20])
            stop(cells[-1], status, "context differs by 0.3")
            self.fails_with(
                [self.write(make_document(cells))],
                "memory, K = 32, exact, uniform, T = 20, U = 20",
                f"is {status}: context differs by 0.3",
            )

    def test_samples_that_cannot_be_paired(self):
        path = self.changed(mocha_cells([10, 20]), samples_ns=[1.0])
        self.fails_with([path], "has 1 samples, that of soft, exact has 12")

    def test_figure_3_of_a_grid(self):
        path = self.write(make_document(mad_cells(lengths=(4, 8))[:8]))
        self.fails_with(
            ["--figure", "mocha_figure3", path], "T = 4, U = 8", "T = U only"
        )

    def test_an_unknown_figure_names_the_nearest(self):
        path = self.write(make_document(mocha_cells([10])))
        self.fails_with(
            ["--figure", "mocha_figure", path],
            "'mocha_figure'",
            "did you mean 'mocha_figure3'?",
            "draw --list",
        )

    def test_a_figure_of_the_other_kind_of_file(self):
        sweep = self.write(make_document(mocha_cells([10])))
        self.fails_with(["--figure", "alignments", sweep], "decode")
        soft = self.write(decoded("soft"), "soft.json")
        self.fails_with(["--figure", "mad_figure8", soft], "soft and monotonic")
        self.fails_with([sweep, soft], "2 files")
        self.fails_with([], "no file")

    def test_steps_that_contradict_themselves(self):
        document = decoded("mocha", width=3)
        document["steps"][4]["weights"].append(0.1)
        self.fails_with([self.write(document)], "steps[4]", "weights for")
        document = decoded("mocha")
        document["steps"][4]["position"] = 31
        self.fails_with([self.write(document)], "steps[4]", "1 to 30")
        document = decoded("mocha")
        document["steps"][4]["inspected"] = 31
        self.fails_with([self.write(document)], "steps[4]", "inspected is 31")
        pair = [
            self.write(decoded("soft"), "a.json"),
            self.write(decoded("mocha", length=20), "b.json"),
        ]
        self.fails_with(pair, "b.json", "memory_length is 20", "30")

    def test_a_folder_that_does_not_exist(self):
        path = self.write(make_document(mocha_cells([10])))
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            code = draw.main([path, "-o", str(self.folder / "absent")])
        self.assertEqual(code, 2)
        self.assertIn("absent: no such folder", err.getvalue())


if __name__ == "__main__":
    unittest.main()
