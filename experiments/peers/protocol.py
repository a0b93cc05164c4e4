"""The peer's end of `run-sweep --peer COMMAND`: what a program must do to be
measured beside ours. harness/peer/messages.h has the messages.

    protocol.serve(describe(), prepare)

`describe` is a dictionary:

    {"protocol": 1, "name": "framework", "libraries": {"torch": "1.13.1"},
     "variants": [{"mechanism": "soft", "name": "framework", "help": "...",
                   "modes": ["decode"], "schedules": ["online"],
                   "scopes": ["full"], "energies": ["dot"],
                   "precisions": ["f32"], "approximates": False}]}

Scopes are those of training, schedules those of decoding. `approximates`: in
training it computes a published approximation, whose error is recorded; else a
wrong number makes the cell invalid. `prepare(cell)` takes a Cell, or raises
Skipped, also for options that it does not know, and returns an object with

    run(draw)      one trial: all outputs of all sequences of that draw, what is
                   timed; whatever is done once for a memory is done in it
    output(draw)   the same trial's numbers: for each sequence a pair of arrays
                   by name (all in `wanted`, and "gradient of NAME" of every
                   parameter in mode gradient, scope full) and of positions (the
                   entry chosen from 0, or -1, of every output; None where a
                   mechanism chooses none)
    before_timing()  if there is one: what is to be done before every sample
    wait()         if there is one: the clock of a sample stops after it; for work that
                   run() has begun but not ended, as on a GPU

Nothing but answers may get to stdout: what libraries print there goes to stderr.
"""

import gc
import itertools
import json
import os
import resource
import subprocess
import sys
import time
import traceback

import numpy


class Skipped(Exception):
    """The peer has no such cell; the text says why."""


# The arrays that the peers here read beside given scores. A sequence with any
# other array is refused: add its name here once the peers compute with it.
ARRAYS = ("memory", "states", "chunk_keys", "chunk_states")
OF_SEQUENCE = (
    "outputs",
    "energy_bias",
    "energy_scale",
    "given",
    "cotangent",
    "wanted",
)
OF_CELL = ("call", "cell", "axes", "options", "file", "parameters", "draws")


def _refuse_others(message, known):
    unknown = sorted(set(message) - set(known))
    if unknown:
        raise ValueError(f"the peer does not know {', '.join(unknown)}")


class Sequence:
    """One sequence of a draw: arrays by name, None where there is none."""

    def __init__(self, message, array):
        _refuse_others(message, ARRAYS + OF_SEQUENCE)
        self.outputs = message["outputs"]
        self.energy_bias = message["energy_bias"]
        self.energy_scale = message["energy_scale"]
        self.wanted = message["wanted"]
        for name in ARRAYS:
            setattr(self, name, array(message.get(name)))
        self.given = {k: array(v) for k, v in message["given"].items()}
        self.cotangent = {k: array(v) for k, v in message["cotangent"].items()}


class Cell:
    """What to measure: axes and options as in a result, and all draws."""

    def __init__(self, message):
        _refuse_others(message, OF_CELL)
        self.message = message
        self.axes = message["axes"]
        self.options = message["options"]
        self.dtype = numpy.dtype(
            {"f32": "float32", "f64": "float64"}[self.axes["precision"]]
        )
        with open(message["file"], "rb") as stream:
            numbers = stream.read()

        def array(place):
            if place is None:
                return None
            shape = (place["rows"], place["columns"])
            flat = numpy.frombuffer(
                numbers, self.dtype, shape[0] * shape[1], place["offset"]
            )
            return flat.reshape(shape).copy()  # writable, aligned, its own

        self.parameters = {
            k: array(v) for k, v in message["parameters"].items()
        }
        self.draws = [
            [Sequence(one, array) for one in draw] for draw in message["draws"]
        ]


class Other:
    """Another process of a peer, for what is set for a whole process. It is started when it is
    first asked, and ends with this one.
    """

    def __init__(self, command, environment=None):
        self.command = command
        self.environment = environment or {}
        self.process = None

    def ask(self, message):
        """Gives its answer. Raises Skipped and RuntimeError where that says so."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                encoding="utf-8", env={**os.environ, **self.environment})
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            raise RuntimeError(f"{self.command} ended with status {status}")
        answer = json.loads(line)
        if "skipped" in answer:
            raise Skipped(answer["skipped"])
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer


class OfOther:
    """A cell that another process holds as one of `variant`."""

    def __init__(self, other, variant, cell):
        self.ask = other.ask
        axes = {**cell.axes, "variant": variant}
        self.ask({**cell.message, "axes": axes})


def serve(description, prepare):
    """Answers until the input ends."""
    # Whoever prints from now on writes to stderr.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    held = {}
    for line in sys.stdin:
        try:
            answer = _answer(json.loads(line), description, prepare, held)
        except Skipped as reason:
            answer = {"skipped": str(reason)}
        except Exception as error:  # whatever it is: a cell's, not the peer's
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answer(message, description, prepare, held):
    call = message["call"]
    if call == "describe":
        return description
    if call == "prepare":
        held[message["cell"]] = prepare(Cell(message))
        return {}
    work = held.pop(message["cell"], None) if call == "release" else held[message["cell"]]
    if isinstance(work, OfOther):
        return work.ask(message)
    if call == "release":
        return {}
    if call == "time":
        if hasattr(work, "before_timing"):
            work.before_timing()
        wait = getattr(work, "wait", lambda: None)
        return _time(work.run, wait, message)
    if call == "output":
        return _write(work.output(message["draw"]), message["file"])
    raise ValueError(f"unknown call {call!r}")


def _time(run, wait, message):
    draws = message["draws"]
    first = message["first"] % len(draws)
    order = itertools.islice(
        itertools.cycle(draws[first:] + draws[:first]), message["trials"]
    )
    # As timeit does: garbage of this program is not the framework's.
    gc.collect()
    gc.disable()
    try:
        faults = _page_faults()
        start = time.perf_counter_ns()
        for draw in order:
            run(draw)
        wait()
        elapsed_ns = time.perf_counter_ns() - start
        return {"elapsed_ns": elapsed_ns, "page_faults": _page_faults() - faults}
    finally:
        gc.enable()


def _page_faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def _write(outputs, path):
    sequences, offset = [], 0
    with open(path, "wb") as stream:
        for arrays, positions in outputs:
            places = {}
            for name, array in arrays.items():
                array = numpy.atleast_2d(array)
                stream.write(numpy.ascontiguousarray(array).tobytes())
                rows, columns = array.shape
                places[name] = {
                    "offset": offset,
                    "rows": rows,
                    "columns": columns,
                }
                offset += array.nbytes
            sequence = {"arrays": places}
            if positions is not None:
                sequence["positions"] = [int(p) for p in positions]
            sequences.append(sequence)
    return {"sequences": sequences}
