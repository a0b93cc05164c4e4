"""Guards against pictures of trained models that leave out a run or a model, that mix
sequences, or that take the expectation for the threshold.
"""

import unittest

import numpy
from made_up import make_trained, make_trained_run
from plot_case import PlotTest

from attnbench.analysis import load
from figures import learning_curves, trained_attention, trained_errors


def example(outputs, entries, contexts=0, choices=()):
    return {"attention": [[1 / entries] * entries] * outputs, "choices": list(choices),
            "contexts": [[0.5] * entries] * contexts}


def stretch():
    shares = [0.6] + [0.005] * 18 + [0.31]
    p = {"more": {"p_histogram": shares}}
    return make_trained("stretch", [
        make_trained_run("soft", 1, 1.0, steps=(200,), mechanism="soft",
                         example=example(3, 5)),
        make_trained_run("noise0", 1, 2.0, 9.0, steps=(200,), noise=0, **p,
                         example=example(3, 5, choices=[0, 2, 5])),
        make_trained_run("noise1", 1, 2.0, 3.0, steps=(200,), noise=1, **p),
        make_trained_run("noise1", 2, 2.0, 5.0, steps=(300,), noise=1, **p),
        make_trained_run("mocha", 1, 2.0, 3.0, mechanism="mocha", noise=1,
                         example=example(3, 5, choices=[5, 5, 5])),
        make_trained_run("long", 1, 2.0, 5.0, most_symbols=9, example=example(9, 8),
                         noise=1),
    ])


def copy():
    runs = [make_trained_run(f"{name}_L{length}", 1, error, steps=(200,),
                             most_symbols=length, mechanism=mechanism,
                             example=None if name == "none" else example(
                                 4, length + 1, contexts=2 if name == "K2" else 0))
            for length, factor in ((3, 1), (6, 4))
            for name, mechanism, error in (("none", "none", 9 * factor),
                                           ("K1", "memory", 8 * factor),
                                           ("K2", "memory", 2 * factor),
                                           ("soft", "soft", factor))]
    runs.append(make_trained_run("sigmoid_softmax", 1, 3.0, steps=(200,),
                                 mechanism="memory", encoder_scoring="sigmoid",
                                 more={"context_spread": 0.25},
                                 example=example(4, 4, contexts=2)))
    return make_trained("copy", runs)


def clipping():
    settings = {"input_feeding": True, "noise": 1}
    return make_trained("stretch", [
        make_trained_run("mended", 1, 1.0, 99.0, steps=(200,), alpha="clipped", clip=1e-10,
                         clip_until=0.9, **settings),
        make_trained_run("exact", 1, 1.0, 2.0, steps=(200,), alpha="exact", **settings),
        make_trained_run("noise0", 1, 1.0, 4.0, steps=(200,), alpha="exact",
                         **{**settings, "noise": 0}),
        *(make_trained_run(f"clip{clip:g}", seed, 1.0, error, steps=(200,), alpha="clipped",
                           clip=clip, **settings)
          for clip, of_seeds in ((1e-10, (6.0, 8.0)), (1.0, (3.0, 3.0)))
          for seed, error in enumerate(of_seeds, 1)),
    ])


class TrainedFigures(PlotTest):
    def test_errors_over_the_clip_are_of_models_that_were_clipped_to_the_end(self):
        out = self.draws(self.write(clipping(), "a.json"), "--figure", "clip_errors")
        self.assertIn("by the threshold, 0 to 3 symbols: exact 2.00 %, clip 1e-10 7.00 %, "
                      "divides by 1 3.00 %", out)
        self.assertIn("by the expectation, 0 to 3 symbols: exact 1.00 %, clip 1e-10 1.00 %", out)
        self.assertNotIn("99", out)
        self.assertIn("trained without noise", self.svg("clip_errors"))

    def test_several_results_give_all_figures_together(self):
        out = self.draws(self.write(stretch(), "a.json"), self.write(copy(), "b.json"))
        names = ["context_errors", "context_weights", "hard_errors", "learning_curves_contexts",
                 "learning_curves_encodings", "learning_curves_noise", "p_histogram", "trained_alignments"]
        self.assertEqual(self.pictures(), [f"{name}.{end}" for name in names
                                           for end in ("png", "svg")])
        for said in ("copying, monotonic, noise 1, L = 3: 2.00 % by the expectation, "
                     "4.00 % by the threshold",
                     "copying, L = 6: no attention 36.00 %, K = 1 32.00 %, K = 2 8.00 %, soft 4.00 %",
                     "sigmoid then softmax: spread 0.25",
                     "monotonic: 2 of 3 outputs choose an entry, largest weight",
                     "copying, monotonic, no noise (n = 1): 60 % of p below "
                     "0.05, 31 % above 0.95",
                     "copying: on all held-out sequences in the end 1.00 % of error (soft) "
                     "to 9.00 % (monotonic, no noise)"):
            self.assertIn(said, out)
        self.assertIn("no noise", self.svg("hard_errors"))
        self.assertIn("the output chose nothing", self.svg("trained_alignments"))

    def test_results_of_other_kinds_are_not_mixed_in(self):
        self.fails_with([self.write(stretch(), "a.json"),
                         self.write({"kind": "sweep"}, "b.json")],
                        "results of train only")

    def test_curves_are_of_the_hard_process_and_seeds_are_a_band(self):
        figure, _ = learning_curves.draw("noise", [stretch()])
        panel = figure.axes[0]
        lines = {line.get_label(): line for line in panel.lines}
        # One seed got to 20 % at 200 steps, both started with 21 %, and the point's own
        # error by the threshold is that of the run.
        self.assertEqual(list(lines["monotonic, no noise (n = 1)"].get_ydata()), [9.0] * 3)
        self.assertEqual(list(lines["soft (n = 1)"].get_ydata()), [21.0, 20.0, 20.0])
        of_two = lines["monotonic, noise 1 (n = 2)"]
        self.assertEqual(list(of_two.get_ydata()), [4.0] * 3)
        # The band is between its two seeds; a single seed has none, and a thinner line.
        (band,) = panel.collections
        heights = band.get_paths()[0].vertices[:, 1]
        self.assertEqual((heights.min(), heights.max()), (3.0, 5.0))
        self.assertLess(lines["soft (n = 1)"].get_linewidth(), of_two.get_linewidth())

    def test_lengths_and_scorings_have_panels_of_their_own(self):
        titles = [
            [panel.get_title() for panel in
             learning_curves.draw(question, [copy()])[0].axes if panel.lines]
            for question in ("contexts", "encodings")]
        self.assertEqual(titles, [["copying, L = 3", "copying, L = 6"], ["copying, L = 3"]])

    def test_tasks_of_one_result_are_told_apart(self):
        document = make_trained("energies", [
            make_trained_run(name, 1, 3.0, 4.0, steps=(200,), task=name, noise=noise)
            for noise, name in enumerate(("stretch", "reorder"))])
        self.assertTrue(learning_curves.has_data("reordering", [document]))
        curves = [panel.get_title() for panel in
                  learning_curves.draw("reordering", [document])[0].axes if panel.lines]
        self.assertEqual(curves, ["reordering"])
        figure, _ = trained_errors.draw_noise([document])
        self.assertIn("symbols held for frames; reordering", figure.axes[0].get_title())
        self.assertEqual([one.get_text() for one in figure.axes[0].get_yticklabels()],
                         ["symbols held for frames, no noise, n = 1", "reordering, noise 1, n = 1"])

    def test_a_panel_has_at_most_six_lines(self):
        document = make_trained("copy", [
            make_trained_run(f"K{k}_L3", 1, 3.0, steps=(200,), mechanism="memory",
                             num_contexts=k) for k in range(1, 9)])
        figure, _ = learning_curves.draw("contexts", [document])
        self.assertEqual([len(panel.lines) for panel in figure.axes], [6, 2])

    def test_soft_and_hard_errors_stand_in_one_row(self):
        figure, _ = trained_errors.draw_noise([copy(), stretch()])
        (panel,) = figure.axes
        self.assertEqual([one.get_text() for one in panel.get_yticklabels()],
                         [
            "monotonic, no noise, L = 3, n = 1", "monotonic, noise 1, L = 3, n = 2",
            "MoChA, w = 4, n = 1", "monotonic, noise 1, L = 9, n = 1"])
        joints = [line for line in panel.lines if len(line.get_xdata()) == 2
                  and line.get_marker() == "None"]
        self.assertEqual(list(joints[1].get_xdata()), [2.0, 4.0])

    def test_errors_over_k_are_lines_by_length(self):
        figure, _ = trained_errors.draw_contexts([stretch(), copy()])
        (panel,) = figure.axes
        lines = [list(line.get_ydata()) for line in panel.lines
                 if line.get_linestyle() != "None"]
        self.assertIn([8.0, 2.0], lines)
        self.assertIn([32.0, 8.0], lines)

    def test_alignments_are_of_one_sequence_and_the_most_mechanisms(self):
        figure, _ = trained_attention.draw_alignments([copy(), stretch()])
        shown = [panel.get_title() for panel in figure.axes if panel.images]
        self.assertEqual(shown, ["soft", "monotonic", "MoChA, w = 4"])
        dots = figure.axes[1].lines[0]
        # An output that chooses none has no dot.
        self.assertEqual(list(zip(dots.get_xdata(), dots.get_ydata())), [(1, 1), (3, 2)])
        # It has a cross behind the last of the 5 entries.
        self.assertEqual([list(zip(line.get_xdata(), line.get_ydata()))
                          for line in figure.axes[1].lines[1:]], [[(6, 3)]])

    def test_a_histogram_is_the_mean_over_seeds(self):
        document = stretch()
        document["runs"][3]["result"]["p_histogram"] = [0.2] + [0.8 / 19] * 19
        figure, _ = trained_attention.draw_p([document])
        steps = {patch.get_label(): patch.get_data().values
                 for patch in figure.axes[0].patches}
        named = "monotonic, noise 1 (n = 2)"
        self.assertEqual(list(steps), ["monotonic, no noise (n = 1)", named])
        self.assertAlmostEqual(steps[named][0], 0.4)
        self.assertAlmostEqual(numpy.sum(steps[named]), 1)

    def test_a_result_from_before_examples_has_curves_alone(self):
        document = stretch()
        for run in document["runs"]:
            run.pop("example", None)
            run["result"].pop("p_histogram", None)
        self.draws(self.write(document))
        self.assertEqual(self.pictures(), [f"{name}.{end}" for name in (
            "hard_errors", "learning_curves_noise") for end in ("png", "svg")])
        with self.assertRaises(load.DataError):
            load.require_kind({**document, "runs": [{}]}, "a.json", "trained")


if __name__ == "__main__":
    unittest.main()
