"""Guards against a rule of the ledger that no outcome could break: of what the committed
results say, the two sides are swapped, the effect is set to none, or to as much as it could
be, and the verdict on some of these must be another one. Identities are exempt: what
follows from definitions has no other outcome.
"""

import math
import os
import unittest
from dataclasses import replace

from attnbench.analysis import ROOT, published, trained
from attnbench.judge import claims, ledger, quantities, readings, verdicts
from attnbench.judge.readings import Reading, Readings

LEDGER = ledger.read(os.path.join(ROOT, "experiments", "claims.json"))
# Units of ratios, in which 1 is no effect. In the others it is 0.
RATIOS = ("factor", "ratio")


def documents():
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        found = {}
        for name, measurement in LEDGER["measurements"].items():
            path = f"results/claims/{name}.json"
            if measurement["kind"] == "trained":
                path = f"results/training/{measurement['experiment']}.json"
            given = (path, path, None) if os.path.exists(path) else (None, None, "none")
            found[name] = claims.read_document(name, measurement, *given)
        return found
    finally:
        os.chdir(before)


def exactly(part, values):
    """The verdict where the readings are these numbers, without intervals."""
    of_value = [replace(one, value=value, interval=None, joint=None, why="")
                for one, value in values]
    return verdicts.judge_part(part, Readings(of_value)).verdict.kind


def whole_error(part, document):
    """The greatest error, in percent, that a difference of trained models could be: that of
    what it is made of; and an error itself: that of any model of the experiment. None: the
    part is neither.
    """
    quantity, unit = part["quantity"], part["unit"]
    is_error = unit in ("points", "percent") and quantity["kind"] == "trained"
    if not is_error or document.content is None:
        return None
    runs, of = trained.Runs(document.content), quantity["of"]
    names = runs.names if unit == "percent" else (*of["alternatives"], *of.get("less", ()))
    return max(float(runs.values(name, measure).mean())
               for name in names for measure in of["measures"])


def others(unit, value, whole):
    """What a number could have been instead: with its sides swapped, with no effect, and
    with as much as there can be.
    """
    if unit in RATIOS:
        return (1 / value if value else math.inf), 1.0, 0.0, math.inf
    least, greatest = readings.RANGES[unit] if whole is None else (-whole, whole)
    return -value, 0.0, least, greatest


def can_fail(part, found, whole=None):
    """Whether the part fails, or would have another verdict by another outcome."""
    unit = part["unit"]
    known = [one for one in found.list if one.has_number]
    if not known:
        # Before there is a result, a number that the rule allows stands for it.
        low, high = ledger.bounds(part["rule"])
        known = [Reading({}, low if math.isfinite(low) else high)]
    said = exactly(part, [(one, one.value) for one in known])
    if said == verdicts.FAILS:
        return True
    changed = zip(*(others(unit, one.value, whole) for one in known))
    return any(exactly(part, list(zip(known, values))) != said for values in changed)


class EveryRule(unittest.TestCase):
    def test_every_rule_that_is_no_identity_has_an_outcome_that_changes_its_verdict(self):
        read, tables = documents(), readings.published_tables(published.papers())
        count = 0
        for claim in LEDGER["claims"]:
            if claim["kind"] == "identity":
                continue
            for part in claim["parts"]:
                if part["role"] == "beside":
                    continue
                document = read[part["quantity"]["from"]]
                found = quantities.read(part, document, tables)
                with self.subTest(claim=claim["id"], part=part["name"]):
                    self.assertTrue(can_fail(part, found, whole_error(part, document)))
                count += 1
        self.assertGreater(count, 40)

    def test_a_margin_that_is_larger_than_the_whole_error_cannot_fail(self):
        part = {"unit": "points", "role": "claim", "quantity": {},
                "rule": {"kind": "at_most", "bound": 1}}
        for unit in ("points", "percent"):
            for whole, expected in ((0.43, False), (3.0, True)):
                found = Readings([Reading({}, 0.28)])
                self.assertEqual(can_fail({**part, "unit": unit}, found, whole), expected)

    def test_a_rule_that_takes_a_ratio_both_ways_up_can_fail_by_a_side_that_takes_nothing(
            self):
        part = {"unit": "ratio", "role": "claim", "quantity": {},
                "rule": {"kind": "within", "low": 0.8, "high": 1.25}}
        self.assertTrue(can_fail(part, Readings([Reading({}, 1.02)])))
        wide = {**part, "rule": {"kind": "at_least", "bound": 0}}
        self.assertFalse(can_fail(wide, Readings([Reading({}, 1.02)])))


if __name__ == "__main__":
    unittest.main()
