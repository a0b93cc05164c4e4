"""The quantities of a ledger: from what a measurement gave to readings.

KINDS has them by name; results/schema/claims_ledger.schema.json says what each is.
Every kind takes (part, document, published) and gives Readings, before `reduce`, which
is the judge's.
"""

from dataclasses import replace

from attnbench.analysis import words
from attnbench.judge import figures, grown, needs, ratios, rows, targets
from attnbench.judge.readings import Readings, within_bounds

KINDS = {**ratios.KINDS, **grown.KINDS, **rows.KINDS, **figures.KINDS, **targets.KINDS}


def read(part, document, published):
    """The Readings of a part. Times of a result that is not valid are read, and are
    nothing to judge by. `published` are readings.published_tables.
    """
    quantity, content = part["quantity"], document.content
    if content is None:
        return Readings([], document.none, document.waits_for)
    lacking = needs.lacking(quantity, document)
    if lacking:
        return Readings([], needs=lacking)
    found = KINDS[quantity["kind"]](part, document, published)
    found = replace(found, list=[within_bounds(part, one) for one in found.list])
    reasons = words.invalid_reasons(content["context"])
    if not reasons or not is_timed(quantity, content):
        return found
    why = f"the times of {document.measurement} are not valid: {reasons[0]}"
    return replace(found, list=[replace(one, why=one.why or why) for one in found.list])


def is_timed(quantity, content):
    """Whether readings are made of times."""
    if content["kind"] not in ("sweep", "authors") or quantity["kind"] in (
            "count", "published"):
        return False
    return quantity["kind"] != "exponent" or quantity["field"] == "time"
