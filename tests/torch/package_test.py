"""Guards against a package whose parts need each other's libraries, and against a library that
is not found, or not explained.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from documents import ROOT

LIBRARY = os.environ["ATTNBENCH_TORCH_LIBRARY"]


class PackageTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_python(self, code, **environment):
        kept = {name: value for name, value in os.environ.items()
                if name != "ATTNBENCH_TORCH_LIBRARY"}
        return subprocess.run([sys.executable, "-c", code], cwd=self.folder, text=True,
                              capture_output=True, check=False, env={**kept, **environment})

    def installed(self):
        """A copy of the package, with the library beside it as an installation has it."""
        shutil.copytree(os.path.join(ROOT, "python", "attnbench"), self.path("attnbench"),
                        ignore=shutil.ignore_patterns("__pycache__"))
        return self.path("attnbench/torch/libattnbench_torch.so")

    def test_results_need_no_torch_and_operators_no_pandas(self):
        for code, absent in (
            ("import attnbench; attnbench.load; attnbench.figures", "torch"),
            ("import attnbench.torch", "pandas"), ("import attnbench.torch", "scipy"),
        ):
            asked = f"{code}; import sys; print({absent!r} in sys.modules)"
            done = self.run_python(asked, ATTNBENCH_TORCH_LIBRARY=LIBRARY)
            self.assertEqual((done.stdout, done.stderr), ("False\n", ""), code)

    def test_names_of_the_package_are_listed_and_others_are_errors(self):
        done = self.run_python(
            "import attnbench; print(*attnbench.__all__, set(attnbench.__all__) <= "
            "set(dir(attnbench)), hasattr(attnbench, 'lode'))")
        self.assertEqual(done.stdout, "DataError draw figures load speedups True False\n")

    def test_an_installed_package_finds_its_own_library(self):
        os.symlink(LIBRARY, self.installed())
        done = self.run_python(
            "import torch, attnbench.torch as at; print(at.__file__);"
            "print(at.monotonic_attention(p=torch.full((1, 1, 1, 2), .5)).tolist())",
            PYTHONPATH=self.folder)
        self.assertEqual(done.stdout.splitlines(), [
            os.path.join(self.folder, "attnbench/torch/__init__.py"), "[[[[0.5, 0.25]]]]"])

    def test_a_build_folder_of_the_sources_is_found_and_release_comes_first(self):
        find = ("import sys, types; sys.path.insert(0, sys.argv[0]);"
                "import importlib.util as u;"
                "s = u.spec_from_file_location('l', 'python/attnbench/torch/library.py');"
                "m = u.module_from_spec(s); s.loader.exec_module(m); print(m.find())")
        os.makedirs(self.path("python/attnbench"))
        shutil.copytree(os.path.join(ROOT, "python/attnbench/torch"),
                        self.path("python/attnbench/torch"),
                        ignore=shutil.ignore_patterns("__pycache__"))
        for build in ("ci", "release"):
            os.makedirs(self.path(f"build/{build}"))
            made = self.path(f"build/{build}/libattnbench_torch.so")
            os.symlink(LIBRARY, made)
            self.assertEqual(self.run_python(find).stdout.strip(), os.path.realpath(
                self.folder) + f"/build/{build}/libattnbench_torch.so")

    def test_a_library_that_is_not_there_is_an_error_that_says_what_to_do(self):
        done = self.run_python("import attnbench.torch", ATTNBENCH_TORCH_LIBRARY="/no/such.so")
        self.assertIn("ImportError: ATTNBENCH_TORCH_LIBRARY names no file: /no/such.so",
                      done.stderr)
        self.installed()
        done = self.run_python("import attnbench.torch", PYTHONPATH=self.folder)
        self.assertIn("ImportError: libattnbench_torch.so was not found", done.stderr)
        self.assertIn("--target attnbench_torch", done.stderr)

    def test_a_library_that_does_not_load_is_an_error_that_says_why(self):
        with open(self.path("other.so"), "w", encoding="utf-8") as file:
            file.write("not a library")
        done = self.run_python("import attnbench.torch",
                               ATTNBENCH_TORCH_LIBRARY=self.path("other.so"))
        self.assertRegex(done.stderr, r"ImportError: PyTorch \S+ cannot load .*other\.so")


if __name__ == "__main__":
    unittest.main()
