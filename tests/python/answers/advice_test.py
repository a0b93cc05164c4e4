"""Guards against advice that takes one cell's time for another's, a gain that cannot be
told for one that can, or a scan that read nothing for a fast one."""

import contextlib
import copy
import io
import json
import math
import os
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

import made_up
from documents import validate

from attnbench.analysis import ROOT, load, series
from attnbench.answers import advice, advice_text, advise

SHAPE = {**advise.SHAPE, "output_length": 60}


def rounds(time_ns):
    """Their median is 2.5 of it."""
    return [time_ns * (1 + i % 4) for i in range(20)]


def decoder_at(mechanism, length, attention, rest, **changes):
    """A cell in which attention and the model around it take that at a length."""
    cell = made_up.make_decoder_cell(
        mechanism, 2 * length, 1, samples_ns=rounds(rest + attention), interval_ns=None,
        median_ns=2.5 * (rest + attention), latency=None, **changes)
    if mechanism != "none":
        cell["decoder"].update(
            attention_samples_ns=rounds(attention), attention_median_ns=2.5 * attention,
            attention_interval_ns=None, reads=made_up.reads(1.0, 0.0))
    return cell


def sweep(rest=4000, monotonic=50, read=1.0, empty=0.0):
    """Of three lengths; by default attention is a fifth of the decoder at 400, and
    monotonic's is faster from 50 on.
    """
    cells = []
    for length in (25, 100, 400):
        cells.append(decoder_at("none", length, 0, rest))
        cells.append(decoder_at("soft", length, 2.5 * length, rest))
        cells.append(decoder_at(
            "monotonic", length, monotonic * 2.5 * math.sqrt(length / 50), rest))
        cells[-1]["decoder"]["reads"] = made_up.reads(read, empty)
        cells[-1]["latency"] = {"ap": 0.5, "al": 10.0, "laal": 10.0, "dal": 12.0}
    document = made_up.make_document(cells)
    document["context"].update(valid=True, invalid_reasons=[])
    return document


def advised(shape=None, rates=None, **of_sweep):
    return advice.of(sweep(**of_sweep), shape or SHAPE, rates=rates)


class Decoding:
    """Stands for the program: writes what `decode` would of a model of the mechanism."""

    def __init__(self, chooses):
        self.chooses, self.asked = chooses, []

    def attnbench(self, *words):
        self.asked.append([one for one in words if one.startswith("--sequences")])
        choices = {"memory_read": 0.5, "zero_contexts": 0.0, "latency": None}
        document = {
            "run": {"settings": {"mechanism": "soft", "dim": 6, "chunk_width": 4,
                                 "num_contexts": 32}},
            "choices": choices if self.chooses else None, "symbols": 4, "vocabulary": 20,
            "sequences": [{"memory_length": 3}] * 2}
        with open(words[words.index("-o") + 1], "w", encoding="utf-8") as file:
            json.dump(document, file)
        return "a model\n"


def invalid(document):
    document["context"].update(valid=False, invalid_reasons=["too loud"])
    return document


class Times(unittest.TestCase):
    def test_they_are_those_at_the_length_that_is_asked_for(self):
        result = sweep()
        document = advice.of(result, SHAPE)
        self.assertEqual(document["lengths"], [25, 100, 400])
        none, soft, monotonic = document["mechanisms"]
        of_monotonic = 125 * math.sqrt(8)
        self.assertAlmostEqual(monotonic["attention"]["speedup"], 1000 / of_monotonic)
        self.assertAlmostEqual(monotonic["decoder"]["speedup"], 5000 / (4000 + of_monotonic))
        wanted = series.ratio(result["cells"][7], result["cells"][8]).at().exp()
        self.assertEqual(monotonic["decoder"]["speedup_interval"], [wanted.low, wanted.high])
        self.assertAlmostEqual(document["attention_share"], 0.2)
        self.assertEqual(soft["decoder"]["speedup"], 1)
        self.assertIsNone(none["attention"])
        self.assertAlmostEqual(none["decoder"]["speedup"], 1.25)

    def test_the_document_is_as_its_schema_says(self):
        for rates in None, {"frames_per_second": 25.0, "outputs_per_second": None}:
            validate(advised(rates=rates), "advice")

    def test_a_cell_without_a_time_says_why(self):
        result = sweep()
        made_up.stop(result["cells"][8], "skipped", "it has no beam")
        document = advice.of(result, SHAPE)
        self.assertIn("\n  monotonic  it has no beam\n", advice_text.of(document))
        self.assertEqual(document["mechanisms"][2]["verdict"], "cannot be told")
        made_up.stop(result["cells"][7], "timeout", "too slow")
        with self.assertRaisesRegex(load.DataError, "soft attention has no time: too slow"):
            advice.of(result, SHAPE)

    def breaks_even(self, monotonic):
        printed = advice_text.of(advised(monotonic=monotonic))
        (line,) = (one for one in printed.splitlines() if one.startswith("  monotonic"))
        return line.split("  ")[-1].strip()

    def test_it_breaks_even_between_the_lengths_that_were_measured(self):
        # 2.5 T and 2.5 m sqrt(T / 50) are equal at T = m^2 / 50.
        for monotonic, said in ((50, "about 50"), (10, "below 25"), (100, "about 200"),
                                (200, "not up to 400")):
            self.assertEqual(self.breaks_even(monotonic), said)

    def test_a_rate_turns_them_into_parts_of_real_time(self):
        rates = {"frames_per_second": 1e6, "outputs_per_second": 3e6}
        document = advised(rates=rates)
        soft = document["mechanisms"][1]
        self.assertEqual(soft["decoder"]["time_ns"], 12500)
        # 400 frames come in 400 us, 60 outputs in 20 us.
        self.assertAlmostEqual(soft["real_time_factors"]["frames"], 12.5 / 400)
        self.assertAlmostEqual(soft["real_time_factors"]["outputs"], 12.5 / 20)
        soft["decoder"]["time_interval_ns"] = [12000, 13000]
        printed = advice_text.of(document)
        self.assertRegex(printed, r"RTF by frames +RTF by outputs +AP")
        self.assertIn("0.0312 [0.03, 0.0325]  0.625 [0.6, 0.65]", printed)
        self.assertIn("all entries come (1000000 a second) or all outputs are wanted (3000000 a "
                      "second); below 1 it keeps pace\n", printed)
        one = advice_text.of(advised(rates={**rates, "outputs_per_second": None}))
        self.assertNotIn("RTF by outputs", one)
        self.assertNotIn("RTF", advice_text.of(advised()))

    def test_energies_are_explained_and_what_random_weights_do_not_tell(self):
        printed = advice_text.of(advised())
        self.assertIn("\nenergies: scores of entries, a mean over", printed)
        self.assertIn("\nspeed only: weights are random; what each mechanism "
                      "learns: docs/trained.md\n", printed)
        self.assertTrue(os.path.isfile(os.path.join(ROOT, "docs", "trained.md")))


class Limit(unittest.TestCase):
    """The share of the time that attention takes, and the largest speed-up."""

    def line(self, speedup, interval):
        document = advised()
        document["mechanisms"][0]["decoder"].update(speedup=speedup, speedup_interval=interval)
        (line,) = (one for one in advice_text.of(document).splitlines() if one.startswith("limit: "))
        self.assertIn("would be 1.25x as fast", line)
        return line

    def test_they_agree_or_the_table_says_why_not(self):
        self.assertIn("none here is faster", self.line(1.2, [1.1, 1.4]))
        self.assertIn("none, 1.4x [1.2, 1.6], may be no faster than that",
                      self.line(1.4, [1.2, 1.6]))
        beyond = self.line(1.4, [1.3, 1.5])
        self.assertIn("none, 1.4x [1.3, 1.5], is beyond that: no context enters", beyond)
        self.assertIn("warmer caches", beyond)


class Verdicts(unittest.TestCase):
    def said(self, shape=None, **of_sweep):
        document = advised(shape, **of_sweep)
        return document["mechanisms"][2]["verdict"], document["conclusion"]

    def test_a_gain_that_can_be_told_pays(self):
        verdict, conclusion = self.said(rest=100)
        self.assertEqual(verdict, "pays")
        self.assertIn("It pays: the whole decoder is 2.", conclusion)
        self.assertIn("with monotonic as with soft", conclusion)
        self.assertIn("Soft attention takes 91 % of the decoder's time.", conclusion)

    def test_a_gain_that_may_be_there_or_not_is_no_answer(self):
        verdict, conclusion = self.said(rest=40000)
        self.assertEqual(verdict, "cannot be told")
        self.assertIn("It cannot be told: one run of one program", conclusion)
        self.assertIn("The best is monotonic with 1", conclusion)

    def test_a_loss_that_can_be_told_does_not_pay(self):
        verdict, conclusion = self.said(rest=100, monotonic=2000)
        self.assertEqual(verdict, "does not pay")
        self.assertIn("It does not pay: no mechanism makes the whole", conclusion)
        self.assertIn("The best is monotonic with 0", conclusion)

    def test_each_of_several_mechanisms_has_one(self):
        result = sweep(rest=100)
        for length in (25, 100, 400):
            result["cells"].append(decoder_at("memory", length, 10 * length, 100))
        document = advice.of(result, SHAPE)
        self.assertEqual([one["verdict"] for one in document["mechanisms"]],
                         [None, None, "pays", "does not pay"])
        printed = advice_text.of(document)
        self.assertRegex(printed, r"\n  monotonic  pays: 2\.\S+ \[.*\]\n"
                                  r"  memory     does not pay: 0\.\S+ \[.*\]\nIt pays: ")
        self.assertNotIn("  pays: ", advice_text.of(advised(rest=100)))

    def test_a_policy_of_soft_attention_is_judged_against_soft_attention(self):
        result = sweep(rest=100)
        for length in (25, 100, 400):
            cell = decoder_at("soft", length, length, 100)
            cell["options"] = {"keys": "precomputed", "policy": "alignatt", "f": 4}
            cell["latency"] = {"ap": 0.6, "al": 14.0, "laal": 14.0, "dal": 16.0}
            # Also where it stands before soft attention.
            result["cells"].insert(0, cell)
        document = advice.of(result, SHAPE)
        policy, _, soft, monotonic = document["mechanisms"]
        self.assertEqual(policy["mechanism"], "alignatt f=4")
        self.assertEqual(policy["verdict"], "pays")
        self.assertEqual(policy["attention"]["speedup"], 2.5)
        self.assertEqual((soft["mechanism"], soft["verdict"]), ("soft", None))
        self.assertEqual(monotonic["verdict"], "pays")
        validate(document, "advice")

    def test_the_more_are_judged_the_surer_each_must_be(self):
        result = sweep(rest=4000)
        self.assertEqual(advice.of(result, SHAPE)["mechanisms"][2]["verdict"], "pays")
        for number in range(20):
            cell = copy.deepcopy(result["cells"][8])
            result["cells"].append({**cell, "mechanism": f"monotonic{number}"})
        verdicts = {one["verdict"] for one in advice.of(result, SHAPE)["mechanisms"][2:]}
        self.assertEqual(verdicts, {"cannot be told"})

    def test_where_the_best_waits_for_its_input_the_best_that_does_not_is_named_too(self):
        result = sweep(rest=100)
        result["cells"].append(decoder_at("memory", 400, 10, 100))
        conclusion = advice.of(result, SHAPE)["conclusion"]
        self.assertIn("It pays: the whole decoder is 10x [", conclusion)
        self.assertIn("Of those that decode online the best is monotonic with 2.", conclusion)
        self.assertNotIn("online", advised(rest=100)["conclusion"])

    def test_a_scan_that_did_not_read_the_memory_is_marked_and_counts_for_nothing(self):
        for reads in {"read": 0.89}, {"empty": 0.06}:
            document = advised(rest=100, **reads)
            self.assertEqual(document["mechanisms"][2]["verdict"], "cannot be told")
            self.assertIn("Nothing can be said", document["conclusion"])
            self.assertIn("] *", advice_text.of(document))
            self.assertIn("\n*: under 90 %", advice_text.of(document))
        self.assertNotIn("*", advice_text.of(advised()))

    def test_a_run_that_is_not_valid_has_a_table_and_none(self):
        document = advice.of(invalid(sweep(rest=100)), SHAPE)
        validate(document, "advice")
        self.assertEqual({one["verdict"] for one in document["mechanisms"]}, {None})
        printed = advice_text.of(document)
        self.assertTrue(printed.startswith("INVALID: too loud\n"))
        self.assertIn("\n  monotonic  ", printed)
        self.assertTrue(printed.endswith("\nNo verdict: the run is INVALID: too loud. Its "
                                         "times mean nothing.\n"))
        # An older result may have one.
        self.assertNotIn("It pays", advice_text.of(invalid(advised(rest=100))))


class TrainedModels(unittest.TestCase):
    def test_a_scan_reads_the_share_that_a_trained_model_reads(self):
        shape = {**SHAPE, "memory_read": 0.5}
        self.assertEqual(advice.request(shape, ["soft"])["axes"]["workload"], "copy:0.5")
        document = advised(shape, rest=100, read=0.46)
        self.assertIn("It pays", document["conclusion"])
        self.assertIn("scans read 50 % of the memory", advice_text.of(document))
        document = advised(shape, rest=100, read=0.44)
        self.assertIn("Nothing can be said", document["conclusion"])
        self.assertIn("\n*: under 45 %", advice_text.of(document))
        document["model"] = {
            "text": "m seed 1", "zero_contexts": 0.2, "memory_read": 0.5,
            "latency": {"ap": 0.4, "al": 1.0, "laal": 1.0, "dal": 3.0}}
        self.assertIn(
            "m seed 1: its decoding by the threshold reads 50 % of the memory and leaves 20 % "
            "of its outputs without a context; AP 0.40, DAL 3.0 entries\n", advice_text.of(document))


    def test_one_that_does_not_choose_is_refused_before_it_decodes_more_than_one_sequence(self):
        options = advise.parse(["--model", "m.json", "--sequences", "50"])
        for chooses, asked in ((False, ["1"]), (True, ["1", "50"])):
            program = Decoding(chooses)
            refused = contextlib.nullcontext() if chooses else self.assertRaisesRegex(
                load.DataError, "m.json: run.settings.mechanism: is soft, which chooses no")
            with tempfile.TemporaryDirectory() as folder, refused:
                start, model = advise.model_of(options, program, folder)
                self.assertEqual((start["memory_length"], start["output_length"]), (3, 2))
                self.assertEqual((start["memory_read"], model["text"]), (0.5, "a model"))
            self.assertEqual(program.asked, [[f"--sequences={count}"] for count in asked])


class Requests(unittest.TestCase):
    def test_a_source_has_each_length_and_outputs_in_proportion(self):
        asked = advice.request(SHAPE, ["soft", "none"])
        self.assertEqual(asked["axes"]["batch"], 1)
        self.assertEqual(
            [(one["mechanism"], one["memory_length"] / 2, one["output_length"] / 2)
             for one in asked["alternatives"]],
            [(name, *lengths) for lengths in ((25, 4), (100, 15), (400, 60))
             for name in ("soft", "none")])
        self.assertNotIn("options", asked["alternatives"][0])
        policies = advice.request({**SHAPE, "f": 30}, ["alignatt"])["alternatives"]
        self.assertEqual({one["mechanism"] for one in policies}, {"soft"})
        self.assertEqual([one["options"] for one in policies],
                         [{"policy": "alignatt", "f": f} for f in (25, 30, 30)])
        least = {**SHAPE, "memory_length": 1, "output_length": 1}
        self.assertEqual(len(advice.request(least, ["soft"])["alternatives"]), 1)


class Shown(unittest.TestCase):
    def test_a_document_that_lacks_what_it_may_lack_is_shown(self):
        document = advised()
        document["rates"] = {"frames_per_second": 25, "outputs_per_second": None}
        for one in document["mechanisms"]:
            one.pop("real_time_factors", None)
        document["mechanisms"][1]["break_even"] = {"above": 1, "below": 2, "about": None}
        self.assertIn("limit: ", advice_text.of(document))
        document["mechanisms"] = []
        self.assertIn("limit: ", advice_text.of(document))

    def test_a_document_that_is_wrong_is_told(self):
        document = advised()
        del document["lengths"]
        given = io.StringIO(json.dumps(
            [{"text": "of another\n"}, {"path": "a.json", "advice": document}]))
        error, out = io.StringIO(), io.StringIO()
        with mock.patch("sys.stdin", given), redirect_stderr(error), redirect_stdout(out):
            self.assertEqual(advice_text.main(), 2)
        self.assertIn("a.json: lengths is missing", error.getvalue())
        self.assertEqual(out.getvalue(), "")


if __name__ == "__main__":
    unittest.main()
