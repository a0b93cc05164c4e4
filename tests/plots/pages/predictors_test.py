"""Guards against a rank correlation with something else than what the threshold loses, of
runs that do not choose, or with an interval of seeds alone.
"""

import unittest

import numpy
from made_up import make_trained, make_trained_run
from plot_case import PlotTest

from attnbench.analysis import load, trained
from pages import predictors

# Alternative -> (lost, share of p that is not discrete) of each seed.
RUNS = {"a": ((1, 0.9), (2, 0.8)), "b": ((3, 0.7), (4, 0.6)), "c": ((5, 0.2), (6, 0.1))}


def document():
    runs = [make_trained_run(name, seed, 2.0, 2.0 + lost,
                             more={"discrete_share": share, "selected_mass": 0.5})
            for name, of_seeds in RUNS.items()
            for seed, (lost, share) in enumerate(of_seeds, 1)]
    return make_trained("stretch", [*runs, make_trained_run("soft", 1, 9.0, mechanism="soft")])


class Predictors(PlotTest):
    def test_a_row_has_the_correlation_with_the_loss_and_its_interval(self):
        text = predictors.table(trained.Runs(document()), "r.json")
        self.assertIn("stretch, 6 runs of 3 alternatives.", text)
        self.assertIn("| share of p outside 0.05 to 0.95 | -1.00 [-1.00, -1.00] |\n", text)
        # It is the same for all of them, and there is no such number.
        self.assertIn("| error by the expectation | 0.00 [0.00, 0.00] |\n", text)
        self.assertNotIn("entropy", text)

    def test_an_interval_is_of_alternatives_and_not_of_seeds(self):
        # A sample may have one alternative alone, and within each the order is reversed.
        numbers = [numpy.array([1.0, 0.0]), numpy.array([3.0, 2.0]), numpy.array([5.0, 4.0])]
        lost = [numpy.array([0.0, 1.0]), numpy.array([2.0, 3.0]), numpy.array([4.0, 5.0])]
        value, low, high = predictors.correlation(numbers, lost)
        self.assertAlmostEqual(value, 29 / 35)
        self.assertAlmostEqual(low, -1)
        self.assertAlmostEqual(high, 29 / 35)

    def test_a_result_of_few_alternatives_is_refused(self):
        made = document()
        made["runs"] = [run for run in made["runs"] if run["name"] != "a"]
        with self.assertRaisesRegex(load.DataError, "r.json: has no three alternatives"):
            predictors.table(trained.Runs(made), "r.json")


if __name__ == "__main__":
    unittest.main()
