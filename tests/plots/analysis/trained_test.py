"""Guards against a verdict on trained models that is not of their errors: runs that do
not pair, a sign that is the wrong way round, a run that diverged and counts, one seed
that passes for many.
"""

import collections
import contextlib
import io
import json
import math
import os
import tempfile
import unittest

from documents import ROOT, read, validate
from made_up import make_trained, make_trained_run

from analysis import trained
from pages import trained_table


def quantities(experiment, runs):
    document = make_trained(experiment, runs)
    validate(document, "trained")
    return {(one.name, *sorted(map(str, one.labels.values()))): one
            for one in trained.quantities(document)}


def value(quantity):
    return quantity.estimate.value


def stretch():
    return [
        make_trained_run("noise0", 1, 2.0, 9.0, noise=0),
        make_trained_run("noise0", 2, 2.0, 11.0, noise=0),
        make_trained_run("noise1", 1, 3.0, 4.0, noise=1),
        make_trained_run("noise1", 2, 3.0, 4.2, noise=1),
        make_trained_run("noise1", 3, 90.0, 90.0, noise=1),
        make_trained_run("clipped", 1, 3.0, 6.0, noise=1, alpha="clipped"),
        make_trained_run("clipped", 2, 3.0, 6.4, noise=1, alpha="clipped"),
        make_trained_run("mocha", 1, 3.0, 5.0), make_trained_run("matcha", 1, 3.0, 4.0),
    ]


class TrainedTest(unittest.TestCase):
    def test_seeds_pair_and_signs_are_those_of_the_names(self):
        rows = quantities("stretch", stretch())
        lost = rows["accuracy_expected_less_hard", "0", "2"]
        self.assertAlmostEqual(value(lost), 8)
        # Student's t of two: 12.706 s / sqrt(2), with s = sqrt(2).
        self.assertAlmostEqual(lost.estimate.at(0.05).high - value(lost), 12.7062, 3)
        self.assertEqual(lost.places, [0, 1])
        saved = rows["hard_loss_saved_by_noise", "2"]
        self.assertAlmostEqual(value(saved), (7 - 1 + 9 - 1.2) / 2)
        self.assertEqual(saved.places, [0, 1, 2, 3])
        clipped = rows["accuracy_clipped_less_exact", "2", "threshold"]
        self.assertAlmostEqual(value(clipped), -2.1)
        self.assertLess(clipped.estimate.at().low, -2.1)
        self.assertAlmostEqual(
            value(rows["accuracy_clipped_less_exact", "2", "expected"]), 0)
        self.assertAlmostEqual(value(rows["discrete_share_gained_by_noise", "2"]), 0)
        self.assertAlmostEqual(value(rows["accuracy_matcha_less_mocha", "1"]), 1)

    def test_one_seed_has_a_number_and_gives_no_verdict(self):
        one = quantities("stretch", stretch())["accuracy_matcha_less_mocha", "1"]
        self.assertIn("one seed", one.why)
        self.assertEqual(one.estimate.at().high, math.inf)

    def test_a_run_that_diverged_is_left_out_with_its_pair(self):
        runs = stretch()
        runs[0].update(status="diverged", message="m", result=None)
        row = quantities("stretch", runs)["hard_loss_saved_by_noise", "1"]
        self.assertAlmostEqual(value(row), 9 - 1.2)
        self.assertEqual(row.places, [1, 3])
        for run in runs:
            run.update(status="diverged", message="m", result=None)
        for one in quantities("stretch", runs).values():
            self.assertIsNone(one.estimate)
            self.assertEqual(one.why, "no seed has all of its runs")

    def test_an_alternative_that_is_not_there_gives_no_number(self):
        rows = quantities("fed", [make_trained_run("noise1", 1, 2.0, 3.0, noise=1)])
        self.assertAlmostEqual(value(rows["accuracy_expected_less_hard", "1", "1"]), 1)
        self.assertIsNone(rows["accuracy_expected_less_hard", "0", "None"].estimate)

    def test_the_gap_is_that_of_the_threshold_to_soft_attention(self):
        runs = []
        for seed, mocha in ((1, 4.0), (2, 12.0)):
            runs += [make_trained_run("soft", seed, 2.0),
                     make_trained_run("monotonic", seed, 5.0, 42.0, encoder_units=16),
                     make_trained_run("mocha_w4", seed, 3.0, mocha),
                     make_trained_run("matcha", seed, 3.0, 30.0)]
        runs += [make_trained_run(name, 1, 1.0, 1.0, encoder_units=64)
                 for name in ("soft_64", "monotonic_64", "mocha_w4_64")]
        rows = quantities("reorder", runs)
        self.assertAlmostEqual(value(rows["gap_closed", "16", "2"]), (38 + 30) / 2 / 40)
        self.assertAlmostEqual(value(rows["accuracy_soft_less_monotonic", "16", "2"]), 40)
        none = rows["gap_closed", "1", "64"]
        self.assertIsNone(none.estimate)
        self.assertIn("all runs of a seed are alike", none.why)
        self.assertAlmostEqual(value(rows["accuracy_matcha_less_mocha", "2"]), 8 - 30)

    def copies(self):
        runs = []
        for length, errors in ((10, (9, 2, 1.5, 1)), (20, (40, 17, 3, 2)), (40, (60, 50, 30, 9))):
            for k, error in zip((1, 4, 8, 32), errors):
                steps = (300 if k < 8 else 100,) if length < 40 else (200,)
                runs += [make_trained_run(f"K{k}_L{length}", seed, error, steps=steps)
                         for seed in (1, 2)]
        runs.append(make_trained_run("K4_L20_long", 1, 1))
        for encoder in ("softmax", "sigmoid"):
            for decoder in ("softmax", "sigmoid"):
                if (encoder, decoder) != ("softmax", "softmax"):
                    runs.append(make_trained_run(
                        f"{encoder}_{decoder}", 1, 1, encoder_scoring=encoder,
                        decoder_scoring=decoder, more={"context_spread": 0.4}))
        for encoding in ("raw", "renormalized", "renormalized_mean"):
            runs.append(make_trained_run(f"position_{encoding}", 1, 2, position_encoding=encoding))
        return runs

    def test_k_is_enough_within_a_point_of_the_best_and_more_converge_earlier(self):
        rows = quantities("copy", self.copies())
        self.assertEqual(value(rows["sufficient_K_longest_over_shortest", "2"]), 32 / 4)
        self.assertAlmostEqual(
            value(rows["accuracy_gained_by_next_K", "1", "10", "2", "4"]), 7)
        self.assertLess(value(rows["rank_correlation_of_K_and_steps", "10", "2"]), -0.8)
        same = rows["rank_correlation_of_K_and_steps", "2", "40"]
        self.assertIsNone(same.estimate)
        self.assertIn("all runs of a seed are alike", same.why)
        self.assertAlmostEqual(
            value(rows["accuracy_of_scoring", "1", "sigmoid", "softmax"]), 99)
        self.assertAlmostEqual(
            value(rows["accuracy_gained_by_position_encoding", "1", "raw"]), -0.5)

    def test_a_k_that_never_gets_there_is_the_slowest(self):
        runs = self.copies()
        for run in runs:
            if run["name"] == "K1_L40":
                for point in run["curve"]:
                    point["soft_error"] = 0.5
        rows = quantities("copy", runs)
        self.assertLess(value(rows["rank_correlation_of_K_and_steps", "2", "40"]), 0)

    def test_the_spread_of_contexts_is_read_where_it_was_measured(self):
        rows = quantities("copy", self.copies())
        self.assertAlmostEqual(value(rows["spread_of_contexts", "1", "sigmoid", "softmax"]), 0.4)
        older = rows["spread_of_contexts", "2", "softmax", "softmax"]
        self.assertEqual((older.estimate, older.why),
                         (None, "its runs do not have the number"))

    def test_committed_results_are_whole_and_of_the_committed_experiments(self):
        names = sorted(os.listdir(os.path.join(ROOT, "results", "training")))
        self.assertIn("stretch.json", names)
        for name in names:
            document, experiment = (read(folder, "training", name)
                                    for folder in ("results", "experiments"))
            validate(document, "trained")
            self.assertTrue(document["complete"] and not document["quick"], name)
            self.assertTrue(document["context"]["valid"], name)
            wanted = {one["name"]: one.get("seeds", experiment.get("seeds", 1))
                      for one in experiment["alternatives"]}
            made = collections.Counter(run["name"] for run in document["runs"])
            self.assertEqual(made, wanted, name)

    def test_pages_have_the_tables_of_the_committed_results(self):
        folder = os.path.join(ROOT, "results", "training")
        with open(os.path.join(ROOT, "docs", "trained.md"), encoding="utf-8") as file:
            page = file.read()
        for name in sorted(os.listdir(folder)):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(trained_table.main([os.path.join(folder, name)]), 0)
            name = name.removesuffix(".json")
            table = page.split(f"<!-- trained {name} -->\n")[1].split("<!-- /trained")[0]
            self.assertEqual(table, out.getvalue(), name)

    def test_the_table_has_a_column_for_what_any_alternative_has(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(make_trained("stretch", stretch()), file)
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(trained_table.main([path]), 0)
            self.assertIn("| noise0 | 2 | 2.00 [2.00, 2.00] | 10.00 [", out.getvalue())
            self.assertIn("| mocha | 1 | 3.00 | 5.00 |", out.getvalue())
            self.assertIn("| alternative | seeds | expected, % | threshold, % | discrete | mass |\n",
                          out.getvalue())
            with open(path, "w", encoding="utf-8") as file:
                file.write("{}")
            with contextlib.redirect_stderr(io.StringIO()) as error:
                self.assertEqual(trained_table.main([path]), 2)
            self.assertIn("r.json", error.getvalue())


if __name__ == "__main__":
    unittest.main()
