#!/usr/bin/env python3
"""Times the program of MAD's authors for figure 8, in our own words (attention.cc), and
its like for figure 3 of MoChA, built with Eigen as it was and with optimisation.

usage: measure.py [--eigen DIR]... [--quick] [--rounds N] [-o RESULT]
example: /usr/bin/python3 experiments/authors/measure.py --eigen build/eigen-3.2.10 \\
  --eigen /usr/include/eigen3 -o authors.json

Every build is timed as the authors' notebook does it: a process for each cell, which
takes 100 trials and tells the seconds of processor time. In a round each cell of each
build has its turn, in random order. A time is that of the U outputs of one trial.
"""

import itertools
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import measured
from attnbench.analysis import command, start
with start.imports("measure.py"):
    from attnbench.analysis import load

NAME = "authors/measure.py"
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "attention.cc")
COMPILER = "g++"
EIGEN = "/usr/include/eigen3"
VERSION = os.path.join("Eigen", "src", "Core", "util", "Macros.h")
OLDEST = (3, 1, 0)
# Seconds that the compiler may take, and a cell of a program: both take seconds.
COMPILER_LIMIT_S = 600
CELL_LIMIT_S = 3600
DIM = 256
# Figure 8 has T and U from 4 to 128, and MoChA's figure 3 T = U from 10 to 100 and these
# widths. Its trials are fewer, since there are rounds of them.
FULL = {"rounds": 5, "lengths": [4, 8, 16, 32, 64, 128], "trials": 100,
        "chunk_lengths": range(10, 101, 10), "chunk_trials": 20,
        "optimization": ["none", "-O2", "-O3"]}
QUICK = {"rounds": 2, "lengths": [4, 16], "trials": 100,
         "chunk_lengths": [10, 20], "chunk_trials": 20, "optimization": ["none"]}
WIDTHS = [2, 4, 8]
# Shares of the machine's cores that other programs keep busy, as validity.h has them.
NOTICEABLE_LOAD, INTOLERABLE_LOAD = 0.25, 0.6


# ---- building ---------------------------------------------------------------


def eigen_version(folder):
    """Reads "3.4.0" from the headers of a folder."""
    path = os.path.join(folder, VERSION)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError as error:
        raise command.UsageError(
            f"--eigen {folder}: has no headers of Eigen ({path}: {error.strerror}); it "
            "must be the folder that contains Eigen/Dense") from error
    numbers = [re.search(rf"#define EIGEN_{part}_VERSION (\d+)", text)
               for part in ("WORLD", "MAJOR", "MINOR")]
    if None in numbers:
        raise command.UsageError(f"--eigen {folder}: {VERSION} names no version")
    version = tuple(int(number[1]) for number in numbers)
    if version < OLDEST:
        raise command.UsageError(
            f"--eigen {folder}: is Eigen {_text(version)}; it must be "
            f"{_text(OLDEST)} or newer")
    return _text(version)


def _text(version):
    return ".".join(map(str, version))


def versions(folders):
    """Gives the folder of each version."""
    found = {}
    for folder in folders:
        version = eigen_version(folder)
        if version in found:
            raise command.UsageError(
                f"--eigen {folder}: is Eigen {version}, as is {found[version]}")
        found[version] = folder
    return found


def _run_compiler(*arguments):
    try:
        return subprocess.run(
            [COMPILER, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
            encoding="utf-8", errors="replace", check=False, timeout=COMPILER_LIMIT_S)
    except OSError as error:
        raise command.UsageError(f"{COMPILER}: cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise command.UsageError(
            f"{COMPILER}: did not end within {COMPILER_LIMIT_S} s") from error


def _compile(version, folder, options):
    # -isystem, since warnings of old headers are no news.
    done = _run_compiler("-isystem", folder, *options, SOURCE)
    if done.returncode != 0:
        first = next((one for one in done.stderr.splitlines() if "error" in one),
                     f"exit code {done.returncode}")
        raise command.UsageError(
            f"--eigen {folder}: Eigen {version} does not compile here: {first}")


class Build:
    def __init__(self, version, folder, optimization, place):
        self.labels = {"eigen": version, "eigen_series": version.rpartition(".")[0],
                       "optimization": optimization}
        self.program = os.path.join(place, f"{version}{optimization}")
        self.flags = [] if optimization == "none" else [optimization]
        _compile(version, folder, [*self.flags, "-o", self.program])

    def nanoseconds(self, cell, trials):
        """Gives the time of one of the trials."""
        width = [] if cell["chunk_width"] is None else [cell["chunk_width"]]
        numbers = [cell["memory_length"], cell["output_length"], DIM, trials, *width]
        line = [self.program, cell["mechanism"], *map(str, numbers)]
        try:
            told = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  text=True, check=True, timeout=CELL_LIMIT_S).stdout
        except subprocess.TimeoutExpired as error:
            raise command.UsageError(
                f"{' '.join(line[1:])}: did not end within {CELL_LIMIT_S} s") from error
        nanoseconds = float(told) * 1e9 / trials
        if nanoseconds <= 0:
            raise command.UsageError(
                f"{' '.join(line[1:])}: took less than the clock of this machine tells")
        return nanoseconds


def compiler_text():
    done = _run_compiler("--version")
    if done.returncode != 0 or not done.stdout:
        raise command.UsageError(f"{COMPILER}: does not say its version")
    return done.stdout.splitlines()[0]


# ---- measuring --------------------------------------------------------------


def cells(settings):
    """Gives (cell, trials) of both figures, each cell once."""
    lengths, diagonal = settings["lengths"], settings["chunk_lengths"]
    wanted = [(mechanism, None, T, U, settings["trials"])
              for T, U in itertools.product(lengths, lengths)
              for mechanism in ("soft", "monotonic")]
    wanted += [(mechanism, width, length, length, settings["chunk_trials"])
               for length in diagonal
               for mechanism, width in [("soft", None), *(("mocha", w) for w in WIDTHS)]]
    names = ("mechanism", "chunk_width", "memory_length", "output_length")
    return [(dict(zip(names, values)), trials) for *values, trials in wanted]


class Load:
    """Watches how many cores other programs keep busy, as load_watch.h does."""

    def __init__(self):
        self.worst, self.last = 0.0, self._now()

    def look(self):
        now = self._now()
        at, busy, own = (new - old for new, old in zip(now, self.last))
        self.worst = max(self.worst, (busy - own) / at)
        self.last = now

    @staticmethod
    def _now():
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _idle, _iowait, irq, softirq, *_ = map(
                int, file.readline().split()[1:])
        busy = (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
        return time.monotonic(), busy, sum(os.times()[:4])

    def validity(self):
        cores = os.cpu_count()
        share, text = self.worst / cores, (
            f"the load of other programs was {self.worst:.1f} on {cores} cores while it "
            "measured; stop them and measure again")
        reasons = [text] if share > INTOLERABLE_LOAD else []
        is_warning = NOTICEABLE_LOAD < share <= INTOLERABLE_LOAD
        return {"valid": not reasons, "invalid_reasons": reasons,
                "warnings": [text] if is_warning else []}


def measure(builds, settings, rounds):
    """Gives the cells of all builds with a sample of each round, and the validity."""
    found = [
        {**cell, "dim": DIM, **build.labels, "trials_per_sample": trials,
         "processes": rounds, "samples_ns": []}
        for build in builds for cell, trials in cells(settings)
    ]
    turns = list(zip(found, [build for build in builds for _ in cells(settings)]))
    watch = Load()
    for number in range(1, rounds + 1):
        random.Random(number).shuffle(turns)
        begin = time.monotonic()
        for cell, build in turns:
            cell["samples_ns"].append(
                build.nanoseconds(cell, cell["trials_per_sample"]))
        watch.look()
        print(f"{NAME}: round {number} of {rounds}, {time.monotonic() - begin:.0f} s",
              file=sys.stderr)
    return found, watch.validity()


def main(arguments):
    parser = measured.parser("measure.py", __doc__)
    parser.add_argument("--eigen", action="append", metavar="DIR",
                        help=f"folder with Eigen/Dense, may be repeated; default {EIGEN}")
    parser.add_argument("--rounds", type=int, metavar="N",
                        help=f"default {FULL['rounds']}, with --quick {QUICK['rounds']}")
    parser.add_argument("--ready", action="store_true",
                        help="only say whether the folders will do: exit 0")
    options = parser.parse_args(arguments)
    settings = QUICK if options.quick else FULL
    rounds = settings["rounds"] if options.rounds is None else options.rounds
    if rounds < 1:
        parser.error(f"--rounds is {rounds}, it must be at least 1")
    # As the source is now, whatever is edited meanwhile.
    context = measured.context(NAME, arguments, {})
    try:
        folders = versions(options.eigen or [EIGEN])
        if options.ready:
            for one in folders.items():
                _compile(*one, ["-fsyntax-only"])
            return 0
        with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor() as pool:
            wanted = itertools.product(folders.items(), settings["optimization"])
            builds = list(pool.map(
                lambda one: Build(*one[0], one[1], place), wanted))
            of_cells, validity = measure(builds, settings, rounds)
    except command.UsageError as error:
        return command.fail(error)
    result = {
        "schema_version": load.SCHEMA_VERSION, "kind": "authors",
        "context": {**context, **validity},
        "quick": options.quick,
        "builds": [{**build.labels, "compiler": compiler_text(), "flags": build.flags}
                   for build in builds],
        "cells": of_cells,
    }
    measured.write_text(load.document_text(result), options.output)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
