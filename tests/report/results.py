"""Made-up results of every kind, and pages made of them, for the tests of
`attnbench report`.
"""

import contextlib
import io
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# scripts/check.sh runs each test of this folder by itself. What PYTHONPATH names comes first.
sys.path += [str(ROOT / "plots"), str(ROOT / "python"), str(ROOT / "tests" / "plots")]

from plot_case import PlotTest
import made_up
import made_up_claims
from pages import report
from parsed import Page

# The page must show this text and not obey it.
HOSTILE = '</script><b id="out">&amp;"\'<!-- \u2028'
POINTS = ["0123456789abcdef", "fedcba9876543210"]


def sweep(cells, **context):
    document = made_up.make_document(cells)
    document["context"].update(context)
    return document


def plain_cells():
    """Cells that make no figure, which is quicker."""
    return [
        made_up.make_cell("soft", t, 5, samples_ns=[10.0 * t + i for i in range(12)])
        for t in (10, 20, 30)
    ]


def peers_cells():
    """Cells of ours and of a framework at two T, one that the framework failed, and one
    alone.
    """
    rounds = [100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0]
    cells = []
    for t, factor in ((10, 3), (100, 5)):
        cells.append(made_up.make_cell("soft", t, 10, samples_ns=rounds))
        cells.append(made_up.make_cell(
            "soft", t, 10, variant="framework",
            samples_ns=[factor * ns for ns in rounds]))
    cells.append(made_up.make_cell("monotonic", 10, 10))
    stopped = made_up.make_cell("monotonic", 10, 10, variant="framework")
    made_up.stop(stopped, "timeout", "took longer than 2 s")
    alone = made_up.make_cell("memory", 10, 10, variant="framework_compiled")
    return [*cells, stopped, alone]


def hostile_cells():
    cells = [
        made_up.make_cell(name, t, t, options={HOSTILE: HOSTILE}, time_ns=10.0 * t)
        for t in (10, 20)
        for name in ("soft", HOSTILE)
    ]
    made_up.stop(cells[-1], "error", HOSTILE)
    return cells


def verify():
    """A failed verification, with lists of records inside records."""
    worst = {"place": "output 1", "row": 1, "column": None, "previous": None,
             "expected": 0.5, "seen": 0.25, "p_value": None}
    quantity = {"what": "selection", "comparisons": 4, "worst": worst, "tolerance": 1e-12,
                "largest_error": 0.25, "detectable": 0, "verdict": "passed"}
    case = {"mechanism": "mocha", "case": "T = 3", "method": "enumeration",
            "scores": "uniform", "from_states": False, "memory_length": 3,
            "output_length": 2, "trials": 9, "chi_square": None,
            "quantities": [quantity, {**quantity, "what": "attention",
                                      "verdict": "failed"}],
            "failure": None, "verdict": "failed"}
    return made_up.make_result(
        "verify", false_alarm_rate=1e-6, power=0.99, trials=9, comparisons=12,
        sampled_comparisons=0, verdict="failed", worst="mocha, attention",
        not_verified=["soft"],
        cases=[case, {**case, "mechanism": "matcha", "quantities": [quantity],
                      "verdict": "passed"}])


def claims():
    document = made_up_claims.document()
    return {**document, "claims": document["claims"][:2]}


def computed(**inputs):
    """A result whose inputs may be anything."""
    row = {"labels": {}, "value": 1, "interval": None, "why": None}
    document = made_up.make_result("computed", quantities=[
        {**row, "name": "first", "inputs": {"answer": 42, "numbers": [1, 2, 3]}},
        {**row, "name": "second", "inputs": {"c": {"d": True}, **inputs}}])
    document["context"]["cpu"] = "Another Processor"
    return document


class ReportCase(PlotTest):
    def run_report(self, *arguments):
        """Runs the command; gives (exit code, stderr)."""
        error = io.StringIO()
        with contextlib.redirect_stderr(error):
            try:
                code = report.main(list(arguments))
            except SystemExit as stopped:
                code = stopped.code
        return code, error.getvalue()

    def page(self, *documents, name="report.html", title="attnbench report", names=()):
        """Gives the path of the page of these documents, the last of which has all `names`
        too.
        """
        paths = [
            self.write(document, f"{number}.json")
            for number, document in enumerate(documents)
        ]
        paths += [self.write(documents[-1], name) for name in names]
        path = self.folder / name
        code, error = self.run_report(
            *paths, "-o", str(path), "--title", title, "--force"
        )
        self.assertEqual((code, error), (0, ""))
        return path

    def read(self, *documents, **keywords):
        return Page(self.page(*documents, **keywords).read_text())

    def refused(self, arguments, *messages):
        """Expects exit code 2, one line with all of `messages`, and no page."""
        before = sorted(os.listdir(self.folder))
        code, error = self.run_report(*arguments)
        self.assertEqual(code, 2, error)
        self.assertEqual(error.count("\n"), 1, error)
        self.assertTrue(error.startswith("attnbench: "), error)
        for message in messages:
            self.assertIn(message, error)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
