"""From which length on a mechanism is faster than soft attention: the tables of
plots/crossover.py, of results of its experiments.
"""

import crossover
import load
from webpage import markup


def to_html(documents):
    """A table for each such result; empty without one."""
    return "\n".join(
        _one(document)
        for document in documents
        if document.kind in ("sweep", "decoder")
        and crossover.is_of_its_experiments(document.content)
    )


def _one(document):
    name = markup.text(document.name)
    try:
        cells = crossover.of(document.content, document.path)
        rows = crossover.table_rows(cells)
    except load.DataError as error:
        return f"<p>{name}: no lengths: {markup.text(str(error))}</p>"
    return f"<p>{markup.text(crossover.head(cells))}</p>\n" + markup.table(
        document.name,
        crossover.COLUMNS,
        [
            [("td" if n else "th", markup.text(text)) for n, text in enumerate(row)]
            for row in rows
        ],
    )
