"""attnbench decode from outside.

Guards against positions that are off by one, and weights that are not those of the
papers where every p is 0 or 1.
"""
import glob
import json
import os
import subprocess
import unittest

from documents import strict
from in_folder import InFolder

ATTNBENCH = os.environ["ATTNBENCH"]
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")


def run(*arguments):
    return subprocess.run([ATTNBENCH, "decode", *map(str, arguments)],
                          capture_output=True, text=True, check=False)


class Golden(unittest.TestCase):
    def decoded(self, path):
        result = run(path)
        self.assertEqual((result.returncode, result.stderr), (0, ""), path)
        return strict(result.stdout)

    def rows(self, output):
        """Gives the weights of each output over the whole memory."""
        rows = []
        for step in output["steps"]:
            row = [0.0] * output["memory_length"]
            if step["begin"] is not None:
                row[step["begin"] - 1:step["end"]] = step["weights"]
            rows.append(row)
        return rows

    def assert_near(self, found, expected, tolerance, what):
        self.assertEqual(len(found), len(expected), what)
        for found_row, expected_row in zip(found, expected):
            self.assertEqual(len(found_row), len(expected_row), what)
            for a, b in zip(found_row, expected_row):
                self.assertLessEqual(abs(a - b), tolerance * max(1, abs(b)), what)

    def test_every_case_decodes(self):
        paths = glob.glob(os.path.join(GOLDEN, "*.json"))
        self.assertEqual(len(paths), 45)
        for path in paths:
            with open(path, encoding="utf-8") as file:
                case = json.load(file)
            output = self.decoded(path)
            inputs = case["inputs"]
            self.assertEqual(output["mechanism"], case["mechanism"])
            self.assertEqual(output["memory_length"], len(inputs["memory"]))
            scores = next(inputs[k] for k in
                          ("p_choose", "energies", "decoder_scores") if k in inputs)
            self.assertEqual(len(output["steps"]), len(scores))

    def test_where_training_and_decoding_agree_the_weights_are_the_expectation(self):
        checked = 0
        for path in glob.glob(os.path.join(GOLDEN, "*.json")):
            with open(path, encoding="utf-8") as file:
                case = json.load(file)
            choices = {p for row in case["inputs"].get("p_choose", []) for p in row}
            if choices - {0.0, 1.0}:
                continue
            output = self.decoded(path)
            self.assert_near(self.rows(output), case["expected"]["attention"],
                             case["tolerance"], path)
            self.assert_near([step["context"] for step in output["steps"]],
                             case["expected"]["context"], case["tolerance"], path)
            checked += 1
        self.assertEqual(checked, 20)


class Steps(InFolder):
    def case(self, content):
        path = os.path.join(self.folder, "case.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)
        return path

    def monotonic(self, p, **options):
        return self.case({"mechanism": "monotonic", "options": options,
                          "inputs": {"p_choose": p}})

    def steps(self, *arguments):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return strict(result.stdout)["steps"]

    def positions(self, *arguments):
        return [step["position"] for step in self.steps(*arguments)]

    def test_positions_count_from_one_and_are_null_where_none(self):
        steps = self.steps(self.monotonic([[0, 1, 0], [0, 0, 0.1], [1, 1, 1]]))
        self.assertEqual(steps[0], {"position": 2, "begin": 2, "end": 2,
                                    "weights": [1.0], "inspected": 2})
        self.assertEqual(steps[1], {"position": None, "begin": None, "end": None,
                                    "weights": [], "inspected": 2})
        self.assertEqual(steps[2]["position"], None)

    def test_end_policies(self):
        p = [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
        self.assertEqual(self.positions(self.monotonic(p)), [2, None, None])
        self.assertEqual(self.positions(self.monotonic(p, end="stay_last")), [2, 3, 3])
        self.assertEqual(self.positions(self.monotonic(p, end="restart")), [2, None, 2])

    def test_threshold_strict_and_sample(self):
        path = self.monotonic([[0.5, 0.8]])
        self.assertEqual(self.positions(path), [1])
        self.assertEqual(self.positions(path, "--strict"), [2])
        self.assertEqual(self.positions(path, "--threshold", "0.7"), [2])
        self.assertEqual(self.positions(path, "--threshold", "0.9"), [None])
        many = self.monotonic([[0.5]] * 64)
        seven = self.positions(many, "--sample", "--seed", 7)
        self.assertEqual(seven, self.positions(many, "--sample", "--seed", 7))
        several = {tuple(self.positions(many, "--sample", "--seed", s)) for s in range(9)}
        self.assertGreater(len(several), 1)

    def test_an_option_of_the_mechanism_replaces_that_of_the_case(self):
        path = self.monotonic([[0.5, 0.8]], threshold=0.1)
        self.assertEqual(self.positions(path, "--option", "threshold=0.7"), [2])
        self.assertEqual(self.positions(path, "--option", "strict=true",
                                        "--threshold", "0.5"), [2])
        drawn = ("--mechanism", "monotonic", "-T", 9, "-U", 1, "-d", 4)
        self.assertEqual(self.positions(*drawn, "--option", "threshold=0"), [1])
        self.assertEqual(self.positions(*drawn, "--option", "threshold=1"), [None])

    def test_chunks_and_contexts(self):
        case = {"mechanism": "mocha", "options": {"chunk_width": 2},
                "inputs": {"energies": [[-1, -1, 1]], "chunk_energies": [[9, 2, 2]],
                           "memory": [[1], [3], [5]]}}
        (step,) = self.steps(self.case(case))
        self.assertEqual(step, {"position": 3, "begin": 2, "end": 3,
                                "weights": [0.5, 0.5], "inspected": 3,
                                "context": [4.0]})
        case["options"]["chunk_width"] = "inf"
        (step,) = self.steps(self.case(case))
        self.assertEqual((step["begin"], step["end"]), (1, 3))

    def test_the_reference_decodes_the_same(self):
        p = [[0.1, 0.7, 0.2], [0.6, 0.4, 0.9]]
        self.assertEqual(self.steps(self.monotonic(p)),
                         self.steps(self.monotonic(p, variant="reference")))

    def test_online_mechanisms_have_a_latency(self):
        case = self.case({"mechanism": "monotonic", "inputs": {
            "p_choose": [[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0],
                         [0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0]]}})
        latency = strict(run(case).stdout)["latency"]
        self.assertEqual({name: round(value, 14) for name, value in latency.items()},
                         {"ap": 0.8, "al": 2.7, "laal": 2.7, "dal": 3})
        longer = strict(run(case, "--reference-length", "8").stdout)["latency"]
        self.assertEqual(longer, {**latency, "laal": 4.5 - 1.5 * 0.75})
        drawn = strict(run("--mechanism", "mocha", "-T", "9", "-d", "4").stdout)
        self.assertEqual(list(drawn["latency"]), ["ap", "al", "laal", "dal"])
        soft = ["--mechanism", "soft", "-T", "9", "-d", "4"]
        self.assertNotIn("latency", strict(run(*soft).stdout))

    def test_a_draw_of_a_workload(self):
        for mechanism in ("soft", "monotonic", "mocha", "matcha", "memory"):
            result = run("--mechanism", mechanism, "--workload", "planted", "-T", 20,
                         "-U", 10, "-d", 64)
            self.assertEqual(result.returncode, 0, result.stderr)
            output = strict(result.stdout)
            self.assertEqual(output["memory_length"], 20)
            self.assertEqual(len(output["steps"]), 10)
            self.assertEqual(len(output["steps"][0]["context"]), 64)
            if mechanism in ("monotonic", "mocha", "matcha"):
                self.assertEqual(output["steps"][-1]["position"], 20)
            else:
                self.assertEqual(len(output["steps"][0]["weights"]), 20)


if __name__ == "__main__":
    unittest.main()
