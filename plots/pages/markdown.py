"""Turns text into Markdown as GitHub reads it: tables, and words that stay
words.
"""

NONE = "–"

# These would begin a cell, a tag, code, emphasis or a link.
_SPECIAL = str.maketrans(
    {"|": "\\|", "<": "&lt;", ">": "&gt;", "`": "\\`", "*": "\\*", "[": "\\[",
     "]": "\\]", "\n": " "}
)


def text(value):
    """Writes a value of a document as it is: nothing in it becomes markup."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).translate(_SPECIAL)


def table(head, rows):
    """Gives lines of a table, of cells that are Markdown already."""
    assert all(len(row) == len(head) for row in rows), head
    return [_row(head), _row(["---"] * len(head)), *map(_row, rows)]


def anchor(heading):
    """Gives what a link to a heading of plain words needs behind the #."""
    return heading.lower().replace(" ", "-")


def _row(cells):
    return f"| {' | '.join(cells)} |"
