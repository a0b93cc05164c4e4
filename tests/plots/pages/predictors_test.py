"""Guards against a rank correlation with something else than what the threshold loses, of
runs that do not choose, or with an interval of seeds alone.
"""

import contextlib
import io
import unittest

import numpy
from made_up import make_trained, make_trained_run
from plot_case import PlotTest

from attnbench.analysis import load
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
        text = predictors.table([(document(), "r.json")])
        self.assertIn("stretch, 6 runs of 3 alternatives.", text)
        self.assertIn("| share of p outside 0.05 to 0.95 | -1.00 [-1.00, -1.00] |\n", text)
        # It is the same for all of them, and there is no such number.
        self.assertIn("| error by the expectation | 0.00 [0.00, 0.00] |\n", text)
        self.assertNotIn("entropy", text)

    def test_each_result_has_a_column_and_a_dash_for_what_it_lacks(self):
        other = document()
        other.update(experiment="copy", quick=True)
        other["runs"] = [run for run in other["runs"] if run["name"] != "soft"]
        for run in other["runs"]:
            run["result"].update(choice_entropy=run["result"]["hard_error"], selected_mass=None)
        paths = self.write(document(), "a.json"), self.write(other, "b.json")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(predictors.main(list(map(str, paths))), 0)
        first, second, head, *rows = filter(None, out.getvalue().splitlines())
        self.assertIn("stretch, 6 runs of 3 alternatives.", first)
        self.assertIn("copy, quick, 6 runs of 3 alternatives.", second)
        self.assertEqual(head, "| rank correlation of the loss with | stretch | copy, quick |")
        self.assertEqual(rows[1:], [
            "| share of p outside 0.05 to 0.95 | -1.00 [-1.00, -1.00] | -1.00 [-1.00, -1.00] |",
            "| entropy of alpha | – | 1.00 [1.00, 1.00] |",
            "| error by the expectation | 0.00 [0.00, 0.00] | 0.00 [0.00, 0.00] |",
            "| probability that an output chooses an entry | 0.00 [0.00, 0.00] | – |"])

    def test_an_interval_is_of_alternatives_and_not_of_seeds(self):
        # A sample may have one alternative alone, and within each the order is reversed.
        numbers = [numpy.array([1.0, 0.0]), numpy.array([3.0, 2.0]), numpy.array([5.0, 4.0])]
        lost = [numpy.array([0.0, 1.0]), numpy.array([2.0, 3.0]), numpy.array([4.0, 5.0])]
        value, low, high = predictors.correlation(numbers, lost)
        self.assertAlmostEqual(value, 29 / 35)
        self.assertAlmostEqual(low, -1)
        self.assertAlmostEqual(high, 29 / 35)

    def test_runs_are_compared_with_those_on_the_same_data(self):
        numbers, data = [numpy.array([1, 12]), numpy.array([3, 10])], [["x", "y"]] * 2
        for found, wanted in zip(predictors.within(numbers, data), ([-1, 1], [1, -1]),
                                 strict=True):
            self.assertEqual(list(found), wanted)
        # Models of folder y lose far more, whatever their p.
        made = document()
        lost, shares = iter((31.5, 34, 37)), iter((0.85, 0.62, 0.05))
        for run in made["runs"]:
            run["settings"]["data"] = "xy"[run["seed"] - 1]
            if run["seed"] == 2:
                run["result"].update(hard_error=0.02 + next(lost) / 100,
                                     discrete_share=next(shares))
        self.assertIn("| share of p outside 0.05 to 0.95 | -1.00 [-1.00, -1.00] |\n",
                      predictors.table([(made, "r.json")]))

    def test_a_result_of_few_alternatives_is_refused(self):
        made = document()
        made["runs"] = [run for run in made["runs"] if run["name"] != "a"]
        with self.assertRaisesRegex(load.DataError, "r.json: has no three alternatives"):
            predictors.table([(document(), "a.json"), (made, "r.json")])


if __name__ == "__main__":
    unittest.main()
