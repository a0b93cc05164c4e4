"""The figures: every one of the registry that a result is meant for, as SVG in
the page. A sweep that none of them shows has a chart of its times. Those of the
papers come first, in the papers' order.

Several pictures share one page, so every id is made the picture's own, and
what matplotlib says about all elements ("*") is said about its own only. The
page has no fonts: where DejaVu Sans is missing Verdana has nearly its widths.
"""

import io
import re
import warnings
from dataclasses import dataclass

from attnbench.analysis import load, words
from figures import CHARTS, FIGURES, READERS, data_of, fitting, style
from pages import documents as documents_, markup, reproduction_figures, validity

_FONT = "'DejaVu Sans'"
ON_SCREEN = 1.5  # times the size in print
_TAG = re.compile("<[^<>]*>")
_OF_PAPERS = {one.figure: one for one in reproduction_figures.PICTURES}
_ORDER = list(dict.fromkeys([*_OF_PAPERS, *FIGURES]))


@dataclass(frozen=True)
class Shown:
    document: documents_.Document
    name: str  # of the figure
    title: str
    html: str  # the figure under its heading, or why it was not drawn
    label: str | None  # the id of its heading; None: it was not drawn


def of_documents(documents):
    """Draws a list of Shown, in the order of the page."""
    with warnings.catch_warnings():
        # Text stays text, for the fonts of who reads the page.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        drawn = [one for document in documents for one in _of_one(document)]
    return sorted(drawn, key=lambda one: _ORDER.index(one.name))


def to_html(drawn):
    links = "".join(f"<li>{link(one)}</li>" for one in drawn if one.label)
    index = f'<ul class="index">{links}</ul>\n' if len(drawn) > 1 else ""
    return index + "\n".join(one.html for one in drawn) or "<p>No figure fits these results.</p>"


def link(one):
    return f'<a href="#{one.label}">{markup.text(one.title)}</a>'


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
            yield _shown(document, name, data[entry.reads])
            drawn.add(entry.reads)
        except load.DataError as error:
            title = markup.text(f"{document.name}: {name} ({entry.needs})")
            why = f"<p>{title} was not drawn: {markup.text(str(error))}</p>"
            yield Shown(document, name, name, why, None)
    for reads, name in CHARTS.items():
        if reads in data and reads not in drawn and FIGURES[name].has_data(data[reads]):
            yield _shown(document, name, data[reads])


def _shown(document, name, part):
    entry, paper = FIGURES[name], _OF_PAPERS.get(name)
    figure, lines = entry.draw(part)
    if not document.context["valid"]:
        style.mark_invalid(figure)
    label = f"figure-{document.number}-{name}"
    if paper:
        title, about = f"{paper.paper}, {paper.where}", f"<p>{markup.text(paper.caption)}</p>\n"
    else:
        title, about = entry.title(part) if entry.title else name.replace("_", " "), ""
    items = "".join(f"<li>{markup.text(line)}</li>" for line in lines)
    title += f" ({document.name})"
    html = (
        f'<h3 id="{label}">{markup.text(title)}</h3>\n'
        f"{validity.mark(document)}{about}"
        f'<figure><div class="scroll" role="region" tabindex="0" aria-labelledby="{label}">'
        f"{markup.in_place(_svg(figure, label))}</div>\n"
        f'<figcaption id="{label}-text">What it shows, in numbers:<ul>{items}</ul>'
        "</figcaption></figure>"
    )
    return Shown(document, name, title, html, label)


def _renamed(tag, label):
    tag = re.sub(r'( id=")([^"]*")', rf"\1{label}-\2", tag)
    tag = re.sub(r'(xlink:href="#|url\(#)', rf"\1{label}-", tag)
    return tag.replace(_FONT, f"{_FONT}, Verdana, sans-serif")


def _svg(figure, label):
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
    svg = svg.replace("*{stroke-linejoin", f"#{label}-svg *{{stroke-linejoin", 1)
    width = re.search(r' width="([0-9.]+)pt"', svg)[1]
    return svg.replace(
        "<svg ",
        f'<svg id="{label}-svg" role="img" aria-labelledby="{label}" '
        f'aria-describedby="{label}-text" style="--printed: {width}pt" ',
        1,
    )
