"""beta of MAtChA, monotonic adaptive chunkwise attention (Chiu and Raffel 2018, appendix C), in
plain torch operations. An output that begins at k is MoChA with infinite lookback over the
entries from k on, so beta is the sum of that over all k:

    beta(j) = sum over k = 0..j, l = j..T-1 of start(k) r(k) ... r(l-1) p(l)
              exp(u(j)) / sum over n = k..l of exp(u(n))             (MoChA eqs 28 and 43)

This takes O(U T^2 log T), and memory of O(T^2 log T) for each sequence: the outputs go one by
one, and the gradient computes each again. The native operator takes O(U T) forward.
"""

from typing import Optional, Tuple

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn.functional import pad

from attnbench.torch.portable.mocha import Chunks
from attnbench.torch.portable.monotonic import Reach, Scan, at_first


@torch.jit.ignore
def matcha_attention(
    scores: Tensor,
    probabilities: bool,
    chunk_energies: Tensor,
    lengths: Optional[Tensor],
    start: Optional[Tensor],
    end: str,
) -> Tuple[Tensor, Tensor]:
    """Gives (beta, alpha) [B, H, U, T]; functions.py has the arguments."""
    scan = Scan(scores, probabilities, lengths, start, end, chunk_energies)
    alpha, starts = scan.expect()
    beta = _OutputByOutput.apply(starts, scan.p, scan.r, scan.u)
    return scan.result(beta), scan.result(alpha)


def _beta(start, p, r, u):
    """Gives beta of one output, all [N, T]. Row k of a table [N, T, T] begins at entry k."""
    N, T = p.shape
    p, r, u = (_from_each_entry(x) for x in (p, r, u))
    rows = (N * T, 1, T)
    q = Reach.apply(p.reshape(rows), r.reshape(rows), at_first(start.flatten(), T))
    beta = Chunks.apply(p * q.view(N, T, T), u, T)
    # Rows that are one shorter than those written: each begins one entry later.
    return pad(beta, (0, T)).flatten(1)[:, :-T].view(N, T, 2 * T - 1)[..., :T].sum(1)


def _from_each_entry(x):
    """Gives the table y(k, l) = x(k + l), with zeros behind x [N, T]."""
    N, T = x.shape
    rows = pad(x, (0, T)).unsqueeze(1).expand(N, T, 2 * T).flatten(1)
    return pad(rows, (0, T)).view(N, T, 2 * T + 1)[..., :T]  # each begins one entry earlier


class _OutputByOutput(Function):
    """_beta of every output, tables [N, U, T]."""

    @staticmethod
    def forward(ctx, *tables):
        ctx.save_for_backward(*tables)
        if tables[0].numel() == 0:
            return torch.zeros_like(tables[0])
        return torch.stack([_beta(*rows) for rows in zip(*(x.unbind(1) for x in tables))], 1)

    @staticmethod
    @torch.no_grad()
    def backward(ctx, G):
        if G.numel() == 0:
            return (G,) * 4
        gradients = []
        for *rows, G_i in zip(*(x.unbind(1) for x in (*ctx.saved_tensors, G))):
            with torch.enable_grad():
                rows = [x.detach().requires_grad_() for x in rows]
                beta = _beta(*rows)
            gradients.append(torch.autograd.grad(beta, rows, G_i))
        return tuple(torch.stack(x, 1) for x in zip(*gradients))
