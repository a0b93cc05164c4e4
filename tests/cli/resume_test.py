"""Guards against a run that loses what it has measured: killed at any moment,
interrupted, on a full disk, in a folder that is gone, with a torn journal, or two at
once. A resumed run must write what one run would have written.
"""

import copy
import functools
import json
import os
import random
import re
import resource
import signal
import subprocess
import tempfile
import time
import unittest

import jsonschema

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
    clocks = {"samples_ns", "median_ns", "interval_ns", "prepare_ns", "spread",
              "prepare_samples_ns", "draw_ns", "limit", "trials_per_sample"}
    return {key: value for key, value in cell.items() if key not in clocks}


@functools.cache
def whole(grid=tuple(GRID)):
    """Gives the result of a single run."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PROGRAM, *grid], cwd=folder, check=True, capture_output=True)
        with open(os.path.join(folder, "r.json"), encoding="utf-8") as file:
            return json.load(file)


@functools.cache
def schema():
    listed = subprocess.run([PROGRAM, "list", "--schema"], check=True, capture_output=True)
    return json.loads(listed.stdout)


def limit(size):
    """Limits a program's file sizes, as a full disk would."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def journal_line(record, number):
    """Makes a line of the journal as harness/campaign/journal.h describes it."""
    text = json.dumps(record).encode()
    checksum = 0xCBF29CE484222325
    for byte in b"%d %s" % (number, text):
        checksum = (checksum ^ byte) * 0x100000001B3 % 2**64
    return b"%016x %s\n" % (checksum, text)


class ResumeTest(InFolder):
    def setUp(self):
        super().setUp()
        self.journal = os.path.join(self.folder, "r.json.journal")

    def run_grid(self, *arguments, grid=None, status=0, **keywords):
        done = subprocess.run([PROGRAM, *(grid or GRID), *arguments], cwd=self.folder, text=True,
                              capture_output=True, timeout=600, check=False, **keywords)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def start(self, *arguments, grid=None):
        return subprocess.Popen([PROGRAM, *(grid or GRID), *arguments], cwd=self.folder,
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def started(self, points, *arguments):
        """Starts a run and waits until it has told of this many finished points."""
        run = self.start(*arguments)
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
            os.remove(os.path.join(self.folder, "r.json"))
        self.fail("no run could be stopped")

    def read(self, name="r.json"):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            document = json.load(file)
        jsonschema.validate(document, schema())
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

    def journaled(self):
        """Gives the points that the journal has, from whole lines only."""
        if not os.path.exists(self.journal):
            return []
        with open(self.journal, "rb") as file:
            lines = [line[17:] for line in file.read().split(b"\n")[:-1]]
        return [json.loads(line)["point"]["hash"] for line in lines if b'"point"' in line[:9]]

    def records(self):
        with open(self.journal, "rb") as file:
            return [json.loads(line[17:]) for line in file]

    def write_records(self, records):
        with open(self.journal, "wb") as file:
            file.writelines(journal_line(record, n) for n, record in enumerate(records, 1))


class Killed(ResumeTest):
    def kill(self, run):
        """Kills a run; gives whether it was still running. The journal stays, and until
        the next run what a kill in the midst of writing leaves beside it.
        """
        run.kill()
        run.communicate()
        return run.returncode == -signal.SIGKILL

    def await_points(self, run, number):
        while len(self.journaled()) < number and run.poll() is None:
            time.sleep(0.001)

    def test_ten_kills_at_random_moments_lose_nothing_that_was_finished(self):
        seeded = random.Random(5)
        kept = set()
        for kill in range(10):
            run = self.start("--resume", grid=MANY)
            # The kills come at its start and around the end of a point, in
            # turn, far from the end of the run.
            if kill % 2:
                self.await_points(run, len(kept) + 1)
            time.sleep(seeded.uniform(0, 0.05))
            self.assertTrue(self.kill(run), "it was finished before its kill")
            points = self.journaled()
            self.assertEqual(len(points), len(set(points)), "a point was measured again")
            self.assertLessEqual(kept, set(points))
            kept = set(points)
        self.assertGreaterEqual(len(kept), 5)
        self.run_grid("--resume", grid=MANY)
        self.expect_whole(MANY)

    def test_every_run_is_in_the_result_with_its_load(self):
        for points in (2, 4):
            run = self.start("--resume", grid=MANY)
            self.await_points(run, points)
            self.assertTrue(self.kill(run), "it was finished before its kill")
        records = self.records()
        runs = [r["point"]["run"] for r in records if "point" in r]
        for run in runs:
            if run["date"] == runs[-1]["date"]:
                # The run says this if the machine was busy as it ended.
                run.update(load_end=99.5, invalid_reasons=["it was busy"])
        self.write_records(records)
        self.run_grid("--resume", grid=MANY)
        context = self.expect_whole(MANY, runs=3)["context"]
        dates = [run["date"] for run in context["runs"]]
        self.assertEqual(dates, sorted(dates))
        self.assertEqual(context["load_end"], 99.5)
        self.assertFalse(context["valid"])
        self.assertIn("it was busy", "\n".join(context["invalid_reasons"]))
        for run in context["runs"]:
            self.assertIsInstance(run["load_end"], float)
            self.assertIn("run-sweep", run["command"])
            self.assertEqual(run["cell_limit_s"], 3600)

    def test_the_worker_and_its_files_go_with_the_run(self):
        with self.start(grid=LONG) as run:
            children = f"/proc/{run.pid}/task/{run.pid}/children"
            workers = []
            while len(workers) < 2:
                self.assertIsNone(run.poll(), "ended before that")
                with open(children, encoding="utf-8") as file:
                    workers = file.read().split()
            # The second process kills the first when the run is gone.
            self.assertEqual(len(workers), 2)
            run.kill()
        deadline = time.monotonic() + 10
        while any(self.is_running(worker) for worker in workers):
            self.assertLess(time.monotonic(), deadline, "the worker stays")
            time.sleep(0.01)

    @staticmethod
    def is_running(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                return file.read().rpartition(")")[2].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False

    def test_a_torn_or_damaged_journal_costs_the_points_that_it_spoils(self):
        self.stopped(5, signal.SIGKILL)
        with open(self.journal, "rb") as file:
            lines = file.read().splitlines(keepends=True)
        lines[2] = lines[2].replace(b"soft", b"sofa")
        with open(self.journal, "wb") as file:
            file.writelines(lines[:5] + [lines[5][:40]])
        done = self.run_grid("--resume")
        self.assertIn("r.json.journal: 2 lines are torn or damaged", done.stderr)
        self.assertIn("r.json: 3 of 12 points are there", done.stderr)
        self.expect_whole(runs=2)

    def test_a_run_whose_line_is_damaged_is_still_known(self):
        self.stopped(2, signal.SIGKILL)
        records = self.records()
        self.write_records(records[1:])
        self.run_grid("--resume")
        run = self.expect_whole(runs=2)["context"]["runs"][0]
        self.assertEqual(run["date"], records[0]["run"]["context"]["date"])
        self.assertEqual(len(run["points"]), len(records) - 1)

    def test_a_journal_that_is_left_is_not_run_over(self):
        self.stopped(2, signal.SIGKILL)
        with open(self.journal, "rb") as file:
            before = file.read()
        done = self.run_grid(status=2)
        for words in ("r.json: a run of it was not finished", "--resume", "--force"):
            self.assertIn(words, done.stderr)
        with open(self.journal, "rb") as file:
            self.assertEqual(file.read(), before)
        self.run_grid("--force")
        self.expect_whole(runs=1)

    def test_what_force_began_does_not_go_on_from_the_old_result(self):
        self.run_grid()
        old = {c["point"]: c["samples_ns"] for c in self.read()["cells"]}
        self.stopped(2, signal.SIGKILL, "--force")
        self.run_grid("--resume")
        new = {c["point"]: c["samples_ns"] for c in self.expect_whole()["cells"]}
        for point, samples in new.items():
            self.assertNotEqual(samples, old[point])


class Interrupted(ResumeTest):
    def test_an_interrupt_leaves_a_partial_result_to_go_on_from(self):
        for sent in (signal.SIGINT, signal.SIGTERM):
            status, out = self.stopped(3, sent)
            self.assertEqual(status, 130)
            self.assertEqual(os.listdir(self.folder), ["r.json"])
            document = self.read()
            self.assertIn(len(document["cells"]), range(6, 24, 2))
            self.assertEqual(len(document["context"]["points"]), POINTS)
            self.assertFalse(document["context"]["valid"])
            reason = document["context"]["invalid_reasons"][-1]
            self.assertRegex(reason, rf"^interrupted: {len(document['cells']) // 2} of 12 points")
            self.assertIn("INVALID", out)
            first = document["context"]["date"]
            self.run_grid("--resume")
            finished = self.expect_whole(runs=2)
            self.assertEqual(finished["context"]["date"], first)
            self.assertEqual(finished["cells"][:4], document["cells"][:4])
            self.expect_merged(document, finished)
            os.remove(os.path.join(self.folder, "r.json"))

    def expect_merged(self, interrupted, finished):
        """Expects that the interrupted result and one of the other points merge into a
        whole one.
        """
        there = {cell["point"] for cell in interrupted["cells"]}
        rest = copy.deepcopy(finished)
        rest["cells"] = [c for c in rest["cells"] if c["point"] not in there]
        rest["context"]["runs"] = rest["context"]["runs"][1:]
        for name, document in (("part.json", interrupted), ("rest.json", rest)):
            with open(self.path(name), "w", encoding="utf-8") as file:
                json.dump(document, file)
        subprocess.run([PROGRAM, "merge", "part.json", "rest.json", "-o", "all.json"],
                       cwd=self.folder, check=True, capture_output=True)
        merged = self.read("all.json")
        self.assertEqual(merged["cells"], finished["cells"])
        self.assertNotIn("interrupted", str(merged["context"]["invalid_reasons"]))
        self.assertEqual(merged["context"]["calibration"], finished["context"]["calibration"])
        self.assertEqual([run["file"] for run in merged["context"]["runs"]],
                         ["part.json", "rest.json"])
        for name in ("part.json", "rest.json", "all.json"):
            os.remove(self.path(name))

    def test_a_signal_that_ends_the_worker_too_is_no_crash_of_a_cell(self):
        # A scheduler sends the signal to all processes of a job; the worker's
        # comes first.
        with self.start(grid=LONG) as run:
            self.wait_for_a_point(run)
            workers = []
            while not workers:
                self.assertIsNone(run.poll(), "ended before that")
                with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="utf-8") as file:
                    workers = file.read().split()
            os.kill(int(workers[0]), signal.SIGTERM)
            run.send_signal(signal.SIGTERM)
            _, error = run.communicate(timeout=600)
        self.assertEqual(run.returncode, 130, error)
        self.assertEqual(os.listdir(self.folder), [])

    @staticmethod
    def give_up(cell):
        """Changes the cell to what a lower --cell-limit leaves."""
        cell.update(status="timeout", message="too long", samples_ns=[], prepare_samples_ns=[],
                    draw_ns=[])
        cell.update(dict.fromkeys(
            ("trials_per_sample", "median_ns", "interval_ns", "prepare_ns", "spread", "operations",
             "peak_memory_bytes", "limit", "numerics", "latency")))

    def interrupt_at_once(self):
        """Stops a run with more time before its first point, or soon after it; gives
        its stderr.
        """
        with self.start("--resume", "--cell-limit", "4000", grid=MANY) as run:
            caught = 0
            while not caught & 1 << signal.SIGINT - 1:
                self.assertIsNone(run.poll(), "ended before that")
                with open(f"/proc/{run.pid}/status", encoding="utf-8") as file:
                    caught = int(re.search(r"SigCgt:\s*(\w+)", file.read())[1], 16)
            run.send_signal(signal.SIGINT)
            _, error = run.communicate(timeout=600)
        self.assertEqual(run.returncode, 130, error)
        self.assertEqual(os.listdir(self.folder), ["r.json"])
        return error

    def test_an_interrupt_keeps_what_was_to_be_measured_again(self):
        old = copy.deepcopy(whole(tuple(MANY)))
        for cell in old["cells"][2::2]:
            self.give_up(cell)
        # Somebody has taken a cell out.
        old["cells"].pop()
        with open(self.path("r.json"), "w", encoding="utf-8") as file:
            json.dump(old, file)
        self.assertIn("r.json: 1 of 50 points are there", self.interrupt_at_once())
        document = self.read()
        self.assertEqual([(c["point"], c["mechanism"]) for c in document["cells"]],
                         [(c["point"], c["mechanism"]) for c in old["cells"]])
        self.assertIn(old["cells"][-2], document["cells"])
        self.assertIn("interrupted: 49 of 50 points",
                      "\n".join(document["context"]["invalid_reasons"]))
        self.run_grid("--resume", "--cell-limit", "4000", grid=MANY)
        self.expect_whole(MANY)

    def test_an_interrupt_keeps_what_the_journal_has_to_be_measured_again(self):
        self.stopped(3, signal.SIGKILL)
        records = self.records()
        for record in records[1:]:
            self.give_up(record["point"]["cells"][0])
        self.write_records(records)
        self.assertIn("r.json: 0 of 50 points are there", self.interrupt_at_once())
        self.assertLessEqual({record["point"]["hash"] for record in records[1:]},
                             {cell["point"] for cell in self.read()["cells"]})

    def test_what_the_journal_has_anew_takes_the_place_of_a_whole_result(self):
        self.stopped(3, signal.SIGKILL)
        records = self.records()
        # A run with more time leaves this if it could not write its result.
        records[0]["run"]["continues_result"] = True
        self.write_records(records)
        old = copy.deepcopy(whole(tuple(MANY)))
        anew = {record["point"]["hash"] for record in records[1:]}
        for cell in old["cells"]:
            if cell["point"] in anew:
                self.give_up(cell)
        with open(self.path("r.json"), "w", encoding="utf-8") as file:
            json.dump(old, file)
        self.run_grid("--resume", "--cell-limit", "4000", grid=MANY)
        self.assertEqual({cell["status"] for cell in self.read()["cells"]}, {"ok"})
        self.assertFalse(os.path.exists(self.journal))

    def test_an_interrupt_before_anything_is_finished_leaves_nothing(self):
        with self.start(grid=LONG) as run:
            self.wait_for_a_point(run)
            run.send_signal(signal.SIGINT)
            _, error = run.communicate(timeout=600)
        self.assertEqual(run.returncode, 130, error)
        self.assertIn("interrupted", error)
        self.assertEqual(os.listdir(self.folder), [])


class Finished(ResumeTest):
    def test_a_finished_result_has_nothing_left_to_do(self):
        self.run_grid()
        before = os.stat(os.path.join(self.folder, "r.json"))
        self.assertIn("--force", self.run_grid(status=2).stderr)
        done = self.run_grid("--resume")
        self.assertIn("r.json: nothing left to do, all 12 points are there", done.stdout)
        after = os.stat(os.path.join(self.folder, "r.json"))
        self.assertEqual((before.st_ino, before.st_mtime_ns), (after.st_ino, after.st_mtime_ns))
        self.assertEqual(os.listdir(self.folder), ["r.json"])

    def expect_refused(self, lost, *arguments, grid=None):
        """Expects that nothing is touched, and that the message says how many points
        would be lost.
        """
        with open(self.path("r.json"), encoding="utf-8") as file:
            before = file.read()
        done = self.run_grid("--resume", *arguments, grid=grid, status=2)
        self.assertIn(f"{lost} point{'s' * (lost > 1)} there", done.stderr)
        self.assertIn(f"--resume would lose {'them' if lost > 1 else 'it'}", done.stderr)
        with open(self.path("r.json"), encoding="utf-8") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(os.listdir(self.folder), ["r.json"])

    def test_points_that_the_sweep_does_not_want_are_not_lost(self):
        self.run_grid()
        self.expect_refused(12, "--seed", "2")
        self.expect_refused(9, grid=changed(GRID, T="3:5:1"))
        self.expect_refused(1, grid=changed(GRID, T="4:20:1"))
        self.expect_refused(6, "--shard", "0/2")
        self.run_grid("--force", grid=changed(GRID, T="3:5:1"))
        self.assertEqual(len(self.read()["context"]["points"]), 3)

    def test_a_longer_axis_keeps_what_is_there(self):
        self.run_grid()
        old = {c["point"]: c["samples_ns"] for c in self.read()["cells"]}
        # The axis d goes before T, so no point stays where it was.
        for there, grid in ((12, changed(GRID, T="1:14:1")), (14, changed(GRID, T="1:14:1", d="3,4"))):
            done = self.run_grid("--resume", grid=grid)
            self.assertIn(f"{there} of {there + {12: 2, 14: 14}[there]} points are there",
                          done.stderr)
        document = self.expect_whole(grid, runs=3)
        new = {c["point"]: c["samples_ns"] for c in document["cells"]}
        self.assertEqual({point: new[point] for point in old}, old)

    def test_what_is_no_result_is_no_beginning(self):
        for text, message in (("{", "is not JSON"), ("{}", "is no result: kind is missing")):
            with open(os.path.join(self.folder, "r.json"), "w", encoding="utf-8") as file:
                file.write(text)
            done = self.run_grid("--resume", status=2)
            self.assertIn(message, done.stderr)
        self.assertIn("give one of them", self.run_grid("--resume", "--force", status=2).stderr)


    def test_a_result_that_somebody_has_broken_is_no_beginning(self):
        self.run_grid()
        good = self.read()
        swapped = copy.deepcopy(good)
        swapped["cells"][0]["point"], swapped["cells"][-1]["point"] = (
            swapped["cells"][-1]["point"], swapped["cells"][0]["point"])
        broken = [(swapped, "in point")]
        for change, message in (
                ({"samples_ns": [-1]}, "cells[0].samples_ns[0]: -1 is no number"),
                ({"status": "error"}, "cells[0]: is error and has no message"),
                ({"mechanism": "sofa"}, "has a cell of sofa"),
                ({"operations": None}, "cells[0]: is ok and has no operations")):
            document = copy.deepcopy(good)
            document["cells"][0].update(change)
            broken.append((document, message))
        for document, message in broken:
            with open(self.path("r.json"), "w", encoding="utf-8") as file:
                json.dump(document, file)
            done = self.run_grid("--resume", status=2)
            self.assertIn("r.json: ", done.stderr)
            self.assertIn(message, done.stderr)
            self.assertIn("--force replaces it", done.stderr)

    def test_a_journal_of_other_records_is_refused_by_its_line(self):
        self.run_grid()
        os.remove(self.path("r.json"))
        for record, message in (({}, "line 1: is neither a run nor a point"),
                                ({"run": 5}, "line 1: run: 5 is no object")):
            self.write_records([record])
            for arguments in ([], ["--resume"]):
                done = self.run_grid(*arguments, status=2)
                self.assertIn("r.json.journal: " + message, done.stderr)
        self.run_grid("--force")
        self.expect_whole(runs=1)


class Elsewhere(ResumeTest):
    def test_a_second_run_on_one_output_is_refused(self):
        os.symlink("r.json", os.path.join(self.folder, "link.json"))
        run = self.started(1)
        run.send_signal(signal.SIGSTOP)
        for arguments in ([], ["--force"], ["--resume"], ["-o", "link.json"]):
            grid = GRID[:-2] if "-o" in arguments else GRID
            done = subprocess.run([PROGRAM, *grid, *arguments], cwd=self.folder, text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("another run is writing it", done.stderr)
        run.send_signal(signal.SIGCONT)
        with run:
            run.communicate(timeout=600)
        self.assertEqual(run.returncode, 0)
        os.remove(os.path.join(self.folder, "link.json"))
        self.expect_whole()

    def test_a_disk_that_gets_full_loses_nothing(self):
        # The disk has room for the run and some points.
        done = self.run_grid(status=2, preexec_fn=limit(20_000))
        self.assertIn("r.json.journal: cannot be written", done.stderr)
        self.assertIn("--resume", done.stderr)
        kept = self.journaled()
        self.assertGreater(len(kept), 0)
        self.run_grid("--resume")
        document = self.expect_whole()
        self.assertLessEqual(set(kept), {c["point"] for c in document["cells"]})

    def test_a_result_that_cannot_be_written_is_written_later(self):
        self.stopped(1, signal.SIGKILL)
        machine = self.records()[-1]["point"]["machine"]
        records = [{"run": {"context": whole()["context"], "continues_result": False}}]
        for entry in whole()["context"]["calibration"]:
            cells = [c for c in whole()["cells"] if c["point"] == entry["point"]]
            records.append({"point": {
                "hash": entry["point"], "cells": cells, "calibration": entry,
                "run": {**whole()["context"]["runs"][0], "points": []}, "machine": machine}})
        self.write_records(records)
        before = os.path.getsize(self.journal)
        done = self.run_grid("--resume", status=2, preexec_fn=limit(4_000))
        self.assertIn("r.json: cannot be written", done.stderr)
        self.assertIn("r.json.journal: make room and --resume", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["r.json.journal"])
        self.assertEqual(os.path.getsize(self.journal), before)
        self.run_grid("--resume")
        self.assertEqual(self.expect_whole()["cells"], whole()["cells"])

    def test_places_that_cannot_be_written_are_told_before_the_run(self):
        with open(os.path.join(self.folder, "file"), "w", encoding="utf-8"):
            pass
        for place, message in (
            ("/proc/r.json", "/proc/r.json: cannot be written"),
            ("file/r.json", "file/r.json: "),
            ("/dev/full", "/dev/full: is there"),
        ):
            done = subprocess.run([PROGRAM, *GRID[:-1], place], cwd=self.folder, text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)
            self.assertNotIn("[1/", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["file"])


class Sharded(ResumeTest):
    def test_shards_have_every_point_once(self):
        seen = {}
        for index in range(5):
            done = self.run_grid("--shard", f"{index}/5", "--force")
            self.assertIn("INVALID" if not self.read()["context"]["valid"] else "valid",
                          done.stdout)
            document = self.read()
            self.assertEqual(document["context"]["shard"], f"{index}/5")
            self.assertEqual(document["context"]["points"], whole()["context"]["points"])
            for cell in document["cells"]:
                seen.setdefault(cell["point"], []).append(figures(cell))
        cells = [cell for point in whole()["context"]["points"] for cell in seen[point]]
        self.assertEqual(cells, [figures(c) for c in whole()["cells"]])

    def test_more_shards_than_points_give_empty_results(self):
        self.run_grid("--shard", "12/13")
        self.assertEqual(self.read()["cells"], [])
        self.assertIn("nothing left", self.run_grid("--shard", "12/13", "--resume").stdout)

    def test_a_dry_run_shows_the_shard(self):
        done = self.run_grid("--shard", "1/5", "--dry-run", "--json")
        self.assertEqual(json.loads(done.stdout)["num_points"], 3)


if __name__ == "__main__":
    unittest.main()
