"""Documents that no measurement made, from which a part of a ledger reads a number
that was chosen beforehand.
"""

import math

from made_up import make_cell, make_result, make_trained, make_trained_run

from attnbench.analysis.intervals import student
from attnbench.judge import ledger, readings
from attnbench.judge.readings import Document

TIME = 1000.0
# Rows of a published figure, whose columns are all the same.
FIGURE = [{"memory_length": T, "ratio": T / 4, "soft_s": T / 4, "monotonic_s": T / 4}
          for T in (8, 16, 32, 64)]
FIT_COUNTS = ((10, 0), (20, 4), (40, 2), (50, 16), (70, 8))


def first(wanted):
    return wanted[0] if isinstance(wanted, list) else wanted


def allowed(part):
    """What the rule allows, and what it does not: numbers that every quantity with such
    a rule can be.
    """
    low, high = ledger.bounds(part["rule"])
    if part["rule"]["kind"] == "at_least":
        wanted = 2 * low if low > 0 else low + 1
        return min(wanted, 1) if part["unit"] == "correlation" else wanted
    if part["rule"]["kind"] == "within":
        return (low + high) / 2
    if part["unit"] == "factor":
        return (1 + high) / 2
    if high > 0:
        return high / 2
    return -1 if part["unit"] == "correlation" else 0


def forbidden(part):
    low, high = ledger.bounds(part["rule"])
    if part["rule"]["kind"] != "at_least":
        return high + 1
    return low / 2 if low > 0 else low - 1


class Cells:
    def __init__(self, quantity):
        self.quantity = quantity
        self.made = []

    def add(self, side, point, time_ns, **axes):
        """One that the selector picks, with values for axes that it leaves open."""
        cell = make_cell("soft", 12, 12, samples_ns=[time_ns] * 15, processes=5)
        cell.update(energy="dot", num_contexts=8, chunk_width=4, beam=10, dim=16,
                    point=str(point), eigen="3.2.10", optimization="none")
        cell.update(self.quantity.get("needs", {}))
        cell.update({key: first(wanted) for key, wanted in self.quantity[side].items()
                     if wanted != "greatest"})
        cell.update(axes, prepare_ns=0)
        if self.quantity["kind"] == "whole_over_part":
            cell["decoder"] = {"attention_samples_ns": [TIME] * 15, "reads": None}
        self.made.append(cell)
        return cell

    def add_pair(self, point, ratio, **axes):
        self.add("of", point, TIME * ratio, **axes)
        self.add("to", point, TIME, **axes)


def _count(quantity, value, cells):
    cell = cells.add("of", 12, 1.0)
    over = readings.formula_value(quantity["over"], cell)
    cell["operations"][quantity["field"]] = value * over


def _fit(quantity, value, cells):
    give = quantity["give"]
    for energies, chunk_energies in FIT_COUNTS:
        counts = {"energies": energies, "chunk_energies": chunk_energies}
        time = TIME + sum(
            (value if give == term else 1) * counts[term] for term in quantity["terms"])
        # An outlier, for a residual.
        if give == "residual" and chunk_energies == 16:
            time *= 1 + 2 * value
        cells.add("of", 10, time)["operations"] = counts


def _grown(quantity, value, cells):
    is_growth = quantity["kind"] == "time_growth"
    field = "time" if is_growth else quantity["field"]
    values = quantity["of"].get(quantity["against"][0])
    ends = values[:2] if isinstance(values, list) else (8, 16)
    for x in ends:
        figure = (1 if x == ends[0] else value) if is_growth else float(x) ** value
        cell = cells.add("of", x, TIME * figure if field == "time" else 1.0,
                         **dict.fromkeys(quantity["against"], x))
        if field == "peak_memory_bytes":
            cell[field] = figure
        elif field != "time":
            cell["operations"][field] = figure


def _place(quantity, value, cells):
    cells.add_pair(1, 5, memory_length=8, output_length=8 * value)
    cells.add_pair(2, 2, memory_length=8, output_length=80 * value)


def _trend(quantity, value, cells):
    for step, x in enumerate((8, 16, 32)):
        cells.add_pair(step, float(x) ** value, **dict.fromkeys(quantity["against"], x))


def _break_even(quantity, value, cells):
    for x in (8, 16, 32):
        axes = {quantity["against"][0]: value * 50 * x / 16}
        cells.add_pair(1, 16 / x, memory_length=100, output_length=100, **axes)


def _figure(quantity, value, cells):
    figure = quantity["figure"]
    for row, own in zip(FIGURE, (-1, 1, -1, 1)):
        wanted = row["ratio"] * {"spread": value**own}.get(figure, value)
        if figure == "rank_correlation":
            wanted = row["ratio"] ** (1 if value == 1 else -1)
        if "to" in quantity:
            cells.add_pair(0, wanted, memory_length=row["memory_length"])
        else:
            cells.add("of", 0, wanted * 1e9 / quantity["trials"],
                      memory_length=row["memory_length"])


def _pair(factor):
    return lambda quantity, value, cells: cells.add_pair(10, factor * value)


OF_CELLS = {
    "count": _count, "fit": _fit, "exponent": _grown, "time_growth": _grown,
    "place_of_greatest": _place, "trend": _trend, "rank_correlation": _trend,
    "break_even": _break_even, "time_ratio": _pair(1), "whole_over_part": _pair(1),
    "ratio_to_published": _pair(2), "to_published": _figure,
}


def verify(quantity, value):
    """With so many quantities that fail, or that error."""
    of, counts = quantity["of"], quantity["field"] == "failed"
    failed = int(value) if counts else 0
    one = {"what": first(of.get("what", "attention")), "worst": {"place": "output 1"},
           "tolerance": 1e-12, "largest_error": 0 if counts else value}
    return make_result("verify", cases=[{
        "mechanism": of["mechanism"], "scores": of.get("scores", "uniform"),
        "method": of.get("method", "sampling"), "failure": None,
        "quantities": [{**one, "verdict": "failed" if n < failed else "passed"}
                       for n in range(failed + 1)]}])


def _stability(quantity, value):
    row = {"memory_length": 8, "output_length": 3}
    row.update({key: first(wanted) for key, wanted in quantity["of"].items()})
    over = readings.formula_value(quantity["over"], row) if "over" in quantity else 1
    row[quantity["field"]] = value * over
    return make_result("stability", **{quantity["list"]: [row]})


def _computed(quantity, value):
    row = {"name": quantity["name"], "labels": quantity.get("of", {}), "value": value, "interval": None,
           "inputs": quantity.get("inputs")}
    return make_result("computed", quantities=[row])


BASE = 10.0  # what an alternative gives that another is compared with


def _pick(names, number):
    return names[min(number, len(names) - 1)]


def _numbers(quantity, value):
    """{alternative: {measure: number}}, so that each pair of sides gives `value`."""
    of, to = quantity["of"], quantity.get("to")
    found = {}
    count = max(len(side["alternatives"]) for side in (of, to or of))
    for measure in of["measures"]:
        for number in range(count):
            one = found.setdefault(_pick(of["alternatives"], number), {})
            wanted = value
            if to:
                other = found.setdefault(_pick(to["alternatives"], number), {})
                base = other.setdefault(to.get("measure", measure), BASE)
                if "less" in to:
                    found.setdefault(_pick(to["less"], number), {})[measure] = 0.0
                wanted = value * base
            if "less" in of:
                taken_off = found.setdefault(_pick(of["less"], number), {})
                taken_off[measure] = one.setdefault(measure, BASE) - wanted
            else:
                one[measure] = wanted
    return found


def _trained_run(name, seed, numbers):
    """A run that gives these numbers, by measure."""
    soft = numbers.get("expected", BASE)
    hard = numbers.get("threshold", numbers.get("decoded", soft + numbers.get("lost", 0)))
    run = make_trained_run(name, seed, soft, hard, steps=(100,), more={
        "context_spread": numbers.get("spread", BASE),
        "beam_error": numbers.get("beam", BASE) / 100,
        "speakers": [
            {"speaker": name, "in_training": name == "heard", "soft_error": 0.5,
             "hard_error": numbers.get(name, BASE) / 100} for name in ("heard", "unheard")],
        "discrete_share": 1 - numbers.get("undecided", 0.5)})
    run["curve"][:] = [{**run["curve"][0], "step": numbers.get("steps_at_least", 100)}]
    return run


def trained(quantity, value):
    """Seeds that hardly differ: equal ones would show no spread."""
    if quantity.get("statistic") == "deviation":
        (of,), (to,) = (quantity[side]["alternatives"] for side in ("of", "to"))
        (measure,) = quantity["of"]["measures"]
        runs = [_trained_run(name, seed, {measure: BASE + size * (-1) ** seed})
                for seed in range(1, 31) for name, size in ((of, value), (to, 1))]
    elif quantity.get("statistic") == "t_test":
        runs = _runs_of_t_test(quantity, value)
    else:
        runs = [
            _trained_run(name, seed, {measure: number + 1e-9 * math.sin(seed * (place + 1))
                                      for measure, number in numbers.items()})
            for seed in (1, 2)
            for place, (name, numbers) in enumerate(_numbers(quantity, value).items())]
    return make_trained(quantity["from"].removeprefix("trained_"), runs)


def _runs_of_t_test(quantity, value):
    """Eight seeds 1 above and below their mean: the variance of a mean is 1 / 7."""
    (of,), (to,) = (quantity[side]["alternatives"] for side in ("of", "to"))
    (measure,) = quantity["of"]["measures"]
    apart = student(14, value / 2) * math.sqrt(2 / 7)
    return [_trained_run(name, seed, {measure: BASE + more + (-1) ** seed})
            for seed in range(1, 9) for name, more in ((of, apart), (to, 0))]


def content(quantity, kind_of_document, value):
    """A document of the kind that the part reads, from which it reads `value`."""
    of_rows = {"verify": verify, "stability": _stability, "computed": _computed,
               "trained": trained}
    if quantity["kind"] in of_rows:
        return of_rows[quantity["kind"]](quantity, value)
    cells = Cells(quantity)
    OF_CELLS[quantity["kind"]](quantity, value, cells)
    return make_result(kind_of_document, cells=cells.made)


def document(quantity, kind_of_document, value):
    made = content(quantity, kind_of_document, value)
    return Document(quantity["from"], "doctored.json", made)


def published(claims):
    """Rows of published tables: in one the ratio of Cells' sides is 2."""
    tables = {}
    for claim in claims:
        for part in claim["parts"]:
            quantity = part["quantity"]
            if quantity["kind"] == "ratio_to_published":
                tables.setdefault(quantity["table"], []).extend(
                    {"mechanism": quantity[side]["mechanism"], quantity["column"]: figure}
                    for side, figure in (("of", 2), ("to", 1)))
            elif quantity["kind"] == "to_published":
                tables[quantity["table"]] = FIGURE
    return tables
