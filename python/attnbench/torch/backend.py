"""Chooses how the functions compute: by the native operators, C++ for the CPU, or by the
portable ones, plain torch operations for any device.
"""

import os
import warnings
from typing import Optional

import torch
from torch import Tensor

from attnbench.torch import library, portable
from attnbench.torch.portable import checks

VARIABLE = "ATTNBENCH_TORCH_BACKEND"
PATHS = ("auto", "native", "portable")


def _load():
    """Gives why the native operators cannot be used, None if they can, and whether a library
    was found.
    """
    try:
        library.load()
    except ModuleNotFoundError as error:
        return str(error), False
    except ImportError as error:
        return str(error), True
    return None, True


_missing, _warns = _load()
_path = "auto"
# The native operators, or the portable ones where there are none. A compiled script always
# calls these.
operators = torch.ops.attnbench if _missing is None else portable


class backend:
    """Forces a path for the whole process, all of its threads, or, in a `with`, until its end:

        attnbench.torch.backend("portable")
        with attnbench.torch.backend("auto", check_values=False): ...

    path          "native": C++, on the CPU. "portable": plain torch operations, on any device.
                  "auto", the default: native for tensors on the CPU (and on meta) where its
                  library loads, else portable. The environment variable
                  ATTNBENCH_TORCH_BACKEND says what it is at first.
    check_values  whether the portable path, modules and losses look at numbers (lengths in
                  [0, T], p in [0, 1], no NaN). On a GPU each look waits for it. Without them,
                  wrong numbers give wrong results. Native operators always look. Shapes and
                  types are always checked. None, the default: as it is, and at first they do.

    Raises ValueError if there is no such path, or no native library.
    """

    def __init__(self, path: str, check_values: Optional[bool] = None):
        if path not in PATHS:
            raise ValueError(f"path must be one of {', '.join(PATHS)}, but is {path!r:.50}")
        if path == "native" and _missing is not None:
            raise ValueError(f"path cannot be native: {_missing}")
        self._chosen = path, check_values
        self._ends_with = [(_path, checks.values)]
        self._made = self._choose()

    def __enter__(self):
        before = _path, checks.values
        # What it was made in is what its first `with` ends with, unless another came between.
        if before != self._made:
            self._ends_with.append(before)
        self._made = None
        self._choose()
        return self

    def __exit__(self, *_):
        self._made = None
        _set(*self._ends_with.pop())

    def _choose(self):
        path, check_values = self._chosen
        return _set(path, checks.values if check_values is None else check_values)


def _set(path, check_values):
    global _path
    _path, checks.values = path, check_values
    return path, check_values


def is_portable(tensor: Tensor) -> bool:
    """Whether a call of which this is the first tensor takes the portable path."""
    global _warns
    if _path != "auto":
        return _path == "portable"
    if tensor.device.type not in ("cpu", "meta"):
        return True
    # A warning would cut the graph of torch.compile.
    if _missing is not None and _warns and not checks.is_compiling():
        _warns = False
        warnings.warn(f"attnbench.torch takes its portable path: {_missing}", stacklevel=3)
    return _missing is not None


try:
    backend(os.environ.get(VARIABLE) or "auto")
except ValueError as error:
    raise ValueError(f"{VARIABLE}: {error}") from None


def release() -> None:
    """Gives the memory that the native operators keep for their next results, and no tensor
    uses, back to malloc or the system. They keep up to 256 MiB, or what the environment variable
    ATTNBENCH_TORCH_POOL_MIB says when the library is loaded. Tensors stay as they are. Where
    the library is not loaded there is nothing to give back.
    """
    if _missing is None:
        torch.ops.attnbench.release()
