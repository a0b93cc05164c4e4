"""Tells from which length on a mechanism is faster than soft attention: the tables of
crossover_table.py, of results of its experiments.
"""

from attnbench.analysis import crossover, load
from pages import crossover_table, markup


def to_html(documents):
    """A table for each such result; empty without one."""
    return "\n".join(
        _one(document)
        for document in documents
        if document.kind == "sweep"
        and crossover.is_of_its_experiments(document.content)
    )


def _one(document):
    name = markup.text(document.name)
    try:
        cells = crossover.of(document.content, document.path)
        rows = crossover_table.table_rows(cells)
    except load.DataError as error:
        return f"<p>{name}: no lengths: {markup.text(str(error))}</p>"
    return f"<p>{markup.text(crossover_table.head(cells))}</p>\n" + markup.table(
        document.name,
        crossover_table.COLUMNS,
        [
            [("td" if n else "th", markup.text(text)) for n, text in enumerate(row)]
            for row in rows
        ],
    )
