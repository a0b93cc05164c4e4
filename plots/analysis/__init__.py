"""Analysis of results: reading and pairing them, intervals, fits, and the judge of
every ledger. It imports nothing of `figures` and `pages`, and no matplotlib.
"""

import os

# The project's folder.
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
