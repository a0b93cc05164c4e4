"""Imports the modules of the project's folder plots/, which lies beside this one in the
source tree and in CMake's installation, and below this one in pip's (setup.py).

Their names are plain ones, such as `analysis`, and a user may have a module of that name.
So sys.path and sys.modules have ours only while one of them is imported.
"""

import importlib
import os
import sys

_HERE = os.path.dirname(os.path.realpath(__file__))
_SHARED = os.path.join(_HERE, "shared")
_ROOT = _SHARED if os.path.isdir(_SHARED) else os.path.dirname(os.path.dirname(_HERE))
FOLDER = os.path.join(_ROOT, "plots")
PACKAGES = ("analysis", "figures")
_ours = {}


def module(name):
    """Gives a module of plots/, such as "analysis.load"."""
    theirs = _take()
    sys.modules.update(_ours)
    sys.path.insert(0, FOLDER)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(FOLDER)
        _ours.update(_take())
        sys.modules.update(theirs)


def _take():
    """Takes what is there of PACKAGES out of sys.modules."""
    names = [name for name in sys.modules if name.partition(".")[0] in PACKAGES]
    return {name: sys.modules.pop(name) for name in names}
