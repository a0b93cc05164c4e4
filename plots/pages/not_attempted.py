"""What of the papers is not attempted, and why: the tables of results on corpora that are
not free, and the figures that are schematics or show models trained on such a corpus.
"""

from dataclasses import dataclass

from pages import markdown, published_markdown

ANCHOR = "not-attempted"


@dataclass(frozen=True)
class Figure:
    """A figure of a paper, by its number. What is not attempted is a schematic, or needs
    a corpus (of results/published/)."""

    shows: str
    corpus: str | None = None
    here: str | None = None  # the picture (figures.FIGURES) that draws it, or stands in


FIGURES = {
    "MAD": {
        1: Figure("a schematic of soft attention"),
        2: Figure("a schematic of the monotonic process"),
        3: Figure("a summary with its alignments", "Gigaword"),
        4: Figure("alignments of two utterances", "Wall Street Journal",
                  "trained_alignments"),
        5: Figure("translations with their alignments", "IWSLT 2015 English-Vietnamese"),
        6: Figure("another summary with its alignments", "Gigaword"),
        7: Figure("a schematic of eq 19"),
        8: Figure("speed-up of hard monotonic attention", here="mad_figure8_builds"),
    },
    "MoChA": {
        1: Figure("schematics of three mechanisms"),
        2: Figure("alignments of an utterance", "Wall Street Journal", "spoken_alignments"),
        3: Figure("speeds of three mechanisms", here="mocha_figure3"),
        4: Figure("a schematic of MAtChA's decoding"),
    },
    "Britz": {
        1: Figure("a schematic of the model"),
        2: Figure("the position encoding", here="britz_figure2"),
        3: Figure("learning curves on the copy task", here="learning_curves_contexts"),
        4: Figure("learning curves on en-fi and en-tr", "WMT'17"),
        5: Figure("learning curves on en-fi, by scoring function", "WMT'17"),
        6: Figure("attention on the copy task", here="context_weights"),
        7: Figure("attention on the copy task, K = 4", here="context_weights"),
        8: Figure("attention of an en-de translation", "WMT'17"),
    },
}


def tables(papers):
    """(paper's key, table) of the tables that need a corpus and have no time that random
    weights give.
    """
    return [
        (paper["paper"]["key"], about)
        for paper in papers
        for about in paper["tables"]
        if about["corpora"] and about["id"] not in published_markdown.MEASURED
    ]


def figures():
    """(paper's key, number, Figure) of those of which the page has nothing as the paper
    shows it.
    """
    return [
        (key, number, figure)
        for key, of_paper in FIGURES.items()
        for number, figure in of_paper.items()
        if figure.corpus or not figure.here
    ]


def numbers(paper):
    """'1, 2 and 7': the figures of a paper that are among them."""
    return _joined([str(number) for key, number, _ in figures() if key == paper])


def sentence(papers):
    """Says what is not attempted, for README."""
    return (
        f"Not attempted: {len(tables(papers))} tables of results on corpora that are not "
        f"free ({_list(tables(papers))}), and {len(figures())} figures, which are schematics or show "
        "models trained on these"
    )


def lines(papers):
    """Lines of the list, with the reason for each and what stands in for it."""
    return [
        f"{sentence(papers)}:",
        "",
        *markdown.table(
            ("what", "it shows", "why not", "here instead"),
            [*map(_table_row, tables(papers)), *map(_figure_row, figures())]),
    ]


def _list(found):
    """'MAD 1 and 2; Britz 2' of (key, table)."""
    by_paper = {}
    for key, about in found:
        by_paper.setdefault(key, []).append(about["where"].split(",")[0].split()[1])
    return "; ".join(f"{key} {_joined(own)}" for key, own in by_paper.items())


def _joined(texts):
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _table_row(found):
    key, about = found
    names = ", ".join(corpus["name"] for corpus in about["corpora"])
    return [markdown.text(text) for text in (
        f"{key} {about['where']}", about["what"], f"needs {names}", about["instead"])]


def _figure_row(found):
    key, number, figure = found
    why = (f"needs a model trained on {figure.corpus}" if figure.corpus
           else "nothing is measured in it")
    return [markdown.text(text) for text in (
        f"{key} figure {number}", figure.shows, why,
        f"{figure.here}, of models trained here" if figure.here else None)]
