"""Analysis of results: reading and pairing them, intervals, and fits. It imports nothing
of `figures` and `pages`, and no matplotlib.
"""

import os

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SHARED = os.path.join(_PACKAGE, "shared")
# The folder of plots/ and results/: of the sources, of CMake's installation, or that which
# pip installs in this package (setup.py).
ROOT = _SHARED if os.path.isdir(_SHARED) else os.path.dirname(os.path.dirname(_PACKAGE))
