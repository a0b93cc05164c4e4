"""Guards against intervals that are not those of the rule, that hold the truth less often
than they say, and against a second rule beside it."""

import json
import math
import pathlib
import re
import unittest
from unittest import mock

import known_effects
import numpy
from made_up import make_cell
from scipy import stats

from attnbench.analysis import ROOT, intervals, series

# Two-sided Student's t of 5 %, from a table.
T_1, T_2, T_4 = 12.7062, 4.30265, 2.77645


def of_processes(*values, rounds=1):
    """A series of one build, whose processes have all rounds alike."""
    return numpy.array([[[value] * rounds for value in values]], dtype=float)


def of_rounds(*values):
    return numpy.array([[values]], dtype=float)


class Rule(unittest.TestCase):
    def assert_span(self, span, value, half):
        for found, wanted in zip(
                (span.value, span.low, span.high), (value, value - half, value + half)):
            self.assertAlmostEqual(found, wanted, places=4)

    def test_of_rounds_the_median_has_an_error_by_the_quartiles(self):
        known_effects.use(self)
        # The quartiles are 1 and 3: sqrt(pi / 2) * 2 / 1.349 / sqrt(3.9) = 0.940905.
        span = intervals.estimate(of_rounds(4, 0, 2, 1, 3), "time").at()
        self.assert_span(span, 2, T_2 * 0.940905)
        # Of 0, 1, 2 they are 0.5 and 1.5: 1.25331 / 1.349 / sqrt(1.9).
        span = intervals.estimate(of_rounds(0, 1, 2), "time").at()
        self.assert_span(span, 1, T_1 * 0.674018)

    def test_disturbed_rounds_move_neither_the_value_nor_its_interval(self):
        known_effects.use(self)
        quiet = list(range(20))
        span = intervals.estimate(of_rounds(*quiet), "time").at()
        for disturbed in ([1000], [1000] * 4):
            loud = quiet[:-len(disturbed)] + disturbed
            self.assertEqual(intervals.estimate(of_rounds(*loud), "time").at(), span)
            # Processes are as robust to disturbed rounds.
            processes = numpy.array([[quiet, loud, quiet]], dtype=float)
            self.assert_span(intervals.estimate(processes, "time").at(), 9.5, 0)

    def test_of_processes_the_mean_of_their_medians_has_students_interval(self):
        known_effects.use(self)
        span = intervals.estimate(of_processes(0, 1, 5, rounds=3), "time").at()
        self.assert_span(span, 2, T_2 * math.sqrt(7 / 3))

    def test_of_builds_their_processes_are_averaged_first(self):
        # Process k is of build k mod 2: 0 and 0.2, 1 and 1.4.
        known_effects.use(self, s_build=9, s_run=0)
        cell = make_cell("soft", 4, 4, processes=4, builds=2, samples_ns=[
            math.exp(log) for log in (0, 0, 1, 1, 0.2, 0.2, 1.4, 1.4)])
        logs = series.logs(cell)
        self.assertEqual(logs.shape, (2, 2, 2))
        # What builds do is in the builds themselves, so no effect of theirs is added.
        self.assert_span(intervals.estimate(logs, "time").at(), 0.65, T_1 * 0.55)

    def test_one_round_has_no_finite_interval(self):
        span = intervals.estimate(of_rounds(3), "time").at()
        self.assertEqual((span.value, span.low, span.high), (3, -math.inf, math.inf))
        span = span.exp()
        self.assertEqual((span.low, span.high), (0, math.inf))

    def test_effects_are_added_with_the_degrees_of_welch_and_satterthwaite(self):
        known_effects.use(self, s_build=0.03, s_run=0.02)
        logs = of_processes(0, 0.1, 0.2)
        # 0.01 / 3 with 2 degrees, 0.0009 with 19 and 0.0004 with 10: together 0.0046333
        # with 3.8238, whose t is 2.82764.
        self.assert_span(
            intervals.estimate(logs, "time").at(), 0.1, 2.82764 * math.sqrt(0.0046333))
        # Builds show their own effect: 0.01 / 3 with 2 and 0.0004 with 10 degrees are
        # 0.0037333 with 2.5016.
        logs = logs.swapaxes(0, 1)
        self.assert_span(
            intervals.estimate(logs, "time").at(), 0.1, 3.57322 * math.sqrt(0.0037333))

    def test_a_process_alone_has_the_effect_of_processes(self):
        known_effects.use(self, s_build=0.02, s_process=0.03)
        self.assertAlmostEqual(self.variance(of_rounds(0, 0, 0)), 0.0013)
        self.assertAlmostEqual(self.variance(of_processes(0, 0, 0)), 0.0004)
        self.assertEqual(self.variance(of_processes(0, 0, 0).swapaxes(0, 1)), 0)

    def variance(self, logs):
        return sum(part for part, _ in intervals.estimate(logs, "time").parts)

    def test_no_level_is_so_small_that_an_interval_turns_round(self):
        for degrees in (1, 3.3, 30):
            for tail in (1e-30, 1e-99, 1e-180, 1e-300):
                self.assertGreater(intervals.student(degrees, tail), 1e3 if degrees < 4 else 10)

    def test_students_t_is_as_exact_as_the_programs(self):
        for degrees in (1, 2.5016, 9, 37.77, 1e7, math.inf):
            for tail in (0.025, 0.05 / 6, 1e-5):
                found = intervals.student(degrees, tail)
                self.assertAlmostEqual(stats.t.sf(found, degrees) / tail, 1, places=12)

    def test_the_program_has_the_same_rule(self):
        # tests/harness/stats/statistics_test.cc reads this table, too.
        rows = json.loads(
            pathlib.Path(ROOT, "tests/harness/stats/intervals.json").read_text())
        self.assertGreater(len(rows), 20)
        for row in rows:
            with mock.patch.dict(intervals.EFFECTS, ratio=row["effect"]):
                self.assert_row(row)

    def assert_row(self, row):
        builds = row["builds"]
        logs = numpy.reshape(row["logs"], (len(row["logs"]) // builds, builds, -1))
        span = intervals.estimate(logs.swapaxes(0, 1), "ratio").at(row["miss"])
        self.assertAlmostEqual(span.value, row["value"])
        if row["low"] is None:
            self.assertEqual((span.low, span.high), (-math.inf, math.inf))
        else:
            self.assertAlmostEqual(span.low, row["low"])
            self.assertAlmostEqual(span.high, row["high"])

    def test_kinds_have_effects_of_their_own(self):
        logs = of_processes(0, 0, 0)
        highs = [intervals.estimate(logs, kind).at().high for kind in
                 ("ratio", "peer", "time")]
        self.assertEqual(highs, sorted(set(highs)))

    def test_a_smaller_miss_has_a_wider_interval(self):
        estimate = intervals.Estimate(0.0, ((1.0, 4),))
        self.assertAlmostEqual(estimate.at(0.05).high, T_4, places=4)
        self.assertAlmostEqual(estimate.at(0.01).low, -4.60409, places=4)
        # A part without an end of its degrees is normal.
        normal = intervals.Estimate(0.0, ((1.0, math.inf),))
        self.assertAlmostEqual(normal.at().high, 1.95996, places=4)

    def test_the_committed_effects_are_known(self):
        for kind in ("time", "ratio", "peer"):
            self.assertEqual(
                set(intervals.EFFECTS[kind]), {"s_build", "build_degrees", "s_process", "process_degrees",
                           "s_run", "run_degrees"})


class OfSeeds(unittest.TestCase):
    def test_a_mean_over_seeds_has_students_interval_within_what_it_can_be(self):
        span = intervals.Seeds((1, 3)).at()
        self.assertAlmostEqual(span.high, 2 + T_1, 3)
        cut = intervals.Seeds((-1, -0.9), (-1, 1)).at()
        self.assertEqual((cut.value, cut.low), (-0.95, -1))
        self.assertAlmostEqual(cut.high, -0.95 + 0.05 * T_1, 3)
        # What is known of the effect is not better for the bound.
        self.assertAlmostEqual(
            intervals.Seeds((-1, -0.9), (-1, 1)).half_width(0.05), 0.05 * T_1, 3)

    def test_no_end_is_cut_off_before_the_value(self):
        span = intervals.Span(1.2, 0.9, 1.5).within(0, 1)
        self.assertEqual((span.low, span.high), (0.9, 1.2))

    def test_equal_seeds_are_no_certainty(self):
        for count, share in ((2, 1 - 0.05 ** 0.5), (8, 1 - 0.05 ** 0.125)):
            span = intervals.Seeds((-1,) * count, (-1, 1)).at(0.1)
            self.assertEqual(span.low, -1)
            self.assertAlmostEqual(span.high, -1 + 2 * share)
            self.assertAlmostEqual(
                intervals.Seeds((-1,) * count, (-1, 1)).half_width(0.1), share)
        # Where the number may be anything, equal seeds say nothing of the others.
        span = intervals.Seeds((3, 3)).at()
        self.assertEqual((span.low, span.high), (-math.inf, math.inf))

    def test_equal_seeds_hold_the_mean_as_often_as_they_say(self):
        # At the share that the bound allows, n equal seeds come as often as they may.
        count, miss = 4, 0.1
        bound = intervals.Seeds((0,) * count, (0, 1)).at(miss).high
        drawn = numpy.random.default_rng(1).random((100_000, count)) < bound
        self.assertAlmostEqual(numpy.mean(~drawn.any(axis=1)), miss / 2, 2)

    def test_one_seed_and_one_that_is_infinite_have_the_whole_range(self):
        for values in ((0.5,), (0.5, math.inf)):
            span = intervals.Seeds(values, (0, math.inf)).at()
            self.assertEqual((span.low, span.high), (0, math.inf))
            self.assertEqual(intervals.Seeds(values).half_width(0.1), math.inf)


class Coverage(unittest.TestCase):
    BUILD, RUN, ROUND = 0.03, 0.04, 0.02
    TIMES = 2000

    def covered(self, builds, rounds):
        """How often the interval holds the truth, 0, when times are normal and effects
        are known by as many builds and runs as the estimates are said to be of.
        """
        random = numpy.random.default_rng(5)
        held = 0
        for _ in range(self.TIMES):
            known_effects.use(self, *(
                size * math.sqrt(random.chisquare(degrees) / degrees)
                for size, degrees in ((self.BUILD, 19), (self.RUN, 10))))
            logs = (
                random.normal(0, self.RUN)
                + random.normal(0, self.BUILD, (builds, 1, 1))
                + random.normal(0, self.ROUND, (builds, 1, rounds)))
            span = intervals.estimate(logs, "ratio").at()
            held += span.low <= 0 <= span.high
            self.doCleanups()
        return held / self.TIMES

    def test_intervals_hold_the_truth_as_often_as_they_say(self):
        for builds, rounds in ((20, 5), (1, 20)):
            held = self.covered(builds, rounds)
            self.assertTrue(0.93 <= held <= 0.97, (builds, held))

    def test_intervals_of_rounds_hold_the_median_however_few_there_are(self):
        known_effects.use(self)
        random = numpy.random.default_rng(6)
        for rounds in (2, 3, 5, 10, 20):
            spans = [intervals.estimate(random.normal(0, 1, (1, 1, rounds)), "ratio").at()
                     for _ in range(self.TIMES)]
            held = sum(span.low <= 0 <= span.high for span in spans) / self.TIMES
            self.assertTrue(0.935 <= held <= 1, (rounds, held))
            if rounds >= 5:
                self.assertLess(held, 0.975)


class Linear(unittest.TestCase):
    def test_what_all_of_a_process_share_drops_out(self):
        known_effects.use(self)
        one, other = of_processes(0, 5, 1), of_processes(1, 6, 2.3)
        found = series.linear([other, one], (1, -1), series.TIME)
        self.assertAlmostEqual(found.value, 1.1)
        self.assertAlmostEqual(found.at().high - 1.1, T_2 * 0.1, places=4)

    def test_variances_of_single_processes_add_up(self):
        known_effects.use(self)
        one, other = of_rounds(0, 1, 2, 3, 4), of_rounds(10, 11, 12)
        errors = [intervals.center(some)[1][0] for some in (one, other)]
        found = series.linear([one, other], (2, -3), series.TIME)
        self.assertAlmostEqual(found.value, 2 * 2 - 3 * 11)
        parts = [part for part, _ in found.parts[:2]]
        numpy.testing.assert_allclose(parts, [4 * errors[0], 9 * errors[1]])
        # So do those of series with unlike processes.
        found = series.linear([one, of_processes(0, 1)], (1, 1), series.TIME)
        self.assertAlmostEqual(found.parts[1][0], 0.25)

    def test_a_cell_over_itself_is_exactly_one(self):
        cell = make_cell("soft", 4, 4)
        self.assertEqual(series.ratio(cell, cell).at().exp(), intervals.Span(1, 1, 1))
        span = series.ratio(cell, dict(cell)).at().exp()
        self.assertLess(span.low, span.value)

    def test_every_series_has_effects_of_its_own(self):
        known_effects.use(self, s_run=1)
        # A time has half the variance of a ratio: the ratio of two has that of one.
        for count, wanted in ((series.TIME, 1), (series.RATIO, 2)):
            for logs in (of_processes(0, 0, 0), of_rounds(0, 0, 0)):
                found = series.linear([logs, logs], (1, -1), count)
                self.assertAlmostEqual(sum(part for part, _ in found.parts), wanted)


class Logs(unittest.TestCase):
    def prepared(self, times, taken_off, **changes):
        cell = make_cell("memory", 4, 4, samples_ns=times, prepare_ns=1.0,
                         prepare_samples_ns=taken_off, **changes)
        return numpy.exp(series.logs(cell, without_preparation=True)).tolist()

    def test_preparation_is_taken_off_in_the_rounds_where_it_was_timed(self):
        self.assertEqual(
            [round(ns, 9) for ns in self.prepared([10, 20, 30], [1, 2, 4])[0][0]],
            [9, 18, 26])

    def test_preparation_of_other_rounds_is_taken_off_by_its_median_in_a_process(self):
        found = self.prepared([10, 20, 30, 40], [1, 1, 9, 2, 2, 9], processes=2)
        numpy.testing.assert_allclose(found, [[[9, 19], [28, 38]]])

    def test_preparation_that_takes_all_leaves_no_finite_logarithm(self):
        self.assertEqual(self.prepared([10, 20], [10, 25]), [[[0, 0]]])


class Redrawn(unittest.TestCase):
    SERIES = (of_rounds(0, 1, 2, 3, 40), of_processes(-1, 0, 2),
              of_processes(0, 1, 3).swapaxes(0, 1))

    def test_draws_lie_beyond_an_interval_as_often_as_it_says(self):
        known_effects.use(self)
        for one in self.SERIES:
            drawn = numpy.concatenate([
                series.redrawn([one], series.RATIO, [n], [n])[0] for n in range(10)])
            for miss in (0.05, 0.2):
                span = intervals.estimate(one, "ratio").at(miss)
                beyond = ((drawn < span.low) | (drawn > span.high)).mean()
                self.assertAlmostEqual(beyond, miss, delta=0.1 * miss)

    def test_series_of_the_same_rounds_move_together(self):
        known_effects.use(self)
        one, other = of_rounds(0, 1, 2, 3, 4), of_rounds(4, 3, 2, 1, 0)

        def correlation(some, rounds):
            return numpy.corrcoef(series.redrawn(some, series.TIME, rounds, [0, 1]))[0, 1]
        self.assertAlmostEqual(correlation([one, one], [7, 7]), 1)
        self.assertAlmostEqual(correlation([one, other], [7, 7]), -1)
        self.assertLess(abs(correlation([one, one], [7, 8])), 0.1)
        # A disturbed round counts as one: without it these have no correlation.
        one, other = of_rounds(-1, 1, -1, 1, 9), of_rounds(-1, -1, 1, 1, 9)
        self.assertLess(abs(correlation([one, other], [7, 7])), 0.8)

    def test_effects_move_every_series_by_itself(self):
        known_effects.use(self, s_run=1)
        still = of_processes(0, 0, 0)
        drawn = series.redrawn([still, still], series.TIME, [7, 7], [0, 1])
        self.assertLess(abs(numpy.corrcoef(drawn)[0, 1]), 0.2)
        self.assertAlmostEqual(drawn[0].std(), math.sqrt(0.5 * 10 / 8), delta=0.05)

    def test_a_time_itself_moves_with_the_machine(self):
        def width(has_state):
            span = series.figure([of_processes(0, 0)], 0.05, series.TIME,
                                 lambda logs: logs[0], has_state=has_state)
            return span.high - span.low
        self.assertGreater(width(True), 3 * width(False))

    def test_ends_of_draws_are_draws(self):
        drawn = [*range(1, 1000), math.inf]
        self.assertEqual(intervals.of_draws(drawn, 0.05), (25, 976))
        self.assertEqual(intervals.of_draws(drawn, 0.001), (1, math.inf))
        self.assertEqual(intervals.of_draws([math.inf] * 9, 0.05), (math.inf, math.inf))

    def test_rank_correlation_is_spearmans(self):
        random = numpy.random.default_rng(1)
        x, y = random.integers(5, size=20), random.integers(5, size=(20, 3))
        found = series.rank_correlation(x, y)
        for column, value in zip(y.T, found):
            self.assertAlmostEqual(stats.spearmanr(x, column).statistic, value)


class OneRule(unittest.TestCase):
    # Names of what ends of intervals are made of.
    OTHERS = re.compile(r"\b(t|norm|binom)\.\w+\(|\bsem\(|quantile\(|percentile\(|bootstrap")

    def test_no_other_file_makes_intervals(self):
        self.assertRegex(pathlib.Path(intervals.__file__).read_text(), self.OTHERS)
        for folder in ("plots", "python"):
            for path in pathlib.Path(ROOT, folder).rglob("*.py"):
                if path.name != "intervals.py":
                    self.assertNotRegex(path.read_text(), self.OTHERS, path)


if __name__ == "__main__":
    unittest.main()
