"""Guards against a program that stands for the authors' and computes something else, as
one did that had entries as columns; and against folders of Eigen of which nobody says
what is wrong with them."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
sys.path.insert(0, os.path.join(ROOT, "experiments", "authors"))

import measure  # noqa: E402
import measured  # noqa: E402
from documents import strict, validate  # noqa: E402

T, U, N, W = 7, 9, 5, 3


def rand(count):
    """Gives the first numbers of the C library's rand, without a seed, from -1 to 1."""
    numbers = [1]
    for _ in range(30):
        numbers.append(16807 * numbers[-1] % 2147483647)
    numbers += numbers[:3]
    for _ in range(34, 344 + count):
        numbers.append((numbers[-31] + numbers[-3]) % 2**32)
    return -1 + 2 * (numpy.array(numbers[344:]) >> 1) / 2147483647


def softmax(energies):
    weights = numpy.exp(energies - energies.max())
    return weights / weights.sum()


def scan(x, s):
    """Gives the row at which each output stops."""
    j, stops = 0, []
    for state in s:
        while j < len(x) - 1 and x[j] @ state < 0:
            j += 1
        stops.append(j)
    return stops


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.program = os.path.join(cls.folder.name, "attention")
        subprocess.run(["g++", "-std=c++98", "-pedantic", "-Wall", "-Wextra", "-Werror",
                        "-isystem", measure.EIGEN, measure.SOURCE, "-o", cls.program],
                       check=True)

    def told(self, *arguments):
        return subprocess.run([self.program, *map(str, arguments)], capture_output=True,
                              text=True, check=False)

    def contexts(self, mechanism, *width):
        """Expects the inputs that the authors' order of drawing gives: x before s, each
        column by column. Gives x, s and the contexts.
        """
        done = self.told(mechanism, T, U, N, 0, *width)
        rows = numpy.array([line.split() for line in done.stdout.splitlines()], float)
        x, s, contexts = numpy.split(rows, [T, T + U])
        drawn = rand(T * N + U * N)
        numpy.testing.assert_allclose(x, drawn[:T * N].reshape(N, T).T, atol=1e-15)
        numpy.testing.assert_allclose(s, drawn[T * N:].reshape(N, U).T, atol=1e-15)
        return x, s, contexts

    def test_soft_attention_weighs_all_rows(self):
        x, s, contexts = self.contexts("soft")
        wanted = [softmax(x @ state) @ x for state in s]
        numpy.testing.assert_allclose(contexts, wanted, atol=1e-12)

    def test_hard_monotonic_attention_copies_the_row_where_its_scan_stops(self):
        x, s, contexts = self.contexts("monotonic")
        stops = scan(x, s)
        numpy.testing.assert_array_equal(contexts, x[stops])
        # Else the scan would not be seen to stay, to move, or to end at the last row.
        self.assertLess(len(set(stops)), U)
        self.assertGreater(len(set(stops)), 2)
        self.assertEqual(stops[-1], T - 1)

    def test_mocha_weighs_the_rows_that_end_where_the_scan_stops(self):
        x, s, contexts = self.contexts("mocha", W)
        windows = [x[max(0, j + 1 - W):j + 1] for j in scan(x, s)]
        wanted = [softmax(rows @ state) @ rows for rows, state in zip(windows, s)]
        numpy.testing.assert_allclose(contexts, wanted, atol=1e-12)
        # The first windows are cut at the start of the memory.
        self.assertEqual({len(rows) for rows in windows}, {W - 1, W})

    def test_trials_are_timed(self):
        for arguments in (("soft", T, U, N, 3), ("mocha", T, U, N, 3, W)):
            self.assertGreater(float(self.told(*arguments).stdout), 0)

    def test_wrong_arguments_are_named(self):
        for arguments, what in (
            ((), "MECHANISM is missing"),
            (("linear", 1, 1, 1, 1), "MECHANISM is linear, it must be soft"),
            (("soft", 1, 1, 1), "soft takes T U N TRIALS"),
            (("soft", 1, 1, 1, 1, 2), "soft takes T U N TRIALS"),
            (("mocha", 1, 1, 1, 1), "mocha takes T U N TRIALS W"),
            (("soft", 0, 1, 1, 1), "T is 0, it must be a whole number from 1 to"),
            (("soft", 1, "4x", 1, 1), "U is 4x, it must"),
            (("soft", 1, 1, 1, -1), "TRIALS is -1, it must be a whole number from 0"),
            (("mocha", 1, 1, 1, 1, 0), "W is 0, it must"),
        ):
            done = self.told(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(what, done.stderr)


class Measure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_driver(self, *arguments):
        script = os.path.join(ROOT, "experiments", "authors", "measure.py")
        return subprocess.run([sys.executable, script, *arguments], capture_output=True,
                              text=True, check=False)

    def headers(self, name, macros, dense=""):
        """Makes a folder with these two files of Eigen."""
        folder = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(os.path.join(folder, measure.VERSION)))
        for path, text in ((measure.VERSION, macros), ("Eigen/Dense", dense)):
            with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                file.write(text)
        return folder

    def assert_refused(self, folders, *said):
        result = os.path.join(self.folder, "result.json")
        options = [f"--eigen={folder}" for folder in folders]
        for more in (["-o", result], ["--ready"]):
            done = self.run_driver("--quick", *options, *more)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            for what in (folders[-1], *said):
                self.assertIn(what, done.stderr)
        self.assertFalse(os.path.exists(result))

    def test_a_folder_that_cannot_be_built_with_is_refused_by_its_name(self):
        def macros(*version):
            return "".join(f"#define EIGEN_{part}_VERSION {number}\n" for part, number
                           in zip(("WORLD", "MAJOR", "MINOR"), version))

        self.assert_refused([self.folder], "has no headers of Eigen", "Eigen/Dense")
        self.assert_refused([self.headers("odd", "")], "names no version")
        self.assert_refused([self.headers("old", macros(3, 0, 7))],
                            "is Eigen 3.0.7; it must be 3.1.0 or newer")
        self.assert_refused([measure.EIGEN, self.headers("bad", macros(3, 2, 1), "#error no")],
                            "Eigen 3.2.1 does not compile here", "#error no")
        self.assert_refused([measure.EIGEN, measure.EIGEN], "as is")

    def test_a_compiler_or_a_program_that_does_not_end_is_named(self):
        hangs = os.path.join(self.folder, "hangs")
        with open(hangs, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexec sleep 100\n")
        os.chmod(hangs, 0o755)
        with (mock.patch.multiple(measure, COMPILER=hangs, COMPILER_LIMIT_S=0.2),
              self.assertRaisesRegex(measure.command.UsageError,
                                     "hangs: did not end within 0.2 s")):
            measure.Build("3.4.0", measure.EIGEN, "-O2", self.folder)
        build = measure.Build.__new__(measure.Build)
        build.program = hangs
        cell = {"mechanism": "soft", "memory_length": 4, "output_length": 4,
                "chunk_width": None}
        with (mock.patch.object(measure, "CELL_LIMIT_S", 0.2),
              self.assertRaisesRegex(measure.command.UsageError,
                                     "soft 4 4 256 1: did not end within 0.2 s")):
            build.nanoseconds(cell, 1)

    def test_folders_that_will_do_are_ready(self):
        done = self.run_driver("--ready")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_no_round_is_refused(self):
        done = self.run_driver("--rounds=0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--rounds is 0, it must be at least 1", done.stderr)

    def test_the_quick_form_times_every_cell_of_every_build_in_each_round(self):
        path = os.path.join(self.folder, "result.json")
        done = self.run_driver("--quick", "-o", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, encoding="utf-8") as file:
            result = strict(file.read())
        validate(result, "authors")
        version = measure.eigen_version(measure.EIGEN)
        self.assertEqual(
            [(build["eigen"], build["optimization"], build["flags"])
             for build in result["builds"]],
            [(version, "none", [])])
        self.assertIn("g++", result["builds"][0]["compiler"])
        places = {json.dumps([cell[key] for key in (
            "eigen", "optimization", "mechanism", "chunk_width", "memory_length",
            "output_length")]) for cell in result["cells"]}
        # T and U of 2 lengths, soft and monotonic; T = U of 2, soft and 3 widths.
        self.assertEqual(len(places), 4 * 2 + 2 * 4)
        self.assertEqual(len(result["cells"]), len(places))
        for cell in result["cells"]:
            self.assertEqual(len(cell["samples_ns"]), 2)


class Machine(unittest.TestCase):
    def test_a_processor_of_arm_has_the_name_that_the_program_gives_it(self):
        self.assertEqual(measured.cpu_name(os.path.join(ROOT, "tests/support/arm_cpuinfo.txt")),
                         "implementer 0x41 part 0xd03, implementer 0x41 part 0xd08")


if __name__ == "__main__":
    unittest.main()
