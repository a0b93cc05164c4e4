"""Guards against an experiment file whose mistake is ignored, against a
documentation of it that is no longer so, and against a result that hides what
disturbed it."""

import json
import os
import re
import subprocess
import unittest

from cli_test import CommandTest

PROGRAM = os.environ["ATTNBENCH"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TINY = ["-T", "3", "-U", "2", "-d", "4", "--mechanism", "soft"]


class Sweeps(CommandTest):
    def write_experiment(self, document):
        self.write("e.json", json.dumps(document))

    def run_sweep(self, *arguments, **keywords):
        return subprocess.run(
            [PROGRAM, "run-sweep", *arguments], cwd=self.folder, check=False,
            capture_output=True, text=True, timeout=120, **keywords)

    def measured(self, *arguments, **keywords):
        """Runs a good experiment; gives stdout and the result."""
        done = self.run_sweep(*arguments, "-o", "r.json", "--force", **keywords)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, self.read()

    def planned(self, *arguments):
        done = self.run_sweep(*arguments, "--dry-run", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)


class ExperimentFile(Sweeps):
    def test_the_example_of_the_documentation_is_what_it_says(self):
        with open(os.path.join(ROOT, "experiments", "README.md"),
                  encoding="utf-8") as file:
            (example,) = re.findall(r"```json\n(.*?)```", file.read(), re.DOTALL)
        example = json.loads(example)
        self.write_experiment(example)
        # The pairs of T and U are 16 16, 64 16, 64 64, 256 16 and 256 256; T =
        # U only under uniform. A pair has soft and two widths of mocha, and
        # with U = 16 memory too; w = 8 is left out if T = 256.
        plan = self.planned("e.json")
        self.assertEqual(plan["name"], "example")
        self.assertEqual(plan["num_points"], 5 + 2)
        self.assertEqual(plan["num_cells"], 4 + 4 + 3 + 3 + 2 + 4 + 3)
        all_cells = 2 * (5 * 3 + 3)
        self.assertEqual(plan["num_cells"] + plan["num_excluded"], all_cells)
        # The pairs are 16 16, 256 16 and 256 256.
        quick = self.planned("e.json", "--quick")
        self.assertEqual(quick["num_cells"], 4 + 3 + 2 + 3)
        del example["exclusions"]
        self.write_experiment(example)
        self.assertEqual(self.planned("e.json")["num_cells"], all_cells)

    def test_excluded_cells_are_not_in_the_result(self):
        self.write_experiment({
            "name": "e", "repetitions": 1,
            "axes": {"memory_length": [3, 4], "output_length": 2, "dim": 4},
            "alternatives": [{"mechanism": "soft"}, {"mechanism": "mocha"}],
            "exclusions": [{"mechanism": "soft", "memory_length": 4}],
        })
        shown = self.run_sweep("e.json", "--dry-run").stdout
        self.assertIn("2 points, 3 cells (1 more are excluded), about 1 s", shown)
        _, document = self.measured("e.json")
        self.assertEqual(
            [(cell["mechanism"], cell["memory_length"])
             for cell in document["cells"]],
            [("soft", 3), ("mocha", 3), ("mocha", 4)])
        # The command line may narrow the sweep to cells that are not excluded.
        self.assertEqual(self.planned("e.json", "-T", "3")["num_cells"], 2)

    def test_the_plan_says_how_long_it_takes(self):
        short = self.planned(*TINY)
        long = self.planned(*TINY, "--repetitions", "100000")
        self.assertLess(short["estimated_s"], 2)
        self.assertGreater(long["estimated_s"], 100)
        self.assertGreater(
            long["estimated_s"],
            sum(point["estimated_s"] for point in long["points"]))
        text = self.run_sweep(*TINY, "--repetitions", "100000", "--dry-run").stdout
        self.assertRegex(text, r"about \d+ min\n")

    def test_the_plan_measures_small_points_of_long_trials_and_leaves_nothing(self):
        plan = self.planned("-T", "1000", "--mechanism", "soft", "--repetitions", "1")
        longer = self.planned("-T", "1000", "--mechanism", "soft", "--repetitions", "1000")
        self.assertEqual((plan["num_unknown"], longer["num_unknown"]), (0, 0))
        # A round is longer than the sample of short trials, 1 ms.
        self.assertGreater(longer["estimated_s"] - plan["estimated_s"], 2)
        self.assertEqual(os.listdir(self.folder) + os.listdir(os.environ["TMPDIR"]), [])

    def test_the_plan_says_which_time_it_does_not_know(self):
        plan = self.planned("-T", "1000000000", "-U", "4", "-d", "4096", "--mechanism", "soft")
        self.assertEqual(plan["num_unknown"], 1)


class Validity(Sweeps):
    def test_every_point_has_the_clock_of_every_round(self):
        _, document = self.measured(
            "-T", "3,4", "-U", "2", "-d", "4", "--mechanism", "soft",
            "--repetitions", "7")
        calibration = document["context"]["calibration"]
        self.assertEqual([entry["point"] for entry in calibration],
                         document["context"]["points"])
        for entry in calibration:
            self.assertEqual(len(entry["samples_ns"]), 7)
            self.assertEqual(entry["median_ns"], sorted(entry["samples_ns"])[3])
            self.assertIn("throughput", entry["probes"])
            self.assertEqual({len(samples) for samples in entry["probes"].values()}, {7})
            self.assertLessEqual(entry["strayed"]["again"], 3)

    def test_the_last_line_says_whether_it_is_valid_and_why_not(self):
        out, document = self.measured(*TINY, "--repetitions", "7")
        context = document["context"]
        self.assertIs(context["valid"], context["invalid_reasons"] == [])
        whole = [line.startswith("r.json: ") for line in out.splitlines()].index(True)
        first, *rest = out.splitlines()[whole:]
        if context["valid"]:
            self.assertRegex(first, r"\(1 ok\), valid(, \d+ warnings?)?$")
        else:
            self.assertIn("INVALID: " + context["invalid_reasons"][0], first)
        self.assertEqual(
            rest, ["  warning: " + text for text in context["warnings"]])

    def test_a_program_on_one_cpu_has_one_core(self):
        one = {min(os.sched_getaffinity(0))}
        _, document = self.measured(
            *TINY, "-j", "1,2", "--repetitions", "1",
            preexec_fn=lambda: os.sched_setaffinity(0, one))
        self.assertEqual(document["context"]["cores"], 1)
        self.assertEqual(document["context"]["affinity"], str(min(one)))
        self.assertEqual(
            [cell["status"] for cell in document["cells"]], ["ok", "skipped"])


if __name__ == "__main__":
    unittest.main()
