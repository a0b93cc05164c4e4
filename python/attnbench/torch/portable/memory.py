"""Fixed-size memory attention (Britz et al. 2017) in plain torch operations: K contexts, each a
weighted sum of the entries, are made while encoding, and an output attends to these,

    C(k) = sum over t of alpha(t, k) h(t),  c(i) = sum over k of beta(i, k) C(k)

where alpha and beta are scores, the softmax over the contexts or the sigmoid (eqs 4 to 9), and
alpha may have a position encoding (eq 10),

    L(k, t) = (1 - k/K) (1 - t/S) + k/K t/S,  k = 1..K, t = 1..T, S = T or max_length
"""

from contextlib import nullcontext
from typing import Optional

import torch
from torch import Tensor
from torch.autograd import Function

from attnbench.torch.portable import checks

_SCORINGS = {"softmax": lambda x: x.softmax(-1), "sigmoid": torch.sigmoid}
_POSITION_ENCODINGS = ("none", "raw", "renormalized", "renormalized_mean")


@torch.jit.ignore
def memory_attention(
    encoder_scores: Tensor,
    decoder_scores: Tensor,
    lengths: Optional[Tensor],
    encoder_scoring: str,
    decoder_scoring: str,
    position_encoding: str,
    place: str,
    max_length: int,
) -> Tensor:
    """Gives beta alpha^T [B, H, U, T]; functions.py has the arguments."""
    options = (encoder_scoring, decoder_scoring, position_encoding, place, max_length)
    alpha, beta, _, beyond = _weights(encoder_scores, decoder_scores, None, lengths, *options)
    weights = _Product.apply(beta, alpha.transpose(2, 3))
    if beyond is not None:  # this drops the gradient there, which can be NaN
        weights = weights.masked_fill(beyond.transpose(2, 3), 0)
    return weights.to(encoder_scores.dtype)


@torch.jit.ignore
def memory_contexts(
    encoder_scores: Tensor,
    decoder_scores: Tensor,
    memory: Tensor,
    lengths: Optional[Tensor],
    encoder_scoring: str,
    decoder_scoring: str,
    position_encoding: str,
    place: str,
    max_length: int,
) -> Tensor:
    """Gives beta (alpha^T h) [B, H, U, d]; functions.py has the arguments."""
    options = (encoder_scoring, decoder_scoring, position_encoding, place, max_length)
    alpha, beta, memory, _ = _weights(encoder_scores, decoder_scores, memory, lengths, *options)
    contexts = _Product.apply(alpha.transpose(2, 3), memory)
    return _Product.apply(beta, contexts).to(encoder_scores.dtype)


class _Product(Function):
    """a b of tables [B, H, m, n] and [B, H, n, d]. Under autocast it keeps their type, and so
    does its gradient.
    """

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return _multiply(a, b)

    @staticmethod
    @torch.no_grad()
    def backward(ctx, G):
        a, b = ctx.saved_tensors
        return _multiply(G, b.transpose(2, 3)), _multiply(a.transpose(2, 3), G)


def _multiply(a, b):
    with _without_autocast(a):
        if not _is_shared(b):
            return a @ b
        # One product for all heads: b is not copied for each.
        B, H, m, n = a.shape
        return (a.reshape(B, H * m, n) @ b[:, 0]).view(B, H, m, b.size(3))


def _is_shared(table):
    """Whether all heads have the same memory. A graph that is traced must serve others, too."""
    return table.size(1) > 1 and table.stride(1) == 0 and not checks.is_traced(table)


def _without_autocast(tensor):
    try:
        return torch.autocast(tensor.device.type, enabled=False)
    except RuntimeError:  # there is none for this device
        return nullcontext()


class _Shared(Function):
    """Gives `first` [B, 1, T, d], the checked numbers of the one memory that all heads have, as
    [B, H, T, d] without a copy. Each head of the memory [B, H, T, d] has its own gradient.
    """

    @staticmethod
    def forward(ctx, memory, first, beyond):
        ctx.beyond = beyond
        return first.expand_as(memory)

    @staticmethod
    def backward(ctx, G):
        return G if ctx.beyond is None else G.masked_fill(ctx.beyond, 0), None, None


def _weights(
    encoder_scores,
    decoder_scores,
    memory,
    lengths,
    encoder_scoring,
    decoder_scoring,
    position_encoding,
    place,
    max_length,
):
    """Gives alpha [B, H, T, K], 0 beyond the lengths, beta [B, H, U, K], the memory, and the
    mask [B, 1, T, 1] of what lies beyond, None if nothing does.
    """
    first = "encoder_scores"
    arguments = checks.Arguments(first, encoder_scores, "[B, H, T, K]")
    B, H, T, K = encoder_scores.shape
    if K == 0:
        raise ValueError(
            f"{first} must have K >= 1 columns, but its shape is {list(encoder_scores.shape)}"
        )
    arguments.check("decoder_scores", decoder_scores, "[B, H, U, K]", (B, H, None, K))
    if memory is not None:
        arguments.check("memory", memory, "[B, H, T, d]", (B, H, T, None))
    arguments.check_lengths(lengths, T)
    checks.check_one_of("encoder_scoring", encoder_scoring, _SCORINGS)
    checks.check_one_of("decoder_scoring", decoder_scoring, _SCORINGS)
    checks.check_one_of("position_encoding", position_encoding, _POSITION_ENCODINGS)
    checks.check_one_of("place", place, ("inside", "outside"))
    arguments.check_longest(max_length, T)
    beyond = arguments.beyond(T)
    beyond = None if beyond is None else beyond[:, None, :, None]
    scores = arguments.numbers(first, encoder_scores, checks.FINITE, beyond)
    if position_encoding == "none":
        alpha = _SCORINGS[encoder_scoring](scores)
    else:
        L = _positions(arguments, scores, beyond, position_encoding, max_length)
        inside = place == "inside"
        alpha = _SCORINGS[encoder_scoring](scores * L if inside else scores)
        alpha = alpha if inside else alpha * L
    alpha = alpha if beyond is None else alpha.masked_fill(beyond, 0)
    if memory is not None:
        if _is_shared(memory):
            first = arguments.numbers("memory", memory[:, :1].detach(), checks.FINITE, beyond)
            memory = _Shared.apply(checks.OneDerivative.apply(memory), first, beyond)
        else:
            memory = arguments.numbers("memory", memory, checks.FINITE, beyond)
    beta = arguments.numbers("decoder_scores", decoder_scores, checks.FINITE)
    return alpha, _SCORINGS[decoder_scoring](beta), memory, beyond


def _positions(arguments, scores, beyond, position_encoding, max_length):
    """Gives L [B, 1, T, K], or [T, K] where all sequences have T entries."""
    T, K = scores.shape[2:]
    n = T if arguments.lengths is None else arguments.lengths.clamp(min=1).view(-1, 1, 1, 1)
    t = torch.arange(1, T + 1, dtype=scores.dtype, device=scores.device).unsqueeze(1)
    t = t / (max_length or n)
    k = torch.arange(1, K + 1, dtype=scores.dtype, device=scores.device) / K
    L = (1 - k) * (1 - t) + k * t
    if position_encoding == "raw":
        return L
    L = L if beyond is None else L.masked_fill(beyond, 0)
    total = L.sum(-2, keepdim=True)
    L = L / total.masked_fill(total == 0, 1)
    return L if position_encoding == "renormalized" else L * n
