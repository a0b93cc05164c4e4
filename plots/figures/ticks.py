"""Ticks of logarithmic axes that can be read."""

import math

from matplotlib import ticker

from attnbench.analysis import words


def log_ticks(axis, low, high, to_text):
    """Sets readable ticks on a logarithmic axis, however little it spans."""
    if high / low < 4:
        axis.set_major_locator(ticker.MaxNLocator(5))
    else:
        subs = (1.0,) if high / low > 1e3 else (1.0, 2.0, 5.0)
        axis.set_major_locator(ticker.LogLocator(subs=subs, numticks=20))
    axis.set_major_formatter(to_text)
    axis.set_minor_locator(ticker.NullLocator())


def time_tick(ns, _=None):
    """Gives words.time_text for the round numbers at an axis: '10 µs'."""
    if ns == 0:
        return "0"
    size, unit = words.time_unit(ns)
    # With three digits 1000 would be 1e+03.
    return f"{ns / size:.3g} {unit}" if ns < 1000 * size else f"{ns / size:.0f} {unit}"


def ratio_tick(value, _=None):
    # With three digits 1000 would be 1e+03.
    return f"{value:.3g}x" if value < 1000 else f"{value:.0f}x"


def power_tick(value, _=None):
    """Writes '10⁻³', for the powers of ten."""
    exponent = str(round(math.log10(value)))
    return "10" + exponent.translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def number_tick(low, high):
    """Gives what writes the ticks between two numbers: powers of ten where they are many.
    """
    return power_tick if high / low > 1e3 else "{x:g}"
