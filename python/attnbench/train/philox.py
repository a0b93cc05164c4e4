"""Random numbers as a pure function of (seed, purpose, stream, index): Philox4x32-10
(Salmon et al. 2011) as the program draws them (mechanisms/common/philox.h), which decodes
the same held-out examples.
"""

import math
import sys

import numpy

# Of mechanisms/common/philox.h and harness/base/purposes.h.
ENERGY_NOISE, TRAINING_SET, HELD_OUT_SET, PROTOTYPE = 2, 32, 33, 34
FIRST_NAMED = 0x80000000

_MULTIPLIERS = numpy.array([0xD2511F53, 0xCD9E8D57], numpy.uint64)
_KEY_STEPS = numpy.array([0x9E3779B9, 0xBB67AE85], numpy.uint32)
_ROUNDS = 10
_AT_ONCE = 4096  # larger temporary arrays would come from the system, page by page
_LOW, _HIGH = (0, 1) if sys.byteorder == "little" else (1, 0)

# numpy's log and cos may differ from those of libm, which the program calls, by 4 units in
# the last place. A number that is so near to the middle between two f32 is computed by libm.
NEAR = 2.0**-48


def words(seed, purpose, stream, index):
    """Four independent 32-bit words, uint32 [4, ...], for each of the `stream` and `index`
    (whole numbers or arrays, broadcast; modulo 2^32 and 2^64).
    """
    stream, index = numpy.broadcast_arrays(stream, index)
    made = numpy.empty((4, *index.shape), numpy.uint32)
    even, odd = made[0::2], made[1::2]  # words 0 and 2, 1 and 3 of the counter
    even[0], even[1] = index & 0xFFFFFFFF, stream & 0xFFFFFFFF
    odd[0], odd[1] = index >> 32, purpose
    by_pair = (2, *(1 for _ in index.shape))
    multipliers, steps = _MULTIPLIERS.reshape(by_pair), _KEY_STEPS.reshape(by_pair)
    key = numpy.array([seed & 0xFFFFFFFF, seed >> 32], numpy.uint32).reshape(by_pair)
    products = numpy.empty(even.shape, numpy.uint64)
    halves = products.view(numpy.uint32).reshape(*even.shape, 2)[::-1]
    for _ in range(_ROUNDS):
        numpy.multiply(even, multipliers, out=products)
        numpy.bitwise_xor(odd, halves[..., _HIGH], out=even)
        even ^= key
        odd[...] = halves[..., _LOW]
        key = key + steps
    return made


def between(first, last, word):
    """Uniform whole numbers in first..last, of one word each."""
    return first + ((word.astype(numpy.uint64) * numpy.uint64(last - first + 1))
                    >> numpy.uint64(32)).astype(numpy.int64)


def symmetric_uniform(word):
    """f32 in [-1, 1), multiples of 2^-23, of one word each."""
    return (2.0 * ((word >> numpy.uint32(8)) * 2.0**-24) - 1.0).astype(numpy.float32)


def normals(deviation, seed, purpose, stream, first, count):
    """f32 [N, count]: normal numbers of that standard deviation, of the indices first[n],
    first[n] + 1 and so on in stream[n]; `stream` and `first` are [N].
    """
    made = numpy.empty((len(first), count), numpy.float32)
    rows = max(1, _AT_ONCE // count)
    for row in range(0, len(first), rows):
        part = slice(row, row + rows)
        made[part] = _normal(deviation, words(
            seed, purpose, stream[part, None], first[part, None] + numpy.arange(count)))
    return made


def _normal(deviation, four):
    """Of the words [4, ...], computed in f64 (Box and Muller) and rounded once to f32:

        deviation sqrt(-2 log(1 - u)) cos(2 pi v)
    """
    # One minus a uniform number, so that log(0) cannot happen.
    u, v = 1.0 - _uniform(four[0], four[1]), 2 * math.pi * _uniform(four[2], four[3])
    value = deviation * (numpy.sqrt(-2 * numpy.log(u)) * numpy.cos(v))
    rounded = (value * (1 - NEAR)).astype(numpy.float32)
    is_near = rounded != (value * (1 + NEAR)).astype(numpy.float32)
    if is_near.any():
        rounded[is_near] = [
            deviation * (math.sqrt(-2 * math.log(x)) * math.cos(y))
            for x, y in zip(u[is_near].tolist(), v[is_near].tolist())]
    return rounded


def _uniform(high, low):
    """f64 in [0, 1), multiples of 2^-53."""
    bits = (high.astype(numpy.uint64) << numpy.uint64(21)) ^ (low >> numpy.uint32(11))
    return bits * 2.0**-53


def named_purpose(name):
    """The purpose of an array, from its name alone: FNV-1a."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value & 0xFFFFFFFF | FIRST_NAMED
