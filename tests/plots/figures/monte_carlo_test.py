"""Guards against a picture of sampling errors whose slope is not that of the
errors, and against outputs without them."""

import os
import re
import subprocess
import unittest

from plot_case import ROOT, PlotTest


def output(mechanism="mocha", slope=-0.5, **changes):
    errors = [{"paths": 4**n, "batches": 4**(8 - n), "rms": 0.1 * (4**n) ** slope}
              for n in range(7)]
    sampled = {"paths": 4**8, "ap": {"mean": 0.501, "standard_error": 0.0005},
               "ap_errors": errors, **changes}
    return {"mechanism": mechanism, "variant": "exact", "context": [[1.0]],
            "latency": {"ap": 0.5, "sampled": sampled}}


class MonteCarloFigure(PlotTest):
    def test_outputs_of_expect_give_it(self):
        out = self.draws(self.write(output(), "a.json"),
                         self.write(output("matcha", -0.25), "b.json"))
        self.assertEqual(self.pictures(), ["monte_carlo.png", "monte_carlo.svg"])
        self.assertIn("  mocha: slope -0.50; 65536 paths: AP 0.501000, +2.00 "
                      "standard errors from the exact 0.500000\n", out)
        self.assertIn("  matcha: slope -0.25", out)
        words = self.svg("monte_carlo")
        for text in ("slope -1/2", "MoChA, slope -0.50", "MAtChA, slope -0.25", "at least 16 disjoint"):
            self.assertIn(text, words)

    def test_what_expect_prints_gives_it(self):
        printed = subprocess.run(
            [os.environ["ATTNBENCH"], "expect",
             ROOT / "tests" / "golden" / "mocha-long.json", "--latency-samples", "20000"],
            capture_output=True, text=True, check=True).stdout
        drawn = self.draws("--figure", "monte_carlo", self.write(printed, "mocha.json"))
        slope, errors = re.search(
            r"  mocha: slope (-0\.\d+); 20000 paths: AP 0\.\d+, "
            r"([-+]\d+\.\d+) standard errors", drawn).groups()
        self.assertAlmostEqual(float(slope), -0.5, delta=0.1)
        self.assertLess(abs(float(errors)), 5)

    def test_what_is_missing_is_named(self):
        plain = output()
        del plain["latency"]["sampled"]
        self.fails_with([self.write(plain)], "neither latency.sampled")
        plain["sharpness"] = [{"sharpness": s, "attention_distance": 0.5,
                               "context_distance": None} for s in (1, 2)]
        self.fails_with(["--figure", "monte_carlo", self.write(plain)],
                        "--latency-samples N")
        self.fails_with([self.write(output(ap_errors=[]))], "fewer than 2")
        self.fails_with([self.write(output(ap_errors=[{"paths": 1, "batches": 1}] * 2))],
                        "ap_errors[0]: rms must be above 0")


if __name__ == "__main__":
    unittest.main()
