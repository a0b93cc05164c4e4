"""Quantities of a ledger that stand in rows: of verify, of stability, numbers by their
names that were computed, and those that runs of training give.
"""

import math
from functools import partial

from attnbench.analysis import load
from attnbench.analysis import trained as of_training
from attnbench.analysis.intervals import Estimate
from attnbench.judge import readings
from attnbench.judge.readings import Reading, Readings, of_chance


def verify(part, document, published):
    """Counts how many of the comparisons failed, or finds the largest error.
    A case that could not be computed has compared nothing, and has failed.
    """
    quantity, cases = part["quantity"], document.content["cases"]
    of = quantity["of"]
    what = of.get("what")
    compared = []  # (failed, error, evidence)
    for index in readings.select(cases, {k: v for k, v in of.items() if k != "what"}):
        failure = cases[index]["failure"]
        if failure is not None:
            evidence = document.evidence("cases", index, failure)
            compared.append((True, math.inf, evidence))
            continue
        for one in cases[index]["quantities"]:
            if what is None or one["what"] in what:
                # Errors of what is sampled are no sign: p-values are.
                is_exact = one["tolerance"] is not None
                compared.append((
                    one["verdict"] != "passed",
                    readings.number_or_infinity(one["largest_error"]) if is_exact else 0,
                    document.evidence("cases", index, one["worst"]["place"]),
                ))
    if not compared:
        return Readings([], f"nothing was compared of {load.json_text(of)}")
    failed = [one for one in compared if one[0]]
    worst = failed[0] if failed else max(compared, key=lambda one: one[1])
    value = len(failed) if quantity["field"] == "failed" else max(c[1] for c in compared)
    labels = {"compared": len(compared)}
    return Readings([Reading(labels, float(value), evidence=[worst[2]])])


def stability(part, document, published):
    quantity = part["quantity"]
    rows = document.content[quantity["list"]]
    found = []
    for index in readings.select(rows, quantity["of"]):
        labels = {k: v for k, v in rows[index].items() if not isinstance(v, list)}
        over = 1
        if "over" in quantity:
            over = readings.formula_value(quantity["over"], labels)
        evidence = [document.evidence(quantity["list"], index)]
        value = rows[index][quantity["field"]]
        # A ledger of mass has a number for each output.
        for one in value if isinstance(value, list) else [value]:
            number = readings.number_or_infinity(one) / over
            found.append(Reading(labels, number, evidence=evidence))
    return Readings(found, f"no row is {load.json_text(quantity['of'])}")


def computed(part, document, published):
    """What was computed tells its inputs too."""
    quantity, rows = part["quantity"], document.content["quantities"]
    selector = {key: quantity[key] for key in ("name", "inputs") if key in quantity}
    wanted = quantity.get("of", {})
    found = []
    for index in readings.select(rows, selector):
        row = rows[index]
        if all(row["labels"].get(name) == value for name, value in wanted.items()):
            interval = row.get("interval")
            found.append(Reading(
                row["labels"],
                readings.number(row["value"]),
                interval and tuple(map(readings.number, interval)),
                row.get("why") or "",
                [document.evidence("quantities", index)],
            ))
    return Readings(found, f"it has no quantity {quantity['name']}")


def trained(part, document, published):
    found = of_training.quantities(
        document.content, part["quantity"], part.get("per", []), readings.range_of(part))
    return Readings(
        [of_chance(partial(_trained, document, one), len(found)) for one in found])


def _trained(document, one, miss):
    evidence = [document.evidence("runs", place) for place in one.places]
    if one.of_seeds is None:
        return Reading(one.labels, why=one.why, evidence=evidence)
    span = one.of_seeds.at(miss)
    if isinstance(one.of_seeds, Estimate):
        return Reading(one.labels, span.value, why=one.why, evidence=evidence)
    return Reading(
        one.labels, span.value, (span.low, span.high), one.why, evidence,
        seeds=one.seeds, least_effect=one.of_seeds.half_width(miss))


KINDS = {"verify": verify, "stability": stability, "computed": computed,
         "trained": trained}
