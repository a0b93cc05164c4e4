"""Guards against a ledger of claims that lacks one, or that judges by a rule which no
measurement can break, or by a measurement that is not made."""

import math
import os
import sys
import unittest

import jsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))

from documents import read, validate  # noqa: E402

IDS = """
mad-linear mad-online mad-speedup mad-speedup-where mad-expectation mad-closed-form
mad-clip-harmless mad-exploding mad-cumprod-gradient mad-mass mad-binary mad-decay-r
mad-train-cost mad-noise
mocha-quadratic-linear mocha-w-linear mocha-small mocha-upper-bound mocha-w1
mocha-expectation mocha-moving-sum mocha-params mocha-reorder
matcha-expectation matcha-memory matcha-linear matcha-no-better
britz-complexity britz-dot britz-speed britz-gap-grows britz-K britz-converge
britz-scoring britz-pe britz-pe-effect britz-pe-toy britz-specialise
""".split()

# Of all claims, only these need models that were trained.
TRAINED = """
mad-clip-harmless mad-noise mocha-reorder matcha-no-better britz-K britz-converge
britz-scoring britz-pe-toy britz-specialise
""".split()

# The possible values of a quantity, by its unit: a rule that takes all of them
# says nothing.
RANGES = {
    "bytes": (0, math.inf), "contexts": (0, math.inf), "correlation": (-1, 1),
    "entries": (0, math.inf), "exponent": (-math.inf, math.inf),
    "ns": (-math.inf, math.inf), "numbers": (0, math.inf), "percent": (0, 100),
    "points": (-100, 100), "probability": (0, math.inf), "quantities": (0, math.inf),
    "ratio": (0, math.inf), "share": (-1, 1), "weight": (0, math.inf),
}


def allows(rule, value):
    if rule["kind"] == "at_most":
        return value <= rule["bound"]
    if rule["kind"] == "at_least":
        return value >= rule["bound"]
    return rule["low"] <= value <= rule["high"]


class LedgerTest(unittest.TestCase):
    def setUp(self):
        self.ledger = read("experiments", "claims.json")
        self.parts = [(claim["id"], part) for claim in self.ledger["claims"]
                      for part in claim["parts"]]

    def test_it_is_valid(self):
        validate(self.ledger, "claims_ledger")

    def test_a_claim_without_a_part_that_judges_it_is_not_valid(self):
        self.ledger["claims"][0]["parts"] = [
            dict(part, role="beside") for part in self.ledger["claims"][0]["parts"]]
        with self.assertRaises(jsonschema.ValidationError):
            validate(self.ledger, "claims_ledger")

    def test_every_part_that_judges_has_a_rule(self):
        del self.ledger["claims"][0]["parts"][0]["rule"]
        with self.assertRaises(jsonschema.ValidationError):
            validate(self.ledger, "claims_ledger")

    def test_all_claims_are_there_once(self):
        self.assertEqual(len(set(IDS)), len(IDS))
        self.assertEqual([claim["id"] for claim in self.ledger["claims"]], IDS)

    def test_parts_of_a_claim_have_names_of_their_own(self):
        for claim in self.ledger["claims"]:
            names = [part["name"] for part in claim["parts"]]
            self.assertEqual(len(names), len(set(names)), claim["id"])

    def test_every_rule_can_hold_and_can_fail(self):
        for claim, part in self.parts:
            if "rule" not in part:
                continue
            low, high = RANGES[part["unit"]]
            rule = part["rule"]
            bounds = [rule[key] for key in ("bound", "low", "high") if key in rule]
            tried = [low, high] + [
                bound + sign * step for bound in bounds
                for step in (0, 1e-12, 1) for sign in (-1, 1)]
            verdicts = {allows(rule, value) for value in tried if low <= value <= high}
            self.assertEqual(verdicts, {False, True}, (claim, part["name"], rule))

    def test_every_measurement_is_read_by_a_quantity_of_its_kind(self):
        kinds = {"verify": "verify", "stability": "stability", "computed": "computed",
                 "trained": "trained"}
        read_by = set()
        for claim, part in self.parts:
            quantity = part["quantity"]
            kind = self.ledger["measurements"][quantity["from"]]["kind"]
            self.assertIn(kind, [kinds[quantity["kind"]]] if quantity["kind"] in kinds
                          else ["sweep"], claim)
            read_by.add(quantity["from"])
        self.assertEqual(read_by, set(self.ledger["measurements"]))

    def test_stored_results_are_read_for_claims_on_trained_models_alone(self):
        def trained(claim):
            return [part["quantity"]["kind"] == "trained" for part in claim["parts"]]
        for claim in self.ledger["claims"]:
            self.assertEqual(trained(claim),
                             [claim["id"] in TRAINED] * len(claim["parts"]), claim["id"])

    def test_claims_on_trained_models_say_what_a_small_task_can_tell(self):
        for claim in self.ledger["claims"]:
            if claim["id"] in TRAINED:
                self.assertIn("note", claim, claim["id"])

    def test_trained_experiments_are_there(self):
        for name, measurement in self.ledger["measurements"].items():
            if measurement["kind"] == "trained":
                self.assertEqual(name, f"trained_{measurement['experiment']}")
                read("experiments", "training", measurement["experiment"] + ".json")

    def test_sweeps_name_experiments_that_measure_what_is_selected(self):
        for claim, part in self.parts:
            quantity = part["quantity"]
            measurement = self.ledger["measurements"][quantity["from"]]
            if measurement["kind"] != "sweep":
                continue
            experiment = read("experiments", measurement["experiment"] + ".json")
            measured = {alternative["mechanism"]
                        for alternative in experiment["alternatives"]}
            for side in ("of", "to"):
                asked = quantity.get(side, {}).get("mechanism", [])
                asked = [asked] if isinstance(asked, str) else asked
                self.assertLessEqual(set(asked), measured, (claim, part["name"]))


if __name__ == "__main__":
    unittest.main()
