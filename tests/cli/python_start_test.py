"""Guards against a half in Python that works only as its author's shell has it: which
interpreter runs it, what a user has set for Python, a package that fails, and output that
the user's encoding does not have.
"""

import json
import os
import shlex
import stat
import subprocess
import unittest

import attnbench
import made_up
from documents import ROOT
from in_folder import InFolder

ATTNBENCH = os.path.abspath(os.environ["ATTNBENCH"])
SYSTEM = "/usr/bin/python3"
BROKEN = "raise ValueError('numpy.dtype size changed,\\n may be binary incompatible')\n"
# Runs each with --help, as if the others had not been run.
EVERY_SCRIPT = """
import glob, runpy, sys
path = list(sys.path)
for script in glob.glob(sys.argv[1] + "/*.py"):
    sys.argv[1:] = ["--help"]
    sys.path[:] = path
    for name in list(sys.modules):
        if name.partition(".")[0] in ("attnbench", "figures", "pages"):
            del sys.modules[name]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        assert end.code == 0, script
"""
PACKAGES = ("numpy", "scipy", "pandas", "jsonschema", "matplotlib")


class Started(InFolder):
    def setUp(self):
        super().setUp()
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith(("PYTHON", "ATTNBENCH", "VIRTUAL", "CONDA"))}
        self.write("r.json", json.dumps(made_up.make_document(made_up.mocha_cells([4, 8]))))

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def run_here(self, *words, **variables):
        """Gives (exit code, stdout, stderr) of a command."""
        done = subprocess.run(words, cwd=self.folder, env={**self.env, **variables},
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def refused(self, *words, parts, **variables):
        code, out, error = self.run_here(*words, **variables)
        self.assertEqual((code, out, error.count("\n")), (2, "", 1), error)
        for part in parts:
            self.assertIn(part, error)

    # ---- which interpreter --------------------------------------------------

    def stand_in(self, place, has_packages=True):
        """An interpreter that writes down its name, and says whether it has the packages."""
        return self.write(
            place, f"#!/bin/sh\necho {place} >> {shlex.quote(self.path('ran'))}\n"
                   f"case $1 in */analysis/start.py) exit {int(not has_packages)} ;; esac\n",
            stat.S_IRWXU)

    def ran(self, *words, **variables):
        """The names that were written down by a command, which is good."""
        self.write("ran", "")
        code, _, error = self.run_here(*words, **variables)
        self.assertEqual(code, 0, error)
        with open(self.path("ran"), encoding="utf-8") as file:
            return file.read().split()

    def test_the_interpreter_is_named_or_of_an_active_environment_with_the_packages(self):
        named = self.stand_in("own/python")
        self.stand_in("venv/bin/python3")
        self.stand_in("conda/bin/python3")
        self.stand_in("empty/bin/python3", has_packages=False)
        self.write("none/bin/python3", "no program", stat.S_IRWXU)
        venv, conda, empty, none = map(self.path, ("venv", "conda", "empty", "none"))
        # An environment is asked whether it has the packages before it runs the script.
        for variables, wanted in (
            ({}, []),
            ({"VIRTUAL_ENV": venv, "CONDA_PREFIX": conda}, 2 * ["venv/bin/python3"]),
            ({"CONDA_PREFIX": conda}, 2 * ["conda/bin/python3"]),
            ({"VIRTUAL_ENV": empty, "CONDA_PREFIX": conda},
             ["empty/bin/python3", *2 * ["conda/bin/python3"]]),
            ({"VIRTUAL_ENV": empty}, ["empty/bin/python3"]),
            ({"VIRTUAL_ENV": none, "CONDA_PREFIX": self.path("gone")}, []),
            ({"ATTNBENCH_PYTHON": named, "VIRTUAL_ENV": venv}, ["own/python"]),
            ({"ATTNBENCH_PYTHON": "", "VIRTUAL_ENV": venv}, 2 * ["venv/bin/python3"]),
        ):
            with self.subTest(variables=variables):
                self.assertEqual(self.ran(ATTNBENCH, "draw", "--list", **variables), wanted)
                # The scripts choose the same.
                chosen = self.ran("bash", "-c", f"cd {ROOT}/scripts && . ./lib.sh && "
                                  '"$python" -c pass', **variables)
                self.assertEqual(chosen, wanted)

    def test_an_interpreter_says_whether_it_has_the_packages(self):
        for options, code in (((), 0), (("-S",), 1)):
            words = (SYSTEM, *options, os.path.join(ROOT, "python/attnbench/analysis/start.py"))
            self.assertEqual(self.run_here(*words), (code, "", ""))

    def test_a_program_of_another_version_is_refused(self):
        self.refused(SYSTEM, "-m", "attnbench", "draw", "--list", PYTHONPATH=f"{ROOT}/python",
                     ATTNBENCH_PROGRAM="/mine/attnbench-wait_k", ATTNBENCH_PROGRAM_VERSION="0.0.9",
                     parts=("/mine/attnbench-wait_k: is of attnbench 0.0.9, and ",
                            ": build it again"))
        # Every command says what it is, and from where.
        told = self.write("told", '#!/bin/sh\necho $ATTNBENCH_PROGRAM_VERSION '
                                  '"$ATTNBENCH_PROGRAM" >> told.txt\n', stat.S_IRWXU)
        for words in (("draw", "--list"), ("show", os.path.join(ROOT, "results/advice.json"))):
            self.assertEqual(self.run_here(ATTNBENCH, *words, ATTNBENCH_PYTHON=told),
                             (0, "", ""))
        with open(self.path("told.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), f"{attnbench.__version__} {ATTNBENCH}\n" * 2)

    def test_a_refusal_names_the_interpreter(self):
        gone = self.path("gone")
        self.refused(ATTNBENCH, "draw", "r.json", ATTNBENCH_PYTHON=gone,
                     parts=(gone, "No such file", "ATTNBENCH_PYTHON names one"))
        bare = self.write("bare", f'#!/bin/sh\nexec {SYSTEM} -S "$@"\n', stat.S_IRWXU)
        for command in (("draw", "r.json"), ("report", "r.json", "-o", "r.html"),
                        ("compare", "r.json", "r.json"), ("claims", "--judge", "--results", "."),
                        ("advise",), ("train", "e.json", "-o", "o.json"),
                        ("show", os.path.join(ROOT, "results/advice.json"))):
            self.refused(ATTNBENCH, *command, ATTNBENCH_PYTHON=bare, parts=(
                f"attnbench: {SYSTEM}: No module named '", f"attnbench {command[0]} needs",
                "ATTNBENCH_PYTHON names another"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["bare", "r.json"])

    def test_an_interpreter_that_is_too_old_is_refused_by_name(self):
        old = self.write("sitecustomize.py", "import sys\nsys.version_info = (3, 9, 2)\n")
        self.refused(ATTNBENCH, "draw", "r.json", PYTHONPATH=os.path.dirname(old),
                     parts=(f"{SYSTEM}: is older than Python 3.10", "attnbench draw needs"))

    # ---- what is set for Python ---------------------------------------------

    def test_what_a_user_has_set_for_python_is_of_no_consequence(self):
        for name in ("json", "statistics", "argparse", "signal", "attnbench", "words"):
            self.write(f"{name}.py", f"raise RuntimeError('the {name} of somebody else')\n")
        settings = {
            "PYTHONSAFEPATH": "1", "PYTHONWARNINGS": "error", "PYTHONHOME": "/nowhere",
            "PYTHONINSPECT": "1", "PYTHONOPTIMIZE": "2", "PYTHONSTARTUP": "/nowhere",
            "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C",
            # Python takes an empty folder for the one that the user is in.
            "PYTHONPATH": os.pathsep, "PYTHONHASHSEED": "1",
            "MPLBACKEND": "nonsense", "MPLCONFIGDIR": "/proc/nothing"}
        for command, written in (
            (("draw", "r.json"), "mocha_figure3.svg"),
            (("report", "r.json", "-o", "r.html"), "r.html"),
        ):
            code, _, error = self.run_here(ATTNBENCH, *command, **settings)
            self.assertEqual((code, error), (0, ""))
            self.assertIn(written, os.listdir(self.folder))

    def test_every_script_finds_its_modules_when_it_is_run_by_hand(self):
        code, out, error = self.run_here(SYSTEM, "-c", EVERY_SCRIPT, os.path.join(ROOT, "plots"),
                                         PYTHONSAFEPATH="1", PYTHONWARNINGS="error")
        self.assertEqual((code, error), (0, ""))
        self.assertGreaterEqual(out.count("usage: "), 10)

    def test_a_home_of_a_named_interpreter_is_its_own(self):
        code, _, error = self.run_here(ATTNBENCH, "draw", "--list", PYTHONHOME="/nowhere",
                                       ATTNBENCH_PYTHON=SYSTEM)
        self.assertNotEqual(code, 0)
        self.assertIn("/nowhere", error)

    # ---- packages that fail -------------------------------------------------

    def test_a_package_that_fails_in_any_way_is_one_line(self):
        drawn = (ATTNBENCH, "draw", "r.json")
        for package in PACKAGES:
            with self.subTest(package=package):
                self.write(f"{package}/{package}.py", BROKEN)
                self.refused(*drawn, PYTHONPATH=self.path(package), parts=(
                    f"attnbench: {SYSTEM}: {package} ", ": ValueError: numpy.dtype size "
                    "changed, may be binary incompatible; attnbench draw needs numpy"))
        for words, needs in (
            ((ATTNBENCH, "report", "r.json", "-o", "r.html"), "attnbench report needs"),
            ((ATTNBENCH, "claims", "--judge", "--results", "."), "attnbench claims needs"),
            ((ATTNBENCH, "advise"), "attnbench advise needs"),
            ((SYSTEM, os.path.join(ROOT, "experiments", "authors", "measure.py"), "--ready"),
             "measure.py needs"),
            ((SYSTEM, os.path.join(ROOT, "scripts", "aa.py"), "judge"), "aa.py needs"),
        ):
            self.refused(*words, PYTHONPATH=self.path("jsonschema"), parts=(
                f"{SYSTEM}: jsonschema ", ": ValueError: ", f"; {needs}"))
        # What is imported only where a frame is made of a document.
        self.refused(SYSTEM, os.path.join(ROOT, "plots", "growth.py"), "r.json",
                     PYTHONPATH=self.path("pandas"), parts=(
                         f"growth.py: {SYSTEM}: pandas ", ": ValueError: ", "; growth.py needs"))

    # ---- encodings ----------------------------------------------------------

    def test_what_the_users_encoding_does_not_have_is_replaced(self):
        os.rename(self.path("r.json"), self.path("é.json"))
        os.mkdir(self.path("ü"))
        code, out, error = self.run_here(ATTNBENCH, "draw", "é.json", "-o", "ü",
                                         PYTHONIOENCODING="ascii")
        self.assertEqual((code, error), (0, ""))
        self.assertTrue(out.startswith("?/mocha_figure3.png\n"), out)
        for variables in ({"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C"},
                          {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
            code, _, error = self.run_here(ATTNBENCH, "draw", "ä.json", **variables)
            self.assertEqual(code, 2)
            self.assertRegex(error, r"^attnbench: (\?\?|\?|ä).json: cannot be read: ")

    def test_names_that_no_encoding_has_are_replaced(self):
        cells = made_up.mocha_cells([4, 8])
        text = json.dumps(made_up.make_document(cells)).replace(
            '"mocha"', '"mo\\ud800cha"')
        self.assertIn("\\ud800", text)
        bytes_of_name = os.fsencode(self.folder) + b"/\xe9.json"
        with open(bytes_of_name, "w", encoding="utf-8") as file:
            file.write(text)
        for script, *options in (("draw.py",), ("report.py", "-o", "r.html")):
            code, _, error = self.run_here(
                SYSTEM, os.path.join(ROOT, "plots", script), bytes_of_name, *options)
            self.assertEqual((code, error), (0, ""))
        for name in ("mocha_figure3.svg", "r.html"):
            with open(self.path(name), encoding="utf-8") as file:
                self.assertIn("mo\ufffdcha, w = 2", file.read())
        # The program itself refuses such bytes.
        for words in ((bytes_of_name,), ("--output", b"\xff", "r.json")):
            self.refused(ATTNBENCH, "draw", *words, parts=("UTF-8",))

    def test_what_a_command_printed_is_put_into_a_page_in_any_locale(self):
        page = self.write("page.md", "é\n<!-- x -->\n<!-- /x -->\n")
        for encoding in ("ascii", "latin-1", "utf-8"):
            done = subprocess.run(
                [SYSTEM, os.path.join(ROOT, "plots", "page.py"), page, "x"],
                input="12 µs\n".encode(), env={**self.env, "PYTHONIOENCODING": encoding},
                capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            with open(page, encoding="utf-8") as file:
                self.assertEqual(file.read(),
                                 "é\n<!-- x -->\n```\n12 µs\n```\n<!-- /x -->\n")
        for given, text, what in ((b"\xb5s\n", "é\n<!-- x -->\n<!-- /x -->\n".encode(), "stdin"),
                                  (b"1\n", b"\xe9\n<!-- x -->\n<!-- /x -->\n", page)):
            with open(page, "wb") as file:
                file.write(text)
            done = subprocess.run(
                [SYSTEM, os.path.join(ROOT, "plots", "page.py"), page, "x"], input=given,
                env=self.env, capture_output=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr.decode(), f"page.py: {what}: is not UTF-8\n")


if __name__ == "__main__":
    unittest.main()
