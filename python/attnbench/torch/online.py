"""Hard online decoding: the process whose expectation is trained, with the same parameters.

    place = attention.begin(batch)             # nothing is read yet
    attention.append(place, rows)              # [B, n, m], as the encoder makes them
    step = attention.step(place, state)        # state [B, q]; None: it needs more memory
    attention.close(place)                     # no more entries come

An output scans from the entry that the last one chose, and stops at the first with p >= 0.5
(MoChA algorithm 1). It looks at entries in blocks, which costs less in PyTorch than one by
one: each head evaluates at most T + 8 U energies in all, except where `end` is "restart".

Half and bfloat16 are computed in f32. What does not fit, or does not follow from where a place
stands, raises ValueError or TypeError that names the argument, and the place is as before.
"""

import copy
import weakref
from typing import Callable, NamedTuple, Optional, Tuple

import torch
from torch import Tensor

from attnbench.torch import arguments

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
    `lengths` [B] how much of it are entries, `start` [B, H] the entry at which the scan of the
    next output begins. It has copies of all that it was given. It serves the module that began
    it, and no other; once it was pickled, any of the same kind and sizes.
    """

    # No method writes to these tensors, it replaces them: scan and start can be one.
    _TENSORS = ("memory", "keys", "chunk_keys", "lengths", "start", "scan", "found", "waiting")

    def __init__(self, module: "OnlineDecoding", batch: int, heads: int, device: torch.device):
        self._module: Optional[Callable[[], object]] = weakref.ref(module)
        self.memory: Optional[Tensor] = None
        self.keys: Optional[Tensor] = None
        self.chunk_keys: Optional[Tensor] = None
        self.lengths = torch.zeros(batch, dtype=torch.int64, device=device)
        self.closed = False
        self.start = torch.zeros(batch, heads, dtype=torch.int64, device=device)
        # The scan of an output that waits for memory, and its state, if one does.
        self.scan = self.start
        self.found = torch.zeros(batch, heads, dtype=torch.bool, device=device)
        self.waiting: Optional[Tensor] = None

    @property
    def batch(self) -> int:
        return self.lengths.size(0)

    @property
    def appended(self) -> int:
        return 0 if self.memory is None else self.memory.size(1)

    def ended(self) -> Tensor:
        """[B], whether no more entries of a sequence come."""
        return (self.lengths < self.appended) | self.closed

    def reorder(self, index: Tensor) -> None:
        """Has sequence n go on from where sequence index[n] stood, as a beam search does with
        the hypotheses that it keeps. index is int64, [B'], of any length, which is the batch
        from then on; it may repeat sequences and leave some out.
        """
        index = arguments.take_int64("index", index, self.lengths)
        if index.dim() != 1:
            raise ValueError(f"index must have one dimension, but its shape is {list(index.shape)}")
        for n, b in enumerate(arguments.numbers(index)):
            if not 0 <= b < self.batch:
                raise ValueError(
                    f"index must be in [0, B) with B = {self.batch}, but index[{n}] is {b}")
        index = index.to(self.lengths.device)
        self._replace(lambda tensor: tensor.index_select(0, index))

    def copy(self) -> "Place":
        """Gives another that stands at the same place and goes on by itself."""
        copied = copy.copy(self)
        copied._module = self._module
        copied._replace(torch.clone)
        return copied

    def __deepcopy__(self, memo) -> "Place":  # torch refuses tensors with a gradient
        return self.copy()

    def __getstate__(self):  # of a pickle, which has no other object's identity
        return {**self.__dict__, "_module": None}

    def _replace(self, function: Callable[[Tensor], Tensor]) -> None:
        for name in self._TENSORS:
            tensor = getattr(self, name)
            if tensor is not None:
                setattr(self, name, function(tensor))


class OnlineDecoding:
    """The decoding of a module with `energy`, `chunk_energy`, `end` and _chunk_begin."""

    def begin(self, batch: int) -> Place:
        """Begins to decode `batch` sequences, where the module's parameters are."""
        arguments.check_int("batch", batch, 0)
        return Place(self, batch, self.energy.heads, self.energy.v.device)

    def append(self, place: Place, memory: Tensor, lengths: Optional[Tensor] = None) -> None:
        """Adds entries [B, n, m] that follow those before. `lengths` [B], if some sequences
        have ended, are the entries that each has in all; what is appended beyond is padding. A
        sequence that has ended gets no more entries, and none loses one.
        """
        self._check_place(place)
        if place.closed:
            raise ValueError("memory was appended after close")
        arguments.check_rows("memory", memory, self.energy.key.in_features, self.energy.v)
        arguments.check_batch("memory", memory, place.batch, "place")
        appended = place.appended + memory.size(1)
        if lengths is None:
            taken = torch.full_like(place.lengths, appended)
        else:
            taken = arguments.take_lengths("lengths", lengths, memory, appended).clone()
        for b, (before, after) in enumerate(
                zip(arguments.numbers(place.lengths), arguments.numbers(taken))):
            if after < before:
                raise ValueError(
                    f"lengths[{b}] is {after}, but this sequence has {before} entries already")
            if after > before and before < place.appended:
                given = "lengths are not given" if lengths is None else f"is {after}"
                raise ValueError(
                    f"lengths[{b}] must stay {before}, where this sequence ended, but {given}")
        # What was checked and projected must stay, and the caller may write to its own. Nothing
        # is kept of a memory that is refused.
        memory = memory.clone()
        keys, chunk_keys = self.energy.make_keys(memory), None
        if self.chunk_energy is not None:
            chunk_keys = _join(place.chunk_keys, self.chunk_energy.make_keys(memory), 2)
        memory, keys = _join(place.memory, memory, 1), _join(place.keys, keys, 2)
        place.memory, place.keys, place.chunk_keys = memory, keys, chunk_keys
        place.lengths = taken

    def close(self, place: Place) -> None:
        """Says that no more entries come: only now can an output choose none."""
        self._check_place(place)
        place.closed = True

    def step(self, place: Place, state: Tensor) -> Optional[Step]:
        """Makes the next output of all sequences from decoder states [B, q]. None: a head of a
        sequence has not chosen yet, and more entries may come; append or close, and call again
        with the same states: others are refused. Heads that have chosen wait for the others.
        """
        self._check_place(place)
        arguments.check_rows("state", state, self.energy.query.in_features, self.energy.v, 2)
        arguments.check_batch("state", state, place.batch, "place")
        if place.waiting is not None and not torch.equal(place.waiting, state):
            raise ValueError(
                "state must be that of the call before, which gave None: its output is not made")
        queries = self.energy.make_queries(state.unsqueeze(1))
        ended = place.ended().unsqueeze(1)
        scan, found = self._scan(place, queries)
        if self.end == "stay_last":
            last = (place.lengths - 1).unsqueeze(1).expand_as(scan)
            stays = ~found & ended & (last >= 0)
            scan = torch.where(stays, last, scan)
            found = found | stays
        if not (found | ended).all():
            place.scan, place.found, place.waiting = scan, found, state.detach().clone()
            return None
        positions = torch.where(found, scan, -1)
        begins = self._chunk_begin(place.start, positions).clone()
        contexts = self._read(place, state, positions, begins)
        # Under absorb what chose nothing is past the last entry.
        place.start = scan if self.end == "absorb" else torch.where(found, scan, place.start)
        place.scan, place.found, place.waiting = place.start, torch.zeros_like(found), None
        return Step(contexts, positions, begins)

    def decode(self, states: Tensor, memory: Tensor, lengths: Optional[Tensor] = None) -> Decoded:
        """Decodes from states [B, U, q] and a complete memory [B, T, m]."""
        arguments.check_rows("memory", memory, self.energy.key.in_features, self.energy.v)
        arguments.check_rows("states", states, self.energy.query.in_features, self.energy.v)
        arguments.check_batch("states", states, memory.size(0), "memory")
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

    def _check_place(self, place: Place) -> None:
        if not isinstance(place, Place):
            raise TypeError(f"place must be of begin, but is of type {type(place).__name__}")
        energy, keys = self.energy, place.keys
        another = place._module is not None and place._module() is not self
        if another or place.start.size(1) != energy.heads or (keys is not None and (
                keys.size(3) != energy.size
                or (place.chunk_keys is None) != (self.chunk_energy is None))):
            raise ValueError("place must be of this module's begin, but is of another's")

    def _scan(self, place: Place, queries: Tensor) -> Tuple[Tensor, Tensor]:
        """Gives place.scan moved to the entries chosen, or behind the last that can be looked
        at, and place.found.
        """
        scan, found = place.scan, place.found
        # Under stay_last the last entry is chosen without a look at its energy.
        stop = (place.lengths - int(self.end == "stay_last")).unsqueeze(1)
        while True:
            active = ~found & (scan < stop)
            if not active.any():
                return scan, found
            index = scan.unsqueeze(2) + torch.arange(_BLOCK, device=scan.device)
            valid = (index < stop.unsqueeze(2)) & active.unsqueeze(2)
            energies = self.energy.of_projected(queries, _take(place.keys, index, valid))
            # p >= 0.5 as e >= 0, so that no rounding of p decides.
            hits = valid & (energies.squeeze(2) >= 0)
            hit = hits.any(2)
            first = scan + hits.to(torch.int64).argmax(2)
            beyond = torch.minimum(scan + _BLOCK, stop)
            scan = torch.where(active, torch.where(hit, first, beyond), scan)
            found = found | hit

    def _read(self, place: Place, state: Tensor, positions: Tensor, begins: Tensor) -> Tensor:
        """Gives contexts [B, H * m]: the softmax of chunk energies over begins..positions."""
        if place.memory is None:
            raise ValueError("the memory was closed before anything was appended to it")
        if place.memory.size(1) == 0 or positions.numel() == 0:
            return state.new_zeros(state.size(0), positions.size(1) * place.memory.size(2))
        chosen = positions >= 0
        longest = int(torch.where(chosen, positions - begins, 0).max()) + 1
        index = begins.unsqueeze(2) + torch.arange(longest, device=begins.device)
        valid = (index <= positions.unsqueeze(2)) & chosen.unsqueeze(2)
        memory = place.memory.unsqueeze(1).expand(-1, positions.size(1), -1, -1)
        rows = arguments.exact(_take(memory, index, valid))
        if self.chunk_energy is None:
            contexts = (rows * valid.unsqueeze(3)).sum(2).flatten(1)
            return arguments.in_type_of(memory, contexts)
        queries = self.chunk_energy.make_queries(state.unsqueeze(1))
        keys = _take(place.chunk_keys, index, valid)
        energies = self.chunk_energy.of_projected(queries, keys).squeeze(2)
        # The first entry is there, or else none has a weight.
        energies = energies.masked_fill(~valid, -torch.inf)
        weights = torch.where(chosen.unsqueeze(2), energies, 0.0).softmax(2)
        contexts = (weights.unsqueeze(2) @ rows).squeeze(2).flatten(1)
        return arguments.in_type_of(memory, contexts)


def _join(before: Optional[Tensor], rows: Tensor, dimension: int) -> Tensor:
    return rows if before is None else torch.cat([before, rows], dimension)


def _take(table: Tensor, index: Tensor, valid: Tensor) -> Tensor:
    """Gives rows [B, H, n, d] of table [B, H, T, d] at index [B, H, n], and zeros where that is
    not valid.
    """
    safe = torch.where(valid, index, 0).unsqueeze(3).expand(-1, -1, -1, table.size(3))
    return table.gather(2, safe).masked_fill(~valid.unsqueeze(3), 0.0)
