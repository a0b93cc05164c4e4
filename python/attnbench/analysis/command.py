"""The options and the messages of programs in Python, which are as those of the program
itself.
"""

import argparse
import difflib
import math
import re
import sys

PROGRAM = "attnbench"
WRONG_USAGE = 2


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


class PackageError(Exception):
    """A package that is imported only where it is needed cannot be; the cause says why."""


MOST_SHOWN = 200  # characters of a key, a value or a name that somebody else wrote
MOST_OF_SENTENCE = 1000


def shortened(text, most=MOST_SHOWN):
    """The text, or of a longer one its first and last characters with their number between
    them, as the program has it (harness/base/printable.h).
    """
    if len(text) <= most:
        return text
    return f"{text[:most // 2]}...({len(text)} characters)...{text[-(most // 2):]}"


def unknown(kind, given, known):
    """'unknown claim 'mad-liner'; did you mean 'mad-linear'?'"""
    nearest = difflib.get_close_matches(given, known, n=1, cutoff=0.4)
    hint = f"did you mean '{nearest[0]}'?" if nearest else f"known: {', '.join(known)}"
    return f"unknown {kind} '{shortened(given)}'; {hint}"


def number(text):
    """A number as the program takes it (std::from_chars): ASCII digits, nothing around or
    between them, and finite. Others are NaN, which is in no range.
    """
    is_number = re.fullmatch(r"-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", text,
                             re.ASCII | re.IGNORECASE)
    value = float(text) if is_number else math.nan
    return value if math.isfinite(value) else math.nan


def whole_number(option, text, least, most):
    """The whole number that an option has. UsageError if it is none from `least` to `most`."""
    if re.fullmatch(f"[0-9]{{1,{len(str(most))}}}", text) and least <= int(text) <= most:
        return int(text)
    raise UsageError(
        f"{option}: '{shortened(text)}' is no whole number from {least} to {most}")


def counted(number, thing):
    """'1 cell', '2 cells'"""
    return f"{number} {thing}{'s'[number == 1:]}"


def printable(text):
    """The text without what moves a terminal's cursor or changes its colours, and without
    bytes that are not UTF-8, which Python has as halves of surrogate pairs.
    """
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", "?", text)


def fail(what, program=PROGRAM):
    line = printable(shortened(" ".join(str(what).split()), MOST_SHOWN + MOST_OF_SENTENCE))
    print(f"{program}: {line}", file=sys.stderr)
    return WRONG_USAGE
