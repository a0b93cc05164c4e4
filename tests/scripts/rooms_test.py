"""Guards against walls that let everything through: scripts/rooms.py fails on each
include that no link allows, on each link that no include needs, and on rooms that use
each other."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

CMAKE = """
attnbench_room(base
  SOURCES error.cc)
attnbench_room(sweep TEXT
  USES base
  SOURCES axes.cc)
attnbench_room(results APART
  USES base sweep
  SOURCES check.cc)
"""
TESTS = """
attnbench_test(sweep_test sweep
  harness/sweep/axes_test.cc)
attnbench_test(base_test base
  harness/base/error_test.cc)
# More than the room of a test.
target_link_libraries(base_test PRIVATE attnbench_sweep)
"""


class Rooms(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = holder.name
        self.write("harness/CMakeLists.txt", CMAKE)
        self.write("harness/base/error.h", "mechanisms/mechanism.h")
        self.write("harness/sweep/axes.h", "harness/base/error.h")
        self.write("harness/results/check.h", "harness/sweep/axes.h")
        self.write("harness/results/check.cc", "harness/base/error.h")
        self.write("tests/CMakeLists.txt", TESTS)
        self.write("tests/harness/sweep/axes_test.cc", "harness/sweep/axes.h")
        self.write("tests/harness/base/error_test.cc",
                   '#include "harness/base/error.h"\n#include "tests/support/made_up.h"\n')
        self.write("tests/support/made_up.h", "harness/sweep/axes.h")
        self.write("mechanisms/soft/soft.cc", "mechanisms/kernels/kernels.h")
        self.write("mechanisms/kernels/kernels.h", "mechanisms/common/array.h")

    def write(self, file, text):
        path = os.path.join(self.root, file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(f'#include "{text}"\n' if text.endswith(".h") else text)

    def run_rooms(self, root):
        return subprocess.run([sys.executable, os.path.join(ROOT, "scripts/rooms.py"), "--root", root],
                              capture_output=True, text=True, check=False)

    def expect_wrong(self, *words):
        done = self.run_rooms(self.root)
        self.assertEqual(done.returncode, 1, done.stdout)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_the_sources_and_the_example_pass(self):
        for root in (ROOT, self.root):
            done = self.run_rooms(root)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_an_include_that_no_link_allows_is_wrong(self):
        for file, included in (("harness/base/error.h", "harness/sweep/axes.h"),
                               ("harness/sweep/axes.cc", "harness/results/check.h"),
                               ("harness/sweep/more/axes.cc", "harness/results/check.h"),
                               ("harness/sweep/axes.cc", "harness/loose.h"),
                               ("mechanisms/soft/soft.h", "harness/base/error.h"),
                               ("mechanisms/kernels/scan.cc", "mechanisms/soft/soft.h"),
                               ("mechanisms/kernels/scan.cc", "mechanisms/mechanism.h")):
            with self.subTest(file=file, included=included):
                self.setUp()
                self.write(file, included)
                self.expect_wrong(file, os.path.dirname(included))

    def test_a_link_that_no_include_needs_is_wrong(self):
        self.write("harness/results/check.h", "harness/results/other.h")
        self.expect_wrong("harness/results uses harness/sweep, of which it includes nothing")

    def test_a_link_of_a_test_that_no_include_needs_is_wrong(self):
        wrong = "base_test needs no link with harness/sweep"
        self.write("tests/support/made_up.h", "harness/base/error.h")
        self.expect_wrong(wrong)
        self.write("tests/support/made_up.h", "harness/sweep/axes.h")
        self.write("tests/CMakeLists.txt",
                   TESTS.replace("attnbench_sweep)", "attnbench_sweep attnbench_results)"))
        self.write("tests/harness/base/error_test.cc",
                   '#include "tests/support/made_up.h"\n#include "harness/results/check.h"\n'
                   '#include "harness/base/error.h"\n')
        self.expect_wrong(wrong)  # it comes with results
        self.write("tests/CMakeLists.txt", TESTS)
        self.write("tests/harness/sweep/axes_test.cc", "harness/base/error.h")
        self.expect_wrong("sweep_test needs no link with harness/sweep")

    def test_rooms_that_use_each_other_are_wrong(self):
        self.write("harness/CMakeLists.txt", CMAKE.replace("(base", "(base USES results"))
        self.expect_wrong("use each other", "harness/base", "harness/results")

    def test_a_folder_that_is_no_room_is_wrong(self):
        self.write("harness/more/more.h", "harness/more/other.h")
        self.expect_wrong("harness/more")

    def test_a_room_that_uses_what_is_no_room_is_wrong(self):
        self.write("harness/CMakeLists.txt", CMAKE.replace("USES base sweep", "USES base sweeps"))
        self.expect_wrong("harness/sweeps")


if __name__ == "__main__":
    unittest.main()
