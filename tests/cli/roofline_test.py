"""attnbench roofline from outside, and the limits in the result of a sweep.

Guards against a result that is not its schema's, and limits that are missing or not
those of the cells.
"""

import json
import os
import subprocess
import unittest

from documents import strict, validate
from in_folder import InFolder

ATTNBENCH = os.environ["ATTNBENCH"]


def run(*arguments):
    return subprocess.run([ATTNBENCH, *map(str, arguments)], capture_output=True,
                          text=True, check=False)


class Roofline(InFolder):
    def setUp(self):
        super().setUp()
        self.output = os.path.join(self.folder, "r.json")

    def result(self):
        with open(self.output, encoding="utf-8") as file:
            return strict(file.read())

    def test_a_quick_run_gives_a_table_and_a_valid_result(self):
        result = run("roofline", "--quick", "-j", "1,2", "-o", self.output)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"^(roofline: \d of 4 settings, about \d+ s left\n){4}$")
        document = self.result()
        validate(document, "roofline")
        self.assertIn("roofline --quick", document["context"]["command"])
        self.assertEqual([(one["threads"], one["precision"]) for one in document["limits"]],
                         [(1, "f32"), (1, "f64"), (2, "f32"), (2, "f64")])
        for one in document["limits"]:
            self.assertEqual(one["peak_flops_per_s"], max(one["peak_samples"]))
            self.assertEqual(len(one["peak_interval_flops_per_s"]), 2)
            for level in one["levels"]:
                low, high = level["read_interval_bytes_per_s"]
                self.assertTrue(low <= level["read_bytes_per_s"] <= high)
                self.assertIn("\n{:<10}{:>8}  {:<8}".format(one["precision"], one["threads"],
                                                           level["name"]), result.stdout)

        refused = run("roofline", "--quick", "-o", self.output)
        self.assertEqual((refused.returncode, refused.stdout), (2, ""), refused.stderr)
        self.assertRegex(refused.stderr, r"\A.*r\.json.*--force.*\n\Z")
        again = run("roofline", "--quick", "-j", 1, "--precision", "f64", "--json", "-o",
                    self.output, "--force")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(strict(again.stdout), self.result())
        self.assertEqual(len(self.result()["limits"]), 1)

    def test_every_cell_of_a_sweep_has_its_limit(self):
        result = run("run-sweep", "-T", 6, "-U", 4, "-d", 8, "-j", "1,2", "-B", 2,
                     "--precision", "f32,f64", "--mode", "decode,gradient", "--mechanism",
                     "soft,mocha", "--scope", "full,attention", "--repetitions", 2,
                     "-o", self.output)
        self.assertEqual(result.returncode, 0, result.stderr)
        document = self.result()
        validate(document, "sweep")
        limits = {(one["threads"], one["precision"]): one
                  for one in document["context"]["limits"]}
        expected = 2 * min(2, os.cpu_count())  # threads beyond the cores are skipped
        self.assertEqual(len(limits), expected)
        self.assertEqual(len(document["context"]["limits"]), expected)
        bounds = set()
        for cell in document["cells"]:
            if cell["status"] == "skipped":  # scope attention of decoding
                self.assertIsNone(cell["limit"])
                continue
            self.assertEqual(cell["status"], "ok", cell["message"])
            limit, operations = cell["limit"], cell["operations"]
            machine = limits[cell["threads"], cell["precision"]]
            level = next(one for one in machine["levels"] if one["size_bytes"] is None
                         or limit["working_set_bytes"] <= one["size_bytes"])
            bandwidth = "read" if cell["mode"] == "decode" else "copy"
            compute_ns = operations["flops"] / machine["peak_flops_per_s"] * 1e9
            memory_ns = operations["bytes"] / level[bandwidth + "_bytes_per_s"] * 1e9
            self.assertAlmostEqual(limit["limit_ns"] / max(compute_ns, memory_ns), 1)
            self.assertEqual(limit["bound"],
                             "compute" if compute_ns >= memory_ns else level["name"])
            self.assertAlmostEqual(limit["fraction"] * cell["median_ns"], limit["limit_ns"])
            bounds.add((cell["mode"], cell["status"]))
        self.assertEqual(len(bounds), 2)

    def test_limits_of_a_result_are_taken_unless_it_is_of_another_machine(self):
        grid = ("run-sweep", "-T", 6, "-d", 8, "--mechanism", "soft", "--repetitions", 2)
        self.assertEqual(run(*grid, "-o", self.output).returncode, 0)
        document = self.result()
        again = os.path.join(self.folder, "again.json")
        done = run(*grid, "--seed", 7, "--limits", self.output, "-o", again)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(again, encoding="utf-8") as file:
            self.assertEqual(strict(file.read())["context"]["limits"],
                             document["context"]["limits"])
        cpu, document["context"]["cpu"] = document["context"]["cpu"], "another"
        with open(self.output, "w", encoding="utf-8") as file:
            json.dump(document, file)
        anew = run(*grid, "--limits", self.output, "-o", again, "--force")
        self.assertEqual(anew.returncode, 0, anew.stderr)
        self.assertIn(f"attnbench: {self.output}: has limits of another machine or program "
                      f'(cpu was "another" and is "{cpu}"); they are measured anew\n', anew.stderr)
        with open(again, encoding="utf-8") as file:
            self.assertNotEqual(strict(file.read())["context"]["limits"],
                                document["context"]["limits"])

    def test_nothing_is_measured_for_what_is_only_shown(self):
        shown = run("run-sweep", "-T", 6, "--dry-run", "--json")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertNotIn("limits", shown.stdout)


if __name__ == "__main__":
    unittest.main()
