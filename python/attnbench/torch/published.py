"""The closed forms of alpha that toolkits and papers have published, and of the softmax over
MoChA's chunks: what `check` holds a tensor against. They are wrong where they clip, and are for
nothing else. With a row start of where an output begins, and C(j) the product of 1 - p over the
entries before j (MAD appendix C.1, eq 30 of MoChA),

    alpha(j) = p(j) C(j) sum over k <= j of start(k) / clip(C(k), least, 1)

They differ in what they clip; `attnbench list` has the same names and clips. EMMA's estimator,
without a denominator, is not here: it is exact.
"""

import dataclasses
from typing import Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbench.torch import functions


@dataclasses.dataclass(frozen=True)
class Form:
    """How one toolkit makes alpha: 1 - p is clipped to [factor, 1] (0: the smallest normal
    number; None: as it is), or `added` is added to it; C is a product, or the exp of a sum of
    logs; the denominator is clipped to [least, 1] (None: as it is).
    """

    toolkit: str
    clips: str
    factor: Optional[float] = None
    added: float = 0.0
    in_logs: bool = False
    least: Optional[float] = None
    inclusive: bool = False  # C(j) takes in 1 - p(j), too
    clips_alpha: bool = False  # to [0, 1]

    def row(self, p: Tensor, start: Tensor) -> Tensor:
        """Gives alpha of one output from rows [..., T]."""
        factors = 1 - p + self.added
        if self.factor is not None:
            factors = factors.clamp(self.factor or torch.finfo(p.dtype).tiny, 1)
        C = factors.log().cumsum(-1).exp() if self.in_logs else factors.cumprod(-1)
        if not self.inclusive:
            C = F.pad(C, (1, 0), value=1.0)[..., :-1]
        alpha = p * C * (start / (C if self.least is None else C.clamp(self.least, 1))).cumsum(-1)
        return alpha.clamp(0, 1) if self.clips_alpha else alpha


FORMS = (
    Form("MAD", "1 - p: [1e-10, 1], in logs; C: [1e-10, 1]", 1e-10, in_logs=True, least=1e-10),
    Form("TensorFlow", "1 - p: [smallest normal number, 1], in logs; C: [1e-10, 1]", 0.0,
         in_logs=True, least=1e-10),
    Form("neural_sp", "1 - p: [1e-06, 1]; C: [1e-06, 1]", 1e-6, least=1e-6),
    Form("neural_sp, no_denom", "1 - p: [1e-06, 1]; divides by 1", 1e-6, least=1.0),
    Form("fairseq 0.10", "1 - p: as it is, + 1e-06, in logs; C: [1e-06, 1]; alpha: [0, 1]",
         added=1e-6, in_logs=True, least=1e-6, clips_alpha=True),
    Form("fairseq 0.12", "1 - p: as it is; C: [1e-06, 1]; alpha: [0, 1]", least=1e-6,
         clips_alpha=True),
    Form("MoChA-pytorch",
         "1 - p: [1e-10, 1], in logs; C: as it is, with 1 - p of the entry itself", 1e-10,
         in_logs=True, inclusive=True),
    Form("MAD, denominator 1", "1 - p: as it is; divides by 1", least=1.0),
)


def alpha_and_starts(
    form: Form, p: Tensor, start: Optional[Tensor], end: str
) -> Tuple[Tensor, Tensor]:
    """Gives alpha and where each output starts, [B, H, U, T] like p. Under stay_last p of the
    last entry is 1 already.
    """
    if start is None:
        start = torch.zeros_like(p[:, :, 0])
        start[..., 0] = 1
    alphas, starts = [], []
    for row in p.unbind(2):
        starts.append(start)
        alphas.append(form.row(row, start))
        start = alphas[-1]
        if end == "restart":
            none_after = (1 - row).flip(-1).cumprod(-1).flip(-1)
            start = start + starts[-1] * none_after
    return torch.stack(alphas, 2), torch.stack(starts, 2)


def exact_chunks(alpha: Tensor, u: Tensor, width: Optional[int]) -> Tensor:
    """Gives beta of MoChA that follows exactly from any alpha >= 0, both [B, H, U, T]: each output
    is a head that starts at its alpha and stops at once.
    """
    as_heads = alpha.flatten(1, 2)
    beta, _ = functions.mocha_attention(
        u.flatten(1, 2).unsqueeze(2), width, p=torch.ones_like(as_heads).unsqueeze(2),
        start=as_heads)
    return beta.view_as(alpha)


def clipped_chunks(alpha: Tensor, u: Tensor, width: Optional[int]) -> Tensor:
    """Gives beta of MoChA eq 19 with exp(u - max) clipped to [1e-5, inf): the notebook of its
    authors, neural_sp and MoChA-pytorch.
    """
    e = (u - u.max(-1, keepdim=True)[0]).exp().clamp(min=1e-5)
    w = min(width or u.size(-1), u.size(-1))
    sums = F.pad(e, (w - 1, 0)).unfold(-1, w, 1).sum(-1)
    return e * F.pad(alpha / sums, (0, w - 1)).unfold(-1, w, 1).sum(-1)


def matcha_chunks(p: Tensor, starts: Tensor, u: Tensor) -> Tensor:
    """Gives beta of MAtChA of outputs that begin where `starts` says, each a head of its own; all
    are [B, H, U, T].
    """
    beta, _ = functions.matcha_attention(
        u.flatten(1, 2).unsqueeze(2), p=p.flatten(1, 2).unsqueeze(2), start=starts.flatten(1, 2))
    return beta.view_as(p)
