"""Guards against a run that loses what it has measured as it is killed or interrupted, at
whatever moment, and against one that leaves what cannot be gone on from."""

import contextlib
import copy
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time
import unittest

from resuming import LONG, MANY, POINTS, PROGRAM, ResumeTest, figures, on_one_clock, whole


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

    @on_one_clock
    def test_every_run_is_in_the_result_with_its_load(self):
        for _ in range(2):
            there = len(self.journaled())
            run = self.start("--resume", grid=MANY)
            self.await_points(run, there + 2)
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
            # One of them kills the other when the run is gone.
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

    @on_one_clock
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

    @on_one_clock
    def test_a_run_of_several_processes_goes_on_in_the_one_where_it_was_stopped(self):
        grid = [*MANY, "--processes", "3"]
        for sent in (signal.SIGKILL, signal.SIGINT):
            with self.started(1, grid=grid) as run:
                run.send_signal(sent)
                run.communicate(timeout=600)
            self.assertNotEqual(run.returncode, 0, "the run was faster than the test")
            if sent == signal.SIGINT:
                part = self.read()
                self.assertIn("of 50 points were measured by all 3 processes",
                              part["context"]["invalid_reasons"][-1])
                self.assertLess({cell["processes"] for cell in part["cells"]}, {1, 2, 3})
            done = self.run_grid("--resume", grid=grid)
            self.assertIn("50 that not all processes have measured", done.stderr)
            context, cells = (self.read()[key] for key in ("context", "cells"))
            self.assertEqual([figures(cell) for cell in cells],
                             [figures(cell) for cell in whole(tuple(grid))["cells"]])
            self.assertEqual({len(cell["samples_ns"]) for cell in cells}, {6})
            self.assertEqual({len(one["samples_ns"]) for one in context["calibration"]}, {6})
            self.assertEqual([len(run["points"]) for run in context["runs"]], [50, 50])
            self.assertEqual(os.listdir(self.folder), ["r.json"])
            os.remove(self.path("r.json"))

    @on_one_clock
    def test_a_run_whose_line_is_damaged_is_still_known(self):
        self.stopped(2, signal.SIGKILL)
        records = self.records()
        self.write_records(records[1:])
        self.run_grid("--resume")
        run = self.expect_whole(runs=2)["context"]["runs"][0]
        self.assertEqual(run["date"], records[0]["run"]["context"]["date"])
        self.assertEqual(len(run["points"]), len(records) - 1)

    @on_one_clock
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

    def test_a_journal_of_which_no_line_is_good_is_given_up_only_by_force(self):
        self.stopped(2, signal.SIGKILL)
        with open(self.journal, "rb") as file:
            spoiled = file.read().replace(b"\n", b"\r\n")
        with open(self.journal, "wb") as file:
            file.write(spoiled)
        self.assertIn("--force begins anew", self.run_grid(status=2).stderr)
        with open(self.journal, "rb") as file:
            self.assertEqual(file.read(), spoiled)
        self.run_grid("--force")
        self.expect_whole(runs=1)

    def test_another_programs_file_in_the_journals_place_stays(self):
        for arguments in ((), ("--resume",), ("--force",)):
            with open(self.journal, "w", encoding="utf-8") as file:
                file.write("dear diary\n")
            done = self.run_grid(*arguments, status=2)
            self.assertIn("r.json.journal: is there and is no journal", done.stderr)
            with open(self.journal, encoding="utf-8") as file:
                self.assertEqual(file.read(), "dear diary\n")
            self.assertEqual(os.listdir(self.folder), ["r.json.journal"])

    @on_one_clock
    def test_a_run_whose_journal_somebody_removes_ends_with_what_it_has(self):
        with self.started(3, grid=MANY) as run:
            os.remove(self.journal)
            _, error = run.communicate(timeout=600)
        self.assertEqual(run.returncode, 130, error)
        self.assertIn("r.json.journal: somebody has removed it; the run ends", error)
        self.assertGreaterEqual(len(self.read()["cells"]), 6)
        self.run_grid("--resume", grid=MANY)
        self.expect_whole(MANY, runs=2)

    def test_the_last_point_needs_no_journal(self):
        with self.started(49, grid=MANY) as run:
            with contextlib.suppress(FileNotFoundError):  # the run was faster
                os.remove(self.journal)
            _, error = run.communicate(timeout=600)
        self.assertIn(run.returncode, (0, 130), error)
        self.assertEqual(run.returncode == 0, "has removed it" not in error, error)
        self.run_grid("--resume", grid=MANY)
        self.expect_whole(MANY)

    def test_a_run_whose_folder_somebody_removes_ends_at_once_and_says_what_is_lost(self):
        folder = os.path.join(self.folder, "away")
        os.mkdir(folder)
        with self.started(3, "-o", "away/r.json", grid=MANY[:-2]) as run:
            shutil.rmtree(folder)
            _, error = run.communicate(timeout=600)
        self.assertEqual(run.returncode, 2, error)
        self.assertIn("away/r.json: cannot be written: No such file or directory; the journal is "
                      "gone, too, and with it what was measured", error)
        self.assertEqual(os.listdir(self.folder), [])

    @on_one_clock
    def test_a_result_that_appears_during_the_run_is_not_replaced(self):
        with self.started(3, grid=MANY) as run:
            with open(self.path("r.json"), "w", encoding="utf-8") as file:
                file.write("theirs")
            _, error = run.communicate(timeout=600)
        self.assertEqual(run.returncode, 2, error)
        self.assertIn("r.json: is there already", error)
        self.assertIn("all that was measured is in", error)
        with open(self.path("r.json"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "theirs")
        os.remove(self.path("r.json"))
        self.run_grid("--resume", grid=MANY)
        self.expect_whole(MANY, runs=1)

    def test_what_force_began_does_not_go_on_from_the_old_result(self):
        self.write(whole())
        old = {c["point"]: c["samples_ns"] for c in whole()["cells"]}
        self.stopped(2, signal.SIGKILL, "--force")
        self.run_grid("--resume")
        new = {c["point"]: c["samples_ns"] for c in self.expect_whole()["cells"]}
        for point, samples in new.items():
            self.assertNotEqual(samples, old[point])


class Interrupted(ResumeTest):
    def worker_of(self, run):
        """Gives the process that measures LONG, once it has drawn the inputs."""
        while True:
            self.assertIsNone(run.poll(), "ended before that")
            with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="utf-8") as file:
                workers = file.read().split()
            for worker in workers:
                with open(f"/proc/{worker}/cmdline", encoding="utf-8") as file:
                    has_begun = "measure-points" in file.read()
                with open(f"/proc/{worker}/statm", encoding="utf-8") as file:
                    num_bytes = int(file.read().split()[1]) * resource.getpagesize()
                if has_begun and num_bytes > 100e6:
                    return int(worker)
            time.sleep(0.001)

    @on_one_clock
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
            os.remove(self.path("r.json"))

    def expect_merged(self, interrupted, finished):
        """Expects that the interrupted result and one of the other points merge into a
        whole one.
        """
        there = {cell["point"] for cell in interrupted["cells"]}
        rest = copy.deepcopy(finished)
        rest["cells"] = [c for c in rest["cells"] if c["point"] not in there]
        rest["context"]["runs"] = rest["context"]["runs"][1:]
        for name, document in (("part.json", interrupted), ("rest.json", rest)):
            self.write(document, name)
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
            os.kill(self.worker_of(run), signal.SIGTERM)
            run.send_signal(signal.SIGTERM)
            _, error = run.communicate(timeout=600)
        self.assertEqual(run.returncode, 130, error)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_signal_that_ends_only_the_worker_is_the_end_of_its_cell(self):
        for sent in (signal.SIGINT, signal.SIGTERM):
            with self.start(grid=LONG) as run:
                self.wait_for_a_point(run)
                os.kill(self.worker_of(run), sent)
                _, error = run.communicate(timeout=600)
            self.assertEqual(run.returncode, 1, error)
            self.assertIn(f"its process was killed by signal {sent.value}", error)
            os.remove(self.path("r.json"))

    def test_a_worker_that_somebody_stops_does_not_escape_the_limit_of_its_cell(self):
        with self.start("--cell-limit", "5", grid=LONG) as run:
            self.wait_for_a_point(run)
            os.kill(self.worker_of(run), signal.SIGSTOP)
            _, error = run.communicate(timeout=600)
        self.assertEqual(run.returncode, 1, error)
        self.assertIn("was not finished after 5 s (--cell-limit)", error)

    def test_an_alarm_that_is_blocked_does_not_keep_a_cell_from_its_limit(self):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        self.addCleanup(signal.pthread_sigmask, signal.SIG_UNBLOCK, [signal.SIGALRM])
        done = self.run_grid("--cell-limit", "1", grid=LONG, status=1)
        self.assertIn("was not finished after 1 s (--cell-limit)", done.stderr)

    def test_a_worker_starts_no_threads_of_blas(self):
        with self.start(grid=LONG) as run:
            self.wait_for_a_point(run)
            with open(f"/proc/{self.worker_of(run)}/environ", encoding="utf-8") as file:
                self.assertIn("OPENBLAS_NUM_THREADS=1", file.read().split("\0"))
            run.kill()
            run.communicate()

    @staticmethod
    def give_up(cell):
        """Changes the cell to what a lower --cell-limit leaves."""
        cell.update(status="timeout", message="too long", samples_ns=[], prepare_samples_ns=[],
                    draw_ns=[])
        cell.update(dict.fromkeys(
            ("trials_per_sample", "median_ns", "interval_ns", "least_ns", "prepare_ns", "spread",
             "operations", "peak_memory_bytes", "limit", "numerics", "latency")))

    def interrupt_at_once(self):
        """Stops a run with more time before its first point, or soon after it; gives
        its stderr.
        """
        with self.start("--resume", "--cell-limit", "4000", grid=MANY) as run:
            caught = 0
            while not caught & 1 << signal.SIGTERM - 1:  # that of the run itself
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
        self.write(old)
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
        self.write(old)
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


if __name__ == "__main__":
    unittest.main()
