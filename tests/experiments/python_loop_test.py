"""Guards against loops of training that are timed or compared and are of different models, and
against a page that tells other numbers.
"""

import os
import sys
import unittest

import torch

from attnbench.analysis import ROOT, intervals
from attnbench.analysis.trained import Runs
from documents import read, text

sys.path.insert(0, os.path.join(ROOT, "experiments", "training"))

import python_loop  # noqa: E402, in a folder that the line before names


class PythonLoop(unittest.TestCase):
    def test_both_models_in_python_are_one_model(self):
        closed, ours = python_loop.UsersLoop(False).model, python_loop.UsersLoop(True).model
        source, before = torch.randint(python_loop.SYMBOLS, (2, 2, 9))
        logits = []
        for model in (closed, ours):
            torch.manual_seed(1)
            # The noise has another shape but the same numbers in the same order.
            logits.append(model(source, before))
        self.assertTrue(torch.allclose(*logits, atol=1e-4))

    def test_the_page_on_training_quotes_the_committed_result(self):
        page, result = text("docs/training.md"), read("results/python_loop.json")
        loops = {loop["name"]: loop for loop in result["loops"]
                 if loop["model"] == python_loop.TASK}
        self.assertIn(f"takes {loops['trainer']['step_ms']:.1f} ms on one thread", page)
        for name, words in (("python_closed_form", "{} as long with the closed form"),
                            ("python_operators", "{} as long with [our operators]")):
            value, low, high = loops[name]["over_trainer"]
            self.assertIn(words.format(f"{value:.2f} times [{low:.2f}, {high:.2f}]"), page)

    def test_the_page_on_training_quotes_how_far_both_loops_are_apart(self):
        page, half_widths = text("docs/training.md"), []
        for experiment, names in (("stretch", ("noise0", "noise1")), ("fed", ("noise1",))):
            both = [Runs(read(f"results/two_loops/{experiment}_{loop}.json"))
                    for loop in ("python", "cpp")]
            for name in names:
                python, cpp = (runs.values(name, "threshold") for runs in both)
                self.assertEqual(len(python), 8)
                found = intervals.Seeds(tuple(python - cpp))
                span = found.at()
                half_widths.append(f"{found.half_width(intervals.MISS):.2f}")
                self.assertIn(f"{span.value:+.2f} [{span.low:.2f}, {span.high:.2f}]", page)
                # By the expectation they are nearer still.
                python, cpp = (runs.values(name, "expected") for runs in both)
                span = intervals.Seeds(tuple(python - cpp)).at()
                self.assertLess(max(-span.low, span.high), 0.08)
        self.assertIn("{}, {} and {} points".format(*half_widths), page)


if __name__ == "__main__":
    unittest.main()
