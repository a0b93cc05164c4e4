"""Training expectations and gradients with PyTorch: closed forms over whole
rows, and autograd backwards through them. A cell takes the fastest way to write them
(`ways`): as they stand or compiled by torch.jit.script, and with products by
torch.cumprod or through logarithms.

Constants are those of toolkits (preset tf): terms of the cumulative product at
least the smallest normal number, denominators at least 1e-10; exponentials of
chunk energies at least 1e-5, their moving sums as differences of cumsum.
"""

from typing import List

import torch
from torch import Tensor
from torch.nn.functional import pad

import protocol
from framework_common import Additive, batch_of, both, fastest, sequences_of, tensor


def exclusive_product(p: Tensor, least: float, by_logs: bool):
    """Products of 1 - p over all entries before: [..., T]. `least` is that of a
    factor; TorchScript cannot ask for the smallest normal number.
    """
    factors = torch.clamp(1 - p, least, 1.0)
    if by_logs:
        logs = torch.log(factors)
        return torch.exp(torch.cumsum(pad(logs, [1, 0])[..., :-1], -1))
    return torch.cumprod(pad(factors, [1, 0], value=1.0)[..., :-1], -1)


def first_start(p: Tensor):
    start = torch.zeros_like(p[..., 0, :])
    start[..., 0] = 1
    return start


def selection(p: Tensor, least: float, by_logs: bool):
    """alpha [..., U, T]: p C cumsum(previous / clip(C))."""
    products = exclusive_product(p, least, by_logs)
    factors = p * products
    denominators = torch.clamp(products, 1e-10, 1.0)
    rows: List[Tensor] = []
    previous = first_start(p)
    for factor, denominator in zip(factors.unbind(-2), denominators.unbind(-2)):
        previous = factor * torch.cumsum(previous / denominator, -1)
        rows.append(previous)
    return torch.stack(rows, -2)


def clipped_exp(u: Tensor):
    return torch.exp(u - torch.amax(u, -1, keepdim=True)).clamp(min=1e-5)


def sum_back(x: Tensor, width: int):
    """Of the `width` entries that end at each."""
    sums = torch.cumsum(x, -1)
    if width >= x.shape[-1]:
        return sums
    return sums - pad(sums, [width, 0])[..., : x.shape[-1]]


def sum_forward(x: Tensor, width: int):
    """Of the `width` entries that begin at each."""
    length = x.shape[-1]
    sums = torch.cumsum(x, -1)
    width = min(width, length)
    last = sums[..., -1:].expand(list(sums.shape[:-1]) + [width - 1])
    ends = torch.cat([sums[..., width - 1 :], last], -1)
    return ends - pad(sums, [1, 0])[..., :-1]


def chunkwise(p: Tensor, u: Tensor, width: int, least: float, by_logs: bool):
    """MoChA's beta: eq 19."""
    e = clipped_exp(u)
    alpha = selection(p, least, by_logs)
    return e * sum_forward(alpha / sum_back(e, width), width)


def adaptive(p: Tensor, u: Tensor, least: float, by_logs: bool):
    """MAtChA's beta: eqs 40 to 43, an array [T, T] an output."""
    length = p.shape[-1]
    products = exclusive_product(p, least, by_logs)
    denominators = torch.clamp(products, 1e-10, 1.0)
    e = clipped_exp(u)
    before = pad(torch.cumsum(e, -1), [1, 0])
    is_inside = torch.ones(length, length, dtype=torch.bool, device=p.device).triu()
    one = torch.ones((), dtype=p.dtype, device=p.device)
    rows: List[Tensor] = []
    start = first_start(p)
    for i in range(p.shape[-2]):
        denominator, ends = denominators[..., i, :], before[..., i, :]
        sums = torch.where(
            is_inside, ends[..., None, 1:] - ends[..., :-1, None], one
        )
        arrived = start / denominator
        reached = torch.cumsum(arrived[..., :, None] / sums, -2)
        chosen = p[..., i, :] * products[..., i, :]
        total = (reached.triu() @ chosen[..., None]).squeeze(-1)
        rows.append(e[..., i, :] * total)
        start = chosen * torch.cumsum(arrived, -1)
    return torch.stack(rows, -2)


def ways(function):
    """(function, by_logs) of all ways to write it."""
    return [(way, by_logs) for way in both(function) for by_logs in (False, True)]


SELECTION, CHUNKWISE, ADAPTIVE = map(ways, (selection, chunkwise, adaptive))


class Training:
    """A cell of mode expect or gradient."""

    def __init__(self, cell):
        axes = cell.axes
        self.cell = cell
        self.mechanism = axes["mechanism"]
        self.width = axes["chunk_width"]
        self.with_gradient = axes["mode"] == "gradient"
        self.is_full = axes["scope"] == "full"
        self.is_additive = axes["energy"] == "additive"
        self.draws = [self.tensors_of(draw) for draw in cell.draws]
        self.run = self.gradient if self.with_gradient else self.expect
        self.way = fastest(self.ways(), self.run_first, cell)

    def ways(self):
        if self.mechanism == "matcha":
            return ADAPTIVE
        if self.mechanism == "mocha" and self.width != 1:
            return CHUNKWISE
        return (None,) if self.mechanism in ("soft", "memory") else SELECTION

    def run_first(self, way):
        self.way = way
        self.run(0)

    # ---- inputs -------------------------------------------------------------

    def tensors_of(self, draw):
        """(leaves, cotangent) of a draw: everything that has a gradient."""
        batch = len(draw)
        first = draw[0]
        if batch > 1 and self.with_gradient and self.is_full:
            raise protocol.Skipped(
                "autograd sums gradients of parameters over a batch, ours are "
                "kept apart; use scope attention, or batch 1"
            )

        leaves = {
            name: batch_of([one.given[name] for one in draw])
            for name in first.given
        }
        if self.is_full:
            leaves["memory"] = batch_of([one.memory for one in draw])
            if not first.given:
                leaves.update(self.states_of(draw))
                for name, array in self.cell.parameters.items():
                    leaves[name] = tensor(array)
                if self.mechanism not in ("soft", "memory"):
                    # Of soft attention it cancels.
                    leaves["attention.r"] = leaves["memory"].new_full(
                        (1, 1), first.energy_bias
                    )
        if not self.with_gradient:
            return leaves, None
        for leaf in leaves.values():
            leaf.requires_grad_(True)
        name = "contexts" if self.is_full else "attention"
        return leaves, batch_of([one.cotangent[name] for one in draw])

    def states_of(self, draw):
        states = {"states": batch_of([one.states for one in draw])}
        has_chunks = self.mechanism in ("mocha", "matcha")
        if has_chunks and not self.is_additive:
            states["chunk_keys"] = batch_of([one.chunk_keys for one in draw])
            states["chunk_states"] = batch_of([one.chunk_states for one in draw])
        return states

    # ---- what is timed ------------------------------------------------------

    def expect(self, draw):
        with torch.inference_mode():
            return self.forward(self.draws[draw][0])

    def gradient(self, draw):
        leaves, cotangent = self.draws[draw]
        attention, contexts = self.forward(leaves)
        made = contexts if self.is_full else attention
        gradients = torch.autograd.grad(
            made, list(leaves.values()), cotangent, allow_unused=True
        )
        return attention, contexts, gradients

    def forward(self, leaves):
        if self.mechanism == "memory":
            return self.fixed_memory(leaves)
        attention = self.attention(leaves)
        if not self.is_full:
            return attention, None
        return attention, attention @ leaves["memory"]

    def attention(self, leaves):
        if "p_choose" in leaves:
            p = leaves["p_choose"]
        else:
            energies = self.energies(leaves, "attention")
            if self.mechanism == "soft":
                return torch.softmax(energies, -1)
            p = torch.sigmoid(energies)
        function, by_logs = self.way
        constants = (float(torch.finfo(p.dtype).tiny), by_logs)
        if self.mechanism == "monotonic" or self.width == 1:
            return function(p, *constants)
        u = self.energies(leaves, "chunk")
        if self.mechanism == "matcha":
            return function(p, u, *constants)
        width = p.shape[-1] if self.width == "inf" else self.width
        return function(p, u, width, *constants)

    def energies(self, leaves, role):
        """[..., U, T], with r where it matters."""
        name = "energies" if role == "attention" else "chunk_energies"
        if name in leaves:
            return leaves[name]
        if self.is_additive:
            additive = Additive(leaves, role)
            energies = additive.of_all(
                additive.keys(leaves["memory"]),
                leaves["states"],
                not self.with_gradient,
            )
        elif role == "attention":
            energies = leaves["states"] @ leaves["memory"].transpose(-1, -2)
        else:
            keys = leaves["chunk_keys"].transpose(-1, -2)
            energies = leaves["chunk_states"] @ keys
        if role == "attention" and "attention.r" in leaves:
            energies = energies + leaves["attention.r"]
        return energies

    def fixed_memory(self, leaves):
        if "encoder_scores" in leaves:
            encoder, decoder = leaves["encoder_scores"], leaves["decoder_scores"]
        else:
            encoder = leaves["memory"] @ leaves["memory.encoder"].t()
            decoder = leaves["states"] @ leaves["memory.decoder"].t()
        alpha = torch.softmax(encoder, -1).transpose(-1, -2)
        beta = torch.softmax(decoder, -1)
        if not self.is_full:
            return beta @ alpha, None
        return None, beta @ (alpha @ leaves["memory"])

    # ---- what is compared ---------------------------------------------------

    def output(self, draw):
        batch = len(self.cell.draws[draw])
        wanted = self.cell.draws[draw][0].wanted
        attention, contexts, *gradients = self.run(draw)
        leaves = self.draws[draw][0]
        made = {"contexts": contexts, "attention": attention}
        if "attention" in wanted and attention is None:
            made["attention"] = self.attention_of_memory(leaves)
        if gradients:
            for (name, leaf), of_leaf in zip(leaves.items(), gradients[0]):
                made[f"gradient of {name}"] = (
                    torch.zeros_like(leaf) if of_leaf is None else of_leaf
                )
        named = {
            name: sequences_of(values, batch)
            for name, values in made.items()
            if name in wanted or name[len("gradient of ") :] in self.parameters()
        }
        return [
            ({name: values[b] for name, values in named.items()}, None)
            for b in range(batch)
        ]

    def parameters(self):
        return {*self.cell.parameters, "attention.r"}

    def attention_of_memory(self, leaves):
        encoder = leaves["memory"] @ leaves["memory.encoder"].t()
        decoder = leaves["states"] @ leaves["memory.decoder"].t()
        alpha = torch.softmax(encoder, -1).transpose(-1, -2)
        return torch.softmax(decoder, -1) @ alpha
