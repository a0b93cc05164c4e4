"""What a run needs to go on where it stopped, and what the program needs to decode with a
trained model (harness/training/checkpoint.h): a JSON document, replaced in one piece.
Numbers are f32, written so that reading gives the same bits.
"""

import dataclasses
import json
import math

import numpy

from attnbench.analysis import command, load, whole_file
from attnbench.train import settings
from attnbench.train.parameters import parameter_shapes

KIND = "checkpoint"
MOST_BYTES = 4 << 30  # of the model that has the greatest of all sizes


@dataclasses.dataclass(eq=False)
class Checkpoint:
    run: settings.Run
    step: int         # of training, that are done
    seconds: float    # that it has been trained
    loss_sum: float   # of the steps since the last point of the curve
    curve: list       # the points, as results have them
    parameters: dict  # name -> f32 array, and so the next two
    means: dict       # m of Adam, exp_avg of PyTorch
    squares: dict     # v of Adam, exp_avg_sq of PyTorch


def write(path, checkpoint):
    """Puts it there: who reads the file, at any moment, finds this checkpoint or the one
    before, whole. OSError if it cannot.
    """
    for arrays in (checkpoint.parameters, checkpoint.means, checkpoint.squares):
        for name, array in arrays.items():
            if not numpy.isfinite(array).all():
                raise ValueError(f"{name} has a number that is not finite")
    document = {
        "schema_version": load.SCHEMA_VERSION,
        "kind": KIND,
        "run": checkpoint.run.document(),
        "step": checkpoint.step,
        "seconds": checkpoint.seconds,
        "loss_sum": checkpoint.loss_sum,
        "curve": checkpoint.curve,
        "parameters": {
            name: {"shape": list(values.shape), "values": values.ravel().tolist(),
                   "means": checkpoint.means[name].ravel().tolist(),
                   "squares": checkpoint.squares[name].ravel().tolist()}
            for name, values in sorted(checkpoint.parameters.items())},
    }
    whole_file.write(path, load.document_text(document).encode())


def read(path):
    """Reads a checkpoint. DataError names the file, and the place in it, if it is no
    checkpoint, is cut short, has settings that do not fit each other, a step past the end,
    squares below 0, or an array whose numbers are not as many as its shape says, or beyond
    f32.
    """
    document = load.read_json(path, MOST_BYTES)
    # Of another document the first member that differs would tell less.
    if document.get("kind") != KIND:
        raise load.DataError(
            f"{path}: kind", "is not checkpoint; expected a file that train "
            "--keep-checkpoints left in OUTPUT.checkpoints/")
    load.check_schema(document, KIND, path)
    run = settings.run_of(document["run"])
    settings.check(run.settings, f"{path}: run.settings")
    if document["step"] > run.settings.steps:
        raise load.DataError(f"{path}: step", f"is {document['step']}, but the run has "
                             f"{command.counted(run.settings.steps, 'step')}")
    made = Checkpoint(
        run, document["step"], document["seconds"], document["loss_sum"], document["curve"],
        {}, {}, {})
    for name, array in document["parameters"].items():
        where = f"{path}: parameters.{command.shortened(name)}"
        for key, arrays in (("values", made.parameters), ("means", made.means),
                            ("squares", made.squares)):
            arrays[name] = _array(array[key], array["shape"], where)
        if (made.squares[name] < 0).any():
            raise load.DataError(
                f"{where}.squares", "has a number below 0; these are means of squares")
    return made


def _array(numbers, shape, where):
    if len(numbers) != math.prod(shape):
        raise load.DataError(
            where, f"has {command.counted(len(numbers), 'number')}, not as many as its shape, "
            f"{shape}, says")
    with numpy.errstate(over="ignore"):
        array = numpy.array(numbers, numpy.float32)
    if not numpy.isfinite(array).all():
        beyond = numbers[int(numpy.argmin(numpy.isfinite(array)))]
        raise load.DataError(where, f"has the number {beyond}, which f32 has not")
    return array.reshape(shape)


def check_is_of(checkpoint, run, path):
    """Raises DataError if the checkpoint is not of this run."""
    theirs, ours = checkpoint.run.document(), run.document()
    there = theirs.pop("settings")
    for key, value in ours.pop("settings").items():
        if there[key] != value:
            raise load.DataError(
                path, f"is of a run with {key} {json.dumps(there[key])}; expected "
                f"{json.dumps(value)}")
    if theirs != ours:
        theirs, ours = (f"run {one['name']} with seed {one['seed']} (held out: "
                        f"{one['held_out_seed']})" for one in (theirs, ours))
        raise load.DataError(path, f"is of {theirs}; expected {ours}")


def check_parameters(checkpoint, path):
    """Raises DataError if its arrays are not those of its run's model, in name and shape."""
    shapes = parameter_shapes(checkpoint.run.settings)
    for name, shape in shapes.items():
        where = f"{path}: parameters.{name}"
        if name not in checkpoint.parameters:
            raise load.DataError(where, "is missing")
        given = checkpoint.parameters[name].shape
        if given != shape:
            raise load.DataError(
                where, f"has the shape {list(given)}; expected {list(shape)}")
    for name in checkpoint.parameters:
        if name not in shapes:
            raise load.DataError(f"{path}: parameters.{command.shortened(name)}",
                                 "is no parameter of this model")
