"""The ledger of claims in Markdown: the table of verdicts, and what each was read
from.
"""

import math
import os

from analysis import claims_result, settings
from analysis.judge import readings
from pages import markdown

MOST_PLACES = {False: 3, True: 24}  # of one file, in a cell and in a section
HEAD = ("claim", "the paper", "verdict", "what was measured", "figure", "bound",
        "evidence")
PART_HEAD = ("what was measured", "of", "least", "greatest", "bound", "verdict")


def summary(claims):
    """Says in one sentence how many there are of each verdict."""
    kinds = [claims_result.kind(claim["verdict"]) for claim in claims]
    words = {
        "holds": "hold",
        "fails": "fail",
        "holds only if": "hold only under a condition",
        "undecided": "undecided",
        "not measurable here": "cannot be measured here",
    }
    counts = ", ".join(
        f"{kinds.count(kind)} {text}" for kind, text in words.items()
    )
    return f"{len(claims)} claims: {counts}."


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
            verdict_text(claim["verdict"]),
        ]
        evidence = evidence_text(claim["evidence"], link)
        for part in claims_result.own_parts(claim):
            rows.append([
                *first,
                f"{markdown.text(part['name'])} ({markdown.text(part['unit'])})",
                figure_text(part),
                rule_text(part["rule"]),
                evidence,
            ])
            first, evidence = ["", "", ""], ""
    return markdown.table(HEAD, rows)


def exceptions(claims):
    """Gives a line for each claim that fails or holds only under a condition."""
    lines = []
    for claim in claims:
        if claims_result.kind(claim["verdict"]) not in ("fails", "holds only if"):
            continue
        figures = "; ".join(
            f"{markdown.text(part['name'])}: {figure_text(part)}"
            for part in claims_result.own_parts(claim)
        )
        lines.append(
            f"- {name_link(claim)} "
            f"{verdict_text(claim['verdict'])}: {markdown.text(claim['claim'])} "
            f"Here: {figures}."
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
        f"Verdict: {verdict_text(claim['verdict'])}.",
        "",
    ]
    rows = [row for part in claim["measured"] for row in _part_rows(part)]
    lines += [*markdown.table(PART_HEAD, rows), ""]
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


def rule_text(rule):
    if rule is None:
        return markdown.NONE
    if rule["kind"] == "within":
        return f"{rule['low']:g} to {rule['high']:g}"
    return f"{rule['kind'].replace('_', ' ')} {rule['bound']:g}"


def figure_text(part):
    """Gives the least and the greatest of all groups, with their intervals."""
    ends = claims_result.ends(part["groups"])
    if ends is None:
        return markdown.NONE
    low, high = map(reading_text, ends)
    return low if low == high else f"{low} to {high}"


def reading_text(reading):
    value = number_text(reading["value"])
    if reading["interval"] is None:
        return value
    low, high = map(number_text, reading["interval"])
    return f"{value} \\[{low}, {high}\\]"


def number_text(value):
    """Writes three digits, or all of a whole number."""
    number = readings.number(value)
    if math.isnan(number):
        return "no number"
    if abs(number) < 1e6 and number.is_integer():
        return str(int(number))
    return f"{number:.3g}"


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


def _part_rows(part):
    name = f"{markdown.text(part['name'])} ({markdown.text(part['unit'])})"
    if part["role"] == "beside":
        name = f"beside: {name}"
    bound = rule_text(part["rule"])
    if not part["groups"]:
        return [[name, markdown.NONE, markdown.NONE, markdown.NONE, bound,
                 markdown.text(part["verdict"])]]
    rows = []
    for group in part["groups"]:
        least, greatest = group["least"], group["greatest"]
        rows.append([
            name,
            labels_text(group["labels"]) or "all",
            _with_place(least, greatest, group),
            _with_place(greatest, least, group),
            bound,
            markdown.text(
                ": ".join(filter(None, (group["verdict"], group["why"])))
            ),
        ])
        name = bound = ""
    return rows


def _with_place(reading, other, group):
    """Gives the reading, and the labels that tell it from the group's other end."""
    apart = {
        name: value
        for name, value in reading["labels"].items()
        if name not in group["labels"] and other["labels"].get(name) != value
    }
    text = reading_text(reading)
    return f"{text} at {labels_text(apart)}" if apart else text


def labels_text(labels):
    """Writes 'T = 128, workload = planted'."""
    return ", ".join(
        f"{markdown.text(settings.LETTERS.get(name, name))} = "
        + ("none" if value is None else markdown.text(value))
        for name, value in labels.items()
    )
