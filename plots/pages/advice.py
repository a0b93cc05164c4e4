"""The table of `attnbench advise`, its verdicts, and what its columns mean."""

from attnbench.answers import advice_text
from pages import markup, validity


def to_html(documents):
    """Both of each such result; empty without one."""
    return "\n".join(_one(one) for one in documents if one.kind == "advice")


def _one(document):
    shape, (head, *rows), notes = advice_text.parts(document.content)
    cells = [[("td" if n else "th", markup.text(text))
              for n, text in enumerate(row)] for row in rows]
    table = markup.table(f"{document.name}: {shape}", head, cells)
    lines = "".join(f"<p><strong>{markup.text(line)}</strong></p>"
                    for line in advice_text.verdicts(document.content))
    items = "".join(f"<li>{markup.text(note)}</li>" for note in notes)
    return f"{validity.mark(document)}{lines}\n{table}\n<ul>{items}</ul>"
