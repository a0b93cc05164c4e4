#!/usr/bin/env python3
"""Gradients of PyTorch's cumprod, for the claim mad-cumprod-gradient.

Reads one line, [{"x": [...]}, ...]; prints one, {"framework", "gradients": [[...]]},
the gradients of the sum of cumprod(x), null where one is not finite.
"""

import json
import math
import sys

import torch


def gradient(x):
    leaf = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    torch.cumprod(leaf, 0).sum().backward()
    return [g if math.isfinite(g) else None for g in leaf.grad.tolist()]


print(json.dumps({
    "framework": "torch " + torch.__version__,
    "gradients": [gradient(case["x"]) for case in json.loads(sys.stdin.readline())],
}), flush=True)
