"""Finds and loads libattnbench_torch.so, which has the operators in C++."""

import glob
import os
import re
import shutil

import torch

from attnbench import __version__

NAME = "libattnbench_torch.so"
VARIABLE = "ATTNBENCH_TORCH_LIBRARY"
_HERE = os.path.dirname(os.path.realpath(__file__))
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(_HERE)))
# What mechanisms/torch/built_with.cc writes into the library.
_BUILT_WITH = re.compile(rb"libattnbench_torch of attnbench (\S+) for PyTorch ([^\s\0]+)\0")


class NotFound(ModuleNotFoundError):
    """There is no library. ImportError itself is of one that was found and cannot be used."""


def find():
    """Gives the path of the library: what the environment variable says, else the file
    beside this package (an installation), else that of the source tree's build/release,
    else the newest of its other builds, else that of the program `attnbench` on PATH.
    Raises NotFound where there is none, ImportError where the variable names no file.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if os.path.isfile(named):
            return named
        raise ImportError(f"{VARIABLE} names no file: {named}")
    builds = glob.glob(os.path.join(glob.escape(_ROOT), "build", "*", NAME))
    for path in (
        os.path.join(_HERE, NAME),
        os.path.join(_ROOT, "build", "release", NAME),
        *sorted(builds, key=os.path.getmtime, reverse=True),
        *_of_the_program(),
    ):
        if os.path.isfile(path):
            return path
    raise NotFound(
        f"{NAME} was not found: `cmake --preset release && cmake --build --preset release"
        f" --target attnbench_torch` makes it, and {VARIABLE} says where it is"
    )


def load():
    """Loads the library, once. Raises NotFound where there is none, ImportError where it is
    another one, or of another version of attnbench or PyTorch, or cannot be loaded.
    """
    if hasattr(torch.ops.attnbench, "monotonic_attention"):
        return
    path = find()
    own, of_torch = _built_with(path)
    # A library built with another PyTorch may load, and end the process when it is called.
    if _numbers(of_torch) != _numbers(torch.__version__):
        raise ImportError(
            f"{path} was built with PyTorch {of_torch}, but PyTorch"
            f" {torch.__version__} runs here"
        )
    if own != __version__:
        raise ImportError(
            f"{path} is of attnbench {own}, but this package is of {__version__}"
        )
    try:
        torch.ops.load_library(path)
    except OSError as error:
        raise ImportError(
            f"PyTorch {torch.__version__} cannot load {path}, which was built with"
            f" PyTorch {of_torch}: {str(error)[-200:]}"
        ) from error


def _of_the_program():
    """The library beside the program, in its build folder or where CMake installs it."""
    program = shutil.which("attnbench")
    if program is None:
        return ()
    folder = os.path.dirname(os.path.realpath(program))
    installed = os.path.join("share", "attnbench", "python", "attnbench", "torch")
    return (
        os.path.join(folder, NAME),
        os.path.join(os.path.dirname(folder), installed, NAME),
    )


def _built_with(path):
    """The versions of attnbench and PyTorch that the file says it was built from."""
    try:
        with open(path, "rb") as file:
            found = _BUILT_WITH.search(file.read())
    except OSError as error:
        raise ImportError(f"{path} cannot be read: {error.strerror}") from error
    if found is None:
        raise ImportError(
            f"{path} has no operators of attnbench {__version__} for PyTorch"
            f" {torch.__version__}: it is another library, or of an earlier version"
        )
    return [version.decode("ascii", "replace") for version in found.groups()]


def _numbers(version):
    """Gives "1.13.0" of "1.13.0a0+git": a build of the same version may have another name."""
    return re.match(r"[\d.]*\d|", version)[0]
