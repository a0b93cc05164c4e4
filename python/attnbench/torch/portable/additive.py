"""Additive energies (Raffel et al. 2017, MAD) in plain torch operations:

    e(i, j) = v . tanh(queries(i) + keys(j))                     (MAD eq 15)

The outputs go in blocks, and the gradient makes each again, so that there is never a table
[U, T, d] of all of them.
"""

from typing import Optional

import torch
from torch import Tensor
from torch.autograd import Function

from attnbench.torch.portable import checks

_MOST_NUMBERS = 2**22  # of a block, unless one output has more


@torch.jit.ignore
def additive_energies(
    queries: Tensor, keys: Tensor, v: Tensor, lengths: Optional[Tensor]
) -> Tensor:
    """Gives energies [B, H, U, T]; functions.py has the arguments."""
    arguments = checks.Arguments("queries", queries, "[B, H, U, d]")
    B, H, _, d = queries.shape
    if d == 0:
        raise ValueError(
            f"queries must have at least one column, but its shape is {list(queries.shape)}"
        )
    arguments.check("keys", keys, "[B, H, T, d]", (B, H, None, d))
    shared = v.dim() == 1
    if not shared and v.dim() != 2:
        raise ValueError(f"v must be [d] or [H, d], but has {v.dim()} dimensions")
    arguments.check("v", v, "[d]" if shared else "[H, d]", (d,) if shared else (H, d))
    T = keys.size(2)
    arguments.check_lengths(lengths, T)
    beyond = arguments.beyond(T)
    taken = (
        arguments.numbers("queries", queries, checks.NUMBERS),
        arguments.numbers(
            "keys", keys, checks.NUMBERS, None if beyond is None else beyond[:, None, :, None]
        ),
        arguments.numbers("v", v, checks.NUMBERS).expand(H, d),
    )
    energies = _Energies.apply(*taken)
    if beyond is not None:
        energies = energies.masked_fill(beyond[:, None, None], 0)
    return energies.to(queries.dtype)


class _Energies(Function):
    """Energies of queries [B, H, U, d], keys [B, H, T, d] and v [H, d]."""

    @staticmethod
    def forward(ctx, queries, keys, v):
        ctx.save_for_backward(queries, keys, v)
        B, H, U, d = queries.shape
        of_output = max(1, B * H * keys.size(2) * d)
        ctx.block = max(1, _MOST_NUMBERS // of_output)
        blocks = [
            _sums(block, keys).tanh_().mul_(v[:, None, None]).sum(4)
            for block in queries.split(ctx.block, 2)
        ]
        return torch.cat(blocks, 2)

    @staticmethod
    @torch.no_grad()
    def backward(ctx, d_energies):
        queries, keys, v = ctx.saved_tensors
        d_queries, d_keys, d_v = [], torch.zeros_like(keys), torch.zeros_like(v)
        for block, d_block in zip(queries.split(ctx.block, 2), d_energies.split(ctx.block, 2)):
            tanh, d_block = _sums(block, keys).tanh_(), d_block.unsqueeze(4)
            d_v = d_v + (d_block * tanh).sum((0, 2, 3))
            d_sums = tanh.square_().neg_().add_(1).mul_(v[:, None, None]) * d_block
            d_queries.append(d_sums.sum(3))
            d_keys = d_keys + d_sums.sum(2)
        return torch.cat(d_queries, 2), d_keys, d_v


def _sums(queries, keys):
    return queries.unsqueeze(3) + keys.unsqueeze(2)
