"""Guards against a picture of sampling errors whose slope is not that of the
errors, and against outputs without them."""

import os
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
        self.assertIn("  mocha, a.json: slope -0.50; 65536 paths: AP 0.501000, +2.00 "
                      "standard errors from the exact 0.500000\n", out)
        self.assertIn("  matcha, b.json: slope -0.25", out)
        words = self.svg("monte_carlo")
        for text in ("slope -1/2", "mocha, a.json: -0.50", "at least 16 disjoint"):
            self.assertIn(text, words)

    def test_the_page_quotes_what_is_drawn(self):
        paths = []
        for mechanism in ("monotonic", "mocha", "matcha"):
            printed = subprocess.run(
                [os.environ["ATTNBENCH"], "expect",
                 ROOT / "tests" / "golden" / f"{mechanism}-long.json",
                 "--latency-samples", "20000"],
                capture_output=True, text=True, check=True).stdout
            paths.append(self.write(printed, f"{mechanism}.json"))
        drawn = self.draws("--figure", "monte_carlo", *paths)
        page = (ROOT / "docs" / "latency.md").read_text()
        for line in drawn.splitlines():
            if line.startswith("  "):
                self.assertIn(line + "\n", page)

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
