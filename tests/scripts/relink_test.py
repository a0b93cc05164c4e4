"""Guards against relinks that leave the program's libraries in their old order, because
CMake makes libraries with another archiver: gcc-ar with link-time optimisation.
"""

import os
import sys
import unittest

from documents import ROOT

sys.path.insert(0, os.path.join(ROOT, "scripts"))
import relink


class Relink(unittest.TestCase):
    def test_objects_of_libraries_are_linked_by_themselves(self):
        for archiver in ("/usr/bin/ar", "ar", "/usr/bin/gcc-ar", "aarch64-linux-gnu-gcc-ar-12",
                         "/usr/bin/llvm-ar-14"):
            with self.subTest(archiver):
                commands = [
                    "c++ -o b.o -c b.cc",
                    f": && cmake -E rm -f liba.a && {archiver} qc liba.a  b.o a.o && ranlib liba.a",
                    ": && c++ -O3 main.o -o attnbench  liba.a  -lm && :"]
                self.assertEqual(relink.link_words(commands),
                                 (["c++", "-O3", "-o", "attnbench", "-lm"],
                                  ["a.o", "b.o", "main.o"]))


if __name__ == "__main__":
    unittest.main()
