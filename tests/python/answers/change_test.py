"""Guards against sameness that is claimed because nothing was found, and against changes
that are claimed of noise or of what a run does; and against AMBIGUOUS that names another
cause than the largest, or a remedy that cannot decide.
"""

import math
import unittest

from attnbench.answers import change
from attnbench.answers.change import AMBIGUOUS, FASTER, SAME, SLOWER, Ratio


def ratio(value, error, s_run=0.0, units="processes"):
    """Two sides with these standard errors, which 9 degrees of freedom know, and an effect
    of the run.
    """
    return Ratio(math.log(value), units, ((error**2, 9), (error**2, 9)),
                 {"run": (s_run**2, 10)})


def change_of(value, error, s_run=0.0):
    return change.change_of(ratio(value, error, s_run), 0.05, 0.05)


class Change(unittest.TestCase):
    def test_it_says_what_the_interval_shows(self):
        for value, kind in ((1, SAME), (1.03, SAME), (1.1, SLOWER), (1 / 1.1, FASTER)):
            self.assertEqual(change_of(value, 0.002).kind, kind, value)
        self.assertAlmostEqual(change_of(1.1, 0.002).span.value, 1.1, places=12)

    def test_it_has_the_errors_of_both_sides(self):
        # t at 97.5 percent with 18 degrees is 2.101.
        span = change_of(1, 0.02).span
        self.assertAlmostEqual(math.log(span.high), 2.1009 * 0.02 * math.sqrt(2), places=5)
        self.assertAlmostEqual(span.low * span.high, 1, places=12)

    def test_it_is_ambiguous_with_its_reason_otherwise(self):
        wide = change_of(1, 0.05)
        self.assertEqual(wide.kind, AMBIGUOUS)
        self.assertIn("reaches beyond the margin of 5 %: ", wide.reason)
        small = change_of(1.045, 0.01)
        self.assertEqual(small.kind, AMBIGUOUS)
        self.assertGreater(small.span.low, 1)
        self.assertIn("differs, but perhaps by less than the margin of 5 %: ", small.reason)

    def test_a_wide_interval_is_never_same(self):
        for value in (0.98, 1.0, 1.02):
            self.assertEqual(change_of(value, 0.1).kind, AMBIGUOUS, value)

    def test_what_a_run_does_is_no_change_however_exact_the_samples_are(self):
        # t at 97.5 percent with 10 degrees is 2.228, so a run explains 11.8 percent.
        effects = ratio(1, 0, 0.05).effects.values()
        self.assertAlmostEqual(change.detectable(effects, 0.05), 0.11785, places=5)
        for value in (1.0, 1.1, 1 / 1.1):
            found = change_of(value, 0, 0.05)
            self.assertEqual(found.kind, AMBIGUOUS, value)
            self.assertIn("another run of the same code explains 11.8 %", found.reason)
        self.assertEqual(change_of(1.13, 0, 0.05).kind, SLOWER)
        self.assertEqual(change_of(1 / 1.13, 0, 0.05).kind, FASTER)

    def test_one_round_says_nothing(self):
        found = change_of(10, math.inf)
        self.assertEqual((found.kind, found.detectable), (AMBIGUOUS, math.inf))
        self.assertIn("--repetitions", found.reason)

    def test_numbers_that_reach_no_further_are_no_single_round(self):
        # exp of the interval's ends is 0 and infinite.
        wide = change_of(1, 1000)
        self.assertEqual(wide.kind, AMBIGUOUS)
        self.assertIn("wider than numbers reach", wide.reason)
        # The times 5e-324 and 1e308 have this ratio.
        large = change.change_of(Ratio(1453, "rounds", ((1e-6, 9),)), 0.05, 0.05)
        self.assertEqual(large.kind, SLOWER)
        self.assertTrue(math.isfinite(large.span.value))

    def test_a_change_in_words_is_a_number_of_percent(self):
        self.assertEqual(change.percent_of(0.1179), "11.8 %")
        for large in (1e4, math.inf):
            self.assertEqual(change.percent_of(large), "over 1000000 %")

    def test_more_comparisons_need_more_evidence(self):
        one = ratio(1.07, 0.015)
        self.assertEqual(change.change_of(one, 0.05, 0.05).kind, SLOWER)
        self.assertEqual(change.change_of(one, 0.05 / 1000, 0.05).kind, AMBIGUOUS)

    def test_what_could_be_found_is_found_from_there_on(self):
        for error, s_run in ((0.01, 0), (0.04, 0), (0.001, 0.05), (0.001, 0)):
            least = change_of(1, error, s_run).detectable
            self.assertGreaterEqual(least, 0.05)  # less does not matter
            for share, kind in ((0.999, {AMBIGUOUS, SAME}), (1.001, {SLOWER})):
                self.assertIn(change_of(1 + share * least, error, s_run).kind, kind)


class Cause(unittest.TestCase):
    def reason(self, units="processes", samples=1e-8, is_in_turn=False, **effects):
        one = Ratio(0.0, units, ((samples, 9),),
                    {name: (variance, 10) for name, variance in effects.items()})
        return change.change_of(one, 0.05, 0.05, is_in_turn).reason

    def test_the_largest_cause_is_named_with_its_size_and_what_would_decide(self):
        large, small = 0.0025, 1e-6  # 11.8 % with 10 degrees
        cases = (
            ({"units": "rounds", "samples": large}, "the noise of its rounds",
             "more --repetitions"),
            ({"samples": large}, "its processes are too few", "more --processes"),
            ({"units": "builds", "samples": large}, "its builds are too few", "more --builds"),
            ({"build": large, "run": small}, "another placement of the code in memory explains "
             "11.8 %", "--builds 20 on both sides"),
            ({"process": large, "build": small}, "a side has one process alone, which explains "
             "11.8 %", "--processes 10 on both sides"),
            ({"run": large, "build": small}, "another run of the same code explains 11.8 %",
             "compare --programs"),
            ({"speed": large}, "another speed of the machine explains 11.8 %",
             "compare --programs"),
            ({"build": large, "is_in_turn": True}, "another placement",
             "build folders in place of programs"),
            ({"units": "builds", "samples": large, "is_in_turn": True}, "its builds are too few",
             "more --processes"))
        for given, cause, remedy in cases:
            with self.subTest(given):
                reason = self.reason(**given)
                self.assertIn(f"margin of 5 %: {cause}", reason)
                self.assertTrue(reason.endswith(f"; to decide: {remedy}"), reason)

    def test_a_remedy_of_one_cause_alone_is_not_said_to_decide_what_two_hide(self):
        reason = self.reason(samples=0.0025, build=0.0036)
        self.assertIn("another placement", reason)
        self.assertTrue(reason.endswith("--builds 20 on both sides, more --processes"), reason)
        # It relinks, and has processes of its own.
        reason = self.reason(samples=0.0025, build=0.0036, run=0.0025)
        self.assertTrue(reason.endswith("to decide: compare --programs"), reason)

    def test_causes_that_are_small_alone_are_wide_together(self):
        reason = self.reason(samples=0.0003, build=0.0004)
        self.assertTrue(reason.endswith("to decide: --builds 20 on both sides"), reason)


if __name__ == "__main__":
    unittest.main()
