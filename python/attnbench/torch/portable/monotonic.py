"""alpha of hard monotonic attention (Raffel et al. 2017, MAD) in plain torch operations.

q(i, j) is the probability that the scan of output i reaches entry j, p(i, j) that it stops
there if it does, and r = 1 - p that it goes on:

    q(i, j) = r(i, j-1) q(i, j-1) + alpha(i-1, j)
    alpha(i, j) = p(i, j) q(i, j)                            (MAD eqs 9 and 10)

where alpha(-1, j) is `start`. Nothing is divided, and every term is at least 0.
"""

import math
from typing import Optional

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn.functional import pad

from attnbench.torch.portable import checks


@torch.jit.ignore
def monotonic_attention(
    scores: Tensor,
    probabilities: bool,
    lengths: Optional[Tensor],
    start: Optional[Tensor],
    end: str,
) -> Tensor:
    """Gives alpha [B, H, U, T]; functions.py has the arguments."""
    scan = Scan(scores, probabilities, lengths, start, end)
    alpha, _ = scan.expect()
    return scan.result(alpha)


class Scan:
    """The arguments of one call, checked: p, r and chunk energies u [N, U, T], and start
    [N, T], of N = B * H sequences.
    """

    def __init__(self, scores, probabilities, lengths, start, end, chunk_energies=None):
        name, table = "p" if probabilities else "energies", "[B, H, U, T]"
        arguments = checks.Arguments(name, scores, table)
        B, H, _, T = scores.shape
        if chunk_energies is not None:
            arguments.check("chunk_energies", chunk_energies, table, scores.shape)
        if start is not None:
            arguments.check("start", start, "[B, H, T]", (B, H, T))
            if end == "restart":
                raise ValueError(
                    "start cannot be given where end is restart: there alpha does not say where"
                    " the next output starts"
                )
        arguments.check_lengths(lengths, T)
        checks.check_one_of("end", end, ("absorb", "stay_last", "restart"))
        rows = arguments.beyond(T)
        tables = None if rows is None else rows[:, None, None]
        if probabilities:
            p = arguments.numbers(name, scores, checks.PROBABILITIES, tables)
            r = 1 - p
        else:
            p, r = _Sigmoids.apply(
                arguments.numbers(name, scores, checks.NUMBERS, tables, -math.inf)
            )
        if end == "stay_last":
            count = T if lengths is None else arguments.lengths.view(-1, 1, 1, 1)
            last = torch.arange(T, device=p.device) == count - 1
            p = p.masked_fill(last, 1)  # r there leads to entries that do not count
        self.p, self.r = p.flatten(0, 1), r.flatten(0, 1)
        self.u = None
        if chunk_energies is not None:
            u = arguments.numbers("chunk_energies", chunk_energies, checks.FINITE, tables)
            self.u = u.flatten(0, 1)
        if start is None:
            self.start = at_first(self.p.new_ones(B * H), T)
        else:
            rows = None if rows is None else rows[:, None]
            self.start = arguments.numbers("start", start, checks.NOT_NEGATIVE, rows).flatten(0, 1)
        self._scores, self._end, self._beyond = scores, end, tables

    def result(self, table):
        """Gives a table [N, U, T] as the call's result. It is a copy: the caller may write to it,
        and a gradient may need the table.
        """
        table, beyond = table.view(self._scores.shape), self._beyond
        if beyond is None:
            return table.to(self._scores.dtype, copy=True)
        # This drops the gradient there, which can be NaN.
        return table.masked_fill(beyond, 0).to(self._scores.dtype)

    def expect(self):
        """Gives alpha, and with what probability each output begins at each entry."""
        p, r = self.p, self.r
        if self._end != "restart":
            alpha = p * Reach.apply(p, r, self.start)
            return alpha, torch.cat([self.start.unsqueeze(1), alpha], 1)[:, :-1]
        # What output i does not choose returns to where it began: with E(i, k), the product of
        # r(i, l) over l = k..T-1, start(i+1, k) = alpha(i, k) + start(i, k) E(i, k).
        E = _products_to_the_end(r)
        alphas, starts, start = [], [], self.start
        for p_i, r_i, E_i in zip(p.unbind(1), r.unbind(1), E.unbind(1)):
            starts.append(start)
            q = Reach.apply(p_i.unsqueeze(1), r_i.unsqueeze(1), start)
            alphas.append(p_i * q.squeeze(1))
            start = alphas[-1] + start * E_i
        return (torch.stack(alphas, 1), torch.stack(starts, 1)) if alphas else (p, p)


class _Sigmoids(Function):
    """p = sigmoid(e) and r = sigmoid(-e), each with all its digits where the other is near 1."""

    @staticmethod
    def forward(ctx, e):
        p, r = e.sigmoid(), (-e).sigmoid()
        ctx.save_for_backward(p, r)
        return p, r

    @staticmethod
    @torch.no_grad()
    def backward(ctx, d_p, d_r):
        p, r = ctx.saved_tensors
        return (d_p - d_r) * p * r


class Reach(Function):
    """q [N, U, T] of p, r and start. The derivative D(i, j) with respect to q(i, j), given that
    G(i, j) with respect to the result, goes the way back:

        D(i, j) = G(i, j) + r(i, j) D(i, j+1) + p(i, j) D(i+1, j)
    """

    @staticmethod
    def forward(ctx, p, r, start):
        q = torch.zeros_like(p)
        if p.numel() > 0:
            q[:, 0] = start
            q = recurrence(pad(r[..., :-1], (1, 0)), pad(p[:, :-1], (0, 0, 1, 0)), q)
        ctx.save_for_backward(p, r, q)
        return q

    @staticmethod
    @torch.no_grad()
    def backward(ctx, G):
        p, r, q = ctx.saved_tensors
        if p.numel() == 0:
            return p, r, p.sum(1)
        D = recurrence(*(x.flip(1, 2) for x in (r, p, G))).flip(1, 2)
        return q * pad(D[:, 1:], (0, 0, 0, 1)), q * pad(D[..., 1:], (0, 1)), D[:, 0]


def recurrence(a, b, c):
    """Gives y(i, j) = a(i, j) y(i, j-1) + b(i, j) y(i-1, j) + c(i, j), all [N, U, T].

    Diagonals take 2 (U + T) launches, and rows U (1 + log2 T), but with all T numbers in each
    and memory of log2 T tables: they must save half of the launches. The memory of diagonals
    grows with U^2. So where there are more rows than columns these change places.
    """
    _, U, T = c.shape
    if U > T:
        return recurrence(b.mT, a.mT, c.mT).mT.contiguous()
    by_rows = U * T.bit_length() < U + T  # half of the launches of diagonals
    return (_by_rows if by_rows and not _is_batched(c) else _by_diagonals)(a, b, c)


def _is_batched(x):
    """Whether it has a dimension of vmap, as with is_grads_batched: then there is no out=."""
    keys = getattr(torch._C, "_dispatch_keys", None)
    return keys is not None and "Batched" in str(keys(x))


def _by_diagonals(a, b, c):
    """All (i, j) with the same k = i + j depend on those of k - 1 alone: a wavefront."""
    N, _, T = c.shape
    (A, _), (B, _), (Y, y) = (_skewed(x) for x in (a, b, c))
    A, B, left, above = A[:, N:].unbind(), B[:, N:].unbind(), Y[:, N:].unbind(), Y[:, :-N].unbind()
    for k in range(1, len(Y)):
        left[k].addcmul_(A[k], left[k - 1]).addcmul_(B[k], above[k - 1])
    return y.permute(2, 0, 1).contiguous()


def _skewed(x):
    """Gives x [N, U, T] by diagonals, [U + T - 1, (1 + U) N] with x(i, j) in row i + j and
    column 1 + i and zeros elsewhere, and these places of it as a table [U, T, N].
    """
    N, U, T = x.shape
    rows = x.new_zeros(U + T - 1, (1 + U) * N)
    table = rows.as_strided((U, T, N), ((2 + U) * N, (1 + U) * N, 1), N)
    table.copy_(x.permute(1, 2, 0))
    return rows, table


def _by_rows(a, b, c):
    """Each row by recursive doubling: y(j) += a(j) ... a(j-s+1) y(j-s) for s = 1, 2, 4, ..."""
    N, U, T = c.shape
    a, b, c = (x.permute(1, 2, 0) for x in (a, b, c))
    steps = [2**n for n in range((T - 1).bit_length())]
    products = []
    for s in steps:
        products.append(a)
        a = a * pad(a[:, :-s], (0, 0, s, 0))
    # Zeros stand before the first entry.
    rows = [a.new_zeros(steps[-1] + T, N) for _ in steps]
    left = [row[-s - T : -s] for s, row in zip(steps, rows)]
    y = c.new_empty(U, T, N)
    for i in range(U):
        sums = [*(row[-T:] for row in rows), y[i]]
        if i == 0:
            sums[0].copy_(c[0])
        else:
            torch.addcmul(c[i], b[i], y[i - 1], out=sums[0])
        for n in range(len(steps)):
            torch.addcmul(sums[n], products[n][i], left[n], out=sums[n + 1])
    return y.permute(2, 0, 1).contiguous()


def _products_to_the_end(r):
    """Gives the product of r(i, l) over l = j..T-1, [N, U, T]."""
    N, U, T = r.shape
    r = r.flip(2).reshape(N * U, 1, T)
    return (r * Reach.apply(r, r, at_first(r.new_ones(N * U), T))).view(N, U, T).flip(2)


def at_first(mass, T):
    """Gives rows [..., T] that have a mass [...] at their first entry."""
    return pad(mass.unsqueeze(-1), (0, T))[..., :T]
