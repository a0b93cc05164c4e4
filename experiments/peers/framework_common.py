"""What decoding and training with PyTorch share: tensors of a cell, energies, and the
choice between several ways to write the same thing."""

import json
import re
import time
from typing import Optional

import torch
from torch import Tensor

# Rows of tanh [T, d] that are made at once: all of them would leave the cache,
# and for long memories not fit.
BLOCK_ELEMENTS = 1 << 18

# A scripted function is compiled in its first runs.
WARM_UPS = 3
WARM_UP_S = 0.5
ROUNDS = 3
# Ways that take seconds take two turns.
ROUNDS_S = 5
_chosen = {}  # the way of each cell that was prepared


# Where the tensors of all cells are.
device = torch.device("cpu")


def use_device(name):
    """Puts the tensors of all cells there from now on: "cpu", "cuda" or "cuda:N". Raises
    ValueError for another name, or if there is no such device.
    """
    global device
    if not re.fullmatch("cpu|cuda(:[0-9]+)?", name):
        raise ValueError(f"must be cpu, cuda or cuda:N, such as cuda:0, but is {name!r:.50}")
    chosen = torch.device(name)
    if chosen.type == "cuda":
        number = torch.cuda.device_count()
        if (chosen.index or 0) >= number:
            raise ValueError(
                f"is {name}, but torch {torch.__version__} finds {number} CUDA devices")
        torch.cuda.set_device(chosen.index or 0)
    device = chosen


def describe_device():
    """Gives what decides times beside the libraries of the CPU, by name; nothing for the CPU."""
    if device.type == "cpu":
        return {}
    return {
        "torch_device": torch.cuda.get_device_name(device),
        "torch_cuda": torch.version.cuda,
    }


def wait():
    """Waits until the device has done its work. A call returns from a GPU once its work is
    queued, from the CPU once it is done.
    """
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def tensor(array):
    return torch.from_numpy(array).to(device)


def batch_of(arrays):
    """[B, ...], or the one array alone, which spares every product a dimension."""
    tensors = [tensor(array) for array in arrays]
    return tensors[0] if len(tensors) == 1 else torch.stack(tensors)


def sequences_of(values, batch):
    """The inverse: what belongs to each sequence, as numpy arrays."""
    values = values.detach().cpu()
    return [values.numpy()] if batch == 1 else list(values.numpy())


# ---- ways to write it -------------------------------------------------------


def both(function):
    """The function as it stands, and compiled by torch.jit.script."""
    return (function, torch.jit.script(function))


def fastest(ways, run, cell):
    """The way with which run(way) is fastest here: after warming up they take turns. A check
    prepares a cell again for each draw, with as few outputs as it has time for: cells of as
    many outputs have one way.
    """
    outputs = [sequence.outputs for sequence in cell.draws[0]]
    key = json.dumps([cell.axes, cell.options, outputs], sort_keys=True)
    if key not in _chosen:
        _chosen[key] = ways[0] if len(ways) == 1 else _fastest(ways, run)
    return _chosen[key]


def _fastest(ways, run):
    for way in ways:
        start = time.perf_counter()
        for _ in range(WARM_UPS):
            run(way)
            wait()
            if time.perf_counter() - start > WARM_UP_S:
                break
    times = [[] for _ in ways]
    begin = time.perf_counter()
    for _ in range(ROUNDS):
        if len(times[0]) >= 2 and time.perf_counter() - begin > ROUNDS_S:
            break
        for way, of_way in zip(ways, times):
            start = time.perf_counter_ns()
            run(way)
            wait()
            of_way.append(time.perf_counter_ns() - start)
    return ways[min(range(len(ways)), key=lambda n: min(times[n]))]


# ---- energies ---------------------------------------------------------------


def query_of(state: Tensor, W: Optional[Tensor]):
    """What meets the keys: W s, or the state itself where energies are products."""
    return state if W is None else torch.nn.functional.linear(state, W)


def energies_of(keys: Tensor, query: Tensor, v: Optional[Tensor]):
    """[..., T] of one state: keys [..., T, d], query [..., d]."""
    if v is None:
        return (keys @ query.unsqueeze(-1)).squeeze(-1)
    # A new array for the tanh would leave the cache sooner.
    return (keys + query.unsqueeze(-2)).tanh_() @ v


def additive_energies(keys: Tensor, queries: Tensor, v: Tensor, rows: int):
    """[..., U, T], by so many rows of [T, d] at once."""
    keys = keys.unsqueeze(-3)
    return torch.cat(
        [
            (keys + block.unsqueeze(-2)).tanh_() @ v
            for block in queries.split(rows, dim=-2)
        ],
        dim=-2,
    )


class Additive:
    """v . tanh(W s + V h + b), the keys V h + b made once."""

    def __init__(self, parameters, role):
        self.W, self.V, self.b, self.v = (
            parameters[f"{role}.{name}"] for name in "WVbv"
        )
        # Drawn as [1, d].
        self.b, self.v = self.b.reshape(-1), self.v.reshape(-1)

    def keys(self, memory):
        return torch.nn.functional.linear(memory, self.V, self.b)

    def of_all(self, keys, states, in_blocks):
        """[..., U, T]; with in_blocks never [U, T, d] at once."""
        rows = states.shape[-2]
        if in_blocks:
            rows = BLOCK_ELEMENTS // max(1, keys.numel())
        return additive_energies(keys, query_of(states, self.W), self.v, max(1, rows))
