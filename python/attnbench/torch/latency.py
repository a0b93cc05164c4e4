"""How late a decoder is in expectation, from alpha: differentiable, for losses.

    alpha = out.alpha
    loss = loss + 0.1 * differentiable_average_lagging(
        expected_delays(alpha, lengths), lengths).mean()

Output i is made once g(i) of the T entries are read. alpha(i, j) is the probability that it
chooses entry j; the rest of a row is that of choosing nothing, for which all T are read:

    E[g(i)] = T + sum over j of (j - T) alpha(i, j)                j = 1..T

A decoder of U outputs that keeps pace reads 1 / gamma = T / U entries for each. The metrics
here are those of the expected delays (Ma et al. 2019, Cherry and Foster 2019, Arivazhagan et
al. 2019). Only average_proportion is linear in the delays, and so an expectation itself.
Entries and outputs beyond the lengths count nothing; a sequence without either has 0.

Shared arguments: delays [B, ..., U], such as [B, H, U]; lengths [B], T of each sequence;
output_lengths [B], U of each sequence (None: all of delays). Results are [B, ...].
"""

from typing import Optional, Tuple

import torch
from torch import Tensor


def expected_delays(alpha: Tensor, lengths: Optional[Tensor] = None) -> Tensor:
    """Gives E[g], [..., U], from alpha [..., U, T] of any operator; where lengths [B] are
    given, alpha is [B, ..., U, T]. They do not depend on the weights of a choice, so alpha of
    MoChA and MAtChA serves as well.
    """
    entries = torch.arange(1, alpha.size(-1) + 1, dtype=alpha.dtype, device=alpha.device)
    if lengths is None:
        return (alpha * (entries - alpha.size(-1))).sum(-1) + alpha.size(-1)
    last = _like(lengths, alpha)
    is_wrong = (lengths < 0) | (lengths > alpha.size(-1))
    if bool(is_wrong.any()):
        n = int(is_wrong.nonzero()[0])
        raise ValueError(
            f"lengths must be in [0, T] with T = {alpha.size(-1)}, but lengths[{n}] is"
            f" {lengths[n].item()}"
        )
    return (alpha * (entries - last)).sum(-1) + last.squeeze(-1)


def average_proportion(
    delays: Tensor, lengths: Tensor, output_lengths: Optional[Tensor] = None
) -> Tensor:
    """Gives AP, the sum of g(i) over T U: a share."""
    T, U, _, made = _shapes(delays, lengths, output_lengths)
    return _ratio((delays * made).sum(-1, keepdim=True), T * U).squeeze(-1)


def average_lagging(
    delays: Tensor, lengths: Tensor, output_lengths: Optional[Tensor] = None
) -> Tensor:
    """Gives AL, in entries: the mean of g(i) - (i-1) T / U over the outputs up to the first
    that has read all T entries.
    """
    T, U, on_pace, made = _shapes(delays, lengths, output_lengths)
    has_all = (delays.detach() >= T).to(delays.dtype)
    counts = made * ((has_all.cumsum(-1) - has_all) == 0).to(delays.dtype)
    lag = ((delays - on_pace) * counts).sum(-1, keepdim=True)
    return (_ratio(lag, counts.sum(-1, keepdim=True)) * (T > 0)).squeeze(-1)


def differentiable_average_lagging(
    delays: Tensor, lengths: Tensor, output_lengths: Optional[Tensor] = None
) -> Tensor:
    """Gives DAL, in entries: the mean of g'(i) - (i-1) T / U over all outputs, where g'(1) =
    g(1) and g'(i) = max(g(i), g'(i-1) + T / U). That is the mean of the running maximum of
    g(i) - (i-1) T / U.
    """
    T, U, on_pace, made = _shapes(delays, lengths, output_lengths)
    lag = torch.cummax(delays - on_pace, -1)[0] * made
    return (_ratio(lag.sum(-1, keepdim=True), U) * (T > 0)).squeeze(-1)


def _like(lengths: Tensor, values: Tensor) -> Tensor:
    """Gives lengths [B] as [B, 1, ..., 1] of as many dimensions as values [B, ...]."""
    if lengths.dim() != 1 or lengths.size(0) != values.size(0):
        raise ValueError(
            f"lengths must be [B] with B = {values.size(0)}, but its shape is"
            f" {list(lengths.shape)}"
        )
    return lengths.to(values.dtype).view([-1] + [1] * (values.dim() - 1))


def _shapes(
    delays: Tensor, lengths: Tensor, output_lengths: Optional[Tensor]
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gives T and U as [B, 1, ..., 1], (i-1) T / U, and 1 for outputs that are there."""
    T = _like(lengths, delays)
    index = torch.arange(delays.size(-1), dtype=delays.dtype, device=delays.device)
    U = torch.full_like(T, delays.size(-1))
    if output_lengths is not None:
        U = _like(output_lengths, delays)
    return T, U, index * _ratio(T, U), (index < U).to(delays.dtype)


def _ratio(a: Tensor, b: Tensor) -> Tensor:
    """Gives a / b, and a where b is 0."""
    return a / b.clamp(min=1)
