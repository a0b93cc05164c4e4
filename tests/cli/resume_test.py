"""Guards against a finished or broken result, or journal, that --resume takes for what it
is not, or runs over."""

import copy
import os
import re
import signal
import unittest

from resuming import GRID, MANY, ResumeTest, changed, clocks, whole


class Finished(ResumeTest):
    def test_a_finished_result_has_nothing_left_to_do(self):
        self.write(whole())
        before = os.stat(self.path("r.json"))
        self.assertIn("--force", self.run_grid(status=2).stderr)
        done = self.run_grid("--resume")
        self.assertIn("r.json: nothing left to do, all 12 points are there", done.stdout)
        after = os.stat(self.path("r.json"))
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
        self.write(whole())
        self.expect_refused(12, "--seed", "2")
        self.expect_refused(9, grid=changed(GRID, T="3:5:1"))
        self.expect_refused(1, grid=changed(GRID, T="4:20:1"))
        self.expect_refused(6, "--shard", "0/2")
        self.run_grid("--force", grid=changed(GRID, T="3:5:1"))
        self.assertEqual(len(self.read()["context"]["points"]), 3)

    def test_a_result_and_a_journal_of_an_older_build_are_not_lost(self):
        self.write_finished(clocks())
        records = self.records()
        build = records[0]["run"]["context"]["build_id"]
        records[0]["run"]["context"]["build_id"] = "older"
        for record in records[1:]:
            record["point"]["machine"] = "0" * 16
        self.write_records(records)
        with open(self.journal, "rb") as file:
            before = file.read()
        difference = f'12 points there are not of this sweep, program and machine (build_id ' \
            f'was "older" and is "{build}")'
        self.assertIn(difference, self.run_grid("--resume", status=2).stderr)
        with open(self.journal, "rb") as file:
            self.assertEqual(file.read(), before)
        os.remove(self.journal)
        document = copy.deepcopy(whole())
        document["context"]["build_id"] = "older"
        self.write(document)
        self.expect_refused(12)
        self.assertIn(difference, self.run_grid("--resume", status=2).stderr)

    def test_a_longer_axis_keeps_what_is_there(self):
        self.write(whole())
        old = {c["point"]: c["samples_ns"] for c in whole()["cells"]}
        again = 0
        # The axis d goes before T, so no point stays where it was.
        for there, grid in ((12, changed(GRID, T="1:14:1")), (14, changed(GRID, T="1:14:1", d="3,4"))):
            done = self.run_grid("--resume", grid=grid)
            self.assertIn(f"{there} of {there + {12: 2, 14: 14}[there]} points are there",
                          done.stderr)
            # A resumed run measures points of another clock again.
            again += sum(map(int, re.findall(r"(\d+) of \d+ (?:is|are) measured again",
                                             done.stderr)))
        new = {c["point"]: c["samples_ns"] for c in self.expect_whole(grid)["cells"]}
        kept = [point for point, samples in old.items() if new[point] == samples]
        self.assertGreaterEqual(len(kept), len(old) - again)

    def test_what_is_no_result_is_no_beginning(self):
        for text, message in (("{", "is not JSON"), ("{}", "is no result: kind is missing")):
            with open(self.path("r.json"), "w", encoding="utf-8") as file:
                file.write(text)
            done = self.run_grid("--resume", status=2)
            self.assertIn(message, done.stderr)
        self.assertIn("give one of them", self.run_grid("--resume", "--force", status=2).stderr)

    def test_a_result_that_somebody_has_broken_is_no_beginning(self):
        swapped = copy.deepcopy(whole())
        swapped["cells"][0]["point"], swapped["cells"][-1]["point"] = (
            swapped["cells"][-1]["point"], swapped["cells"][0]["point"])
        broken = [(swapped, "in point")]
        for change, message in (
                ({"samples_ns": [-1]}, "cells[0].samples_ns[0]: -1 is no number"),
                ({"status": "error"}, "cells[0]: is error and has no message"),
                ({"mechanism": "sofa"}, "has a cell of sofa"),
                ({"operations": None}, "cells[0]: is ok and has no operations")):
            document = copy.deepcopy(whole())
            document["cells"][0].update(change)
            broken.append((document, message))
        for document, message in broken:
            self.write(document)
            done = self.run_grid("--resume", status=2)
            self.assertIn("r.json: ", done.stderr)
            self.assertIn(message, done.stderr)
            self.assertIn("--force replaces it", done.stderr)

    def test_a_journal_of_other_records_is_refused_by_its_line(self):
        for record, message in (({}, "line 1: is neither a run nor a point"),
                                ({"run": 5}, "line 1: run: 5 is no object")):
            self.write_records([record])
            for arguments in ([], ["--resume"]):
                done = self.run_grid(*arguments, status=2)
                self.assertIn("r.json.journal: " + message, done.stderr)
        self.run_grid("--force")
        self.expect_whole(runs=1)


class Drifted(ResumeTest):
    def samples(self, document):
        return {c["point"]: c["samples_ns"] for c in document["cells"]}

    def test_points_whose_clock_was_another_one_are_measured_again_once(self):
        self.write_finished(clocks({2: 1.2, 7: 0.8}))
        done = self.run_grid("--resume")
        self.assertIn("r.json: the processor's clock drifted by 50.0 % between points; "
                      "2 of 12 are measured again\n", done.stderr)
        self.assertEqual(done.stderr.count("measured again"), 1)
        document = self.expect_whole(runs=2)
        points = document["context"]["points"]
        old, new = self.samples(whole()), self.samples(document)
        self.assertEqual([p for p in points if new[p] != old[p]], [points[2], points[7]])
        self.assertEqual(document["context"]["runs"][1]["points"], [points[2], points[7]])
        found = document["context"]["calibration"]
        for n, (entry, steady) in enumerate(zip(found, clocks())):
            self.assertEqual(entry == steady, n not in (2, 7))

    def test_a_result_of_one_clock_but_for_some_points_is_not_finished(self):
        document = copy.deepcopy(whole())
        document["context"]["calibration"] = clocks({2: 1.2})
        self.write(document)
        self.assertIn("1 of 12 is measured again", self.run_grid("--resume").stderr)
        self.assertEqual(self.expect_whole(runs=2)["context"]["runs"][1]["points"],
                         [document["context"]["points"][2]])

    def test_a_run_that_is_stopped_meanwhile_keeps_what_it_measured_again(self):
        grid = tuple(MANY)
        far = range(0, 50, 2)
        for sent, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
            with self.subTest(sent=sent):
                for _ in range(20):
                    self.write_finished(clocks(dict.fromkeys(far, 1.5), grid), grid)
                    with self.started(3, "--resume", grid=MANY) as run:
                        run.send_signal(sent)
                        run.communicate(timeout=600)
                    if run.returncode != 0:
                        break
                    # The run was faster than the test.
                    os.remove(self.path("r.json"))
                self.assertEqual(run.returncode, status, "every run was faster than the test")
                again = self.steadied(grid)
                self.assertGreaterEqual(len(again), 3)
                done = self.run_grid("--resume", grid=MANY)
                self.assertIn(f"{25 - len(again)} of 50 are measured again", done.stderr)
                document = self.expect_whole(MANY, runs=3)
                old, new = self.samples(whole(grid)), self.samples(document)
                for n, point in enumerate(document["context"]["points"]):
                    if n not in far:
                        self.assertEqual(new[point], old[point])
                    elif point in again:
                        self.assertEqual(new[point], again[point])
                    else:
                        self.assertNotEqual(new[point], old[point])
                os.remove(self.path("r.json"))

    def steadied(self, grid):
        """Gives the samples of the points that a stopped run measured again, by point;
        their clock becomes that of the others, whatever the machine's is now.
        """
        clock = {entry["point"]: entry for entry in clocks(grid=grid)}
        if os.path.exists(self.path("r.json")):
            document = self.read()
            points = document["context"]["runs"][1]["points"]
            for n, entry in enumerate(document["context"]["calibration"]):
                if entry["point"] in points:
                    document["context"]["calibration"][n] = clock[entry["point"]]
            self.write(document)
            samples = self.samples(document)
            return {point: samples[point] for point in points}
        records = self.records()
        again = {}
        for record in records[52:]:
            point = record["point"]
            point["calibration"] = clock[point["hash"]]
            again[point["hash"]] = point["cells"][-1]["samples_ns"]
        self.write_records(records)
        return again


if __name__ == "__main__":
    unittest.main()
