"""Puts what a command printed into a page, between two lines.

examples:
  attnbench compare before.json after.json | plots/page.py docs/comparing.md compare

The lines are <!-- NAME --> and <!-- /NAME -->, each once in the page; the text from
stdin goes between them as a block of code. An empty input, or a fault of the page,
gives one line on stderr, exit code 2, and an unchanged page.
"""

import re
import sys

from attnbench.analysis import command, load, whole_file


def put_into(path, begin, text, end):
    """Puts the text between the lines `begin` and `end` of the file, which must have
    both once; it replaces the text there.
    """
    try:
        with open(path, encoding="utf-8") as file:
            page = file.read()
    except OSError as error:
        raise load.DataError(path, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise load.DataError(path, "is not UTF-8") from error
    if not (page.count(begin) == page.count(end) == 1):
        raise load.DataError(
            path, f"must have the lines {begin.strip()} and {end.strip()} once"
        )
    before, after = page.split(begin)[0], page.split(end)[1]
    try:
        content = before + begin + text + end + after
        whole_file.write(path, content.encode(errors="replace"))
    except OSError as error:
        raise load.DataError(path, f"cannot be written: {error.strerror}") from error


def block(name, text):
    """Gives (first line, block of code, last line) of the printed text."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    if begin in text or end in text:
        raise load.DataError("the text", f"has the line {begin.strip()} or {end.strip()}")
    # Only a longer row of backticks than it has itself ends it.
    fence = "`" * max([3, *(len(row) + 1 for row in re.findall("`{3,}", text))]) + "\n"
    return begin, fence + text + fence, end


def print_into(program, make, path, begin, end):
    """Prints the text that make() gives, after putting it into a page, if there is a path.
    """
    try:
        text = make()
        if path is not None:
            put_into(path, begin, text, end)
    except load.DataError as error:
        return command.fail(error, program)
    sys.stdout.write(text)
    return 0


def main(arguments=None):
    parser = command.parser("page.py", __doc__)
    parser.add_argument("page", metavar="PAGE", help="e.g. docs/comparing.md")
    parser.add_argument("name", metavar="NAME", help="e.g. compare")
    options = parser.parse_args(arguments)
    try:
        text = sys.stdin.read()
        if not text.endswith("\n"):
            raise load.DataError("stdin", "has no line: did the command fail?")
        put_into(options.page, *block(options.name, text))
    except UnicodeDecodeError:
        return command.fail("stdin: is not UTF-8", parser.prog)
    except load.DataError as error:
        return command.fail(error, parser.prog)
    return 0
