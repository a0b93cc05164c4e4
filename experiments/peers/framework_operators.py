"""Training expectations and gradients by our own operators in PyTorch
(python/attnbench/torch): variant framework_operators, on the same tensors and in the
same process as the closed forms of framework_training.py.
"""

import os
import sys

from framework_training import Training

# It comes before a package that pip installed, which may be of another version.
sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python")
)
VARIANT = "framework_operators"


def load():
    """Gives attnbench.torch, whether its library is built, and the variable that names it."""
    from attnbench import torch as operators
    from attnbench.torch.library import VARIABLE

    try:
        with operators.backend("native"):
            return operators, True, VARIABLE
    except ValueError:
        return operators, False, VARIABLE


OPERATORS, IS_NATIVE, LIBRARY = load()


class OperatorTraining(Training):
    """A cell of mode expect or gradient, from given scores."""

    PATH = "native"
    CHECKS_VALUES = None  # as the library does where nobody says

    def ways(self):
        return (None,)

    def attention(self, leaves):
        with OPERATORS.backend(self.PATH, self.CHECKS_VALUES):
            return self.by_operators(leaves)

    def by_operators(self, leaves):
        # [B H, U, T]: every sequence is a batch of one head.
        scores = {name: leaf.unsqueeze(-3) for name, leaf in leaves.items()}
        if next(iter(scores.values())).dim() == 3:
            scores = {name: score.unsqueeze(0) for name, score in scores.items()}
        choice = (
            {"p": scores["p_choose"]}
            if "p_choose" in scores
            else {"energies": scores["energies"]}
        )
        if self.mechanism == "monotonic":
            made = OPERATORS.monotonic_attention(**choice)
        elif self.mechanism == "mocha":
            width = None if self.width == "inf" else self.width
            made, _ = OPERATORS.mocha_attention(
                scores["chunk_energies"], width, **choice
            )
        else:
            made, _ = OPERATORS.matcha_attention(scores["chunk_energies"], **choice)
        return made.reshape(next(iter(leaves.values())).shape)
