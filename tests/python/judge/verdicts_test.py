"""Guards against a claim that passes because nothing was measured, one that is called
broken by noise, and a verdict that hides for what it holds."""

import math
import unittest

from attnbench.judge import readings, verdicts
from attnbench.judge.readings import Reading, Readings
from attnbench.judge.verdicts import Group, Judged, Verdict


def part(per=(), quantity=None, role="claim", rule=None, name="figure"):
    return {"name": name, "role": role, "unit": "ratio", "per": list(per),
            "rule": rule or {"kind": "at_most", "bound": 1}, "quantity": quantity or {}}


def of(value, **labels):
    return Reading(labels, value)


def between(low, high, **labels):
    return Reading(labels, (low + high) / 2, (low, high))


def none(why, **labels):
    return Reading(labels, why=why)


def judged(of_part, *readings):
    return verdicts.judge_part(of_part, Readings(list(readings)), "look longer")


class Parts(unittest.TestCase):
    def verdict(self, of_part, *readings):
        return str(judged(of_part, *readings).verdict)

    def test_a_reading_is_judged_by_all_of_its_interval(self):
        self.assertEqual(self.verdict(part(), between(0.5, 0.9)), "holds")
        self.assertEqual(self.verdict(part(), between(1.1, 1.9)), "fails")
        self.assertEqual(
            self.verdict(part(), between(0.9, 1.2)),
            "undecided: the interval [0.9, 1.2] contains 1; look longer")
        within = part(rule={"kind": "within", "low": 0.8, "high": 1})
        self.assertEqual(self.verdict(within, between(0.5, 0.7)), "fails")
        self.assertEqual(self.verdict(within, between(0.85, 0.95)), "holds")
        # Wider than what is allowed is no sign of either.
        self.assertIn("contains 0.8", self.verdict(within, between(0.5, 2)))
        self.assertIn("contains 1", self.verdict(within, between(0.9, 2)))
        endless = Reading({}, 1, (-math.inf, math.inf))
        self.assertIn("undecided", self.verdict(part(), endless))

    def test_many_readings_hold_by_their_own_intervals_and_fail_by_joint_ones(self):
        def reading(low, high, joint_low, joint_high):
            return Reading({}, (low + high) / 2, (low, high), joint=(joint_low, joint_high))

        self.assertEqual(self.verdict(part(), reading(0.5, 0.9, 0.2, 1.2)), "holds")
        self.assertEqual(self.verdict(part(), reading(1.2, 1.4, 1.1, 1.5)), "fails")
        self.assertEqual(
            self.verdict(part(), reading(1.2, 1.4, 0.9, 1.7)),
            "undecided: the joint interval [0.9, 1.7] contains 1; look longer")
        magnitude = part(quantity={"reduce": "greatest_magnitude"})
        self.assertEqual(self.verdict(magnitude, reading(-3, -2, -4, -1.5)), "fails")

    def test_few_seeds_are_told_by_their_number_and_no_remedy_adds_any(self):
        few = Reading({}, 1, (0.5, 1.5), seeds=(0.8, 1.2))
        self.assertEqual(self.verdict(part(), few), "undecided: 2 seeds cannot tell it from 1")
        more = Reading({}, 1, (0.5, 1.5), seeds=(0.8, 0.9, 1, 1.1, 1.2))
        self.assertEqual(self.verdict(part(), more),
                         "undecided: the interval [0.5, 1.5] contains 1")

    def test_what_the_paper_says_can_be_holds_where_it_is_once(self):
        can = {**part(["w"]), "somewhere": True}
        self.assertEqual(self.verdict(can, of(2, w=1), of(0, w=2)), "holds")
        self.assertEqual(self.verdict(can, of(2, w=1), of(3, w=2)), "fails")
        self.assertEqual(
            self.verdict(can, of(2, w=1), between(0.9, 1.2, w=2)),
            "undecided: the interval [0.9, 1.2] contains 1 (w = 2); look longer, and it "
            "fails for w = 1")

    def test_that_one_holds_is_looked_for_in_all_so_its_joint_interval_decides(self):
        can = {**part(["w"]), "somewhere": True}
        lucky = Reading({"w": 1}, 0.8, (0.7, 0.9), joint=(0.5, 1.1))
        self.assertEqual(
            self.verdict(can, lucky, of(2, w=2)),
            "undecided: the joint interval [0.5, 1.1] contains 1 (w = 1); look longer, and "
            "it fails for w = 2")
        unlucky = Reading({"w": 1}, 1.2, (1.1, 1.3), joint=(0.9, 1.5))
        self.assertEqual(self.verdict(can, unlucky, of(2, w=2)), "fails")

    def test_a_lack_is_no_noise(self):
        wide, lack = between(0.9, 1.2, w=1), none("no cell", w=2)
        self.assertTrue(self.verdict(part(["w"]), wide, lack).startswith("not measurable"))
        self.assertEqual(self.verdict(part(), wide, lack), "not measurable here: no cell")

    def test_each_end_and_all_joint_intervals_miss_with_the_same_probability(self):
        def one(miss):
            return Reading({}, 5, (-1 / miss, 1 / miss))

        found = readings.of_chance(one, 4)
        self.assertEqual((found.interval, found.joint), ((-10, 10), (-80, 80)))
        lacking = readings.of_chance(
            lambda miss: between(1, 2) if miss > 0.05 else none("too wide"), 4)
        self.assertEqual((lacking.has_number, lacking.why), (False, "too wide"))

    def test_without_an_interval_the_number_is_judged(self):
        for value, said in ((1, "holds"), (math.nextafter(1, 2), "fails"),
                            (math.inf, "fails"), (-math.inf, "holds")):
            self.assertEqual(self.verdict(part(), of(value)), said)

    def test_no_number_never_holds(self):
        wrong = none("invalid: wrong output")
        said = "not measurable here: invalid: wrong output"
        self.assertEqual(self.verdict(part(), wrong), said)
        self.assertEqual(self.verdict(part(), of(0.5), wrong), said)
        self.assertEqual(self.verdict(part(), of(2), wrong), "fails")
        nothing = verdicts.judge_part(part(), Readings([], "no cell"))
        self.assertEqual(str(nothing.verdict), "not measurable here: no cell")
        for reduce in ("least", "greatest", "greatest_magnitude", "share"):
            reduced = part(quantity={"reduce": reduce, "low": 0, "high": 9})
            self.assertEqual(self.verdict(reduced, of(0.5), wrong), said, reduce)

    def test_reduce_judges_the_reading_that_it_names(self):
        readings = [of(0.5), of(-3), of(0.25), of(1.5)]
        for reduce, said in (("least", "holds"), ("greatest", "fails"),
                             ("share", "holds")):
            reduced = part(quantity={"reduce": reduce, "low": 0, "high": 0.5})
            self.assertEqual(self.verdict(reduced, *readings), said)
        magnitude = judged(part(quantity={"reduce": "greatest_magnitude"}),
                           of(0.5), between(-3, -2))
        self.assertEqual(str(magnitude.verdict), "fails")
        (group,) = magnitude.groups
        self.assertEqual((group.greatest.value, group.greatest.interval), (2.5, (2, 3)))
        self.assertEqual(group.num_readings, 1)
        share = part(quantity={"reduce": "share", "low": 1, "high": 2})
        found = judged(share, of(1), of(2), of(3), of(0))
        self.assertEqual(found.groups[0].least.value, 0.5)

    def test_some_groups_that_hold_are_a_condition(self):
        def at(w, precision, value):
            return of(value, w=w, precision=precision, T=5)

        of_both = part(["precision", "w"])
        for readings, condition in (
            ([at(1, "f32", 2), at(2, "f32", 2), at(1, "f64", 0), at(2, "f64", 1)],
             "precision = f64"),
            ([at(1, "f32", 2), at(2, "f32", 0), at(3, "f32", 0), at(1, "f64", 2),
              at(2, "f64", 2)], "precision = f32 and w in {2, 3}"),
            # No product of values: one by one.
            ([at(1, "f32", 2), at(2, "f32", 0), at(1, "f64", 0), at(2, "f64", 2)],
             "precision = f32, w = 2; or precision = f64, w = 1"),
            # Values with which all hold go before.
            ([at(1, "f32", 0), at(2, "f32", 0), at(3, "f32", 0), at(1, "f64", 2),
              at(2, "f64", 2), at(3, "f64", 0)],
             "precision = f32; or precision = f64, w = 3"),
            # One bad reading of a group is enough.
            ([at(1, "f32", 0), at(1, "f32", 2), at(2, "f32", 0)], "w = 2"),
        ):
            self.assertEqual(self.verdict(of_both, *readings),
                             f"holds only if {condition}")

    def test_an_undecided_group_is_no_group_that_holds(self):
        nested = none("not counted", variant="nested")
        self.assertEqual(
            self.verdict(part(["variant"]), of(0, variant="exact"), nested),
            "not measurable here: holds for variant = exact, undecided for "
            "variant = nested: not counted")
        self.assertEqual(
            self.verdict(part(["variant"]), of(2, variant="exact"), nested),
            "not measurable here: not counted (variant = nested), and it fails for "
            "variant = exact")

    def test_noise_is_no_condition(self):
        one, two = between(0.5, 0.9, w=1), between(0.9, 1.1, w=2)
        self.assertEqual(
            self.verdict(part(["w"]), one, two),
            "undecided: holds for w = 1, undecided for w = 2: the interval "
            "[0.9, 1.1] contains 1; look longer")
        # What fails is one; what is undecided has no part in it.
        self.assertEqual(
            self.verdict(part(["w"]), one, two, between(2, 3, w=3)),
            "holds only if w = 1 (undecided for w = 2: the interval [0.9, 1.1] "
            "contains 1; look longer)")

    def test_a_reason_names_its_groups_unless_it_is_that_of_all(self):
        self.assertEqual(
            self.verdict(part(["w"]), none("busy", w=1), none("busy", w=2)),
            "not measurable here: busy")
        self.assertEqual(
            self.verdict(part(["w"]), none("busy", w=1), none("wrong", w=2),
                         none("busy", w=3)),
            "not measurable here: busy (w = 1; w = 3), wrong (w = 2)")

    def test_of_many_wide_intervals_one_is_told(self):
        self.assertEqual(
            self.verdict(part(["w"]), *(between(0.5, 1 + w, w=w) for w in (1, 2, 3))),
            "undecided: the interval [0.5, 2] contains 1 (w = 1), and 2 more "
            "like it; look longer")

    def test_what_holds_by_one_reading_of_the_paper_depends_on_it(self):
        self.assertEqual(
            self.verdict(part(["reading"]), of(0, reading="narrow"), of(2, reading="wide")),
            "depends on reading: it holds if reading = narrow")
        self.assertEqual(
            self.verdict(part(["reading"]), of(2, reading="narrow"), of(2, reading="wide")),
            "fails")

    def test_what_somebody_has_to_make_is_waited_for(self):
        found = Readings([], "no training result", "trained results of speech")
        self.assertEqual(str(verdicts.judge_part(part(), found).verdict),
                         "waits for trained results of speech")

    def test_what_a_measurement_lacks_to_decide_leaves_it_undecided(self):
        lacks = verdicts.judge_part(part(), Readings([], needs="Eigen 3.2"))
        self.assertEqual(str(lacks.verdict), "undecided: needs Eigen 3.2")
        two = {"conditions": "paper", "parts": [part(), part(name="other")]}
        self.assertEqual(str(verdicts.judge_claim(two, [lacks, lacks])),
                         "undecided: needs Eigen 3.2")

    def test_labels_that_a_mechanism_does_not_have_are_none(self):
        self.assertEqual(
            self.verdict(part(["preset"]), of(0, preset=None), of(2, preset="tf")),
            "holds only if preset = none")

    def test_a_part_without_a_rule_is_shown_and_not_judged(self):
        shown = {key: value for key, value in part().items() if key != "rule"}
        found = judged(shown, of(7))
        self.assertEqual(str(found.verdict), "not judged")
        self.assertEqual(found.groups[0].greatest.value, 7)


class Claims(unittest.TestCase):
    def verdict(self, parts, *judged_parts, conditions="paper"):
        claim = {"conditions": conditions, "parts": parts}
        return str(verdicts.judge_claim(claim, judged_parts))

    def test_a_claim_is_its_worst_part(self):
        parts = [part(), part(), part()]
        holds, fails = Judged(Verdict("holds")), Judged(Verdict("fails"))
        if_a, if_b = (Judged(Verdict("holds only if", text)) for text in ("a = 1", "b = 2"))
        missing = Judged(Verdict("not measurable here", "no result"))
        noisy = Judged(Verdict("undecided", "noise"))
        waits = Judged(Verdict("waits for", "trained results of speech"))
        reads = Judged(Verdict("depends on reading", "it holds if reading = narrow"))
        for judged_parts, said in (
            ((holds, holds, holds), "holds"),
            ((holds, if_a, holds), "holds only if a = 1"),
            ((if_b, if_a, holds), "holds only if b = 2 and a = 1"),
            ((if_a, missing, holds), "not measurable here: figure: no result"),
            ((if_a, noisy, missing), "not measurable here: figure: no result"),
            ((if_a, noisy, holds), "undecided: figure: noise"),
            ((missing, if_a, fails), "refuted"),
            ((missing, waits, noisy), "not measurable here: figure: no result"),
            ((noisy, waits, holds), "waits for trained results of speech"),
            ((waits, fails, holds), "refuted"),
            ((reads, if_a, noisy), "undecided: figure: noise"),
            ((reads, if_a, holds),
             "depends on reading: figure: it holds if reading = narrow"),
        ):
            self.assertEqual(self.verdict(parts, *judged_parts), said)

    def test_a_claim_that_fails_under_our_conditions_is_not_reproduced(self):
        fails = Judged(Verdict("fails"))
        for conditions, said in (("paper", "refuted"), ("ours", "not reproduced here")):
            self.assertEqual(self.verdict([part()], fails, conditions=conditions), said)

    def conditional(self, states, labels):
        groups = [Group(one, state, "noise" if state == "undecided" else "")
                  for one, state in zip(labels, states)]
        return Judged(Verdict("holds only if", "its own"), groups)

    def test_parts_that_hold_for_different_groups_hold_for_none(self):
        parts = [part(["a"]), part(["a"])]
        labels = [{"a": n} for n in range(3)]
        for one, other, said in (
            (("holds", "fails"), ("fails", "holds"), "refuted"),
            (("holds", "holds", "fails"), ("fails", "holds", "holds"),
             "holds only if a = 1"),
            (("undecided", "fails"), ("holds", "fails"),
             "not measurable here: noise (a = 0), and it fails for a = 1"),
        ):
            both = [self.conditional(states, labels) for states in (one, other)]
            self.assertEqual(self.verdict(parts, *both), said)

    def test_a_group_that_fails_by_one_part_need_not_be_decided_by_another(self):
        parts, labels = [part(["a"]), part(["a"])], [{"a": n} for n in range(2)]
        fails = self.conditional(("holds", "fails"), labels)
        noisy = Judged(Verdict("undecided", "noise"), [
            Group(labels[0], "holds"), Group(labels[1], "undecided", "noise", True)])
        self.assertEqual(self.verdict(parts, fails, noisy), "holds only if a = 0")
        holds = Judged(Verdict("holds"), [Group(one, "holds") for one in labels])
        self.assertEqual(self.verdict(parts, holds, noisy), "undecided: figure: noise")

    def test_a_wider_group_speaks_for_all_that_it_has(self):
        wide = self.conditional(("holds", "fails"), [{"length": 20}, {"length": 100}])
        fine = self.conditional(
            ("fails", "fails", "holds", "holds"),
            [{"length": length, "K": K} for length in (20, 100) for K in (1, 4)])
        self.assertEqual(
            self.verdict([part(["length"]), part(["length", "K"])], wide, fine), "refuted")

    def test_a_choice_among_conditions_stays_together(self):
        texts = [Judged(Verdict("holds only if", text))
                 for text in ("a = 1; or c = 2", "b = 3")]
        self.assertEqual(self.verdict([part(["a"]), part(["b"])], *texts),
                         "holds only if (a = 1; or c = 2) and b = 3")

    def test_a_part_beside_the_claim_has_no_say(self):
        self.assertEqual(
            self.verdict([part(), part(role="beside")], Judged(Verdict("holds")),
                         Judged(Verdict("fails"))), "holds")


class QuickRuns(unittest.TestCase):
    def test_a_quick_run_says_what_the_full_one_says_or_is_undecided(self):
        for short, full, said in (
            (Verdict("holds"), "holds", "holds"),
            (Verdict("refuted"), "refuted", "refuted"),
            (Verdict("holds only if", "w = 2"), "holds only if w = 2 (undecided for w = 4: "
             "noise)", "holds only if w = 2"),
            (Verdict("undecided", "noise"), "holds", "undecided: noise"),
            (Verdict("waits for", "a result"), "waits for a result", "waits for a result"),
            (Verdict("waits for", "a result"), "holds", "undecided: waits for a result"),
            (Verdict("not measurable here", "a busy machine"), "holds",
             "undecided: not measurable here: a busy machine"),
            (Verdict("not measurable here", "no torch"), "not measurable here: no time",
             "not measurable here: no torch"),
            (Verdict("holds"), "refuted", "undecided: by this quick run it holds, by the "
             "full run it is refuted; run without --quick"),
            (Verdict("refuted"), "undecided: noise", "undecided: by this quick run it is "
             "refuted, by the full run it is undecided: noise; run without --quick"),
            (Verdict("holds only if", "w = 2"), "holds only if w = 4", "undecided: by this "
             "quick run it holds only if w = 2, by the full run it holds only if w = 4; "
             "run without --quick"),
        ):
            self.assertEqual(str(verdicts.as_a_quick_run(short, full)), said)


if __name__ == "__main__":
    unittest.main()
