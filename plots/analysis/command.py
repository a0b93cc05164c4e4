"""Runs Python as a command of the program: `attnbench report`, and the judge of
`attnbench claims`. Messages and exit codes are the program's.
"""

import argparse
import importlib
import os
import re
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
    # The command ends quietly if nobody reads on, as the program does.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        status = main()
        sys.stdout.flush()
        return status
    except OSError as error:
        # The buffer's rest is lost, and would cause a second message at the
        # end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return fail(f"standard output: cannot be written: {error.strerror}")
    # Python's own exit code, 1, means a finding.
    except Exception as error:
        fail(f"internal error: {command}: {type(error).__name__}: {error}")
        return INTERNAL_ERROR


class Parser(argparse.ArgumentParser):
    def error(self, message):
        super().error(printable(shortened(message)))


def parser(name, description):
    return Parser(
        prog=name,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


class UsageError(Exception):
    """The request cannot be fulfilled."""


MOST_SHOWN = 200  # characters of a key, a value or a name that somebody else wrote
MOST_OF_SENTENCE = 1000


def shortened(text, most=MOST_SHOWN):
    """The text, or of a longer one its first and last characters with their number between
    them, as the program has it (harness/base/printable.h).
    """
    if len(text) <= most:
        return text
    return f"{text[:most // 2]}...({len(text)} characters)...{text[-(most // 2):]}"


def counted(number, thing):
    """'1 cell', '2 cells'"""
    return f"{number} {thing}{'s'[number == 1:]}"


def printable(text):
    """The text without what moves a terminal's cursor or changes its colours."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "?", text)


def fail(what, program=PROGRAM):
    line = printable(shortened(" ".join(str(what).split()), MOST_SHOWN + MOST_OF_SENTENCE))
    print(f"{program}: {line}", file=sys.stderr)
    return WRONG_USAGE
