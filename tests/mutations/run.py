#!/usr/bin/env python3
"""Shows that the checks can fail: every defect of mutations.json turns the test
that it names, or `attnbench verify`, red.

The preset `ci` is built once, as far as the checks need it. For each defect the
changed file lies in a folder that is searched before the sources, only the objects
that depend on it are compiled again, at -O1 and for few SIMD levels, and they are
linked before everything else; no source is touched. First every check has to pass on
the sources as they are. Controls run beside the defects: they take the same steps with
a file that is not changed, and their checks have to pass.

A defect is an entry of mutations.json: its `name`, the `file`, the text `old`,
which occurs there once, and `new`; `caught_by` is a test source with a filter of
its tests, or `verify` with its arguments. A test in Python imports a copy of plots/,
python/ or experiments/ with the defect, and so does a program that it starts. Exit
status 1 if one is not caught, does not apply or does not compile."""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "ci"
MUTANTS = ROOT / "build" / "check" / "mutations"
LIST = pathlib.Path(__file__).with_name("mutations.json")
# The options that compile a changed object. Of the x86 levels these are AVX2
# and the one that every machine has, which has one lane: a defect in moving
# lanes would not show there.
FLAGS = ["-DHWY_DISABLED_TARGETS=0x19FF", "-Wno-error"]
CHECK_LIMIT_S = 120
# Tests in Python may start the program, and load the operators.
PYTHON_USES = ("attnbench", "libattnbench_torch.so")


class Problem(Exception):
    """A fault of the list or the machine, not a defect that was missed."""


def run(command, **options):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **options)
    if done.returncode != 0:
        raise Problem(f"failed: {shlex.join(map(str, command))}\n{done.stdout}")
    return done.stdout


class Check:
    """Gives `verify ARGUMENTS`, or `TEST_SOURCE GTEST_FILTER`."""

    def __init__(self, text):
        self.text = text
        first, _, self.argument = text.partition(" ")
        self.test = None if first == "verify" else first
        if not self.argument:
            raise Problem(f"'{text}' is no test source with a filter, and no verify")

    @property
    def is_python(self):
        return self.test is not None and self.test.endswith(".py")

    def command(self, program):
        if self.is_python:
            # `program` is a folder with a plots/ and a python/.
            paths = [program / "plots", program / "python", ROOT / "tests/plots",
                     ROOT / "tests/support"]
            started, library = PYTHON_USES
            folder = program if (program / started).exists() else BUILD
            return ["env", f"PYTHONPATH={':'.join(map(str, paths))}",
                    f"ATTNBENCH={folder / started}",
                    f"ATTNBENCH_TORCH_LIBRARY={BUILD / library}",
                    "OPENBLAS_NUM_THREADS=1", "/usr/bin/python3", ROOT / self.test,
                    self.argument]
        if self.test:
            return [program, f"--gtest_filter={self.argument}", "--gtest_brief=1",
                    "--gtest_fail_fast"]
        return [program, "verify", "-j", "1", *shlex.split(self.argument)]

    def verdict(self, program):
        """"passed", "failed" by its own judgement, or what else happened."""
        try:
            done = subprocess.run(self.command(program), cwd=ROOT, text=True,
                                  errors="replace", stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False,
                                  timeout=CHECK_LIMIT_S)
        except subprocess.TimeoutExpired:
            return f"took more than {CHECK_LIMIT_S} s"
        if self.test:
            counted = re.search(r"^(?:\[=+\]|Ran) (\d+) tests? (?:from|in)", done.stdout,
                                re.M)
            ran = counted is not None and int(counted[1]) > 0
            failed = any(word in done.stdout for word in
                         ("[  FAILED  ]", "check failed:", "FAILED (failures="))
            if done.returncode == 0 and not ran:
                return "no test has that name"
        else:
            # A wrong kernel is refused before `verify` begins.
            failed = done.returncode == 1 or "gives wrong numbers on this CPU" in done.stdout
        if done.returncode == 0:
            return "passed"
        return "failed" if failed else f"exit status {done.returncode}"


@dataclasses.dataclass
class Mutation:
    """A defect, with the text of the file that has it."""

    name: str
    file: str
    text: str  # of the file, with the defect
    check: Check
    folder: pathlib.Path


def source_text(file):
    return (ROOT / file).read_text(encoding="utf-8")


def read_mutation(entry, number):
    """Reads an entry of the list: `old` becomes `new` in `file`."""
    if set(entry) != {"name", "file", "old", "new", "caught_by"}:
        raise Problem(f"missing or unknown keys: {entry}")
    name, file, old, new = (entry[key] for key in ("name", "file", "old", "new"))
    text = source_text(file)
    if text.count(old) != 1 or old == new:
        raise Problem(f"does not apply: {name}: `old` occurs {text.count(old)} "
                      f"times in {file}, or is `new`")
    return Mutation(name, file, text.replace(old, new), Check(entry["caught_by"]),
                    MUTANTS / f"{number:02}")


def control_of(mutation):
    """Gives the same without the defect, whose check must pass."""
    return dataclasses.replace(
        mutation, name="control: nothing is changed", text=source_text(mutation.file),
        folder=MUTANTS / f"control_{mutation.folder.name}")


def sources_of(compiled):
    """Gives the sources that a compiled file includes if CMake made it of several, else
    itself."""
    if pathlib.Path(compiled).parent.name != "Unity":
        return [compiled]
    text = pathlib.Path(compiled).read_text(encoding="utf-8")
    return re.findall(r'^#include "(.+)"$', text, re.M)


def target_of(object_name):
    """Gives the library or program that CMake makes of an object."""
    return re.search(r"CMakeFiles/([\w-]+)\.dir/", object_name)[1]


class Base:
    """The build of the sources as they are."""

    def __init__(self, checks):
        run(["cmake", "--preset", "ci"], cwd=ROOT)
        commands = json.loads((BUILD / "compile_commands.json").read_text())
        # The key is the object, as a source may be compiled twice.
        self.compile = {}
        self.object_of = {}
        for entry in commands:
            words = shlex.split(entry["command"])
            name = words[words.index("-o") + 1]
            self.compile[name] = words
            for source in sources_of(words[-1]):
                self.object_of[os.path.relpath(source, ROOT)] = name
        self.links = {check.test: self.link_words(check.test) for check in checks
                      if not check.is_python}
        needed = {word for words in self.links.values() for word in words
                  if word.endswith((".o", ".a")) and not word.startswith("/")}
        if any(check.is_python for check in checks):
            needed.update(PYTHON_USES)
        run(["ninja", "-C", BUILD, *sorted(needed)])
        self.dependents = self.read_dependents()
        self.programs = {check.test: ROOT for check in checks if check.is_python}
        for number, test in enumerate(self.links):
            self.programs[test] = MUTANTS / f"base_{number}"
            self.link(test, {}, self.programs[test])

    def link_words(self, test):
        """Gives the words that link `attnbench`, or the object of one test source with the
        room that its program tests.
        """
        if test and test not in self.object_of:
            raise Problem(f"the build has no {test}")
        program = target_of(self.object_of[test]) if test else "attnbench"
        text = run(["ninja", "-C", BUILD, "-t", "commands", "-s", program])
        words = shlex.split(text.strip().splitlines()[-1])
        words = words[words.index("&&") + 1:]
        words = words[:words.index("&&")]
        if test:
            words = [word for word in words
                     if not (word.startswith("tests/") and word.endswith(".o"))]
            words.insert(1, self.object_of[test])
        return words

    def read_dependents(self):
        """Maps each source or header to the objects that are made of it."""
        dependents = {}
        name = None
        for line in run(["ninja", "-C", BUILD, "-t", "deps"]).splitlines():
            if line and not line.startswith(" "):
                name = line.split(": #deps")[0]
            elif line.strip():
                path = os.path.normpath(BUILD / line.strip())
                dependents.setdefault(path, []).append(name)
        return dependents

    def objects_to_make(self, mutation):
        """Gives those objects that its check links, by themselves or in a library."""
        linked = set(self.links[mutation.check.test])
        libraries = {pathlib.Path(word).stem.removeprefix("lib") for word in linked
                     if word.endswith(".a")}
        return [name for name in self.dependents.get(str(ROOT / mutation.file), [])
                if name in self.compile
                and (name in linked or target_of(name) in libraries)]

    def make(self, mutation):
        """Makes the program of its check, with the defect; returns its path."""
        source = mutation.folder / "source"
        changed = source / mutation.file
        if mutation.check.is_python:
            for folder in ("plots", "python", "experiments"):
                shutil.copytree(ROOT / folder, source / folder)
            for data in ("docs", "harness", "results", "scripts"):
                (source / data).symlink_to(ROOT / data)
            # The program runs the Python that lies beside it.
            os.link(BUILD / PYTHON_USES[0], source / PYTHON_USES[0])
        else:
            changed.parent.mkdir(parents=True)
        changed.write_text(mutation.text, encoding="utf-8")
        if mutation.check.is_python:
            return source
        made = {}
        for number, name in enumerate(self.objects_to_make(mutation)):
            made[name] = mutation.folder / f"{number}.o"
            self.compile_again(name, mutation, changed, made[name])
        if not made:
            raise Problem(f"nothing that is built depends on {mutation.file}")
        program = mutation.folder / "program"
        self.link(mutation.check.test, made, program)
        return program

    def compile_again(self, name, mutation, changed, to):
        words = ["-O1" if word == "-O3" else word for word in self.compile[name]]
        words[words.index("-o") + 1] = str(to)
        original = str(ROOT / mutation.file)
        if original in sources_of(words[-1]):
            joined = to.with_suffix(".cc")
            joined.write_text("".join(
                f'#include "{changed if source == original else source}"\n'
                for source in sources_of(words[-1])), encoding="utf-8")
            words[-1] = str(joined)
        words.insert(words.index(f"-I{ROOT}"), f"-I{mutation.folder / 'source'}")
        words[words.index("-o"):words.index("-o")] = FLAGS
        run(words, cwd=BUILD)

    def link(self, test, made, to):
        # The changed objects come first, so that their inline functions are
        # taken, and no library member that defines the same.
        words = [word for word in self.links[test] if word not in made]
        words[words.index("-o") + 1] = str(to)
        words[1:1] = map(str, made.values())
        run(words, cwd=BUILD)


def judge(base, mutation, wanted):
    """Gives (seconds, what happened, whether that is right)."""
    start = time.monotonic()
    try:
        verdict = mutation.check.verdict(base.make(mutation))
    except Problem as problem:
        verdict = str(problem)
    if verdict == wanted:
        shutil.rmtree(mutation.folder)
    return time.monotonic() - start, verdict, verdict == wanted


def check_base(base, checks, pool):
    """Expects every check to pass on the sources as they are."""
    verdicts = pool.map(lambda check: check.verdict(base.programs[check.test]), checks)
    bad = [f"{check.text}: {verdict}" for check, verdict in zip(checks, verdicts)
           if verdict != "passed"]
    if bad:
        raise Problem("\n  ".join(["without any defect,", *bad]))


def changed_last(mutations, number):
    """Gives those `number` whose file or test was changed last; without a history
    all of them."""
    def git(*arguments):
        done = subprocess.run(["git", *arguments], cwd=ROOT, text=True,
                              capture_output=True, check=False)
        return done.stdout.splitlines()

    changed = git("diff", "--name-only", "HEAD") + git("log", "--format=", "--name-only")
    if not changed:
        return mutations
    ranks = {}
    for rank, file in enumerate(changed):
        ranks.setdefault(file, rank)

    def rank(mutation):
        return min(ranks.get(file, len(changed))
                   for file in (mutation.file, mutation.check.test))

    return sorted(mutations, key=rank)[:number]


def check_all(mutations, jobs):
    start = time.monotonic()
    shutil.rmtree(MUTANTS, ignore_errors=True)
    MUTANTS.mkdir(parents=True)
    checks = list({m.check.text: m.check for m in mutations}.values())
    base = Base(checks)
    missed = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        check_base(base, checks, pool)
        print(f"built, and {len(checks)} checks passed, in "
              f"{time.monotonic() - start:.0f} s", flush=True)
        todo = [*((control_of(m), "passed") for m in mutations[::25]),
                *((m, "failed") for m in mutations)]
        running = {pool.submit(judge, base, m, wanted): (m, wanted) for m, wanted in todo}
        for done in concurrent.futures.as_completed(running):
            mutation, wanted = running[done]
            seconds, verdict, good = done.result()
            word = {"passed": "passed", "failed": "caught"}[wanted]
            if not good:
                word = "SURVIVED" if verdict == "passed" else "ERROR"
                missed.append(mutation.name)
            print(f"{word:<9}{seconds:4.0f} s  {mutation.name} ({mutation.check.text})",
                  flush=True)
            if word == "ERROR":
                print(f"  {verdict}", flush=True)
    return missed, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: tests/mutations/run.py --only window")
    parser.add_argument("--list", action="store_true",
                        help="print the defects and what catches them")
    parser.add_argument("--only", metavar="PART", default="",
                        help="only defects with PART in their name")
    parser.add_argument("--changed", metavar="N", type=int,
                        help="only N defects, whose file or test was changed last")
    parser.add_argument("-j", type=int, metavar="N", dest="jobs",
                        default=len(os.sched_getaffinity(0)),
                        help="defects at a time (default: one a core)")
    arguments = parser.parse_args()
    for option, number in (("-j", arguments.jobs), ("--changed", arguments.changed)):
        if number is not None and number < 1:
            parser.error(f"{option} {number}; allowed: 1 and more")
    try:
        entries = json.loads(LIST.read_text(encoding="utf-8"))
        mutations = [read_mutation(entry, number) for number, entry in enumerate(entries)]
        mutations = [m for m in mutations if arguments.only in m.name]
        if arguments.changed:
            mutations = changed_last(mutations, arguments.changed)
        if not mutations:
            parser.error(f"no defect has '{arguments.only}' in its name; see --list")
        if arguments.list:
            for mutation in mutations:
                print(f"{mutation.name}\n  {mutation.file}; {mutation.check.text}")
            return 0
        missed, seconds = check_all(mutations, arguments.jobs)
    except (Problem, OSError, json.JSONDecodeError) as problem:
        print(f"mutations: {problem}", file=sys.stderr)
        return 1
    if missed:
        print(f"mutations: failed: {len(missed)} of {len(mutations)} not caught: "
              + "; ".join(missed))
        return 1
    print(f"mutations: passed: all {len(mutations)} defects caught, {seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
