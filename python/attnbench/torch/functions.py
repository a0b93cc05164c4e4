"""The operators as functions. All can be compiled by torch.jit.script, and are best called
with names: monotonic_attention(p=p, lengths=lengths). backend.py says how they compute: by
the native operators, in C++, or by the portable ones, in plain torch operations.

Shapes are [B, H, U, T]: batch, heads, outputs, entries of the memory. Shared arguments:

lengths  [B], int64: the number of entries of each batch, 0 to T; None: T. What lies beyond
         is not read, and weights and gradients there are 0. They may be on another device.
start    [B, H, T]: with what probability the scan of the first output begins at each entry.
         None: it begins at entry 0. With U = 1 and the last alpha as `start` a call is one
         step of a decoder that feeds its context back.
end      what follows an output that chose no entry. "absorb": the outputs after it choose
         none either, and have no weight (MAD eq 9). "stay_last": the last entry is chosen
         without a look at its score; toolkits call that mass preservation. "restart": the
         next output begins again where this one began; not with `start`.

Types are f32 or f64, all the same; half and bfloat16 are computed in f32. Gradients are
exact; second derivatives raise RuntimeError. Wrong shapes, lengths, numbers (NaN, p outside
[0, 1]) and texts raise ValueError, wrong types and devices TypeError; both name the argument.
"""

from typing import Optional, Tuple

import torch
from torch import Tensor

from attnbench.torch import portable
from attnbench.torch.arguments import check_int, check_tensors, check_text, check_width
from attnbench.torch.backend import is_portable, operators


def monotonic_attention(
    p: Optional[Tensor] = None,
    energies: Optional[Tensor] = None,
    lengths: Optional[Tensor] = None,
    start: Optional[Tensor] = None,
    end: str = "absorb",
) -> Tensor:
    """Gives alpha [B, H, U, T], the probability that output i chooses entry j (MAD eq 9):

        alpha(i, j) = p(i, j) sum over k <= j of alpha(i-1, k) prod over l = k..j-1 of
                      (1 - p(i, l))

    from p, or from energies with p = sigmoid(energies), both [B, H, U, T]. It is made by the
    recurrence, in O(U T), without division or clipping. Energies may be infinite.
    """
    scores, probabilities = _scores(p, energies)
    if not torch.jit.is_scripting():
        check_tensors(p=p, energies=energies, lengths=lengths, start=start)
        check_text(end=end)
        lengths = _moved(lengths, scores)
    arguments = (scores, probabilities, lengths, start, end)
    if not torch.jit.is_scripting():
        if is_portable(scores):
            return portable.monotonic_attention(*arguments)
    return operators.monotonic_attention(*arguments)


def mocha_attention(
    chunk_energies: Tensor,
    width: Optional[int],
    p: Optional[Tensor] = None,
    energies: Optional[Tensor] = None,
    lengths: Optional[Tensor] = None,
    start: Optional[Tensor] = None,
    end: str = "absorb",
) -> Tuple[Tensor, Tensor]:
    """Gives (beta, alpha), both [B, H, U, T]: alpha of monotonic_attention, and the expected
    weights of a softmax of chunk_energies u over the `width` entries that end at the choice
    (MoChA eqs 17 to 19):

        beta(i, j) = sum over k = j..j+w-1 of alpha(i, k) exp(u(i, j)) /
                     sum over l = k-w+1..k of exp(u(i, l))

    width = None is infinite lookback: all entries up to the choice. It takes O(U T) for any
    width (O(U T log w) on the portable path), for any finite u: nothing is clipped.
    """
    scores, probabilities = _scores(p, energies)
    if not torch.jit.is_scripting():
        check_tensors(
            p=p, energies=energies, chunk_energies=chunk_energies, lengths=lengths, start=start
        )
        check_text(end=end)
        check_width(width)
        lengths = _moved(lengths, scores)
    w = -1 if width is None else width
    arguments = (scores, probabilities, chunk_energies, w, lengths, start, end)
    if not torch.jit.is_scripting():
        if is_portable(scores):
            return portable.mocha_attention(*arguments)
    return operators.mocha_attention(*arguments)


def matcha_attention(
    chunk_energies: Tensor,
    p: Optional[Tensor] = None,
    energies: Optional[Tensor] = None,
    lengths: Optional[Tensor] = None,
    start: Optional[Tensor] = None,
    end: str = "absorb",
) -> Tuple[Tensor, Tensor]:
    """Gives (beta, alpha), both [B, H, U, T], as mocha_attention does, but the softmax is over
    all entries from the last choice to this one (MoChA appendix C, eqs 28 and 43). The
    gradient takes O(U T^2) in the worst case, and O(U T) memory. The portable path takes
    O(U T^2 log T), forward too, and O(T^2 log T) memory for each sequence.
    """
    scores, probabilities = _scores(p, energies)
    if not torch.jit.is_scripting():
        check_tensors(
            p=p, energies=energies, chunk_energies=chunk_energies, lengths=lengths, start=start
        )
        check_text(end=end)
        lengths = _moved(lengths, scores)
    arguments = (scores, probabilities, chunk_energies, lengths, start, end)
    if not torch.jit.is_scripting():
        if is_portable(scores):
            return portable.matcha_attention(*arguments)
    return operators.matcha_attention(*arguments)


def memory_attention(
    encoder_scores: Tensor,
    decoder_scores: Tensor,
    lengths: Optional[Tensor] = None,
    encoder_scoring: str = "softmax",
    decoder_scoring: str = "softmax",
    position_encoding: str = "none",
    place: str = "inside",
    max_length: int = 0,
) -> Tensor:
    """Gives attention [B, H, U, T] of a fixed-size memory of K contexts (Britz eqs 4 to 10):

        attention(i, t) = sum over k of beta(i, k) alpha(t, k)

    with alpha = score(encoder_scores [B, H, T, K]) and beta = score(decoder_scores
    [B, H, U, K]). A score is the softmax over the K contexts, or "sigmoid".
    position_encoding is L of eq 10, "raw", or scaled so that its rows have the sum
    ("renormalized") or the mean ("renormalized_mean") 1; it is multiplied "inside" the score
    (eq 9) or "outside"; max_length is S of eq 10, and 0 stands for the sequence's own length.
    This takes O(U T K); memory_contexts does without a table [U, T].
    """
    if not torch.jit.is_scripting():
        check_tensors(encoder_scores=encoder_scores, decoder_scores=decoder_scores)
        check_tensors(lengths=lengths)
        check_text(encoder_scoring=encoder_scoring, decoder_scoring=decoder_scoring)
        check_text(position_encoding=position_encoding, place=place)
        check_int("max_length", max_length, 0)
        lengths = _moved(lengths, encoder_scores)
    arguments = (
        encoder_scores, decoder_scores, lengths, encoder_scoring, decoder_scoring,
        position_encoding, place, max_length,
    )
    if not torch.jit.is_scripting():
        if is_portable(encoder_scores):
            return portable.memory_attention(*arguments)
    return operators.memory_attention(*arguments)


def memory_contexts(
    encoder_scores: Tensor,
    decoder_scores: Tensor,
    memory: Tensor,
    lengths: Optional[Tensor] = None,
    encoder_scoring: str = "softmax",
    decoder_scoring: str = "softmax",
    position_encoding: str = "none",
    place: str = "inside",
    max_length: int = 0,
) -> Tensor:
    """Gives the contexts [B, H, U, d] of memory_attention over memory [B, H, T, d]. They are
    made through the K contexts, C = alpha^T memory, in O(K d (T + U)). A memory that all
    heads share is given as memory.unsqueeze(1).expand(-1, H, -1, -1), and not copied.
    """
    if not torch.jit.is_scripting():
        check_tensors(encoder_scores=encoder_scores, decoder_scores=decoder_scores)
        check_tensors(memory=memory, lengths=lengths)
        check_text(encoder_scoring=encoder_scoring, decoder_scoring=decoder_scoring)
        check_text(position_encoding=position_encoding, place=place)
        check_int("max_length", max_length, 0)
        lengths = _moved(lengths, encoder_scores)
    arguments = (
        encoder_scores, decoder_scores, memory, lengths, encoder_scoring, decoder_scoring,
        position_encoding, place, max_length,
    )
    if not torch.jit.is_scripting():
        if is_portable(encoder_scores):
            return portable.memory_contexts(*arguments)
    return operators.memory_contexts(*arguments)


def additive_energies(
    queries: Tensor, keys: Tensor, v: Tensor, lengths: Optional[Tensor] = None
) -> Tensor:
    """Gives energies [B, H, U, T] of projected decoder states and memory entries (MAD eq 15),

        e(i, j) = v . tanh(queries(i) + keys(j))

    from queries W s [B, H, U, d], keys V h + b [B, H, T, d] and v, [d] or one for each head
    [H, d]. Neither direction makes a table [U, T, d]. For 4 outputs or more the error is a few
    units of rounding of sum |v|.
    """
    if not torch.jit.is_scripting():
        check_tensors(queries=queries, keys=keys, v=v, lengths=lengths)
        lengths = _moved(lengths, queries)
    arguments = (queries, keys, v, lengths)
    if not torch.jit.is_scripting():
        if is_portable(queries):
            return portable.additive_energies(*arguments)
    return operators.additive_energies(*arguments)


def _scores(p: Optional[Tensor], energies: Optional[Tensor]) -> Tuple[Tensor, bool]:
    """Gives the one that is given, and whether it is p."""
    if p is not None and energies is None:
        return p, True
    if energies is not None and p is None:
        return energies, False
    raise ValueError("give either p or energies, and not both")


def _moved(lengths, tensor):
    """Gives lengths where the tensor is; on meta there is nothing to move."""
    if lengths is None or tensor.is_meta:
        return lengths
    if lengths.is_meta:
        raise TypeError("lengths has no numbers: it is on meta")
    return lengths.to(tensor.device)
