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

This is the portable path, plain torch on any device, which waits for the device once for each
width that a block tries. On the native path an operator finds a band of each sequence, output by
output, as variant banded does (mechanisms/monotonic/banded_selection.h). Where the band has more
than MOST_SHARE of all pairs it is given up, and everything is computed as functions.py does.
"""

from functools import cached_property
from typing import NamedTuple, Optional

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn.functional import pad

from attnbench.torch import arguments, functions
from attnbench.torch.backend import is_portable, operators
from attnbench.torch.portable import checks

BLOCK = 32  # outputs that share a window
LEAST_WIDTH = 64  # of a window that is tried first
LESS, MORE = 0.9, 1.25  # of the width before: of the last block, and of what cut too much
LEAST_BOUND = 1e-6  # less than that is rounding in f32
MOST_SHARE = 0.3  # of pairs, those of chunk energies counted, too
ALL = slice(None)


class Banded:
    """What banded_attention gives: alpha and weights, and these:

    mass_cut        [B, H, U]: bounds the L1 error of each row of alpha and of weights
    energies        pairs of an output and an entry that were evaluated, of B H U T
    chunk_energies  the same of chunk energies
    reach           no output saw an entry from this one on: those have no gradient
    dense           the band became too wide: after its pairs all were evaluated, nothing is cut
    """

    def __init__(self, mass_cut, alpha, weights, band, given):
        self.mass_cut = mass_cut
        self.energies, self.chunk_energies = band.energies, band.chunk_energies
        self.dense, self.reach = band.dense, band.reach
        self._alpha, self._weights, self._given = alpha, weights, given

    @cached_property
    def alpha(self) -> Tensor:
        """[B, H, U, T], 0 outside of the band. This table and the next are made when they are
        first asked for.
        """
        return self._table(self._alpha)

    @cached_property
    def weights(self) -> Tensor:
        """[B, H, U, T]: beta, or alpha itself."""
        return self.alpha if self._weights is self._alpha else self._table(self._weights)

    def contexts(self, memory: Tensor) -> Tensor:
        """Gives weights @ memory, [B, H, U, m] of [B, T, m], in the work of the band alone."""
        return self._weights.contexts(arguments.exact(memory))

    def _table(self, numbers):
        with torch.enable_grad():  # who asks first may want none, and another one later
            return arguments.in_type_of(self._given, numbers.table())


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
    cuts at most `bound`, from 1e-6 to 1, of the mass. Scores are given here: that saves time of
    alpha, not of energies. A module's attend_banded evaluates these on the band alone.
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
    chunks = None if chunk_energies is None else parts_of(chunk_energies)
    native = {"scores": given, "chunk_scores": chunk_energies}
    return evaluate(bound, given.shape, parts_of(given), p is not None, lengths, start, end, chunks,
                    width, native)


def evaluate(bound, shape, scores_of, are_probabilities, lengths, start, end,
             chunk_energies_of=None, width=None, native=None):
    """Gives Banded of scores_of(rows, columns), slices of [B, H, U, T], which is asked for the
    band alone. `native` are the same scores as arguments of the operator, where it can be taken.
    """
    if not LEAST_BOUND <= bound <= 1:
        raise ValueError(f"bound must be from {LEAST_BOUND:g} to 1, but is {bound}")
    if end not in ("absorb", "stay_last"):
        raise ValueError(
            f"end must be absorb or stay_last, but is {end!r:.50}: a restart depends on what passes"
            " the last entry")
    given = scores_of(slice(0, 0), slice(0, 0))
    band = _Band(shape, scores_of, are_probabilities, lengths, end, chunk_energies_of, width)
    begin = band.begin(start, given)
    try:
        if native is not None and not is_portable(given):
            return Banded(*band.by_operator(bound, start, native), band, given)
        pieces = band.pieces(bound, begin)
    except _NoBand:
        pieces = [band.whole(begin)]
    alpha = weights = _Blocks(shape, [(piece.first, piece.alpha) for piece in pieces])
    if chunk_energies_of is not None:
        weights = _Blocks(shape, [(piece.before, piece.weights) for piece in pieces])
    return Banded(torch.cat([piece.cut for piece in pieces], 2), alpha, weights, band, given)


def parts_of(table):
    """Gives a function of slices of the last two dimensions. Their gradients are added in place
    to one array; those of plain slices would each be a whole one, zero elsewhere.
    """
    gradient = []
    whole = _Whole.apply(table, gradient)
    return lambda *slices: _Part.apply(whole, gradient, (..., *slices))


class _Whole(Function):
    """The array that parts are of. All of these go backwards before it."""

    @staticmethod
    def forward(ctx, table, gradient):
        ctx.gradient = gradient
        ctx.set_materialize_grads(False)
        return table.view_as(table)

    @staticmethod
    def backward(ctx, _):
        return (ctx.gradient.pop() if ctx.gradient else None), None


class _Part(Function):
    @staticmethod
    def forward(ctx, whole, gradient, place):
        ctx.shape, ctx.gradient, ctx.place = whole.shape, gradient, place
        return whole[place]

    @staticmethod
    def backward(ctx, d_part):
        if not ctx.gradient:
            ctx.gradient.append(d_part.new_zeros(ctx.shape))
        ctx.gradient[0][ctx.place] += d_part
        return None, None, None


class _Table(Function):
    """Tables of blocks of outputs, each from an entry on, as one table that is 0 elsewhere."""

    @staticmethod
    def forward(ctx, shape, firsts, *tables):
        table, ctx.places, row = tables[0].new_zeros(shape), [], 0
        for first, of_block in zip(firsts, tables):
            rows, columns = of_block.shape[2:]
            ctx.places.append((..., slice(row, row + rows), slice(first, first + columns)))
            table[ctx.places[-1]] = of_block
            row += rows
        return table

    @staticmethod
    def backward(ctx, d_table):
        return (None, None, *(d_table[place] for place in ctx.places))


class _Blocks(NamedTuple):
    """Tables of blocks of outputs that follow one another, each with its first entry."""

    shape: tuple
    placed: list

    def table(self):
        firsts, tables = zip(*self.placed)
        return _Table.apply(self.shape, firsts, *tables)

    def contexts(self, memory):
        part_of = parts_of(memory.unsqueeze(1))
        return torch.cat([table @ part_of(slice(first, first + table.size(3)), ALL)
                          for first, table in self.placed], 2)


class _Entries(NamedTuple):
    """Numbers [N] at places [N] of a table that is 0 elsewhere, as the operator gives them."""

    shape: tuple
    numbers: Tensor
    places: Tensor

    def table(self):
        table = self.numbers.new_zeros(self.shape).view(-1)
        return table.scatter(0, self.places, self.numbers).view(self.shape)

    def contexts(self, memory):
        return operators.banded_contexts(
            self.numbers, self.places, memory, *self.shape[1:3])


class _NoBand(Exception):
    """The band is too wide, or there is nothing."""


class _Window(NamedTuple):
    first: int
    scores: Tensor  # [B, H, rows, width]
    cut: Tensor  # [B, H, rows], up to each row


class _Piece(NamedTuple):
    """A block of outputs."""

    first: int  # the entry that alpha begins at
    alpha: Tensor  # [B, H, rows, width]
    before: int  # the one that weights begin at
    weights: Tensor
    cut: Tensor  # [B, H, rows]


class _Band:
    """The scores of a call, what masks them, and how many were asked for."""

    def __init__(self, shape, scores_of, are_probabilities, lengths, end, chunk_energies_of, width):
        self.B, self.H, self.U, self.T = shape
        self.pairs = self.B * self.H * self.U * self.T
        self.scores_of = lambda rows, columns: arguments.exact(scores_of(rows, columns))
        self.name = "p" if are_probabilities else "energies"
        self.never, self.always = (0.0, 1.0) if are_probabilities else (-torch.inf, torch.inf)
        self.lengths = lengths
        self.end = end
        self.chunk_energies_of = chunk_energies_of
        self.chunk_width = width
        self.width = 0  # of the last block's window
        self.energies, self.chunk_energies, self.reach, self.dense = 0, 0, 0, False

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

    def pieces(self, bound, begin):
        """Gives those of all blocks, from where the first output begins."""
        if self.pairs == 0:
            raise _NoBand
        made, cut = [], begin.detach().new_zeros(self.B, self.H)
        for first in range(0, self.U, BLOCK):
            rows = slice(first, min(first + BLOCK, self.U))
            share = (bound - cut) * ((rows.stop - first) / (self.U - first))
            window = self.search(rows, begin, share)
            window = window._replace(cut=cut.unsqueeze(2) + window.cut)
            made.append(self.weigh(window, rows, begin))
            cut = window.cut[..., -1]
            last = window.first + window.scores.size(3)
            self.reach = max(self.reach, last)
            begin = pad(made[-1].alpha[:, :, -1], (window.first, self.T - last))
        return made

    def by_operator(self, bound, start, native):
        """Gives mass_cut, alpha and weights of the native operator."""
        if self.pairs == 0:
            raise _NoBand
        given = {name: arguments.exact(one) if isinstance(one, Tensor) else one
                 for name, one in {**native, "start": start}.items()}
        weights, entries, alpha, alpha_entries, cut, counts = operators.banded_attention(
            probabilities=self.name == "p", bound=bound, most_share=min(MOST_SHARE, 1.0),
            width=-1 if self.chunk_width is None else self.chunk_width, lengths=self.lengths,
            end=self.end, **given)
        self.energies, self.chunk_energies, self.reach, given_up = counts.tolist()
        if given_up:
            raise _NoBand
        shape = (self.B, self.H, self.U, self.T)
        alpha = _Entries(shape, alpha, alpha_entries)
        return cut.detach(), alpha, alpha if weights is None else _Entries(shape, weights, entries)

    def whole(self, begin):
        """Gives all outputs over all entries."""
        self.energies += self.pairs
        self.reach = self.T if self.pairs > 0 else 0
        self.dense = True
        cut = begin.detach().new_zeros(self.B, self.H, self.U)
        given = {**self.named(self.scores_of(ALL, ALL)), "lengths": self.lengths, "start": begin,
                 "end": self.end}
        if self.chunk_energies_of is None:
            alpha = functions.monotonic_attention(**given)
            return _Piece(0, alpha, 0, alpha, cut)
        self.chunk_energies += self.pairs
        chunk_energies = arguments.exact(self.chunk_energies_of(ALL, ALL))
        weights, alpha = functions.mocha_attention(chunk_energies, self.chunk_width, **given)
        return _Piece(0, alpha, 0, weights, cut)

    def weigh(self, window, rows, begin):
        """Makes alpha and the weights of a block."""
        first, last = window.first, window.first + window.scores.size(3)
        scores = self.masked(window.scores, first)
        of_block = begin[..., first:last]
        if self.chunk_energies_of is None:
            alpha = functions.monotonic_attention(**self.named(scores), start=of_block)
            return _Piece(first, alpha, first, alpha, window.cut)
        reach = first if self.chunk_width is None else min(first, self.chunk_width - 1)
        before = first - reach
        self.chunk_energies += self.count(rows, last - before)
        # Nothing begins at the entries before, which chunks reach back to.
        alpha_of = {name: pad(table, (reach, 0), value=self.never)
                    for name, table in self.named(scores).items()}
        chunk_energies = arguments.exact(self.chunk_energies_of(rows, slice(before, last)))
        beyond = self.beyond(before, last)
        if beyond is not None:
            chunk_energies = chunk_energies.masked_fill(beyond, 0)
        weights, alpha = functions.mocha_attention(
            chunk_energies, self.chunk_width, **alpha_of, start=pad(of_block, (reach, 0)))
        return _Piece(first, alpha[..., reach:], before, weights, window.cut)

    def search(self, rows, begin, share):
        """Finds the window of a block, which cuts at most `share` [B, H], with its scores."""
        with torch.no_grad():
            before = begin.cumsum(2)
            first, last = self._ends(before, share)
        width, scores = 0, None
        wanted = max(LEAST_WIDTH, last - first, int(LESS * self.width))
        while True:
            wanted = min(wanted, self.T - first)
            self.energies += self.count(rows, wanted - width)
            more = self.scores_of(rows, slice(first + width, first + wanted))
            scores = more if scores is None else torch.cat([scores, more], 3)
            width = wanted
            with torch.no_grad():
                cut = self._cut(scores, first, begin, before)
                if first + width >= self.T or bool((cut[..., -1] <= share).all()):
                    self.width = width
                    return _Window(first, scores, cut)
            wanted = int(MORE * width) + 1

    def count(self, rows, columns):
        """Counts pairs of a block that are about to be evaluated. Raises _NoBand where they, with
        those that were, are too many.
        """
        pairs = self.B * self.H * (rows.stop - rows.start) * columns
        kinds = 1 if self.chunk_energies_of is None else 2
        if self.energies + self.chunk_energies + pairs > MOST_SHARE * kinds * self.pairs:
            raise _NoBand
        return pairs

    def _ends(self, before, share):
        """The first and the last entry where mass begins that is not to be cut."""
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
