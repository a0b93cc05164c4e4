"""Hard online decoding: the process whose expectation is trained, with the same parameters.

    place = attention.begin(batch)             # nothing is read yet
    attention.append(place, rows)              # [B, n, m], as the encoder makes them
    step = attention.step(place, state)        # state [B, q]; None: it needs more memory
    attention.close(place)                     # no more entries come

An output scans from the entry that the last one chose, and stops at the first with p >= 0.5
(MoChA algorithm 1). It looks at entries in blocks, which costs less in PyTorch than one by
one: each head evaluates at most T + 8 U energies in all, except where `end` is "restart".
"""

from typing import NamedTuple, Optional

import torch
from torch import Tensor

from attnbench.torch import functions

_BLOCK = 8


class Step(NamedTuple):
    """One output of each sequence."""

    contexts: Tensor  # [B, H * m]; 0 of heads that chose nothing
    positions: Tensor  # [B, H], the entry chosen, from 0; -1: none
    begins: Tensor  # [B, H], where the entries begin that were weighted; they end at positions


class Decoded(NamedTuple):
    """All outputs."""

    contexts: Tensor  # [B, U, H * m]
    positions: Tensor  # [B, H, U]


class Place:
    """Where decoding of a batch stands; made by begin. `memory` [B, T, m] is what was appended,
    `start` [B, H] the entry at which the scan of the next output begins.
    """

    def __init__(self, batch: int, heads: int):
        self.memory: Optional[Tensor] = None
        self.keys: Optional[Tensor] = None
        self.chunk_keys: Optional[Tensor] = None
        self.lengths = torch.zeros(batch, dtype=torch.int64)
        self.closed = False
        self.start = torch.zeros(batch, heads, dtype=torch.int64)
        # The scan of an output that waits for memory.
        self.scan = self.start
        self.found = torch.zeros(batch, heads, dtype=torch.bool)

    @property
    def appended(self) -> int:
        return 0 if self.memory is None else self.memory.size(1)

    def ended(self) -> Tensor:
        """[B], whether no more entries of a sequence come."""
        return (self.lengths < self.appended) | self.closed


class OnlineDecoding:
    """The decoding of a module with `energy`, `chunk_energy`, `end` and _chunk_begin."""

    def begin(self, batch: int) -> Place:
        """Begins to decode `batch` sequences."""
        return Place(batch, self.energy.heads)

    def append(self, place: Place, memory: Tensor, lengths: Optional[Tensor] = None) -> None:
        """Adds entries [B, n, m] that follow those before. `lengths` [B], if some sequences
        have ended, are the entries that each has in all; what is appended beyond is padding.
        """
        if place.closed:
            raise ValueError("memory was appended after close")
        # Nothing is kept of a memory that is refused.
        keys = self.energy.make_keys(memory)
        appended = place.appended + memory.size(1)
        if lengths is None:
            lengths = torch.full_like(place.lengths, appended)
        if lengths.shape != place.lengths.shape or (lengths > appended).any():
            raise ValueError(
                f"lengths must be [B] with B = {len(place.lengths)}, and at most"
                f" {appended}, which is how many entries were appended"
            )
        # What was checked and projected must stay, and the caller may write to its own.
        place.memory = _join(place.memory, memory.clone(), 1)
        place.keys = _join(place.keys, keys, 2)
        if self.chunk_energy is not None:
            place.chunk_keys = _join(place.chunk_keys, self.chunk_energy.make_keys(memory), 2)
        place.lengths = lengths.clone()

    def close(self, place: Place) -> None:
        """Says that no more entries come: only now can an output choose none."""
        place.closed = True

    def step(self, place: Place, state: Tensor) -> Optional[Step]:
        """Makes the next output of all sequences from decoder states [B, q]. None: a head of a
        sequence has not chosen yet, and more entries may come; append or close, and call again
        with the same states. Heads that have chosen wait for the others.
        """
        functions._check_rows("state", state, self.energy.query.in_features, 2)
        queries = self.energy.make_queries(state.unsqueeze(1))
        ended = place.ended().unsqueeze(1)
        self._scan(place, queries)
        if self.end == "stay_last":
            last = (place.lengths - 1).unsqueeze(1).expand_as(place.scan)
            stays = ~place.found & ended & (last >= 0)
            place.scan = torch.where(stays, last, place.scan)
            place.found = place.found | stays
        if not (place.found | ended).all():
            return None
        positions = torch.where(place.found, place.scan, -1)
        begins = self._chunk_begin(place.start, positions)
        contexts = self._read(place, state, positions, begins)
        if self.end == "absorb":  # what chose nothing is past the last entry
            place.start = place.scan
        else:
            place.start = torch.where(place.found, place.scan, place.start)
        place.scan = place.start
        place.found = torch.zeros_like(place.found)
        return Step(contexts, positions, begins)

    def decode(self, states: Tensor, memory: Tensor, lengths: Optional[Tensor] = None) -> Decoded:
        """Decodes from states [B, U, q] and a complete memory [B, T, m]."""
        place = self.begin(memory.size(0))
        self.append(place, memory, lengths)
        self.close(place)
        steps = [self.step(place, states[:, i]) for i in range(states.size(1))]
        if not steps:
            heads = self.energy.heads
            return Decoded(
                memory.new_zeros(memory.size(0), 0, heads * memory.size(2)),
                place.start.new_zeros(memory.size(0), heads, 0),
            )
        return Decoded(
            torch.stack([step.contexts for step in steps], 1),
            torch.stack([step.positions for step in steps], 2),
        )

    def _scan(self, place: Place, queries: Tensor) -> None:
        """Moves place.scan to the entries chosen, or behind the last that can be looked at."""
        # Under stay_last the last entry is chosen without a look at its energy.
        stop = (place.lengths - int(self.end == "stay_last")).unsqueeze(1)
        while True:
            active = ~place.found & (place.scan < stop)
            if not active.any():
                return
            index = place.scan.unsqueeze(2) + torch.arange(_BLOCK)
            valid = (index < stop.unsqueeze(2)) & active.unsqueeze(2)
            energies = self.energy.of_projected(queries, _take(place.keys, index, valid))
            # p >= 0.5 as e >= 0, so that no rounding of p decides.
            hits = valid & (energies.squeeze(2) >= 0)
            hit = hits.any(2)
            first = place.scan + hits.to(torch.int64).argmax(2)
            beyond = torch.minimum(place.scan + _BLOCK, stop)
            place.scan = torch.where(active, torch.where(hit, first, beyond), place.scan)
            place.found = place.found | hit

    def _read(self, place: Place, state: Tensor, positions: Tensor, begins: Tensor) -> Tensor:
        """Gives contexts [B, H * m]: the softmax of chunk energies over begins..positions."""
        if place.memory is None:
            raise ValueError("the memory was closed before anything was appended to it")
        if place.memory.size(1) == 0 or positions.numel() == 0:
            return state.new_zeros(state.size(0), positions.size(1) * place.memory.size(2))
        chosen = positions >= 0
        longest = int(torch.where(chosen, positions - begins, 0).max()) + 1
        index = begins.unsqueeze(2) + torch.arange(longest)
        valid = (index <= positions.unsqueeze(2)) & chosen.unsqueeze(2)
        memory = place.memory.unsqueeze(1).expand(-1, positions.size(1), -1, -1)
        rows = _take(memory, index, valid)
        if self.chunk_energy is None:
            return (rows * valid.unsqueeze(3)).sum(2).flatten(1)
        queries = self.chunk_energy.make_queries(state.unsqueeze(1))
        keys = _take(place.chunk_keys, index, valid)
        energies = self.chunk_energy.of_projected(queries, keys).squeeze(2)
        # The first entry is there, or else none has a weight.
        energies = energies.masked_fill(~valid, -torch.inf)
        weights = torch.where(chosen.unsqueeze(2), energies, 0.0).softmax(2)
        return (weights.unsqueeze(2) @ rows).squeeze(2).flatten(1)


def _join(before: Optional[Tensor], rows: Tensor, dimension: int) -> Tensor:
    return rows if before is None else torch.cat([before, rows], dimension)


def _take(table: Tensor, index: Tensor, valid: Tensor) -> Tensor:
    """Gives rows [B, H, n, d] of table [B, H, T, d] at index [B, H, n], and zeros where that is
    not valid.
    """
    safe = torch.where(valid, index, 0).unsqueeze(3).expand(-1, -1, -1, table.size(3))
    return table.gather(2, safe).masked_fill(~valid.unsqueeze(3), 0.0)
