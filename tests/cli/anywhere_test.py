"""Guards against a program that works only where it was built: runs it from other folders,
installed and moved, with experiments by their names. Checks its version, its help, and the
man page and completion that are made of it, by an emulator too; and what an installation
does with folders that are absolute, with the umask, and with a program for another CPU.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from documents import ROOT
from in_folder import InFolder

ATTNBENCH = os.environ["ATTNBENCH"]
MAN_PAGE = os.path.join(ROOT, "scripts", "man_page.sh")


class Anywhere(InFolder):
    def run_here(self, *arguments, program=ATTNBENCH, **variables):
        return subprocess.run([os.path.abspath(program), *arguments], cwd=self.folder,
                              env={**os.environ, **variables}, capture_output=True, text=True,
                              check=False)

    def gives(self, *arguments, program=ATTNBENCH):
        done = self.run_here(*arguments, program=program)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def installed(self, **how):
        build = os.path.dirname(os.path.abspath(ATTNBENCH))
        subprocess.run(["cmake", "--install", build, "--prefix", self.path("usr")],
                       check=True, capture_output=True, **how)
        return self.path("usr/bin/attnbench")

    def configured(self, *options):
        """Configures the sources anew, as if they were built there. Gives what CMake said."""
        build = self.path("build")
        shutil.rmtree(build, ignore_errors=True)
        done = subprocess.run(
            ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-D", "ATTNBENCH_TESTS=OFF",
             "-D", "CMAKE_DISABLE_FIND_PACKAGE_Torch=ON", *options],
            check=True, capture_output=True, text=True)
        shutil.copy(ATTNBENCH, build)
        os.symlink("attnbench", os.path.join(build, "run-sweep"))
        return done.stdout

    def installed_below(self, destination):
        """Installs what is configured. Gives the files, without what is below `attnbench/`."""
        subprocess.run(["cmake", "--install", self.path("build"), "--prefix", "/usr"],
                       check=True, capture_output=True, umask=0o077,
                       env={**os.environ, "DESTDIR": self.path(destination)})
        return {os.path.join("/", os.path.relpath(os.path.join(folder, file),
                                                  self.path(destination)))
                for folder, _, files in os.walk(self.path(destination)) for file in files
                if "/attnbench/" not in folder + "/"}

    def test_an_experiment_is_known_by_its_name_in_every_folder(self):
        plan = json.loads(self.gives("run-sweep", "ci", "--dry-run", "--json"))
        self.assertEqual(plan["name"], "ci")
        with open(self.path("ci"), "w", encoding="utf-8") as file:
            json.dump({"name": "mine", "axes": {"memory_length": 2},
                       "alternatives": [{"mechanism": "soft"}]}, file)
        plan = json.loads(self.gives("run-sweep", "ci", "--dry-run", "--json"))
        self.assertEqual(plan["name"], "mine")
        done = self.run_here("run-sweep", "mad_figure9", "--dry-run")
        self.assertEqual(done.returncode, 2)
        self.assertIn("mad_figure9: cannot be read", done.stderr)

    def test_an_installed_program_finds_what_it_needs(self):
        program = self.installed()
        self.assertEqual(sorted(os.listdir(self.path("usr"))), ["bin", "share"])
        listed = json.loads(self.gives("list", "--json", program=program))
        self.assertIn("mad_figure8", listed["experiments"])
        self.assertIn("mad-linear (MAD 2.2)\n", self.gives("claims", "--list", program=program))
        sweep = self.path("usr/bin/run-sweep")
        self.gives("-T", "3,4", "-d", "4", "--repetitions", "2", "-o", "r.json", program=sweep)
        self.gives("report", "r.json", "-o", "r.html", program=program)
        self.gives("draw", "--figure", "mocha_figure3", "r.json", program=program)
        self.assertLessEqual({"r.html", "mocha_figure3.png"}, set(os.listdir(self.folder)))
        asked = ("import attnbench; print(len(attnbench.load('r.json')),"
                 " len(attnbench.speedups('r.json')), *attnbench.figures('r.json'))")
        package = {**os.environ, "PYTHONPATH": self.path("usr/share/attnbench/python")}
        done = subprocess.run(["/usr/bin/python3", "-c", asked], cwd=self.folder,
                              env=package, check=False, capture_output=True, text=True)
        self.assertRegex(done.stdout, r"^[1-9]\d* [1-9]\d*", done.stderr)
        # The sources have no such experiment.
        with open(self.path("usr/share/attnbench/experiments/mine.json"), "x",
                  encoding="utf-8"):
            pass
        shutil.move(self.path("usr"), self.path("moved"))
        program = self.path("moved/bin/attnbench")
        listed = json.loads(self.gives("list", "--json", program=program))
        self.assertIn("mine", listed["experiments"])
        self.gives("claims", "mad-linear", "--quick", program=program)

    def test_an_installed_program_says_what_its_python_lacks_and_refuses_another_package(self):
        program = self.installed()
        bare = self.path("bare")
        with open(bare, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n')
        os.chmod(bare, 0o755)
        results = os.path.join(ROOT, "results")
        advice = os.path.join(results, "advice.json")
        pair = [os.path.join(results, "compare", f"{name}.json") for name in ("before", "after")]
        commands = (("advise",), ("claims", "--list"), ("compare", *pair), ("draw", advice),
                    ("report", advice, "-o", "r.html"), ("show", advice))
        package = self.path("usr/share/attnbench/python/attnbench/__init__.py")
        with open(package, encoding="utf-8") as file:
            newer = re.sub('__version__ = ".*"', '__version__ = "99.0"', file.read())
        for python, said in ((bare, " needs numpy, scipy, pandas, jsonschema, matplotlib (apt-get"
                                    " install python3-matplotlib "),
                             (self.path("none"), " needs Python 3 (apt-get install python3; "),
                             ("", f"{program}: is of attnbench ")):
            if not python:
                with open(package, "w", encoding="utf-8") as file:
                    file.write(newer)
            for command in commands:
                done = self.run_here(*command, program=program, ATTNBENCH_PYTHON=python)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")),
                                 (2, "", 1), done.stderr)
                self.assertIn(said, done.stderr)
            # What needs no Python goes on.
            checked = self.run_here("check", pair[1], "--baseline", pair[0], program=program,
                                    ATTNBENCH_PYTHON=python)
            self.assertIn(checked.returncode, (0, 1), checked.stderr)
        self.assertIn("99.0: build it again", done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["bare", "usr"])

    def test_a_program_that_is_moved_alone_finds_its_sources(self):
        # The folder of other tests may be below the sources.
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            program = shutil.copy(ATTNBENCH, folder)
            self.gives("run-sweep", "ci", "--dry-run", program=program)
            self.assertIn("mocha_figure3", self.gives("draw", "--list", program=program))

    def test_every_folder_of_cmake_may_be_absolute(self):
        for program, man, data in (("/usr/bin", "/usr/share/man", "/opt/data"),
                                   ("/opt/bin", "/opt/man", "/usr/share")):
            self.configured("-DCMAKE_INSTALL_PREFIX=/usr", f"-DCMAKE_INSTALL_BINDIR={program}",
                            f"-DCMAKE_INSTALL_MANDIR={man}", f"-DCMAKE_INSTALL_DATADIR={data}",
                            "-DCMAKE_INSTALL_DOCDIR=/opt/doc")
            root = program[1:4]
            self.assertEqual(
                self.installed_below(root),
                {"/opt/doc/LICENSE", *(
                    f"{folder}/{file}" for file in ("attnbench", "run-sweep")
                    for folder in (program, f"{data}/bash-completion/completions")),
                 f"{man}/man1/attnbench.1", f"{man}/man1/run-sweep.1"})
            # The program takes this way to the rest.
            with open(self.path("build/compile_commands.json"), encoding="utf-8") as file:
                way = re.search(r'ATTNBENCH_DATA_FROM_PROGRAM=[\\"]*([^"\\]*)', file.read())[1]
            for file in ("experiments/ci.json", "plots/report.py", "results/effects.json"):
                path = self.path(f"{root}{program}/{way}/{file}")
                self.assertTrue(os.path.exists(path), path)

    def test_what_is_installed_does_not_follow_the_umask(self):
        self.installed(umask=0o077)
        for folder, _, files in os.walk(self.path("usr")):
            self.assertEqual(os.stat(folder).st_mode & 0o777, 0o755, folder)
            for file in files:
                path = os.path.join(folder, file)
                self.assertIn(os.stat(path).st_mode & 0o777, (0o644, 0o755), path)

    def test_a_program_for_another_cpu_is_installed_without_a_page_or_by_an_emulator(self):
        another = ("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=another")
        self.assertIn("The man page is left out", self.configured(*another))
        os.chmod(self.path("build/attnbench"), 0o600)  # it cannot be run here
        self.assertEqual([path for path in self.installed_below("none") if "/man" in path], [])
        self.assertTrue(os.path.exists(self.path("none/usr/bin/attnbench")))
        emulator = self.path("an emulator")
        with open(emulator, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nshift 2\nexec "{os.path.abspath(ATTNBENCH)}" "$@"\n')
        os.chmod(emulator, 0o755)
        said = self.configured(*another, f"-DCMAKE_CROSSCOMPILING_EMULATOR={emulator};-a b")
        self.assertNotIn("left out", said)
        os.chmod(self.path("build/attnbench"), 0o600)
        self.assertIn("/usr/share/man/man1/run-sweep.1", self.installed_below("emulated"))
        with open(self.path("emulated/usr/share/man/man1/attnbench.1"), "rb") as file:
            self.assertEqual(file.read(), subprocess.run([MAN_PAGE, ATTNBENCH], check=True,
                                                         capture_output=True).stdout)

    def commands(self):
        return re.findall(r"^  (\S+)", self.gives("help").split("Subcommands:\n")[1],
                          re.MULTILINE)

    def options(self, *command):
        return re.findall(r"^  (-\S+)", self.gives("help", *command), re.MULTILINE)

    def test_the_man_page_has_every_command_and_option(self):
        self.installed()
        with open(self.path("usr/share/man/man1/attnbench.1"), encoding="utf-8") as file:
            page = file.read().replace("\\-", "-")
        sections = {text.split()[0]: text
                    for text in re.split(r"^\.S[HS] ", page, flags=re.MULTILINE)[1:]}
        self.assertEqual(list(sections), ["NAME", "DESCRIPTION", "COMMANDS", *self.commands()])
        for option in self.options():
            self.assertIn(f"\n\\fB{option}", sections["DESCRIPTION"])
        for command in self.commands():
            for option in self.options(command):
                self.assertIn(f"\n\\fB{option}", sections[command])

    def test_the_man_page_has_no_simd_levels_of_the_cpu_that_makes_it(self):
        levels = re.search(r"one of ([A-Z][A-Z0-9_, ]+);", " ".join(self.gives("--help").split()))
        page = subprocess.run([MAN_PAGE, ATTNBENCH], check=True, capture_output=True, text=True)
        # The plain level, which every CPU has, is the example.
        self.assertEqual([level for level in levels[1].split(", ")[:-1] if level in page.stdout],
                         [])

    def test_the_man_page_of_a_program_for_another_cpu_is_made_by_its_emulator(self):
        page = subprocess.run([MAN_PAGE, ATTNBENCH], check=True, capture_output=True)
        emulated = subprocess.run([MAN_PAGE, "env", "--", ATTNBENCH], check=True,
                                  capture_output=True)
        self.assertIn(b"attnbench", page.stdout)
        self.assertEqual(emulated.stdout, page.stdout)

    def completed(self, *words, split=None):
        done = subprocess.run(
            ["bash", "-c", 'source "$0" && COMP_WORDS=("$@") && COMP_CWORD=$(($# - 1)) && '
             '_attnbench "$1" "${@: -1}" "${@: -2:1}" && printf "%s\\n" "${COMPREPLY[@]}"',
             self.path("usr/share/bash-completion/completions/run-sweep"), *words],
            cwd=self.folder, capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.strip().split(split)

    def test_completion_knows_commands_options_experiments_and_claims(self):
        program = self.installed()
        commands = self.commands()
        self.assertEqual(self.completed(program, ""), commands)
        self.assertEqual(self.completed(program, "help", ""), commands)
        for command in [(), *((one,) for one in commands)]:
            names = [name for option in self.options(*command) for name in option.split(",")]
            self.assertEqual(self.completed(program, *command, "-"), names)
        self.assertEqual(self.completed(program, "run-sweep", "mad_"), ["mad_figure8"])
        self.assertEqual(self.completed(self.path("usr/bin/run-sweep"), "mad_"), ["mad_figure8"])
        self.assertEqual(self.completed(program, "run-sweep", "-o", "mad_"), [])
        self.assertEqual(self.completed(program, "claims", "mad-lin"), ["mad-linear"])

    def test_completion_runs_nothing_that_a_name_has_in_it(self):
        program, names = self.installed(), ["$(touch hit)", "`touch hit`", "a b", "*", "'"]
        os.mkdir(self.path("experiments"))
        for name in names:
            with open(self.path(os.path.join("experiments", f"{name}.json")), "w"):
                pass
        done = subprocess.run(["bash", "-c", f"printf '%s\\n' {self.words(program)}"],
                              cwd=self.folder, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.splitlines(), sorted(names))
        self.assertFalse(os.path.exists(self.path("hit")))

    def words(self, program):
        """What completion offers, as it would stand in the line."""
        return " ".join(self.completed(program, "run-sweep", "", split="\n"))

    def test_it_says_which_program_it_is(self):
        self.assertRegex(self.gives("--version"),
                         r"^attnbench \d+\.\d+\.\d+, commit \w+.*, \w+\n$")

    def test_help_is_that_of_the_command(self):
        self.assertEqual(self.gives("help", "compare"), self.gives("compare", "--help"))
        self.assertEqual(self.gives("help"), self.gives("--help"))

    def test_claims_are_listed_in_the_order_of_the_ledger(self):
        with open(os.path.join(ROOT, "experiments", "claims.json"), encoding="utf-8") as file:
            claims = json.load(file)["claims"]
        listed = re.findall(r"^(\S+) \(", self.gives("claims", "--list"), re.MULTILINE)
        self.assertEqual(listed, [claim["id"] for claim in claims])
        self.assertEqual(self.gives("claims", "--list", "mocha-w1").count("\n"), 2)


if __name__ == "__main__":
    unittest.main()
