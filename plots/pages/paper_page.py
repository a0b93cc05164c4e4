"""The page of a paper: its claims, figures, tables and numbers beside ours, in the paper's
order.
"""

import os
import re

from attnbench.analysis import claims_result, load, words
from figures import figure8_builds
from pages import (
    claims_markdown,
    markdown,
    not_attempted,
    published_markdown,
    reproduction_figures,
)

# What the ledger places by a figure or an equation alone.
SECTIONS = {"figure 3a": "4.1", "figure 3b": "4.1", "eqs 17-19": "2.4"}
FIGURE_8 = "mad_figure8_builds"


def lines(paper, run, links, evidence, top):
    """Gives the page's lines; `evidence` and `top` are the pages with the evidence for its
    claims and with all verdicts.
    """
    about, key = paper["paper"], paper["paper"]["key"]
    sections = {}
    for where, made in _parts(paper, run, links, evidence):
        sections.setdefault(place(where), []).extend(made)
    return [
        f"# {key}, beside ours",
        "",
        f"{markdown.text(about['authors'])}. [{markdown.text(about['title'])}]"
        f"(https://arxiv.org/abs/{about['arxiv']}). {markdown.text(about['venue'])}; "
        f"{markdown.text(about['version'])}.",
        "",
        "`plots/reproduction.py` writes this page; do not edit it. The page follows the paper's "
        f"order, and has our measurements beside the paper's. [All verdicts]({top}#claims) are on one "
        f"page, and [the evidence]({evidence}) behind those of this paper is on another. "
        f"Figures {not_attempted.numbers(key)} are [not attempted]({top}#"
        f"{not_attempted.ANCHOR}) as the paper has them.",
        *[line for (_, heading), made in sorted(sections.items())
          for line in ("", f"## {heading}", "", *made[:-1])],
    ]


def place(where):
    """Gives a key that sorts by the paper's order, and the heading, of the first section or
    appendix that is named.
    """
    if where.startswith("abstract"):
        return (), "Abstract"
    found = re.search(r"(?:^|section |appendix )((?:\d+|[A-Z])(?:\.\d+)*)(?:,|$)",
                      SECTIONS.get(where, where))
    is_appendix = found[1][0].isalpha()
    heading = f"{'Appendix' if is_appendix else 'Section'} {found[1]}"
    return (is_appendix, *found[1].split(".")), heading


def _parts(paper, run, links, evidence):
    """Gives (where in the paper, lines) of all that the page has."""
    key = paper["paper"]["key"]
    for claim in run.claims_of(key):
        yield (claim["source"].partition(" ")[2],
               claims_markdown.beside_paper(claim, evidence))
    for picture in reproduction_figures.PICTURES:
        if picture.paper == key:
            yield picture.where, [_heading(picture.where), "",
                                  *_picture(picture, run, links)]
    for table in paper["tables"]:
        ours = (figure8_builds.beside_published(run.figures[FIGURE_8].data)
                if table["id"] == figure8_builds.TABLE and FIGURE_8 in run.figures else {})
        where = table["where"].replace("figure", "numbers of figure")
        yield table["where"], [_heading(where), "",
                               *published_markdown.table(table, run.decoders, ours)]
    verdicts = {
        claim["id"]: f"{claims_markdown.name_link(claim, '')} "
                     f"{claims_result.kind(claim['verdict'])}"
        for claim in run.claims
    }
    numbers = {}
    for statement in paper["statements"]:
        numbers.setdefault(place(statement["where"]), []).append(statement)
    for said in numbers.values():
        yield said[0]["where"], [_heading("numbers in the text"), "",
                                 *published_markdown.statements(said, verdicts), ""]


def _heading(where):
    return f"### {where[0].upper()}{where[1:].split(',')[0]}"


def _picture(picture, run, links):
    title = picture.where[0].upper() + picture.where[1:]
    if picture.figure not in run.figures:
        return [f"{title}: not measured in this run.", ""]
    drawn = run.figures[picture.figure]
    image = os.path.join(run.figures_folder, f"{picture.figure}.png")
    if not os.path.exists(image):
        raise load.DataError(
            image,
            f"is not there; plots/draw.py --figure {picture.figure} "
            f"{' '.join(drawn.paths)} -o {run.figures_folder} draws it",
        )
    files = ", ".join(links.file(os.path.basename(path), path) for path in drawn.paths)
    runs = " ".join(dict.fromkeys(map(words.run_text, drawn.contexts)))
    return [
        f"![{title}]({links.to(image)})",
        "",
        f"{title}. {picture.caption} From {files}"
        + (f": {markdown.text(runs)}" if runs else "."),
        "",
        *[f"- {markdown.text(line)}" for line in drawn.lines],
        *([""] if drawn.lines else []),
    ]
