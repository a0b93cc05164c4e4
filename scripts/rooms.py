#!/usr/bin/env python3
"""Checks the walls between the rooms of harness/: a room includes headers only of
itself and of the rooms that it uses, and no room uses itself by way of others.

harness/CMakeLists.txt lists the rooms and links each with those that it uses.
`mechanisms/` includes nothing of harness/, and `mechanisms/kernels/` nothing of the
other mechanisms. The linker does the same for tests: each is linked with its room.

Exit status 1 with a line for each wrong include."""

import argparse
import graphlib
import pathlib
import re
import sys

ROOM = re.compile(r"^attnbench_room\((\w+)(?:\s+USES((?:\s+[a-z_]+)+))?", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s+"((?:mechanisms|harness)/[^/"]+)', re.M)


def read_rooms(root):
    """The folders that each room uses, as CMake links them."""
    text = (root / "harness/CMakeLists.txt").read_text(encoding="utf-8")
    rooms = {f"harness/{name}": {f"harness/{used}" for used in uses.split()}
             for name, uses in ROOM.findall(text)}
    folders = {f"harness/{path.name}" for path in root.glob("harness/*/")}
    named = set(rooms).union(*rooms.values())
    if not folders == set(rooms) == named:
        raise ValueError("harness/CMakeLists.txt: not the same rooms as folders: "
                         + " ".join(sorted(folders.symmetric_difference(rooms)
                                           | named.difference(rooms))))
    try:
        graphlib.TopologicalSorter(rooms).prepare()
    except graphlib.CycleError as error:
        raise ValueError("harness/CMakeLists.txt: rooms use each other: "
                         + ", ".join(error.args[1])) from error
    return rooms


def is_allowed(folder, included, rooms):
    if included == folder:
        return True
    if folder in rooms:
        return included in rooms[folder] or included.startswith("mechanisms/")
    if folder == "mechanisms/kernels":
        return included == "mechanisms/common"
    return included.startswith("mechanisms/")


def wrong_includes(root, rooms):
    for path in sorted([*root.glob("mechanisms/**/*.*"), *root.glob("harness/**/*.*")]):
        if path.suffix not in (".h", ".cc"):
            continue
        file = path.relative_to(root)
        folder = "/".join(file.parts[:2])
        for included in INCLUDE.findall(path.read_text(encoding="utf-8")):
            if not is_allowed(folder, included, rooms):
                yield f"{file}: includes {included}, which {folder} does not use"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: scripts/rooms.py")
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[1],
                        help="the sources (default: those of this script)")
    root = parser.parse_args().root
    try:
        rooms = read_rooms(root)
        wrong = list(wrong_includes(root, rooms))
    except (OSError, ValueError) as error:
        wrong = [str(error)]
    for line in wrong:
        print(f"rooms: {line}", file=sys.stderr)
    if wrong:
        return 1
    print(f"rooms: passed: {len(rooms)} rooms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
