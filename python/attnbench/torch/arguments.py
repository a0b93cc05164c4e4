"""Checks and types that modules, decoding and losses share. Errors name the argument of the
caller, as those of the operators do.
"""

from typing import List, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbench.torch.portable import checks


def lengths_from_mask(padding_mask: Optional[Tensor]) -> Optional[Tensor]:
    """Gives the lengths [B], int64, that a padding mask [B, T] says: bool, True where there is
    padding, which must be behind all entries of its sequence. None, no padding, gives None.
    Raises ValueError for another shape and for the first sequence that has padding before an
    entry, and TypeError for another type.
    """
    if padding_mask is None:
        return None
    if not torch.jit.is_scripting():
        _check_tensor("padding_mask", padding_mask)
    if padding_mask.dtype != torch.bool:
        raise TypeError(f"padding_mask must be bool, but is {_name(padding_mask)}")
    if padding_mask.dim() != 2:
        raise ValueError(
            f"padding_mask must be [B, T], but its shape is {list(padding_mask.shape)}")
    if _has_numbers(padding_mask):
        early = padding_mask[:, :-1] & ~padding_mask[:, 1:]
        if bool(early.any()):
            first = early.nonzero()[0]
            b, j = int(first[0]), int(first[1])
            raise ValueError(
                f"padding_mask must be True behind all entries only, but padding_mask[{b}, {j}]"
                f" is True and padding_mask[{b}, {j + 1}] is False: no lengths say that")
    return (~padding_mask).sum(1)


def check_tensors(**tensors):
    """Refuses what is neither a tensor nor None. TorchScript checks types itself, so this and the
    next four are not compiled.
    """
    for name, value in tensors.items():
        if value is not None:
            _check_tensor(name, value)


def _check_tensor(name, value):
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be a tensor, but is of type {type(value).__name__}")


def check_text(**texts):
    for name, value in texts.items():
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a text, but is of type {type(value).__name__}")


def check_int(name, value, least):
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, but is of type {type(value).__name__}")
    if not least <= value < 2**63:
        raise ValueError(f"{name} must be at least {least} and less than 2**63")


def check_width(width):
    """None is infinite lookback."""
    if width is not None:
        check_int("width", width, 1)


def check_rows(name: str, rows: Tensor, size: int, parameter: Tensor, dimensions: int = 3) -> None:
    """Refuses what is not [B, n, size], or [B, size] of 2 dimensions, in the type of a module's
    parameter and where that is. Under autocast types may differ.
    """
    if not torch.jit.is_scripting():
        _check_tensor(name, rows)
    if rows.dim() != dimensions or rows.size(-1) != size:
        raise ValueError(
            f"{name} must have {dimensions} dimensions, the last of {size}, but its shape is"
            f" {list(rows.shape)}")
    check_type(name, rows, parameter)


def check_type(name: str, tensor: Tensor, parameter: Tensor) -> None:
    """Refuses another type or device than a module's parameter has."""
    if not torch.jit.is_scripting():
        if not tensor.is_floating_point() or (
                tensor.dtype != parameter.dtype and not _casts(parameter.device.type)):
            raise TypeError(
                f"{name} must be {_name(parameter)}, as the module's parameters are, but is"
                f" {_name(tensor)}")
        if tensor.device != parameter.device:
            raise TypeError(
                f"{name} must be where the module's parameters are, on {parameter.device}, but"
                f" is on {tensor.device}")


def check_batch(name: str, rows: Tensor, batch: int, of: str) -> None:
    """Refuses rows [B, ...] of another batch than `of` has."""
    if rows.size(0) != batch:
        raise ValueError(
            f"{name} must have a batch of {batch}, as {of} has, but its shape is"
            f" {list(rows.shape)}")


def check_floating(name: str, tensor: Tensor, shape: str, least: int) -> None:
    """Refuses what has fewer dimensions or is not of real numbers."""
    if not torch.jit.is_scripting():
        _check_tensor(name, tensor)
    if not tensor.is_floating_point():
        raise TypeError(f"{name} must be of a floating point type, but is {_name(tensor)}")
    if tensor.dim() < least:
        raise ValueError(f"{name} must be {shape}, but its shape is {list(tensor.shape)}")


def take_lengths(
    name: str, lengths: Tensor, like: Tensor, most: Optional[int] = None, letter: str = "T"
) -> Tensor:
    """Gives lengths [B] of the batch of `like` where that is. Refuses what is not int64, [B]
    and in [0, most].
    """
    lengths = take_int64(name, lengths, like)
    batch = like.size(0)
    if lengths.dim() != 1 or lengths.size(0) != batch:
        raise ValueError(
            f"{name} must be [B] with B = {batch}, but has the shape {list(lengths.shape)}")
    for b, length in enumerate(numbers(lengths)):
        if length < 0 or (most is not None and length > most):
            allowed = "at least 0"
            if most is not None:
                allowed = f"in [0, {letter}] with {letter} = {most}"
            raise ValueError(f"{name} must be {allowed}, but {name}[{b}] is {length}")
    return lengths.to(like.device)


def take_int64(name: str, tensor: Tensor, like: Tensor) -> Tensor:
    """Gives `tensor`. Refuses what is not int64, and on meta, where there are no numbers, unless
    `like` is there, too.
    """
    if not torch.jit.is_scripting():
        _check_tensor(name, tensor)
    if tensor.dtype != torch.int64:
        raise TypeError(f"{name} must be int64, but is {_name(tensor)}")
    if tensor.is_meta and not like.is_meta:
        raise TypeError(f"{name} has no numbers: it is on meta")
    return tensor


def numbers(tensor: Tensor) -> List[int]:
    """Gives the numbers of an integer tensor [n], none where it has none to tell, on meta, of
    fake tensors, and of a trace, whose graph must not depend on them, or where none is to be
    looked at (backend.py).
    """
    if not _has_numbers(tensor):
        return []
    values: List[int] = tensor.tolist()
    return values


def exact(tensor: Tensor) -> Tensor:
    """Gives the tensor to compute with: f32 in place of 16-bit types."""
    return tensor.float() if _is_short(tensor) else tensor


def in_type_of(argument: Tensor, result: Tensor) -> Tensor:
    """Gives a result in the type of an argument of 16 bits, which `exact` has widened."""
    return result.to(argument.dtype) if _is_short(argument) else result


class Linear(nn.Linear):
    """Computes in f32 for half on the CPU, as PyTorch 1.13 has no products of it there."""

    def forward(self, rows: Tensor) -> Tensor:
        if rows.dtype != torch.half or rows.device.type != "cpu":
            return F.linear(rows, self.weight, self.bias)
        bias = None if self.bias is None else self.bias.float()
        return F.linear(rows.float(), self.weight.float(), bias).half()


def _is_short(tensor: Tensor) -> bool:
    return tensor.dtype == torch.half or tensor.dtype == torch.bfloat16


def _has_numbers(tensor: Tensor) -> bool:
    if not torch.jit.is_scripting():
        if not checks.values or torch.jit.is_tracing() or checks.is_traced(tensor):
            return False
    return not tensor.is_meta


def _casts(device_type: str) -> bool:
    """Whether autocast is on for devices of this type, such as "cuda"."""
    try:
        return torch.is_autocast_enabled(device_type)
    except TypeError:  # before PyTorch 2.4 it takes no device
        return torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled()
    except RuntimeError:  # there is none for this device
        return False


def _name(tensor: Tensor) -> str:
    """The name of its type."""
    if torch.jit.is_scripting():
        return "another"  # where types are numbers
    return str(tensor.dtype).replace("torch.", "")
