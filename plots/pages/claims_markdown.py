"""The ledger of claims in Markdown: the table of verdicts, and what each was read
from.
"""

import os

from analysis import claims_result
from pages import claim_words, markdown

MOST_PLACES = {False: 3, True: 24}  # of one file, in a cell and in a section
HEAD = ("claim", "the paper", "verdict", "what was measured", "figure", "bound",
        "evidence")


def verdict_table(claims, link):
    """Gives lines of the table: a row for each part that decides, the claim in its
    first.
    """
    rows = []
    for claim in claims:
        first = [
            f"{name_link(claim)}: {markdown.text(claim['claim'])} "
            f"({markdown.text(claim['source'])})",
            markdown.text(claim["paper"]["figure"]),
            verdict_text(claim["verdict"]) + _why(claim),
        ]
        evidence = evidence_text(claim["evidence"], link)
        for part in claims_result.own_parts(claim):
            rows.append([
                *first,
                markdown.text(claim_words.part_text(part)),
                markdown.text(claim_words.figure_text(part)),
                claim_words.rule_text(part["rule"]),
                evidence,
            ])
            first, evidence = ["", "", ""], ""
    return markdown.table(HEAD, rows)


def exceptions(claims):
    """Gives a line for each claim that does not hold as it stands."""
    lines = []
    for claim in claims:
        if not claims_result.is_explained(claim):
            continue
        figures = "; ".join(
            markdown.text(f"{part['name']}: {claim_words.figure_text(part)}")
            for part in claims_result.own_parts(claim)
        )
        lines.append(
            f"- {name_link(claim)} "
            f"{verdict_text(claim['verdict'])}: {markdown.text(claim['claim'])} "
            f"Here: {figures}{_why(claim)}"
        )
    return lines


def details(claim, link):
    """Gives lines of a claim's own section: every group of every part."""
    note = f" {markdown.text(claim['note'])}" if claim["note"] else ""
    lines = [
        f"#### {claim['id']}",
        "",
        f"{markdown.text(claim['source'])}: {markdown.text(claim['claim'])}{note}",
        "",
        f"Verdict: {verdict_text(claim['verdict'])}{_why(claim) or '.'}",
        "",
    ]
    rows = [
        [markdown.text(cell) for cell in row]
        for part in claim["measured"]
        for row in claim_words.group_rows(part)
    ]
    lines += [*markdown.table(claim_words.GROUP_HEAD, rows), ""]
    effects = claim_words.least_effects(claim)
    if effects:
        lines += [markdown.text(effects), ""]
    if claim["evidence"]:
        shown = evidence_text(claim["evidence"], link, in_section=True)
        lines += [f"Evidence: {shown}.", ""]
    return lines


def name_link(claim):
    """Gives its id, which leads to its own section."""
    return f"[{claim['id']}](#{markdown.anchor(claim['id'])})"


def verdict_text(verdict):
    """Makes its kind stand out, and its reason not."""
    kind = claims_result.kind(verdict)
    return f"**{kind}**{markdown.text(verdict[len(kind):])}"


def _why(claim):
    return f". {markdown.text(claim['because'])}" if claim["because"] else ""


def evidence_text(evidence, link, in_section=False):
    """Tells where the deciding readings stand, by file: the first few places, or more, with
    the points that they are of. `link` makes a link of a path.
    """
    by_file = {}
    for entry in evidence:
        places = by_file.setdefault((entry["measurement"], entry["file"]), {})
        if entry["place"] is not None:
            point = f" of `{entry['point']}`" if entry["point"] and in_section else ""
            places[f"`{entry['place']}`{point}"] = None
    texts = []
    for (measurement, path), places in by_file.items():
        name = measurement if path is None else os.path.basename(path)
        shown = list(places)[: MOST_PLACES[in_section]]
        text = f"{link(name, path)} {', '.join(shown)}".rstrip()
        more = len(places) - len(shown)
        texts.append(text + (f" and {more} more" if more else ""))
    return "; ".join(texts) or markdown.NONE
