"""Decoding with PyTorch, as a user writes it: a loop over the outputs, as it stands or
compiled by torch.jit.script, whichever is faster for the cell."""

from typing import List, Optional

import torch
from torch import Tensor

import protocol
from framework_common import (
    Additive,
    batch_of,
    both,
    energies_of,
    fastest,
    query_of,
    sequences_of,
    tensor,
)

HARD = ("monotonic", "mocha", "matcha")
# In place of a chunk's width. `hard` has the numbers: TorchScript has no constants of a
# module.
SINCE_LAST, NO_CHUNKS = 0, -1


# ---- one output after the other ---------------------------------------------


def soft(memory: Tensor, keys: Tensor, states: Tensor,
         W: Optional[Tensor], v: Optional[Tensor]):
    contexts: List[Tensor] = []
    for state in states.unbind(-2):
        weights = torch.softmax(energies_of(keys, query_of(state, W), v), -1)
        contexts.append((weights.unsqueeze(-2) @ memory).squeeze(-2))
    return contexts


def soft_of_one(memory: Tensor, keys: Tensor, states: Tensor,
                W: Optional[Tensor], v: Optional[Tensor]):
    """The same of one sequence, by products of matrix and vector."""
    contexts: List[Tensor] = []
    for state in states.unbind(0):
        if v is None:
            energies = keys @ state
        else:
            energies = energies_of(keys, query_of(state, W), v)
        contexts.append(torch.softmax(energies, -1) @ memory)
    return contexts


def read_kept(kept: Tensor, states: Tensor, decoder: Tensor):
    contexts: List[Tensor] = []
    for state in states.unbind(-2):
        weights = torch.softmax(state @ decoder.t(), -1)
        contexts.append((weights.unsqueeze(-2) @ kept).squeeze(-2))
    return contexts


def read_kept_of_one(kept: Tensor, states: Tensor, decoder: Tensor):
    contexts: List[Tensor] = []
    for state in states.unbind(0):
        contexts.append(torch.softmax(decoder @ state, -1) @ kept)
    return contexts


def energies_at(keys: Tensor, query: Tensor, v: Optional[Tensor], bias: float):
    energies = keys @ query if v is None else energies_of(keys, query, v)
    return energies + bias if bias != 0.0 else energies


def scan_rest(keys: Tensor, query: Tensor, v: Optional[Tensor], bias: float,
              start: int) -> int:
    """All energies from `start` on at once; the first that is not negative, or -1."""
    hits = (energies_at(keys[start:], query, v, bias) >= 0).nonzero()
    return start + int(hits[0]) if hits.shape[0] > 0 else -1


def scan_by_entry(keys: Tensor, query: Tensor, v: Optional[Tensor], bias: float,
                  start: int) -> int:
    """One energy after the other."""
    for entry in range(start, keys.shape[0]):
        if float(energies_at(keys[entry : entry + 1], query, v, bias)) >= 0:
            return entry
    return -1


def hard(memory: Tensor, keys: Tensor, states: Tensor, W: Optional[Tensor],
         v: Optional[Tensor], bias: float, chunk_keys: Tensor, chunk_states: Tensor,
         chunk_W: Optional[Tensor], chunk_v: Optional[Tensor], width: int,
         by_entry: bool):
    """Hard monotonic attention, MoChA or MAtChA, of one sequence."""
    contexts: List[Tensor] = []
    positions: List[int] = []
    start = 0
    for i in range(states.shape[0]):
        position = -1
        if start >= 0:
            query = query_of(states[i], W)
            if by_entry:
                position = scan_by_entry(keys, query, v, bias, start)
            else:
                position = scan_rest(keys, query, v, bias, start)
        positions.append(position)
        if position < 0:
            contexts.append(torch.zeros_like(states[i]))
        elif width == -1:
            contexts.append(memory[position])
        else:
            begin = start if width == 0 else max(0, position - width + 1)
            query = query_of(chunk_states[i], chunk_W)
            energies = energies_at(
                chunk_keys[begin : position + 1], query, chunk_v, 0.0
            )
            weights = torch.softmax(energies, -1)
            contexts.append(weights @ memory[begin : position + 1])
        start = position
    return contexts, positions


SOFT, SOFT_OF_ONE = both(soft), both(soft_of_one)
READ_KEPT, READ_KEPT_OF_ONE = both(read_kept), both(read_kept_of_one)
HARD_WAYS = [(way, by_entry) for way in both(hard) for by_entry in (False, True)]


# ---- cells ------------------------------------------------------------------


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
            ways = HARD_WAYS
        else:
            self.draws = [
                (
                    batch_of([one.memory for one in draw]),
                    batch_of([one.states[: one.outputs] for one in draw]),
                )
                for draw in cell.draws
            ]
            is_one = len(cell.draws[0]) == 1
            if mechanism == "memory":
                self.decode = self.fixed_memory
                ways = READ_KEPT_OF_ONE if is_one else READ_KEPT
            elif cell.axes["schedule"] == "teacher_forced":
                self.decode = self.soft_at_once
                ways = (None,)
            else:
                self.decode = self.soft
                ways = SOFT_OF_ONE if is_one else SOFT
        self.way = fastest(ways, self.run_first, cell)

    def run_first(self, way):
        self.way = way
        self.run(0)

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

    def soft(self, draw):
        memory, states = draw
        if not self.energy:
            return self.way(memory, memory, states, None, None), None
        energy = self.energy
        return self.way(memory, energy.keys(memory), states, energy.W, energy.v), None

    def soft_at_once(self, draw):
        memory, states = draw
        if self.energy:
            energies = self.energy.of_all(self.energy.keys(memory), states, True)
        else:
            energies = states @ memory.transpose(-1, -2)
        return torch.softmax(energies, -1) @ memory, None

    def fixed_memory(self, draw):
        memory, states = draw
        scores = memory @ self.parameters["memory.encoder"].t()
        kept = torch.softmax(scores, -1).transpose(-1, -2) @ memory
        return self.way(kept, states, self.parameters["memory.decoder"]), None

    def choose_entries(self, draw):
        made = [one.decode(*self.way) for one in draw]
        return [contexts for contexts, _ in made], [p for _, p in made]


class HardSequence:
    """One sequence of hard monotonic attention, MoChA or MAtChA."""

    def __init__(self, one, cell, parameters):
        self.memory = tensor(one.memory)
        self.states = tensor(one.states[: one.outputs])
        self.bias = float(one.energy_bias)
        self.width = self.width_of(cell, len(one.memory))
        self.has_chunks = self.width != NO_CHUNKS
        self.energy = self.chunk_energy = None
        # Where there are no chunks these are not read.
        self.chunk_keys, self.chunk_states = self.memory, self.states
        if cell.axes["energy"] == "additive":
            self.energy = Additive(parameters, "attention")
            if self.has_chunks:
                self.chunk_energy = Additive(parameters, "chunk")
        elif self.has_chunks:
            self.chunk_keys = tensor(one.chunk_keys)
            self.chunk_states = tensor(one.chunk_states[: one.outputs])

    @staticmethod
    def width_of(cell, length):
        mechanism, width = cell.axes["mechanism"], cell.axes["chunk_width"]
        if mechanism == "matcha":
            return SINCE_LAST
        if mechanism == "monotonic" or width == 1:
            return NO_CHUNKS
        return length if width == "inf" else width

    def decode(self, way, by_entry):
        keys, W, v = self.scored_by(self.energy, self.memory)
        chunk_keys, chunk_W, chunk_v = self.scored_by(
            self.chunk_energy, self.chunk_keys
        )
        return way(
            self.memory, keys, self.states, W, v, self.bias, chunk_keys,
            self.chunk_states, chunk_W, chunk_v, self.width, by_entry,
        )

    @staticmethod
    def scored_by(energy, memory):
        """(keys, W, v) of a sequence."""
        if energy is None:
            return memory, None, None
        return energy.keys(memory), energy.W, energy.v
