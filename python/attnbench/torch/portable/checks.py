"""What all operators do with their arguments: they check them as the native ones do, in the
same words, and take numbers in the type to compute in.
"""

import math
from decimal import Decimal

import torch
from torch import Tensor
from torch.autograd import Function
from torch.utils import _python_dispatch

# Whether numbers are looked at, which waits for a GPU: backend.py sets it.
values = True

# PyTorch 1.13 has no compiler: this is False there.
is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", bool)
_TYPES = (torch.float, torch.double, torch.half, torch.bfloat16)
_LARGEST = {dtype: torch.finfo(dtype).max for dtype in (torch.float, torch.double)}
# The numbers that an argument can have, and their range; None is the type's largest. NaN is
# never allowed.
PROBABILITIES = ("in [0, 1]", 0, 1)
NOT_NEGATIVE = ("finite and not negative", 0, None)
FINITE = ("finite", None, None)
NUMBERS = ("numbers", -math.inf, math.inf)


class Arguments:
    """The tensors of one call: all have the type and the device of the first."""

    def __init__(self, name, first, shape):
        """`shape` is a text that has a letter for each dimension, such as "[B, H, T]"."""
        if torch.jit.is_tracing():
            raise RuntimeError(
                "torch.jit.trace does not follow the portable path: use torch.jit.script"
            )
        _check_kind(name, first, shape)
        self.name, self.first = name, first
        self.lengths = None

    def check(self, name, tensor, shape, sizes):
        """Checks a further tensor; a size that is None may be any."""
        _check_kind(name, tensor, shape)
        first = self.first
        for n, size in enumerate(sizes):
            if size is not None and tensor.size(n) != size:
                raise ValueError(
                    f"{name} of shape {list(tensor.shape)} does not fit {self.name} of shape"
                    f" {list(first.shape)}: dimension {n} must be {size}"
                )
        if tensor.dtype != first.dtype:
            raise TypeError(
                f"{name} must have the type of {self.name}, {_name(first.dtype)}, but is"
                f" {_name(tensor.dtype)}"
            )
        if tensor.device != first.device:
            raise TypeError(
                f"{name} must be where {self.name} is, on {first.device}, but is on"
                f" {tensor.device}"
            )

    def check_lengths(self, lengths, T):
        """Checks them, and keeps them where the first tensor is."""
        if lengths is None:
            return
        first = self.first
        if lengths.layout != torch.strided or lengths.dtype != torch.int64:
            raise TypeError(f"lengths must be int64, but is {_name(lengths.dtype)}")
        if list(lengths.shape) != [first.size(0)]:
            raise ValueError(
                f"lengths must be [B] with B = {first.size(0)}, but has the shape"
                f" {list(lengths.shape)}"
            )
        if lengths.is_meta and not first.is_meta:
            raise TypeError("lengths has no numbers: it is on meta")
        wrong = _first_outside(lengths, 0, T)
        if wrong is not None:
            raise ValueError(f"lengths must be in [0, T] with T = {T}, but lengths{wrong}")
        self.lengths = lengths.to(first.device)

    def check_longest(self, max_length, T):
        """Checks the max_length of a position encoding; 0 means that none is given."""
        ends = (0, T) if self.lengths is None else _range(self.lengths)
        if max_length != 0 and ends is not None and max_length < ends[1]:
            raise ValueError(
                f"max_length must be 0 or at least the longest length, {ends[1]}, but is"
                f" {max_length}"
            )

    def beyond(self, T):
        """Gives the mask [B, T] of what lies beyond the lengths, None if nothing does."""
        if self.lengths is None:
            return None
        return torch.arange(T, device=self.first.device) >= self.lengths.unsqueeze(1)

    def numbers(self, name, tensor, allowed, beyond=None, filler=0.0):
        """Gives a tensor to compute with: the filler stands where the mask `beyond` is true,
        the types of 16 bits are f32, and its gradient has no gradient.
        """
        taken = OneDerivative.apply(tensor)
        if taken.dtype in (torch.half, torch.bfloat16):
            taken = taken.float()
        if beyond is not None:
            taken = taken.masked_fill(beyond, filler)
        text, low, high = allowed
        largest = _LARGEST[taken.dtype]
        low, high = -largest if low is None else low, largest if high is None else high
        wrong = _first_outside(taken.detach(), low, high)
        if wrong is not None:
            raise ValueError(f"{name} must be {text}, but {name}{wrong}")
        return taken.contiguous()


def check_one_of(name, text, allowed):
    if text not in allowed:
        raise ValueError(
            f"{name} must be one of {', '.join(allowed)}, but is another text: {text[:40]}"
        )


def _check_kind(name, tensor, shape):
    if tensor.layout != torch.strided:
        raise TypeError(f"{name} must be dense, but its layout is {_name(tensor.layout)}")
    if tensor.dtype not in _TYPES:
        raise TypeError(
            f"{name} must be float32, float64, float16 or bfloat16, but is {_name(tensor.dtype)}"
        )
    if tensor.dim() != shape.count(",") + 1:
        plural = "" if tensor.dim() == 1 else "s"
        raise ValueError(f"{name} must be {shape}, but has {tensor.dim()} dimension{plural}")


def _name(of_torch):
    return str(of_torch).replace("torch.", "")


def _range(tensor):
    """Gives the least and the largest number, NaN if there is one; None where there is none, or
    none can be seen.
    """
    if not values or tensor.numel() == 0 or tensor.is_meta or is_traced(tensor):
        return None
    return torch.stack(tensor.aminmax()).tolist()


def is_traced(tensor):
    """Whether it is fake, or a tracer records what is done with it: nothing is to be decided by
    what it has.
    """
    if is_compiling():
        return True
    if type(tensor) not in (Tensor, torch.nn.Parameter):
        return True
    # make_fx may trace with real tensors.
    modes = getattr(_python_dispatch, "_get_current_dispatch_mode_stack", list)()
    return any("Proxy" in type(mode).__name__ for mode in modes)


def _first_outside(tensor, low, high):
    """Says "[i, j] is x" of the first number that is not in [low, high], None if all are."""
    ends = _range(tensor)
    if ends is None or (ends[0] >= low and ends[1] <= high):
        return None
    place = (~((tensor >= low) & (tensor <= high))).nonzero()[0].tolist()
    return f"{place} is {_digits(tensor[tuple(place)])}"


def _digits(tensor):
    """Gives the fewest digits that read back as the same number, as std::to_chars does."""
    tensor = tensor.cpu()
    number = tensor.item()
    if isinstance(number, int) or not math.isfinite(number):
        return str(number)
    texts = (f"{number:.{digits}e}" for digits in range(17))
    text = next(x for x in texts if tensor.new_tensor(float(x)) == tensor)
    fixed = str(int(number)) if number.is_integer() else f"{Decimal(text):f}"
    return min(fixed, text, key=len)


class OneDerivative(Function):
    """Gives a tensor as it is; it cannot be differentiated twice, nor in forward mode."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        if not torch.is_grad_enabled():
            return gradient
        return _NoDerivative.apply(gradient, *ctx.saved_tensors)

    @staticmethod
    def jvp(ctx, tangent):
        raise RuntimeError("attnbench has no forward-mode derivative: use backward-mode")


class _NoDerivative(Function):
    """Gives a gradient, whose own gradient with respect to the argument is refused."""

    @staticmethod
    def forward(ctx, gradient, of_argument):
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx, gradient):
        raise RuntimeError(
            "attnbench computes first derivatives only: its gradients cannot be differentiated"
            " again"
        )
