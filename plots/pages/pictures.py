"""The figures: every one of the registry that a result is meant for, as SVG in
the page. A sweep that none of them shows has a chart of its times.

Several pictures share one page, so every id is made the picture's own, and
what matplotlib says about all elements ("*") is said about its own only. The
page has no fonts: where DejaVu Sans is missing Verdana has nearly its widths.
"""

import io
import re
import warnings

from analysis import load, words
from figures import CHARTS, FIGURES, READERS, data_of, fitting, style
from pages import markup, validity

_FONT = "'DejaVu Sans'"
ON_SCREEN = 1.5  # times the size in print
_TAG = re.compile("<[^<>]*>")


def to_html(documents):
    with warnings.catch_warnings():
        # Text stays text, for the fonts of who reads the page.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        parts = [part for document in documents for part in _of_one(document)]
    return "\n".join(parts) or "<p>No figure fits these results.</p>"


def _of_one(document):
    """Draws the figures; one that cannot be drawn gives the reason."""
    if document.kind not in READERS or document.content.get("cells") == []:
        return
    # The page shows what figures say is wrong, so they get the name that it uses.
    data = data_of(document.content, document.name)
    drawn = set()
    for name in [name for name in fitting(data) if name not in CHARTS.values()]:
        entry = FIGURES[name]
        try:
            yield _picture(document, name, data[entry.reads])
            drawn.add(entry.reads)
        except load.DataError as error:
            title = markup.text(f"{document.name}: {name} ({entry.needs})")
            yield f"<p>{title} was not drawn: {markup.text(str(error))}</p>"
    for reads, name in CHARTS.items():
        if reads in data and reads not in drawn and FIGURES[name].has_data(data[reads]):
            yield _picture(document, name, data[reads])


def _picture(document, name, part):
    entry = FIGURES[name]
    figure, lines = entry.draw(part)
    if not document.context["valid"]:
        style.mark_invalid(figure)
    label = f"figure-{document.number}-{name}"
    title = f"{document.name}: {entry.title(part) if entry.title else name}"
    items = "".join(f"<li>{markup.text(line)}</li>" for line in lines)
    return (
        f'<h3 id="{label}-title">{markup.text(title)}</h3>\n{validity.mark(document)}'
        '<figure><div class="scroll" role="region" tabindex="0" '
        f'aria-labelledby="{label}-title">'
        f"{_svg(figure, label, title, lines)}</div>\n"
        f"<figcaption>What it shows, in numbers:<ul>{items}</ul></figcaption>"
        "</figure>"
    )


def _renamed(tag, label):
    tag = re.sub(r'( id=")([^"]*")', rf"\1{label}-\2", tag)
    tag = re.sub(r'(xlink:href="#|url\(#)', rf"\1{label}-", tag)
    return tag.replace(_FONT, f"{_FONT}, Verdana, sans-serif")


def _svg(figure, label, title, lines):
    stream = io.StringIO()
    figure.savefig(
        stream,
        format="svg",
        bbox_inches=style.frame(figure),
    )
    svg = words.clean(stream.getvalue())
    svg = svg[svg.index("<svg") :].rstrip()
    # Letters that are readable in print are too small on a screen.
    svg = re.sub(r'\b(width|height)="([0-9.]+)pt"',
                 lambda size: f'{size[1]}="{ON_SCREEN * float(size[2]):.6g}pt"', svg, 2)
    # The date is left out, so that the same data give the same bytes.
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Only in tags: a name in the text may have the same words.
    svg = _TAG.sub(lambda tag: _renamed(tag[0], label), svg)
    svg = svg.replace("*{stroke-linejoin", f"#{label} *{{stroke-linejoin", 1)
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
