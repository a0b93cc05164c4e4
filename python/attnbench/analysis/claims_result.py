"""Reads a result of `attnbench claims` beside the ledger that it was judged by.

    result = claims_result.read("results/claims.json")

gives {"path", "context", "quick", "claims", "expected", "by_quick"}: every claim of the
ledger, in its order, with what the ledger says of it under `paper` and `note`, and of each
part under `from`, the measurement that it was read from; then the committed verdicts, of the
full and of a quick run. A result that lacks a claim, or that was judged
by other rules than the ledger has now, is a DataError: its verdicts do not count.
"""

import functools
import os

from attnbench.analysis import ROOT, intervals, load
from attnbench.judge import ledger as ledgers, readings, verdicts

LEDGER = os.path.join(ROOT, "experiments", "claims.json")
FULL = os.path.join(ROOT, "results", "claims.json")
QUICK = os.path.join(ROOT, "results", "quick", "claims.json")
PART = ("name", "role", "unit", "rule")
# How many there are of each verdict, and of each kind of claim, is told in these words.
COUNTED = {
    verdicts.HOLDS: "hold{s}",
    verdicts.HOLDS_ONLY_IF: "hold{s} only under a condition",
    verdicts.REFUTED: "refuted",
    verdicts.NOT_REPRODUCED: "not reproduced here",
    verdicts.UNDECIDED: "undecided",
    verdicts.DEPENDS: "depend{s} on how the paper is read",
    verdicts.WAITS: "wait{s} for trained results",
    verdicts.NOT_MEASURABLE: "not measurable here",
}
QUICK_RUN = ("Measured with --quick: smaller grids and fewer rounds. A verdict here is that of "
             "the full run, or undecided.")
KINDS_OF_CLAIMS = {"identity": "identities", "cost": "of cost", "numerics": "of numerics",
                   "learned": "of what is learned"}


def read(path, ledger=LEDGER):
    document = load.read(path, "claims")
    measured = _by_id(document)
    asked = _by_id(ledgers.read(ledger))
    absent = [name for name in asked if name not in measured]
    if absent:
        raise load.DataError(
            path, f"claims missing: {', '.join(absent)}; measure all of them"
        )
    for name in measured:
        if name not in asked:
            raise load.DataError(path, f"claim {name} is not in the ledger")
    return {
        "path": str(path),
        "context": document["context"],
        "quick": document["quick"],
        "claims": [
            _claim(measured[name], claim, f"{path}: {name}")
            for name, claim in asked.items()
        ],
        "expected": verdicts_of(asked.values()),
        "by_quick": verdicts_of(asked.values(), QUICK),
    }


def verdicts_of(claims, path=FULL):
    """The committed verdicts of the full run by their claims, of those of `claims` that
    it judged by the same rules.
    """
    judged = _committed(path)
    return {
        claim["id"]: judged[claim["id"]]["verdict"]
        for claim in claims
        if claim["id"] in judged and _is_same(judged[claim["id"]], claim)
    }


@functools.cache
def _committed(path):
    return _by_id(load.read(path, "claims")) if os.path.exists(path) else {}


def kind(verdict):
    """Gives the one of verdicts.KINDS that it is: the words before its reason."""
    return max((name for name in verdicts.KINDS if verdict.startswith(name)), key=len)


def is_explained(claim):
    return kind(claim["verdict"]) in verdicts.EXPLAINED


def summary(claims):
    """Says how many claims there are of each verdict, in all and by their kind."""
    texts = [f"{len(claims)} claims: {counts(claims)}."]
    for name, words in KINDS_OF_CLAIMS.items():
        of_kind = [claim for claim in claims if claim["kind"] == name]
        if of_kind:
            texts.append(f"{len(of_kind)} {words}: {counts(of_kind)}.")
    return " ".join(texts)


def counts(claims):
    """Says how many there are of each verdict: '2 hold, 1 undecided'."""
    kinds = [kind(claim["verdict"]) for claim in claims]
    return ", ".join(
        f"{kinds.count(name)} {words.format(s='s' if kinds.count(name) == 1 else '')}"
        for name, words in COUNTED.items() if name in kinds
    )


def own_parts(claim):
    """Gives the parts that decide, not those beside them."""
    return [part for part in claim["measured"] if part["role"] == "claim"]


def ends(groups):
    """Gives the least and the greatest reading of all groups; None: there is no number."""
    known = [group for group in groups if group["least"]["value"] is not None]
    if not known:
        return None

    def number(reading):
        return readings.number(reading["value"])

    return (
        min((group["least"] for group in known), key=number),
        max((group["greatest"] for group in known), key=number),
    )


def reading_text(reading, number_text):
    """Writes its value and interval; of few seeds what each of them gave, since an interval
    by Student's t says little of so few.
    """
    value, seeds = number_text(reading["value"]), reading.get("seeds", [])
    if 0 < len(seeds) < intervals.FEWEST_SEEDS:
        given = ", ".join(map(number_text, seeds))
        return f"{value} ({len(seeds)} seed{'s'[len(seeds) == 1:]}: {given})"
    if reading["interval"] is None:
        return value
    text = f"{value} [{', '.join(map(number_text, reading['interval']))}]"
    count = reading["labels"].get("seeds", len(seeds))
    return f"{text} of {count} seeds" if count else text


def _by_id(document):
    return {claim["id"]: claim for claim in document["claims"]}


def _is_same(claim, asked):
    parts = claim["measured"]
    return (
        all(claim[key] == asked[key] for key in ("source", "claim", "kind"))
        and len(parts) == len(asked["parts"])
        and all(
            part[key] == of_ledger.get(key)
            for part, of_ledger in zip(parts, asked["parts"])
            for key in PART
        )
    )


def _claim(claim, asked, where):
    if not _is_same(claim, asked):
        raise load.DataError(
            where, "was judged by another ledger than experiments/claims.json"
        )
    return {
        **claim,
        "paper": asked["paper"],
        "note": asked.get("note"),
        "measured": [
            {**part, "from": of_ledger["quantity"]["from"]}
            for part, of_ledger in zip(claim["measured"], asked["parts"])
        ],
    }
