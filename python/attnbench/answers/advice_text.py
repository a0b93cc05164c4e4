"""What `advise` prints of a document, and `show` again: whether it is valid,
the table, what its columns mean, and the verdicts.
"""

import json
import sys

from attnbench.analysis import command, load, pairing, words
from attnbench.analysis.columns import (
    NO_VALUE, aligned, digits, percent_text, ratio_text, span_text, time_text)
from attnbench.analysis.whole_decoders import LEAST_READ, MOST_EMPTY

NOTHING = "none"  # the mechanism of a decoder without attention
# Of a mechanism, in the words of the document.
PAYS, DOES_NOT_PAY = "pays", "does not pay"
CANNOT_BE_TOLD = "cannot be told"
NOTES = (
    "speed-up: soft attention's time over this one's, in the same rounds; "
    "[ ]: 95 % interval",
    "AP, DAL: mean share of the memory read before an output, and entries "
    "behind a decoder that keeps pace; -: all of it is read first",
    "energies: scores of entries, a mean over outputs and hypotheses; soft "
    "scores all T for an output, alignatt those read by then, a scan each entry "
    "once and one more for an output, memory none; outputs of an empty source, "
    "which need none, count",
    "faster from T: attention alone, with U in proportion to T; -: not measured",
    "none: the decoder without attention; no attention can gain more",
)
SPEED_ONLY = ("speed only: weights are random; what each mechanism learns: "
              "docs/trained.md")
COMES = {"frames": "all entries come", "outputs": "all outputs are wanted"}


def main():
    """Prints what `attnbench show` has on standard input: texts, and advice as
    `advise` printed it.
    """
    texts = []
    try:
        for one in json.load(sys.stdin):
            if "advice" in one:
                load.require_kind(one["advice"], one["path"], "advice")
            texts.append(of(one["advice"]) if "advice" in one else one["text"])
    except load.DataError as error:
        return command.fail(error)
    sys.stdout.write(command.printable("".join(texts)))
    return 0


def of(document):
    context = document["context"]
    shape, rows, notes = parts(document)
    lines = [words.validity_text(context)]
    lines += [f"  warning: {warning}" for warning in context["warnings"]]
    return "\n".join([*lines, *shape.splitlines(), *aligned(rows), *notes,
                      *verdicts(document), ""])


def parts(document):
    """Gives what was measured, the rows of the table with its head first, and
    what they mean.
    """
    found = document["mechanisms"]
    rates = document.get("rates") or {}
    rates = {name: rates[f"{name}_per_second"] for name in COMES
             if rates.get(f"{name}_per_second")}
    shape = _shape_line(document["shape"])
    if "model" in document:
        shape = f"{_model_line(document['model'])}\n{shape}"
    rows = [
        ("mechanism", "attention", "speed-up", "whole decoder", "speed-up",
         *(f"RTF by {name}" for name in rates), "AP", "DAL", "energies",
         "faster from T ="), *(_row(one, rates) for one in found)]
    notes = [*NOTES, *_limit_lines(document), *_rates_lines(rates)]
    if any(map(_is_marked, found)):
        read = 100 * LEAST_READ * document["shape"]["memory_read"]
        notes.append(
            f"*: under {read:.0f} % of the memory was read, or over "
            f"{100 * MOST_EMPTY:.0f} % of the outputs had no context: faster "
            "than trained weights would be")
    return shape, rows, [*notes, SPEED_ONLY]


def verdicts(document):
    """A line for each of several mechanisms, and the conclusion."""
    # Older documents have another conclusion of a run that is not valid.
    if not document["context"]["valid"]:
        return [no_verdict(document["context"])]
    judged = [one for one in document["mechanisms"] if one.get("verdict")]
    lines = aligned([(one["mechanism"], _verdict_text(one)) for one in judged])
    return [*lines * (len(judged) > 1), document["conclusion"]]


def _model_line(model):
    line = (
        f"{model['text']}: its decoding by the threshold reads "
        f"{percent_text(model['memory_read'])} of the memory and leaves "
        f"{percent_text(model['zero_contexts'])} of its outputs without a "
        "context")
    latency = model["latency"]
    return line if latency is None else (
        f"{line}; AP {latency['ap']:.2f}, DAL {latency['dal']:.1f} entries")


def _shape_line(shape):
    if "workload" in shape:
        return _captured_line(shape)
    share = shape["memory_read"]
    read = "the whole" if share == 1 else f"{percent_text(share)} of the"
    return (
        f"T = {shape['memory_length']}, U = {shape['output_length']}, "
        f"{sizes(shape)}; one sequence, one thread, random weights whose scans "
        f"read {read} memory")


def _captured_line(shape):
    line = (
        f"{shape['sequences']} sequences of {shape['workload']}, T up to "
        f"{shape['memory_length']} ({shape['entries']} in all), U up to "
        f"{shape['output_length']} ({shape['outputs']}), {sizes(shape)}; one "
        "after another, one thread, random weights; captured energies decide")
    return line if shape["memory_read"] is None else (
        f"{line}: scans read {percent_text(shape['memory_read'])} of the memory "
        f"and leave {percent_text(shape['zero_contexts'])} of the outputs "
        "without a context")


def sizes(shape):
    return (
        f"d = {shape['dim']}, beam {shape['beam']}, {shape['vocabulary']} "
        f"symbols, {shape['layers']} LSTM layers, {shape['energy']} energies, "
        f"encoder {shape['encoder']}")


def _is_marked(one):
    return one["attention"] is not None and not one["is_as_trained"]


def _row(one, rates):
    if one["decoder"] is None:
        return one["mechanism"], command.shortened(one["message"] or NO_VALUE)
    row = [one["mechanism"]]
    for time in one["attention"], one["decoder"]:
        if time is None:
            row += [NO_VALUE] * 2
            continue
        row.append(time_text(time["time_ns"], time["time_interval_ns"]))
        row.append(_ratio(time) + " *" * _is_marked(one))
    row += [_factor_text(one, name) for name in rates]
    latency, energies = one["latency"], one["energies_per_output"]
    return [*row, NO_VALUE if latency is None else f"{latency['ap']:.2f}",
            NO_VALUE if latency is None else digits(latency["dal"]),
            NO_VALUE if energies is None else digits(energies),
            _break_even_text(one["break_even"])]


def _ratio(time):
    return ratio_text(time["speedup"], time["speedup_interval"])


def _factor_text(one, name):
    factors, time = one.get("real_time_factors"), one["decoder"]
    if factors is None:
        return NO_VALUE
    factor = factors[name]
    ends = time["time_interval_ns"]
    return span_text(
        factor, ends and [factor * end / time["time_ns"] for end in ends])


def _break_even_text(found):
    if found is None:
        return NO_VALUE
    if found["above"] is None:
        return f"below {found['below']}"
    if found["below"] is None:
        return f"not up to {found['above']}"
    return NO_VALUE if found["about"] is None else f"about {found['about']:.0f}"


def _rates_lines(rates):
    """Says what the columns are that rates add."""
    of_each = " or ".join(f"{COMES[name]} ({digits(rate)} a second)"
                          for name, rate in rates.items())
    return [f"RTF: real-time factor, the whole decoder's time over that in "
            f"which {of_each}; below 1 it keeps pace"] if rates else []


def _limit_lines(document):
    """Holds the share of the time that attention takes against the largest
    speed-up of all.
    """
    share = document["attention_share"]
    if share is None or share >= 1:
        return []
    limit = 1 / (1 - share)
    line = ("limit: soft's decoder without the time of its attention would be "
            f"{ratio_text(limit, None)} as fast")
    timed = [one for one in document["mechanisms"] if one["decoder"]]
    if not timed:
        return [line]
    best = _best(timed)
    time = best["decoder"]
    if time["speedup"] <= limit:
        return [f"{line}; none here is faster"]
    line += f"; {best['mechanism']}, {_ratio(time)},"
    ends = time["speedup_interval"]
    if ends is None or ends[0] <= limit:
        return [f"{line} may be no faster than that"]
    no_layers = ("no context enters its lowest layer and its output, and "
                 if best["mechanism"] == NOTHING else "")
    return [f"{line} is beyond that: {no_layers}attention alone, of which the "
            "limit is, is timed with warmer caches than it has in a decoder"]


def _verdict_text(one):
    verdict = one["verdict"]
    if one["decoder"] is None:
        return f"{verdict}: it was not timed"
    if _is_marked(one):
        return f"{verdict}: it read too little (*)"
    return f"{verdict}: {_ratio(one['decoder'])}"


# ---- the last line ----------------------------------------------------------


def no_verdict(context):
    return (f"No verdict: the run is {words.validity_text(context)}. Its times mean "
            "nothing.")


def conclusion(context, found, attention_share):
    """Says whether one of the mechanisms pays."""
    if not context["valid"]:
        return no_verdict(context)
    share = (f"Soft attention takes {percent_text(attention_share)} of the "
             "decoder's time.")
    timed = [one for one in found if one["verdict"] and one["is_as_trained"]]
    if not timed:
        return ("Nothing can be said: no other mechanism was timed while it "
                f"read the memory as a trained one does. {share}")
    paying = [one for one in timed if one["verdict"] == PAYS]
    best = _best(paying or timed)
    # A decoder that must not wait for its input can have only these.
    online = [one for one in timed if one["latency"]]
    if online and not best["latency"]:
        other = _best(online)
        share = ("Of those that decode online the best is "
                 f"{other['mechanism']} with {_ratio(other['decoder'])}. "
                 f"{share}")
    ratio = _ratio(best["decoder"])
    if paying:
        return (f"It pays: the whole decoder is {ratio} as fast with "
                f"{best['mechanism']} as with {pairing.BASELINE} attention. "
                f"{share}")
    verdict = (
        "It does not pay: no mechanism makes the whole decoder measurably "
        "faster." if all(one["verdict"] == DOES_NOT_PAY for one in timed)
        else "It cannot be told: one run of one program shows no gain this small, "
        "and more --repetitions help only against noise.")
    return f"{verdict} The best is {best['mechanism']} with {ratio}. {share}"


def _best(found):
    return max(found, key=lambda one: one["decoder"]["speedup"])
