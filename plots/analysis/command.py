"""What the program runs as a command of its own: `attnbench report`, and the judge
of `attnbench claims`. Its messages and exit codes are the program's.
"""

import argparse
import importlib
import os
import signal
import sys

PROGRAM = "attnbench"
WRONG_USAGE, INTERNAL_ERROR = 2, 4


def run(command, module):
    """Runs main() of a module; a missing package is one line on stderr, too."""
    try:
        main = importlib.import_module(module).main
    except ImportError as error:
        return fail(
            f"{sys.executable}: {error}; attnbench {command} needs numpy, scipy, pandas, "
            "jsonschema and matplotlib (scripts/setup.sh installs them)"
        )
    # It ends quietly where nobody reads on, as the program does.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        status = main()
        sys.stdout.flush()
        return status
    except OSError as error:
        # What is left in the buffer is lost, and would be told once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return fail(f"standard output: cannot be written: {error.strerror}")
    # The exit code of Python's own, 1, means a finding.
    except Exception as error:
        fail(f"internal error: {command}: {type(error).__name__}: {error}")
        return INTERNAL_ERROR


def parser(name, description):
    return argparse.ArgumentParser(
        prog=name,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def fail(what):
    line = " ".join(str(what).split())
    print(f"{PROGRAM}: {line}", file=sys.stderr)
    return WRONG_USAGE
