"""Guards against planned runs that are not in the budget, or whose hours are not counted."""

import contextlib
import io
import json
import os
import sys
import unittest
from unittest import mock

from attnbench.analysis import ROOT
from attnbench.train import settings
from documents import read, text, validate
from in_folder import InFolder
import tiny_training

sys.path.insert(0, os.path.join(ROOT, "experiments", "training"))

import budget  # noqa: E402, in a folder that the line before names


class Budget(InFolder):
    PLANNED = ("speech", "speech_chunks", "g2p", "clipping", "guide", "energies")

    def test_all_planned_runs_are_in_the_table_and_fit_into_a_day_of_one_core(self):
        rows = read("results/training_budget.json")["rows"]
        found = {(row["experiment"], row["alternative"]): row["runs"] for row in rows}
        wanted = {}
        for name in self.PLANNED:
            experiment = read(f"experiments/training/{name}.json")
            for one in experiment["alternatives"]:
                wanted[name, one["name"]] = one.get("seeds", experiment.get("seeds", 1))
        self.assertEqual(found, wanted)
        self.assertLess(sum(row["runs"] * row["run_s"] for row in rows), 24 * 3600)
        self.assertIn(budget.table(rows), text("experiments/README.md"))

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

    def test_every_alternative_is_timed_once_and_counts_all_its_runs(self):
        experiment = tiny_training.experiment(
            {"name": "soft", "settings": {"mechanism": "soft"}},
            {"name": "hard", "seeds": 3}, seed=5, seeds=2)
        self.write("tiny.json", json.dumps(experiment))
        with contextlib.redirect_stdout(io.StringIO()) as told:
            code = budget.main(
                ["--quick", "-o", self.path("r.json"), self.path("tiny.json")])
        self.assertEqual(code, 0)
        result = read(self.path("r.json"))
        validate(result, "training_budget")
        self.assertEqual(told.getvalue(), budget.table(result["rows"]) + "\n")
        self.assertEqual([(row["alternative"], row["runs"]) for row in result["rows"]],
                         [("soft", 2), ("hard", 3)])

    def test_seconds_are_of_steps_curve_and_what_comes_after(self):
        # Each call takes as long as this clock says.
        made = mock.Mock()
        run = settings.Run("a", 1, 1, settings.Settings(
            steps=50, curve_every=20, curve_held_out=7, held_out=9))

        def seconds_of(function, *arguments):
            if function is made.step:
                return 1
            self.assertIs(function, made.evaluate)
            count, whole = arguments
            return count * (110 if whole else 10)

        with mock.patch.object(budget.trainer, "Trainer", return_value=made), \
                mock.patch.object(budget, "_seconds", seconds_of):
            self.assertEqual(budget.seconds(run, 3, 4), 50 + 2 * 7 * 10 + 9 * 110)


if __name__ == "__main__":
    unittest.main()
