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
    alpha, beta, _ = _weights(encoder_scores, decoder_scores, None, lengths, *options)
    with _without_autocast(alpha):
        return (beta @ alpha.transpose(2, 3)).to(encoder_scores.dtype)


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
    alpha, beta, memory = _weights(encoder_scores, decoder_scores, memory, lengths, *options)
    B, H, T, K = alpha.shape
    with _without_autocast(alpha):
        if memory.size(1) < H:  # one product for all heads: a table is not copied for each
            rows = alpha.permute(0, 1, 3, 2).reshape(B, H * K, T)
            contexts = (rows @ memory.squeeze(1)).view(B, H, K, memory.size(3))
        else:
            contexts = alpha.transpose(2, 3) @ memory
        return (beta @ contexts).to(encoder_scores.dtype)


def _without_autocast(tensor):
    """Products keep the type of what they multiply."""
    kind = tensor.device.type
    return torch.autocast(kind, enabled=False) if kind in ("cpu", "cuda") else nullcontext()


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
    """Gives alpha [B, H, T, K], 0 beyond the lengths, beta [B, H, U, K], and the memory, of one
    head where all are the same.
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
        if H > 1 and memory.stride(1) == 0:
            memory = memory[:, :1]
        memory = arguments.numbers("memory", memory, checks.FINITE, beyond)
    beta = arguments.numbers("decoder_scores", decoder_scores, checks.FINITE)
    return alpha, _SCORINGS[decoder_scoring](beta), memory


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
    L = L / L.sum(-2, keepdim=True)
    return L if position_encoding == "renormalized" else L * n
