"""Attention with linear time and online decoding in PyTorch: training by the exact
expectation of the sampled process, decoding by the threshold.

    from attnbench.torch import MoChA

    attention = MoChA(query_size=256, memory_size=512, size=128, width=4)
    out = attention(states, memory, lengths)     # states [B, U, 256], memory [B, T, 512]
    out.contexts, out.weights, out.alpha         # [B, U, 512], [B, 1, U, T] both

Functions take scores that a model made itself: monotonic_attention, mocha_attention,
matcha_attention, banded_attention, memory_attention, memory_contexts, additive_energies, and
energy_attention of any registered mechanism. Modules have
parameters as in the papers: MonotonicAttention, MoChA, MAtChA, FixedMemoryAttention.
expected_delays, average_proportion, average_lagging and differentiable_average_lagging
make losses of latency. check says how wrong an alpha of your own is. docs/operators.md has
examples, and the names that toolkits have for the same things.

Tensors are f32 or f64 (half and bfloat16 are computed in f32). On the CPU native operators
compute, where their library is built, else plain torch operations: backend() says which. release()
gives back the memory that they keep.
"""

from attnbench import tell_of_another_version
from attnbench.torch.arguments import lengths_from_mask
from attnbench.torch.backend import backend, release
from attnbench.torch.banded import Banded, banded_attention
from attnbench.torch.checking import Check, check
from attnbench.torch.functions import (
    additive_energies,
    matcha_attention,
    memory_attention,
    memory_contexts,
    mocha_attention,
    monotonic_attention,
)
from attnbench.torch.latency import (
    average_lagging,
    average_proportion,
    differentiable_average_lagging,
    expected_delays,
)
from attnbench.torch.fixed_memory import FixedMemoryAttention
from attnbench.torch.modules import (
    AdditiveEnergy,
    Attention,
    MAtChA,
    MoChA,
    MonotonicAttention,
    Prepared,
)
from attnbench.torch.online import Decoded, Step
from attnbench.torch.registered import energy_attention

tell_of_another_version()

__all__ = [
    "AdditiveEnergy",
    "Attention",
    "Banded",
    "Check",
    "Decoded",
    "FixedMemoryAttention",
    "MAtChA",
    "MoChA",
    "MonotonicAttention",
    "Prepared",
    "Step",
    "additive_energies",
    "average_lagging",
    "average_proportion",
    "backend",
    "banded_attention",
    "check",
    "differentiable_average_lagging",
    "energy_attention",
    "expected_delays",
    "lengths_from_mask",
    "matcha_attention",
    "memory_attention",
    "memory_contexts",
    "mocha_attention",
    "monotonic_attention",
    "release",
]
