"""Guards against a finished or broken result, or journal, that --resume takes for what it
is not, or runs over."""

import copy
import os
import unittest

from resuming import GRID, ResumeTest, changed, whole


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

    def test_a_longer_axis_keeps_what_is_there(self):
        self.write(whole())
        old = {c["point"]: c["samples_ns"] for c in whole()["cells"]}
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


if __name__ == "__main__":
    unittest.main()
