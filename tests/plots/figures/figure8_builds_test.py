"""Guards against a figure that shows another program, build or scale than it says."""

import os
import unittest

import figures
from plot_case import ROOT, PlotTest
from attnbench.analysis import load
from figures import draw, figure8_builds
from made_up import mad_cells, make_document

STORED = os.path.join(ROOT, "tests", "python", "judge", "figure8", "rows.json")
FIGURE = "mad_figure8_builds"


class Figure8Builds(PlotTest):
    def drawn(self, *paths):
        return draw.draw_files(paths, FIGURE)[FIGURE]

    def ours(self, cells=None):
        return self.write(make_document(cells or mad_cells()), "ours.json")

    def test_published_rebuilt_optimised_and_ours_are_on_one_scale(self):
        figure, lines = self.drawn(STORED, self.ours())
        panels = {axes.get_title(): axes for axes in figure.axes if axes.get_title()}
        builds = [f"Eigen {build['eigen']}, {figure8_builds.flags(build)}"
                  for build in load.read(STORED, "authors")["builds"]]
        self.assertEqual(set(panels), {"published", "our kernels, f32", *builds})
        self.assertIn("Eigen 3.2.10, not optimised", builds)
        scales = {(axes.images[0].norm.vmin, axes.images[0].norm.vmax)
                  for axes in panels.values()}
        self.assertEqual(len(scales), 1)
        # x is T: the published ratio at T = 128, U = 4, and at T = 4, U = 128.
        at = {text.get_position(): text.get_text() for text in panels["published"].texts}
        self.assertEqual((at[5, 0], at[0, 5]), ("22", "8.5"))
        self.assertEqual(len(lines), len(panels))
        self.assertIn("published: soft / monotonic min 1.5x at T = 4, U = 4, median 9.4x, "
                      "max 41x at T = 128, U = 8", lines)

    def test_a_speed_up_with_outputs_without_a_context_has_a_star(self):
        cells = mad_cells()
        for cell in cells:
            is_it = (cell["memory_length"], cell["output_length"]) == (4, 128)
            share = 0.03 if is_it else 0.96
            cell["numerics"] = {**cell["numerics"],
                                "attention_mass": share * cell["output_length"]}
        figure, _ = self.drawn(STORED, self.ours(cells))
        (panel,) = [axes for axes in figure.axes
                    if axes.get_title() == "our kernels, f32"]
        starred = {text.get_position() for text in panel.texts
                   if "*" in text.get_text()}
        self.assertEqual(starred, {(0, 5)})

    def test_each_result_alone_stands_beside_what_was_published(self):
        for path, title in ((STORED, "Eigen 3.2.10, -O3"), (self.ours(), "our kernels, f32")):
            self.draws("--figure", FIGURE, path)
            svg = self.svg(FIGURE)
            for text in ("published", title, "swapped"):
                self.assertIn(text, svg)

    def test_a_sweep_on_another_grid_is_refused_beside_it(self):
        self.fails_with([STORED, self.ours(mad_cells([4, 8]))],
                        "ours.json", "is of another grid than figure 8")
        self.fails_with([STORED, STORED], "one of authors/measure.py and one of a sweep")

    def test_a_result_of_the_authors_program_fits_this_figure_alone(self):
        self.assertEqual(figures.fitting(draw.read([STORED])), [FIGURE])


if __name__ == "__main__":
    unittest.main()
