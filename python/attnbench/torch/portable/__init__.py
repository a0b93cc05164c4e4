"""The operators in plain torch operations, for any device: the same names and arguments as
torch.ops.attnbench has, in one file for each mechanism. They compute in f32 or f64, and make
no other tensor of f64 than what is given in it. A script calls them in Python.
"""

import torch

from attnbench.torch.portable.additive import additive_energies
from attnbench.torch.portable.matcha import matcha_attention
from attnbench.torch.portable.memory import memory_attention, memory_contexts
from attnbench.torch.portable.mocha import mocha_attention
from attnbench.torch.portable.monotonic import monotonic_attention

__all__ = [
    "additive_energies",
    "matcha_attention",
    "memory_attention",
    "memory_contexts",
    "mocha_attention",
    "monotonic_attention",
]

# torch.compile takes each as one call, whose operations it traces with those of its gradient.
if hasattr(torch, "compiler"):
    torch.compiler.allow_in_graph([additive_energies, matcha_attention, memory_attention,
                                   memory_contexts, mocha_attention, monotonic_attention])
