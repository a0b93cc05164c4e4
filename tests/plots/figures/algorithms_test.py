"""Guards against exponents of time and memory that are not those of the cells,
and against an algorithm whose bytes are not known passing for one without."""

import unittest

from made_up import make_cell, make_document, stop
from plot_case import PlotTest

from attnbench.analysis import load
from figures import algorithms

LENGTHS = (16, 64, 256)


def cell(variant, t, **changes):
    size = {"exact": 40 * t, "partial_sums": 8 * t * t, "nested": 16 * t}[variant]
    time_ns = {"exact": 5.0 * t, "partial_sums": 3.0 * t * t,
               "nested": 1.0 * t**3}[variant]
    return make_cell("matcha", t, 4, variant=variant, scope="attention",
                     schedule="teacher_forced",
                     **{"time_ns": time_ns, "peak_memory_bytes": size,
                        "mode": "expect", **changes})


def cells():
    made = [cell(v, t) for t in LENGTHS for v in ("exact", "partial_sums", "nested")]
    return made[:-1]  # nested stops earlier


class AlgorithmsFigure(PlotTest):
    def test_a_sweep_over_algorithms_gives_it_and_no_other(self):
        out = self.draws(self.write(make_document(cells())))
        self.assertEqual(self.pictures(),
                         ["matcha_algorithms.png", "matcha_algorithms.svg"])
        self.assertIn("  exact (ours), T = 256: 10 KiB, 1.28 µs; exponents of T "
                      "1.00 (1.00) of memory, 1.00 (1.00) of time\n", out)
        self.assertIn("  partial_sums (eqs 40 to 43), T = 256: 512 KiB, 197 µs; "
                      "exponents of T 2.00 (2.00) of memory, 2.00 (2.00) of time\n", out)
        self.assertIn("  nested (eq 28), T = 64: 1 KiB, 262 µs; exponents of T "
                      "1.00 (1.00) of memory, 3.00 (3.00) of time\n", out)
        for text in ("eq 28", "3.00 (3.00)", "time per step, ns"):
            self.assertIn(text, self.svg("matcha_algorithms"))

    def test_bytes_of_zero_are_named(self):
        for number in (1, None):  # of one cell, and of all
            made = cells()
            for one in made[:number]:
                one["peak_memory_bytes"] = 0
            self.fails_with([self.write(make_document(made))],
                            "matcha, exact, uniform, T = 16, U = 4: peak_memory_bytes is 0")

    def drawn(self, made):
        figure, said = algorithms.draw(
            algorithms.MATCHA, load.cells_of(make_document(made), "r.json"))
        return figure.axes, said

    def test_gradients_have_a_row_of_their_own(self):
        gradients = [cell("exact", t, mode="gradient", time_ns=20.0 * t)
                     for t in LENGTHS[:2]]
        axes, said = self.drawn(cells() + gradients)
        self.assertEqual([panel.get_title() for panel in axes],
                         2 * ["expectation"] + 2 * ["expectation and gradient"])
        self.assertEqual(list(axes[2].lines[0].get_ydata()), [640, 2560])
        # The variant looks as it does above.
        self.assertEqual(axes[2].lines[0].get_color(), axes[0].lines[0].get_color())
        self.assertEqual(len(axes[0].lines), 3)
        self.assertEqual(said[-1], "gradient, exact (ours), T = 64: 2.5 KiB, 1.28 µs; "
                         "exponents of T 1.00 (1.00) of memory, 1.00 (1.00) of time")

    def test_a_line_that_ends_before_the_others_says_what_its_last_takes(self):
        (left, right), _ = self.drawn(cells())
        # Beside it are the exponents, in the order of the lines' ends.
        self.assertEqual([text.get_text() for text in left.texts],
                         ["1 KiB", "1.00 (1.00)", "1.00 (1.00)", "2.00 (2.00)"])
        self.assertEqual([text.get_text() for text in right.texts],
                         ["65.5 µs", "1.00 (1.00)", "2.00 (2.00)", "3.00 (3.00)"])
        self.assertEqual(right.texts[0].xy[0], 64)
        self.assertAlmostEqual(right.texts[0].xy[1], 64.0**3 / 4, places=6)

    def test_the_exponent_in_parentheses_is_of_long_memories(self):
        # Linear up to 2048, and then quadratic, with a last step that is cubic.
        times = {256: 1, 2048: 8, 4096: 32, 16384: 2048}
        _, said = self.drawn([cell("exact", t, time_ns=1e3 * ns)
                              for t, ns in times.items()])
        # By least squares over logarithms to base 2: 0, 1, 3 and 0, 2, 8.
        self.assertIn("(2.71) of time", said[0])

    def test_labels_of_lengths_do_not_run_into_each_other(self):
        lengths = [2**n for n in range(4, 18)]
        (left, _), _ = self.drawn([cell("exact", t) for t in lengths])
        self.assertEqual(list(left.get_xticks()), [32, 256, 2048, 16384, 131072])
        (left, _), _ = self.drawn(cells())
        self.assertEqual(list(left.get_xticks()), list(LENGTHS))

    def test_a_result_of_two_scopes_is_not_meant_for_it(self):
        def fits(made):
            return algorithms.has_data(
                algorithms.MATCHA, load.cells_of(make_document(made), "r.json"))
        self.assertTrue(fits(cells()))
        self.assertFalse(fits(cells() + [{**one, "scope": "full"} for one in cells()]))
        gradients = [{**one, "mode": "gradient"} for one in cells()]
        self.assertTrue(fits(cells() + gradients))
        self.assertFalse(fits(gradients))

    def test_lines_are_bytes_and_times(self):
        (left, right), _ = self.drawn(cells())
        self.assertEqual(list(left.lines[0].get_ydata()), [40 * t for t in LENGTHS])
        for found, t in zip(right.containers[1].lines[0].get_ydata(), LENGTHS, strict=True):
            self.assertAlmostEqual(found, 3.0 * t * t / 4, places=6)  # of 4 outputs

    def test_those_of_monotonic_attention_have_a_figure_of_their_own(self):
        made = []
        for one in cells():
            variant = {"exact": "exact", "partial_sums": "triangular",
                       "nested": "parallel"}[one["variant"]]
            made.append({**one, "mechanism": "monotonic", "variant": variant})
        out = self.draws(self.write(make_document(made)))
        self.assertEqual(self.pictures(),
                         ["monotonic_algorithms.png", "monotonic_algorithms.svg"])
        self.assertIn("  triangular (EMMA), T = 256: 512 KiB", out)

    def test_what_has_no_bytes_is_left_out_and_alone_is_an_error(self):
        made = cells()
        made.append(make_cell("matcha", 16, 4, variant="reference", mode="expect",
                              scope="attention", peak_memory_bytes=None))
        self.draws("--figure", "matcha_algorithms", self.write(make_document(made)))
        for one in made:
            one["peak_memory_bytes"] = None
        for picture in self.folder.glob("matcha*"):
            picture.unlink()
        self.fails_with(["--figure", "matcha_algorithms",
                         self.write(make_document(made))],
                        "matcha with peak_memory_bytes")

    def test_what_is_missing_or_there_twice_is_named(self):
        def fails(made, text):
            self.fails_with(["--figure", "matcha_algorithms",
                             self.write(make_document(made))], text)
        fails(cells() + cells()[:1], "cell twice: matcha, exact")
        fails(cells()[:4], "matcha, partial_sums, at a second T")
        made = cells()
        made[0]["output_length"] = 8
        fails(made, "mixed data: output_length is 4, 8")
        made = cells()
        stop(made[-1], "invalid", "differs from the reference")
        fails(made, "is invalid: differs from the reference")


if __name__ == "__main__":
    unittest.main()
