"""The words of a claim's figures, bounds and groups, as plain text: REPRODUCTION.md and
the page of `attnbench report` say the same of a claim.
"""

import math

from attnbench.analysis import claims_result, names, settings
from attnbench.judge import readings

NONE = "–"
GROUP_HEAD = ("what was measured", "of", "least", "greatest", "bound", "verdict")


def part_text(part):
    return f"{part['name']} ({part['unit']})"


def rule_text(rule):
    if rule is None:
        return NONE
    if rule["kind"] == "within":
        return f"{rule['low']:g} to {rule['high']:g}"
    return f"{rule['kind'].replace('_', ' ')} {rule['bound']:g}"


def figure_text(part):
    """Gives the least and the greatest of all groups, with their intervals."""
    ends = claims_result.ends(part["groups"])
    if ends is None:
        return NONE
    low, high = map(reading_text, ends)
    return low if low == high else f"{low} to {high}"


def reading_text(reading):
    return claims_result.reading_text(reading, number_text)


def least_effects(claim):
    """Says how far from their bounds the parts on trained models could be told from them;
    empty for claims without any.
    """
    texts = []
    for part in claim["measured"]:
        effects = [
            readings.number(reading["least_effect"])
            for group in part["groups"]
            for reading in (group["least"], group["greatest"])
            if "least_effect" in reading
        ]
        if part["rule"] is not None and effects:
            texts.append(f"{part_text(part)}: {number_text(max(effects))}")
    if not texts:
        return ""
    return ("The seeds could have shown an effect of at least (half of the widest interval): "
            f"{'; '.join(texts)}.")


def number_text(value):
    """Writes three digits, or all of a whole number."""
    number = readings.number(value)
    if math.isnan(number):
        return "no number"
    if abs(number) < 1e6 and number.is_integer():
        return str(int(number))
    return f"{number:.3g}"


def group_rows(part):
    """Gives a row of GROUP_HEAD for each group of a part, or one that has no figure."""
    name = part_text(part)
    if part["role"] == "beside":
        name = f"beside: {name}"
    bound = rule_text(part["rule"])
    if not part["groups"]:
        return [[name, NONE, NONE, NONE, bound, part["verdict"]]]
    rows = []
    for group in part["groups"]:
        least, greatest = group["least"], group["greatest"]
        rows.append([
            name,
            labels_text(group["labels"]) or "all",
            _with_place(least, greatest, group),
            _with_place(greatest, least, group),
            bound,
            ": ".join(filter(None, (group["verdict"], group["why"]))),
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
        f"{settings.LETTERS.get(name, name)} = "
        + _word(names.FORMS.get(value, value) if name == "preset" else value)
        for name, value in labels.items()
    )


def _word(value):
    if value is None:
        return "none"
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)
