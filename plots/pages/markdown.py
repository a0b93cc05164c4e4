"""Turns text into Markdown as GitHub reads it: tables, and words that stay
words.
"""

import re
import urllib.parse

NONE = "–"

# These would begin a cell, a tag, a character's name, code, emphasis, a formula or a link.
# harness/base/printable.cc has the same.
_SPECIAL = str.maketrans(
    {"|": "\\|", "&": "&amp;", "<": "&lt;", ">": "&gt;", "`": "\\`", "*": "\\*", "[": "\\[",
     "]": "\\]", "~": "\\~", "$": "&#36;", "\\": "\\\\", "\n": " ", "\r": " "}
)
# Inside a word it is no emphasis.
_UNDERSCORE = re.compile("(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def text(value):
    """Writes a value of a document as it is: nothing in it becomes markup."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _UNDERSCORE.sub(r"\\_", str(value).translate(_SPECIAL))


def link(value, path):
    """Makes a link of a text to a file, whatever its path has in it."""
    return f"[{text(value)}]({urllib.parse.quote(path)})"


def table(head, rows):
    """Gives lines of a table, of cells that are Markdown already."""
    assert all(len(row) == len(head) for row in rows), head
    return [_row(head), _row(["---"] * len(head)), *map(_row, rows)]


def anchor(heading):
    """Gives what a link to a heading of plain words needs behind the #."""
    return heading.lower().replace(" ", "-")


def _row(cells):
    return f"| {' | '.join(cells)} |"
