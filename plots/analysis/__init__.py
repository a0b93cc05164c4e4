"""What results say: reading and pairing them, intervals, fits, and the judge of
every ledger. It imports nothing of `figures` and `pages`, and no matplotlib.
"""

import os

# The folder of the project.
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
