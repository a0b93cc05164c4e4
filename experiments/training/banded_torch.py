#!/usr/bin/env python3
"""Times a module's attend_banded beside its attend, on the native and on the portable
path, and variant `banded` of the program beside `exact`, on one thread.

usage: banded_torch.py [--quick] [-o RESULT] [--program attnbench]
example: /usr/bin/python3 experiments/training/banded_torch.py -o results/banded_torch.json

T = 4096 entries are noisy copies of few symbols, of which each of U = 512 outputs looks
for one, as workload symbols:16:16 has it: energies are about 16 where it is and -16
elsewhere. The parameters of the module make them so: each symbol has some of d = 256
columns. Keys, contexts and all gradients are made within the time. All cells take turns;
samples are milliseconds. The program measures its own rounds, before these.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import measured
from attnbench.analysis import start
with start.imports("banded_torch.py", measured.NEEDED):
    import paired
    import torch

    import attnbench.torch as at
    at.library.load()  # without it both paths would be the portable one

BOUND, SHARPNESS = 1e-3, 16.0
FULL = {"memory_length": 4096, "output_length": 512, "dim": 256}
QUICK = {"memory_length": 2048, "output_length": 256, "dim": 144}


class Inputs:
    """A module with states and a memory of symbols."""

    def __init__(self, memory_length, output_length, dim):
        torch.manual_seed(1)
        symbols = memory_length // output_length + 1
        of_column = torch.arange(dim) // (dim // symbols)  # those left over have none
        wanted = torch.randint(symbols, (output_length, 1))
        of_entry = torch.randint(symbols, (memory_length, 1))
        # tanh of the sum is 1 in the columns of a match, 0 in those of an entry's other symbol
        # or of an output's, and else -1: a match has one group's worth more.
        states = torch.where(of_column == wanted, 3.0, -9.0)
        memory = torch.where(of_column == of_entry, 3.0, -3.0)
        self.states, self.memory = (
            (rows + 0.3 * torch.randn_like(rows)).unsqueeze(0).requires_grad_()
            for rows in (states, memory))
        self.module = at.MonotonicAttention(dim, dim, dim, noise=0)
        energy = self.module.energy
        with torch.no_grad():
            energy.query.weight.copy_(torch.eye(dim))
            energy.key.weight.copy_(torch.eye(dim))
            energy.key.bias.zero_()
            energy.v.copy_((of_column < symbols) * (2 * SHARPNESS / (dim // symbols)))
            energy.g.copy_(energy.v.norm(dim=1))
            made = energy(self.states, energy.make_keys(self.memory))[0, 0]
            match = wanted == of_entry.T
            energy.r.sub_((made[match].mean() + made[~match].mean()) / 2)
        self.cotangent = torch.randn(1, output_length, dim)

    def dense(self):
        return self.module.attend(self.states, self.module.prepare(self.memory)).contexts

    def banded(self):
        return self.module.attend_banded(
            self.states, self.module.prepare(self.memory), BOUND)[0]

    def share(self):
        """That of all energies which the band evaluates."""
        with torch.no_grad():
            _, band = self.module.attend_banded(
                self.states, self.module.prepare(self.memory), BOUND)
        return band.energies / (self.states.size(1) * self.memory.size(1))

    def run_ms(self, attend, with_gradient):
        wanted = (*self.module.parameters(), self.states, self.memory)
        begin = time.perf_counter()
        with torch.set_grad_enabled(with_gradient):
            contexts = attend()
            if with_gradient:
                torch.autograd.grad(contexts, wanted, self.cotangent)
        return 1e3 * (time.perf_counter() - begin)


def of_paths(inputs, rounds):
    """Gives rows of both paths, forward and with gradient."""
    cells = [(path, with_gradient, attend)
             for path in ("native", "portable") for with_gradient in (False, True)
             for attend in (inputs.dense, inputs.banded)]
    samples = {cell: [] for cell in cells}
    shares = {}
    for n in range(rounds + 1):  # the first warms up
        for cell in cells:
            path, with_gradient, attend = cell
            with at.backend(path):
                sample = inputs.run_ms(attend, with_gradient)
                shares[path] = shares.get(path) or inputs.share()
            if n > 0:
                samples[cell].append(sample)
    return [row(path, with_gradient, shares[path], samples[path, with_gradient, inputs.dense],
                samples[path, with_gradient, inputs.banded])
            for path in ("native", "portable") for with_gradient in (False, True)]


def of_program(program, sizes, rounds):
    """Gives rows of the program."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.json")
        subprocess.run(
            [program, "run-sweep", "--mechanism", "monotonic", "--variant", "exact,banded",
             "--option", f"bound={BOUND}", "--mode", "expect,gradient", "--scope", "full",
             "--energy", "additive", "--workload", f"symbols:{SHARPNESS:g}:{SHARPNESS:g}",
             "--repetitions", str(rounds),
             "-T", str(sizes["memory_length"]), "-U", str(sizes["output_length"]),
             "-d", str(sizes["dim"]), "-o", path],
            check=True, capture_output=True, cwd=measured.ROOT)
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    cells = {(cell["mode"], cell["variant"]): cell for cell in document["cells"]}
    rows = []
    for mode in ("expect", "gradient"):
        exact, banded = cells[mode, "exact"], cells[mode, "banded"]
        share = banded["operations"]["energies"] / exact["operations"]["energies"]
        rows.append(row("program", mode == "gradient", share, *(
            [1e-6 * ns for ns in cell["samples_ns"]] for cell in (exact, banded))))
    return rows


def row(path, with_gradient, share, dense, banded):
    return {
        "computed_by": path,
        "with_gradient": with_gradient,
        "energies_share": share,
        "dense_ms": statistics.median(dense),
        "banded_ms": statistics.median(banded),
        "speedup": paired.ratio(banded, dense),
        "dense_samples_ms": dense,
        "banded_samples_ms": banded,
    }


def main(arguments):
    parser = measured.parser("banded_torch.py", __doc__)
    parser.add_argument(
        "--program", default=os.path.join(measured.ROOT, "build", "release", "attnbench"))
    options = parser.parse_args(arguments)
    sizes, rounds = (QUICK, 3) if options.quick else (FULL, 7)
    torch.set_num_threads(1)
    result = measured.result("banded_torch", "training/banded_torch.py", arguments,
                             quick=options.quick, bound=BOUND, **sizes)
    result["rows"] = [*of_program(options.program, sizes, rounds),
                      *of_paths(Inputs(**sizes), rounds)]
    measured.write(result, options.output)


if __name__ == "__main__":
    main(sys.argv[1:])
