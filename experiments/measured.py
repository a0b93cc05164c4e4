"""What the scripts of these folders share: their options, where a result is from, and how
it is written.
"""

import json
import os
import platform
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
for folder in ("python", "experiments/peers"):
    sys.path.insert(0, os.path.join(ROOT, folder))
from attnbench.analysis import command, whole_file
from attnbench.train.context import cpu_name, state_of_sources

NEEDED = "PyTorch (scripts/setup.sh --training installs it) and what reports need"


def parser(script, description):
    made = command.parser(script, description)
    made.add_argument("--quick", action="store_true", help="a little of each")
    made.add_argument("-o", "--output", metavar="RESULT", help="default: print it")
    return made


def context(script, arguments, libraries):
    """`script` is its path in experiments/, `libraries` are names with versions."""
    commit, dirty = state_of_sources()
    return {
        "commit": commit, "dirty": dirty,
        "cpu": cpu_name(), "architecture": platform.machine(), "kernel": platform.release(),
        "libraries": {"python": platform.python_version(), **libraries},
        "command": " ".join([f"experiments/{script}", *arguments]),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def result(kind, script, arguments, **members):
    """Begins a result that PyTorch computes. Its context tells of the sources as they are now: what
    is checked out may change while a script measures.
    """
    import torch  # which other scripts do without
    return {"schema_version": 1, "kind": kind,
            "context": context(script, arguments, {"torch": torch.__version__}), **members}


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
