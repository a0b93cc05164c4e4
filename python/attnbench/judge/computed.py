"""Exact quantities of claims that need none of the program's code; the others are those of
harness/claims/computed.h. Each has the name and the inputs that the ledger gives it.

parameter_share         percent that layers add to those of a model, whose layers depend on
                        how the paper is read
cumprod_gradient_wrong  gradients of a cumulative product that are not the given ones, by
                        dividing the product by each factor and by products of the others
cumprod_gradient_of_framework  the same of PyTorch, where it is installed
matcha_bytes_exponent   with which power of T or U the bytes grow that PyTorch keeps for the
                        gradient of MAtChA's expectation
"""

import importlib.util
import json
import math
import os
import subprocess
import sys

import numpy

from attnbench.analysis import ROOT, command, load, schema

ANSWER_LIMIT_S = 60

_NUMBER, _NAME = {"type": "number"}, {"type": "string", "minLength": 1}
_WHOLE = {"type": "integer", "minimum": 1}


def _list(items, least=0):
    return {"type": "array", "items": items, "minItems": least}


def _object(**members):
    return {"type": "object", "properties": members, "required": list(members),
            "additionalProperties": False}


_LAYERS = _list({"type": "object"})  # _check_layers looks at them
_CASES = _list(_object(x=_list(_NUMBER), gradient=_list(_NUMBER)))
# What a layer has beside `inputs` and `units`; `height` and `width` are of its kernel,
# `states` the size of what an energy compares with its inputs.
_OF_LAYER = {"convolution": ("height", "width"), "convolution_lstm": ("width",), "lstm": (),
             "dense": (), "embedding": (), "energy": ("states",)}


# ---- parameters -------------------------------------------------------------


def _parameter_share(inputs):
    added = _parameters(inputs["added"])
    for reading in inputs["readings"]:
        model = _parameters(inputs["model"]) + _parameters(reading["layers"])
        yield {"reading": reading["reading"], "added": added, "model": model}, \
            100 * added / model


def _parameters(layers):
    return float(sum(map(_of_layer, layers)))


def _of_layer(layer):
    kind, inputs, units = layer["layer"], layer["inputs"], layer["units"]
    # Each unit has a scale and an offset.
    normalized = 2 * units * layer.get("normalized", False)
    if kind == "convolution":
        return layer["height"] * layer["width"] * inputs * units + units + normalized
    if kind == "convolution_lstm":  # the kernel runs along one axis
        return 4 * units * layer["width"] * (inputs + units) + 4 * units
    if kind == "lstm":
        return 4 * units * (inputs + units + 1)
    if kind == "dense":
        return inputs * units + units + normalized
    if kind == "embedding":
        return inputs * units
    # These are W, V, b, v, g, r of MAD eq 16.
    return units * (inputs + layer["states"]) + 2 * units + 2


def _check_layers(inputs, where):
    lists = {"added": inputs["added"], "model": inputs["model"], **{
        f"readings[{place}].layers": reading["layers"]
        for place, reading in enumerate(inputs["readings"])}}
    for name, layers in lists.items():
        for place, layer in enumerate(layers):
            at = f"{where}.{name}[{place}]"
            kind = load.get(layer, "layer", str, at)
            if kind not in _OF_LAYER:
                raise load.DataError(at, command.unknown("layer", kind, _OF_LAYER))
            wanted = ("inputs", "units", *_OF_LAYER[kind])
            for key in wanted:
                load.get(layer, key, (int, float), at)
            for key in layer.keys() - {*wanted, "layer", "normalized"}:
                raise load.DataError(at, command.unknown("key", key, wanted))


# ---- cumulative products ----------------------------------------------------


def _by_division(x):
    """As TensorFlow makes the gradient of the sum of all out(i) = prod over n <= i of x(n):
    element k is the sum of all products from k on, over x(k).
    """
    with numpy.errstate(divide="ignore", invalid="ignore"):
        return numpy.cumsum(numpy.cumprod(x)[::-1])[::-1] / x


def _by_product_of_others(x):
    ones = [numpy.where(numpy.arange(len(x)) == k, 1, x) for k in range(len(x))]
    return numpy.array([numpy.cumprod(one)[k:].sum() for k, one in enumerate(ones)])


ALGORITHMS = {"division": _by_division, "product_of_others": _by_product_of_others}


def _wrong(found, right):
    """Inputs and gradients are small whole numbers, which have no rounding."""
    return float((len(found) != len(right)) + sum(a != b for a, b in zip(found, right)))


def _cumprod_gradient_wrong(inputs):
    for name in inputs["algorithms"]:
        yield {"algorithm": name}, sum(
            _wrong(ALGORITHMS[name](numpy.array(case["x"], dtype=float)), case["gradient"])
            for case in inputs["cases"])


def _cumprod_gradient_of_framework(inputs):
    answer = _ask("cumprod.py", inputs["cases"])
    return [({"framework": answer["framework"]}, sum(
        _wrong(found, case["gradient"])
        for found, case in zip(answer["gradients"], inputs["cases"], strict=True)))]


# ---- what a gradient keeps --------------------------------------------------


def _matcha_bytes_exponent(inputs):
    answer = _ask("matcha_bytes.py", {
        name: inputs[name] for name in ("memory_length", "output_length")})
    slope, _ = numpy.polyfit(
        numpy.log(inputs[inputs["against"]]), numpy.log(answer["bytes"]), 1)
    return [({"framework": answer["framework"]}, float(slope))]


def _check_lengths(inputs, where):
    for name in ("memory_length", "output_length"):
        if (name == inputs["against"]) != (len(inputs[name]) > 1):
            raise load.DataError(
                f"{where}.{name}", f"has {command.counted(len(inputs[name]), 'length')}; only "
                f"{inputs['against']} has several")


# ---- frameworks -------------------------------------------------------------


class _NoAnswer(Exception):
    pass


def _ask(script, question):
    """The answer of a script of experiments/peers to a line."""
    python = sys.executable
    if "ATTNBENCH_PYTHON" not in os.environ and importlib.util.find_spec("torch") is None:
        python = "/usr/bin/python3"  # of an environment without PyTorch
    words = [python, os.path.join(ROOT, "experiments", "peers", script)]
    try:
        done = subprocess.run(words, input=json.dumps(question) + "\n", text=True, check=True,
                              capture_output=True, timeout=ANSWER_LIMIT_S)
        return json.loads(done.stdout)
    except subprocess.CalledProcessError as error:
        last = error.stderr.strip().rpartition("\n")[2]
        raise _NoAnswer(f"no answer of the framework: {command.printable(last)}") from error
    except subprocess.TimeoutExpired as error:
        raise _NoAnswer(
            f"no answer of the framework within {ANSWER_LIMIT_S} s") from error
    except (OSError, ValueError) as error:
        raise _NoAnswer(f"no answer of the framework: {error}") from error


# ---- by name ----------------------------------------------------------------

# Name -> (what computes (labels, number) of it, schema of its inputs, further check).
QUANTITIES = {
    "parameter_share": (
        _parameter_share,
        _object(added=_LAYERS, model=_LAYERS,
                readings=_list(_object(reading=_NAME, layers=_LAYERS), 1)),
        _check_layers),
    "cumprod_gradient_wrong": (
        _cumprod_gradient_wrong,
        _object(cases=_CASES, algorithms=_list({"enum": list(ALGORITHMS)})), None),
    "cumprod_gradient_of_framework": (
        _cumprod_gradient_of_framework, _object(cases=_CASES), None),
    "matcha_bytes_exponent": (
        _matcha_bytes_exponent,
        _object(against={"enum": ["memory_length", "output_length"]},
                memory_length=_list(_WHOLE, 1), output_length=_list(_WHOLE, 1)),
        _check_lengths),
}


def check(name, inputs, where):
    """Raises DataError for inputs that one of QUANTITIES does not take."""
    _, wanted, further = QUANTITIES[name]
    where = f"{where}: {name}"
    error = schema.error_of(inputs, wanted)
    if error is not None:
        place, what = error
        raise load.DataError(f"{where}.{place}" if place else where, what)
    if further is not None:
        further(inputs, where)


def rows(name, inputs):
    """The quantity's rows in a result of kind "computed"."""
    compute = QUANTITIES[name][0]
    try:
        found = [(labels, value, None) for labels, value in compute(inputs)]
    except _NoAnswer as error:
        found = [({}, math.nan, str(error))]
    return [{
        "name": name, "inputs": inputs, "labels": labels,
        "value": None if math.isnan(value) else value, "interval": None,
        "why": why or ("not a number" if math.isnan(value) else None),
    } for labels, value, why in found]
