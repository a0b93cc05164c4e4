"""Guards against a mechanism that needs more than its folder and one line in
the registry: a copy of the skeleton, linked as `attnbench_with_newcomer`
(tests/CMakeLists.txt), must be found in `list`, in a sweep and in a figure."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["ATTNBENCH_WITH_NEWCOMER"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class NewcomerTest(unittest.TestCase):
    def test_list_shows_it(self):
        listed = subprocess.run([PROGRAM, "list", "--json"], check=True, capture_output=True)
        names = [m["name"] for m in json.loads(listed.stdout)["mechanisms"]]
        self.assertIn("newcomer", names)

    def test_what_works_and_what_is_skipped_names_the_function_that_is_missing(self):
        listed = json.loads(subprocess.run([PROGRAM, "list", "--json"], check=True,
                                           capture_output=True).stdout)
        uses = {m["name"]: {use["name"]: use["lacks"] for use in m["uses"]}
                for m in listed["mechanisms"]}
        names = ["decode", "beam", "advise", "expect", "verify", "gradient", "operator", "train"]
        self.assertEqual(uses["wait_k"], dict.fromkeys(names))
        self.assertEqual(uses["newcomer"], {
            **dict.fromkeys(names), "beam": "StepBeam", "operator": "energies as scores",
            "train": "energies as its only scores"})
        self.assertEqual(uses["two_heads"], {
            **dict.fromkeys(names), "expect": "Expect", "verify": "Expect",
            **dict.fromkeys(("gradient", "operator", "train"), "Gradient")})
        with tempfile.TemporaryDirectory() as folder:
            result = os.path.join(folder, "r.json")

            def messages(*grid):
                subprocess.run([PROGRAM, "run-sweep", "-T", "6", "-d", "8", "--repetitions", "2",
                                "-o", result, "--force", *grid], check=True, capture_output=True)
                with open(result, encoding="utf-8") as file:
                    return [(cell["status"], cell["message"])
                            for cell in json.load(file)["cells"]]

            # Greedy decoding needs no beam.
            self.assertEqual(
                messages("--mechanism", "newcomer", "--scope", "decoder", "--workload", "copy:1",
                         "--beam", "1,3"),
                [("ok", None),
                 ("skipped", "newcomer has no StepBeam, which a beam of 3 needs")])
            self.assertEqual(
                messages("--mechanism", "soft,two_heads", "--mode", "gradient"),
                [("ok", None),
                 ("skipped", "two_heads has no Gradient, which mode gradient needs")])

    def test_every_head_of_an_output_is_checked_counted_and_shown(self):
        decoded = subprocess.run(
            [PROGRAM, "decode", "--mechanism", "two_heads", "-T", "9", "-U", "4", "-d", "8"],
            check=True, capture_output=True)
        for step in json.loads(decoded.stdout)["steps"]:
            self.assertEqual(len(step["further_heads"]), 1)
            self.assertEqual(set(step["further_heads"][0]),
                             {"position", "begin", "end", "weights", "inspected"})
        with tempfile.TemporaryDirectory() as folder:
            result = os.path.join(folder, "r.json")
            subprocess.run(
                [PROGRAM, "run-sweep", "--mechanism", "two_heads", "-T", "40", "-U", "10",
                 "-d", "8", "--workload", "uniform", "--repetitions", "6", "-o", result],
                check=True, capture_output=True)
            with open(result, encoding="utf-8") as file:
                [cell] = json.load(file)["cells"]
            self.assertEqual(cell["status"], "ok", cell)

    def test_a_sweep_checks_and_times_it_and_a_figure_shows_it(self):
        with tempfile.TemporaryDirectory() as folder:
            result = os.path.join(folder, "r.json")
            subprocess.run(
                [PROGRAM, "run-sweep", "--mechanism", "soft,monotonic,newcomer",
                 "-T", "4,8", "-U", "=T", "-d", "8", "--repetitions", "6", "-o", result],
                check=True, capture_output=True)
            with open(result, encoding="utf-8") as file:
                cells = json.load(file)["cells"]
            mine = [c for c in cells if c["mechanism"] == "newcomer"]
            self.assertEqual([c["status"] for c in mine], ["ok", "ok"])
            self.assertTrue(all(c["median_ns"] > 0 for c in mine))
            subprocess.run(
                [sys.executable, os.path.join(ROOT, "plots", "draw.py"),
                 "--figure", "mocha_figure3", result, "-o", folder],
                check=True, capture_output=True)
            with open(os.path.join(folder, "mocha_figure3.svg"), encoding="utf-8") as file:
                self.assertIn("newcomer", file.read())


if __name__ == "__main__":
    unittest.main()
