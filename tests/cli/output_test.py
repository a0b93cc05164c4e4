"""Guards against a run that loses what it has measured as its output cannot be written:
a full disk, a place that is no file, two runs at once."""

import os
import resource
import signal
import subprocess
import unittest

from resuming import GRID, PROGRAM, ResumeTest, clocks, whole


def limit(size):
    """Limits a program's file sizes, as a full disk would."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class Elsewhere(ResumeTest):
    def test_a_second_run_on_one_output_is_refused(self):
        os.symlink("r.json", self.path("link.json"))
        run = self.started(1)
        run.send_signal(signal.SIGSTOP)
        # Each waits some seconds for the first to end, so they wait together.
        others = [subprocess.Popen([PROGRAM, *GRID[:-2], *arguments], cwd=self.folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                  for arguments in (["-o", "r.json"], ["-o", "r.json", "--force"],
                                    ["-o", "r.json", "--resume"], ["-o", "link.json"])]
        for other in others:
            _, error = other.communicate()
            self.assertEqual(other.returncode, 2, error)
            self.assertIn("another run is writing it", error)
        run.send_signal(signal.SIGCONT)
        with run:
            run.communicate(timeout=600)
        self.assertEqual(run.returncode, 0)
        os.remove(self.path("link.json"))
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
        self.write_finished(clocks())
        before = os.path.getsize(self.journal)
        done = self.run_grid("--resume", status=2, preexec_fn=limit(4_000))
        self.assertIn("r.json: cannot be written", done.stderr)
        self.assertIn("r.json.journal; once the place is free, --resume", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["r.json.journal"])
        self.assertEqual(os.path.getsize(self.journal), before)
        self.run_grid("--resume")
        self.assertEqual(self.expect_whole()["cells"], whole()["cells"])

    def test_places_that_cannot_be_written_are_told_before_the_run(self):
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        for place, message in (
            ("/proc/r.json", "/proc/r.json: cannot be written"),
            ("file/r.json", "file/r.json: "),
            ("/dev/full", "/dev/full: is there"),
            ("-", "-: is no file"),
            ("/dev/stdout", "/dev/stdout: is there and is not a file that can be replaced"),
            ("/dev/null", "/dev/null: is there"),
        ):
            done = subprocess.run([PROGRAM, *GRID[:-1], place], cwd=self.folder, text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)
            self.assertNotIn("[1/", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["file"])

    def test_all_commands_have_one_rule_for_what_is_no_file(self):
        self.write_finished(clocks())
        self.run_grid("--resume")
        for command in (
            ["merge", "r.json"], ["report", "r.json"], ["stability", "--quick"],
            ["roofline", "--quick"], ["verify", "--quick"], ["claims", "--quick"],
            ["decode", "--mechanism", "soft", "-T", "3"],
        ):
            for place in ("-", "/dev/stdout"):
                with self.subTest(command=command, place=place):
                    done = subprocess.run([PROGRAM, *command, "-o", place], cwd=self.folder,
                                          text=True, capture_output=True, check=False)
                    self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                    self.assertRegex(done.stderr, f"^attnbench: {place}: is (no|not a|there)")
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(os.listdir(self.folder), ["r.json"])

    def test_what_comes_through_standard_input_is_not_replaced(self):
        self.write_finished(clocks())
        self.run_grid("--resume")
        with open(self.path("r.json"), encoding="utf-8") as text:
            done = subprocess.run([PROGRAM, "merge", "-", "-o", "r.json", "--force"],
                                  cwd=self.folder, text=True, capture_output=True,
                                  check=False, stdin=text)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("r.json: is read by this command", done.stderr)


if __name__ == "__main__":
    unittest.main()
