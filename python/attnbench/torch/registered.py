"""Attention of every registered mechanism, by its name."""

from typing import Dict, List, Optional

import torch
from torch import Tensor

from attnbench.torch import library
from attnbench.torch.arguments import check_tensors, check_text


def energy_attention(
    mechanism: str,
    energies: Tensor,
    chunk_energies: Optional[Tensor] = None,
    lengths: Optional[Tensor] = None,
    options: Optional[Dict[str, str]] = None,
) -> Tensor:
    """Gives attention [B, H, U, T], the expected weight of each entry, of a registered
    mechanism whose attention follows from energies: soft, monotonic, mocha, matcha, and those
    that the native library was built with (in its registry, or by attnbench_add_mechanism).

    energies and, for mechanisms that declare them, chunk_energies are [B, H, U, T], finite, of
    one type; what lies beyond lengths [B] is not read. Outputs may depend on the ones before
    them, so all are given, from the first on. options has those of `attnbench list` by name,
    with chunk_width (a number or "inf") and end, such as {"chunk_width": 8, "end":
    "stay_last"}; what is left out is at its default, and what only decoding reads changes
    nothing. In TorchScript their values are texts. Alpha is given by monotonic_attention.

    The gradient is the mechanism's own; second derivatives raise RuntimeError. It runs on the
    CPU, in the native library: where there is none, or one that cannot be used, ImportError
    says why. A mechanism without such attention, wrong options, shapes and numbers raise
    ValueError, wrong types and devices TypeError; both name the argument.
    """
    texts: List[str] = []
    if not torch.jit.is_scripting():
        library.load()
        check_text(mechanism=mechanism)
        check_tensors(energies=energies, chunk_energies=chunk_energies, lengths=lengths)
        options = _as_texts(options)
    if options is not None:
        for name, value in options.items():
            texts.append(name + "=" + value)
    return torch.ops.attnbench.energy_attention(
        mechanism, energies, chunk_energies, lengths, ",".join(texts)
    )


def _as_texts(options):
    if options is None:
        return None
    if not isinstance(options, dict):
        raise TypeError(f"options must be a dict, but is of type {type(options).__name__}")
    for name, value in options.items():
        if not isinstance(name, str):
            raise TypeError(f"options: a name must be a text, but is of type"
                            f" {type(name).__name__}")
        if not isinstance(value, (bool, int, float, str)):
            raise TypeError(f"options: {name} must be a text, a number or a bool, but is of type"
                            f" {type(value).__name__}")
    return {name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in options.items()}
