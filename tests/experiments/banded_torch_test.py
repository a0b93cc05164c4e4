"""Guards against a band that is timed beside attention of other numbers."""

import os
import sys
import unittest

import torch

from attnbench.analysis import ROOT
from documents import read, text

sys.path.insert(0, os.path.join(ROOT, "experiments", "training"))

import banded_torch  # noqa: E402, in a folder that the line before names


class BandedTorch(unittest.TestCase):
    def test_energies_are_those_of_symbols(self):
        inputs = banded_torch.Inputs(**banded_torch.QUICK)
        energy = inputs.module.energy
        with torch.no_grad():
            found = energy(inputs.states, energy.make_keys(inputs.memory))
        is_match = found > 0
        for sign, part in ((1, found[is_match]), (-1, found[~is_match])):
            self.assertAlmostEqual(float(part.mean()), sign * banded_torch.SHARPNESS, delta=1)
            self.assertLess(float(part.std()), 4)
        symbols = banded_torch.QUICK["memory_length"] / banded_torch.QUICK["output_length"] + 1
        self.assertAlmostEqual(float(is_match.float().mean()), 1 / symbols, delta=0.02)

    def test_both_ways_compute_the_same(self):
        inputs = banded_torch.Inputs(**banded_torch.QUICK)
        with torch.no_grad():
            error = (inputs.dense() - inputs.banded()).abs().sum(2).max()
            self.assertLess(float(error), 0.1)
        self.assertLess(inputs.share(), 0.3)

    def test_the_page_on_the_band_quotes_the_committed_result(self):
        page, result = text("docs/banded.md"), read("results/banded_torch.json")
        rows = {(row["computed_by"], row["with_gradient"]): row for row in result["rows"]}
        for path, name in (("program", "variant `banded`"), ("native", "native path"),
                           ("portable", "portable path")):
            forward, gradient = (
                "{:.1f}x [{:.1f}, {:.1f}]".format(*rows[path, with_gradient]["speedup"])
                for with_gradient in (False, True))
            share = 1 / rows[path, False]["energies_share"]
            if path == "native":
                kept = [rows["native", w]["speedup"][0] / rows["program", w]["speedup"][0]
                        for w in (False, True)]
                self.assertIn("keeps {:.0%} of the variant's speed-up forward and {:.0%} with"
                              .format(*kept).replace("%", " %"), page)
            self.assertIn(f"| {name} | 1/{share:.0f} | {forward} | {gradient} |\n", page)


if __name__ == "__main__":
    unittest.main()
