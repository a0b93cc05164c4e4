"""The `context` of a result of training: where, when and with what its runs were trained."""

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import time
import warnings

from attnbench import __version__
from attnbench.analysis import ROOT, words

# What the program hands over (harness/system/python.h).
PROGRAM, TYPED = "ATTNBENCH_PROGRAM", "ATTNBENCH_COMMAND_LINE"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_VARIABLES = ("NUM_THREADS", "PROC_BIND", "PLACES", "WAIT_POLICY", "THREAD_LIMIT", "DYNAMIC")


def make(seed, of_torch):
    """The context of a result. `seed` is the experiment's, and `of_torch` what the function of
    that name gave to a worker.
    """
    made = _of_program() or _of_package()
    return {
        **made, **of_torch, "warnings": made["warnings"] + of_torch["warnings"], "seed": seed,
        "command": os.environ.get(TYPED) or " ".join(["attnbench", "train", *sys.argv[1:]]),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def of_all(context, before):
    """Gives a new result's context with what those of results that it takes runs of say of
    their trust, and a warning for each other kind of machine.
    """
    made = {**context}
    for one in before:
        others = [*one["warnings"]]
        if words.machine_text(one) != words.machine_text(context):
            others.append("some runs were trained on another kind of machine: "
                          + words.machine_text(one))
        for member, texts in (("warnings", others), ("invalid_reasons", one["invalid_reasons"])):
            made[member] = list(dict.fromkeys([*made[member], *texts]))
    return {**made, "valid": not made["invalid_reasons"]}


def of_torch(device):
    """What computes in this process. `build_id` tells apart what may give other bits: the
    sources of this package, its native operators, and PyTorch, on each device. It says
    nothing of the machine, as that of the program.
    """
    import numpy
    import torch

    from attnbench.torch import library
    from attnbench.torch.backend import is_portable

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        is_native = not is_portable(torch.empty(0, device=device))
    hashed = hashlib.sha256()
    for text in (torch.__version__, numpy.__version__, platform.python_version(), device):
        hashed.update(text.encode() + b"\0")
    for path in [*_sources(), *([library.find()] if is_native else ())]:
        with open(path, "rb") as file:
            hashed.update(file.read())
    built = torch.__config__.show()
    return {
        "build_id": hashed.hexdigest()[:16],
        "compiler": _found(r"- (GCC \S+|clang \S+)", built),
        "flags": f"device {device}, {'native' if is_native else 'portable'} operators",
        "build_type": _found(r"BUILD_TYPE=(\w+)", built),
        "simd": _found(r"CPU capability usage: (\S+)", built),
        "openmp": {
            "version": int(_found(r"OpenMP (\d+)", built, "0")),
            "max_threads": torch.get_num_threads(),
            **{f"OMP_{name}": os.environ.get(f"OMP_{name}") for name in _VARIABLES},
        },
        "libraries": {
            "attnbench": __version__, "numpy": numpy.__version__,
            "python": platform.python_version(), "torch": torch.__version__,
        },
        "warnings": [str(one.message) for one in caught],
    }


def state_of_sources():
    """Gives the commit, or "unknown", and whether they were edited since, or None."""
    script = os.path.join(ROOT, "cmake", "commit.sh")
    if not os.path.exists(script):  # an installation
        return "unknown", None
    done = subprocess.run(["sh", script, ROOT], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False)
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


def _of_program():
    """What the program says of itself and of the machine; None where no program started this."""
    program = os.environ.get(PROGRAM)
    if program is None:
        return None
    done = subprocess.run([program, "measure-points", "--describe"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, check=True)
    context = json.loads(done.stdout)["context"]
    context.pop("loaded", None)  # the libraries of the program
    return context


def _of_package():
    """The same where there is Python alone, which is told less of the machine."""
    commit, dirty = state_of_sources()
    return {
        "commit": commit, "dirty": dirty, "cpu": cpu_name(),
        "architecture": platform.machine(), "caches": [],
        "cores": len(os.sched_getaffinity(0)), "affinity": None, "kernel": platform.release(),
        "governor": None, "turbo": None, "aslr": None, "memory_bytes": None, "load": None,
        "load_end": None, "valid": True, "invalid_reasons": [], "warnings": [],
    }


def _sources():
    return sorted(
        os.path.join(folder, name)
        for part in ("train", "torch")
        for folder, _, names in os.walk(os.path.join(_PACKAGE, part))
        for name in names if name.endswith(".py"))


def _found(pattern, text, otherwise="unknown"):
    match = re.search(pattern, text)
    return match[1] if match else otherwise
