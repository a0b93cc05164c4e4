"""Results of attnbench in Python: as pandas frames, as speed-ups, as figures.

    import attnbench

    cells = attnbench.load("mine.json")            # a row for each cell
    faster = attnbench.speedups("mine.json")       # over soft attention, with intervals
    attnbench.figures("mine.json")                 # the figures that fit, by name
    attnbench.draw("mocha_figure3", "mine.json")   # one of them

It needs pandas, SciPy, jsonschema and matplotlib. docs/python.md says how Python finds
it, and what the frames hold.

attnbench.torch, which is imported by that name, has the training expectations as PyTorch
operators; it needs PyTorch, and none of the above. attnbench.analysis and attnbench.judge
are what the program's commands and plots/ use; their names may change.
"""

# Programs come by here before analysis/start.py has seen to it that a user's json.py, or
# the like, is not taken for Python's own. So nothing is imported here.

__version__ = "0.1.0"  # that of CMakeLists.txt

_MODULES = {
    "DataError": "results",
    "draw": "pictures",
    "figures": "pictures",
    "load": "results",
    "speedups": "results",
}
__all__ = sorted(_MODULES)


def __getattr__(name):
    """Imports what results need only when it is used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    tell_of_another_version()
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})


def tell_of_another_version():
    """Warns where this copy, such as CMake's on PYTHONPATH, hides one that pip installed."""
    import importlib.metadata
    import os
    import warnings

    try:
        hidden = importlib.metadata.version("attnbench")
    except importlib.metadata.PackageNotFoundError:
        return
    if hidden != __version__:
        warnings.warn(
            f"attnbench {__version__} in {os.path.dirname(__file__)} hides attnbench {hidden},"
            " which pip installed",
            stacklevel=3,
        )
