"""The parameters of a model: their shapes, and their elements before training."""

import math
from typing import NamedTuple

import numpy

from attnbench.train import philox


class Spec(NamedTuple):
    """A parameter, whose elements before training are uniform with this variance around
    this value.
    """

    shape: tuple  # (): a single number
    variance: float = 0
    value: float = 0


def parameter_specs(settings):
    """The parameters of a model by the names that checkpoints have, in their order:

        source_embedding [V, n], target_embedding [V, e]
        forward, backward, decoder   .W [4 H, n + H] and .b [4 H] of an LSTM
        attention, chunk             .W [n, d], .V [n, d], .b [n], .v [n], .g of an energy
                                     (MAD eq 16), n energy_units; eq 15 has no .g
        attention.r                  of eq 16
        memory.encoder, memory.decoder   [K, d]
        mix.W [d, 2 d], mix.b [d], output.W [V, d], output.b [V]

    Outputs of a matrix have about its inputs' variance.
    """
    d, units, specs = settings.dim, settings.encoder_units, {}

    def matrix(name, rows, columns):
        specs[name] = Spec((rows, columns), 1 / columns)

    def lstm(name, inputs, units):
        matrix(f"{name}.W", 4 * units, inputs + units)
        specs[f"{name}.b"] = Spec((4 * units,))

    def energy(name, is_normalized=True):
        n = settings.energy_units or d
        matrix(f"{name}.W", n, d)
        matrix(f"{name}.V", n, d)
        specs[f"{name}.b"] = Spec((n,))
        specs[f"{name}.v"] = Spec((n,), 1 / n)
        if is_normalized:
            specs[f"{name}.g"] = Spec((), value=1 / math.sqrt(n))  # as MAD 2.4 starts it

    if not settings.has_frames:
        specs["source_embedding"] = Spec(
            (settings.source_vocabulary, settings.source_size), 1)
    for direction in ("forward", "backward")[:settings.directions]:
        lstm(direction, settings.source_size, units)
    specs["target_embedding"] = Spec((settings.vocabulary, settings.embedding), 1)
    lstm("decoder", settings.decoder_inputs, d)
    if settings.mechanism == "memory":
        matrix("memory.encoder", settings.num_contexts, d)
        matrix("memory.decoder", settings.num_contexts, d)
    elif settings.attends:
        energy("attention", settings.is_normalized)
    if settings.is_monotonic and settings.is_normalized:
        specs["attention.r"] = Spec((), value=settings.energy_bias)
    if settings.has_chunks:
        energy("chunk")
    if settings.attends:
        matrix("mix.W", d, 2 * d)
        specs["mix.b"] = Spec((d,))
    matrix("output.W", settings.vocabulary, d)
    specs["output.b"] = Spec((settings.vocabulary,))
    return specs


def parameter_shapes(settings):
    """{name: shape}"""
    return {name: spec.shape for name, spec in parameter_specs(settings).items()}


def first_parameters(settings, seed):
    """{name: f32 array} before training: a function of name, shape and seed."""
    return {name: _drawn(name, spec, seed)
            for name, spec in parameter_specs(settings).items()}


def _drawn(name, spec, seed):
    size = math.prod(spec.shape)
    words = philox.words(seed, philox.named_purpose(name), 0, numpy.arange(-(-size // 4)))
    drawn = philox.symmetric_uniform(words.T.ravel()[:size])  # of variance 1/3
    of_variance_1 = (math.sqrt(3) * drawn.astype(numpy.float64)).astype(numpy.float32)
    gain = numpy.float32(math.sqrt(spec.variance))
    return (gain * of_variance_1 + numpy.float32(spec.value)).reshape(spec.shape)
