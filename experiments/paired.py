"""What samples that took turns say. Beside measured.py, as it needs what reports need."""

import math

from attnbench.analysis import intervals


def ratio(samples, other):
    """The median of other / samples with its interval."""
    logs = [math.log(b / a) for a, b in zip(samples, other)]
    span = intervals.estimate(intervals.numpy.array([[logs]]), "peer").at().exp()
    return [span.value, span.low, span.high]
