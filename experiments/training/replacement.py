#!/usr/bin/env python3
"""Trains one small model with alpha by published closed forms and by the exact operator
in their place: does it learn, and how much of the mass does it keep?

usage: replacement.py [--quick] [-o RESULT]
example: PYTHONPATH=python /usr/bin/python3 experiments/training/replacement.py \\
  -o results/replacement.json

A memory of T frames holds U symbols at random places, of two kinds that alternate, as
vowels and consonants do; all other frames are noise. Output i knows the symbol before
it, and must find the next symbol of the other kind. All symbols of that kind look alike
to it, so p is large at many places before the one where output i begins, and products
of 1 - p become small there: what a closed form divides by.

All alternatives have the same seeds, so the same data, noise and first parameters.
Errors are of given symbols, not of free decoding: the share of wrong outputs on held-out
sequences, by the expectation that was trained and by the threshold.
"""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import measured
from attnbench.analysis import start
with start.imports("replacement.py", measured.NEEDED):
    import torch
    from torch.nn.functional import cross_entropy, pad

    from attnbench.torch import additive_energies, library, monotonic_attention
    library.load()  # without it they would be plain torch operations
    from framework_portable import of_fairseq
    from framework_training import selection

SYMBOLS, FEATURES, UNITS = 16, 16, 16
FULL = {
    "seeds": 5, "steps": 400, "batch": 16, "entries": 1024, "outputs": 16,
    "frame_noise": 0.3, "noise": 1.0, "energy_bias": -4.0, "learning_rate": 0.01,
    "held_out": 256, "curve_every": 50,
}
QUICK = {
    **FULL, "seeds": 1, "steps": 4, "batch": 2, "entries": 64, "outputs": 4,
    "held_out": 8, "curve_every": 2,
}


def of_mad(p):
    """MAD appendix G: each 1 - p and the denominator are at least 1e-10."""
    return selection(p, 1e-10, True)


def exact(p):
    return monotonic_attention(p=p.unsqueeze(1)).squeeze(1)


ALTERNATIVES = {"fairseq": of_fairseq, "mad": of_mad, "exact": exact}


class Task:
    """Draws batches: memory [B, T, F], symbols [B, U], those before [B, U]."""

    def __init__(self, settings, seed):
        self.settings = settings
        self.generator = torch.Generator().manual_seed(seed)
        # The same for all seeds: the code of each symbol, its kind in the first numbers.
        codes = torch.randn(
            SYMBOLS, FEATURES, generator=torch.Generator().manual_seed(0))
        codes[:, :2] = 3 * torch.eye(2)[torch.arange(SYMBOLS) % 2]
        self.codes = codes

    def batch(self, size):
        T, U = self.settings["entries"], self.settings["outputs"]
        draw = {"generator": self.generator}
        symbols = 2 * torch.randint(SYMBOLS // 2, (size, U), **draw)
        symbols += torch.arange(U) % 2
        places = torch.rand(size, T, **draw).topk(U).indices.sort().values
        memory = self.settings["frame_noise"] * torch.randn(size, T, FEATURES, **draw)
        memory.scatter_add_(
            1, places.unsqueeze(2).expand(-1, -1, FEATURES), self.codes[symbols])
        # Before the first symbol stands one of the second kind.
        return memory, symbols, pad(symbols[:, :-1], [1, 0], value=1)


class Model(torch.nn.Module):
    """Additive energies (MAD eq 16) of embedded symbols, attention, a softmax."""

    def __init__(self, bias):
        super().__init__()
        self.embedding = torch.nn.Embedding(SYMBOLS, UNITS)
        self.keys = torch.nn.Linear(FEATURES, UNITS)
        self.v = torch.nn.Parameter(torch.randn(UNITS))
        self.g = torch.nn.Parameter(torch.tensor(UNITS ** -0.5))
        self.r = torch.nn.Parameter(torch.tensor(bias))
        self.output = torch.nn.Linear(FEATURES, SYMBOLS)

    def energies(self, memory, before):
        v = self.g * self.v / self.v.norm()
        return additive_energies(
            self.embedding(before).unsqueeze(1), self.keys(memory).unsqueeze(1),
            v.unsqueeze(0)).squeeze(1) + self.r

    def logits(self, alpha, memory):
        return self.output(alpha @ memory)


def evaluate(model, attend, batch):
    """The loss in nats, errors, and the mass that an output selects, of given symbols."""
    memory, symbols, before = batch
    with torch.no_grad():
        energies = model.energies(memory, before)
        alpha = attend(energies.sigmoid())
        soft = model.logits(alpha, memory)
        hard = model.logits(exact((energies >= 0).to(energies.dtype)), memory)
    return {
        "loss": cross_entropy(soft.flatten(0, 1), symbols.flatten()).item(),
        "error": (soft.argmax(-1) != symbols).double().mean().item(),
        "hard_error": (hard.argmax(-1) != symbols).double().mean().item(),
        "selected_mass": alpha.double().sum(-1).mean().item(),
        "exact_mass": exact(energies.sigmoid()).double().sum(-1).mean().item(),
    }


def train(name, seed, settings):
    attend = ALTERNATIVES[name]
    torch.manual_seed(seed)
    model = Model(settings["energy_bias"])
    task = Task(settings, seed)
    held_out = Task(settings, 1 << 20).batch(settings["held_out"])
    optimizer = torch.optim.Adam(model.parameters(), settings["learning_rate"])
    start, curve = time.monotonic(), []
    for step in range(1, settings["steps"] + 1):
        memory, symbols, before = task.batch(settings["batch"])
        energies = model.energies(memory, before)
        noise = settings["noise"] * torch.randn(
            energies.shape, generator=task.generator)
        alpha = attend((energies + noise).sigmoid())
        logits = model.logits(alpha, memory)
        loss = cross_entropy(logits.flatten(0, 1), symbols.flatten())
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if not (loss.isfinite() and norm.isfinite()):
            return {
                "name": name, "seed": seed, "status": "diverged",
                "message": f"in step {step} the loss is {loss.item()}, the gradient's "
                f"norm {norm.item()}", "curve": curve, "result": None,
            }
        optimizer.step()
        if step % settings["curve_every"] == 0:
            curve.append({"step": step, **evaluate(model, attend, held_out)})
    return {
        "name": name, "seed": seed, "status": "ok", "message": None,
        "seconds": time.monotonic() - start, "curve": curve, "result": curve[-1],
    }


def main(arguments):
    options = measured.parser("replacement.py", __doc__).parse_args(arguments)
    settings = QUICK if options.quick else FULL
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    result = measured.result("replacement", "training/replacement.py", arguments,
                             quick=options.quick, settings=settings, runs=[])
    for seed in range(1, settings["seeds"] + 1):
        for name in ALTERNATIVES:
            run = train(name, seed, settings)
            result["runs"].append(run)
            print(name, seed, run["status"], run["message"] or run["result"],
                  file=sys.stderr)
    measured.write(result, options.output)


if __name__ == "__main__":
    main(sys.argv[1:])
