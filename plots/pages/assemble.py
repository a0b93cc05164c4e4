"""The whole page: its parts in their order, with the style and the script that
lie beside this file. Nothing is fetched: it works from file://, offline.

A page is to be mailed and to open at once, so it has its records only up to a size.
Beyond it they go to files beside the page, each of which page.js reads when its table is
opened.
"""

import base64
import hashlib
import json
import os
import urllib.parse

from attnbench.analysis import claims_result
from pages import advice, crossovers, ledger, markup, peers, pictures, tables, validity

_FOLDER = os.path.dirname(os.path.abspath(__file__))
MOST_BYTES = 1_500_000  # of a page with its records

_HELP = (
    "Words must all be in a row. <code>name=value</code> is exact, "
    "<code>name&lt;number</code> and <code>name&gt;number</code> compare; the "
    "name is a column's, or its end: <code>status=ok</code>, "
    "<code>median_ns&gt;1000</code>. A heading sorts. Every number leads to its "
    "raw record, in which nothing is rounded."
)


def page(documents, title, folder):
    """Gives the page in bytes, and name -> bytes of each file that it needs in `folder`
    beside it. They are the same for the same documents.
    """
    tables_of = tables.of_documents(documents)
    drawn = pictures.of_documents(documents)
    is_quick = any(one.kind == "claims" and one.content["quick"]
                   for one in documents)
    if is_quick:
        title += " (quick run)"
    sections = [
        ("ledger", "Ledger of claims", ledger.to_html(documents, tables_of, drawn)),
        ("advice", "Does another attention pay?", advice.to_html(documents)),
        ("figures", "Figures", pictures.to_html(drawn)),
        ("peers", "Ours against a framework", peers.to_html(documents, tables_of)),
        ("crossover", "From which length on", crossovers.to_html(documents)),
        ("validity", "Validity and context", validity.to_html(documents, tables_of)),
        ("cells", "All records", _all_tables(documents, tables_of)),
    ]
    there = [section for section in sections if section[2]]
    links = "".join(
        f'<li><a href="#{name}">{heading}</a></li>' for name, heading, _ in there
    )
    body = "\n".join(
        f'<section id="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{heading}</h2>\n{inner}\n</section>'
        for name, heading, inner in there
    )
    body = f"""<header>
<h1>{markup.text(title)}</h1>
{f"<p><strong>{markup.text(claims_result.QUICK_RUN)}</strong></p>" if is_quick else ""}
{validity.summary(documents)}
<nav aria-label="Sections"><ul>{links}</ul></nav>
</header>
<main>
<noscript><p>The figures and the tables of records need the script of this page.</p></noscript>
{body}
</main>"""
    return _with_records(body, title, tables_of, folder)


def _with_records(body, title, tables_of, folder):
    packed = [markup.packed(tables.lines(one)) for its in tables_of.values() for one in its]
    inside = "\n".join(
        f'<script type="text/plain" id="packed-{number}">{one}</script>'
        for number, one in enumerate(packed)
    )
    whole = _html(title, f"{body}\n{inside}", "").encode()
    if len(whole) <= MOST_BYTES:
        return whole, {}
    # A name follows from the content: a page never reads the records of another.
    content = [f'document.currentScript.dataset.packed="{one}";\n'.encode() for one in packed]
    names = [f"{hashlib.sha256(one).hexdigest()[:16]}.js" for one in content]
    at = urllib.parse.quote(os.fsencode(folder))
    paths = json.dumps([f"{at}/{name}" for name in names])
    files = f'<script type="application/json" id="files">{paths}</script>'
    # Only what page.js puts into the page may be loaded.
    page_ = _html(title, f"{body}\n{files}", " 'strict-dynamic'").encode()
    return page_, dict(zip(names, content))


def _html(title, body, may_load):
    """Writes the page. Its policy says what it may do: run this script, draw what it holds,
    and no more. If a text of a result became markup after all, it could load nothing, send
    nothing and run nothing.
    """
    script = _read("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (f"default-src 'none'; script-src 'sha256-{digest}'{may_load}; "
              "style-src 'unsafe-inline'; img-src data:")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{markup.text(title)}</title>
<style>
{_read("page.css")}</style>
</head>
<body>
{body}
<script>{script}</script>
</body>
</html>
"""


def _all_tables(documents, tables_of):
    parts = [f'<p id="filter-help">{_HELP}</p>']
    for document in documents:
        its_tables = tables_of[document.number]
        parts += map(tables.to_html, its_tables)
        if not its_tables:
            parts.append(f"<p>{markup.text(document.name)} holds no list of records.</p>")
    return "\n".join(parts)


def _read(name):
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()
