"""attnbench verify from outside.

Guards against a verification that leaves a mechanism out, that fails without an
exit code or without naming what, and that depends on threads."""

import os
import subprocess
import tempfile
import unittest

from documents import strict

ATTNBENCH = os.environ["ATTNBENCH"]
WITH_NEWCOMER = os.environ["ATTNBENCH_WITH_NEWCOMER"]


def run(*arguments, program=ATTNBENCH):
    return subprocess.run([program, "verify", *map(str, arguments)],
                          capture_output=True, text=True, check=False)


class Verify(unittest.TestCase):
    def document(self, *arguments, program=ATTNBENCH):
        result = run("--quick", "--json", *arguments, program=program)
        self.assertEqual(result.returncode, 0, result.stderr)
        return strict(result.stdout)

    def test_every_mechanism_is_right(self):
        document = self.document("--trials", 1000)
        self.assertEqual((document["kind"], document["verdict"]), ("verify", "passed"))
        self.assertEqual(document["false_alarm_rate"], 1e-6)
        self.assertEqual(document["not_verified"], [])
        methods = {}
        for case in document["cases"]:
            methods.setdefault(case["mechanism"], set()).add(case["method"])
        random = {"enumeration", "sampling"}
        self.assertEqual(methods, {"soft": {"exact"}, "monotonic": random, "mocha": random,
                                   "matcha": random, "memory": {"exact"}})
        compared = {q["what"] for c in document["cases"] for q in c["quantities"]}
        self.assertLessEqual(
            {"selection", "pairs of choices", "attention", "context",
             "gradient of the choice's energies", "gradient of p_choose",
             "gradient of energies", "gradient of chunk_energies", "gradient of memory",
             "gradient of states", "gradient of encoder_scores"}, compared)

    def test_a_mechanism_that_registers_is_verified(self):
        document = self.document("--mechanism", "newcomer", program=WITH_NEWCOMER)
        compared = {q["what"] for c in document["cases"] for q in c["quantities"]}
        self.assertLessEqual({"attention", "context", "gradient of memory"}, compared)

    def test_every_energy_has_the_gradients_of_its_inputs_compared(self):
        data = {"memory", "states", "energy_bias", "energy_scale"}
        names = {"dot": "", "bilinear": "W", "additive": "WVbv", "normalized_additive": "WVbv",
                 "scaled_bilinear": "W"}
        for mechanism, roles, own in (
                ("monotonic", ("attention",), set()),
                ("mocha", ("attention", "chunk"), {"chunk_keys", "chunk_states"})):
            found = {}
            for case in self.document("--mechanism", mechanism, "--trials", 100)["cases"]:
                if case["from_states"]:
                    energy = case["case"].split("energy=")[1].split()[0]
                    inputs = {q["what"].removeprefix("gradient of ") for q in case["quantities"]
                              if q["what"].startswith("gradient of ")}
                    found.setdefault(energy, []).append(inputs)
            self.assertEqual(set(found), set(names))
            for energy, cases in found.items():
                wanted = data | own | {f"parameter {role}.{name}"
                                 for role in roles for name in names[energy]}
                self.assertTrue(all(inputs == wanted for inputs in cases), (mechanism, energy))

    def test_a_mechanism_that_is_named_twice_is_verified_once(self):
        def cases(names):
            return self.document("--mechanism", names, "--trials", 100)["cases"]
        self.assertEqual(cases("memory,soft,memory,soft"), cases("memory,soft"))

    def test_every_case_has_the_options_that_are_asked_for(self):
        cases = self.document("--mechanism", "soft,memory", "--option", "max_length=70,90",
                              "--option", "place=inside")["cases"]
        named = [case["case"] for case in cases if case["mechanism"] == "memory"]
        for value in (70, 90):
            of_value = [name for name in named if f"place=inside max_length={value} " in name]
            self.assertEqual(len(of_value), len(named) / 2)
        alone = self.document("--mechanism", "soft")["cases"]
        self.assertEqual([case for case in cases if case["mechanism"] == "soft"], alone)

    def test_threads_change_nothing_and_seeds_do(self):
        def cases(*arguments):
            return self.document("--mechanism", "mocha", "--trials", 200, *arguments)["cases"]
        self.assertEqual(cases("-j", 1), cases("-j", 3))
        self.assertNotEqual(cases("--seed", 1), cases("--seed", 2))

    def test_the_table_and_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "v.json")
            arguments = ("--quick", "--mechanism", "soft,monotonic", "--trials", 500, "-o", path)
            result = run(*arguments)
            self.assertEqual(result.returncode, 0, result.stderr)
            for text in ("gradient of energies", "chi-square", "detectable", "all passed",
                         "false-alarm rate 1e-06"):
                self.assertIn(text, result.stdout)
            self.assertIn("cases, about", result.stderr)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(strict(file.read())["trials"], 500)
            self.assertEqual(run(*arguments).returncode, 2)
            self.assertEqual(run(*arguments, "--force").returncode, 0)

    def test_a_failure_exits_with_1_and_names_the_worst_entry(self):
        # At a level of nearly 1 something right is called wrong sooner or
        # later.
        for seed in range(50):
            result = run("--quick", "--mechanism", "monotonic", "--trials", 100,
                         "--level", 0.999, "--seed", seed)
            if result.returncode != 0:
                break
        self.assertEqual(result.returncode, 1)
        self.assertIn("FAILED", result.stdout)
        last = result.stderr.splitlines()[-1]
        self.assertRegex(
            last, r"^attnbench: \d+ of \d+ cases failed; the worst: monotonic, sampling "
                  r"T=\d+ .*, output \d+, .*: expected .*, seen .*, p-value ")


if __name__ == "__main__":
    unittest.main()
