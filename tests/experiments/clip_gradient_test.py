"""Guards against gradients of clipped forms that are compared with one that is not exact, and
against a page that tells other numbers.
"""

import contextlib
import io
import math
import os
import statistics
import sys
import unittest

import torch

from attnbench.analysis import ROOT
from attnbench.analysis.trained import Runs
from documents import read, text, validate
from in_folder import InFolder

sys.path.insert(0, os.path.join(ROOT, "experiments", "training"))

import clip_gradient  # noqa: E402, in a folder that the line before names


class ClipGradient(InFolder):
    def test_the_committed_rows_are_made_again_and_its_table_is_on_the_page(self):
        result = read("results/clip_gradient.json")
        with contextlib.redirect_stdout(io.StringIO()) as told:
            clip_gradient.main(["-o", self.path("r.json")])
        again = read(self.path("r.json"))
        validate(again, "clip_gradient")
        made = again["rows"]
        self.assertEqual(told.getvalue(), clip_gradient.table(made))
        self.assertEqual(len(made), len(result["rows"]))
        for row, committed in zip(made, result["rows"]):
            with self.subTest(form=row["form"], energy=row["energy"]):
                for name, value in committed.items():
                    if isinstance(value, float):
                        self.assertAlmostEqual(row[name], value, places=4)
                    else:
                        self.assertEqual(row[name], value)
        self.assertIn(clip_gradient.table(result["rows"]), text("docs/clipping.md"))

    def test_the_shares_of_p_on_the_page_are_those_of_the_trained_models(self):
        runs, page = Runs(read("results/training/clipping.json")), text("docs/clipping.md")
        large = {name: 100 * statistics.mean(run["result"]["p_histogram"][-1]
                                             for run in runs.finished(name))
                 for name in runs.names}
        self.assertIn(f"p above 0.95 is {large['exact']:.1f} % with the exact", page)
        for name in ("exact_noise0", "clip_1e-10", "clip_1e-6", "clip_1e-4"):
            self.assertEqual("0.0", f"{large[name]:.1f}", name)
        self.assertIn(f"{large['denominator_1']:.1f} % are above 0.95", page)

    def test_the_exact_gradient_is_that_of_the_entries_that_are_read(self):
        _, found = clip_gradient.gradient(clip_gradient.exact, 9)
        wanted = torch.zeros(clip_gradient.MEMORY_LENGTH, dtype=torch.double)
        # -log alpha is -log p of the target less log(1 - p) of each entry from start on.
        wanted[clip_gradient.TARGET] = 1 / (1 + math.exp(-clip_gradient.OF_TARGET)) - 1
        wanted[clip_gradient.START:clip_gradient.TARGET] = 1 / (
            1 + math.exp(-clip_gradient.OTHERS))
        self.assertTrue(torch.allclose(found, wanted, atol=1e-6), found)


if __name__ == "__main__":
    unittest.main()
