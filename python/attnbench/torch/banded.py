"""alpha, and MoChA's beta, on a band of entries with a certificate: where the choice is sharp,
nearly all of the mass of an output lies within a few entries, and the rest of the [U, T] pairs
costs time and memory for nothing.

Outputs are taken BLOCK at a time, on a window of entries that they share. Mass that would begin
before the window is cut, and so is what passes its end. The map from where an output begins to
what it chooses is linear, has no negative number, and hands on at most the mass that it gets. So
the banded alpha is at most alpha in every entry, and the L1 error of an output is at most the
mass that was cut for the outputs up to it: mass_cut, which never exceeds `bound`. A block may cut
its outputs' share of what is left of the bound, half of it on each side.

The gradient is exact for the band as it is; that of an entry outside of it is 0. What the bound
says of gradients is absolute: where p is 0 or 1 the exact gradient itself is smaller than that.

This is plain torch around the operators of functions.py, native or portable, on any device. A
block waits for the device once for each width that it tries.
"""

from typing import NamedTuple, Optional

import torch
from torch import Tensor
from torch.nn.functional import pad

from attnbench.torch import arguments, functions
from attnbench.torch.portable import checks

BLOCK = 32  # outputs that share a window
LEAST_WIDTH = 64  # of a window that is tried first
LEAST_BOUND = 1e-6  # less than that is rounding in f32


class Banded(NamedTuple):
    weights: Tensor  # [B, H, U, T]: beta, or alpha itself; 0 outside of the band
    alpha: Tensor  # [B, H, U, T]
    mass_cut: Tensor  # [B, H, U]: bounds the L1 error of each row of alpha and of weights
    energies: int  # pairs of an output and an entry that were evaluated, of T U
    reach: int  # no output saw an entry from this one on: those have no gradient


def banded_attention(
    bound: float,
    p: Optional[Tensor] = None,
    energies: Optional[Tensor] = None,
    lengths: Optional[Tensor] = None,
    start: Optional[Tensor] = None,
    end: str = "absorb",
    chunk_energies: Optional[Tensor] = None,
    width: Optional[int] = None,
) -> Banded:
    """Does what monotonic_attention does, or with chunk_energies mocha_attention, on a band that
    cuts at most `bound`, from 1e-6 to 1, of the mass. Scores are given here: that saves time and
    memory of alpha, not of energies. A module's attend_banded evaluates these on the band alone.
    """
    arguments.check_tensors(p=p, energies=energies, lengths=lengths, start=start,
                            chunk_energies=chunk_energies)
    if (p is None) == (energies is None):
        raise ValueError("give either p or energies, and not both")
    given = energies if p is None else p
    of_call = checks.Arguments("energies" if p is None else "p", given, "[B, H, U, T]")
    if chunk_energies is not None:
        of_call.check("chunk_energies", chunk_energies, "[B, H, U, T]", given.shape)
    arguments.check_width(width)
    if lengths is not None:
        lengths = arguments.take_lengths("lengths", lengths, given, given.size(3))

    def part_of(table):
        return lambda rows, columns: table[:, :, rows, columns]

    chunks = None if chunk_energies is None else part_of(chunk_energies)
    return evaluate(bound, given.shape, part_of(given), p is not None, lengths, start, end, chunks,
                    width)


def evaluate(bound, shape, scores_of, are_probabilities, lengths, start, end,
             chunk_energies_of=None, width=None):
    """Gives Banded of scores_of(rows, columns), slices of [B, H, U, T], which is asked for the
    band alone.
    """
    if not LEAST_BOUND <= bound <= 1:
        raise ValueError(f"bound must be from {LEAST_BOUND:g} to 1, but is {bound}")
    if end not in ("absorb", "stay_last"):
        raise ValueError(
            f"end must be absorb or stay_last, but is {end!r:.50}: a restart depends on what passes"
            " the last entry")
    B, H, U, T = shape
    band = _Band(shape, scores_of, are_probabilities, lengths, end)
    given = scores_of(slice(0, 0), slice(0, 0))
    begin, reach, count = band.begin(start, given), 0, 0
    if B * H * U == 0:
        empty = given.new_zeros(shape)
        return Banded(empty, empty, begin.new_zeros(B, H, U), 0, 0)
    alphas, weights, cuts = [], [], []
    cut = begin.detach().new_zeros(B, H)
    for first in range(0, U, BLOCK):
        rows = slice(first, min(first + BLOCK, U))
        share = (bound - cut) * ((rows.stop - first) / (U - first))
        block = band.search(rows, begin, share)
        seen = slice(block.first, block.first + block.width)
        reach, count = max(reach, seen.stop), count + block.evaluated
        alpha, weight, place = _weigh(band, block, rows, begin, chunk_energies_of, width)
        alphas.append(pad(alpha, (seen.start, T - seen.stop)))
        weights.append(pad(weight, (place, T - seen.stop)))
        cuts.append(cut.unsqueeze(2) + block.cut)
        cut = cuts[-1][..., -1]
        begin = alphas[-1][:, :, -1]
    alpha = arguments.in_type_of(given, torch.cat(alphas, 2))
    made = alpha
    if chunk_energies_of is not None:
        made = arguments.in_type_of(given, torch.cat(weights, 2))
    return Banded(made, alpha, torch.cat(cuts, 2), count, reach)


def _weigh(band, block, rows, begin, chunk_energies_of, width):
    """Gives alpha and the weights of a block, and the entry at which these begin."""
    first, last = block.first, block.first + block.width
    scores = band.masked(block.scores, first)
    of_block = begin[..., first:last]
    if chunk_energies_of is None:
        alpha = functions.monotonic_attention(**band.named(scores), start=of_block)
        return alpha, alpha, first
    before = first if width is None else min(first, width - 1)
    # Nothing begins at the entries before, which chunks reach back to.
    alpha_of = {name: pad(table, (before, 0), value=band.never)
                for name, table in band.named(scores).items()}
    chunk_energies = arguments.exact(chunk_energies_of(rows, slice(first - before, last)))
    beyond = band.beyond(first - before, last)
    if beyond is not None:
        chunk_energies = chunk_energies.masked_fill(beyond, 0)
    weights, alpha = functions.mocha_attention(
        chunk_energies, width, **alpha_of, start=pad(of_block, (before, 0)))
    return alpha[..., before:], weights, first - before


class _Block(NamedTuple):
    first: int
    width: int
    scores: Tensor  # [B, H, rows, width]
    cut: Tensor  # [B, H, rows], up to each row
    evaluated: int


class _Band:
    """The scores of a call and what masks them."""

    def __init__(self, shape, scores_of, are_probabilities, lengths, end):
        self.B, self.H, self.U, self.T = shape
        self.scores_of = lambda rows, columns: arguments.exact(scores_of(rows, columns))
        self.name = "p" if are_probabilities else "energies"
        self.never, self.always = (0.0, 1.0) if are_probabilities else (-torch.inf, torch.inf)
        self.lengths = lengths
        self.end = end

    def named(self, scores):
        return {self.name: scores}

    def begin(self, start, given):
        """Where the first output begins, [B, H, T]: `start`, checked as functions.py does beside
        scores of the type of `given`, or entry 0.
        """
        if start is None:
            begin = arguments.exact(given).new_zeros(self.B, self.H, self.T)
            begin[..., :1] = 1
            return begin
        of_call = checks.Arguments(
            self.name, given.new_empty(1).expand(self.B, self.H, self.U, self.T), "[B, H, U, T]")
        of_call.check("start", start, "[B, H, T]", (self.B, self.H, self.T))
        beyond = self.beyond(0, self.T)
        if beyond is not None:
            beyond = beyond.squeeze(2)
        return of_call.numbers("start", start, checks.NOT_NEGATIVE, beyond)

    def beyond(self, first, last):
        """Gives the mask [B, 1, 1, n] of what lies beyond a length, None without lengths."""
        if self.lengths is None:
            return None
        entries = torch.arange(first, last, device=self.lengths.device)
        return entries >= self.lengths.view(-1, 1, 1, 1)

    def masked(self, scores, first):
        """What lies beyond a length is never chosen; under stay_last its last entry always is."""
        last = first + scores.size(3)
        beyond = self.beyond(first, last)
        if beyond is not None:
            scores = scores.masked_fill(beyond, self.never)
        if self.end == "stay_last":
            count = self.T if self.lengths is None else self.lengths.view(-1, 1, 1, 1)
            entries = torch.arange(first, last, device=scores.device)
            scores = scores.masked_fill(entries == count - 1, self.always)
        return scores

    def search(self, rows, begin, share):
        """Finds the window of a block, which cuts at most `share` [B, H], with its scores."""
        with torch.no_grad():
            before = begin.cumsum(2)
            first, last = self._ends(before, share)
        width, scores, evaluated = 0, None, 0
        wanted = max(LEAST_WIDTH, last - first)
        while True:
            wanted = min(wanted, self.T - first)
            more = self.scores_of(rows, slice(first + width, first + wanted))
            evaluated += more[0, 0].numel() * self.B * self.H
            scores = more if scores is None else torch.cat([scores, more], 3)
            width = wanted
            with torch.no_grad():
                cut = self._cut(scores, first, begin, before)
                if first + width >= self.T or bool((cut[..., -1] <= share).all()):
                    return _Block(first, width, scores, cut, evaluated)
            wanted = 2 * width

    def _ends(self, before, share):
        """The first and the last entry where mass begins that is not to be cut."""
        if self.T == 0:
            return 0, 0
        # Half of the share is for the left; a quarter for what begins far to the right.
        half = (share / 2).unsqueeze(2)
        total = before[..., -1:]
        first = (before <= half).sum(2).min()
        last = self.T - (total - before <= half / 2).sum(2).min() + 1
        first, last = torch.stack([first, last]).tolist()
        return min(first, self.T - 1), min(last, self.T)

    def _cut(self, scores, first, begin, before):
        """The mass cut up to each row of a block, [B, H, rows]. What passes the window comes to an
        entry behind it that is always chosen, and stays there for the rows after.
        """
        last = first + scores.size(3)
        left = before[..., first - 1] if first > 0 else before.new_zeros(self.B, self.H)
        if last >= self.T:  # what passes the last entry is nobody's
            return left.unsqueeze(2).expand(-1, -1, scores.size(2))
        table = pad(self.masked(scores.detach(), first), (0, 1), value=self.always)
        # What begins behind the window is not taken from sums, which would cancel.
        right = begin.detach()[..., last:].sum(2)
        start = torch.cat([begin.detach()[..., first:last], right.unsqueeze(2)], 2)
        passed = functions.monotonic_attention(**self.named(table), start=start)[..., -1]
        if self.lengths is not None:  # a sequence that ends within the window passes its end
            ends = self.lengths.view(-1, 1, 1) <= last
            passed = passed.masked_fill(ends, 0)
        return left.unsqueeze(2) + passed
