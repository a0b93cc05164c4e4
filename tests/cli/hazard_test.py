"""Guards against a cell that takes the others with it: `attnbench_with_newcomer`
has a mechanism that crashes, hangs or miscounts on demand (tests/cli/hazard)."""

import json
import os
import subprocess
import tempfile
import unittest

import jsonschema

from in_folder import InFolder

PROGRAM = os.environ["ATTNBENCH_WITH_NEWCOMER"]


class HazardTest(InFolder):
    def measure(self, hazard, *arguments, after=0, status=1, lengths=(3, 4)):
        """Gives the cells of a sweep of this many points, by mechanism and T."""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [PROGRAM, "run-sweep", "--mechanism", "soft,hazard,monotonic",
                 "-T", ",".join(map(str, lengths)), "-U", "2", "-d", "4", "--repetitions", "2",
                 "-o", "r.json", *arguments],
                cwd=folder, capture_output=True, text=True, timeout=600, check=False,
                env={**os.environ, "HAZARD": hazard, "HAZARD_AFTER": str(after)})
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertEqual(os.listdir(folder), ["r.json"])
            with open(os.path.join(folder, "r.json"), encoding="utf-8") as file:
                document = json.load(file)
        listed = subprocess.run([PROGRAM, "list", "--schema"], check=True, capture_output=True)
        jsonschema.validate(document, json.loads(listed.stdout))
        self.stderr = done.stderr
        self.assertEqual([c["mechanism"] for c in document["cells"]],
                         ["soft", "hazard", "monotonic"] * len(lengths))
        return {(c["mechanism"], c["memory_length"]): c for c in document["cells"]}

    def expect_failed(self, cells, status, *messages, where=(3, 4)):
        for (mechanism, length), cell in cells.items():
            failed = mechanism == "hazard" and length in where
            self.assertEqual(cell["status"], status if failed else "ok", cell["message"])
            if failed:
                self.assertEqual(cell["samples_ns"], [])
                for message in messages:
                    self.assertIn(message, cell["message"])

    def test_a_crash_is_an_error_of_its_cell(self):
        cells = self.measure("signal")
        self.expect_failed(cells, "error", "was killed by signal 11 (Segmentation fault)")
        self.assertIn("2 of 6 cells failed", self.stderr)

    def test_the_last_words_are_in_the_message_and_on_the_terminal(self):
        cells = self.measure("abort")
        self.expect_failed(cells, "error", "signal 6 (Aborted): it is broken")
        self.assertIn("it is broken\n", self.stderr)

    def test_a_process_that_ends_is_an_error_of_its_cell(self):
        self.expect_failed(self.measure("exit"), "error", "ended with status 3")

    def test_a_crash_while_it_is_timed_costs_the_others_nothing(self):
        # The defect strikes far beyond what the checks decode, and once, as the
        # count begins anew.
        cells = self.measure("signal", after=200)
        self.expect_failed(cells, "error", "signal 11")

    def test_what_takes_too_long_is_a_timeout(self):
        cells = self.measure("hang", "--cell-limit", "3", lengths=(3,))
        self.expect_failed(cells, "timeout", "not finished after 3 s (--cell-limit)")

    def test_a_plan_leaves_out_a_cell_that_fails_on_a_small_point(self):
        for hazard, limit in (("signal", "60"), ("hang", "2")):
            done = subprocess.run(
                [PROGRAM, "run-sweep", "--mechanism", "soft,hazard", "-T", "300", "--dry-run",
                 "--cell-limit", limit], capture_output=True, text=True, timeout=600,
                check=False, env={**os.environ, "HAZARD": hazard, "HAZARD_AFTER": "0"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(
                done.stdout,
                r"2 cells, about \d+ \w+, a guess for 1 cell that failed on a small point\n")
        # It hung for seconds.
        self.assertIn("attnbench: measuring 2 small points for the estimate\n", done.stderr)
        self.assertIn("run-sweep --dry-run: 2 of 2 small points, about 0 s left\n", done.stderr)

    def resumed(self, hazard, limit, *arguments, status):
        """Runs a sweep in a folder of its own, where an earlier run's result may be."""
        experiment = {
            "name": "hazard", "axes": {"memory_length": [3, 4], "output_length": 2, "dim": 4},
            "repetitions": 2,
            "alternatives": [{"mechanism": "soft"},
                             {"mechanism": "hazard", "memory_length": 3}]}
        with open(os.path.join(self.folder, "e.json"), "w", encoding="utf-8") as file:
            json.dump(experiment, file)
        done = subprocess.run(
            [PROGRAM, "run-sweep", "e.json", "-o", "r.json", "--cell-limit", limit, *arguments],
            cwd=self.folder, capture_output=True, text=True, timeout=600, check=False,
            env={**os.environ, "HAZARD": hazard, "HAZARD_AFTER": "0"})
        self.assertEqual(done.returncode, status, done.stderr)
        with open(os.path.join(self.folder, "r.json"), encoding="utf-8") as file:
            return done, json.load(file)

    def test_a_cell_in_error_is_measured_again_and_what_disagrees_is_not(self):
        def statuses(document):
            return [c["status"] for c in document["cells"]]

        _, first = self.resumed("signal", "60", status=1)
        self.assertEqual(statuses(first), ["ok", "error", "ok"])
        done, again = self.resumed("exit", "60", "--resume", status=1)
        self.assertIn("r.json: 1 point with a cell that is in error is measured again\n",
                      done.stderr)
        self.assertIn("ended with status 3", again["cells"][1]["message"])
        done, second = self.resumed("", "60", "--resume", status=0)
        self.assertIn("1 point with a cell that is in error is measured again", done.stderr)
        self.assertEqual(statuses(second), ["ok"] * 3)
        self.assertEqual(second["cells"][2], first["cells"][2])
        done, _ = self.resumed("", "60", "--resume", status=0)
        self.assertIn("nothing left to do", done.stdout)
        _, refused = self.resumed("count", "60", "--processes", "2", "--force", status=1)
        self.assertEqual(statuses(refused), ["ok", "invalid", "ok"])
        done, same = self.resumed("", "60", "--processes", "2", "--resume", status=1)
        self.assertIn("nothing left to do", done.stdout)
        self.assertEqual(same, refused)

    def test_more_time_measures_again_what_had_too_little(self):
        _, first = self.resumed("hang", "2", status=1)
        self.assertEqual([c["status"] for c in first["cells"]], ["ok", "timeout", "ok"])
        for limit in ("2", "1"):
            done, same = self.resumed("", limit, "--resume", status=1)
            self.assertIn("nothing left to do", done.stdout)
            self.assertEqual(same, first)
        done, second = self.resumed("", "60", "--resume", status=0)
        self.assertIn("1 point with a cell that ended at a lower --cell-limit is measured again",
                      done.stderr)
        self.assertEqual([c["status"] for c in second["cells"]], ["ok"] * 3)
        self.assertEqual(second["cells"][2], first["cells"][2])
        self.assertEqual([run["cell_limit_s"] for run in second["context"]["runs"]], [2, 60])

    def test_several_processes_are_measured_apart_and_joined(self):
        cells = self.measure("", "--processes", "3", status=0)
        for cell in cells.values():
            self.assertEqual(cell["processes"], 3)
            self.assertEqual(len(cell["samples_ns"]), 3 * 2)
            self.assertEqual(len(cell["prepare_samples_ns"]) % 3, 0)
            self.assertEqual(len(cell["draw_ns"]), 16)
            self.assertGreater(cell["median_ns"], 0)

    def test_processes_that_count_differently_are_invalid(self):
        cells = self.measure("count", "--processes", "2")
        self.expect_failed(cells, "invalid", "operations of process 2 of 2 is not that of process 1")
        self.assertIsNone(cells["hazard", 3]["operations"])


if __name__ == "__main__":
    unittest.main()
