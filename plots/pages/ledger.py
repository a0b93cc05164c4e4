"""The ledger of claims: a row for each claim, its verdict first, its evidence folded."""

from analysis import claims_result
from pages import claim_words, markup, validity

HEAD = ("verdict", "claim", "measured here")
LOOKS = {"holds": "good", "refuted": "bad", "not reproduced here": "bad"}
# A longer reason stands with the evidence, or its column would be most of the table.
MOST_REASON = 80
MOST_PLACES = 24  # of one file


def to_html(documents, tables_of):
    """Gives a table for each result of claims; empty without one."""
    return "\n".join(
        _one(document, tables_of[document.number])
        for document in documents
        if document.kind == "claims"
    )


def _one(document, its_tables):
    claims = document.content["claims"]
    number = next(table.number for table in its_tables if table.records is claims)
    rows = [
        [
            ("td", _verdict(claim)),
            ("th", _claim(claim)),
            ("td", _measured(claim) + _evidence(claim, f"#cell-{number}-{index}")),
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
    kind, reason = _in_two(claim["verdict"])
    shown = reason if len(reason) <= MOST_REASON else ""
    look = LOOKS.get(kind, "")
    why = f"<p>{markup.text(claim['because'])}</p>" if claim["because"] else ""
    return f'<strong class="{look}">{markup.text(kind)}</strong>{markup.text(shown)}{why}'


def _in_two(verdict):
    kind = claims_result.kind(verdict)
    return kind, verdict[len(kind):]


def _claim(claim):
    return (
        f"{markup.text(claim['id'])}<p>{markup.text(claim['claim'])} "
        f"({markup.text(claim['source'])})</p>"
    )


def _measured(claim):
    items = "".join(
        f"<li>{markup.text(claim_words.part_text(part))}: "
        f"<strong>{markup.text(claim_words.figure_text(part))}</strong>, "
        f"must be {markup.text(claim_words.rule_text(part['rule']))}</li>"
        for part in claims_result.own_parts(claim)
    )
    return f"<ul>{items}</ul>"


def _evidence(claim, record):
    """Folds every group of every part, the places that they were read from, and a link to
    the record of the claim.
    """
    name = markup.text(claim["id"])
    _, reason = _in_two(claim["verdict"])
    full = f"<p>{markup.text(claim['verdict'])}</p>" if len(reason) > MOST_REASON else ""
    rows = [
        [("td", markup.text(cell)) for cell in row]
        for part in claim["measured"]
        for row in claim_words.group_rows(part)
    ]
    return (
        f"<details><summary>Evidence for {name}</summary>{full}"
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
