"""Instructions counted by `run-sweep --measure instructions`, and what CI does with them:
two results of one program are the same, and a program with two percent more work in one
mechanism is found, whatever else the machine does. Runs valgrind."""

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from documents import strict
from result_files import ATTNBENCH, ROOT, ResultFilesTest, run, sweep

sys.path.insert(0, os.path.join(ROOT, "scripts"))
import relink

LENGTHS = ("-T", "40", "-U", "10,20")
COUNTED = ("--mechanism", "soft,mocha", "-d", "16", "--repetitions", "1", "--measure",
           "instructions")
ASKED = (*LENGTHS, *COUNTED)
# Of the comment for a pull request.
TITLE = "### attnbench: numbers and instructions, beside the parent\n\n"
# Every 32nd entry of a memory is scored twice.
PLANTED = {
    "file": "mechanisms/memory/memory.cc",
    "old": "        ScoreEntry(first + n);\n",
    "new": "        ScoreEntry(first + n);\n"
           "        if ((first + n) % 32 == 0) ScoreEntry(first + n);\n",
}


@functools.cache
def counted():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "counted.json")
        sweep(path, *ASKED)
        with open(path, encoding="utf-8") as file:
            return file.read()


class Instructions(ResultFilesTest):
    def hold(self, after, before=ATTNBENCH):
        """Gives what CI's script gives for two programs."""
        return subprocess.run(
            [os.path.join(ROOT, "scripts", "pull_request.sh"), before, after,
             self.path("held")],
            capture_output=True, text=True, check=False)

    def program(self, name, text):
        """Makes a program of the shell."""
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/bash\n" + text)
        os.chmod(path, 0o755)
        return path

    def counted(self, name):
        """Gives a result of what is asked, made once for all tests, in a file of that name."""
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(counted())
        return strict(counted())

    def test_two_runs_count_the_same_beside_times_and_numbers(self):
        first = self.counted("a.json")
        second = sweep(self.path("b.json"), *ASKED)
        for cell, again in zip(first["cells"], second["cells"], strict=True):
            self.assertGreater(cell["instructions"], 1000)
            self.assertAlmostEqual(again["instructions"] / cell["instructions"], 1, delta=0.002)
            self.assertTrue(cell["samples_ns"])
            self.assertLess(cell["numerics"]["error"], cell["numerics"]["error_bound"])
        self.assertIn("valgrind", first["context"]["libraries"])
        # The level is one that valgrind has, in the whole result.
        self.assertNotIn("AVX3", first["context"]["simd"])
        out, _ = self.gives(0, "check", self.path("a.json"), "--baseline", self.path("b.json"))
        self.assertIn("instructions: 0 of 4 counts regressed, 0 fewer; the largest change is",
                      out)
        self.assertIn(f"{first['cells'][0]['instructions']:,.0f}",
                      self.gives(0, "show", self.path("a.json"))[0])

    def test_more_work_needs_more_instructions(self):
        few, more = (cell["instructions"] for cell in self.counted("r.json")["cells"]
                     if cell["mechanism"] == "soft")
        self.assertAlmostEqual(more / few, 2, delta=0.2)

    def test_a_whole_decoder_and_training_are_counted(self):
        decoders = sweep(self.path("d.json"), "--scope", "decoder", "--mechanism", "mocha,none",
                         "--workload", "copy:1", "-T", "10", "-U", "5", "-d", "8",
                         "--vocabulary", "20", "--beam", "2", "--energy", "additive",
                         "--measure", "instructions", "--repetitions", "1")
        training = sweep(self.path("t.json"), *ASKED, "--mode", "expect,gradient")
        for cell in [*decoders["cells"], *training["cells"]]:
            self.assertEqual("ok", cell["status"], cell["message"])
            self.assertGreater(cell["instructions"], 1000)

    def test_a_cell_that_takes_too_long_under_valgrind_fails_and_the_others_are_counted(self):
        done = run("run-sweep", "--mechanism", "soft,monotonic", "-T", "2000", "-U", "1200", "-d",
                   "32", *COUNTED[4:], "--cell-limit", "12", "-o", self.path("r.json"))
        self.assertEqual(1, done.returncode, done.stderr)
        with open(self.path("r.json"), encoding="utf-8") as file:
            soft, monotonic = strict(file.read())["cells"]
        self.assertEqual("timeout", soft["status"])
        self.assertEqual("under callgrind: was not finished after 12 s (--cell-limit)",
                         soft["message"])
        self.assertNotIn("instructions", soft)
        self.assertEqual([], soft["samples_ns"])
        self.assertEqual("ok", monotonic["status"], monotonic["message"])
        self.assertGreater(monotonic["instructions"], 1000)

    def test_what_resume_takes_was_counted_too(self):
        path = self.path("r.json")
        uncounted = ASKED[:-2]
        sweep(path, *uncounted)
        self.refused(("run-sweep", *ASKED, "--resume", "-o", path),
                     "2 points there are not of this sweep, program and machine")
        self.counted("r.json")
        resumed = sweep(path, *COUNTED, "-T", "40,41", "-U", "10,20", "--resume")
        self.assertTrue(all(cell["instructions"] for cell in resumed["cells"]))
        self.assertEqual(8, len(resumed["cells"]))

    def test_what_cannot_be_counted_is_refused_before_anything_is_measured(self):
        output = ("-o", self.path("r.json"))
        self.refused(("run-sweep", *ASKED, "--threads", "2", *output), "one thread", "soft has 2")
        self.refused(("run-sweep", *ASKED[:-1], "cycles", *output), "--measure", "instructions")
        self.refused(("run-sweep", *ASKED, "--peer", "true", *output), "--peer")
        self.refused(("run-sweep", *ASKED, "--builds", "2", *output), "--builds")
        done = run("run-sweep", *ASKED, *output, env={**os.environ, "PATH": "/nonexistent"})
        self.assertEqual(2, done.returncode)
        self.assertIn("needs valgrind (apt-get install valgrind)", done.stderr)
        self.assertFalse(os.path.exists(self.path("r.json")))

    def test_a_valgrind_that_counts_nothing_is_refused(self):
        """One that runs the program, and has no tool that counts."""
        fake = self.program("valgrind", "[[ $1 != --version ]] || exec echo valgrind-3.0\n"
                            "while [[ $1 == --* ]]; do shift; done\nexec \"$@\"\n")
        path = os.path.dirname(fake) + ":" + os.environ["PATH"]
        done = run("run-sweep", *ASKED, "-o", self.path("r.json"),
                   env={**os.environ, "PATH": path})
        self.assertEqual((2, 1), (done.returncode, done.stderr.count("\n")), done.stderr)
        self.assertIn("counted no instruction", done.stderr)

    def test_other_kernels_of_the_machine_do_not_reach_valgrind(self):
        """OpenBLAS's for AVX-512 would end a process under valgrind."""
        asked = ("--mechanism", "memory", *COUNTED[2:], "-T", "40", "-U", "10")
        plain = sweep(self.path("a.json"), *asked)
        done = run("run-sweep", *asked, "-o", self.path("b.json"),
                   env={**os.environ, "OPENBLAS_CORETYPE": "SkylakeX",
                        "VALGRIND_OPTS": "--combine-dumps=yes"})
        self.assertEqual(0, done.returncode, done.stderr)
        with open(self.path("b.json"), encoding="utf-8") as file:
            other = strict(file.read())
        for name in ("simd", "loaded", "environment"):
            self.assertEqual(plain["context"][name], other["context"][name])
        out, _ = self.gives(0, "check", self.path("b.json"), "--baseline", self.path("a.json"))
        self.assertIn("0 of 1 count regressed", out)

    def test_a_program_that_cannot_be_measured_has_a_comment_too(self):
        broken = self.program("broken", "echo 'attnbench: no such option' >&2\nexit 2\n")
        done = self.hold(ATTNBENCH, before=broken)
        self.assertEqual(2, done.returncode)
        none = self.hold(self.path("nothing"))
        self.assertEqual((2, ""), (none.returncode, none.stdout))
        self.assertIn("nothing: is no program", none.stderr)
        with open(self.path("held/comment.md"), encoding="utf-8") as file:
            comment = file.read()
        self.assertIn("before could not be measured:\n\n    attnbench: no such option", comment)
        self.assertTrue(comment.startswith(TITLE), comment)

    def test_ci_finds_nothing_in_the_same_program_and_a_small_change_in_another(self):
        planted = relink.plant(os.path.dirname(ATTNBENCH), self.path("planted"), PLANTED)
        found = self.hold(os.path.join(planted, relink.NAME))
        self.assertEqual(1, found.returncode, found.stdout + found.stderr)
        rows = [line for line in found.stdout.splitlines() if "REGRESSED" in line]
        self.assertEqual(1, len(rows), found.stdout)
        self.assertTrue(rows[0].startswith("| memory "), rows)
        with open(self.path("held/comment.md"), encoding="utf-8") as file:
            self.assertEqual(found.stdout, file.read())
        self.assertTrue(found.stdout.startswith(TITLE), found.stdout)
        self.assertTrue(os.path.exists(self.path("held/junit.xml")))
        # A path of another length must not move what is counted.
        os.mkdir(self.path("a-folder-of-a-longer-name"))
        copy = self.path("a-folder-of-a-longer-name/attnbench")
        shutil.copy(ATTNBENCH, copy)
        again = self.path("again.json")
        sweep(again, os.path.join(ROOT, "experiments", "pull_request.json"), "--measure",
              "instructions", program=copy)
        same, _ = self.gives(0, "check", again, "--baseline", self.path("held/before.json"))
        (most,) = re.findall(r"0 of 14 counts regressed, 0 fewer; the largest change is (\S+) %",
                             same)
        self.assertLess(abs(float(most)), 0.25)


if __name__ == "__main__":
    unittest.main()
