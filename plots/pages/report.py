"""One page of HTML that shows results: the verdicts of claims, figures, whether the
results are valid, and every record.

`attnbench report` runs this file; it can be run by itself too.

examples:
  attnbench report sweep.json -o report.html
  attnbench report sweep.json verify.json stability.json -o report.html --title Friday

A result is what run-sweep, verify, stability, roofline or claims wrote. The page needs
no network and no other file. The same results give the same bytes. A wrong result gives
one line on stderr, exit code 2, and no page.
"""

import os

from analysis import command, load, whole_file
from analysis.command import UsageError
from pages import assemble, documents

IS_THERE = "is there already; --force replaces it"


def main(arguments=None):
    options = parse(arguments)
    try:
        check_output(options)
        read = documents.read(options.results)
        content = assemble.page(read, options.title).encode()
        whole_file.write(options.output, content, options.force)
    except (load.DataError, UsageError) as error:
        return command.fail(error)
    except FileExistsError:
        return command.fail(f"{options.output}: {IS_THERE}")
    except OSError as error:
        return command.fail(f"{options.output}: cannot be written: {error.strerror}")
    return 0


def parse(arguments):
    parser = command.parser("attnbench report", __doc__)
    parser.add_argument("results", nargs="+", metavar="RESULT")
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="e.g. -o report.html"
    )
    parser.add_argument(
        "--title", default="attnbench report", help="e.g. --title 'After the change'"
    )
    parser.add_argument("--force", action="store_true", help="replace the output file")
    return parser.parse_args(arguments)


def check_output(options):
    """Refuses a place that cannot be written before the work, not after."""
    path = options.output
    why = whole_file.refusal(path, options.results)
    if why is not None:
        raise UsageError(f"{path}: {why}")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise UsageError(f"{path}: there is no folder '{folder}'")
    if os.path.exists(path) and not options.force:
        raise UsageError(f"{path}: {IS_THERE}")
