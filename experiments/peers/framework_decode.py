"""Decoding with PyTorch, as a user writes it: a loop over the outputs."""

import time

import torch

import protocol
from framework_common import Additive, batch_of, sequences_of, tensor

HARD = ("monotonic", "mocha", "matcha")


class Decoding:
    """A cell of mode decode. `run` makes everything a sequence at test time
    makes: keys, or the K contexts, and then all outputs."""

    def __init__(self, cell):
        self.cell = cell
        mechanism = cell.axes["mechanism"]
        if any(one.given for draw in cell.draws for one in draw):
            raise protocol.Skipped(
                "the framework's code decodes from memory and states, not from "
                "given scores"
            )
        self.parameters = {k: tensor(v) for k, v in cell.parameters.items()}
        additive = cell.axes["energy"] == "additive"
        self.energy = Additive(self.parameters, "attention") if additive else None
        if mechanism in HARD:
            # Every sequence is at another entry: one after the other.
            self.decode = self.choose_entries
            self.draws = [
                [HardSequence(one, cell, self.parameters) for one in draw]
                for draw in cell.draws
            ]
            self.scan = self.fastest_scan()
            return
        all_at_once = cell.axes["schedule"] == "teacher_forced"
        self.decode = {
            ("soft", False): self.soft,
            ("soft", True): self.soft_at_once,
            ("memory", False): self.fixed_memory,
        }[mechanism, all_at_once]
        self.draws = [
            (
                batch_of([one.memory for one in draw]),
                batch_of([one.states[: one.outputs] for one in draw]),
            )
            for draw in cell.draws
        ]

    def run(self, draw):
        with torch.inference_mode():
            return self.decode(self.draws[draw])

    def output(self, draw):
        made, positions = self.run(draw)
        batch = len(self.cell.draws[draw])
        if positions is not None:
            contexts = [torch.stack(rows).numpy() for rows in made]
        else:
            contexts = sequences_of(
                torch.stack(made, -2) if isinstance(made, list) else made, batch
            )
            positions = [None] * batch
        return [({"contexts": c}, p) for c, p in zip(contexts, positions)]

    # ---- soft ---------------------------------------------------------------

    def soft(self, draw):
        memory, states = draw
        contexts = []
        if memory.dim() == 2 and not self.energy:
            for state in states:
                weights = torch.softmax(memory @ state, -1)
                contexts.append(weights @ memory)
            return contexts, None
        energy = self.energy
        keys = energy.keys(memory) if energy else None
        for state in states.unbind(-2):
            if energy:
                energies = energy.of_state(keys, energy.query(state))
            else:
                energies = (memory @ state.unsqueeze(-1)).squeeze(-1)
            weights = torch.softmax(energies, -1)
            contexts.append((weights.unsqueeze(-2) @ memory).squeeze(-2))
        return contexts, None

    def soft_at_once(self, draw):
        memory, states = draw
        if self.energy:
            energies = self.energy.of_all(
                self.energy.keys(memory), self.energy.query(states), True
            )
        else:
            energies = states @ memory.transpose(-1, -2)
        return torch.softmax(energies, -1) @ memory, None

    # ---- Britz --------------------------------------------------------------

    def fixed_memory(self, draw):
        memory, states = draw
        scores = memory @ self.parameters["memory.encoder"].t()
        kept = torch.softmax(scores, -1).transpose(-1, -2) @ memory
        decoder = self.parameters["memory.decoder"]
        contexts = []
        if memory.dim() == 2:
            for state in states:
                contexts.append(torch.softmax(decoder @ state, -1) @ kept)
            return contexts, None
        for state in states.unbind(-2):
            weights = torch.softmax(state @ decoder.t(), -1)
            contexts.append((weights.unsqueeze(-2) @ kept).squeeze(-2))
        return contexts, None

    # ---- hard ---------------------------------------------------------------

    def choose_entries(self, draw):
        made = [one.decode(self.scan) for one in draw]
        return [contexts for contexts, _ in made], [p for _, p in made]

    def fastest_scan(self):
        """Of the two ways to write the scan the one that is faster here."""
        times = {}
        for scan in (scan_rest, scan_by_entry, scan_rest, scan_by_entry):
            self.scan = scan
            start = time.perf_counter_ns()
            self.run(0)
            passed = time.perf_counter_ns() - start
            times[scan] = min(passed, times.get(scan, passed))
        return min(times, key=times.get)


def scan_rest(energies_from, length, start):
    """All energies from `start` on at once; the first that is not negative."""
    hits = (energies_from(start, length) >= 0).nonzero()
    return start + hits[0].item() if hits.shape[0] else None


def scan_by_entry(energies_from, length, start):
    """One energy after the other."""
    for entry in range(start, length):
        if energies_from(entry, entry + 1).item() >= 0:
            return entry
    return None


class HardSequence:
    """One sequence of hard monotonic attention, MoChA or MAtChA."""

    def __init__(self, one, cell, parameters):
        self.memory = tensor(one.memory)
        self.states = tensor(one.states[: one.outputs])
        self.bias = one.energy_bias
        self.mechanism = cell.axes["mechanism"]
        width = cell.axes["chunk_width"]
        self.width = len(one.memory) if width == "inf" else width
        self.has_chunks = self.mechanism != "monotonic" and self.width != 1
        self.energy = self.chunk_energy = None
        if cell.axes["energy"] == "additive":
            self.energy = Additive(parameters, "attention")
            if self.has_chunks:
                self.chunk_energy = Additive(parameters, "chunk")
            self.chunk_states = self.states
        elif self.has_chunks:
            self.chunk_keys = tensor(one.chunk_keys)
            self.chunk_states = tensor(one.chunk_states[: one.outputs])

    def decode(self, scan):
        memory, length = self.memory, len(self.memory)
        keys, chunk_keys = self.make_keys()
        contexts, positions, start = [], [], 0
        for i, state in enumerate(self.states):
            position = None
            if start is not None:
                energies_from = self.energies_of(keys, state)
                position = scan(energies_from, length, start)
            positions.append(-1 if position is None else position)
            if position is None:
                contexts.append(torch.zeros_like(state))
            elif not self.has_chunks:
                contexts.append(memory[position])
            else:
                begin = start
                if self.mechanism == "mocha":
                    begin = max(0, position - self.width + 1)
                window = slice(begin, position + 1)
                energies = self.chunk_energies(chunk_keys[window], i)
                weights = torch.softmax(energies, -1)
                contexts.append(weights @ memory[window])
            start = position
        return contexts, positions

    def make_keys(self):
        if not self.energy:
            return self.memory, self.chunk_keys if self.has_chunks else None
        keys = self.energy.keys(self.memory)
        if not self.has_chunks:
            return keys, None
        return keys, self.chunk_energy.keys(self.memory)

    def energies_of(self, keys, state):
        bias = self.bias
        if self.energy:
            query = self.energy.query(state)

            def energies_from(first, last):
                return self.energy.of_state(keys[first:last], query) + bias

            return energies_from
        if bias:
            return lambda first, last: keys[first:last] @ state + bias
        return lambda first, last: keys[first:last] @ state

    def chunk_energies(self, keys, output):
        state = self.chunk_states[output]
        if not self.chunk_energy:
            return keys @ state
        return self.chunk_energy.of_state(keys, self.chunk_energy.query(state))
