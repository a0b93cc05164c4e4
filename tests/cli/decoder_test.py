"""Whole decoders, a kind of cell of run-sweep, from outside.

Guards against figures that do not follow from the samples, sources and scans that are
not those that were asked for, and wrong usage that is taken."""

import json
import math
import os
import statistics
import subprocess
import unittest

from documents import strict, validate
from in_folder import InFolder

ATTNBENCH = os.environ["ATTNBENCH"]
AXES = {"scope": "decoder", "workload": "copy:0.5", "memory_length": [9, 1], "dim": 16,
        "batch": 3, "beam": [4, 1], "vocabulary": 7, "energy": "additive"}
EXPERIMENT = {
    "name": "small",
    "repetitions": 6,
    "axes": AXES,
    "alternatives": [
        {"mechanism": "none"},
        {"mechanism": "memory", "num_contexts": [1, 5]},
        {"mechanism": "soft"},
        {"mechanism": "monotonic"},
        {"mechanism": "mocha", "chunk_width": 2},
        {"mechanism": "mocha", "energy": "dot"},
    ],
    "profiles": {"quick": {"repetitions": 2,
                           "axes": {"memory_length": 5, "beam": 2, "workload": "copy:1"}}},
}


def run(*arguments):
    return subprocess.run([ATTNBENCH, "run-sweep", *map(str, arguments)],
                          capture_output=True, text=True, check=False)


def center_of(samples):
    """The time that the samples of one process have: the median of their logarithms."""
    return math.exp(statistics.median(map(math.log, samples)))


class WholeDecoders(InFolder):
    def setUp(self):
        super().setUp()
        self.experiment = self.write("small.json", EXPERIMENT)
        self.output = os.path.join(self.folder, "r.json")

    def write(self, name, document):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        return path

    def measured(self, *arguments, experiment=None):
        result = run(experiment or self.experiment, "-o", self.output, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.output, encoding="utf-8") as file:
            document = strict(file.read())
        validate(document, "sweep")
        return document

    def test_every_mechanism_is_timed_in_every_point(self):
        document = self.measured()
        labels = ["none", "memory", "memory", "soft", "monotonic", "mocha", "mocha"]
        points = document["context"]["points"]
        for point, (length, beam) in zip(points, [(9, 4), (9, 1), (1, 4), (1, 1)], strict=True):
            cells = [cell for cell in document["cells"] if cell["point"] == point]
            self.assertEqual([cell["mechanism"] for cell in cells], labels)
            self.assertEqual([cell["num_contexts"] for cell in cells][:3], [None, 1, 5])
            for cell in cells:
                self.assertEqual((cell["memory_length"], cell["output_length"], cell["beam"]),
                                 (length, length, beam))
                self.check_cell(cell)
        self.assertEqual(len(document["context"]["calibration"]), 4)

    def check_cell(self, cell):
        if cell["energy"] == "dot":
            self.assertEqual(cell["status"], "skipped")
            self.assertIn("under this energy it reads chunk_keys and chunk_states",
                          cell["message"])
            return
        self.assertEqual(cell["status"], "ok", cell["message"])
        self.assertEqual(len(cell["samples_ns"]), 6)
        self.assertAlmostEqual(cell["median_ns"] / center_of(cell["samples_ns"]), 1)
        self.assertLess(cell["numerics"]["error"], cell["numerics"]["error_bound"])
        decoder = cell["decoder"]
        self.assertEqual(len(decoder["source_lengths"]), 3 + 1)
        self.assertEqual(decoder["source_lengths"][-1], 0)
        self.assertLessEqual(max(decoder["source_lengths"]), cell["memory_length"])
        if cell["mechanism"] == "none":
            return
        self.assertEqual(len(decoder["attention_samples_ns"]), 6)
        self.assertAlmostEqual(decoder["attention_median_ns"] /
                               center_of(decoder["attention_samples_ns"]), 1)
        # Attention alone is a part of the whole.
        self.assertLess(min(decoder["attention_samples_ns"]), max(cell["samples_ns"]))
        if cell["mechanism"] == "soft":
            reads = decoder["reads"]
            self.assertEqual((reads["memory_read"], reads["zero_contexts"]), (1, 0))

    def test_the_quick_profile_and_options_replace_what_the_file_says(self):
        document = self.measured("--quick", "--seed", 5, "--repetitions", 1)
        self.assertEqual(document["context"]["seed"], 5)
        for cell in document["cells"]:
            self.assertEqual((cell["memory_length"], cell["beam"]), (5, 2))
            if cell["status"] == "ok":
                self.assertEqual(len(cell["samples_ns"]), 1)

    def test_the_same_seed_translates_the_same(self):
        def numbers(document):
            return [(cell["decoder"]["source_lengths"], cell["decoder"]["reads"],
                     cell["numerics"]) for cell in document["cells"] if cell["status"] == "ok"]
        first = self.measured("--quick")
        again = self.measured("--quick", "--force")
        other = self.measured("--quick", "--force", "--seed", 2)
        self.assertEqual(numbers(first), numbers(again))
        self.assertNotEqual(numbers(first), numbers(other))

    def test_scans_pass_the_share_of_the_memory_that_was_asked_for(self):
        path = self.write("shares.json", {
            **EXPERIMENT, "repetitions": 1,
            "axes": {**AXES, "batch": 2, "memory_length": 120, "beam": [1, 2],
                     "vocabulary": 20, "dim": [48, 64],
                     "workload": ["copy:1", "copy:0.5", "copy:0.125"]},
            "alternatives": [{"mechanism": name} for name in ("soft", "monotonic", "matcha")]})
        document = self.measured(experiment=path)
        self.assertEqual(len(document["cells"]), 2 * 3 * 2 * 3)
        for cell in document["cells"]:
            self.assertEqual(cell["status"], "ok", cell["message"])
            share = (1 if cell["mechanism"] == "soft"
                     else float(cell["workload"].removeprefix("copy:")))
            reads = cell["decoder"]["reads"]
            self.assertAlmostEqual(reads["memory_read"], share, delta=0.04)
            self.assertLess(reads["zero_contexts"], 0.02)

    def test_several_processes_are_joined(self):
        document = self.measured("--quick", "--processes", 3, "--repetitions", 2)
        alone = self.measured("--quick", "--force", "--repetitions", 2)
        for cell, other in zip(document["cells"], alone["cells"], strict=True):
            if cell["status"] != "ok":
                continue
            self.assertEqual(cell["decoder"].get("reads"), other["decoder"].get("reads"))
            self.assertEqual((cell["processes"], len(cell["samples_ns"])), (3, 6))
            self.assertEqual(len(cell["decoder"]["attention_samples_ns"]),
                             0 if cell["mechanism"] == "none" else 6)

    def test_a_run_goes_on_where_it_was(self):
        whole = self.measured("--quick")
        more = self.measured("--resume", "--repetitions", 2, "--quick", "--beam", "2,3")
        self.assertEqual(len(more["cells"]), 2 * len(whole["cells"]))
        for cell in whole["cells"]:
            self.assertIn(cell, more["cells"])

    def test_a_dry_run_writes_nothing(self):
        shown = run(self.experiment, "--dry-run", "-o", self.output)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("small: 4 points, 28 cells, about", shown.stdout)
        self.assertFalse(os.path.exists(self.output))
        plan = strict(run(self.experiment, "--dry-run", "--quick", "--json").stdout)
        self.assertEqual((plan["num_points"], plan["num_cells"]), (1, 7))
        self.assertGreater(plan["estimated_s"], 0)



if __name__ == "__main__":
    unittest.main()
