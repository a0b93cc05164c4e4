"""Guards against a sweep that no figure shows, and against a chart of times that joins
cells of different settings in one line, or names them wrongly."""

import unittest
from unittest import mock

import known_effects
import numpy
import made_up
from plot_case import PlotTest

from attnbench.analysis import load
from figures import times


def timed(mechanism, t, u, time_ns, **axes):
    return made_up.make_cell(mechanism, t, u, time_ns=float(time_ns), **axes)


class TimesTest(PlotTest):
    def setUp(self):
        super().setUp()
        known_effects.use(self)

    def frame(self, cells):
        return load.cells_of(made_up.make_document(cells), "made up")

    def draw(self, cells):
        """Gives (title, panels by their titles, headlines)."""
        figure, lines = times.draw(self.frame(cells))
        panels = {axes.get_title(): axes for axes in figure.axes if axes.axison}
        return times.title(self.frame(cells)), panels, lines

    def lines(self, axes):
        """Gives x -> time of every line that has points."""
        return [dict(zip(line.get_xdata(), numpy.round(line.get_ydata(), 6)))
                for line in axes.lines if line.get_marker() != "None"
                and line.get_linestyle() != "None"]

    def bars(self, axes):
        """Gives label -> time."""
        names = [label.get_text() for label in axes.get_yticklabels()]
        return {names[round(bar.get_y() + bar.get_height() / 2)]: round(bar.get_width())
                for bar in axes.patches}

    def test_lines_are_over_the_axis_that_has_the_most_values(self):
        cells = [timed(name, t, 5, work * t, dim=64)
                 for t in (10, 20, 40) for name, work in (("soft", 8), ("monotonic", 2))]
        title, panels, lines = self.draw(cells)
        self.assertEqual(title, "Time of a decode by memory length T, U = 5, d = 64")
        (axes,) = panels.values()
        self.assertEqual(self.lines(axes), [{10: 80, 20: 160, 40: 320},
                                            {10: 20, 20: 40, 40: 80}])
        self.assertEqual(lines, ["T = 40: monotonic 80.0 ns; soft 320 ns"])
        self.assertEqual(axes.get_xlabel(), "memory length T")

    def test_one_point_has_a_bar_for_each_mechanism(self):
        cells = [timed("soft", 8, 4, 900), timed("mocha", 8, 4, 300, chunk_width=2),
                 timed("mocha", 8, 4, 600, chunk_width=4)]
        title, panels, lines = self.draw(cells)
        self.assertEqual(title, "Time of a decode by mechanism, T = 8, U = 4, d = 256")
        self.assertEqual(self.bars(panels[""]),
                         {"soft": 900, "MoChA, w = 2": 300, "MoChA, w = 4": 600})
        self.assertEqual(lines, ["mocha, w = 2 300 ns; mocha, w = 4 600 ns; soft 900 ns"])

    def test_counts_of_instructions_have_bars_of_their_own(self):
        cells = [timed("soft", 8, 4, 900) | {"instructions": 1234567.0},
                 timed("mocha", 8, 4, 300, chunk_width=2) | {"instructions": 50000.5},
                 timed("memory", 8, 4, 100, num_contexts=2)]
        frame = self.frame(cells)
        self.assertTrue(times.has_instructions(frame))
        figure, lines = times.draw_instructions(frame)
        self.assertEqual(self.bars(figure.axes[0]), {"soft": 1234567, "MoChA, w = 2": 50000})
        self.assertEqual(lines, ["mocha, w = 2 50,000; soft 1,234,567"])
        self.assertEqual(figure.axes[0].get_xlabel(), "instructions")
        self.assertEqual(times.title_of_instructions(frame),
                         "Instructions of a decode by mechanism, T = 8, U = 4, d = 256")
        self.assertIn("1 of 3 cells, which have no instructions",
                      figure.texts[-1].get_text().replace("\n", " "))
        self.assertFalse(times.has_instructions(self.frame([timed("soft", 8, 4, 900)])))

    def test_cells_of_other_settings_have_other_panels(self):
        cells = [timed(name, t, 5, t * d, dim=d,
                       energy=None if name == "memory" else energy)
                 for d in (64, 8) for t in (10, 20) for energy in ("dot", "additive")
                 for name in ("soft", "memory") if (name, energy) != ("memory", "additive")]
        title, panels, _ = self.draw(cells)
        self.assertEqual(title, "Time of a decode by memory length T, U = 5")
        self.assertEqual(list(panels), ["dot, d = 8", "dot, d = 64", "additive, d = 8",
                                        "additive, d = 64"])
        # Memory has no energy, and stands beside both.
        for name, axes in panels.items():
            d = int(name.split(" = ")[1])
            self.assertEqual(self.lines(axes), [{10: 10 * d, 20: 20 * d}] * 2)

    def test_a_length_that_grows_with_the_other_has_no_panels(self):
        title, panels, _ = self.draw([timed("soft", t, t, t * t) for t in (10, 20)])
        self.assertEqual(title, "Time of a decode with soft by memory length T = U, d = 256")
        self.assertEqual(list(panels), [""])

    def test_what_has_no_number_on_the_axis_is_a_level_line(self):
        cells = [timed("mocha", 8, 4, 10 * w, chunk_width=w) for w in (1, 2, 8)]
        cells.append(timed("mocha", 8, 4, 70, chunk_width="inf"))
        title, panels, lines = self.draw(cells)
        self.assertEqual(
            title, "Time of a decode with mocha by chunk width w, T = 8, U = 4, d = 256")
        (axes,) = panels.values()
        self.assertEqual(self.lines(axes), [{1: 10, 2: 20, 8: 80}])
        self.assertIn([70, 70], [[*numpy.round(line.get_ydata(), 6)] for line in axes.lines])
        self.assertEqual(lines, ["w = 8: mocha, w = inf 70.0 ns; mocha 80.0 ns"])

    def test_what_goes_with_a_variant_stands_in_its_name(self):
        _, panels, _ = self.draw([
            timed("soft", 8, 4, 100, options={"keys": "early"}),
            timed("soft", 8, 4, 300, options={"keys": "late"}),
            timed("soft", 8, 4, 900, options={"keys": "early"}, variant="published_O3",
                  precision="f64")])
        self.assertEqual(list(self.bars(panels[""])), [
            "soft, exact, keys = early, f32", "soft, exact, keys = late, f32",
            "soft, published_O3, keys = early, f64"])

    def test_a_cell_without_a_time_is_left_out_and_counted(self):
        cells = [timed("soft", t, 5, t) for t in (10, 20, 30)]
        made_up.stop(cells[1], "timeout", "took long")
        figure, _ = times.draw(self.frame(cells))
        self.assertEqual(self.lines(figure.axes[0]), [{10: 10, 30: 30}])
        foot = figure.texts[-1].get_text().replace("\n", " ")
        self.assertIn("Left out: 1 of 3 cells", foot)
        made_up.stop(cells[0], "timeout", "took long")
        made_up.stop(cells[2], "timeout", "took long")
        self.assertFalse(times.has_data(self.frame(cells)))

    def test_panels_beyond_what_a_page_holds_are_counted(self):
        cells = [timed("soft", t, 5, t, workload=workload)
                 for t in (10, 20) for workload in ("uniform", "planted", "diagonal")]
        with mock.patch.object(times, "MOST_PANELS", 2):
            figure, lines = times.draw(self.frame(cells))
        self.assertEqual([line.split(",")[0] for line in lines], ["uniform", "planted"])
        self.assertIn("Not shown: 1 of 3 settings.",
                      figure.texts[-1].get_text().replace("\n", " "))

    def test_draw_takes_it_where_no_other_figure_is_meant(self):
        path = self.write(made_up.make_document([timed("soft", t, 5, t) for t in (1, 2)]))
        self.draws(path)
        self.assertEqual(self.pictures(), ["times.png", "times.svg"])
        whole = [made_up.make_decoder_cell(name, 20, 1, ratio)
                 for name, ratio in (("soft", 1.0), ("none", 0.5))]
        out = self.draws(self.write(made_up.make_document(whole), "whole.json"))
        self.assertIn("none 500 µs; soft 1.00 ms", out)
        self.assertIn("Time of a whole decoder by mechanism, T = 20, U = 20, d = 256, "
                      "beam = 1", self.svg("decoder_times"))


if __name__ == "__main__":
    unittest.main()
