"""beta of monotonic chunkwise attention (Chiu and Raffel 2018, MoChA) in plain torch operations.

A softmax over the w entries that end at the choice k gives entry j the weight

    w(k, j) = exp(u(j) - M(k)) / S(k),  S(k) = sum over l = k-w+1..k of exp(u(l) - M(k))

with the largest of these u as M(k), so that S(k) is at least 1, and

    beta(j) = sum over k = j..j+w-1 of alpha(k) w(k, j)             (MoChA eqs 17 to 19)

Each sum over a window is of positive terms, by windows of 2, 4, 8, ... entries. That takes
O(T log w), and memory that does not grow with w. Infinite lookback is w = T.
"""

import math
from typing import Optional, Tuple

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn.functional import pad

from attnbench.torch.portable.monotonic import Scan


@torch.jit.ignore
def mocha_attention(
    scores: Tensor,
    probabilities: bool,
    chunk_energies: Tensor,
    width: int,
    lengths: Optional[Tensor],
    start: Optional[Tensor],
    end: str,
) -> Tuple[Tensor, Tensor]:
    """Gives (beta, alpha) [B, H, U, T]; width -1 is infinite lookback."""
    if width < 1 and width != -1:
        raise ValueError(
            f"width must be at least 1, or -1 for infinite lookback, but is {width}"
        )
    scan = Scan(scores, probabilities, lengths, start, end, chunk_energies)
    alpha, _ = scan.expect()
    beta = Chunks.apply(alpha, scan.u, scores.size(3) if width == -1 else width)
    return scan.result(beta), scan.result(alpha)


class Chunks(Function):
    """beta [..., T] of alpha and u. Given G(j), the derivative with respect to beta(j), that
    with respect to alpha(k) is m(k), the mean of G with the weights w(k, j), and

        d u(j) = beta(j) G(j) - sum over k of alpha(k) m(k) w(k, j)
    """

    @staticmethod
    def forward(ctx, alpha, u, width):
        M, S = window_sums(u, torch.ones_like(u), width)
        beta = _spread(alpha / S, u, M, width)
        ctx.width = width
        ctx.save_for_backward(alpha, u, M, S, beta)
        return beta

    @staticmethod
    @torch.no_grad()
    def backward(ctx, G):
        alpha, u, M, S, beta = ctx.saved_tensors
        m = window_sums(u, G, ctx.width)[1] / S
        return m, beta * G - _spread(alpha * m / S, u, M, ctx.width), None


def _spread(mass, u, M, width):
    """Gives the sum over k = j..j+width-1 of mass(k) exp(u(j) - M(k))."""
    least, total = window_sums(-M.flip(-1), mass.flip(-1), width)
    return (u + least.flip(-1)).exp() * total.flip(-1)  # u(j) is at most every M(k)


def window_sums(x, mass, width):
    """Gives for each k, over the `width` entries that end there, X(k), the largest x(l), and
    the sum of mass(l) exp(x(l) - X(k)). Windows are joined from two neighbours; of the two
    factors one is 1, the other less.
    """
    whole, covered, part, size = None, 0, (x, mass), 1
    T = x.size(-1)
    if width >= T:  # what lies before the first entry does no harm
        width = 1 << max(T - 1, 0).bit_length()
    while True:
        if width & size:
            whole = part if whole is None else _join(whole, part, covered)
            covered += size
        size *= 2
        if size > width:
            return whole
        part = _join(part, part, size // 2)


def _join(near, far, size):
    """Joins the windows of `size` entries that end at k with those that end before them."""
    (x, sums), (far_x, far_sums) = near, far
    far_x = pad(far_x[..., :-size], (size, 0), value=-math.inf)
    far_sums = pad(far_sums[..., :-size], (size, 0))
    largest = torch.maximum(x, far_x)
    sums = sums * (x - largest).exp()
    return largest, torch.addcmul(sums, far_sums, (far_x - largest).exp())
