"""Guards against flags with which a program is built that computes other numbers, or with
which the build stops late, without a word on the flag.
"""

import os
import shutil
import subprocess
import unittest

from documents import ROOT
from in_folder import InFolder

HEADER = os.path.join(ROOT, "mechanisms/common/arithmetic.h")
BOTH = ("g++", "clang++")
# Flags, the compilers that can tell, and the flag that is named.
CHANGING = (
    ("-O2 -ffast-math", BOTH, "-ffast-math"),
    ("-Ofast", BOTH, "-Ofast"),
    ("-ffinite-math-only", BOTH, "-ffinite-math-only"),
    ("-funsafe-math-optimizations", BOTH[:1], "-funsafe-math-optimizations"),
    ("-fassociative-math -fno-signed-zeros -fno-trapping-math", BOTH[:1], "-fassociative-math"),
    ("-freciprocal-math", BOTH[:1], "-freciprocal-math"),
    ("-fno-signed-zeros", BOTH[:1], "-fno-signed-zeros"),
    ("-fsingle-precision-constant", BOTH[:1], "-fsingle-precision-constant"),
)
OF_X86 = (("-mfpmath=387", BOTH[:1], "-mfpmath=387"),
          ("-mlong-double-64", BOTH, "-mlong-double-64"))
SAME = ("", "-O3 -DNDEBUG", "-O0 -g", "-fno-trapping-math -fno-math-errno")


class Header(unittest.TestCase):
    def compile(self, compiler, flags):
        if shutil.which(compiler) is None:
            self.skipTest(f"there is no {compiler}")
        return subprocess.run([compiler, "-std=c++20", *flags.split(), "-fsyntax-only", "-x", "c++",
                               HEADER], capture_output=True, text=True, check=False)

    def test_flags_that_change_numbers_are_named(self):
        for flags, compilers, named in CHANGING + (OF_X86 if os.uname().machine == "x86_64" else ()):
            for compiler in compilers:
                with self.subTest(compiler=compiler, flags=flags):
                    done = self.compile(compiler, flags)
                    self.assertNotEqual(done.returncode, 0)
                    self.assertRegex(done.stderr, f"error: .*{named}")

    def test_other_flags_pass(self):
        for flags in SAME:
            for compiler in BOTH:
                with self.subTest(compiler=compiler, flags=flags):
                    done = self.compile(compiler, flags)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))


class Configuring(InFolder):
    def setUp(self):
        super().setUp()
        with open(self.path("CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write("cmake_minimum_required(VERSION 3.25)\nproject(some CXX)\n"
                       "find_package(hwy REQUIRED)\nfind_package(fmt REQUIRED)\n"
                       f"include({ROOT}/cmake/compiler_flags.cmake)\n")

    def configure(self, **variables):
        done = subprocess.run(
            ["cmake", "-S", self.folder, "-B", self.path("build"), "-G", "Ninja Multi-Config",
             "-DCMAKE_CONFIGURATION_TYPES=Release",
             *(f"-DCMAKE_{name}={value}" for name, value in variables.items())],
            env={name: value for name, value in os.environ.items() if not name.endswith("FLAGS")},
            capture_output=True, text=True, check=False)
        return done.returncode, " ".join(done.stderr.split())

    def test_flags_are_refused_by_name(self):
        self.assertEqual(self.configure(), (0, ""))
        # The first three have no macro in clang; a linker adds what is wrong by itself.
        for name, value, words in (
                ("CXX_FLAGS", "-fno-honor-nans -O2", "flag -fno-honor-nans changes numbers"),
                ("CXX_FLAGS_RELEASE", "-O3 -funsafe-math-optimizations",
                 "flag -funsafe-math-optimizations changes numbers"),
                ("CXX_FLAGS", "-fdenormal-fp-math=positive-zero", "=positive-zero changes numbers"),
                ("EXE_LINKER_FLAGS", "-ffast-math", "flag -ffast-math changes numbers"),
                ("CXX_FLAGS_RELEASE", "-O3 -ffinite-math-only",
                 "(-O3 -ffinite-math-only): .*-ffinite-math-only changes numbers"),
                # No level is left: what Highway does not know differs between versions.
                ("CXX_FLAGS", "-DHWY_DISABLED_TARGETS=-1",
                 "(-DHWY_DISABLED_TARGETS=-1.*): .*hwy/.* error: .*target.*"
                 "Leave out flags that name a CPU, such as -march=native: "),
                ("CXX_FLAGS", "-D_GLIBCXX_USE_CXX11_ABI=0", "undefined reference to .*fmt")):
            with self.subTest(value):
                flags = {"CXX_FLAGS": "", "CXX_FLAGS_RELEASE": "", "EXE_LINKER_FLAGS": ""}
                status, said = self.configure(**{**flags, name: value})
                self.assertEqual(status, 1)
                self.assertRegex(said, words.replace("(", r"\(").replace(")", r"\)"))


if __name__ == "__main__":
    unittest.main()
