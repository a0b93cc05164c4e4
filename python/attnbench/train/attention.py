"""Attention of a model that is trained: energies, expected weights and contexts, for all outputs
at once or for one after the other, by the functions of attnbench.torch. Of B sequences, U outputs
and T entries there are states [B, U, d], a memory [B, T, d] and, of one head, tables [B, 1, U, T].
"""

from typing import NamedTuple, Optional

import torch
from torch import Tensor, nn

from attnbench.analysis.load import DataError
from attnbench.torch import (
    AdditiveEnergy, Prepared, energy_attention, functions, library, matcha_attention,
    mocha_attention, monotonic_attention)
from attnbench.torch.backend import is_portable

PORTABLE = ("soft", "monotonic", "mocha", "matcha", "memory")  # need no native library


class Attended(NamedTuple):
    contexts: Tensor  # [B, U, d]
    weights: Optional[Tensor]  # [B, 1, U, T], expected; of memory only if asked for
    # Of mechanisms that choose: the probability of each choice, and its energies with noise.
    alpha: Optional[Tensor] = None
    energies: Optional[Tensor] = None
    state: Optional[Tensor] = None  # what the next output needs of those so far


def by_threshold(energies):
    """As decoding chooses: the first entry with p >= 1/2."""
    return (energies >= 0).to(energies.dtype)


def sampler(seed, device="cpu"):
    """Gives a `choose` that draws from the process that training takes the expectation of."""
    generator = torch.Generator(device).manual_seed(seed)
    return lambda energies: torch.bernoulli(energies.sigmoid(), generator=generator)


def make(settings, device="cpu"):
    """Gives the attention that settings ask for, None for "none". Each has

        prepare(memory, lengths)  what depends on the memory alone
        attend(states, prepared, last, noise, choose, wants_weights)  Attended, of outputs that
            follow those that left the state `last`. noise [B, 1, U, T] is added to energies of
            the choice; `choose` makes p in {0, 1} of them, as by_threshold; None: expected.

    Raises DataError naming the mechanism if it needs the native library, and there is none, or
    it has none whose attention follows from energies alone.
    """
    name = settings.mechanism
    if name == "none":
        return None
    if settings.is_monotonic:
        return ScanAttention(settings)
    if name == "memory":
        return MemoryAttention(settings)
    if name != "soft":
        try:
            library.load()
        except ImportError as error:
            raise DataError(
                f"mechanism {name}", "needs the native library; without it there are"
                f" {', '.join(PORTABLE)}: {error}") from None
        try:
            energy_attention(name, torch.zeros(1, 1, 1, 1))
        except ValueError as error:
            raise DataError(f"mechanism {name}", str(error)) from None
        if torch.device(device).type != "cpu":
            raise DataError(f"mechanism {name}", f"runs on the CPU; on {device} there are"
                            f" {', '.join(PORTABLE)}")
    return EnergyAttention(settings)


class ScanAttention(nn.Module):
    """monotonic, mocha and matcha, whose outputs choose one entry after the other."""

    def __init__(self, settings):
        super().__init__()
        self.settings = settings
        self.energy = _energy(settings, initial_r=settings.energy_bias)
        self.chunk_energy = AdditiveEnergy(*_energy_sizes(settings)) if settings.has_chunks else None
        # Of the expectation; None: it is exact. The trainer may end clipping.
        self.clip = settings.clip if settings.alpha == "clipped" else None

    def prepare(self, memory, lengths):
        chunk_keys = None
        if self.chunk_energy is not None:
            chunk_keys = self.chunk_energy.make_keys(memory)
        return Prepared(memory, self.energy.make_keys(memory), chunk_keys, lengths)

    def attend(self, states, prepared, last, noise, choose, wants_weights):
        energies = self.energy(states, prepared.keys)
        if noise is not None:
            energies = energies + noise
        scan = {"lengths": prepared.lengths, "start": last}
        if choose is None:
            scan["energies"] = energies
        else:  # a choice is the expectation of p in {0, 1}
            scan["p"] = choose(energies)
        if self.chunk_energy is not None:
            u = self.chunk_energy(states, prepared.chunk_keys)
            if self.settings.mechanism == "mocha":
                weights, alpha = mocha_attention(u, self.settings.chunk_width, **scan)
            else:
                weights, alpha = matcha_attention(u, **scan)
        elif self.clip is not None and choose is None:
            weights = alpha = clipped_alpha(
                energies.sigmoid() * ~_beyond(prepared.lengths, energies), last,
                self.clip)
        else:
            weights = alpha = monotonic_attention(**scan)
        return Attended(weights.squeeze(1) @ prepared.memory, weights, alpha, energies,
                        alpha[:, :, -1])


def clipped_alpha(p, start=None, clip=1e-10):
    """Gives alpha [B, 1, U, T] by the closed form whose denominator is clipped (MAD eq 10 and
    appendix G), with the gradient that torch makes of it:

        alpha(i) = p(i) c(i) cumsum(alpha(i - 1) / max(c(i), clip)),
        c(i, j) = prod over k < j of (1 - p(i, k))
    """
    if start is None:
        start = torch.zeros_like(p[:, :, 0])
        start[..., 0] = 1
    ones = torch.ones_like(p[..., :1])
    c = torch.cat([ones, (1 - p[..., :-1]).cumprod(3)], 3)
    rows = []
    for reached, clipped in zip((p * c).unbind(2), c.clamp(min=clip).unbind(2)):
        start = reached * (start / clipped).cumsum(2)
        rows.append(start)
    return torch.stack(rows, 2)


class EnergyAttention(nn.Module):
    """soft, and every registered mechanism whose attention follows from energies alone."""

    def __init__(self, settings):
        super().__init__()
        self.mechanism = settings.mechanism
        self.energy = _energy(settings)

    def prepare(self, memory, lengths):
        return Prepared(memory, self.energy.make_keys(memory), None, lengths)

    def attend(self, states, prepared, last, noise, choose, wants_weights):
        # An output may depend on the energies of those before it.
        made = energies = self.energy(states, prepared.keys)
        if last is not None:
            energies = torch.cat([last, made], 2)
        if self.mechanism == "soft" and is_portable(energies):
            beyond = _beyond(prepared.lengths, energies)
            weights = energies.masked_fill(beyond, float("-inf")).softmax(3)
        else:
            weights = energy_attention(self.mechanism, energies, lengths=prepared.lengths)
        weights = weights[:, :, -made.size(2):]
        return Attended(weights.squeeze(1) @ prepared.memory, weights, state=energies)


class MemoryAttention(nn.Module):
    """Fixed-size memory (Britz et al. 2017), as attnbench.torch.FixedMemoryAttention, whose
    scores of the encoder are made once.
    """

    def __init__(self, settings):
        super().__init__()
        self.encoder = nn.Linear(settings.dim, settings.num_contexts, bias=False)
        self.decoder = nn.Linear(settings.dim, settings.num_contexts, bias=False)
        self.options = {
            "encoder_scoring": settings.encoder_scoring,
            "decoder_scoring": settings.decoder_scoring,
            "position_encoding": settings.position_encoding,
            "place": settings.place, "max_length": settings.longest_source}

    def prepare(self, memory, lengths):
        scores = self.encoder(memory).unsqueeze(1)  # [B, 1, T, K]
        return Prepared(memory, scores, None, lengths)

    def attend(self, states, prepared, last, noise, choose, wants_weights):
        scores = self.decoder(states).unsqueeze(1)
        options = {"lengths": prepared.lengths, **self.options}
        contexts = functions.memory_contexts(
            prepared.keys, scores, prepared.memory.unsqueeze(1), **options)
        weights = None
        if wants_weights:
            weights = functions.memory_attention(prepared.keys, scores, **options)
        return Attended(contexts.squeeze(1), weights)

    def context_weights(self, prepared):
        """Gives alpha_tk [B, K, T] of Britz eq 5, with the position encoding: what each context
        takes of the entries. They are the attention of outputs that take one context each.
        """
        B, _, _, K = prepared.keys.shape
        sure = 1e4 * torch.eye(K, device=prepared.keys.device).expand(B, 1, K, K)
        options = {**self.options, "decoder_scoring": "softmax"}
        return functions.memory_attention(
            prepared.keys, sure, lengths=prepared.lengths, **options).squeeze(1)


class PlainEnergy(AdditiveEnergy):
    """v . tanh(W s(i) + V h(j) + b) (MAD eq 15), with neither g nor r."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.g = None

    def factors(self):
        return self.v


def _energy(settings, **options):
    sizes = _energy_sizes(settings)
    return AdditiveEnergy(*sizes, **options) if settings.is_normalized else PlainEnergy(*sizes)


def _energy_sizes(settings):
    """Of a query, an entry, and what both are projected to."""
    return settings.dim, settings.dim, settings.energy_units or settings.dim


def _beyond(lengths, table):
    """Says which entries are behind the last, [B, 1, 1, T]."""
    return torch.arange(table.size(3), device=table.device) >= lengths.view(-1, 1, 1, 1)
