"""Reads from a sweep of whole decoders whether another attention pays for a shape.
It tells what attention alone gains, what the whole decoder gains, how late outputs
come, and at which length each mechanism becomes faster.
"""

import math

from attnbench.analysis import intervals, load, series, settings
from attnbench.analysis.pairing import BASELINE
from attnbench.analysis.whole_decoders import LEAST_READ, MOST_EMPTY, attention
from attnbench.answers import advice_text
from attnbench.answers.advice_text import NOTHING

# A point with one source gives it half of memory_length (SourceLengths), so
# the sweep asks for twice the length.
ASKED_OVER_LENGTH = 2
# Shorter lengths are measured too, for where a mechanism becomes faster.
PARTS = (16, 4, 1)
# A gain that would be worth another attention.
WORTH_IT = 1.05
ALIGNATT = "alignatt"  # a policy of soft attention
SIZES = ("chunk_width", "num_contexts")
AXES = ("dim", "beam", "vocabulary", "layers", "encoder", "energy", *SIZES)


def rounded(number):
    return math.floor(number + 0.5)


def lengths_of(shape):
    return sorted({max(1, shape["memory_length"] // part) for part in PARTS})


def request(shape, mechanisms):
    """Gives the experiment document: a source with T symbols and an empty one,
    at each length, with U in proportion to T; or the captured sequences.
    """
    axes = {"scope": "decoder", **{name: shape[name] for name in AXES}}
    if "workload" in shape:  # the file sets the lengths
        return {"name": "advise",
                "axes": {**axes, "workload": shape["workload"]},
                "alternatives": [_alternative(one, shape["f"])
                                 for one in mechanisms]}
    alternatives = []
    for length in lengths_of(shape):
        outputs = shape["output_length"] * length / shape["memory_length"]
        outputs = max(1, rounded(outputs))
        lengths = {"memory_length": ASKED_OVER_LENGTH * length,
                   "output_length": ASKED_OVER_LENGTH * outputs}
        f = min(shape["f"], length)
        alternatives += [{**_alternative(one, f), **lengths}
                         for one in mechanisms]
    return {
        "name": "advise",
        "axes": {**axes, "batch": 1,
                 "workload": f"copy:{shape['memory_read']:.4g}"},
        "alternatives": alternatives}


def _alternative(name, f):
    if name != ALIGNATT:
        return {"mechanism": name}
    return {"mechanism": BASELINE, "options": {"policy": name, "f": f}}


def of(result, shape, model=None, rates=None):
    """Gives the document. Raises DataError where soft attention has no time."""
    context = result["context"]
    cells = [{**cell, "mechanism": load.mechanism_of(cell)}
             for cell in result["cells"]]
    if "workload" in shape:
        shape = _captured(shape, context, cells)
        by_length = {shape["memory_length"]: cells}
    else:
        by_length = {
            length: [cell for cell in cells
                     if cell["memory_length"] == ASKED_OVER_LENGTH * length]
            for length in lengths_of(shape)}
    soft = {length: _soft(cells) for length, cells in by_length.items()}
    cells = by_length[shape["memory_length"]]
    base = soft[shape["memory_length"]]
    found = [_mechanism(cell, base, shape, rates) for cell in cells]
    for cell, one in zip(cells, found):
        if cell is base:
            own = one["attention"]["time_ns"], one["decoder"]["time_ns"]
        elif one["is_as_trained"] and "workload" not in shape:
            one["break_even"] = _break_even(
                _log_ratios(cell["mechanism"], by_length, soft))
    if context["valid"]:
        _judge(zip(cells, found), base)
    share = own[0] / own[1]
    return {
        "schema_version": load.SCHEMA_VERSION,
        "kind": "advice",
        "context": context,
        "shape": shape,
        **({"model": model} if model else {}),
        **({"rates": rates} if rates else {}),
        "lengths": list(by_length),
        "attention_share": share,
        "mechanisms": found,
        "conclusion": advice_text.conclusion(context, found, share)}


def _captured(shape, context, cells):
    """Puts into the shape what the sweep took from the file, and what scans read
    there: all mechanisms that choose make the same ones.
    """
    (file,), cell = context["workload_files"], cells[0]
    scans = [one["decoder"]["reads"] for one in cells
             if one["status"] == "ok" and one["latency"]
             and one["mechanism"] != ALIGNATT]
    read, empty = (scans[0][name] if scans else None
                   for name in ("memory_read", "zero_contexts"))
    return {
        **shape, "memory_length": cell["memory_length"],
        "output_length": cell["output_length"], "memory_read": read,
        "zero_contexts": empty,
        **{name: file[name] for name in ("sequences", "entries", "outputs")}}


def _soft(cells):
    (cell,) = (one for one in cells if one["mechanism"] == BASELINE)
    if cell["status"] != "ok":
        why = cell["message"] or cell["status"]
        raise load.DataError("advise", f"soft attention has no time: {why}")
    return cell


def _mechanism(cell, soft, shape, rates):
    one = {
        "mechanism": _name(cell), "message": None, "attention": None,
        "decoder": None, "energies_per_output": None, "memory_read": None,
        "zero_contexts": None, "is_as_trained": False, "latency": None,
        "break_even": None, "verdict": None}
    if cell["status"] != "ok":
        return {**one, "message": cell["message"] or cell["status"]}
    one.update(decoder=_time(cell, soft), latency=cell["latency"])
    if rates:
        one["real_time_factors"] = _factors(cell["median_ns"], shape, rates)
    reads = cell["decoder"]["reads"]
    if reads is not None:
        one.update(
            reads, attention=_time(attention(cell), attention(soft)),
            is_as_trained=("workload" in shape
                           or _is_as_trained(reads, shape["memory_read"])))
    return one


def _name(cell):
    """"mocha w=4\""""
    sizes = (f" {settings.LETTERS[axis]}={cell[axis]}"
             for axis in SIZES if cell[axis] is not None)
    f = settings.f_of(cell)
    return (cell["mechanism"] + "".join(sizes)
            + (f" f={f}" if f is not None else ""))


def _time(cell, soft):
    time = {
        "time_ns": cell["median_ns"], "time_interval_ns": cell["interval_ns"],
        "speedup": 1.0, "speedup_interval": None}
    if cell["mechanism"] != BASELINE:
        span = series.ratio(soft, cell).at().exp()
        time["speedup"] = span.value
        if math.isfinite(span.high):
            time["speedup_interval"] = [span.low, span.high]
    return time


def _factors(time_ns, shape, rates):
    """Gives the time over that in which entries come, or outputs are wanted."""
    found = {}
    for name, one, of_all in (("frames", "memory_length", "entries"),
                              ("outputs", "output_length", "outputs")):
        rate = rates[f"{name}_per_second"]
        length = shape.get(of_all, shape[one])
        found[name] = rate and time_ns / 1e9 * rate / length
    return found


def _is_as_trained(reads, share):
    """Whether it read of that share of the memory as much as trained weights
    do, and left no more outputs without a context. What does not choose has no
    such numbers.
    """
    read, empty = reads["memory_read"], reads["zero_contexts"]
    read_enough = read is None or read >= LEAST_READ * share
    return read_enough and (empty or 0) <= MOST_EMPTY


def _log_ratios(mechanism, by_length, soft):
    """Gives (length, ln of soft attention's time over this one's)."""
    return [
        (length, series.ratio(attention(soft[length]), attention(cell)).value)
        for length, cells in by_length.items() for cell in cells
        if cell["mechanism"] == mechanism and cell["status"] == "ok"]


def _break_even(ratios):
    """Gives from which T on attention alone is faster: between two measured
    lengths, about at `about`, linear in ln T and in the logarithm of the ratio;
    None for an end beyond what was measured.
    """
    first = len(ratios)  # from which on it is faster at all lengths
    while first > 0 and ratios[first - 1][1] > 0:
        first -= 1
    above, before = ratios[first - 1] if first > 0 else (None, None)
    below, after = ratios[first] if first < len(ratios) else (None, None)
    about = None
    if None not in (above, below):
        part = -before / (after - before)
        about = above * (below / above) ** part
    return {"above": above, "below": below, "about": about}


def _judge(pairs, soft):
    """Gives each mechanism its verdict."""
    judged = [pair for pair in pairs
              if pair[0]["mechanism"] not in (BASELINE, NOTHING)]
    timed = [pair for pair in judged if pair[1]["is_as_trained"]]
    for _, one in judged:
        one["verdict"] = advice_text.CANNOT_BE_TOLD
    for cell, one in timed:
        # All of several are to be wrong no more often by chance than one.
        miss = intervals.MISS / len(timed)
        span = series.ratio(soft, cell).at(miss).exp()
        if span.low > 1:
            one["verdict"] = advice_text.PAYS
        elif span.high < WORTH_IT:
            one["verdict"] = advice_text.DOES_NOT_PAY
