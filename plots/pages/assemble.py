"""The whole page: its parts in their order, with the style and the script that
lie beside this file. Nothing is fetched: it works from file://, offline.
"""

import base64
import hashlib
import os

from analysis import claims_result
from pages import crossovers, ledger, markup, peers, pictures, tables, validity

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _policy(script):
    """Says what the page may do: run this script, draw what it holds, and no more.

    If a text of a result became markup after all, it could load nothing, send nothing
    and run nothing.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; "
        "style-src 'unsafe-inline'; img-src data:"
    )


_HELP = (
    "Words must all be in a row. <code>name=value</code> is exact, "
    "<code>name&lt;number</code> and <code>name&gt;number</code> compare; the "
    "name is a column's, or its end: <code>status=ok</code>, "
    "<code>median_ns&gt;1000</code>. A heading sorts. Every number leads to its "
    "raw record, in which nothing is rounded."
)


def page(documents, title):
    """Gives the HTML of the page, the same for the same files."""
    tables_of = tables.of_documents(documents)
    is_quick = any(one.kind == "claims" and one.content["quick"]
                   for one in documents)
    if is_quick:
        title += " (quick run)"
    sections = [
        ("ledger", "Ledger of claims", ledger.to_html(documents, tables_of)),
        ("figures", "Figures", pictures.to_html(documents)),
        ("peers", "Ours against a framework", peers.to_html(documents, tables_of)),
        ("crossover", "From which length on", crossovers.to_html(documents)),
        ("validity", "Validity and context", validity.to_html(documents, tables_of)),
        ("cells", "All records", _all_tables(documents, tables_of)),
    ]
    script = _read("page.js")
    there = [section for section in sections if section[2]]
    links = "".join(
        f'<li><a href="#{name}">{heading}</a></li>' for name, heading, _ in there
    )
    body = "\n".join(
        f'<section id="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{heading}</h2>\n{inner}\n</section>'
        for name, heading, inner in there
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{markup.text(title)}</title>
<style>
{_read("page.css")}</style>
</head>
<body>
<header>
<h1>{markup.text(title)}</h1>
{f"<p><strong>{markup.text(claims_result.QUICK_RUN)}</strong></p>" if is_quick else ""}
{validity.summary(documents)}
<nav aria-label="Sections"><ul>{links}</ul></nav>
</header>
<main>
{body}
</main>
<script>{script}</script>
</body>
</html>
"""


def _all_tables(documents, tables_of):
    parts = [
        "<noscript><p>The tables below are filled by a script of this page.</p>"
        f'</noscript>\n<p id="filter-help">{_HELP}</p>'
    ]
    for document in documents:
        parts.append(f"<h3>{markup.text(document.name)}</h3>")
        its_tables = tables_of[document.number]
        parts += map(tables.to_html, its_tables)
        if not its_tables:
            parts.append("<p>It holds no list of records.</p>")
    return "\n".join(parts)


def _read(name):
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()
