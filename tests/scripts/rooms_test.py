"""Guards against walls that let everything through: scripts/rooms.py fails on each
include that no link allows, and on rooms that use each other."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

CMAKE = """
attnbench_room(base
  SOURCES error.cc)
attnbench_room(sweep
  USES base
  TEXT_SOURCES axes.cc)
attnbench_room(results
  USES base sweep
  SOURCES check.cc)
"""


class Rooms(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = holder.name
        self.write("harness/CMakeLists.txt", CMAKE)
        self.write("harness/base/error.h", "mechanisms/mechanism.h")
        self.write("harness/sweep/axes.h", "harness/base/error.h")
        self.write("harness/results/check.cc", "harness/results/check.h")
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
