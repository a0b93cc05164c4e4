"""What models learn: four tasks, each from n symbols, uniform and independent, with n
uniform in least_symbols..most_symbols.

    stretch   "speech in miniature": before each symbol 0 to 4 frames of silence, then the
              symbol itself for 2 to 6 frames; 0 to 4 frames of silence and one frame of END
              close the source. A frame is the symbol's prototype (silence: zeros) plus
              noise. Two neighbours are never equal. The target is the symbols.
    reorder   tokens. Windows follow one another; a window's first symbol, modulo 3, says
              how long it is (2 to 4, or what is left). In the target the last symbol of
              each window goes to its front: abcd becomes dabc.
    copy      tokens; the target is the source (Britz 4.1).
    reversal  tokens; the target is the source backwards.

Sources of tokens end with END, and so do all targets. An example is a pure function of
(task, set, seed, index): the same whatever the batches and the order, and bit for bit that
of the program, which decodes the held-out set (harness/training/tasks.cc).
"""

import dataclasses
import functools
from typing import Optional

import numpy

from attnbench.train import philox

START, END, FIRST = 0, 1, 2  # what decoders read first; the end; the first that means something
VOCABULARY = 20  # with START and END
FRAME_SIZE = 16
MOST_SILENCE, LEAST_RUN, MOST_RUN = 4, 2, 6  # frames
TASKS = ("stretch", "reorder", "copy", "reversal")
# The sets of examples have purposes of their own, so that they never share a draw.
TRAINING, HELD_OUT = philox.TRAINING_SET, philox.HELD_OUT_SET
_BLOCK = 512  # examples
_SILENCE = VOCABULARY  # the row of zeros of prototypes()


@dataclasses.dataclass(frozen=True)
class Task:
    name: str = "stretch"  # one of TASKS
    least_symbols: int = 2
    most_symbols: int = 6
    frame_noise: float = 0.7  # standard deviation, of `stretch` only

    @property
    def has_frames(self):
        return self.name == "stretch"

    @property
    def most_entries(self):
        """Entries of the longest source, with its end."""
        if not self.has_frames:
            return self.most_symbols + 1
        return (MOST_SILENCE + MOST_RUN) * self.most_symbols + MOST_SILENCE + 1


@dataclasses.dataclass(frozen=True, eq=False)
class Example:
    source: numpy.ndarray  # int64 [T] symbols, or f32 [T, FRAME_SIZE] frames
    target: numpy.ndarray  # int64 [U], with END
    # Where each symbol of the target but END ends, in entries of the source; of own data.
    ends: Optional[numpy.ndarray] = None
    speaker: Optional[str] = None  # of own data that name it


def examples(task, which, seed, first, count):
    """The examples first .. first + count - 1 of a set (TRAINING or HELD_OUT)."""
    made = []
    while len(made) < count:
        block, begin = divmod(first + len(made), _BLOCK)
        part = slice(begin, min(_BLOCK, begin + count - len(made)))
        symbols, *frames = _block(task, which, seed, block)
        symbols = symbols[part]
        targets = [numpy.array([*target_of(task, one), END]) for one in symbols]
        if task.has_frames:
            streams = _BLOCK * block + numpy.arange(_BLOCK)[part]
            sources = _frames(task, which, seed, streams, *(one[part] for one in frames))
        else:
            sources = [numpy.array([*one, END]) for one in symbols]
        made += map(Example, sources, targets)
    return made


@functools.lru_cache(maxsize=8)
def _block(task, which, seed, block):
    """Of the examples of a block their symbols and, of tasks that have frames, where these
    are: what is quicker to draw for many examples than for a batch.
    """
    streams = _BLOCK * block + numpy.arange(_BLOCK)
    symbols, drawn = _symbols(task, which, seed, streams)
    if not task.has_frames:
        return (symbols,)
    return symbols, *_parts(which, seed, streams, symbols, drawn)


def _symbols(task, which, seed, streams):
    """The symbols of each example, and how many words of its stream they took."""
    words = task.most_symbols + 1
    while True:
        word = philox.words(seed, which, streams[:, None], numpy.arange(words))[0]
        counts = philox.between(task.least_symbols, task.most_symbols, word[:, 0])
        rows = philox.between(FIRST, VOCABULARY - 1, word[:, 1:])
        made = [_first_symbols(row, count, task.has_frames)
                for row, count in zip(rows.tolist(), counts.tolist())]
        if None not in made:
            symbols, taken = zip(*made)
            return symbols, 1 + numpy.array(taken)
        words *= 2


def _first_symbols(drawn, count, differ):
    """The first `count` of the drawn symbols, without those that are equal to the one before
    if neighbours differ, and how many were drawn until then; None if they are too few.
    """
    symbols = []
    for taken in range(len(drawn) + 1):
        if len(symbols) == count:
            return symbols, taken
        if taken < len(drawn) and not (differ and symbols and symbols[-1] == drawn[taken]):
            symbols.append(drawn[taken])
    return None


def target_of(task, symbols):
    """The target of these symbols, both without END."""
    if task.name == "reversal":
        return symbols[::-1]
    if task.name != "reorder":
        return symbols
    target = []
    while len(target) < len(symbols):
        window = symbols[len(target):][:symbols[len(target)] % 3 + 2]
        target += [window[-1], *window[:-1]]
    return target


def _parts(which, seed, streams, symbols, drawn):
    """The parts of each example, [examples, parts] each: how many frames, where their numbers
    begin in the example's stream, and which prototype they have.

    A stream goes on with the length of a silence, its numbers, the length of a run, its
    numbers, and so on, so that a part begins where those before it end.
    """
    parts = 2 * max(map(len, symbols)) + 2  # silence, run, ..., silence, END
    lengths = numpy.zeros((len(streams), parts), numpy.int64)
    begins, prototype = numpy.zeros_like(lengths), numpy.full_like(lengths, _SILENCE)
    last = 2 * numpy.array(list(map(len, symbols))) + 1
    for part in range(parts - 1):
        there = numpy.flatnonzero(part < last)
        word = philox.words(seed, which, streams[there], drawn[there])[0]
        span = (LEAST_RUN, MOST_RUN) if part % 2 else (0, MOST_SILENCE)
        lengths[there, part] = philox.between(*span, word)
        begins[there, part] = drawn[there] + 1
        drawn[there] += 1 + FRAME_SIZE * lengths[there, part]
    rows = numpy.arange(len(streams))
    lengths[rows, last], begins[rows, last], prototype[rows, last] = 1, drawn, END
    for row, one in zip(prototype, symbols):
        row[1:2 * len(one):2] = one
    return lengths, begins, prototype


def _frames(task, which, seed, streams, lengths, begins, prototype):
    """The frames of each example, of its parts."""

    def of_frames(of_parts):
        return numpy.repeat(of_parts.ravel(), lengths.ravel())

    before = lengths.cumsum() - lengths.ravel()  # frames of all parts before each
    within = numpy.arange(lengths.sum()) - of_frames(before)
    counts = lengths.sum(1)
    frames = prototypes()[of_frames(prototype)] + philox.normals(
        task.frame_noise, seed, which, numpy.repeat(streams, counts),
        of_frames(begins) + FRAME_SIZE * within, FRAME_SIZE)
    return numpy.split(frames, counts.cumsum()[:-1])


@functools.cache
def prototypes():
    """f32 [VOCABULARY + 1, FRAME_SIZE]: the frame of each symbol without noise, the same for
    all seeds, and of silence.
    """
    symbols = numpy.arange(VOCABULARY)
    silence = numpy.zeros((1, FRAME_SIZE), numpy.float32)
    return numpy.concatenate([
        philox.normals(1, 0, philox.PROTOTYPE, symbols, 0 * symbols, FRAME_SIZE), silence])


def standard_noise(seed, streams, outputs, entries, deviation=1.0):
    """f32 [len(streams), outputs, entries]: the noise that training adds to energies of the
    choice (MAD 2.5), with that standard deviation; sequence b has the stream streams[b].
    """
    made = philox.normals(
        deviation, seed, philox.ENERGY_NOISE, numpy.repeat(streams, outputs),
        numpy.tile(numpy.arange(outputs) << 32, len(streams)), entries)
    return made.reshape(len(streams), outputs, entries)


def edit_distance(a, b):
    """The Levenshtein distance: the least number of symbols to insert, remove or replace."""
    row = list(range(len(b) + 1))  # of what was read of a, and the first j of b
    for symbol in a:
        above, row = row, [row[0] + 1]
        for j, other in enumerate(b):
            row.append(min(above[j] + (symbol != other), above[j + 1] + 1, row[j] + 1))
    return row[-1]


def has_symbols(task, which, seed, count):
    """Whether one of the first `count` targets of a set is more than END."""
    return any(any(_block(task, which, seed, first // _BLOCK)[0][:count - first])
               for first in range(0, count, _BLOCK))
