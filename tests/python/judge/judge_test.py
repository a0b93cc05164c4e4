"""Guards against verdicts that are not those of the committed results, a document that
is not as its schema says, and times that mean nothing shown as valid."""

import contextlib
import io
import json
import math
import os
import re
import unittest

import doctored
from documents import read, validate
from made_up import make_document
from plot_case import PlotTest

from attnbench.analysis import ROOT, load
from attnbench.judge import claims, ledger, measure
from attnbench.judge.readings import Document

PATH = os.path.join(ROOT, "experiments", "claims.json")
LEDGER = ledger.read(PATH)
CONTEXT = {**make_document([])["context"], "warnings": ["turbo is on"]}
ONE = {"id": "mad-one", "kind": "identity", "conditions": "paper", "source": "MAD 1",
       "claim": "It is so.", "because": "One draw was unlucky.", "parts": [{
    "name": "failures", "role": "claim", "unit": "quantities",
    "rule": {"kind": "at_most", "bound": 1},
    "quantity": {"kind": "verify", "from": "verify", "of": {"mechanism": "mocha"},
                 "field": "failed"}}]}
(SCORING,) = (claim["parts"][0]["quantity"] for claim in LEDGER["claims"]
              if claim["id"] == "britz-scoring")
# Intervals of these are drawn, by another generator than that of the committed ones.
DRAWN = ("rank_correlation", "fit", "break_even")


class Committed(unittest.TestCase):
    def test_the_judge_says_what_the_committed_claims_say(self):
        committed = read("results", "claims.json")
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(ROOT)
        documents = {}
        for name, measurement in LEDGER["measurements"].items():
            path = f"results/claims/{name}.json"
            if measurement["kind"] == "trained":
                path = f"results/training/{measurement['experiment']}.json"
            given = (path, path, None)
            if not os.path.exists(path):
                given = (None, None, "no training result")
            documents[name] = claims.read_document(name, measurement, *given)
        made = claims.result(LEDGER["claims"], documents, CONTEXT)
        validate({**made, "context": committed["context"]}, "claims")
        self.assertEqual(len(made["claims"]), len(LEDGER["claims"]))
        kinds = [part["quantity"]["kind"] for claim in LEDGER["claims"]
                 for part in claim["parts"]]
        for mine, theirs in zip(made["claims"], committed["claims"], strict=True):
            for key in ("id", "verdict", "bound", "evidence"):
                self.assertEqual(mine[key], theirs[key], mine["id"])
            for one, other in zip(mine["measured"], theirs["measured"], strict=True):
                self.assert_same(one, other, 0.03 if kinds.pop(0) in DRAWN else 1e-9)

    def assert_same(self, one, other, tolerance):
        """Alike but for the last digits."""
        if isinstance(one, float) and isinstance(other, (int, float)):
            self.assertTrue(math.isclose(one, other, rel_tol=tolerance, abs_tol=1e-15),
                            (one, other))
        elif isinstance(one, dict):
            self.assertEqual(list(one), list(other))
            for key in one:
                # What is no end of an interval is the same whatever is drawn.
                is_drawn = key in ("groups", "least", "greatest", "interval")
                self.assert_same(one[key], other[key], tolerance if is_drawn else 1e-9)
        elif isinstance(one, list):
            for pair in zip(one, other, strict=True):
                self.assert_same(*pair, tolerance)
        else:
            self.assertEqual(one, other)


class Output(PlotTest):
    def result(self, failures=0, **context):
        content = doctored.verify(ONE["parts"][0]["quantity"], failures)
        content["context"].update(context)
        document = Document("verify", "v.json", content)
        return claims.result([ONE], {"verify": document}, CONTEXT)

    def test_every_claim_of_the_ledger_is_in_the_result_and_in_the_table(self):
        nothing = {name: Document(name, None, None, f"no {name}")
                   for name in LEDGER["measurements"]}
        made = claims.result(LEDGER["claims"], nothing, CONTEXT)
        text = claims.text(made)
        for claim, asked in zip(made["claims"], LEDGER["claims"], strict=True):
            self.assertEqual(claim["id"], asked["id"])
            self.assertIn("not measurable here: ", claim["verdict"])
            self.assertEqual(len(claim["measured"]), len(asked["parts"]))
            self.assertRegex(text, rf"(?m)^{re.escape(asked['id'])} ")
        count = len(LEDGER["claims"])
        self.assertIn(f"\n{count} claims: {count} not measurable here. ", text)
        self.assertTrue(text.endswith("\nvalid, 1 warning\n  warning: turbo is on\n"))

    def test_a_verdict_comes_with_its_figure_its_bound_and_its_place(self):
        made = self.result(3)
        (claim,) = made["claims"]
        self.assertEqual((claim["verdict"], claim["bound"]),
                         ("refuted", "failures: at most 1"))
        self.assertEqual(claim["measured"][0]["groups"][0]["greatest"]["value"], 3)
        self.assertEqual(claim["evidence"], [
            {"measurement": "verify", "file": "v.json", "point": None,
             "place": "cases[0]: output 1"}])
        text = claims.text(made)
        self.assertIn("mad-one                 refuted\n", text)
        self.assertIn("\n  Why: One draw was unlucky.\n", text)
        self.assertIn("failures: 3 quantities; at most 1: fails\n", text)
        self.assertIn("1 claims: 1 refuted. 1 identities: 1 refuted.\n", text)
        (claim,) = self.result(0)["claims"]
        self.assertEqual((claim["verdict"], claim["because"]), ("holds", None))

    def test_a_measurement_that_is_invalid_makes_the_ledger_invalid(self):
        made = self.result(0, valid=False, invalid_reasons=["the machine was busy"],
                           warnings=["turbo is on", "dirty"])
        context = made["context"]
        self.assertFalse(context["valid"])
        self.assertEqual(context["invalid_reasons"], ["verify: the machine was busy"])
        self.assertEqual(context["warnings"], ["turbo is on", "dirty"])
        self.assertIn("INVALID: verify: the machine", claims.text(made))

    def test_a_sweep_of_which_only_counts_are_read_may_have_bad_times(self):
        document = make_document([])
        document["context"].update(valid=False, invalid_reasons=["the clock drifted"])
        for kind, reasons in (({"kind": "count"}, []),
                              ({"kind": "exponent", "field": "energies"}, []),
                              ({"kind": "exponent", "field": "time"},
                               ["verify: the clock drifted"])):
            quantity = {**kind, "from": "verify", "of": {"mechanism": "mocha"},
                        "over": "T + U - 1", "against": ["memory_length"]}
            claim = {**ONE, "parts": [{**ONE["parts"][0], "quantity": quantity}]}
            made = claims.result(
                [claim], {"verify": Document("verify", None, document)}, CONTEXT)
            self.assertEqual(made["context"]["invalid_reasons"], reasons)

    def test_what_is_not_finite_is_strict_json(self):
        quantity = {**ONE["parts"][0]["quantity"], "field": "largest_error"}
        content = doctored.verify(quantity, None)
        claim = {**ONE, "parts": [{**ONE["parts"][0], "quantity": quantity}]}
        made = claims.result([claim], {"verify": Document("verify", None, content)}, CONTEXT)
        value = made["claims"][0]["measured"][0]["groups"][0]["least"]["value"]
        self.assertEqual(value, "inf")
        self.assertIn("failures: inf quantities", claims.text(made))

    def read_ledger(self, document):
        with self.assertRaises(load.DataError) as caught:
            ledger.read(self.write(document, "ledger.json"))
        return str(caught.exception)

    def test_a_stored_training_result_is_read(self):
        document = doctored.trained(SCORING, 0.1)
        trained = document["runs"]
        for run in trained:
            if run["name"].startswith("sigmoid_"):
                run["settings"]["encoder_scoring"] = "sigmoid"
                run["result"]["hard_error"] = 0.6 + run["seed"] / 100
        path = self.write(document, "copy.json")
        asked = [claim for claim in LEDGER["claims"] if claim["id"] == "britz-scoring"]
        read = claims.read_document(
            "trained_copy", LEDGER["measurements"]["trained_copy"], path, path, None)
        output = str(self.folder / "claims.json")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            claims.deliver(claims.result(asked, {"trained_copy": read}, CONTEXT),
                           claims.parse(["--json", "-o", output]))
        document = load.read_json(output)
        self.assertEqual(json.loads(out.getvalue()), document)
        (claim,) = document["claims"]
        self.assertEqual(claim["verdict"], "holds only if encoder_scoring = softmax")
        self.assertEqual(claim["evidence"][0]["file"], path)
        places = [entry["place"] for entry in claim["evidence"][:2]]
        runs = [trained[int(place.removeprefix("runs[").removesuffix("]"))]
                for place in places]
        self.assertEqual(len({run["name"] for run in runs}), 1)
        self.assertEqual([run["seed"] for run in runs], [1, 2])
        # As the program writes documents: a claim a line.
        with open(output, encoding="utf-8") as file:
            self.assertEqual(sum(line.startswith('{"id":') for line in file), 1)

    def test_few_seeds_are_printed_themselves_and_more_with_their_interval(self):
        document = doctored.trained(SCORING, 0.1)
        claim = {**ONE, "parts": [{
            "name": "error", "role": "claim", "unit": "percent",
            "rule": {"kind": "at_most", "bound": 5}, "quantity": {
                **SCORING, "of": {"alternatives": ["K8_L10"], "measures": ["decoded"]}}}]}

        def made(count):
            runs = [{**document["runs"][0], "name": "K8_L10", "seed": seed,
                     "result": {**document["runs"][0]["result"],
                                "hard_error": (1 + seed % 2) / 100}}
                    for seed in range(1, count + 1)]
            content = {**document, "runs": runs}
            found = claims.result(
                [claim], {"trained_copy": Document("trained_copy", None, content)}, CONTEXT)
            validate({**found, "context": read("results", "claims.json")["context"]},
                     "claims")
            return found
        few = made(4)
        (group,) = few["claims"][0]["measured"][0]["groups"]
        self.assertEqual(group["least"]["seeds"], [2, 1, 2, 1])
        self.assertIn("error: 1.5 (4 seeds: 2, 1, 2, 1) percent; ", claims.text(few))
        self.assertRegex(claims.text(made(5)), r"error: 1.6 \[[\d., ]+\] of 5 seeds percent; ")
        half = group["least"]["least_effect"]
        self.assertAlmostEqual(group["least"]["interval"][1], 1.5 + half)
        self.assertAlmostEqual(half, 2.353363 / math.sqrt(12), 5)

    def test_sides_that_do_not_go_together_are_refused(self):
        document = load.read_json(PATH)
        for change, said in (
            ({"to": {"alternatives": ["a", "b"]}}, "have 2 and 4 names"),
            ({"of": {"alternatives": ["a", "b", "c"], "less": ["a", "b"],
                     "measures": ["threshold"]}}, "have 2 and 3 names"),
            ({"statistic": "deviation"}, "`to` is missing"),
        ):
            for claim in document["claims"]:
                if claim["id"] == "britz-scoring":
                    claim["parts"][0]["quantity"] = {**SCORING, **change}
            error = self.read_ledger(document)
            self.assertIn("britz-scoring, 'error': ", error)
            self.assertIn(said, error)

    def test_another_result_in_its_place_is_refused(self):
        path = self.write({"kind": "sweep", "cells": []}, "copy.json")
        with self.assertRaises(load.DataError) as caught:
            claims.read_document("trained_copy", LEDGER["measurements"]["trained_copy"], path,
                                 path, None)
        self.assertEqual(str(caught.exception),
                         f"{path}: kind is 'sweep', it must be 'trained'")

    def test_a_training_result_that_is_not_there_waits_for_somebody(self):
        read = claims.read_document("trained_copy", LEDGER["measurements"]["trained_copy"],
                                    None, None, "no training result")
        self.assertEqual((read.none, read.waits_for),
                         ("no training result", "trained results of copy"))

    def test_claims_are_picked_by_their_ids_in_the_ledgers_order(self):
        asked = ledger.read(PATH)
        claims.keep(["mocha-w1", "mad-linear"], asked)
        self.assertEqual([claim["id"] for claim in asked["claims"]],
                         ["mad-linear", "mocha-w1"])
        # A measurement that nobody reads is not made.
        self.assertEqual(measure.names_of(asked), ["linear", "exact"])
        with self.assertRaisesRegex(load.DataError, "did you mean 'mocha-w'"):
            claims.keep(["mocha-w2"], ledger.read(PATH))

    def test_a_quantity_of_several_parts_is_computed_once(self):
        asked = ledger.read(PATH)
        claims.keep(["mocha-params"], asked)
        (claim,) = asked["claims"]
        claim["parts"].append(json.loads(json.dumps(claim["parts"][0])))
        options = claims.parse([])
        self.assertEqual(len(measure.quantities_of(asked, options.ledger)), 1)
        claim["parts"][-1]["quantity"]["inputs"]["added"].append(
            {"layer": "dense", "inputs": 1, "units": 1})
        self.assertEqual(len(measure.quantities_of(asked, options.ledger)), 2)

    def test_a_part_reads_a_measurement_of_its_kind(self):
        document = load.read_json(PATH)
        document["claims"][0]["parts"][0]["quantity"]["from"] = "verify"
        self.assertIn("a quantity count is not read from verify", self.read_ledger(document))

    def test_a_ledger_with_one_claim_twice_is_refused(self):
        document = load.read_json(PATH)
        document["claims"].append(document["claims"][0])
        self.assertIn("claim mad-linear is there twice", self.read_ledger(document))

    def test_a_rule_that_cannot_fail_or_cannot_hold_is_refused_before_anything_is_measured(
            self):
        for unit, rule, said in (
            ("share", {"kind": "at_most", "bound": 1}, "rule cannot fail: numbers of unit "
             "share are from 0 to 1"),
            ("ratio", {"kind": "at_least", "bound": 0}, "rule cannot fail"),
            ("correlation", {"kind": "at_least", "bound": 1.5}, "rule cannot hold"),
            ("ratio", {"kind": "within", "low": 2, "high": 1}, "rule cannot hold"),
            ("furlongs", {"kind": "at_most", "bound": 1}, "unit is 'furlongs', it must be"),
        ):
            document = load.read_json(PATH)
            document["claims"][0]["parts"][0].update(unit=unit, rule=rule)
            self.assertIn(f"ledger.json: mad-linear, 'energies over max(T, U)': {said}",
                          self.read_ledger(document))

    def test_a_ledger_with_an_unknown_kind_is_refused(self):
        document = load.read_json(PATH)
        document["claims"][2]["kind"] = "belief"
        error = self.read_ledger(document)
        self.assertIn("claims[2] (mad-figure-8)", error)
        self.assertIn("belief", error)

    def test_rules_are_told_in_words(self):
        for rule, text in (({"kind": "at_least", "bound": 0.5}, "at least 0.5"),
                           ({"kind": "within", "low": 1, "high": 2}, "from 1 to 2"),
                           ({"kind": "within", "low": 1, "high": 1.0}, "exactly 1")):
            self.assertEqual(ledger.rule_text(rule), text)


if __name__ == "__main__":
    unittest.main()
