"""`attnbench compare A B`: compares two results, with a verdict on every cell; or two
programs, which it lets the program measure in turn. attnbench compare --help says what the
options do.
"""

import json
import sys

from attnbench.analysis import command, load
from attnbench.answers import change, compare_text, comparison
from attnbench.judge import measure

FORMATS = {
    "text": lambda document: command.printable(compare_text.text(document)),
    "markdown": lambda document: command.printable(compare_text.markdown(document)),
    # In ASCII, so that what moves a terminal's cursor is escaped.
    "json": lambda document: json.dumps(
        document, separators=(",", ":")).replace("\x7f", "\\u007f") + "\n",
    "junit": compare_text.junit,
}
# What the program is told of two programs, as it was typed.
OF_PROGRAMS = ("--processes", "--repetitions", "--cell-limit")


def main(arguments=None):
    options = parse(arguments)
    return measure.exit_code_of("compare", lambda: run(options))


def run(options):
    write = FORMATS[known_format("json" if options.json else options.format)]
    level, margin = (share(getattr(options, name), f"--{name}")
                     for name in ("level", "margin"))
    a, b = of_programs(options) if options.programs else [
        (path, load.read(path, "sweep")) for path in (options.a, options.b)]
    document = comparison.compare(a, b, level, margin, options.programs)
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(write(document))
    return comparison.exit_code(document)


def parse(arguments):
    parser = command.parser("attnbench compare", __doc__)
    parser.add_argument("a", metavar="A")
    parser.add_argument("b", metavar="B")
    parser.add_argument("experiment", metavar="EXPERIMENT", nargs="?")
    for name in ("--programs", "--quick", "--json"):
        parser.add_argument(name, action="store_true")
    for name in OF_PROGRAMS:
        parser.add_argument(name, metavar="N")
    parser.add_argument("--level", metavar="P", default=str(change.LEVEL))
    parser.add_argument("--margin", metavar="X", default=str(change.MARGIN))
    parser.add_argument("--format", metavar="FORMAT", default="text")
    return parser.parse_args(arguments)


def known_format(name):
    if name not in FORMATS:
        raise command.UsageError(f"--format: {command.unknown('format', name, FORMATS)}")
    return name


def share(text, option):
    """As the program reads one (ParseShare)."""
    value = command.number(text)
    if not 0 < value < 1:
        raise command.UsageError(
            f"{option}: '{command.shortened(text)}' is not allowed; allowed: a number between "
            "0 and 1, both excluded, such as 0.05")
    return value


def of_programs(options):
    """Both results of two programs, or of relinks of both, that measured in turn."""
    if options.experiment is None:
        raise command.UsageError(
            "--programs: needs an experiment to measure, e.g. compare --programs build/old "
            "build/release experiments/ci.json")
    given = {name: getattr(options, name[2:].replace("-", "_")) for name in OF_PROGRAMS}
    printed = measure.Processes("compare").attnbench(
        "measure-in-turn", *["--quick"] * options.quick,
        *(f"{name}={value}" for name, value in given.items() if value is not None),
        "--", options.a, options.b, options.experiment)
    return list(zip((options.a, options.b), json.loads(printed)))
