"""Turns text into HTML. Everything that comes from a file goes through here, so that a
mechanism called `</script><b>` is a name and nothing else.
"""

import base64
import gzip
import html
import json

from attnbench.analysis import words

NONE = "-"


def text(value):
    """Writes a value as the content of an element, or of a quoted attribute."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and abs(value) < 1e15 and value.is_integer():
        value = int(value)
    if not isinstance(value, (str, int, float)):
        value = json.dumps(value, ensure_ascii=False)
    return html.escape(words.clean(str(value)))


def packed(content):
    """Writes text in a fifth to a tenth of its size, and as letters that end no element."""
    # Without a time, the same text gives the same bytes.
    return base64.b64encode(gzip.compress(content.encode(), 6, mtime=0)).decode()


def in_place(content):
    """Packs markup, which page.js puts where it is."""
    return f'<script type="text/plain" class="packed">{packed(content)}</script>'


def table(caption, head, rows, look=""):
    """Makes a table that a narrow window scrolls; `rows` are lists of (tag, markup).

    `tag` is "th" for the header of a row, or "td"; `look` a class of page.css.
    """
    columns = "".join(f'<th scope="col">{text(name)}</th>' for name in head)
    body = "\n".join(
        "<tr>"
        + "".join(
            f'<th scope="row">{inner}</th>' if tag == "th" else f"<td>{inner}</td>"
            for tag, inner in row
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{text(caption)}">'
        f'<table class="{look}"><caption>{text(caption)}</caption>'
        f"<thead><tr>{columns}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )
