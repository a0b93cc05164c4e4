"""attnbench decoder from outside.

Guards against a result that is not its schema's, samples that are not paired,
figures that do not follow from the samples, and wrong usage that is taken."""

import json
import os
import statistics
import subprocess
import unittest

import jsonschema

from in_folder import InFolder

ATTNBENCH = os.environ["ATTNBENCH"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXPERIMENT = {
    "name": "small",
    "kind": "decoder",
    "repetitions": 6,
    "model": {"vocabulary": 7, "units": 16, "memory_share": 0.5},
    "sequences": 3,
    "length": [9, 0],
    "beam": [4, 1],
    "alternatives": [
        {"mechanism": "none"},
        {"mechanism": "memory", "num_contexts": [1, 5]},
        {"mechanism": "soft"},
        {"mechanism": "monotonic"},
        {"mechanism": "mocha", "chunk_width": 2},
        {"mechanism": "mocha", "energy": "dot"},
    ],
    "profiles": {"quick": {"repetitions": 2, "length": 5, "beam": 2,
                           "model": {"memory_share": 1}}},
}
PLACE = ("units", "memory_share", "length", "beam")


def run(*arguments):
    return subprocess.run([ATTNBENCH, "decoder", *map(str, arguments)], capture_output=True,
                          text=True, check=False)


def strict(text):
    def refuse(constant):
        raise ValueError(constant)
    return json.loads(text, parse_constant=refuse)


def schema(kind):
    path = os.path.join(ROOT, "results", "schema", kind + ".schema.json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Decoder(InFolder):
    def setUp(self):
        super().setUp()
        self.experiment = self.write("small.json", EXPERIMENT)
        self.output = os.path.join(self.folder, "r.json")

    def write(self, name, document):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        return path

    def measured(self, *arguments):
        result = run(self.experiment, "-o", self.output, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.output, encoding="utf-8") as file:
            document = strict(file.read())
        jsonschema.Draft7Validator(schema("decoder")).validate(document)
        return document, result

    def test_every_mechanism_is_timed_in_every_point(self):
        document, result = self.measured()
        self.assertEqual(document["kind"], "decoder")
        self.assertEqual(document["experiment"], "small")
        labels = ["none", "memory", "memory", "soft", "monotonic", "mocha", "mocha"]
        for number, (length, beam) in enumerate([(9, 4), (9, 1), (0, 4), (0, 1)]):
            point = document["points"][number]
            self.assertEqual([point[key] for key in PLACE], [16, 0.5, length, beam])
            self.assertEqual(len(point["source_lengths"]), 3 + 1)
            self.assertIn(0, point["source_lengths"])
            self.assertLessEqual(max(point["source_lengths"]), length)
            cells = [cell for cell in document["cells"] if cell["point"] == point["point"]]
            for cell in cells:
                self.assertEqual([cell[key] for key in PLACE], [16, 0.5, length, beam])
            self.assertEqual([cell["mechanism"] for cell in cells], labels)
            self.assertEqual([cell["num_contexts"] for cell in cells][:3], [None, 1, 5])
            self.check_point(cells, length)
        self.assertEqual(len(document["context"]["calibration"]), 4)
        self.assertEqual(document["context"]["limits"][0]["precision"], "f32")
        self.assertIn("memory, K = 5", result.stdout)
        self.assertIn("skipped: under energy dot", result.stdout)

    def check_point(self, cells, length):
        soft = next(cell for cell in cells if cell["mechanism"] == "soft")
        for cell in cells:
            if cell["energy"] == "dot":
                self.assertEqual(cell["status"], "skipped")
                continue
            self.assertEqual(cell["status"], "ok", cell["message"])
            self.assertEqual(len(cell["samples_ns"]), 6)
            self.assertAlmostEqual(cell["median_ns"] / statistics.median(cell["samples_ns"]), 1)
            self.assertLess(cell["gate"]["error"], cell["gate"]["error_bound"])
            ratios = [a / b for a, b in zip(cell["samples_ns"], soft["samples_ns"])]
            low, high = cell["ratio_to_soft"]["interval"]
            self.assertLessEqual(low, cell["ratio_to_soft"]["value"])
            self.assertLessEqual(cell["ratio_to_soft"]["value"], high)
            self.assertGreaterEqual(low, min(ratios) * (1 - 1e-9))
            self.assertLessEqual(high, max(ratios) * (1 + 1e-9))
            if cell["mechanism"] == "none":
                continue
            self.assertEqual(len(cell["attention_samples_ns"]), 6)
            reads = cell["reads"]
            if length == 0:
                self.assertIsNone(reads["memory_read"])
                self.assertIsNone(reads["zero_contexts"])
                self.assertEqual(reads["energies_per_output"], 0)
            elif cell["mechanism"] == "soft":
                self.assertEqual((reads["memory_read"], reads["zero_contexts"]), (1, 0))
        self.assertEqual(soft["ratio_to_soft"]["value"], 1)

    def test_the_quick_profile_and_options_replace_what_the_file_says(self):
        document, result = self.measured("--quick", "--json", "--seed", 5, "--repetitions", 1)
        self.assertEqual(strict(result.stdout), document)
        self.assertEqual(document["context"]["limits"], [])
        self.assertEqual(document["context"]["seed"], 5)
        self.assertEqual([(point["length"], point["beam"]) for point in document["points"]],
                         [(5, 2)])
        for cell in document["cells"]:
            if cell["status"] == "ok":
                self.assertEqual(len(cell["samples_ns"]), 1)

    def test_the_same_seed_translates_the_same(self):
        def numbers(document):
            return [(point["source_lengths"]) for point in document["points"]] + [
                (cell["reads"], cell["gate"]) for cell in document["cells"]]
        first, _ = self.measured("--quick")
        again, _ = self.measured("--quick", "--force")
        other, _ = self.measured("--quick", "--force", "--seed", 2)
        self.assertEqual(numbers(first), numbers(again))
        self.assertNotEqual(numbers(first), numbers(other))

    def test_scans_pass_the_share_of_the_memory_that_was_asked_for(self):
        path = self.write("shares.json", {
            **EXPERIMENT, "repetitions": 1, "sequences": 2, "length": 120, "beam": [1, 2],
            "model": {"vocabulary": 20, "units": [48, 64], "memory_share": [1, 0.5, 0.125]},
            "alternatives": [{"mechanism": name} for name in ("soft", "monotonic", "matcha")]})
        document = strict(run(path, "--json").stdout)
        self.assertEqual(len(document["cells"]), 2 * 3 * 2 * 3)
        for cell in document["cells"]:
            self.assertEqual(cell["status"], "ok", cell["message"])
            share = 1 if cell["mechanism"] == "soft" else cell["memory_share"]
            self.assertAlmostEqual(cell["reads"]["memory_read"], share, delta=0.04)
            self.assertLess(cell["reads"]["zero_contexts"], 0.02)

    def test_several_processes_are_joined(self):
        document, _ = self.measured("--quick", "--processes", 3, "--repetitions", 2)
        self.assertIn("--processes 3", document["context"]["command"])
        alone, _ = self.measured("--quick", "--force", "--repetitions", 2)
        self.assertEqual(len(document["cells"]), len(alone["cells"]))
        for cell, other in zip(document["cells"], alone["cells"]):
            self.assertEqual(cell["reads"], other["reads"])
            self.assertEqual(other["processes"], 1)
            if cell["status"] != "ok":
                continue
            self.assertEqual((cell["processes"], len(cell["samples_ns"])), (3, 6))
            medians = [sum(cell["samples_ns"][i:i + 2]) / 2 for i in (0, 2, 4)]
            self.assertAlmostEqual(cell["median_ns"], sorted(medians)[1])
        for entry in document["context"]["calibration"]:
            self.assertGreaterEqual(len(entry["samples_ns"]), 3)
        self.assertEqual(len(document["context"]["calibration"]),
                         len(document["points"]))
        wrong = run(self.experiment, "--processes", 0)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("--processes", wrong.stderr)

    def test_a_dry_run_measures_nothing(self):
        shown = run(self.experiment, "--dry-run", "-o", self.output)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertIn("small: 4 points, 28 cells, about", shown.stdout)
        self.assertFalse(os.path.exists(self.output))
        plan = strict(run(self.experiment, "--dry-run", "--quick", "--json").stdout)
        self.assertEqual((plan["num_points"], plan["num_cells"]), (1, 7))
        self.assertGreater(plan["estimated_s"], 0)

    def test_wrong_usage_names_what_is_wrong(self):
        self.write("r.json", {})
        sweep = os.path.join(ROOT, "experiments", "mocha_figure3.json")
        wrong = self.write("wrong.json", {**EXPERIMENT, "lenght": 3})
        for arguments, *naming in [
            ((), "name an experiment"),
            ((sweep,), "kind", "run-sweep"),
            ((os.path.join(self.folder, "none.json"),), "none.json"),
            ((wrong,), "wrong.json", "did you mean 'length'"),
            ((self.experiment, "--repetitions", 0), "--repetitions"),
            ((self.experiment, "--seed", "x"), "--seed"),
            ((self.experiment, "--quik"), "did you mean '--quick'"),
            ((self.experiment, "-o", self.output), "r.json", "--force"),
        ]:
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            for text in naming:
                self.assertIn(text, result.stderr)

    def test_the_context_is_that_of_a_sweep(self):
        sweep = schema("sweep")["properties"]["context"]["properties"]
        for name in ("points", "shard", "runs"):
            sweep.pop(name)
        self.assertEqual(schema("decoder")["properties"]["context"]["properties"], sweep)


if __name__ == "__main__":
    unittest.main()
