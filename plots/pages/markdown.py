"""Turns text into Markdown as GitHub reads it: tables, and words that stay
words.
"""

import itertools
import re
import urllib.parse

NONE = "–"
MOST_CHARACTERS = 400  # of a line

# These would begin a cell, a tag, a character's name, code, emphasis, a formula or a link.
# harness/base/printable.cc has the same.
_SPECIAL = str.maketrans(
    {"|": "\\|", "&": "&amp;", "<": "&lt;", ">": "&gt;", "`": "\\`", "*": "\\*", "[": "\\[",
     "]": "\\]", "~": "\\~", "$": "&#36;", "\\": "\\\\", "\n": " ", "\r": " "}
)
# Inside a word it is no emphasis.
_UNDERSCORE = re.compile("(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
# What a line break must not divide: code, bold text, a link, a word. It may not stand
# before a word that would begin a list, a heading or a row either.
_ATOM = re.compile(r"(?:(?<!\\)(?:`[^`]*`|\*\*.*?\*\*|\[[^\]]*\]\([^)]*\))|\S)+"
                   r"(?:\s+(?![A-Za-z`*(\[])\S+)*")


def text(value):
    """Writes a value of a document as it is: nothing in it becomes markup."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _UNDERSCORE.sub(r"\\_", str(value).translate(_SPECIAL))


def paragraph(value):
    """The same as a paragraph of its own: its first word begins no heading and no list."""
    return re.sub(r"^(\d*)([.)#+=-])", r"\1\\\2", text(value))


def link(value, path):
    """Makes a link of a text to a file, whatever its path has in it."""
    return f"[{text(value)}]({urllib.parse.quote(path)})"


def table(head, rows):
    """Gives lines of a table, of cells that are Markdown already. A row that would be too
    long goes on in rows below it.
    """
    rows = list(map(list, rows))
    assert all(len(row) == len(head) for row in rows), head
    lines = [line for row in rows for line in _lines(row)]
    return [_row(head), _row(["---"] * len(head)), *lines]


def page(lines):
    """Gives the text of a page: a paragraph, or an item of a list, that is too long takes
    more than one line.
    """
    made = []
    for line in lines:
        indent = "\n  " if line.startswith("- ") else "\n"
        made.append(line if line.startswith("|")
                    else indent.join(_broken(line, MOST_CHARACTERS - 2)))
    return "\n".join(made) + "\n"


def anchor(heading):
    """Gives what a link to a heading of plain words needs behind the #."""
    return heading.lower().replace(" ", "-")


def _broken(long, most):
    """Gives the parts of a text, of up to `most` characters unless a word is longer."""
    if len(long) <= most:
        return [long]
    parts = [""]
    for atom in _ATOM.findall(long):
        joined = f"{parts[-1]} {atom}".lstrip()
        if len(joined) <= most or not parts[-1]:
            parts[-1] = joined
        else:
            parts.append(atom)
    return parts


def _lines(row):
    if len(_row(row)) <= MOST_CHARACTERS:
        return [_row(row)]
    # The longest cells give way.
    most = max(map(len, row))
    while most > 1 and len(_row([cell[:most] for cell in row])) > MOST_CHARACTERS:
        most -= 1
    columns = [_broken(cell, most) for cell in row]
    return [_row(cells) for cells in itertools.zip_longest(*columns, fillvalue="")]


def _row(cells):
    return f"| {' | '.join(cells)} |"
