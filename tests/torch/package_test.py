"""Guards against a package whose parts need each other's libraries, against a library that
is not found, or not explained, and against a package of pip that works in its own sources
only, hides another copy, or leaves files in the sources.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

from documents import ROOT

LIBRARY = os.environ["ATTNBENCH_TORCH_LIBRARY"]
PLACE = "attnbench/torch/libattnbench_torch.so"
FIND = "from attnbench.torch import library; print(library.find())"
# Says of each library, and of none, why it cannot be loaded.
LOAD = """
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("library", {library!r})
library = importlib.util.module_from_spec(spec)
spec.loader.exec_module(library)
for path in {paths!r}:
    os.environ["ATTNBENCH_TORCH_LIBRARY"] = path
    try:
        library.load()
    except ImportError as error:
        print(type(error).__name__ + ": " + str(error))
"""
# No program `attnbench` is there.
BARE_PATH = "/usr/bin:/bin"


class InScratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = os.path.realpath(scratch.name)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content, mode=0o644):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(content)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def run_python(self, code, python=sys.executable, **environment):
        kept = {name: value for name, value in os.environ.items()
                if name != "ATTNBENCH_TORCH_LIBRARY"}
        return subprocess.run([python, "-c", code], cwd=self.folder, text=True,
                              capture_output=True, check=False,
                              env={**kept, "PATH": BARE_PATH, **environment})


def first_example(page):
    with open(os.path.join(ROOT, "docs", f"{page}.md"), encoding="utf-8") as file:
        return re.search(r"^```python\n(.*?)^```$", file.read(), re.M | re.S)[1]


class PackageTest(InScratch):
    def installed(self):
        """A copy of the package, with the library beside it as an installation has it."""
        shutil.copytree(os.path.join(ROOT, "python", "attnbench"), self.path("attnbench"),
                        ignore=shutil.ignore_patterns("__pycache__"))
        return self.path(PLACE)

    def assert_refused(self, errors):
        """Expects that load() raises these errors, each of one line, by the library's path."""
        code = LOAD.format(library=self.path("attnbench/torch/library.py"), paths=[*errors])
        done = self.run_python(code, PYTHONPATH=self.folder)
        self.assertEqual(done.stderr, "")
        self.assertEqual(len(done.stdout.splitlines()), len(errors))
        for told, error in zip(done.stdout.splitlines(), errors.values()):
            self.assertRegex(told, f"^{error}$")

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
        shutil.copytree(os.path.join(ROOT, "python"), self.path("python"),
                        ignore=shutil.ignore_patterns("__pycache__"))
        for build in ("ci", "release"):
            os.makedirs(self.path(f"build/{build}"))
            made = self.path(f"build/{build}/libattnbench_torch.so")
            os.symlink(LIBRARY, made)
            done = self.run_python(FIND, PYTHONPATH=self.path("python"))
            self.assertEqual(done.stdout.strip(), made, done.stderr)

    def test_the_library_of_the_program_is_found_in_its_build_and_where_it_is_installed(self):
        self.installed()
        for program, library in (("build/attnbench", "build/libattnbench_torch.so"),
                                 ("usr/bin/attnbench", f"usr/share/attnbench/python/{PLACE}")):
            folder = os.path.dirname(self.write(program, b"#!/bin/sh\n", mode=0o755))
            os.makedirs(os.path.dirname(self.path(library)), exist_ok=True)
            os.symlink(LIBRARY, self.path(library))
            done = self.run_python(FIND, PYTHONPATH=self.folder, PATH=folder)
            self.assertEqual(done.stdout.strip(), self.path(library), done.stderr)

    def test_a_library_that_is_not_there_is_an_error_that_says_what_to_do(self):
        self.installed()
        self.assert_refused({
            "/no/such.so": "ImportError: ATTNBENCH_TORCH_LIBRARY names no file: /no/such.so",
            "": "NotFound: libattnbench_torch.so was not found: .*--target attnbench_torch` makes"
                " it, and ATTNBENCH_TORCH_LIBRARY says where it is"})

    def test_another_library_is_refused_with_both_versions(self):
        with open(LIBRARY, "rb") as file:
            ours = file.read()
        # It is in the library once, and strings(1) shows it, too.
        [(mark, own, of_torch)] = re.findall(rb"(of attnbench (\S+) for PyTorch ([\d.]+)\0)", ours)
        self.installed()
        version, torch = own.decode(), of_torch.decode()
        errors = {}
        for name, message, content in (
            ("a.so", f"PATH has no operators of attnbench {version} for PyTorch HERE: it is"
             " another library, or of an earlier version", b"not ours"),
            ("b.so", "PATH was built with PyTorch 7.77.7, but PyTorch HERE runs here",
             ours.replace(mark, mark.replace(of_torch, b"7.77.7"))),
            ("c.so", f"PATH is of attnbench 8.88.8, but this package is of {version}",
             ours.replace(mark, mark.replace(own, b"8.88.8", 1))),
            # It needs what another build of the same version has not.
            ("d.so", f"PyTorch HERE cannot load PATH, which was built with PyTorch {torch}: .+",
             ours.replace(b"libtorch_cpu.so", b"libtorch_xpu.so")),
        ):
            path = self.write(name, content)
            errors[path] = "ImportError: " + message.replace("PATH", path).replace(
                "HERE", r"[\d.]+\S*")
        self.assert_refused(errors)

    def test_where_the_library_cannot_be_used_a_warning_says_why_once(self):
        self.installed()
        self.write(PLACE, b"not ours")
        call = "print(at.monotonic_attention(p=torch.full((1, 1, 1, 2), .5)).tolist());"
        done = self.run_python(f"import torch, attnbench.torch as at; {call}{call}",
                               PYTHONPATH=self.folder)
        self.assertEqual(done.stdout, "[[[[0.5, 0.25]]]]\n" * 2, done.stderr)
        self.assertEqual(len(re.findall("UserWarning: .*has no operators of attnbench",
                                        done.stderr)), 1, done.stderr)

    def test_a_copy_that_hides_another_version_says_so(self):
        self.installed()
        self.write("site/attnbench-9.8.7.dist-info/METADATA",
                   b"Metadata-Version: 2.1\nName: attnbench\nVersion: 9.8.7\n")
        for use in ("import attnbench.torch", "import attnbench; attnbench.load"):
            done = self.run_python(use, PYTHONPATH=f"{self.folder}:{self.path('site')}")
            self.assertRegex(
                done.stderr, r"UserWarning: attnbench [\d.]+ in \S+/attnbench hides"
                r" attnbench 9\.8\.7, which pip installed\n")

    def test_a_program_of_the_sources_takes_the_package_beside_it(self):
        self.write("attnbench/__init__.py", b"")
        self.write("attnbench/torch.py", b"")
        done = self.run_python(
            f"import sys; sys.path.insert(0, {os.path.join(ROOT, 'experiments', 'peers')!r});"
            "import framework_operators as ours; print(ours.OPERATORS.__file__)",
            PYTHONPATH=self.folder, ATTNBENCH_TORCH_LIBRARY=LIBRARY)
        self.assertEqual(os.path.realpath(done.stdout.strip()),
                         os.path.join(ROOT, "python/attnbench/torch/__init__.py"), done.stderr)


def names_in_sources():
    """Gives the files that a build could leave in the sources."""
    return {path for pattern in ("*", "build/*", "python/**", "plots/**")
            for path in glob.glob(os.path.join(ROOT, pattern), recursive=True,
                                  include_hidden=True) if "__pycache__" not in path}


class PipTest(InScratch):
    """The commands of docs/installing.md, without a network."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.environment = os.path.join(scratch.name, "V")
        cls.wheels = os.path.join(scratch.name, "wheels")
        cls.before = names_in_sources()
        offline = ["--no-build-isolation", "--no-deps"]
        for command in (
            [sys.executable, "-m", "pip", "wheel", *offline, "-w", cls.wheels, "."],
            [sys.executable, "-m", "venv", "--system-site-packages", cls.environment],
            [f"{cls.environment}/bin/pip", "install", *offline, "."],
        ):
            done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False,
                                  env={**os.environ, "PIP_NO_INDEX": "1", "PYTHONPATH": ""})
            if done.returncode != 0:
                raise AssertionError(f"{' '.join(command)}: {done.stdout}{done.stderr}")

    def run_python(self, code, **environment):
        done = super().run_python(code, f"{self.environment}/bin/python3",
                                  **{"PYTHONPATH": "", **environment})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_the_sources_are_as_before_and_no_program_is_installed(self):
        self.assertEqual(names_in_sources(), self.before)
        self.assertEqual(glob.glob(f"{self.environment}/bin/*attnbench*"), [])

    def test_the_wheel_is_of_python_alone_with_every_module_of_the_sources(self):
        [wheel] = os.listdir(self.wheels)
        self.assertRegex(wheel, r"^attnbench-[\d.]+-py3-none-any\.whl$")
        names = zipfile.ZipFile(os.path.join(self.wheels, wheel)).namelist()
        self.assertEqual({os.path.splitext(name)[1] for name in names
                          if ".dist-info/" not in name}, {".py", ".json", ".csv"})
        data = {f"attnbench/shared/results/{name}" for folder in ("schema", "published")
                for name in glob.glob(f"{folder}/*", root_dir=os.path.join(ROOT, "results"))}
        self.assertEqual(data - set(names), set())
        modules = glob.glob("attnbench/**/*.py", root_dir=os.path.join(ROOT, "python"),
                            recursive=True)
        self.assertEqual(set(modules) - set(names), set())
        with open(os.path.join(ROOT, "python/attnbench/__init__.py"), encoding="utf-8") as file:
            version = re.search('^__version__ = "(.*)"', file.read(), re.M)[1]
        self.assertEqual(wheel.split("-")[1], version)

    def test_the_first_example_of_the_page_runs_outside_the_sources(self):
        example = first_example("operators")
        asked = f"{example}\nimport attnbench; print(attnbench.__file__)\nprint(float(loss))"
        native, portable = (self.run_python(f"import torch; torch.manual_seed(1)\n{asked}",
                                            **variables).splitlines()
                            for variables in ({"ATTNBENCH_TORCH_LIBRARY": LIBRARY}, {}))
        for where, _ in (native, portable):
            self.assertTrue(where.startswith(self.environment), where)
        self.assertAlmostEqual(float(native[1]), float(portable[1]), delta=1e-5)

    def test_the_example_of_bands_runs(self):
        self.run_python(first_example("banded"))

    def test_results_are_read_and_drawn_outside_the_sources(self):
        path = os.path.join(ROOT, "results", "claims", "figure3.json")
        made = self.run_python(
            f"import attnbench; path = {path!r}; print(len(attnbench.load(path)) > 0);"
            "name = next(iter(attnbench.figures(path))); attnbench.draw(name, path)")
        self.assertEqual(made, "True\n")


if __name__ == "__main__":
    unittest.main()
