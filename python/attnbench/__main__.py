"""The commands of attnbench that are in Python, as the program runs them:

    python3 -m attnbench claims --list
"""

import os
import sys

# With a path of this file its folder comes first, with -m the one that the user is in.
# PYTHONSAFEPATH leaves out both.
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:] = [os.path.dirname(HERE), *(path for path in sys.path if path not in ("", HERE))]

from attnbench import __version__
from attnbench.analysis import ROOT, start

# Of `show`, what Python has written.
COMMANDS = {
    "advise": "attnbench.answers.advise", "claims": "attnbench.judge.claims",
    "compare": "attnbench.answers.compare", "draw": "figures.draw",
    "report": "pages.report", "show": "attnbench.answers.advice_text",
    "train": "attnbench.train.command"}

if __name__ == "__main__":
    # A program with a mechanism of another repository stays as an installation becomes newer.
    version = os.environ.get("ATTNBENCH_PROGRAM_VERSION", __version__)
    if version != __version__:
        from attnbench.analysis import command

        program = os.environ.get("ATTNBENCH_PROGRAM", "ATTNBENCH_PROGRAM_VERSION")
        sys.exit(command.fail(f"{program}: is of attnbench {version}, and "
                              f"{ROOT} is of {__version__}: build it again"))
    sys.path.insert(1, os.path.join(ROOT, "plots"))
    name = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if name not in COMMANDS:
        sys.exit(f"usage: attnbench {{{','.join(COMMANDS)}}} ...")
    sys.exit(start.run(f"attnbench {name}", COMMANDS[name]))
