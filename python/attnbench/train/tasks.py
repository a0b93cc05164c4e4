"""The tasks that models learn (signatures; the implementation follows)."""

import dataclasses

import numpy

START, END, FIRST = 0, 1, 2
VOCABULARY = 20  # with START and END
FRAME_SIZE = 16
TASKS = ("stretch", "reorder", "copy", "reversal")
TRAINING, HELD_OUT = 32, 33  # sets of examples, by the purposes of their draws


@dataclasses.dataclass(frozen=True)
class Task:
    name: str = "stretch"
    least_symbols: int = 2
    most_symbols: int = 6
    frame_noise: float = 0.7

    @property
    def has_frames(self):
        return self.name == "stretch"


@dataclasses.dataclass(frozen=True, eq=False)
class Example:
    source: numpy.ndarray  # int64 [T] symbols, or f32 [T, FRAME_SIZE] frames
    target: numpy.ndarray  # int64 [U], with END


def examples(task, set_, seed, first, count):
    """The examples first .. first + count - 1 of a set, a list of Example."""
    raise NotImplementedError


def standard_noise(seed, streams, outputs, entries, deviation=1.0):
    """f32 [len(streams), outputs, entries]: deviation times StandardNoise, rounded once."""
    raise NotImplementedError


def edit_distance(a, b):
    """Levenshtein's distance of two sequences of symbols."""
    raise NotImplementedError
