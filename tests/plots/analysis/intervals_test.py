"""Guards against intervals that are not SciPy's, or not those of the program: the table
tests/harness/stats/intervals.json, which the program is held to, is made again."""

import math
import pathlib
import unittest

import numpy
from documents import read
from scipy import stats

from analysis import ROOT, intervals, series

TABLE = read("tests", "harness", "stats", "intervals.json")


class AgainstSciPy(unittest.TestCase):
    def scipys(self, logs, miss):
        """(low, high), without a line of ours."""
        n = len(logs)
        ordered = numpy.sort(logs)
        if 2 * stats.binom.cdf(0, n, 0.5) <= miss:
            rank = max(1, int(stats.binom.ppf(miss / 2, n, 0.5)))
            return ordered[rank - 1], ordered[n - rank]
        if not stats.sem(logs):
            return ordered[0], ordered[0]
        return stats.t.interval(
            1 - miss, n - 1, loc=numpy.mean(logs), scale=stats.sem(logs))

    def test_the_table_that_the_program_is_held_to_is_scipys(self):
        self.assertGreater(len(TABLE), 20)
        for row in TABLE:
            if len(row["values"]) == 1:
                self.assertEqual((row["low"], row["high"]), (None, None))
                continue
            low, high = numpy.exp(self.scipys(numpy.log(row["values"]), row["miss"]))
            self.assertAlmostEqual(low / row["low"], 1, delta=1e-8, msg=row)
            self.assertAlmostEqual(high / row["high"], 1, delta=1e-8, msg=row)

    def test_ours_are_those_of_the_table(self):
        for row in TABLE:
            low, high = intervals.log_center_interval(numpy.log(row["values"]), row["miss"])
            if row["low"] is None:
                self.assertEqual((low, high), (-math.inf, math.inf))
                continue
            self.assertAlmostEqual(low, math.log(row["low"]), places=8)
            self.assertAlmostEqual(high, math.log(row["high"]), places=8)

    def test_rank_correlation_is_spearmans(self):
        random = numpy.random.default_rng(1)
        x, y = random.integers(5, size=20), random.integers(5, size=(20, 3))
        found = series.rank_correlation(x, y)
        for column, value in zip(y.T, found):
            self.assertAlmostEqual(stats.spearmanr(x, column).statistic, value)

    def test_layout_moves_as_much_here_as_in_the_program(self):
        header = pathlib.Path(ROOT, "harness", "stats", "statistics.h").read_text()
        self.assertIn(f"kLayoutFactor = {intervals.LAYOUT_FACTOR};", header)
        self.assertIn(f"kLeastProcesses = {intervals.LEAST_PROCESSES};", header)
        self.assertIn(f"kMiss = {intervals.MISS};", header)


class Redrawn(unittest.TestCase):
    # Of 5 values the range misses the median in one of 16 cases.
    def test_few_values_lie_beyond_their_interval_as_often_as_it_says(self):
        few = numpy.arange(-2.0, 3)
        random = numpy.random.default_rng(1)
        times = 10 * series.RESAMPLES
        for miss in (0.05, 0.005):
            low, high = intervals.log_center_interval(few, miss)
            drawn = numpy.concatenate(
                [series.redrawn_centers(few, miss, random) for _ in range(10)])
            # Within four standard deviations of a count.
            expected = times * miss / 2
            for beyond in (drawn < low, drawn > high):
                self.assertAlmostEqual(
                    int(beyond.sum()), expected, delta=4 * math.sqrt(expected))

    def test_many_values_have_their_medians(self):
        drawn = numpy.sort(series.redrawn_centers(
            numpy.arange(40.0), 0.05, numpy.random.default_rng(1)))
        self.assertGreater(drawn[0], 5)
        self.assertLess(drawn[-1], 34)
        # The standard deviation of the median of 40 uniform values is 40 / 13.
        self.assertAlmostEqual(drawn[1950] - drawn[50], 2 * 1.96 * 40 / 13, delta=2.5)


if __name__ == "__main__":
    unittest.main()
