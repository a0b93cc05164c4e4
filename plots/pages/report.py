"""One page of HTML that shows results: the verdicts of claims, figures, whether the
results are valid, and every record.

`attnbench report` runs this file; it can be run by itself too.

examples:
  attnbench report sweep.json -o report.html
  attnbench report sweep.json verify.json stability.json -o report.html --title Friday

A result is what run-sweep, verify, stability, roofline, claims, train, advise or diagnose
wrote. The page needs no network and is one file, which can be mailed. Where its records
would make it larger than 1.5 MB, they go to the folder report.html.files beside it;
without that folder the page lacks its tables of records alone. The same results give the
same bytes. A wrong result gives one line on stderr, exit code 2, and no page.
"""

import contextlib
import os
import re

from attnbench.analysis import command, load, whole_file
from attnbench.analysis.command import UsageError
from pages import assemble, documents

FOLDER = ".files"  # what the folder's name has behind the page's


def main(arguments=None):
    options = parse(arguments)
    try:
        if not options.results:
            raise UsageError("report: a result is needed, e.g. report mine.json")
        if not options.output:
            raise UsageError("--output: is needed, e.g. -o report.html")
        whole_file.check(options.output, options.results, options.force)
        read = documents.read(options.results)
        folder = os.path.basename(options.output) + FOLDER
        write(options, *assemble.page(read, options.title, folder))
    except (load.DataError, UsageError) as error:
        return command.fail(error)
    except FileExistsError:
        return command.fail(f"{options.output}: {whole_file.IS_THERE}")
    except OSError as error:
        return command.fail(f"{options.output}: cannot be written: {error.strerror}")
    return 0


def write(options, page, files):
    """Writes the files and then the page, so that whoever opens it has both; until then an
    older page keeps its own.
    """
    folder = options.output + FOLDER
    kept = _records(folder)
    try:
        _write_files(folder, files)
        whole_file.write(options.output, page, options.force)
        kept = files
    finally:
        for name in _records(folder).difference(kept):
            os.unlink(os.path.join(folder, name))
        with contextlib.suppress(OSError):  # it is not empty, or not there
            os.rmdir(folder)


def _write_files(folder, files):
    try:
        if files:
            os.makedirs(folder, exist_ok=True)
        for name, content in files.items():
            whole_file.write(os.path.join(folder, name), content)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from error


def _records(folder):
    """The names of the files there that a page's records are in, and of no others."""
    names = os.listdir(folder) if os.path.isdir(folder) else ()
    return {name for name in names if re.fullmatch("[0-9a-f]{16}\\.js", name)}


def parse(arguments):
    parser = command.parser("attnbench report", __doc__)
    parser.add_argument("results", nargs="*", metavar="RESULT")
    parser.add_argument("-o", "--output", metavar="FILE", help="e.g. -o report.html")
    parser.add_argument(
        "--title", default="attnbench report", help="e.g. --title 'After the change'"
    )
    parser.add_argument("--force", action="store_true", help="replace the output file")
    return parser.parse_args(arguments)
