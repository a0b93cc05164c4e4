"""A ledger: what was claimed or aimed at, which measurement tells of it, and the rule
by which a number agrees (experiments/claims.json, experiments/peers/targets.json).

    ledger = ledger.read(path)   # the document, checked

results/schema/claims_ledger.schema.json is its schema.
"""

import math
import re

from attnbench.analysis import command, load, schema
from attnbench.judge import readings

# Kinds of quantities that are read from a measurement of the same kind.
OWN = ("verify", "stability", "computed", "trained")
# A comparison of two programs gives these.
OF_PROGRAMS = ("program_speed_over", "slowest_program_over")


def read(path):
    document = load.read_json(path)
    error = schema.first_error(document, "claims_ledger")
    if error is not None:
        place, what = error
        raise load.DataError(f"{path}: {_with_id(place, document)}" if place else path, what)
    require_ids_once(document, path)
    for name, measurement in document["measurements"].items():
        _check_measurement(measurement, f"{path}: measurements.{name}")
    for claim in document["claims"]:
        for part in claim["parts"]:
            where = f"{path}: {claim['id']}, '{part['name']}'"
            _check_part(part, document["measurements"], where)
            if "rule" in part:
                _check_rule(part, where)
    return document


def _with_id(place, document):
    """'claims[0] (mad-linear).kind'"""
    found = re.match(r"claims\[(\d+)\]", place)
    claim = document["claims"][int(found[1])] if found else None
    if not isinstance(claim, dict) or "id" not in claim:
        return place
    return f"{found[0]} ({command.shortened(str(claim['id']))}){place[found.end():]}"


def _check_measurement(measurement, where):
    """Refuses now what the program would refuse after hours: what a sweep has in place of
    a profile must be as in an experiment, and verify's mechanisms must be known.
    """
    for name in ("full", "quick") if measurement["kind"] == "sweep" else ():
        _check_in_experiment(
            {"profiles": {"quick": measurement.get(name, {})}}, f"{where}.{name}",
            "profiles.quick")
    if measurement["kind"] == "verify":
        _check_in_experiment(
            {"alternatives": [{"mechanism": name} for name in measurement["mechanisms"]]},
            f"{where}.mechanisms", "alternatives")


def _check_in_experiment(content, where, place):
    error = schema.first_error({"name": "x", **content}, "experiment")
    if error is not None:
        raise load.DataError(where + error[0].removeprefix(place), error[1])


def require_ids_once(document, path):
    ids = [claim["id"] for claim in document["claims"]]
    for name in ids:
        if ids.count(name) > 1:
            raise load.DataError(path, f"claim {name} is there twice")


def _check_part(part, measurements, where):
    quantity = part["quantity"]
    name = quantity["from"]
    if name not in measurements:
        raise load.DataError(where, command.unknown("measurement", name, measurements))
    kind, made = quantity["kind"], measurements[name]["kind"]
    wanted = kind if kind in OWN else "compare" if kind in OF_PROGRAMS else "sweep"
    # The cells of the authors' program are like those of a sweep.
    if wanted != made and (wanted, made) != ("sweep", "authors"):
        raise load.DataError(
            where,
            f"a quantity {kind} is not read from {name}, a measurement of kind {made}",
        )
    if kind == "trained":
        _check_sides(quantity, where)


def _check_sides(quantity, where):
    """Of a quantity of trained models: how its sides go together."""
    of, to = quantity["of"], quantity.get("to", {})
    lists = [names for side in (of, to) for names in
             (side.get("alternatives"), side.get("less")) if names]
    lengths = {len(names) for names in lists} - {1}
    if len(lengths) > 1:
        raise load.DataError(
            where, "lists of alternatives that go together have "
            f"{' and '.join(map(str, sorted(lengths)))} names; they must have as many, "
            "or one")
    if quantity.get("statistic") and not to:
        raise load.DataError(where, "a statistic compares two alternatives: `to` is missing")


def _check_rule(part, where):
    """Refuses a rule that no number of its unit can fail, or that all fail."""
    unit = part["unit"]
    if unit not in readings.RANGES:
        raise load.DataError(
            where, f"unit is '{unit}', it must be one of {', '.join(sorted(readings.RANGES))}"
        )
    (low, high), (least, greatest) = bounds(part["rule"]), readings.RANGES[unit]
    numbers = f"numbers of unit {unit} are from {number_text(least)} to {number_text(greatest)}"
    if low <= least and greatest <= high:
        raise load.DataError(where, f"rule cannot fail: {numbers}")
    if low > high or low > greatest or high < least:
        raise load.DataError(where, f"rule cannot hold: {numbers}")


def bounds(rule):
    """(low, high): the numbers that agree."""
    if rule["kind"] == "within":
        return rule["low"], rule["high"]
    if rule["kind"] == "at_most":
        return -math.inf, rule["bound"]
    return rule["bound"], math.inf


def rule_text(rule):
    """'at most 1', 'from 3.5 to 45'."""
    if rule["kind"] != "within":
        return f"{rule['kind'].replace('_', ' ')} {number_text(rule['bound'])}"
    low, high = number_text(rule["low"]), number_text(rule["high"])
    return f"exactly {low}" if low == high else f"from {low} to {high}"


def number_text(number):
    """1 and not 1.0, with all digits."""
    return repr(float(number)).removesuffix(".0")
