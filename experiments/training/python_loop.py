#!/usr/bin/env python3
"""Times a training step of `attnbench train` on one thread, of task copy with noise 1. It also times
the same model as a user would write it, with torch.nn.LSTM and the closed form of alpha, and that
with our operators.

usage: python_loop.py [--quick] [-o RESULT]
example: /usr/bin/python3 experiments/training/python_loop.py -o results/python_loop.json

All batches have one shape: 32 sequences, T = U = 41 with the end symbol. `attnbench train` makes
examples and noise within the step, the user's loops before it. The loops take turns; samples are
the mean milliseconds of a step in each round.
"""

import os
import statistics
import sys
import time

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # as a worker; NumPy reads them
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import measured
from attnbench.analysis import start
with start.imports("python_loop.py", measured.NEEDED):
    import torch
    from torch.nn.functional import cross_entropy

    import paired
    from attnbench.torch import additive_energies, library, monotonic_attention
    from attnbench.train import settings, trainer
    library.load()  # without it they would be plain torch operations
    from framework_training import selection

TASK, LENGTH, BATCH, SYMBOLS, EMBEDDING, UNITS = "copy", 40, 32, 20, 32, 64


class UsersModel(torch.nn.Module):
    def __init__(self, with_operators):
        super().__init__()
        self.with_operators = with_operators
        self.source = torch.nn.Embedding(SYMBOLS, EMBEDDING)
        self.target = torch.nn.Embedding(SYMBOLS, EMBEDDING)
        self.encoder = torch.nn.LSTM(EMBEDDING, UNITS, batch_first=True)
        self.decoder = torch.nn.LSTM(EMBEDDING, UNITS, batch_first=True)
        self.queries = torch.nn.Linear(UNITS, UNITS, bias=False)
        self.keys = torch.nn.Linear(UNITS, UNITS)
        self.v = torch.nn.Parameter(torch.randn(UNITS))
        self.g = torch.nn.Parameter(torch.tensor(UNITS ** -0.5))
        self.r = torch.nn.Parameter(torch.tensor(-2.0))
        self.mix = torch.nn.Linear(2 * UNITS, UNITS)
        self.output = torch.nn.Linear(UNITS, SYMBOLS)

    def alpha(self, queries, keys):
        v = self.g * self.v / self.v.norm()
        if self.with_operators:
            energies = additive_energies(
                queries.unsqueeze(1), keys.unsqueeze(1), v.unsqueeze(0)) + self.r
            noise = torch.randn_like(energies)
            return monotonic_attention(energies=energies + noise).squeeze(1)
        energies = (queries.unsqueeze(2) + keys.unsqueeze(1)).tanh() @ v + self.r
        p = torch.sigmoid(energies + torch.randn_like(energies))
        return selection(p, torch.finfo(p.dtype).tiny, False)

    def forward(self, source, before):
        memory, _ = self.encoder(self.source(source))
        states, _ = self.decoder(self.target(before))
        contexts = self.alpha(self.queries(states), self.keys(memory)) @ memory
        return self.output(self.mix(torch.cat([states, contexts], -1)).tanh())


class UsersLoop:
    def __init__(self, with_operators):
        torch.manual_seed(1)
        self.model = UsersModel(with_operators)
        self.optimizer = torch.optim.Adam(self.model.parameters(), 0.005)

    def step_ms(self, steps):
        batches = torch.randint(SYMBOLS, (steps, 2, BATCH, LENGTH + 1))
        start = time.perf_counter()
        for source, before in batches:
            logits = self.model(source, before)
            loss = cross_entropy(logits.flatten(0, 1), source.flatten())
            self.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
        return 1e3 * (time.perf_counter() - start) / steps


class Trainer:
    """The loop of `attnbench train`."""

    def __init__(self):
        self.trainer = trainer.Trainer(settings.Run("loop", 1, 1, settings.Settings(
            mechanism="monotonic", noise=1, task=TASK, least_symbols=LENGTH, most_symbols=LENGTH,
            dim=UNITS, encoder_units=UNITS, embedding=EMBEDDING, batch=BATCH, steps=10**6,
            held_out=1, curve_every=0)))

    def step_ms(self, steps):
        start = time.perf_counter()
        for _ in range(steps):
            self.trainer.step()
        return 1e3 * (time.perf_counter() - start) / steps


def main(arguments):
    options = measured.parser("python_loop.py", __doc__).parse_args(arguments)
    rounds, steps = (3, 3) if options.quick else (10, 60)
    trainer.use_one_thread()
    loops = {"trainer": Trainer(), "python_closed_form": UsersLoop(False),
             "python_operators": UsersLoop(True)}
    for loop in loops.values():
        loop.step_ms(3)  # warms up
    samples = {name: [] for name in loops}
    for _ in range(rounds):
        for name, loop in loops.items():
            samples[name].append(loop.step_ms(steps))
    measured.write(measured.result(
        "python_loop", "training/python_loop.py", arguments, quick=options.quick, steps=steps,
        loops=[
            {
                "model": TASK,
                "name": name,
                "step_ms": statistics.median(of_loop),
                "over_trainer": paired.ratio(samples["trainer"], of_loop),
                "samples_ms": of_loop,
            }
            for name, of_loop in samples.items()
        ]), options.output)


if __name__ == "__main__":
    main(sys.argv[1:])
