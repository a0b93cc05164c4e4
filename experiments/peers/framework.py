#!/usr/bin/env python3
"""The mechanisms as one writes them with PyTorch: the peer of experiments/peers.

    run-sweep --peer '/usr/bin/python3 experiments/peers/framework.py' ...

Debian's python3-torch on OpenBLAS, or any other PyTorch. With --device cuda a GPU has
the tensors of training; decoding is skipped there. Every cell runs the fastest of several
ways to write it, eager and by torch.jit.script, as measured when it is prepared. Decoding
is in framework_decode.py, training in framework_training.py. A batch is a dimension of
the tensors; sequences of different lengths would need padding and masks, and are
skipped.

framework_flushed is the closed forms in a process that flushes denormal numbers. With
--before LIBRARY, framework_operators_before is our operators by that older
libattnbench_torch.so, in a process of its own.
"""

import argparse
import ctypes
import os
import re
import sys

import torch

# PYTHONSAFEPATH leaves this folder out.
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import framework_common
import framework_operators
import framework_portable
import protocol
from framework_decode import Decoding
from framework_operators import LIBRARY, OperatorTraining
from framework_training import Training

# What every option of a mechanism is by default: the only value served here.
DEFAULTS = {
    "keys": "precomputed",
    "threshold": 0.5,
    "strict": False,
    "sample": False,
    "noise": 0,
    "preset": "none",  # the constants are those of preset tf
    "term_eps": 1e-10,
    "denominator_eps": 1e-10,
    "encoder_scoring": "softmax",
    "decoder_scoring": "softmax",
    "position_encoding": "none",
    "place": "inside",
    "max_length": 0,
}
FLUSHED = "framework_flushed"
BEFORE = "framework_operators_before"
HELP = {
    "soft": "PyTorch: matrix products and softmax",
    "monotonic": "PyTorch: a scan by vectorised energies or one at a time; in "
    "training the closed form by cumprod and cumsum, constants of preset tf",
    "mocha": "PyTorch: the same scan; in training beta by moving sums of "
    "clipped exponentials, as differences of cumsum",
    "matcha": "PyTorch: the same scan; in training eqs 40 to 43 by T x T arrays",
    "memory": "PyTorch: matrix products and softmax",
}


def blas():
    """The BLAS that is loaded: what decides its times, by name, and how to set its
    threads.
    """
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {line.split()[-1] for line in maps if "openblas" in line}
    for path in sorted(paths):
        library = ctypes.CDLL(path)
        if not hasattr(library, "openblas_set_num_threads"):
            continue
        for ask in (library.openblas_get_config, library.openblas_get_corename):
            ask.restype = ctypes.c_char_p
        config = library.openblas_get_config().decode()
        flavour = re.search("openblas-[a-z]+", os.path.realpath(path))
        name = " ".join(config.split()[:2])
        if flavour:
            name += f" ({flavour.group()})"
        core = library.openblas_get_corename().decode()
        return ({"torch_blas": name, "torch_blas_core": core},
                library.openblas_set_num_threads)
    # MKL is inside pip's PyTorch, and takes its threads from it.
    built_with = re.search("BLAS_INFO=([^,\\s]+)", torch.__config__.show())
    return {"torch_blas": built_with[1] if built_with else "unknown"}, None


def describe(libraries):
    capability = re.search("CPU capability usage: (.+)", torch.__config__.show())
    return {
        "protocol": 1,
        "name": "framework",
        "libraries": {
            "torch": torch.__version__,
            "torch_cpu": capability[1] if capability else "unknown",
            **libraries,
        },
        "variants": [
            {
                "mechanism": mechanism,
                "name": "framework",
                "help": text,
                "modes": ["decode", "expect", "gradient"],
                "schedules": ["online", "teacher_forced"],
                "scopes": ["full", "attention"],
                "energies": ["dot", "additive"],
                "precisions": ["f32", "f64"],
                "approximates": mechanism not in ("soft", "memory"),
            }
            for mechanism, text in HELP.items()
        ]
        + operator_variants(),
    }


def operator_variants():
    """Ours, from the same Python, the native ones where they are built; and closed forms of
    others.
    """
    hard = ("monotonic", "mocha", "matcha")
    named = [(mechanism, FLUSHED, f"{HELP[mechanism]}; denormal numbers are 0", True)
             for mechanism in hard]
    if framework_operators.IS_NATIVE:
        named += [(mechanism, framework_operators.VARIANT, "our operator in PyTorch", False)
                  for mechanism in hard]
    named += [(mechanism, BEFORE, "our operator of an older library", False)
              for mechanism in hard]
    named += [
        ("monotonic", name, variant.help, variant.approximates)
        for name, variant in framework_portable.VARIANTS.items()
    ]
    return [
        {
            "mechanism": mechanism,
            "name": name,
            "help": text,
            "modes": ["expect", "gradient"],
            "schedules": ["teacher_forced"],
            "scopes": ["attention"],
            "energies": ["dot", "additive"],
            "precisions": ["f32", "f64"],
            "approximates": approximates,
        }
        for mechanism, name, text, approximates in named
    ]


class WithThreads:
    """Work on the threads of its cell; cells take turns. Training begins a sample with a trial
    that is not timed, as the cell before has taken caches and memory.
    """

    def __init__(self, make, cell, set_blas_threads):
        self.threads = cell.axes["threads"]
        self.set_blas_threads = set_blas_threads
        self.set_threads()
        self.work = make(cell)
        self.run = self.work.run
        self.wait = framework_common.wait

    def set_threads(self):
        if torch.get_num_threads() == self.threads:
            return
        torch.set_num_threads(self.threads)
        if self.set_blas_threads:
            self.set_blas_threads(self.threads)

    def before_timing(self):
        self.set_threads()
        if isinstance(self.work, Training):
            self.run(0)
        self.wait()

    def output(self, draw):
        self.set_threads()
        return self.work.output(draw)


def check(cell):
    device = framework_common.device
    if device.type != "cpu":
        if cell.axes["mode"] == "decode":
            raise protocol.Skipped(f"the framework's code decodes on the CPU, not on {device}")
        if cell.axes["variant"] in (framework_operators.VARIANT, BEFORE):
            raise protocol.Skipped(f"our native operators are for the CPU, not for {device}")
    if cell.axes["end"] not in (None, "absorb"):
        raise protocol.Skipped(
            f"the framework's code has end absorb, not {cell.axes['end']}"
        )
    for name, value in cell.options.items():
        if name not in DEFAULTS:
            raise protocol.Skipped(f"the framework's code has no option {name}")
        if value != DEFAULTS[name]:
            raise protocol.Skipped(
                f"the framework's code has {name} = {DEFAULTS[name]} only"
            )
    lengths = {
        (one.memory.shape, one.outputs) for draw in cell.draws for one in draw
    }
    if len(lengths) > 1:
        raise protocol.Skipped(
            "sequences of different lengths would need padding and masks"
        )


def other_processes(arguments):
    """Gives what measures a variant in another process: that, and the variant's name there."""
    command = [sys.executable, os.path.realpath(__file__), "--device", arguments.device]
    others = {FLUSHED: (protocol.Other([*command, "--flush-denormal"]), "framework")}
    if arguments.before:
        others[BEFORE] = (protocol.Other(command, {LIBRARY: arguments.before}),
                          framework_operators.VARIANT)
    return others


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cpu",
                        help="where training's tensors are: cpu (default), cuda or cuda:N")
    parser.add_argument("--flush-denormal", action="store_true",
                        help="takes denormal numbers for 0, on every thread")
    parser.add_argument("--before", metavar="LIBRARY",
                        help="an older libattnbench_torch.so")
    arguments = parser.parse_args()
    try:
        framework_common.use_device(arguments.device)
    except ValueError as error:
        sys.exit(f"framework.py: --device {error}")
    if arguments.before and not os.path.isfile(arguments.before):
        sys.exit(f"framework.py: --before names no file: {arguments.before}")
    # Threads that are made later take it over.
    if arguments.flush_denormal and not torch.set_flush_denormal(True):
        sys.exit("framework.py: --flush-denormal: this processor cannot")
    blas_libraries, set_blas_threads = blas()
    torch.set_num_threads(1)
    if set_blas_threads:
        set_blas_threads(1)

    others = other_processes(arguments)

    def prepare(cell):
        check(cell)
        if cell.axes["variant"] in others:
            return protocol.OfOther(*others[cell.axes["variant"]], cell)
        if cell.axes["variant"] == BEFORE:
            raise protocol.Skipped("there is no older library: give framework.py --before LIBRARY")
        if cell.axes["variant"] == framework_operators.VARIANT:
            make = OperatorTraining
        elif cell.axes["variant"] in framework_portable.VARIANTS:
            make = framework_portable.VARIANTS[cell.axes["variant"]].make
        else:
            make = Decoding if cell.axes["mode"] == "decode" else Training
        return WithThreads(make, cell, set_blas_threads)

    libraries = {**blas_libraries, **framework_common.describe_device()}
    protocol.serve(describe(libraries), prepare)


if __name__ == "__main__":
    main()
