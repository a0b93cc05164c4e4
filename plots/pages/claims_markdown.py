"""The claims of the ledger in Markdown: the table of all verdicts, what a paper says beside
what was measured, and what each verdict was read from.
"""

import os
import re

from attnbench.analysis import claims_result
from pages import claim_words, markdown

MOST_PLACES = 24  # of one file


def verdict_table(claims, expected, page):
    """Gives lines of a table with a row for each claim, which leads to its section of
    `page`; `expected` are verdicts by claims.
    """
    rows = [
        [
            f"{name_link(claim, page)}: {markdown.text(claim['claim'])}",
            markdown.text(claim["source"].partition(" ")[2]),
            _short(claim, expected.get(claim["id"], claim["verdict"])) + _why(claim),
        ]
        for claim in claims
    ]
    return markdown.table(("claim", "where in the paper", "verdict"), rows)


def _short(claim, expected):
    """Gives the verdict without its details, and the expected one if that is another."""
    kind, wanted = claims_result.kind(claim["verdict"]), claims_result.kind(expected)
    short = verdict_text(re.split(r": | \(", claim["verdict"])[0])
    return short if kind == wanted else f"{short} (expected: {wanted})"


def beside_paper(claim, page):
    """Gives lines of a claim's section of its paper's page: a row for each part that
    decides. `page` has the evidence.
    """
    figure = claim["paper"]["figure"]
    rows = [
        [
            markdown.text(claim_words.part_text(part)),
            "" if number else markdown.text(figure if figure != "none" else None),
            markdown.text(claim_words.figure_text(part)),
            claim_words.rule_text(part["rule"]),
        ]
        for number, part in enumerate(claims_result.own_parts(claim))
    ]
    return [
        f"### {claim['id']}",
        "",
        f"{markdown.text(claim['claim'])} ({markdown.text(claim['source'])})",
        "",
        f"Verdict: {verdict_text(claim['verdict'])}{_why(claim)} "
        f"([evidence]({page}#{markdown.anchor(claim['id'])}))",
        "",
        *markdown.table(("measured", "the paper's figure", "our figure", "bound"), rows),
        "",
    ]


def evidence(claim, link):
    """Gives lines of a claim's section of the evidence: every group of every part, and
    where the deciding readings stand. `link` makes a link of a path.
    """
    note = f" {markdown.text(claim['note'])}" if claim["note"] else ""
    rows = [
        [markdown.text(cell) for cell in row]
        for part in claim["measured"]
        for row in claim_words.group_rows(part)
    ]
    effects = claim_words.least_effects(claim)
    files = _files(claim["evidence"], link)
    return [
        f"## {claim['id']}",
        "",
        f"{markdown.text(claim['source'])}: {markdown.text(claim['claim'])}{note}",
        "",
        f"Verdict: {verdict_text(claim['verdict'])}{_why(claim)}",
        "",
        *markdown.table(claim_words.GROUP_HEAD, rows),
        "",
        *([markdown.text(effects), ""] if effects else []),
        *(["Read from:", "", *files, ""] if files else []),
    ]


def name_link(claim, page):
    """Gives its id, which leads to its section of that page."""
    return f"[{claim['id']}]({page}#{markdown.anchor(claim['id'])})"


def verdict_text(verdict):
    """Makes its kind stand out, and its reason not."""
    kind = claims_result.kind(verdict)
    return f"**{kind}**{markdown.text(verdict[len(kind):])}"


def _why(claim):
    return f". {markdown.text(claim['because'])}" if claim["because"] else ""


def _files(entries, link):
    """Gives a line for each file: the first places, with the points that they are of."""
    by_file = {}
    for entry in entries:
        places = by_file.setdefault((entry["measurement"], entry["file"]), {})
        if entry["place"] is not None:
            point = f" of `{entry['point']}`" if entry["point"] else ""
            places[f"`{entry['place']}`{point}"] = None
    lines = []
    for (measurement, path), places in by_file.items():
        name = measurement if path is None else os.path.basename(path)
        more = len(places) - MOST_PLACES
        shown = [*list(places)[:MOST_PLACES], *([f"{more} more"] if more > 0 else [])]
        lines.append(f"- {link(name, path)} {', '.join(shown)}".rstrip())
    return lines
