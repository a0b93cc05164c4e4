"""What the scripts of these folders share: their options, where a result is from, and how
it is written.
"""

import json
import os
import platform
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
for folder in ("python", "plots", "experiments/peers"):
    sys.path.insert(0, os.path.join(ROOT, folder))
from analysis import command, whole_file


def parser(script, description):
    made = command.parser(script, description)
    made.add_argument("--quick", action="store_true", help="a little of each")
    made.add_argument("-o", "--output", metavar="RESULT", help="default: print it")
    return made


def context(script, arguments, libraries):
    """`script` is its path in experiments/, `libraries` are names with versions."""
    commit, dirty = _state_of_sources()
    return {
        "commit": commit, "dirty": dirty,
        "cpu": _cpu(), "kernel": platform.release(),
        "libraries": {"python": platform.python_version(), **libraries},
        "command": " ".join([f"experiments/{script}", *arguments]),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def write(result, path):
    """Writes the file whole or not at all; prints the result if there is no path."""
    write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", path)


def write_text(text, path):
    if path:
        try:
            whole_file.write(path, text.encode())
        except OSError as error:
            sys.exit(command.fail(f"{path}: cannot be written: {error.strerror}"))
    else:
        print(text, end="")


def _state_of_sources():
    """Gives the commit, or "unknown", and whether they were edited since, or None."""
    done = subprocess.run(["sh", os.path.join(ROOT, "cmake", "commit.sh"), ROOT],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    commit, edited = done.stdout.split() or ("unknown", "unknown")
    return commit, {"yes": True, "no": False}.get(edited)


def _cpu():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":")[1].strip() for line in file if "model name" in line]
    return names[0] if names else platform.machine()
