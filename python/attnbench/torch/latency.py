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
output_lengths [B], U of each sequence (None: all of delays), both int64. Results are [B, ...].
Half and bfloat16 are computed in f32. Delays of such an alpha are f32, as 16 bits do not have
every T; metrics are of the type of the delays. Lengths that are negative or beyond the tensor,
and wrong shapes, raise ValueError, wrong types TypeError.
"""

from typing import Optional, Tuple

import torch
from torch import Tensor

from attnbench.torch import arguments


def expected_delays(alpha: Tensor, lengths: Optional[Tensor] = None) -> Tensor:
    """Gives E[g], [..., U], from alpha [..., U, T] of any operator; where lengths [B] are
    given, alpha is [B, ..., U, T]. They do not depend on the weights of a choice, so alpha of
    MoChA and MAtChA serves as well.
    """
    arguments.check_floating("alpha", alpha, "[B, ..., U, T]", 2)
    values = arguments.exact(alpha)
    T = alpha.size(-1)
    entries = torch.arange(1, T + 1, dtype=values.dtype, device=alpha.device)
    if lengths is None:
        return (values * (entries - T)).sum(-1) + T
    lengths = arguments.take_lengths("lengths", lengths, alpha, most=T)
    last = _like(lengths, values)
    return (values * (entries - last)).sum(-1) + last.squeeze(-1)


def average_proportion(
    delays: Tensor, lengths: Tensor, output_lengths: Optional[Tensor] = None
) -> Tensor:
    """Gives AP, the sum of g(i) over T U: a share."""
    T, U, _, made = _shapes(delays, lengths, output_lengths)
    read = (arguments.exact(delays) * made).sum(-1, keepdim=True)
    proportion = _ratio(read, T * U) * (T > 0)
    return arguments.in_type_of(delays, proportion.squeeze(-1))


def average_lagging(
    delays: Tensor, lengths: Tensor, output_lengths: Optional[Tensor] = None
) -> Tensor:
    """Gives AL, in entries: the mean of g(i) - (i-1) T / U over the outputs up to the first
    that has read all T entries.
    """
    T, U, on_pace, made = _shapes(delays, lengths, output_lengths)
    # Delays of 16 bits were rounded, and T has to be rounded alike to be reached.
    has_all = (delays.detach() >= T.to(delays.dtype)).to(made.dtype)
    counts = made * ((has_all.cumsum(-1) - has_all) == 0).to(made.dtype)
    lag = ((arguments.exact(delays) - on_pace) * counts).sum(-1, keepdim=True)
    lagging = _ratio(lag, counts.sum(-1, keepdim=True)) * (T > 0)
    return arguments.in_type_of(delays, lagging.squeeze(-1))


def differentiable_average_lagging(
    delays: Tensor, lengths: Tensor, output_lengths: Optional[Tensor] = None
) -> Tensor:
    """Gives DAL, in entries: the mean of g'(i) - (i-1) T / U over all outputs, where g'(1) =
    g(1) and g'(i) = max(g(i), g'(i-1) + T / U). That is the mean of the running maximum of
    g(i) - (i-1) T / U.
    """
    T, U, on_pace, made = _shapes(delays, lengths, output_lengths)
    lag = torch.cummax(arguments.exact(delays) - on_pace, -1)[0] * made
    lagging = _ratio(lag.sum(-1, keepdim=True), U) * (T > 0)
    return arguments.in_type_of(delays, lagging.squeeze(-1))


def _like(lengths: Tensor, values: Tensor) -> Tensor:
    """Gives lengths [B] as [B, 1, ..., 1] of as many dimensions as values [B, ...]."""
    return lengths.to(values.dtype).view([-1] + [1] * (values.dim() - 1))


def _shapes(
    delays: Tensor, lengths: Tensor, output_lengths: Optional[Tensor]
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gives T and U as [B, 1, ..., 1], (i-1) T / U, and 1 for outputs that are there."""
    arguments.check_floating("delays", delays, "[B, ..., U]", 2)
    values = arguments.exact(delays)
    T = _like(arguments.take_lengths("lengths", lengths, delays), values)
    most = delays.size(-1)
    index = torch.arange(most, dtype=values.dtype, device=delays.device)
    U = torch.full_like(T, most)
    if output_lengths is not None:
        outputs = arguments.take_lengths("output_lengths", output_lengths, delays, most, "U")
        U = _like(outputs, values)
    return T, U, index * _ratio(T, U), (index < U).to(values.dtype)


def _ratio(a: Tensor, b: Tensor) -> Tensor:
    """Gives a / b, and a where b is 0."""
    return a / b.clamp(min=1)
