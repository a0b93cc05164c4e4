"""Checkpoints (signatures; the implementation follows)."""

import dataclasses


@dataclasses.dataclass
class Checkpoint:
    run: "settings.Run"
    step: int         # of training, that are done
    seconds: float
    loss_sum: float   # of the steps since the last point of the curve
    curve: list       # points as in results: dicts
    parameters: dict  # name -> f32 array
    means: dict       # name -> f32 array, of Adam: exp_avg
    squares: dict     # name -> f32 array, of Adam: exp_avg_sq


def read(path):
    """A checked Checkpoint; DataError."""
    raise NotImplementedError


def write(path, checkpoint):
    """Replaces the file in one piece."""
    raise NotImplementedError


def check_is_of(checkpoint, run, path):
    """DataError if it is of another run, or its parameters are not those of the run."""
    raise NotImplementedError
