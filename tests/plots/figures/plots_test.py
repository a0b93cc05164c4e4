"""Guards against pictures that look right and are wrong: T and U swapped,
speed-ups upside down or unpaired, cells left out without a word.
"""

import math
import re
import unittest

import numpy
from plot_case import PlotTest
import figures
import known_effects
from attnbench.analysis import load, pairing, printed, reads, words
from figures import style
from made_up import (
    decoded,
    mad_cells,
    make_cell,
    make_document,
    mocha_cells,
    stability_document,
    stop,
)


class EachFigure(PlotTest):
    def test_a_mad_result_gives_its_two_figures_and_no_other(self):
        cells = mad_cells(lengths=(4, 32, 128))
        out = self.draws(self.write(make_document(cells)))
        self.assertEqual(
            self.pictures(),
            [
                "mad_figure8.png",
                "mad_figure8.svg",
                "mad_figure8_times.png",
                "mad_figure8_times.svg",
            ],
        )
        for name in self.pictures():
            self.assertIn(str(self.folder / name), out)
        svg = self.svg("mad_figure8")
        for text in (
            "memory length T",
            "output length U",
            "uniform, optimised",
            "planted, columns, -O0",
            "soft / monotonic",
            "0123456789",
            "An Invented Processor 3000",
            "swapped",
        ):
            self.assertIn(text, svg)
        self.assertIn("planted, monotonic", self.svg("mad_figure8_times"))

    def test_a_heat_map_is_no_wider_than_a_page_and_has_numbers_where_they_fit(self):
        # The last: not even one panel has room for its numbers.
        for lengths, has_numbers in ((2, 4, 8, 16, 32, 64, 128), True), (range(1, 18), False):
            cells = [cell for cell in mad_cells(lengths=lengths)
                     if has_numbers or (cell["workload"], cell["variant"]) == ("planted", "exact")]
            path = self.write(make_document(cells))
            self.draws("--figure", "mad_figure8", path)
            figure, _ = figures.FIGURES["mad_figure8"].draw(load.load(path))
            counts = [len(panel.texts) for panel in figure.axes[:1]]
            self.assertEqual(counts, [len(lengths)**2 if has_numbers else 0])

    def test_a_mocha_result_gives_figure_3_with_every_mechanism(self):
        out = self.draws(
            self.write(make_document(mocha_cells(extra=["skeleton", "mean"])))
        )
        self.assertEqual(
            self.pictures(), ["mocha_figure3.png", "mocha_figure3.svg"]
        )
        svg = self.svg("mocha_figure3")
        for text in (
            "memory length T = output length U",
            "speed-up over soft",
            "time of all U outputs",
            "MoChA, w = 2",
            "MoChA, w = 8",
            "fixed-size memory, K = 32",
            "skeleton",
            "mean",
        ):
            self.assertIn(text, svg)
        self.assertIn("T = U = 100: soft / mocha, w = 4", out)
        self.assertIn("soft / skeleton", out)

    def test_outputs_of_decode_give_the_alignments(self):
        names = ["soft", "monotonic", "mocha", "matcha", "memory"]
        paths = [
            self.write(decoded(name, width=3 if name == "mocha" else 1), name)
            for name in names
        ]
        out = self.draws("--figure", "alignments", *paths)
        svg = self.svg("alignments")
        for text in [*names, "memory entry j", "output i", "attention weight"]:
            self.assertIn(text, svg)
        self.assertIn("monotonic: 12 of 12 outputs chose an entry", out)

    def test_the_same_data_gives_the_same_bytes(self):
        path = self.write(make_document(mocha_cells([10, 20])))
        files = [self.folder / f"mocha_figure3.{s}" for s in ("png", "svg")]
        self.draws(path)
        first = [f.read_bytes() for f in files]
        self.draws(path)
        self.assertEqual(first, [f.read_bytes() for f in files])

    def test_list_names_every_figure(self):
        out = self.draws("--list")
        for name in figures.FIGURES:
            self.assertIn(name + ":", out)


class Numbers(PlotTest):
    def setUp(self):
        super().setUp()
        known_effects.use(self)

    def test_soft_that_takes_exactly_4_times_as_long_is_4x_everywhere(self):
        cells = [
            make_cell(name, t, u, time_ns=time_ns * t)
            for t in (4, 8)
            for u in (4, 8)
            for name, time_ns in (("soft", 4000.0), ("monotonic", 1000.0))
        ]
        out = self.draws(self.write(make_document(cells)))
        self.assertIn("min 4.0x [4.0, 4.0]", out)
        self.assertIn("median 4.0x, max 4.0x [4.0, 4.0]", out)

    def test_a_number_stands_at_its_T_across_and_its_U_up(self):
        cells = [
            make_cell(name, t, u, time_ns=time_ns)
            for t, u, speedup in (
                (4, 10, 2.0),
                (8, 10, 3.0),
                (16, 10, 5.0),
                (4, 20, 7.0),
                (8, 20, 11.0),
                (16, 20, 13.0),
            )
            for name, time_ns in (
                ("soft", 100.0 * speedup),
                ("monotonic", 100.0),
            )
        ]
        path = self.write(make_document(cells))
        figure, lines = figures.FIGURES["mad_figure8"].draw(load.load(path))
        axes = figure.axes[0]
        at = {t.get_position(): t.get_text().split()[0] for t in axes.texts}
        self.assertEqual(
            at,
            {
                (0, 0): "2.0",
                (1, 0): "3.0",
                (2, 0): "5.0",
                (0, 1): "7.0",
                (1, 1): "11",
                (2, 1): "13",
            },
        )
        self.assertEqual(axes.get_xlabel(), "memory length T")
        self.assertEqual(axes.get_ylabel(), "output length U")
        self.assertEqual(
            [t.get_text() for t in axes.get_xticklabels()], ["4", "8", "16"]
        )
        self.assertEqual(
            [t.get_text() for t in axes.get_yticklabels()], ["10", "20"]
        )
        # The colours lie where the numbers do.
        self.assertEqual(
            axes.images[0].get_array().round(9).tolist(), [[2, 3, 5], [7, 11, 13]]
        )
        self.assertIn("max 13x [13, 13] at T = 16, U = 20", lines[0])
        # Beside what the paper says: 4x to 40x are of other colours than what is below.
        self.assertIn("4 of 6 from 4x to 40x, where the paper's text has all", lines[1])
        (image,) = axes.images
        blue = [bool(image.to_rgba([value])[0][2] > image.to_rgba([value])[0][0])
                for value in (2, 3.9, 4, 11, 39.9)]
        self.assertEqual(blue, [False, False, True, True, True])

    def test_rounds_are_paired_before_the_median_is_taken(self):
        # The medians' ratio is 2 in both; round by round it is always 2 in the first.
        soft = [2.0, 20.0, 200.0, 2000.0, 20000.0]
        monotonic = [value / 2 for value in soft]
        cells = [
            make_cell("soft", 4, 4, samples_ns=soft),
            make_cell("monotonic", 4, 4, samples_ns=monotonic),
        ]
        frame = load.load(self.write(make_document(cells)))
        row = pairing.speedups(frame).iloc[0]
        for end in ("value", "low", "high"):
            self.assertAlmostEqual(row[end], 2)
        cells[1]["samples_ns"].reverse()
        frame = load.load(self.write(make_document(cells)))
        row = pairing.speedups(frame).iloc[0]
        self.assertAlmostEqual(row["value"], 2)
        self.assertLess(row["low"], 0.1)

    def test_a_single_round_has_no_interval(self):
        cells = [make_cell(name, t, t, samples_ns=[ns]) for t in (10, 20)
                 for name, ns in (("soft", 200.0), ("mocha", 100.0))]
        frame = load.load(self.write(make_document(cells)))
        figure, lines = figures.FIGURES["mocha_figure3"].draw(frame)
        self.assertIn("2.0x, no interval", lines[0])
        self.assertIn("No interval: of a single round, or wider than numbers reach.",
                      figure.texts[0].get_text().replace("\n", " "))
        self.assertLess(figure.axes[1].get_ylim()[1], 20)

    def test_a_cell_shows_its_interval_as_it_is(self):
        for value, low, high, said in (
            (4.0, 2.04, 11.2, "4.0\n2.0–11"),
            (0.9, 0.85, 0.95, "0.90\n.85–.95"),
            (4.0, 0.0, math.inf, "4.0"),
        ):
            cell = {"value": value, "low": low, "high": high}
            self.assertEqual(words.ratio_cell(cell), said)

    def test_a_speed_up_with_over_5_percent_of_outputs_without_a_context_is_marked(self):
        cells = []
        for t, without in ((25, 1), (100, 6)):
            lost = {"numerics": {"attention_mass": float(t - without)}}
            cells += [
                make_cell("soft", t, t, time_ns=400.0),
                make_cell("monotonic", t, t, time_ns=100.0, **lost),
                # A mechanism that does not choose weighs all entries, to any sum.
                make_cell("memory", t, t, time_ns=200.0, num_contexts=32, **lost),
            ]
        figure, lines = figures.FIGURES["mocha_figure3"].draw(
            load.load(self.write(make_document(cells))))
        self.assertEqual(lines, [
            "uniform, T = U = 100: soft / monotonic 4.0x [4.0, 4.0] *",
            "uniform, T = U = 100: soft / memory, K = 32 2.0x [2.0, 2.0]",
            reads.NOTE,
        ])
        self.assertRegex(reads.NOTE, r"^\*: over 5 % of the outputs have no context")
        times, speedups = figure.axes
        self.assertEqual(len(times.texts), 0)
        self.assertEqual([(mark.get_text(), mark.xy[0]) for mark in speedups.texts],
                         [("*", 100)])
        self.assertIn(reads.NOTE, " ".join(figure.texts[-1].get_text().split()))

    def test_a_heat_map_marks_such_cells_and_no_others(self):
        cells = [
            make_cell(name, t, u, time_ns=time_ns,
                      numerics={"attention_mass": 0.5 * u if (t, u) == (4, 20) else u})
            for t in (4, 8) for u in (10, 20)
            for name, time_ns in (("soft", 400.0), ("monotonic", 100.0))
        ]
        figure, _ = figures.FIGURES["mad_figure8"].draw(
            load.load(self.write(make_document(cells))))
        marked = [text.get_position() for text in figure.axes[0].texts
                  if text.get_text().startswith("4.0 *\n")]
        self.assertEqual(marked, [(0, 1)])
        self.assertIn(reads.NOTE, " ".join(figure.texts[-1].get_text().split()))

    def test_figure_3_draws_each_line_through_its_own_numbers(self):
        cells = []
        for t in (10, 20, 30):
            cells += [
                make_cell("soft", t, t, time_ns=t * t),
                make_cell("mocha", t, t, time_ns=t, chunk_width=2),
                make_cell("mocha", t, t, time_ns=2 * t, chunk_width="inf"),
            ]
        frame = load.load(self.write(make_document(cells)))
        figure, lines = figures.FIGURES["mocha_figure3"].draw(frame)
        time, speedup = figure.axes
        drawn = [
            {tuple(numpy.round(line.get_ydata(), 9)) for line in axes.lines}
            for axes in (time, speedup)
        ]
        self.assertEqual(
            drawn[0], {(100, 400, 900), (10, 20, 30), (20, 40, 60)}
        )
        self.assertLessEqual({(10, 20, 30), (5, 10, 15)}, drawn[1])
        self.assertEqual(
            lines,
            [
                "uniform, T = U = 30: soft / mocha, w = 2 30x [30, 30]",
                "uniform, T = U = 30: soft / mocha, w = inf 15x [15, 15]",
            ],
        )

    def test_alignments_put_weights_where_the_steps_say(self):
        document = decoded("monotonic", length=5, num_outputs=3)
        positions = [2, None, None]
        for step, position in zip(document["steps"], positions):
            step.update(
                position=position,
                begin=position,
                end=position,
                weights=[] if position is None else [1.0],
                inspected=0,
            )
        document["steps"][0]["inspected"] = 2
        document["steps"][1]["inspected"] = 4
        path = self.write(document, "monotonic")
        figure, lines = figures.FIGURES["alignments"].draw(
            [printed.steps_of(load.read_json(path), path)]
        )
        axes = figure.axes[0]
        self.assertEqual(
            axes.images[0].get_array().tolist(),
            [[0, 1, 0, 0, 0], [0] * 5, [0] * 5],
        )
        self.assertEqual(axes.lines[0].get_xydata().tolist(), [[2, 1]])
        outlines = [
            (p.get_x(), p.get_y(), p.get_width()) for p in axes.patches
        ]
        # The second output scans on from entry 2, itself included.
        self.assertEqual(outlines, [(0.5, 0.5, 2), (1.5, 1.5, 4)])
        self.assertIn("1 of 3 outputs", lines[0])

    def test_energies_of_weights_without_a_choice_are_outlined_where_the_weights_are(self):
        document = decoded("soft", length=5, num_outputs=3)
        for step, begin, inspected in zip(document["steps"], (1, 3, 4), (2, 5, 1)):
            step.update(begin=begin, end=begin + 1, weights=[0.5, 0.5], inspected=inspected)
        path = self.write(document, "local")
        figure, _ = figures.FIGURES["alignments"].draw(
            [printed.steps_of(load.read_json(path), path)]
        )
        outlines = [
            (p.get_x(), p.get_y(), p.get_width()) for p in figure.axes[0].patches
        ]
        # Nobody knows of which entry the third output evaluated its one energy.
        self.assertEqual(outlines, [(0.5, 0.5, 2), (2.5, 1.5, 2)])

    def test_alignments_have_the_weights_of_all_heads(self):
        document = decoded("two_heads", length=4, num_outputs=1)
        first = {"position": 2, "begin": 2, "end": 3, "weights": [0.25, 0.25],
                 "inspected": 1}
        document["steps"] = [{**first, "further_heads": [
            {**first, "begin": 3, "end": 4, "position": 3}]}]
        path = self.write(document, "two_heads")

        def draw():
            return figures.FIGURES["alignments"].draw(
                [printed.steps_of(load.read_json(path), path)])[0]

        self.assertEqual(draw().axes[0].images[0].get_array().tolist(),
                         [[0, 0.25, 0.5, 0.25]])
        for wrong, said in ((3, "further_heads"), ([{}], "further_heads[0]")):
            document["steps"][0]["further_heads"] = wrong
            path = self.write(document, "two_heads")
            with self.assertRaisesRegex(load.DataError, re.escape(said)):
                draw()


class Stability(PlotTest):
    def result(self, change=lambda document: None):
        document = stability_document()
        change(document)
        return load.stability_of(document, self.write(document))

    def numbers(self, axes, figure):
        """Gives name -> the texts of its row, of a map in the first column or beside it."""
        bottom = axes.get_position().y0
        named = next(one for one in figure.axes if one.get_yticklabels()
                     and abs(one.get_position().y0 - bottom) < 1e-6)
        names = [label.get_text() for label in named.get_yticklabels()]
        found = {name: {} for name in names}
        for text in axes.texts:
            x, y = text.get_position()
            found[names[y]][x] = text.get_text()
        return {name: [row[x] for x in sorted(row)] for name, row in found.items()}

    def test_a_result_gives_its_three_figures(self):
        out = self.draws(self.write(stability_document()))
        names = ["stability", "stability_chunks", "stability_gradient"]
        self.assertEqual(
            self.pictures(),
            sorted(f"{n}.{s}" for n in names for s in ("png", "svg")),
        )
        svg = self.svg("stability")
        for text in (
            "monotonic, ours", "TensorFlow", "MoChA-pytorch", "soft, ours",
            "NaN: some numbers",
            "p uniform in (0, 1), f32", "p = sigmoid(8 N), f64",
            "largest error of attention", "memory length T",
        ):
            self.assertIn(text, svg)
        self.assertNotIn("MoChA, ", svg)
        self.assertIn("MoChA, authors' notebook", self.svg("stability_chunks"))
        self.assertIn("outputs U", self.svg("stability_gradient"))
        self.assertIn("MoChA-pytorch also gives NaN", out)

    def test_each_variant_has_a_row_of_its_own_numbers(self):
        figure, lines = figures.FIGURES["stability"].draw(self.result())
        f32, f64, mass, sharp = figure.axes[:4]
        self.assertEqual([a.get_title() for a in (f32, f64, mass, sharp)], [
            "p uniform in (0, 1), f32", "p uniform in (0, 1), f64", "mass lost, f32",
            "p = sigmoid(8 N), f32"])
        found = self.numbers(f32, figure)
        # Two variants with the same errors do not cover each other; exact ones are first.
        self.assertEqual(list(found), ["monotonic, ours", "soft, ours", "TensorFlow", "MoChA-pytorch"])
        self.assertEqual(found["TensorFlow"], ["0.04", "0.16", "0.64"])
        self.assertEqual(found["MoChA-pytorch"], ["0.5", "0.5", "NaN"])
        self.assertEqual(found["monotonic, ours"], ["1e-7"] * 3)
        self.assertEqual(self.numbers(f64, figure)["monotonic, ours"], ["0"] * 3)
        self.assertEqual([t.get_text() for t in f32.get_xticklabels()], ["4", "16", "64"])

    def test_an_error_has_its_colour_and_what_was_not_measured_none(self):
        figure, _ = figures.FIGURES["stability"].draw(self.result())
        (mesh,) = figure.axes[0].collections
        colors = mesh.to_rgba(mesh.get_array()).reshape(4, 3, 4)
        exact, soft, tf, jmin = colors
        self.assertEqual(soft[:, 3].tolist(), [1, 0, 0])  # of one length only
        brightness = [sum(color[:3]) for color in (exact[0], tf[0], tf[2])]
        self.assertEqual(brightness, sorted(brightness, reverse=True))
        # What is not finite is white and hatched, which no error is, in grey neither.
        self.assertEqual(jmin[2][3], 0)
        (hatched,) = figure.axes[0].patches
        self.assertEqual((hatched.get_xy(), hatched.get_hatch()), ((1.5, 2.5), "////"))
        self.assertEqual([text.get_text() for text in figure.legends[0].get_texts()],
                         ["NaN: some numbers are not finite", "not measured"])

    def test_gradients_have_maps_of_their_errors(self):
        figure, _ = figures.FIGURES["stability_gradient"].draw(self.result())
        found = self.numbers(figure.axes[0], figure)
        self.assertEqual(found["TensorFlow"], ["38", "158", "638"])
        self.assertEqual(found["monotonic, ours"], ["1e-7"] * 3)

    def test_the_finding_is_of_the_families_and_lengths_that_are_drawn(self):
        _, lines = figures.FIGURES["stability"].draw(self.result())

        def change(document):
            # A family of one length has no map, and one output of a long memory no cell.
            of_one = {"memory_length": 16, "output_length": 4, "family": "sharpness_16"}
            short = {"memory_length": 64, "output_length": 1}
            rows, gradients = document["rows"], document["gradients"]
            rows += [{**row, **changes, "attention_error": 0.99} for row in rows
                     if row["mechanism"] == "monotonic" and row["memory_length"] == 16
                     for changes in (of_one, short)]
            gradients += [{**row, **changes, "largest_gradient": 1e6} for row in gradients
                          for changes in ({"family": "sharpness_2"}, {"memory_length": 4})]

        _, changed = figures.FIGURES["stability"].draw(self.result(change))
        self.assertEqual(changed, lines)

    def test_the_finding_has_the_numbers_of_the_result(self):
        _, lines = figures.FIGURES["stability"].draw(self.result())
        self.assertIn("off by 0.5 or more", lines[0])
        self.assertIn("TensorFlow's in f64 is off by 0.64. ", lines[0])
        self.assertIn("largest gradient is 640, by TensorFlow, where the exact one is 1.5",
                      lines[0])
        self.assertIn("in f32, stays within 1.0e-7.", lines[0])

    def test_a_variant_that_this_code_does_not_know_has_a_look_of_its_own(self):
        def add(document):
            for row in document["rows"]:
                if row["preset"] == "jmin":
                    row.update(variant="novel", preset=None)

        _, lines = figures.FIGURES["stability"].draw(self.result(add))
        self.assertNotIn("NaN", lines[0])
        self.draws("--figure", "stability", str(self.folder / "result.json"))
        self.assertIn("monotonic, novel", self.svg("stability"))

    def test_wrong_results_are_refused(self):
        def fails(said, change):
            document = stability_document()
            change(document)
            self.fails_with([self.write(document)], said)

        fails("rows: is empty", lambda d: d.update(rows=[]))
        fails("rows[0]: family is missing", lambda d: d["rows"][0].pop("family"))
        fails(
            "rows[0]: attention_error is None",
            lambda d: d["rows"][0].update(attention_error=None),
        )
        fails(
            "gradients[0]: largest_gradient is -1",
            lambda d: d["gradients"][0].update(largest_gradient=-1),
        )
        fails("schema_version", lambda d: d.update(schema_version=2))
        fails("context", lambda d: d.pop("context"))

    def test_a_figure_of_a_sweep_does_not_take_it(self):
        path = self.write(stability_document())
        self.fails_with(["--figure", "mocha_figure3", path], "of stability")


class Looks(unittest.TestCase):
    def test_a_known_mechanism_looks_the_same_whatever_is_beside_it(self):
        self.assertEqual(
            style.look("mocha", ["mocha"]),
            style.look("mocha", ["aaa", "mocha", "soft"]),
        )

    def test_no_two_lines_look_alike(self):
        names = [*style.MECHANISMS, "skeleton", "mean", "other"]
        seen = {style.look(name, names) for name in names}
        self.assertEqual(len(seen), len(names))
        settings = [style.line("mocha", names, rank, 4) for rank in range(4)]
        for key in ("color", "linestyle", "fillstyle"):
            self.assertEqual(len({str(look[key]) for look in settings}), 4)


class Caption(PlotTest):
    def foot(self, **context):
        document = make_document(mocha_cells([10]))
        document["context"].update(context)
        frame = load.load(self.write(document))
        figure, _ = figures.FIGURES["mocha_figure3"].draw(frame)
        return figure.texts[0].get_text().replace("\n", " ")

    def test_a_run_that_cannot_be_trusted_says_so(self):
        plain = self.foot()
        for text in ("0123456789;", "Processor 3000", "2026-01-02", "f32"):
            self.assertIn(text, plain)
        self.assertNotIn("valid", plain)
        self.assertIn("uncommitted changes;", self.foot(dirty=True))
        self.assertIn("changes: unknown)", self.foot(dirty=None))
        self.assertIn("1 warning.", self.foot(warnings=["busy"]))
        invalid = self.foot(
            valid=False, invalid_reasons=["a debug build"], warnings=["busy"]
        )
        self.assertIn("INVALID: a debug build.", invalid)
        self.assertIn("1 warning.", invalid)
        # A comparison may be not valid without a reason.
        self.assertEqual(words.invalid_reasons({"valid": False, "invalid_reasons": []}),
                         ["no reason is given"])


class Skipped(PlotTest):
    def test_a_skipped_cell_is_hatched_and_counted(self):
        cells = mad_cells(lengths=(4, 8))
        for cell in cells:
            if cell["mechanism"] == "soft" and cell["memory_length"] == 4:
                stop(cell, "skipped", "too short")
        frame = load.load(self.write(make_document(cells)))
        figure, _ = figures.FIGURES["mad_figure8"].draw(frame)
        hatches = [p.get_hatch() for p in figure.axes[0].patches]
        self.assertEqual(hatches, ["////", "////"])
        self.assertEqual(len(figure.axes[0].texts), 2)
        foot = figure.texts[0].get_text().replace("\n", " ")
        self.assertIn("12 of 48 cells, the first: too short", foot)
        self.draws("--figure", "mad_figure8", frame.attrs["path"])

    def test_a_skipped_length_interrupts_the_line_and_is_counted(self):
        cells = mocha_cells([10, 20, 30])
        stop(cells[1], "skipped", "no room")
        frame = load.load(self.write(make_document(cells)))
        figure, _ = figures.FIGURES["mocha_figure3"].draw(frame)
        self.assertIn("1 of 21 cells", figure.texts[0].get_text())

    def test_a_combination_that_was_not_measured_says_so(self):
        cells = [
            cell
            for cell in mad_cells(lengths=(4, 8))
            if (cell["workload"], cell["variant"])
            != ("planted", "published_O0")
        ]
        path = self.write(make_document(cells))
        self.draws("--figure", "mad_figure8", path)
        self.assertIn("not in this file", self.svg("mad_figure8"))


if __name__ == "__main__":
    unittest.main()
