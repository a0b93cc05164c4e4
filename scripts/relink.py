#!/usr/bin/env python3
"""Links a program again from the objects of its build folder, in other orders: code lies
elsewhere in each, which alone may move its times.

usage: relink.py BUILD N
example: scripts/relink.py build/release 20

Writes BUILD/relinks/attnbench-1 to -N, unless they are there already, of the same
BUILD/attnbench. The order of number K is the same in every run. An error gives one line on stderr and exit
code 2.
"""

import hashlib
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
NAME = "attnbench"
LIMIT_S = 600  # of a program that it starts: linking takes seconds


class RelinkError(Exception):
    """The message is for the user."""


def run(words, build, missing):
    """Gives the finished program; `missing` is the error where there is none."""
    try:
        # Folders have names of any bytes, and the user any locale.
        done = subprocess.run(words, cwd=build, stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, timeout=LIMIT_S)
        done.stdout, done.stderr = os.fsdecode(done.stdout), os.fsdecode(done.stderr)
        return done
    except FileNotFoundError as error:
        raise RelinkError(missing) from error
    except subprocess.TimeoutExpired as error:
        raise RelinkError(f"{words[0]} did not end within {LIMIT_S} s") from error


def commands_of(build):
    """Gives the commands that make the program, the last one links it."""
    done = run(["ninja", "-t", "commands", NAME], build,
               "ninja is missing (scripts/setup.sh installs it)")
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["ninja failed"]
        raise RelinkError(f"{build}: is no build folder of {NAME}: {lines[-1]}")
    return [line for line in done.stdout.splitlines() if line.strip()]


def archives_of(commands):
    """Gives the objects of each static library."""
    found = {}
    for part in "&&".join(commands).split("&&"):
        words = shlex.split(part)
        # With link-time optimisation it is gcc-ar or llvm-ar.
        if words and re.fullmatch(r"(.*-)?ar(-[\d.]+)?", os.path.basename(words[0])):
            found[words[2]] = words[3:]
    return found


def link_words(commands):
    """Gives the linking command without its objects and libraries of ours, and the objects."""
    archives = archives_of(commands)
    parts = [shlex.split(part) for part in commands[-1].split("&&")]
    linking = [words for words in parts if "-o" in words]
    if len(linking) != 1:
        raise RelinkError("the last command of the build does not link the program")
    kept, objects = [], []
    for word in linking[0]:
        if word in archives:
            objects += archives[word]
        elif word.endswith(".o"):
            objects.append(word)
        else:
            kept.append(word)
    return kept, sorted(set(objects))


def link(build, kept, objects, path):
    """Links the objects, in this order, as BUILD/path."""
    whole = os.path.join(build, path)
    at = kept.index("-o")
    words = [*kept[:at], *objects, "-o", path + ".new", *kept[at + 2:]]
    done = run(words, build, f"the linker {words[0]} is missing")
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["no reason given"]
        raise RelinkError(f"{whole}: cannot be linked: {said[-1]}")
    os.replace(whole + ".new", whole)


def plant(build, folder, change):
    """Makes in `folder` all that a program is linked from, and the program: one object of
    it is compiled from the source `file` of ROOT in which `old` is `new`. Gives the folder.
    """
    build, folder = pathlib.Path(build).resolve(), pathlib.Path(folder).resolve()
    source = ROOT / change["file"]
    text = source.read_text(encoding="utf-8")
    if text.count(change["old"]) != 1:
        raise RelinkError(f"{source}: no longer has the text that is to be changed")
    commands = commands_of(build)
    kept, objects = link_words(commands)
    for name in ["build.ninja", "CMakeFiles/rules.ninja", *objects]:
        os.makedirs((folder / name).parent, exist_ok=True)
        shutil.copy2(build / name, folder / name)
    changed = folder / source.name
    changed.write_text(text.replace(change["old"], change["new"]), encoding="utf-8")
    [compiling] = [one for one in commands if one.endswith(str(source))]
    done = run([*shlex.split(compiling)[:-1], str(changed)], folder, "the compiler is missing")
    if done.returncode != 0:
        raise RelinkError(f"{changed}: cannot be compiled: {done.stderr}")
    link(folder, kept, objects, NAME)
    return str(folder)


def clear_others(relinks, program):
    """Removes relinks of another program than this."""
    with open(program, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()  # file_digest is of 3.11
    of_program = relinks / "program.sha256"
    if of_program.exists() and of_program.read_text() == digest:
        return
    shutil.rmtree(relinks, ignore_errors=True)
    relinks.mkdir()
    of_program.write_text(digest)


def main(build, number):
    program = os.path.join(build, NAME)
    if not os.path.exists(program):
        raise RelinkError(f"{build}: has no {NAME}; build it first")
    kept, objects = link_words(commands_of(build))
    built = os.path.getmtime(program)
    if any(os.path.getmtime(os.path.join(build, one)) > built for one in objects):
        raise RelinkError(f"{build}: has objects that are newer than {NAME}; build it first")
    clear_others(pathlib.Path(build, "relinks"), program)
    for one in range(1, number + 1):
        path = os.path.join("relinks", f"{NAME}-{one}")
        if os.path.exists(os.path.join(build, path)):
            continue
        order = objects.copy()
        random.Random(one).shuffle(order)
        link(build, kept, order, path)


if __name__ == "__main__":
    if len(sys.argv) != 3 or not sys.argv[2].isdecimal():
        sys.exit(__doc__)
    try:
        main(sys.argv[1], int(sys.argv[2]))
    except (RelinkError, OSError) as error:
        print(f"relink.py: {error}", file=sys.stderr)
        sys.exit(2)
