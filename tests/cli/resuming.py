"""What tests of runs that are stopped, resumed or shared share: a resumed run must write
what one run would have written.
"""

import functools
import json
import os
import signal
import subprocess
import tempfile

from documents import validate
from in_folder import InFolder

PROGRAM = os.environ["ATTNBENCH"]


def changed(grid, **options):
    """Gives the grid with other values of these options."""
    grid = list(grid)
    for name, value in options.items():
        grid[grid.index("-" + name) + 1] = value
    return grid


# The grid has 12 points of 2 cells.
GRID = ["run-sweep", "--mechanism", "soft,monotonic", "-T", "3:14:1", "-U", "2",
        "-d", "4", "--repetitions", "2", "-o", "r.json"]
POINTS = 12
# The grid has 50 points. One takes 20 ms on any machine: a sample lasts a
# millisecond.
MANY = changed(GRID, T="3:52:1")
# This point takes longer than any test waits.
LONG = ["run-sweep", "--mechanism", "soft", "-T", "100000", "-U", "3000", "-o", "r.json"]


def figures(cell):
    """Gives the parts of a result that do not depend on the clock."""
    clocks = {"spread", "limit", "trials_per_sample", "page_faults"}
    return {key: value for key, value in cell.items()
            if key not in clocks and not key.endswith("_ns")}


def whole(grid=tuple(GRID)):
    """Gives the result of a single run, at one clock, whatever the machine's was: a resumed
    run measures points of another clock again.
    """
    return _whole(grid)


@functools.cache
def _whole(grid):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PROGRAM, *grid], cwd=folder, check=True, capture_output=True)
        with open(os.path.join(folder, "r.json"), encoding="utf-8") as file:
            document = json.load(file)
    document["context"]["calibration"] = _at_clocks({}, document["context"])
    return document


def clocks(factors=None, grid=tuple(GRID)):
    """Gives the calibration of a grid's points at one clock, but for some: factors has
    how many times as long the work took at point n.
    """
    return _at_clocks(factors or {}, whole(grid)["context"])


def _at_clocks(factors, context):
    entries = sorted(context["calibration"], key=lambda entry: entry["median_ns"])
    one = entries[len(entries) // 2]
    factors = [factors.get(n, 1) for n in range(len(context["points"]))]
    return [{**one, "point": point, "median_ns": one["median_ns"] * factor,
             "samples_ns": [ns * factor for ns in one["samples_ns"]]}
            for point, factor in zip(context["points"], factors)]


def journal_line(record, number):
    """Makes a line of the journal as harness/campaign/journal.h describes it."""
    text = json.dumps(record).encode()
    checksum = 0xCBF29CE484222325
    for byte in b"%d %s" % (number, text):
        checksum = (checksum ^ byte) * 0x100000001B3 % 2**64
    return b"%016x %s\n" % (checksum, text)


def on_one_clock(test):
    """Repeats a test that failed while the processor's clock drifted: a resumed run measures
    points of another clock again, and then they are its own.
    """
    @functools.wraps(test)
    def repeated(self):
        for _ in range(20):
            self.has_drifted = False
            try:
                return test(self)
            except AssertionError:
                if not self.has_drifted:
                    raise
            # The clock may have gone for good from what these results were measured at.
            _whole.cache_clear()
            self.begin()
        self.fail("the clock drifted every time")

    return repeated


class ResumeTest(InFolder):
    def setUp(self):
        super().setUp()
        self.begin()

    def begin(self):
        self.folder = self.new_folder()
        self.journal = self.path("r.json.journal")
        self.has_drifted = False

    def run_grid(self, *arguments, grid=None, status=0, **keywords):
        done = subprocess.run([PROGRAM, *(grid or GRID), *arguments], cwd=self.folder, text=True,
                              capture_output=True, timeout=600, check=False, **keywords)
        self.has_drifted |= "% between points; " in done.stderr
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def start(self, *arguments, grid=None):
        return subprocess.Popen([PROGRAM, *(grid or GRID), *arguments], cwd=self.folder,
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def started(self, points, *arguments, grid=None):
        """Starts a run and waits until it has told of this many finished points."""
        run = self.start(*arguments, grid=grid)
        while points > 0:
            line = run.stderr.readline()
            self.assertNotEqual(line, "", "ended before that")
            points -= line.startswith("[")
        return run

    def wait_for_a_point(self, run):
        for line in iter(run.stderr.readline, ""):
            if "point" in line:
                return
        self.fail("ended before that")

    def stopped(self, points, sent, *arguments):
        """Stops a run with a signal after this many points; gives its exit code and
        output.
        """
        for _ in range(20):
            with self.started(points, *arguments) as run:
                run.send_signal(sent)
                out, _ = run.communicate(timeout=600)
            if run.returncode != 0:
                return run.returncode, out
            # The run was faster than the test.
            os.remove(self.path("r.json"))
        self.fail("no run could be stopped")

    def read(self, name="r.json"):
        with open(self.path(name), encoding="utf-8") as file:
            document = json.load(file)
        validate(document, "sweep")
        return document

    def expect_whole(self, grid=None, runs=None):
        """Expects that the result has the cells of one run, and that nothing else is
        left.
        """
        self.assertEqual(os.listdir(self.folder), ["r.json"])
        document = self.read()
        context = document["context"]
        one = whole(tuple(grid or GRID))
        self.assertEqual([figures(c) for c in document["cells"]],
                         [figures(c) for c in one["cells"]])
        self.assertEqual(context["points"], one["context"]["points"])
        self.assertNotIn("interrupted", str(context["invalid_reasons"]))
        self.assertEqual([c["point"] for c in context["calibration"]], context["points"])
        # Every point comes from one run.
        if runs is not None:
            self.assertEqual(len(context["runs"]), runs)
        self.assertEqual(sorted(point for run in context["runs"] for point in run["points"]),
                         sorted(context["points"]))
        self.assertEqual(context["date"], context["runs"][0]["date"])
        return document

    def write(self, document, name="r.json"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(document, file)

    def journaled(self):
        """Gives the points that the journal has, from whole lines only."""
        if not os.path.exists(self.journal):
            return []
        with open(self.journal, "rb") as file:
            lines = [line[17:] for line in file.read().split(b"\n")[:-1]]
        return [json.loads(line)["point"]["hash"] for line in lines if b'"point"' in line[:9]]

    def write_finished(self, calibration, grid=None):
        """Writes the journal of a run that was killed between its last point and its
        result, with this calibration of its points.
        """
        one = whole(tuple(grid or GRID))
        self.stopped(1, signal.SIGKILL)
        machine = self.records()[-1]["point"]["machine"]
        records = [{"run": {"context": one["context"], "continues_result": False}}]
        for entry in calibration:
            cells = [c for c in one["cells"] if c["point"] == entry["point"]]
            records.append({"point": {
                "hash": entry["point"], "process": 0, "cells": cells, "calibration": entry,
                "run": {**one["context"]["runs"][0], "points": []}, "machine": machine}})
        self.write_records(records)

    def records(self):
        with open(self.journal, "rb") as file:
            return [json.loads(line[17:]) for line in file]

    def write_records(self, records):
        with open(self.journal, "wb") as file:
            file.writelines(journal_line(record, n) for n, record in enumerate(records, 1))
