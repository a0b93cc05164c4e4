"""Guards against a ledger of claims that lacks one, or that judges by a rule which no
measurement can break, or by a measurement that is not made."""

import os
import re
import sys
import unittest

import jsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))

from documents import read, validate  # noqa: E402

IDS = """
mad-linear mad-online mad-figure-8 mad-speedup mad-speedup-where mad-expectation mad-closed-form
mad-clip-harmless mad-exploding mad-cumprod-gradient mad-mass mad-binary mad-decay-r
mad-train-cost mad-noise mad-close-to-soft mad-open-loop mad-energy mad-gradient-clipping
mad-denominator-one mad-no-annealing
mocha-quadratic-linear mocha-w-linear mocha-small mocha-upper-bound mocha-w1
mocha-expectation mocha-moving-sum mocha-params mocha-reorder mocha-matches-soft
mocha-beats-monotonic mocha-w mocha-variance mocha-not-parameters
matcha-expectation matcha-memory matcha-linear matcha-no-better
britz-complexity britz-dot britz-speed britz-gap-grows britz-K britz-converge
britz-scoring britz-pe britz-pe-effect britz-pe-toy britz-specialise britz-on-par
britz-softmax-softmax britz-k64
""".split()


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

    def test_every_measurement_is_read_by_a_quantity_of_its_kind(self):
        kinds = {"verify": "verify", "stability": "stability", "computed": "computed",
                 "trained": "trained"}
        read_by = set()
        for claim, part in self.parts:
            quantity = part["quantity"]
            kind = self.ledger["measurements"][quantity["from"]]["kind"]
            self.assertIn(kind, [kinds[quantity["kind"]]] if quantity["kind"] in kinds
                          else ["sweep", "authors"], claim)
            read_by.add(quantity["from"])
        self.assertEqual(read_by, set(self.ledger["measurements"]))

    def test_stored_results_are_read_for_claims_on_learning_alone(self):
        for claim in self.ledger["claims"]:
            for part in claim["parts"]:
                self.assertEqual(part["quantity"]["kind"] == "trained",
                                 claim["kind"] == "learned", claim["id"])

    def test_claims_on_learning_are_of_our_conditions_and_say_what_their_rules_are(self):
        for claim in self.ledger["claims"]:
            if claim["kind"] == "learned":
                self.assertEqual(claim["conditions"], "ours", claim["id"])
                self.assertRegex(claim["note"], "(?i)limit|margin", claim["id"])

    def test_claims_say_that_they_were_stated_first_while_one_of_their_results_is_missing(self):
        for claim in self.ledger["claims"]:
            experiments = [
                self.ledger["measurements"][part["quantity"]["from"]].get("experiment")
                for part in claim["parts"] if part["role"] == "claim"]
            if claim["kind"] == "learned":
                there = [os.path.exists(os.path.join(
                    ROOT, "results", "training", f"{name}.json")) for name in experiments]
                self.assertEqual("Stated before it is measured" in claim["note"],
                                 not all(there), claim["id"])

    def test_experiments_whose_results_are_judged_have_the_alternatives(self):
        for claim, part in self.parts:
            quantity = part["quantity"]
            measurement = self.ledger["measurements"][quantity["from"]]
            if measurement["kind"] != "trained":
                continue
            name = measurement["experiment"]
            self.assertEqual(quantity["from"], f"trained_{name}")
            if not os.path.exists(os.path.join(ROOT, "results", "training", f"{name}.json")):
                continue  # it waits for it
            there = {one["name"] for one in read(os.path.join(
                ROOT, "experiments", "training", f"{name}.json"))["alternatives"]}
            for side in (quantity["of"], quantity.get("to", {})):
                for names in (side.get("alternatives", []), side.get("less", [])):
                    self.assertLessEqual(set(names), there, (claim, part["name"]))

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


class CommittedTest(unittest.TestCase):
    """Of the committed results of a full run and of a quick one."""

    def setUp(self):
        self.full = {claim["id"]: claim for claim in read("results", "claims.json")["claims"]}

    def test_every_verdict_that_is_not_plain_says_why(self):
        explained = [claim["id"] for claim in self.full.values()
                     if re.match("holds only if|refuted|not reproduced|depends", claim["verdict"])]
        self.assertGreater(len(explained), 10)
        for name in explained:
            self.assertTrue(self.full[name]["because"], name)

    def test_a_quick_run_says_what_the_full_one_says_or_is_undecided(self):
        def plain(verdict):
            return verdict.partition(" (undecided for ")[0]
        short = read("results", "quick", "claims.json")
        validate(short, "claims")
        self.assertTrue(short["quick"])
        self.assertEqual([claim["id"] for claim in short["claims"]], list(self.full))
        decided = 0
        for claim in short["claims"]:
            if not claim["verdict"].startswith("undecided: "):
                decided += 1
                self.assertEqual(plain(claim["verdict"]),
                                 plain(self.full[claim["id"]]["verdict"]), claim["id"])
        self.assertGreater(decided, 20)


if __name__ == "__main__":
    unittest.main()
