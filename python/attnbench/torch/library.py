"""Finds and loads libattnbench_torch.so, which has the operators."""

import glob
import os

import torch

NAME = "libattnbench_torch.so"
VARIABLE = "ATTNBENCH_TORCH_LIBRARY"
_HERE = os.path.dirname(os.path.realpath(__file__))
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(_HERE)))


def find():
    """Gives the path of the library: what the environment variable says, else the file
    beside this package (an installation), else that of the source tree's build/release,
    else the newest of its other builds. Raises ImportError where there is none.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if os.path.isfile(named):
            return named
        raise ImportError(f"{VARIABLE} names no file: {named[:150]}")
    for path in (os.path.join(_HERE, NAME), os.path.join(_ROOT, "build", "release", NAME)):
        if os.path.isfile(path):
            return path
    builds = glob.glob(os.path.join(glob.escape(_ROOT), "build", "*", NAME))
    if builds:
        return max(builds, key=os.path.getmtime)
    raise ImportError(
        f"{NAME} was not found. With PyTorch installed, `cmake --preset release && cmake"
        f" --build --preset release --target attnbench_torch` makes it; or {VARIABLE} says"
        " where it is"
    )


def load():
    """Loads it, once."""
    if hasattr(torch.ops.attnbench, "monotonic_attention"):
        return
    path = find()
    try:
        torch.ops.load_library(path)
    except OSError as error:
        raise ImportError(
            f"PyTorch {torch.__version__} cannot load {path[-100:]}, which must be built"
            f" with the same version: {str(error)[:100]}"
        ) from error
