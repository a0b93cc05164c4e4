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
for folder in ("python", "experiments/peers"):
    sys.path.insert(0, os.path.join(ROOT, folder))
from attnbench.analysis import command, whole_file

NEEDED = "PyTorch (scripts/setup.sh --training installs it) and what reports need"


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
        "cpu": cpu_name(), "architecture": platform.machine(), "kernel": platform.release(),
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


def cpu_name(cpuinfo="/proc/cpuinfo"):
    """Names the processor as the program does (harness/machine/cpus.h)."""
    with open(cpuinfo, encoding="utf-8") as file:
        lines = [line.rstrip("\n").partition(": ") for line in file]
    implementer, kinds = "", {}
    for name, _, value in lines:
        if name.startswith("model name") and value:
            return value
        if name.startswith("CPU implementer"):
            implementer = value
        if name.startswith("CPU part"):
            kinds[f"implementer {implementer} part {value}"] = None
    return ", ".join(kinds) or "unknown"
