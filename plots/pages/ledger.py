"""The ledger of claims: a row for each claim, its verdict first, its evidence folded."""

import os

from attnbench.analysis import claims_result
from pages import claim_words, markup, pictures, validity

HEAD = ("verdict", "claim", "measured here")
LOOKS = {"holds": "good", "refuted": "bad", "not reproduced here": "bad"}
MOST_PLACES = 24  # of one file


def to_html(documents, tables_of, drawn):
    """Gives a choice of verdicts, and a table for each result of claims; empty without one.
    `drawn` are the figures of the page (pictures.Shown).
    """
    found = [document for document in documents if document.kind == "claims"]
    parts = [
        # Two results may have the same claim, and an id stands once.
        _one(document, tables_of[document.number], drawn, f"-{number}" if number else "")
        for number, document in enumerate(found)
    ]
    return "\n".join([_choice(found), *parts]) if found else ""


def _choice(documents):
    kinds = [claims_result.kind(claim["verdict"])
             for document in documents for claim in document.content["claims"]]
    choices = "".join(
        f'<label><input type="radio" name="verdict" value="{kind}" autocomplete="off"> '
        f"{kind} ({kinds.count(kind)})</label>"
        for kind in claims_result.COUNTED if kind in kinds
    )
    return (
        '<fieldset class="tools verdicts" hidden><legend>Show claims whose verdict is</legend>'
        '<label><input type="radio" name="verdict" value="" autocomplete="off" checked> '
        f"any ({len(kinds)})</label>{choices}</fieldset>"
    )


def _one(document, its_tables, drawn, end):
    claims = document.content["claims"]
    number = next(table.number for table in its_tables if table.records is claims)
    rows = [
        [
            ("td", _verdict(claim)),
            ("th", _claim(claim, f"claim-{claim['id']}{end}")),
            ("td", _measured(claim) + _figures(claim, drawn)
             + _evidence(claim, f"#cell-{number}-{index}")),
        ]
        for index, claim in enumerate(claims)
    ]
    return (
        f"<h3>{markup.text(document.name)}</h3>\n"
        + validity.mark(document)
        + f"<p>{markup.text(claims_result.summary(claims))}</p>\n"
        + markup.table(f"{document.name}: claims", HEAD, rows, "ledger")
    )


def _verdict(claim):
    kind = claims_result.kind(claim["verdict"])
    return f'<strong class="{LOOKS.get(kind, "")}">{markup.text(kind)}</strong>'


def _claim(claim, label):
    verdict = claim["verdict"]
    reason = "" if verdict == claims_result.kind(verdict) else f"{verdict}."
    why = " ".join(filter(None, (reason, claim["because"])))
    return (
        f'<a id="{label}" href="#{label}">{markup.text(claim["id"])}</a>'
        f"<p>{markup.text(claim['claim'])} ({markup.text(claim['source'])})</p>"
        + (f'<p class="why">{markup.text(why)}</p>' if why else "")
    )


def _measured(claim):
    items = "".join(
        f"<li>{markup.text(claim_words.part_text(part))}: "
        f"<strong>{markup.text(claim_words.figure_text(part))}</strong>, "
        f"must be {markup.text(claim_words.rule_text(part['rule']))}</li>"
        for part in claims_result.own_parts(claim)
    )
    return f"<ul>{items}</ul>"


def _figures(claim, drawn):
    """Gives links to the figures of the files that the claim was read from."""
    files = {os.path.basename(entry["file"]) for entry in claim["evidence"] if entry["file"]}
    links = [pictures.link(one) for one in drawn
             if one.label and os.path.basename(one.document.path) in files]
    return f"<p>Figures: {'; '.join(links)}</p>" if links else ""


def _evidence(claim, record):
    """Folds every group of every part, the places that they were read from, and a link to
    the record of the claim.
    """
    name = markup.text(claim["id"])
    rows = [
        [("td", markup.text(cell)) for cell in row]
        for part in claim["measured"]
        for row in claim_words.group_rows(part)
    ]
    return (
        f"<details><summary>Evidence for {name}</summary>"
        + markup.table(f"Evidence for {claim['id']}", claim_words.GROUP_HEAD, rows)
        + f"<p>{markup.text(claim_words.least_effects(claim))} "
        f"{_places(claim['evidence'])}"
        f'<a href="{record}">Raw record of {name}</a></p></details>'
    )


def _places(evidence):
    by_file = {}
    for entry in evidence:
        places = by_file.setdefault(entry["file"] or entry["measurement"], {})
        if entry["place"] is not None:
            places[entry["place"]] = None
    texts = []
    for file, places in by_file.items():
        shown = list(places)[:MOST_PLACES]
        more = len(places) - len(shown)
        text = f"{file} {', '.join(shown)}".rstrip()
        texts.append(text + (f" and {more} more" if more else ""))
    return f"Read from {markup.text('; '.join(texts))}. " if texts else ""
