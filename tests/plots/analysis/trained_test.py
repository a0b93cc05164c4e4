"""Guards against a verdict on trained models that is not of their errors: runs that do
not pair, a sign that is the wrong way round, a run that diverged and counts.
"""

import contextlib
import io
import json
import os
import tempfile
import unittest

from documents import ROOT, validate
from made_up import make_trained, make_trained_run

from analysis import load, trained
from pages import trained_table


def quantities(experiment, runs):
    document = make_trained(experiment, runs)
    validate(document, "trained")
    rows = trained.quantities(trained.Runs(document, "r.json"))
    return {(row["name"], *sorted(map(str, row["labels"].values()))): row for row in rows}


def stretch():
    return [
        make_trained_run("noise0", 1, 2.0, 9.0, noise=0), make_trained_run("noise0", 2, 2.0, 11.0, noise=0),
        make_trained_run("noise1", 1, 3.0, 4.0, noise=1), make_trained_run("noise1", 2, 3.0, 4.2, noise=1),
        make_trained_run("noise1", 3, 90.0, 90.0, noise=1),
        make_trained_run("clipped", 1, 3.0, 6.0, noise=1, alpha="clipped"),
        make_trained_run("clipped", 2, 3.0, 6.4, noise=1, alpha="clipped"),
    ]


class TrainedTest(unittest.TestCase):
    def test_seeds_pair_and_signs_are_those_of_the_names(self):
        rows = quantities("stretch", stretch())
        lost = rows["accuracy_expected_less_hard", "0", "2"]
        self.assertAlmostEqual(lost["value"], 8)
        # Student's t of two: 12.706 s / sqrt(2), with s = sqrt(2).
        self.assertAlmostEqual(lost["interval"][1] - lost["value"], 12.7062, 3)
        saved = rows["hard_loss_saved_by_noise", "2"]
        self.assertAlmostEqual(saved["value"], (7 - 1 + 9 - 1.2) / 2)
        clipped = rows["accuracy_clipped_less_exact", "2", "hard"]
        self.assertAlmostEqual(clipped["value"], -2.1)
        self.assertLess(clipped["interval"][0], -2.1)
        self.assertAlmostEqual(
            rows["accuracy_clipped_less_exact", "2", "expected"]["value"], 0)
        self.assertAlmostEqual(rows["discrete_share_gained_by_noise", "2"]["value"], 0)

    def test_a_run_that_diverged_is_left_out_with_its_pair(self):
        runs = stretch()
        runs[0].update(status="diverged", message="m", result=None)
        rows = quantities("stretch", runs)
        row = rows["hard_loss_saved_by_noise", "1"]
        self.assertAlmostEqual(row["value"], 9 - 1.2)
        self.assertIsNone(row["interval"])
        for run in runs:
            run.update(status="diverged", message="m", result=None)
        with self.assertRaises(load.DataError):
            trained.Runs(make_trained("stretch", runs), "r.json")

    def test_the_gap_is_that_of_hard_decoding_to_soft_attention(self):
        runs = []
        for seed, mocha in ((1, 4.0), (2, 12.0)):
            runs += [make_trained_run("soft", seed, 2.0),
                     make_trained_run("monotonic", seed, 5.0, 42.0, encoder_units=16),
                     make_trained_run("mocha_w4", seed, 3.0, mocha),
                     make_trained_run("matcha", seed, 3.0, 30.0)]
        runs += [make_trained_run(name, 1, 1.0, 2.0, encoder_units=64)
                 for name in ("soft_64", "monotonic_64", "mocha_w4_64")]
        runs[-3]["result"]["hard_error"] = None
        rows = quantities("reorder", runs)
        self.assertAlmostEqual(rows["gap_closed", "16", "2"]["value"], (38 + 30) / 2 / 40)
        self.assertAlmostEqual(rows["gap_closed", "1", "64"]["value"], 0)
        self.assertAlmostEqual(rows["accuracy_matcha_less_mocha", "2"]["value"], 8 - 30)

    def copies(self):
        runs = []
        for length, errors in ((10, (9, 2, 1.5, 1)), (20, (40, 17, 3, 2)), (40, (60, 50, 30, 9))):
            for k, error in zip((1, 4, 8, 32), errors):
                steps = (300 if k < 8 else 100,)
                runs.append(make_trained_run(f"K{k}_L{length}", 1, error, steps=steps))
        for encoder in ("softmax", "sigmoid"):
            for decoder in ("softmax", "sigmoid"):
                if (encoder, decoder) != ("softmax", "softmax"):
                    runs.append(make_trained_run(
                        f"{encoder}_{decoder}", 1, 1, encoder_scoring=encoder,
                        decoder_scoring=decoder))
        for encoding in ("raw", "renormalized", "renormalized_mean"):
            runs.append(make_trained_run(f"position_{encoding}", 1, 2, position_encoding=encoding))
        return runs

    def test_k_is_enough_within_a_point_of_the_best_and_more_converge_earlier(self):
        rows = quantities("copy", self.copies())
        self.assertEqual(rows["sufficient_K_longest_over_shortest", "1"]["value"], 32 / 4)
        self.assertAlmostEqual(
            rows["accuracy_gained_by_next_K", "1", "1", "10", "4"]["value"], 7)
        self.assertLess(rows["rank_correlation_of_K_and_steps", "1", "10"]["value"], -0.8)
        self.assertAlmostEqual(
            rows["accuracy_of_scoring", "1", "sigmoid", "softmax"]["value"], 99)
        self.assertAlmostEqual(
            rows["accuracy_gained_by_position_encoding", "1", "raw"]["value"], -0.5)

    def test_the_page_has_the_table_of_the_committed_result(self):
        path = os.path.join(ROOT, "results", "trained", "stretch.json")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(trained_table.main([path]), 0)
        with open(os.path.join(ROOT, "docs", "training.md"), encoding="utf-8") as file:
            page = file.read()
        table = page.split("<!-- trained stretch -->\n")[1].split("<!-- /trained")[0]
        self.assertEqual(table, out.getvalue())

    def test_the_table_and_the_ledgers_document_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path, made = os.path.join(folder, "r.json"), os.path.join(folder, "q.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(make_trained("stretch", stretch()), file)
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(trained_table.main([path, "--quantities", made]), 0)
            self.assertIn("| noise0 | 2 | 2.00 [2.00, 2.00] | 10.00 [", out.getvalue())
            with open(made, encoding="utf-8") as file:
                validate(json.load(file), "training")
            with open(path, "w", encoding="utf-8") as file:
                file.write("{}")
            with contextlib.redirect_stderr(io.StringIO()) as error:
                self.assertEqual(trained_table.main([path]), 2)
            self.assertIn("r.json", error.getvalue())


if __name__ == "__main__":
    unittest.main()
