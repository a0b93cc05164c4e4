"""Guards against an experiment in which alternatives differ in more than alpha, and whose
published closed forms are not those that they stand for where nothing underflows."""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "experiments", "training"))
sys.path.insert(0, os.path.join(ROOT, "python"))
import banded_torch
import budget
import clip_gradient
import python_loop
import replacement
from attnbench.analysis import intervals
from attnbench.analysis.trained import Runs
from attnbench.train import settings


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Replacement(unittest.TestCase):
    def test_closed_forms_are_exact_until_they_clip(self):
        torch.manual_seed(1)
        p = 0.05 + 0.2 * torch.rand(2, 3, 9, dtype=torch.float64)
        wanted = replacement.exact(p)
        self.assertTrue(torch.allclose(replacement.of_mad(p), wanted, atol=1e-9))
        self.assertTrue(torch.allclose(replacement.of_fairseq(p), wanted, atol=1e-4))

    def test_closed_forms_lose_the_mass_of_an_output_behind_many_large_p(self):
        p = torch.full((1, 2, 40), 0.01)
        p[0, 0, 39] = p[0, 1, ::3] = p[0, 1, 39] = 0.999
        wanted = replacement.exact(p)[0, 1].sum()
        self.assertGreater(wanted, 0.5)
        for form in (replacement.of_mad, replacement.of_fairseq):
            self.assertLess(form(p)[0, 1].sum(), 0.2 * wanted)

    def test_the_small_form_runs_and_all_alternatives_begin_alike(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            script = os.path.join(ROOT, "experiments", "training", "replacement.py")
            subprocess.run(
                [sys.executable, script, "--quick", "-o", path],
                check=True, capture_output=True, timeout=120)
            with open(path, encoding="utf-8") as file:
                result = json.load(file)
        runs = {run["name"]: run for run in result["runs"]}
        self.assertEqual(set(runs), set(replacement.ALTERNATIVES))
        losses = [run["curve"][0]["loss"] for run in runs.values()]
        self.assertLess(max(losses) - min(losses), 1e-3)
        for name, run in runs.items():
            difference = run["result"]["selected_mass"] - run["result"]["exact_mass"]
            # Here nothing is lost; 1e-6 is added to the factors of fairseq alone.
            self.assertEqual(name == "fairseq", abs(difference) > 1e-6, (name, difference))

    def test_the_page_on_operators_quotes_the_committed_result(self):
        page, result = read("docs/operators.md"), json.loads(read("results/replacement.json"))

        def mean(name, key):
            values = [r["result"][key] for r in result["runs"] if r["name"] == name]
            self.assertEqual(len(values), result["settings"]["seeds"])
            return sum(values) / len(values)

        errors = [f"{100 * mean(name, 'error'):.1f} %" for name in replacement.ALTERNATIVES]
        hard = [f"{100 * mean(n, 'hard_error'):.1f}" for n in replacement.ALTERNATIVES]
        masses = [f"{mean(n, 'selected_mass'):.3f}" for n in replacement.ALTERNATIVES]
        self.assertIn("ends with {} wrong outputs by the form of fairseq, {} by that of MAD "
                      "appendix G and {} by the exact".format(*errors), page)
        self.assertIn("by the threshold {}, {} and {} %".format(*hard), page)
        self.assertIn("keeps {}, {} and {} of the mass".format(*masses), page)


class PythonLoop(unittest.TestCase):
    def test_both_models_in_python_are_one_model(self):
        closed, ours = python_loop.UsersLoop(False).model, python_loop.UsersLoop(True).model
        source, before = torch.randint(python_loop.SYMBOLS, (2, 2, 9))
        logits = []
        for model in (closed, ours):
            torch.manual_seed(1)
            # The noise has another shape but the same numbers in the same order.
            logits.append(model(source, before))
        self.assertTrue(torch.allclose(*logits, atol=1e-4))

    def test_the_page_on_training_quotes_the_committed_result(self):
        page, result = read("docs/training.md"), json.loads(read("results/python_loop.json"))
        loops = {(loop["model"], loop["name"]): loop for loop in result["loops"]}
        self.assertIn(f"takes {loops['copy', 'trainer']['step_ms']:.1f} ms on one thread", page)
        for name, words in (
                (("copy", "python_closed_form"), "{} as long with the closed form"),
                (("copy", "python_operators"), "{} as long with [our operators]"),
                (("copy", "program"), "before took {} as long"),
                (("stretch", "program"), "on `stretch` {}"), (("fed", "program"), "on `fed` {}")):
            value, low, high = loops[name]["over_trainer"]
            self.assertIn(words.format(f"{value:.2f} times [{low:.2f}, {high:.2f}]"), page)


    def test_the_page_on_training_quotes_how_far_both_loops_are_apart(self):
        page, half_widths = read("docs/training.md"), []
        for experiment, names in (("stretch", ("noise0", "noise1")), ("fed", ("noise1",))):
            both = [Runs(json.loads(read(f"results/two_loops/{experiment}_{loop}.json")))
                    for loop in ("python", "cpp")]
            for name in names:
                python, cpp = (runs.values(name, "threshold") for runs in both)
                self.assertEqual(len(python), 8)
                found = intervals.Seeds(tuple(python - cpp))
                span = found.at()
                half_widths.append(f"{found.half_width(intervals.MISS):.2f}")
                self.assertIn(f"{span.value:+.2f} [{span.low:.2f}, {span.high:.2f}]", page)
                # By the expectation they are nearer still.
                python, cpp = (runs.values(name, "expected") for runs in both)
                span = intervals.Seeds(tuple(python - cpp)).at()
                self.assertLess(max(-span.low, span.high), 0.08)
        self.assertIn("{}, {} and {} points".format(*half_widths), page)


class ClipGradient(unittest.TestCase):
    def test_the_committed_rows_are_made_again_and_its_table_is_on_the_page(self):
        result = json.loads(read("results/clip_gradient.json"))
        made = list(clip_gradient.rows())
        self.assertEqual(len(made), len(result["rows"]))
        for row, committed in zip(made, result["rows"]):
            with self.subTest(form=row["form"], energy=row["energy"]):
                for name, value in committed.items():
                    if isinstance(value, float):
                        self.assertAlmostEqual(row[name], value, places=4)
                    else:
                        self.assertEqual(row[name], value)
        self.assertIn(clip_gradient.table(result["rows"]), read("docs/clipping.md"))

    def test_the_shares_of_p_on_the_page_are_those_of_the_trained_models(self):
        runs, page = Runs(json.loads(read("results/training/clipping.json"))), read("docs/clipping.md")
        large = {name: 100 * statistics.mean(run["result"]["p_histogram"][-1]
                                             for run in runs.finished(name))
                 for name in runs.names}
        self.assertIn(f"p above 0.95 is {large['exact']:.1f} % with the exact", page)
        for name in ("exact_noise0", "clip_1e-10", "clip_1e-6", "clip_1e-4"):
            self.assertEqual("0.0", f"{large[name]:.1f}", name)
        self.assertIn(f"{large['denominator_1']:.1f} % are above 0.95", page)

    def test_the_exact_gradient_is_that_of_the_entries_that_are_read(self):
        _, found = clip_gradient.gradient(clip_gradient.exact, 9)
        wanted = torch.zeros(clip_gradient.MEMORY_LENGTH, dtype=torch.double)
        # -log alpha is -log p of the target less log(1 - p) of each entry from start on.
        wanted[clip_gradient.TARGET] = 1 / (1 + math.exp(-clip_gradient.OF_TARGET)) - 1
        wanted[clip_gradient.START:clip_gradient.TARGET] = 1 / (
            1 + math.exp(-clip_gradient.OTHERS))
        self.assertTrue(torch.allclose(found, wanted, atol=1e-6), found)


class Budget(unittest.TestCase):
    PLANNED = ("speech", "g2p", "clipping", "guide", "energies")

    def test_all_planned_runs_are_in_the_table_and_fit_into_a_day_of_one_core(self):
        rows = json.loads(read("results/training_budget.json"))["rows"]
        found = {(row["experiment"], row["alternative"]): row["runs"] for row in rows}
        wanted = {}
        for name in self.PLANNED:
            experiment = json.loads(read(f"experiments/training/{name}.json"))
            for one in experiment["alternatives"]:
                wanted[name, one["name"]] = one.get("seeds", experiment.get("seeds", 1))
        self.assertEqual(found, wanted)
        self.assertLess(sum(row["runs"] * row["run_s"] for row in rows), 24 * 3600)
        self.assertIn(budget.table(rows), read("experiments/README.md"))

    def test_hours_spent_are_those_of_all_runs_of_a_committed_result(self):
        self.assertEqual(budget.spent("nobody_trained_this"), {})
        runs = [{"name": name, "seconds": seconds}
                for name, seconds in (("a", 3600), ("b", 1800), ("a", 1800))]
        row = {"experiment": "clipping", "runs": 2, "run_s": 1800}
        with mock.patch.object(budget.load, "read", lambda *_: {"runs": runs}):
            table = budget.table([{**row, "alternative": name} for name in "ac"])
        self.assertEqual(table.split("\n")[2:], [
            "| `clipping` | `a` | 2 | 1800 | 1.00 | 1.50 |",
            "| `clipping` | `c` | 2 | 1800 | 1.00 | – |",
            "| all | | 4 | | 2.0 | 2.0 |"])

    def test_seconds_are_of_steps_curve_and_what_comes_after(self):
        # Each call takes as long as this clock says.
        took = {"step": 1, "evaluate": 10, "compare_decodings": 100}
        made = mock.Mock()
        run = settings.Run("a", 1, 1, settings.Settings(
            steps=50, curve_every=20, curve_held_out=7, held_out=9))

        def seconds_of(function, *arguments):
            name = next(name for name in took if function is getattr(made, name))
            return took[name] * (arguments[0] if arguments else 1)

        with mock.patch.object(budget.trainer, "Trainer", return_value=made), \
                mock.patch.object(budget, "_seconds", seconds_of):
            self.assertEqual(budget.seconds(run, 3, 4), {
                "steps": 50, "step_ms": 1000,
                "run_s": 50 + 2 * 7 * 10 + 9 * (10 + 100)})


class BandedTorch(unittest.TestCase):
    def test_energies_are_those_of_symbols(self):
        inputs = banded_torch.Inputs(**banded_torch.QUICK)
        energy = inputs.module.energy
        with torch.no_grad():
            found = energy(inputs.states, energy.make_keys(inputs.memory))
        is_match = found > 0
        for sign, part in ((1, found[is_match]), (-1, found[~is_match])):
            self.assertAlmostEqual(float(part.mean()), sign * banded_torch.SHARPNESS, delta=1)
            self.assertLess(float(part.std()), 4)
        symbols = banded_torch.QUICK["memory_length"] / banded_torch.QUICK["output_length"] + 1
        self.assertAlmostEqual(float(is_match.float().mean()), 1 / symbols, delta=0.02)

    def test_both_ways_compute_the_same(self):
        inputs = banded_torch.Inputs(**banded_torch.QUICK)
        with torch.no_grad():
            error = (inputs.dense() - inputs.banded()).abs().sum(2).max()
            self.assertLess(float(error), 0.1)
        self.assertLess(inputs.share(), 0.3)

    def test_the_page_on_the_band_quotes_the_committed_result(self):
        page, result = read("docs/banded.md"), json.loads(read("results/banded_torch.json"))
        rows = {(row["computed_by"], row["with_gradient"]): row for row in result["rows"]}
        for path, name in (("program", "variant `banded`"), ("native", "native path"),
                           ("portable", "portable path")):
            forward, gradient = (
                "{:.1f}x [{:.1f}, {:.1f}]".format(*rows[path, with_gradient]["speedup"])
                for with_gradient in (False, True))
            share = 1 / rows[path, False]["energies_share"]
            if path == "native":
                kept = [rows["native", w]["speedup"][0] / rows["program", w]["speedup"][0]
                        for w in (False, True)]
                self.assertIn("keeps {:.0%} of the variant's speed-up forward and {:.0%} with"
                              .format(*kept).replace("%", " %"), page)
            self.assertIn(f"| {name} | 1/{share:.0f} | {forward} | {gradient} |\n", page)


if __name__ == "__main__":
    unittest.main()
