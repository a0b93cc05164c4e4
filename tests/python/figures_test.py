"""Guards against a figure that is not the one of plots/draw.py, or that no notebook shows,
and against a package that changes what its user has set.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import attnbench
import figures
import made_up
from documents import ROOT
from matplotlib.figure import Figure

FIGURE3 = os.path.join(ROOT, "results", "claims", "figure3.json")
VERIFY = os.path.join(ROOT, "results", "verify_mocha.json")
EXPECTED = [os.path.join(ROOT, "results", f"expect_{name}.json")
            for name in ("mocha", "matcha")]

# A user with a module of their own that is called as one of ours, and settings.
USER = """
import os, sys
import matplotlib
matplotlib.rcParams["font.size"] = 23
os.environ["MPLBACKEND"] = "svg"
import figures
state = lambda: (dict(matplotlib.rcParams.copy()), list(sys.path), os.getcwd(),
                 os.environ["MPLBACKEND"], sys.modules["figures"])
before = state()
import attnbench
drawn = attnbench.draw("mocha_figure3", sys.argv[1])
faster = attnbench.speedups(sys.argv[1])
assert state() == before
import figures as again
assert again is figures and figures.MINE == 5
from matplotlib import pyplot
pyplot.figure()
print(drawn.axes[0].get_ylabel(), faster["speedup"].max() > 1)
"""


class Figures(unittest.TestCase):
    def test_those_that_fit_are_named(self):
        self.assertEqual(list(attnbench.figures()), list(figures.FIGURES))
        fitting = attnbench.figures(FIGURE3)
        self.assertEqual(fitting["mocha_figure3"], figures.FIGURES["mocha_figure3"].needs)
        self.assertNotIn("stability", fitting)
        self.assertEqual(list(attnbench.figures(EXPECTED)), ["monte_carlo", "sharpness"])

    def test_one_is_drawn_and_shown(self):
        figure = attnbench.draw("mocha_figure3", FIGURE3)
        self.assertIsInstance(figure, Figure)
        self.assertEqual(figure.axes[1].get_ylabel(), "speed-up over soft")
        self.assertEqual(figure._repr_png_()[:8], b"\x89PNG\r\n\x1a\n")
        several = attnbench.draw("sharpness", EXPECTED)
        self.assertEqual(several.axes[0].get_xlabel().split()[0], "sharpness")

    def test_a_result_that_is_not_valid_is_marked(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            document = made_up.make_document(made_up.mocha_cells([10, 20]))
            document["context"].update(valid=False, invalid_reasons=["a debug build"])
            with open(path, "w", encoding="utf-8") as file:
                json.dump(document, file)
            figure = attnbench.draw("mocha_figure3", path)
        self.assertIn("INVALID: see below", [text.get_text() for text in figure.texts])

    def test_what_cannot_be_drawn_is_an_error(self):
        for arguments, *parts in (
            (("mocha_figure", FIGURE3), "unknown figure 'mocha_figure'",
             "did you mean 'mocha_figure3'"),
            (("threads", FIGURE3), FIGURE3),
            (("stability", FIGURE3), FIGURE3, "needs a result of `attnbench stability`"),
            (("mocha_figure3", VERIFY), VERIFY, "kind is 'verify'"),
            (("mocha_figure3", [FIGURE3, FIGURE3]), "2 files", "attnbench merge"),
            (("mocha_figure3", []), "paths: is empty"),
        ):
            with self.assertRaises(attnbench.DataError) as caught:
                attnbench.draw(*arguments)
            for part in parts:
                self.assertIn(part, str(caught.exception))

    def test_what_the_user_has_stays_as_it_was(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "figures.py"), "w", encoding="utf-8") as file:
                file.write("MINE = 5\n")
            done = subprocess.run(
                [sys.executable, "-c", USER, FIGURE3], cwd=folder, check=False,
                env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")},
                capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout),
                         (0, "time of all U outputs True\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
