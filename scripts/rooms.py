#!/usr/bin/env python3
"""Checks the walls between the rooms of harness/: a room includes headers only of
itself and of the rooms that it uses, it uses no room of which it includes nothing, and
none uses itself by way of others.

harness/CMakeLists.txt lists the rooms and links each with those that it uses.
`mechanisms/` includes nothing of harness/, and `mechanisms/kernels/` nothing of the
other mechanisms. The linker does the same for tests: each is linked with its room, and
here with no room that it does not need.

Exit status 1 with a line for each wrong include or link."""

import argparse
import graphlib
import pathlib
import re
import sys

ROOM = re.compile(r"^attnbench_room\((\w+)(?:\s+(?:TEXT|APART))*(?:\s+USES((?:\s+[a-z_]+)+))?", re.M)
TEST = re.compile(r"^attnbench_test\((\w+)\s+(\w+)([^)]*)\)", re.M)
LINK = re.compile(r"^target_link_libraries\((\w+) PRIVATE((?:\s+attnbench_\w+)+)\)", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


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


def sources(root, folder):
    return sorted(path for path in root.glob(f"{folder}/**/*.*")
                  if path.suffix in (".h", ".cc"))


def included_folders(path):
    """Those of mechanisms/ and harness/ that a file includes of."""
    included = INCLUDE.findall(path.read_text(encoding="utf-8"))
    return ["/".join(name.split("/")[:2]) for name in included
            if name.startswith(("mechanisms/", "harness/"))]


def is_allowed(folder, included, rooms):
    if included == folder:
        return True
    if folder in rooms:
        return included in rooms[folder] or included.startswith("mechanisms/")
    if folder == "mechanisms/kernels":
        return included == "mechanisms/common"
    return included.startswith("mechanisms/")


def wrong_includes(root, rooms):
    for path in (*sources(root, "mechanisms"), *sources(root, "harness")):
        file = path.relative_to(root)
        folder = "/".join(file.parts[:2])
        for included in included_folders(path):
            if not is_allowed(folder, included, rooms):
                yield f"{file}: includes {included}, which {folder} does not use"


def unneeded_uses(root, rooms):
    for folder, uses in rooms.items():
        for path in sources(root, folder):
            uses = uses.difference(included_folders(path))
        for used in sorted(uses):
            yield (f"harness/CMakeLists.txt: {folder} uses {used}, of which it includes "
                   "nothing")


def with_headers(root, path):
    """A source of a test and the headers of tests/ that it includes, and so on."""
    found, to_read = set(), [path]
    while to_read:
        path = to_read.pop()
        if path in found:
            continue
        found.add(path)
        included = INCLUDE.findall(path.read_text(encoding="utf-8"))
        to_read += [header for name in included
                    for header in (root / name, path.parent / name)
                    if header.is_relative_to(root / "tests") and header.exists()]
    return found


def unneeded_test_links(root, rooms):
    """A test must include of the rooms that it is linked with. Those beside its own room
    must come with no other.
    """
    text = (root / "tests/CMakeLists.txt").read_text(encoding="utf-8")
    beside = dict(LINK.findall(text))
    for name, room, files in TEST.findall(text):
        more = [f"harness/{link.removeprefix('attnbench_')}"
                for link in beside.get(name, "").split()]
        links = {f"harness/{room}", *more}.intersection(rooms)
        included = {folder for file in files.split()
                    if (root / "tests" / file).exists()
                    for path in with_headers(root, root / "tests" / file)
                    for folder in included_folders(path)}
        for link in sorted(links):
            comes = link in more and link in reached(links - {link}, rooms)
            if comes or link not in included:
                yield f"tests/CMakeLists.txt: {name} needs no link with {link}"


def reached(folders, rooms):
    found = set(folders)
    for folder in folders:
        found |= reached(rooms[folder], rooms)
    return found


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
        wrong = [line for check in (wrong_includes, unneeded_uses, unneeded_test_links)
                 for line in check(root, rooms)]
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
