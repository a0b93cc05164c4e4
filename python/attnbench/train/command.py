"""`attnbench train`: trains small models with any attention, and tells how well they decode.

    attnbench train experiments/training/stretch.json -j 2 -o stretch.json

It writes a result of kind "trained" (results/schema/trained.schema.json), and a checkpoint of
each run a minute to OUTPUT.checkpoints/, from which --resume goes on. docs/training.md has more.
"""

import json
import os
import subprocess

from attnbench.analysis import ROOT, command, load, whole_file
from attnbench.judge import measure
from attnbench.train import context, runs, settings

MOST_JOBS = 1024
DEVICES = ("cpu", "cuda")


def main(arguments=None):
    options = parse(arguments)
    return measure.exit_code_of("train", lambda: run(options))


def parse(arguments):
    parser = command.parser("attnbench train", __doc__)
    parser.add_argument("experiment", metavar="EXPERIMENT")
    parser.add_argument("-o", "--output", metavar="FILE", required=True)
    parser.add_argument("--only", metavar="NAME,...", action="append", default=[])
    parser.add_argument("--parts", metavar="FILE,...", action="append", default=[])
    parser.add_argument("-j", "--jobs", metavar="N", default="1")
    how = parser.add_mutually_exclusive_group()
    for group, name in ((parser, "--quick"), (how, "--resume"), (how, "--force"),
                        (parser, "--keep-checkpoints")):
        group.add_argument(name, action="store_true")
    parser.add_argument("--checkpoint-seconds", metavar="S", default="60")
    parser.add_argument("--device", metavar="NAME", default="cpu")
    return parser.parse_args(arguments)


def run(options):
    check(options)
    path = here_or_in_sources(options.experiment)
    whole_file.check(options.output, (path, *options.parts), options.resume or options.force)
    settings.know_mechanisms(mechanisms_of_program())
    experiment = settings.read_experiment(path)
    asked = settings.runs(experiment, path, options.quick, options.only)
    result = {"schema_version": load.SCHEMA_VERSION, "kind": "trained", "context": None,
              "experiment": experiment["name"], "quick": options.quick, "complete": False,
              "runs": []}
    runs.train(asked, experiment.get("seed", 1), options, result)
    if result["complete"]:
        return 0
    measure.tell(f"stopped; {len(result['runs'])} of {len(asked)} runs are in {options.output}. "
                 "Resume with the same command plus --resume", "train")
    return measure.INTERRUPTED


def check(options):
    """Checks the options' values, and makes numbers and lists of them."""
    if not options.output:
        raise load.DataError("--output", "the name is empty")
    for name in ("only", "parts"):
        given = getattr(options, name)
        setattr(options, name, [one for several in given for one in several.split(",")])
    options.jobs = command.whole_number("--jobs", options.jobs, 1, MOST_JOBS)
    seconds = command.number(options.checkpoint_seconds)
    if not seconds >= 0:
        raise load.DataError("--checkpoint-seconds", (
            f"'{command.shortened(options.checkpoint_seconds)}' is no number from 0, such as 60"))
    options.checkpoint_seconds = seconds
    if options.device not in DEVICES:
        raise load.DataError("--device", command.unknown("device", options.device, DEVICES))


def here_or_in_sources(path):
    if os.path.isabs(path) or os.path.exists(path):
        return path
    found = os.path.join(ROOT, path)
    return found if os.path.exists(found) else path


def mechanisms_of_program():
    """The names of those that the program was built with, if it has started this."""
    program = os.environ.get(context.PROGRAM)
    if program is None:
        return []
    done = subprocess.run([program, "list", "--json"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, check=True)
    return [one["name"] for one in json.loads(done.stdout)["mechanisms"]]
