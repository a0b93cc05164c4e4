"""Guards against a report on a file that is no result, and against one that replaces a
file unasked: exit code 2, one line that names the file, and nothing written.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import made_up
import results
from parsed import Page
from results import ReportCase

PROGRAM = os.environ["ATTNBENCH"]


class WrongInput(ReportCase):
    def setUp(self):
        super().setUp()
        self.good = self.write(results.sweep(results.plain_cells()), "good.json")
        self.out = str(self.folder / "report.html")

    def refused_file(self, content, *messages):
        path = self.write(content, "bad.json")
        self.refused([self.good, path, "-o", self.out], path, *messages)

    def test_a_file_that_is_no_result(self):
        absent = str(self.folder / "absent.json")
        self.refused([absent, "-o", self.out], f"{absent}: cannot be read")
        good = json.loads(pathlib.Path(self.good).read_text())
        self.refused_file({**good, "kind": "newcomer"}, "kind is 'newcomer', it must be one of 'sweep'")

    def test_a_page_that_is_there_is_replaced_only_by_force(self):
        pathlib.Path(self.out).write_text("mine")
        self.refused([self.good, "-o", self.out], self.out, "--force replaces it")
        self.assertEqual(pathlib.Path(self.out).read_text(), "mine")
        code, error = self.run_report(self.good, "-o", self.out, "--force")
        self.assertEqual((code, error), (0, ""))
        self.assertIn("<!DOCTYPE html>", pathlib.Path(self.out).read_text())

    def test_links_that_lead_round_in_a_circle(self):
        one, two = self.folder / "one.json", self.folder / "two.json"
        one.symlink_to(two)
        two.symlink_to(one)
        self.refused([str(one), "-o", self.out], "one.json: cannot be read")
        self.refused([self.good, "-o", str(two), "--force"], "two.json", "not a file")
        self.refused([self.good, "-o", str(one / "r.html")], "no folder")

    def test_a_place_that_cannot_be_written(self):
        self.refused([self.good, "-o", str(self.folder)], "not a file")
        nowhere = str(self.folder / "nowhere" / "report.html")
        self.refused([self.good, "-o", nowhere, "--force"], nowhere, "no folder")
        # Not even root may write there.
        self.refused([self.good, "-o", "/proc/report.html"],
                     "/proc/report.html: cannot be written")

    # ---- the command --------------------------------------------------------

    def attnbench(self, *arguments, **keywords):
        return subprocess.run([PROGRAM, "report", *arguments], cwd=self.folder,
                              capture_output=True, text=True, timeout=120,
                              check=False, **keywords)

    def test_the_command_writes_the_page(self):
        done = self.attnbench("good.json", "-o", "-odd.html", "--title", "--odd <")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        page = (self.folder / "-odd.html").read_text()
        self.assertIn("<h1>--odd &lt;</h1>", page)

    def test_settings_of_matplotlib_are_of_no_consequence(self):
        self.write(results.sweep(made_up.mocha_cells((10, 20))), "sweep.json")
        pages = []
        for name, backend, settings in (
                ("plain.html", "Agg", ""),
                ("odd.html", "nonsense", "lines.linewidth: 9\nfont.size: 30\n")):
            (self.folder / "matplotlibrc").write_text(settings)
            done = self.attnbench("sweep.json", "-o", name,
                                  env={**os.environ, "MPLBACKEND": backend})
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            pages.append((self.folder / name).read_text())
        self.assertEqual(len(Page(pages[0]).named("svg")), 1)
        self.assertEqual(*pages)
        # An existing file stays even if it cannot be read.
        (self.folder / "matplotlibrc").write_bytes(b"\xff: \xff")
        done = self.attnbench("sweep.json", "-o", "odd.html", "--force")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_command_passes_on_what_is_wrong(self):
        for arguments, message in (
            (["absent.json", "-o", "r.html"], "absent.json: cannot be read"),
            (["-o", "r.html"], "a result is needed"),
            (["good.json"], "--output: is needed"),
            (["good.json", "--titel", "x"], "did you mean '--title'?"),
        ):
            done = self.attnbench(*arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn(message, done.stderr)
        self.assertEqual(os.listdir(self.folder), ["good.json"])

    def test_missing_packages_are_named(self):
        blocked = self.folder / "blocked"
        blocked.mkdir()
        (blocked / "matplotlib.py").write_text("raise ImportError('no matplotlib')")
        done = self.attnbench("good.json", "-o", "r.html",
                              env={**os.environ, "PYTHONPATH": str(blocked)})
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("no matplotlib; attnbench report needs numpy", done.stderr)

    def test_a_defect_is_an_internal_error_and_no_finding(self):
        broken = self.folder / "broken"
        broken.mkdir()
        (broken / "sitecustomize.py").write_text(
            "import tempfile\ndef fail(*a, **k): raise RuntimeError('a defect')\n"
            "tempfile.mkstemp = fail")
        done = subprocess.run(
            [sys.executable, results.ROOT / "plots" / "report.py", self.good,
             "-o", self.out],
            env={**os.environ, "PYTHONPATH": str(broken)},
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("internal error", done.stderr)


if __name__ == "__main__":
    unittest.main()
