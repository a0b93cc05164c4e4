"""The figures: every one of the registry that a result is meant for, as SVG in
the page.

Several pictures share one page, so every id is made the picture's own, and
what matplotlib says about all elements ("*") is said about its own only. The
page has no fonts: where DejaVu Sans is missing Verdana has nearly its widths.
"""

import io
import re

from analysis import load
from figures import FIGURES, READERS, data_of, fitting
from pages import markup

_FONT = "'DejaVu Sans'"


def to_html(documents):
    parts = [part for document in documents for part in _of_one(document)]
    return "\n".join(parts) or "<p>No figure fits these results.</p>"


def _of_one(document):
    """Draws the figures; one that cannot be drawn gives the reason."""
    if document.kind not in READERS or document.content.get("cells") == []:
        return
    # The page shows what figures say is wrong, so they get the name that it uses.
    data = data_of(document.content, document.name)
    for name in fitting(data):
        entry = FIGURES[name]
        label = f"figure-{document.number}-{name}"
        title = f"{document.name}: {name}"
        try:
            figure, lines = entry.draw(data[entry.reads])
        except load.DataError as error:
            yield (
                f"<p>{markup.text(title)} ({markup.text(entry.needs)}) was not "
                f"drawn: {markup.text(str(error))}</p>"
            )
            continue
        items = "".join(f"<li>{markup.text(line)}</li>" for line in lines)
        yield (
            f'<h3 id="{label}-title">{markup.text(title)}</h3>\n<figure>'
            '<div class="scroll" role="region" tabindex="0" '
            f'aria-labelledby="{label}-title">'
            f"{_svg(figure, label, title, lines)}</div>\n"
            f"<figcaption>What it shows, in numbers:<ul>{items}</ul></figcaption>"
            "</figure>"
        )


def _svg(figure, label, title, lines):
    stream = io.StringIO()
    figure.savefig(
        stream,
        format="svg",
        bbox_inches="tight",
        pad_inches=0.06,
    )
    svg = stream.getvalue()
    svg = svg[svg.index("<svg") :].rstrip()
    # The date is left out, so that the same data give the same bytes.
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(<[^<>]* id=")([^"]*")', rf"\1{label}-\2", svg)
    svg = re.sub(r'(xlink:href="#|url\(#)', rf"\1{label}-", svg)
    svg = svg.replace("*{stroke-linejoin", f"#{label} *{{stroke-linejoin", 1)
    svg = svg.replace(_FONT, f"{_FONT}, Verdana, sans-serif")
    described = markup.text("; ".join(lines) or title)
    return svg.replace(
        "<svg ",
        f'<svg id="{label}" role="img" aria-labelledby="{label}-name {label}-text" ',
        1,
    ).replace(
        ">",
        f'>\n<title id="{label}-name">{markup.text(title)}</title>'
        f'<desc id="{label}-text">{described}</desc>',
        1,
    )
