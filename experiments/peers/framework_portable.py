"""alpha and its gradient by the portable path of attnbench.torch, plain torch operations, and
by two closed forms as their users have them: variants framework_portable,
framework_portable_unchecked, framework_fairseq and framework_emma.
"""

from typing import Callable, NamedTuple, Optional

import torch
from torch.nn.functional import pad

from framework_operators import OperatorTraining
from framework_training import Training, first_start


def of_fairseq(p):
    """As fairseq's expected_alignment_from_p_choose, which takes row i from whole tables in
    every step: with c(i), the products of 1 - p + 1e-6 over all entries before,
      alpha(i) = p(i) c(i) cumsum(alpha(i - 1) / clip(c(i), 1e-6, 1)), at most 1.
    """
    products = pad((1 - p + 1e-6).log(), [1, 0])[..., :-1].cumsum(-1).exp()
    clipped = products.clamp(1e-6, 1)
    rows = [first_start(p)]
    for i in range(p.size(-2)):
        shares = (rows[-1] / clipped[..., i, :]).cumsum(-1)
        rows.append((p[..., i, :] * products[..., i, :] * shares).clamp(0, 1))
    return torch.stack(rows[1:], -2)


def of_emma(p):
    """As Ma et al. 2023 (EMMA) have it: alpha(i) = p(i) (alpha(i - 1) P(i)), where P(k, j) is
    the product of 1 - p(i, l) over l = k..j-1, a table [T, T] for each output.
    """
    T = p.size(-1)
    after = torch.ones(T, T, dtype=torch.bool, device=p.device).triu(1)
    one = torch.ones((), dtype=p.dtype, device=p.device)
    rows = [first_start(p).unsqueeze(-2)]
    for row in p.unbind(-2):
        before = pad(1 - row, [1, 0])[..., :-1].unsqueeze(-2)
        passed = torch.where(after, before, one).cumprod(-1).triu()
        rows.append(row.unsqueeze(-2) * (rows[-1] @ passed))
    return torch.cat(rows[1:], -2)


class ClosedForm(Training):
    """A cell of monotonic attention, from given p or energies."""

    def ways(self):
        form = VARIANTS[self.cell.axes["variant"]].form
        return ((lambda p, *constants: form(p), False),)


class PortableTraining(OperatorTraining):
    PATH = "portable"


class UncheckedTraining(PortableTraining):
    CHECKS_VALUES = False  # each check of numbers waits for the GPU


class Variant(NamedTuple):
    help: str
    make: type
    form: Optional[Callable] = None  # of a ClosedForm
    approximates: bool = False


VARIANTS = {
    "framework_portable": Variant("attnbench.torch in plain torch operations", PortableTraining),
    "framework_portable_unchecked": Variant(
        "the same, with numbers not checked", UncheckedTraining),
    "framework_fairseq": Variant(
        "fairseq's closed form, with its constants", ClosedForm, of_fairseq, approximates=True),
    "framework_emma": Variant("EMMA's triangular products", ClosedForm, of_emma),
}
