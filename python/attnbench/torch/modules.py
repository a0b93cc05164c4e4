"""Attention that chooses by the monotonic scan, with parameters, for training and decoding."""

import math
from typing import NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn

from attnbench.torch import arguments, banded, functions
from attnbench.torch.online import OnlineDecoding


class Attention(NamedTuple):
    """What a module makes of B sequences with H heads."""

    contexts: Tensor  # [B, U, H * m], head after head
    weights: Tensor  # [B, H, U, T], the expected weight of each entry
    alpha: Tensor  # [B, H, U, T], the probability that the entry is chosen


class Prepared(NamedTuple):
    """A memory with all that does not depend on decoder states, by a module's prepare, for that
    module: of another only the kind and the sizes are checked. It is a copy: the caller may
    write to its own.
    """

    memory: Tensor  # [B, T, m]
    keys: Tensor  # [B, H, T, d], V h + b
    chunk_keys: Optional[Tensor]  # the same of chunk energies, where there are any
    lengths: Optional[Tensor]  # [B], int64


class AdditiveEnergy(nn.Module):
    """Normalised additive energies (MAD eq 16), in H heads with parameters of their own:

        e(i, j) = g v / |v| . tanh(W s(i) + V h(j) + b) + r

    Parameters: query.weight W [H * d, q], key.weight V [H * d, m], key.bias b [H * d],
    v [H, d], g [H], which starts at 1 / sqrt(d) (MAD 2.4), and r [H], which starts at
    `initial_r` (None: there is no r). |v| neither overflows nor underflows; v = 0 gives
    energies of r. Parameters of 16 bits give energies in f32, unrounded: their sign decides.
    """

    def __init__(
        self,
        query_size: int,
        memory_size: int,
        size: int,
        heads: int = 1,
        initial_r: Optional[float] = None,
    ):
        super().__init__()
        self.heads = heads
        self.size = size
        self.query = arguments.Linear(query_size, heads * size, bias=False)
        self.key = arguments.Linear(memory_size, heads * size)
        self.v = nn.Parameter(torch.empty(heads, size).uniform_(-1, 1))
        self.g = nn.Parameter(torch.full((heads,), 1 / math.sqrt(size)))
        self.r = None if initial_r is None else nn.Parameter(torch.full((heads,), float(initial_r)))

    def make_keys(self, memory: Tensor) -> Tensor:
        """Gives V h + b, [B, H, T, d], of memory [B, T, m]."""
        arguments.check_rows("memory", memory, self.key.in_features, self.v)
        return self._by_head(self.key(memory))

    def make_queries(self, states: Tensor) -> Tensor:
        """Gives W s, [B, H, U, d], of states [B, U, q]."""
        arguments.check_rows("states", states, self.query.in_features, self.v)
        return self._by_head(self.query(states))

    def of_projected(
        self, queries: Tensor, keys: Tensor, lengths: Optional[Tensor] = None
    ) -> Tensor:
        """Gives energies [B, H, U, T] from make_queries and make_keys."""
        return self.of_factors(queries, keys, self.factors(), lengths)

    def factors(self) -> Tensor:
        """Gives g v / |v|, [H, d]."""
        v = arguments.exact(self.v)
        # Squares of what is left are at most 1, and one is, unless v is 0. The factor is a
        # constant: v/|v| does not change along v.
        largest = v.detach().abs().amax(1, keepdim=True)
        v = v / largest.masked_fill(largest == 0, 1)
        norm = v.norm(p=2, dim=1, keepdim=True).clamp(min=1)
        return v * (arguments.exact(self.g).unsqueeze(1) / norm)

    def of_factors(
        self, queries: Tensor, keys: Tensor, v: Tensor, lengths: Optional[Tensor] = None
    ) -> Tensor:
        """Does the same as of_projected with the `factors`, for who calls it more than once."""
        # Under autocast the linear layers give bfloat16, and energies are computed in f32.
        queries, keys = queries.to(v.dtype), keys.to(v.dtype)
        energies = functions.additive_energies(queries, keys, v, lengths=lengths)
        if self.r is not None:
            energies = energies + arguments.exact(self.r).view(1, -1, 1, 1)
        return energies

    def forward(self, states: Tensor, keys: Tensor, lengths: Optional[Tensor] = None) -> Tensor:
        """Gives energies [B, H, U, T] of states [B, U, q] and keys by make_keys."""
        return self.of_projected(self.make_queries(states), keys, lengths)

    def _by_head(self, rows: Tensor) -> Tensor:
        return rows.view(rows.size(0), rows.size(1), self.heads, self.size).transpose(1, 2)


class _ScanAttention(OnlineDecoding, nn.Module):
    """What MonotonicAttention, MoChA and MAtChA have in common. Options of all:

    query_size q, memory_size m, size d, heads H
    end        what follows an output that chose no entry (functions.py)
    noise      the standard deviation of the noise that is added to the energies of the choice
               in training (MAD 2.5), which makes p nearly 0 or 1, as decoding takes it
    initial_r  where r of MAD eq 16 starts; below 0, or the scan seldom gets beyond the first
               entries: about -log(T / U)
    """

    _HAS_CHUNKS = True

    def __init__(
        self,
        query_size: int,
        memory_size: int,
        size: int,
        heads: int = 1,
        *,
        end: str = "absorb",
        noise: float = 1.0,
        initial_r: float = -2.0,
    ):
        super().__init__()
        if end not in ("absorb", "stay_last", "restart"):
            raise ValueError(f"end must be one of absorb, stay_last, restart, but is {end!r:.50}")
        if not noise >= 0:
            raise ValueError(f"noise must be at least 0, but is {noise}")
        self.end = end
        self.noise = noise
        self.energy = AdditiveEnergy(query_size, memory_size, size, heads, initial_r)
        # r would shift all energies of a chunk alike, which changes nothing.
        self.chunk_energy = (
            AdditiveEnergy(query_size, memory_size, size, heads) if self._HAS_CHUNKS else None
        )

    def prepare(self, memory: Tensor, lengths: Optional[Tensor] = None) -> Prepared:
        """Projects memory [B, T, m]; lengths [B] are the entries of each sequence. A model
        that makes one output at a time does this once.
        """
        return self._prepare(memory, lengths, copies=True)

    def forward(
        self, states: Tensor, memory: Tensor, lengths: Optional[Tensor] = None
    ) -> Attention:
        """Attends from states [B, U, q] to memory [B, T, m], in expectation. What lies beyond
        the lengths has the weight 0, and must be finite.
        """
        return self.attend(states, self._prepare(memory, lengths, copies=False))

    def attend(
        self, states: Tensor, prepared: Prepared, start: Optional[Tensor] = None
    ) -> Attention:
        """Does the same from a prepared memory. A decoder whose next state depends on its last
        context has U = 1, and gives alpha[:, :, -1] of one call as `start` of the next.
        """
        start = self._check(states, prepared, start)
        chunk_keys = prepared.chunk_keys
        energies = self.energy(states, prepared.keys, prepared.lengths)
        if self.training and self.noise > 0:
            energies = energies + self.noise * torch.randn_like(energies)
        chunk_energies: Optional[Tensor] = None
        if self.chunk_energy is not None:
            assert chunk_keys is not None
            chunk_energies = self.chunk_energy(states, chunk_keys, prepared.lengths)
        weights, alpha = self._weigh(energies, chunk_energies, prepared.lengths, start)
        return self._attention(prepared, weights, alpha)

    @torch.jit.unused
    def attend_banded(
        self, states: Tensor, prepared: Prepared, bound: float = 1e-3,
        start: Optional[Tensor] = None,
    ) -> Tuple[Tensor, banded.Banded]:
        """Does what attend does on a band of entries (banded.py), and gives the contexts and the
        band, whose mass_cut bounds the L1 error of every row. Energies are evaluated on the band
        alone.
        """
        start = self._check(states, prepared, start)

        def part_of(energy, keys):
            v = energy.factors()
            queries = energy.make_queries(states)
            queries_of, keys_of = banded.parts_of(queries), banded.parts_of(keys)
            return (lambda rows, columns: energy.of_factors(
                queries_of(rows, banded.ALL), keys_of(columns, banded.ALL), v),
                    {"scores": queries.to(v.dtype), "keys": keys.to(v.dtype), "v": v})

        of_choice, native = part_of(self.energy, prepared.keys)
        native["r"] = self.energy.r
        noise = self.noise if self.training else 0.0
        if noise > 0:
            native.update(noise=noise, seed=int(torch.randint(2**63 - 1, ())))

        def noisy(rows, columns):
            energies = of_choice(rows, columns)
            return energies + noise * torch.randn_like(energies) if noise > 0 else energies

        chunks = None
        if self.chunk_energy is not None:
            chunks, of_chunk = part_of(self.chunk_energy, prepared.chunk_keys)
            native.update({f"chunk_{name}": tensor for name, tensor in of_chunk.items()})
        shape = (*prepared.keys.shape[:2], states.size(1), prepared.keys.size(2))
        band = banded.evaluate(bound, shape, noisy, False, prepared.lengths, start, self.end,
                               chunks, getattr(self, "width", None), native)
        contexts = band.contexts(prepared.memory).transpose(1, 2).flatten(2)
        return arguments.in_type_of(self.energy.v, contexts), band

    def _check(
        self, states: Tensor, prepared: Prepared, start: Optional[Tensor]
    ) -> Optional[Tensor]:
        arguments.check_rows("states", states, self.energy.query.in_features, self.energy.v)
        arguments.check_batch("states", states, prepared.memory.size(0), "memory")
        chunk_keys = prepared.chunk_keys
        B, T = prepared.memory.size(0), prepared.memory.size(1)
        made = [B, self.energy.heads, T, self.energy.size]
        if list(prepared.keys.shape) != made or (
            (chunk_keys is None) != (self.chunk_energy is None)
        ):
            raise ValueError("prepared must be of this module's prepare, but is of another kind"
                             " or other sizes")
        if start is not None:
            arguments.check_floating("start", start, "[B, H, T]", 1)
            if list(start.shape) != made[:3]:
                raise ValueError(
                    f"start must be [B, H, T] = {made[:3]}, but its shape is {list(start.shape)}")
            start = arguments.exact(start)
        return start

    def _attention(self, prepared: Prepared, weights: Tensor, alpha: Tensor) -> Attention:
        contexts = weights @ arguments.exact(prepared.memory).unsqueeze(1)
        v = self.energy.v
        return Attention(
            arguments.in_type_of(v, contexts.transpose(1, 2).flatten(2)),
            arguments.in_type_of(v, weights),
            arguments.in_type_of(v, alpha),
        )

    def _prepare(self, memory: Tensor, lengths: Optional[Tensor], copies: bool) -> Prepared:
        arguments.check_rows("memory", memory, self.energy.key.in_features, self.energy.v)
        if lengths is not None:
            lengths = arguments.take_lengths("lengths", lengths, memory, memory.size(1))
        if copies:
            memory = memory.clone()
            lengths = None if lengths is None else lengths.clone()
        chunk_keys: Optional[Tensor] = None
        if self.chunk_energy is not None:
            chunk_keys = self.chunk_energy.make_keys(memory)
        return Prepared(memory, self.energy.make_keys(memory), chunk_keys, lengths)

    def _weigh(
        self,
        energies: Tensor,
        chunk_energies: Optional[Tensor],
        lengths: Optional[Tensor],
        start: Optional[Tensor],
    ) -> Tuple[Tensor, Tensor]:
        alpha = functions.monotonic_attention(
            energies=energies, lengths=lengths, start=start, end=self.end
        )
        return alpha, alpha


class MonotonicAttention(_ScanAttention):
    """Hard monotonic attention (MAD): an output reads the one entry that it chooses. In
    training weights are alpha.
    """

    _HAS_CHUNKS = False

    def _chunk_begin(self, begin: Tensor, position: Tensor) -> Tensor:
        return position


class MoChA(_ScanAttention):
    """Monotonic chunkwise attention: a softmax over the `width` entries that end at the choice
    (MoChA eqs 15 and 16); None: over all entries up to it (infinite lookback).
    """

    def __init__(
        self,
        query_size: int,
        memory_size: int,
        size: int,
        heads: int = 1,
        *,
        width: Optional[int] = 4,
        **options,
    ):
        arguments.check_width(width)
        super().__init__(query_size, memory_size, size, heads, **options)
        self.width: Optional[int] = width

    def _weigh(
        self,
        energies: Tensor,
        chunk_energies: Optional[Tensor],
        lengths: Optional[Tensor],
        start: Optional[Tensor],
    ) -> Tuple[Tensor, Tensor]:
        assert chunk_energies is not None
        return functions.mocha_attention(
            energies=energies,
            chunk_energies=chunk_energies,
            width=self.width,
            lengths=lengths,
            start=start,
            end=self.end,
        )

    def _chunk_begin(self, begin: Tensor, position: Tensor) -> Tensor:
        if self.width is None:
            return torch.zeros_like(position)
        return (position - self.width + 1).clamp(min=0)


class MAtChA(_ScanAttention):
    """Monotonic adaptive chunkwise attention: a softmax over the entries from the last choice
    to this one (MoChA eq 27).
    """

    @torch.jit.unused
    def attend_banded(self, states, prepared, bound=1e-3, start=None):
        raise TypeError("MAtChA has no band: its chunks begin where a scan does")

    def _weigh(
        self,
        energies: Tensor,
        chunk_energies: Optional[Tensor],
        lengths: Optional[Tensor],
        start: Optional[Tensor],
    ) -> Tuple[Tensor, Tensor]:
        assert chunk_energies is not None
        return functions.matcha_attention(
            energies=energies,
            chunk_energies=chunk_energies,
            lengths=lengths,
            start=start,
            end=self.end,
        )

    def _chunk_begin(self, begin: Tensor, position: Tensor) -> Tensor:
        return begin
