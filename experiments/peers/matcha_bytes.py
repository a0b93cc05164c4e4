#!/usr/bin/env python3
"""Bytes that PyTorch keeps for the gradient of MAtChA's expectation, all outputs of a
sequence, for the claim matcha-memory.

Reads one line, {"memory_length": [...], "output_length": [...]}; prints one,
{"framework", "bytes": [...]}, for each memory length all output lengths. They follow
from shapes alone: what several steps keep of one array counts once.
"""

import json
import os
import sys

import torch

# PYTHONSAFEPATH leaves this folder out.
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from framework_training import adaptive


def kept(memory_length, output_length):
    p, u = (
        torch.full((output_length, memory_length), 0.5, dtype=torch.float64,
                   requires_grad=True)
        for _ in range(2)
    )
    sizes = {}

    def keep(tensor):
        storage = tensor.storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        # While there is a result, no array that was kept gives its place to another.
        result = adaptive(p, u, torch.finfo(p.dtype).tiny, False)
    assert result.requires_grad
    return sum(sizes.values())


asked = json.loads(sys.stdin.readline())
print(json.dumps({
    "framework": "torch " + torch.__version__,
    "bytes": [kept(memory_length, output_length)
              for memory_length in asked["memory_length"]
              for output_length in asked["output_length"]],
}), flush=True)
