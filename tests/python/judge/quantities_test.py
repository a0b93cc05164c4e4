"""Guards against a number that is read from the wrong cell, row or case, one whose
interval promises too much, and a claim that no result could break."""

import math
import os
import unittest

import doctored
import known_effects
import made_up
from made_up import make_cell, make_document, make_result

from attnbench.analysis import ROOT
from attnbench.judge import ledger, quantities, verdicts
from attnbench.judge.readings import Document

LEDGER = ledger.read(os.path.join(ROOT, "experiments", "claims.json"))
RATIO = {"kind": "time_ratio", "from": "m", "of": {"mechanism": "soft"},
         "to": {"mechanism": "mocha"}}


class WholeLedger(unittest.TestCase):
    def verdict_with(self, claim, at):
        """Of a claim whose part `at` reads a number that the rule forbids, and all
        others one that it allows.
        """
        judged = []
        for n, part in enumerate(claim["parts"]):
            if "rule" not in part:
                judged.append(verdicts.Judged(verdicts.Verdict()))
                continue
            value = doctored.forbidden(part) if n == at else doctored.allowed(part)
            kind = LEDGER["measurements"][part["quantity"]["from"]]["kind"]
            document = doctored.document(part["quantity"], kind, value)
            found = quantities.read(part, document, doctored.published(LEDGER["claims"]))
            judged.append(verdicts.judge_part(part, found))
            self.assertEqual(str(judged[-1].verdict), "fails" if n == at else "holds",
                             (claim["id"], part["name"]))
        return str(verdicts.judge_claim(claim, judged))

    def test_every_claim_holds_or_fails_by_what_its_documents_say(self):
        known_effects.use(self)
        count = 0
        for claim in LEDGER["claims"]:
            self.assertEqual(self.verdict_with(claim, None), "holds", claim["id"])
            for n, part in enumerate(claim["parts"]):
                if "rule" in part:
                    count += 1
                    failed = verdicts.BY_CONDITIONS[claim["conditions"]]
                    said = "holds" if part["role"] == "beside" else failed
                    self.assertEqual(self.verdict_with(claim, n), said, part["name"])
        self.assertGreater(count, 60)

    def test_without_a_document_no_claim_has_a_verdict(self):
        for claim in LEDGER["claims"]:
            nothing = [
                verdicts.judge_part(part, quantities.read(
                    part, Document(part["quantity"]["from"], None, None, "not made"), {}))
                for part in claim["parts"]]
            self.assertIn("not made", str(verdicts.judge_claim(claim, nothing)))


def rounds(start, step=0.0):
    return [start + step * n for n in range(12)]


def timed(mechanism, t, samples, **changes):
    u = changes.pop("output_length", t)
    return make_cell(mechanism, t, u, samples_ns=[float(ns) for ns in samples], **changes)


def sweep(*cells):
    return Document("m", "m.json", make_document(list(cells)))


def read(quantity, document, per=()):
    part = {"name": "figure", "role": "claim", "unit": "ratio", "per": list(per),
            "quantity": quantity}
    return quantities.read(part, document, {})


class Ratios(unittest.TestCase):
    def assert_interval(self, reading, low, high):
        self.assertAlmostEqual(reading.interval[0], low, places=9)
        self.assertAlmostEqual(reading.interval[1], high, places=9)

    def test_they_are_paired_by_rounds_and_cells_by_points(self):
        soft = timed("soft", 10, rounds(1000, 100))
        mocha = timed("mocha", 10, rounds(100, 10), chunk_width=8)
        # The same axes, but on other draws and in other rounds.
        elsewhere = timed("mocha", 10, rounds(1), point="ff", chunk_width=2)
        finer = timed("mocha", 10, rounds(1), precision="f64")
        known_effects.use(self)
        (reading,) = read(RATIO, sweep(soft, mocha, elsewhere, finer)).list
        self.assertAlmostEqual(reading.value, 10)
        # The drift is in both, and drops out.
        self.assert_interval(reading, 10, 10)
        self.assertEqual(reading.labels["mechanism"], "soft")
        self.assertEqual(reading.labels["chunk_width"], 8)
        self.assertEqual(reading.evidence[1], {
            "measurement": "m", "file": "m.json", "point": mocha["point"],
            "place": "cells[1]"})

    def test_several_builds_show_what_builds_do(self):
        known_effects.use(self, s_build=0.1)
        for builds, is_wide in ((1, True), (2, False)):
            cells = [timed(name, 10, [ns] * 20, processes=4, builds=builds)
                     for name, ns in (("soft", 1000), ("mocha", 100))]
            (reading,) = read(RATIO, sweep(*cells)).list
            self.assertEqual(reading.interval[1] > 10.1, is_wide)

    def test_a_ratio_to_a_peer_has_the_effects_of_one(self):
        widths = {}
        for variant in ("exact", "framework"):
            cells = (timed("soft", 10, rounds(1000), variant=variant),
                     timed("mocha", 10, rounds(100)))
            quantity = {**RATIO, "of": {"mechanism": "soft", "variant": variant},
                        "to": {"mechanism": "mocha", "variant": "exact"}}
            (reading,) = read(quantity, sweep(*cells)).list
            widths[variant] = reading.interval[1]
        self.assertGreater(widths["framework"], widths["exact"])

    def test_joint_intervals_are_corrected_for_the_number_of_readings(self):
        noisy = [1000 + (10 * n if n % 2 == 0 else -40) for n in range(12)]

        def widths(points):
            cells = [cell for t in range(10, 10 + points) for cell in
                     (timed("soft", t, noisy), timed("mocha", t, rounds(100)))]
            one = read(RATIO, sweep(*cells)).list[0]
            return [high - low for low, high in (one.interval, one.joint)]
        (own, joint), (own_of_many, joint_of_many) = widths(1), widths(20)
        self.assertEqual(own, own_of_many)
        self.assertLess(own, joint)
        self.assertLess(joint, joint_of_many)

    def test_a_cell_that_failed_is_a_reading_without_a_number(self):
        soft = timed("soft", 10, rounds(1000))
        mocha = timed("mocha", 10, rounds(100), status="invalid", message="wrong context")
        (reading,) = read(RATIO, sweep(soft, mocha)).list
        self.assertFalse(reading.has_number)
        self.assertEqual(reading.why, "invalid: wrong context")
        # What is not there at all is no reading.
        mocha["status"] = "skipped"
        found = read(RATIO, sweep(soft, mocha))
        self.assertEqual((found.list, found.none), ([], "skipped: wrong context"))

    def test_times_of_an_invalid_result_are_shown_and_not_judged(self):
        document = sweep(timed("soft", 10, rounds(1000)), timed("mocha", 10, rounds(100)))
        document.content["context"].update(
            valid=False, invalid_reasons=["the machine was busy"])
        (reading,) = read(RATIO, document).list
        self.assertAlmostEqual(reading.value, 10)
        self.assertEqual(reading.why,
                         "the times of m are not valid: the machine was busy")
        # What was counted is as right as ever.
        counted = {"kind": "count", "from": "m", "of": {"mechanism": "soft"},
                   "field": "energies", "over": "T + U - 1"}
        self.assertEqual(read(counted, document).list[0].why, "")

    def test_cells_of_different_rounds_have_no_ratio(self):
        (reading,) = read(RATIO, sweep(timed("soft", 10, rounds(1000)),
                                       timed("mocha", 10, [1, 2, 3]))).list
        self.assertIn("same rounds", reading.why)

    def test_greatest_is_that_of_the_cells_that_match_otherwise(self):
        cells = [timed("memory", 90, rounds(1))]
        for t in (10, 30, 20):
            cells += [timed("soft", t, rounds(10 * t)), timed("mocha", t, rounds(10))]
        (reading,) = read({**RATIO, "of": {"mechanism": "soft", "memory_length": "greatest"},
                           "to": {"mechanism": "mocha", "memory_length": "greatest"}},
                          sweep(*cells)).list
        self.assertEqual(reading.labels["memory_length"], 30)
        self.assertAlmostEqual(reading.value, 30)

    def test_true_is_not_the_number_one(self):
        strict = timed("soft", 10, rounds(1000), options={"strict": True})
        loose = timed("soft", 10, rounds(500), options={"strict": 1})
        quantity = {**RATIO, "of": {"mechanism": "soft", "options.strict": True}}
        found = read(quantity, sweep(strict, loose, timed("mocha", 10, rounds(100)))).list
        self.assertEqual([round(one.value, 9) for one in found], [10])

    def test_rank_correlation_is_of_the_groups_of_the_part(self):
        cells = []
        for workload, sign in (("uniform", 1), ("planted", -1)):
            for t in (10, 20, 40, 80):
                for name, ns in (("soft", 100 * float(t) ** sign), ("mocha", 100)):
                    cells.append(timed(name, t, rounds(ns), workload=workload,
                                       point=f"{workload} {t}"))
        quantity = {**RATIO, "kind": "rank_correlation", "against": ["memory_length"]}
        found = read(quantity, sweep(*cells), ["workload"]).list
        self.assertEqual([round(one.value, 12) for one in found], [1, -1])
        self.assertEqual(found[1].labels, {"workload": "planted"})
        # No order against what does not vary.
        self.assertEqual(read(quantity, sweep(*cells[:2])).list[0].value, 0)

    def test_a_correlation_does_not_leave_its_range(self):
        cells = [timed(name, t, [ns], point=str(t)) for t in (10, 20, 40)
                 for name, ns in (("soft", 100 * t), ("mocha", 100))]
        quantity = {**RATIO, "kind": "rank_correlation", "against": ["memory_length"]}
        part = {"name": "figure", "role": "claim", "unit": "correlation",
                "quantity": quantity}
        (reading,) = quantities.read(part, sweep(*cells), {}).list
        self.assertEqual((reading.interval, reading.joint), ((-1, 1), (-1, 1)))

    def test_a_correlation_is_that_of_the_medians(self):
        cells = []
        for n, t in enumerate((10, 20, 40)):
            # One round in three is far off, another one for each length.
            times = [(1e6 if t == 10 else 1) if r % 3 == n else 100 * t for r in range(12)]
            cells += [timed("soft", t, times, point=str(t)),
                      timed("mocha", t, rounds(100), point=str(t))]
        quantity = {**RATIO, "kind": "rank_correlation", "against": ["memory_length"]}
        (reading,) = read(quantity, sweep(*cells)).list
        self.assertAlmostEqual(reading.value, 1)
        self.assertAlmostEqual(reading.interval[1], 1)

    def test_the_place_of_the_greatest_is_no_surer_than_the_ratios(self):
        def place(second):
            cells = []
            for t, ratio in ((10, 5), (40, second)):
                cells += [timed("soft", t, rounds(100 * ratio), output_length=20),
                          timed("mocha", t, rounds(100), output_length=20)]
            quantity = {**RATIO, "kind": "place_of_greatest", "over": "U / T"}
            (reading,) = read(quantity, sweep(*cells)).list
            return reading.value, reading.interval
        self.assertEqual(place(2), (2, (2, 2)))
        # So near to each other it may be either.
        self.assertEqual(place(4.5), (2, (0.5, 2)))

    def test_a_ratio_that_is_never_one_has_no_break_even(self):
        cells = [timed("soft", 10, rounds(1000))]
        cells += [timed("memory", 10, rounds(10 * K), num_contexts=K) for K in (8, 16)]
        quantity = {"kind": "break_even", "from": "m", "of": {"mechanism": "soft"},
                    "to": {"mechanism": "memory"}, "against": ["num_contexts"],
                    "over": "T U / (T + U)"}
        self.assertIn("from 8 to 16", read(quantity, sweep(*cells)).list[0].why)
        # Soft takes as long as 100 contexts.
        cells.append(timed("memory", 10, rounds(10000), num_contexts=1000))
        self.assertAlmostEqual(read(quantity, sweep(*cells)).list[0].value, 100 / 5)


class Grown(unittest.TestCase):
    def test_exponents_are_slopes_of_each_group_and_ignore_nothing(self):
        cells = [timed("mocha", t, rounds(t**w), chunk_width=w,
                       operations={"chunk_energies": 0 if w == 1 else 3 * t**3})
                 for t in (10, 20, 40) for w in (1, 2)]
        quantity = {"kind": "exponent", "from": "m", "of": {"mechanism": "mocha"},
                    "field": "time", "against": ["memory_length", "output_length"]}
        found = read(quantity, sweep(*cells)).list
        self.assertEqual([round(one.value, 9) for one in found], [1, 2])
        # Each of the times has an effect, over four times the length.
        low, high = found[1].interval
        self.assertAlmostEqual((low + high) / 2, 2)
        self.assertGreater(high, 2.02)
        quantity["field"] = "chunk_energies"
        found = read(quantity, sweep(*cells)).list
        self.assertIn("two values", found[0].why)
        self.assertAlmostEqual(found[1].value, 3)
        self.assertIsNone(found[1].interval)
        quantity["field"] = "peak_memory_bytes"
        cells[3]["peak_memory_bytes"] = None
        self.assertEqual(read(quantity, sweep(*cells)).list[1].why,
                         "peak_memory_bytes is not counted")

    def test_a_residual_is_that_of_times_of_the_same_rounds(self):
        def reading(change, processes):
            """Of times on a line but for what `change` does to those of a process."""
            cells = []
            for w in (2, 4, 8, 16, 32):
                times = [(100 + 10 * w) * change(w, n) for n in range(processes)]
                cells.append(timed("mocha", 10, times, chunk_width=w, processes=processes,
                                   median_ns=100.0 + 10 * w,
                                   operations={"chunk_energies": w}))
            return read(quantity, sweep(*cells)).list[0], cells

        quantity = {"kind": "fit", "from": "m", "of": {"mechanism": "mocha"},
                    "terms": ["chunk_energies"], "give": "residual"}
        known_effects.use(self)
        for processes in (5, 12):
            # What all of a process share bends no line.
            of_all, cells = reading(lambda w, n: 1 + 0.1 * (n % 3), processes)
            self.assertAlmostEqual(of_all.value, 0)
            self.assertLess(of_all.interval[1], 0.02)
            self.assertLess(of_all.joint[1], 0.02)
            of_one, _ = reading(lambda w, n: 1 + 0.1 * (n % 3) * (w == 8), processes)
            self.assertGreater(of_one.interval[1], 0.05)
            self.assertGreaterEqual(of_one.interval[0], 0)
        for cell in cells:
            cell["operations"]["chunk_energies"] = 7
        self.assertEqual(read(quantity, sweep(*cells)).list[0].why,
                         "the terms depend on each other")

    def test_the_preparation_that_is_taken_off_has_an_interval_too(self):
        known_effects.use(self)
        cells = [timed("memory", t, rounds(1000), output_length=10, processes=6,
                       prepare_ns=500, prepare_samples_ns=rounds(500)) for t in (10, 20)]
        quantity = {"kind": "time_growth", "from": "m", "of": {"mechanism": "memory"},
                    "against": ["memory_length"], "without_preparation": True}
        (reading,) = read(quantity, sweep(*cells)).list
        self.assertAlmostEqual(reading.value, 1)
        self.assertAlmostEqual(reading.interval[1], 1)
        # Half of the processes take 450 off, half 550.
        cells[1]["prepare_samples_ns"] = [450.0 + 100 * (n // 2 % 2) for n in range(12)]
        low, high = read(quantity, sweep(*cells)).list[0].interval
        self.assertGreater(high, 1.05)
        self.assertLess(low, 0.95)
        cells[1]["prepare_samples_ns"] = rounds(1000)
        self.assertIn("takes all of the time", read(quantity, sweep(*cells)).list[0].why)


def decoder(mechanism, whole, attention, reads=None, **changes):
    return timed(mechanism, 10, rounds(whole), **{
        "scope": "decoder", "workload": "copy:1", "beam": 10, "vocabulary": 20,
        "decoder": {"attention_samples_ns": rounds(attention), "reads": reads},
        **changes})


class Decoders(unittest.TestCase):
    def test_what_is_no_speed_up_bounds_none(self):
        quantity = {**RATIO, "kind": "whole_over_part"}
        soft = decoder("soft", 1000, 100)
        (reading,) = read(quantity, sweep(soft, decoder("mocha", 900, 50))).list
        self.assertAlmostEqual(reading.value, 1000 / 900 / 2)
        # Builds and runs may move either speed-up.
        (whole,) = read(RATIO, sweep(soft, decoder("mocha", 900, 50))).list
        both, one = (math.log(some.interval[1] / some.value) for some in (reading, whole))
        self.assertAlmostEqual(both / one, math.sqrt(2))
        found = read(quantity, sweep(soft, decoder("mocha", 900, 200)))
        self.assertEqual(found.list, [])
        self.assertIn("nowhere faster", found.none)

    def test_a_time_of_a_scan_that_stood_still_is_no_reading(self):
        soft = decoder("soft", 1000, 100)
        for memory_read, empty, why in ((0.95, 0.01, ""), (0.4, 0, "40 % of the memory"),
                                        (1, 0.2, "20 % of the outputs")):
            mocha = decoder("mocha", 900, 50, made_up.reads(memory_read, empty))
            said = read(RATIO, sweep(soft, mocha)).list[0].why
            self.assertIn(why, said)
            self.assertEqual(bool(said), bool(why))

    def test_decoders_of_other_windows_are_no_pair(self):
        quantity = {**RATIO, "of": {"mechanism": "mocha", "beam": 10}}
        four, eight = (decoder("mocha", ns, 100, chunk_width=w)
                       for ns, w in ((1000, 4), (1100, 8)))
        found = read(quantity, sweep(four, eight)).list
        self.assertEqual([round(one.value, 9) for one in found], [1, 1])

    def test_readings_say_which_model_they_are_of(self):
        for name, values in (("dim", (64, 256)), ("workload", ("copy:0.5", "copy:1")),
                             ("vocabulary", (20, 16000))):
            cells = [decoder(mechanism, 1000, 100, point=str(value), **{name: value})
                     for value in values for mechanism in ("soft", "mocha")]
            found = read(RATIO, sweep(*cells)).list
            self.assertEqual(tuple(one.labels[name] for one in found), values)

    def test_axes_that_only_whole_decoders_have_are_labels_beside_other_cells(self):
        soft = timed("soft", 10, rounds(100), point="other")
        mixed = sweep(soft, *(decoder(mechanism, 1000, 100)
                              for mechanism in ("soft", "mocha")))
        (reading,) = read({**RATIO, "to": {**RATIO["to"], "beam": 10}}, mixed).list
        self.assertEqual(reading.labels["vocabulary"], 20)
        quantity = {**RATIO, "kind": "whole_over_part", "to": {"mechanism": "soft"}}
        without_attention = read(quantity, sweep(soft)).list[0].why
        self.assertIn("the attention was not timed", without_attention)

    def test_a_ratio_grows_along_lengths_that_vary_together(self):
        cells = [{**decoder(mechanism, ns, 100, point=str(t)), "memory_length": t,
                  "output_length": t}
                 for t, of_mocha in ((20, 1000), (50, 800))
                 for mechanism, ns in (("soft", 1000), ("mocha", of_mocha))]
        quantity = {**RATIO, "kind": "trend",
                    "against": ["memory_length", "output_length"]}
        (reading,) = read(quantity, sweep(*cells)).list
        self.assertAlmostEqual(reading.value, math.log(1.25) / math.log(50 / 20))
        self.assertNotIn("memory_length", reading.labels)
        (alone,) = read(quantity, sweep(*cells[:2])).list
        self.assertIn("only one value", alone.why)


    def test_a_mean_of_ratios_with_a_time_in_common_is_known_better_than_one(self):
        known_effects.use(self, s_run=0.1)
        cells = [{**decoder(mechanism, ns, 100, point=str(t), num_contexts=k),
                  "memory_length": t, "output_length": t}
                 for t, of_two, of_eight in ((20, 1000, 1000), (50, 800, 400))
                 for mechanism, k, ns in (("soft", None, 1000), ("memory", 2, of_two),
                                          ("memory", 8, of_eight))]
        each = {**RATIO, "kind": "trend", "to": {"mechanism": "memory"},
                "against": ["memory_length", "output_length"]}
        mean = {**each, "mean_of": "num_contexts"}
        two, eight = read(each, sweep(*cells)).list
        (both,) = read(mean, sweep(*cells)).list
        self.assertNotIn("num_contexts", both.labels)
        self.assertAlmostEqual(both.value, (two.value + eight.value) / 2)
        # Half of what runs do is in the time in common, a quarter in the other two.
        of_both, of_one = (one.interval[1] - one.value for one in (both, two))
        self.assertAlmostEqual(of_both / of_one, math.sqrt(0.75))
        cells[-1]["point"] = "other"
        cells.append({**cells[3], "point": "other"})
        (apart,) = read(mean, sweep(*cells)).list
        self.assertIn("not all num_contexts were timed in the same rounds", apart.why)


class Rows(unittest.TestCase):
    VERIFY = {"kind": "verify", "from": "m", "of": {"mechanism": "mocha"},
              "field": "failed"}

    def test_what_is_not_finite_is_infinite_and_a_list_is_read_whole(self):
        row = {"mechanism": "monotonic", "output_length": 2}
        document = Document("m", None, make_result("stability", ledger=[
            {**row, "lost": None}, {**row, "lost": [0.25, -0.5]}]))
        found = read({"kind": "stability", "from": "m", "list": "ledger",
                      "of": {"mechanism": "monotonic"}, "field": "lost", "over": "2 U"},
                     document).list
        self.assertEqual([one.value for one in found], [math.inf, 0.0625, -0.125])
        self.assertEqual(found[2].evidence[0]["place"], "ledger[1]")

    def test_a_case_that_could_not_be_computed_has_failed(self):
        document = Document("m", None, doctored.verify(self.VERIFY, 0))
        self.assertEqual(read(self.VERIFY, document).list[0].value, 0)
        (case,) = document.content["cases"]
        case["failure"] = "out of memory"
        (reading,) = read(self.VERIFY, document).list
        self.assertEqual(reading.value, 1)
        self.assertEqual(reading.evidence[0]["place"], "cases[0]: out of memory")
        case["mechanism"] = "matcha"
        found = read(self.VERIFY, document)
        self.assertEqual(found.list, [])
        self.assertIn('nothing was compared of {"mechanism":"mocha"}', found.none)

    def test_the_worst_of_many_cases_is_the_evidence(self):
        quantity = {**self.VERIFY, "field": "largest_error",
                    "of": {"mechanism": "mocha", "what": ["context"]}}
        content = doctored.verify(quantity, 1e-14)
        content["cases"] += doctored.verify(quantity, 3e-14)["cases"]
        content["cases"][0]["quantities"][0].update(what="attention", largest_error=None)
        (reading,) = read(quantity, Document("m", None, content)).list
        self.assertEqual(reading.value, 3e-14)
        self.assertIn("cases[1]", reading.evidence[0]["place"])

    def test_what_seeds_gave_stands_with_the_least_effect_that_they_could_show(self):
        runs = [made_up.make_trained_run("a", seed, 10.0, 10.0 + seed) for seed in (1, 2, 3)]
        document = Document("m", None, made_up.make_trained("stretch", runs))
        quantity = {"kind": "trained", "from": "m",
                    "of": {"alternatives": ["a"], "measures": ["lost"]}}
        part = {"name": "figure", "role": "claim", "unit": "points", "quantity": quantity}
        (reading,) = quantities.read(part, document, {}).list
        for found, wanted in zip(reading.seeds, (1, 2, 3)):
            self.assertAlmostEqual(found, wanted)
        # Student's t of two degrees that is above 2.92 with probability 0.05, and of
        # 4.303 with 0.025.
        for ends, t in ((reading.interval, 2.91999), (reading.joint, 4.30265)):
            self.assertAlmostEqual(ends[1] - 2, t / math.sqrt(3), 4)
        self.assertAlmostEqual(reading.least_effect, 2.91999 / math.sqrt(3), 4)

    def test_numbers_of_a_name_may_be_infinite_or_missing(self):
        rows = [{"name": "n", "labels": {"a": n}, "value": value, "interval": interval,
                 "why": why} for n, (value, interval, why) in enumerate(
                     [("inf", None, None), (2, [1, "inf"], None), (None, None, "no torch")])]
        quantity = {"kind": "computed", "from": "m", "name": "n"}
        found = read(quantity, Document("m", None, make_result("computed", quantities=rows)))
        values = [(one.value, one.interval, one.why) for one in found.list[:2]]
        self.assertEqual(values, [(math.inf, None, ""), (2, (1, math.inf), "")])
        self.assertFalse(found.list[2].has_number)
        self.assertEqual(found.list[2].why, "no torch")


if __name__ == "__main__":
    unittest.main()
