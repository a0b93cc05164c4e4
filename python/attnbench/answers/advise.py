"""`attnbench advise`: measures whole decoders of the shape that was typed, or
of a trained model's, and says whether another attention pays there.
"""

import json
import os
import sys

from attnbench.analysis import command, load, whole_file, workloads
from attnbench.answers import advice, advice_text
from attnbench.judge import measure

# Of one sequence of T entries and U outputs, as --help has it.
SHAPE = {
    "memory_length": 400, "output_length": 400, "dim": 256, "beam": 1,
    "vocabulary": 1000, "layers": 2, "chunk_width": 4, "num_contexts": 32,
    "f": 4, "energy": "additive", "encoder": "timed", "memory_read": 1.0}
# The share of the memory that a model reads comes from its decoding.
TYPED = [name for name in SHAPE if name != "memory_read"]
MOST_LENGTH = 20_000
RATES = ("frames_per_second", "outputs_per_second")
LEAST_SHARE = 0.01  # S of the workload copy:S
INVALID = 5


def main(arguments=None):
    options = parse(arguments)
    return measure.exit_code_of("advise", lambda: run(options))


def parse(arguments):
    parser = command.parser("attnbench advise", __doc__)
    for name in (*TYPED, *RATES, "mechanism", "model", "sequences",
                 "workload", "repetitions", "seed"):
        parser.add_argument(_option(name))
    parser.add_argument("-o", "--output", metavar="FILE")
    for name in ("--force", "--json"):
        parser.add_argument(name, action="store_true")
    return parser.parse_args(arguments)


def _option(name):
    return f"--{name.replace('_', '-')}"


def run(options):
    rates = rates_of(options)
    check_workload(options)
    processes = measure.Processes("advise")
    if options.output is not None:
        inputs = [options.model] if options.model else []
        if options.workload is not None:
            inputs.append(options.workload.removeprefix(workloads.CAPTURED))
        whole_file.check(options.output, inputs, options.force)
    mechanisms = mechanisms_of(options.mechanism, processes)
    with measure.temporary_folder() as folder:
        start, model = SHAPE, None
        if options.model is not None:
            start, model = model_of(options, processes, folder)
        shape = shape_of(options, start)
        if options.workload is not None:
            shape["workload"] = options.workload
        asked = advice.request(shape, mechanisms)
        result = sweep(options, asked, processes, folder)
    document = advice.of(result, shape, model, rates)
    if options.output is not None:
        measure.write_document(options.output, document, options.force)
    sys.stdout.write(load.json_text(document) + "\n" if options.json
                     else command.printable(advice_text.of(document)))
    return 0 if document["context"]["valid"] else INVALID


def check_workload(options):
    if options.workload is None:
        return
    if not options.workload.startswith(workloads.CAPTURED):
        raise load.DataError("--workload", (
            f"'{command.shortened(options.workload)}' is none that advise "
            f"takes; expected {workloads.CAPTURED}FILE, the energies of your "
            "own model"))
    path = options.workload.removeprefix(workloads.CAPTURED)
    if not os.access(path, os.R_OK):
        raise load.DataError(
            path or "--workload", "cannot be read; expected a file of energies")
    for name in ("memory_length", "output_length", "model"):
        if getattr(options, name) is not None:
            raise load.DataError(_option(name), (
                "is set by the captured energies; leave it out"))


def rates_of(options):
    """Gives those that were typed, None for others; None without any."""
    rates = {}
    for name in RATES:
        typed = getattr(options, name)
        rates[name] = None if typed is None else _rate(typed, _option(name))
    return rates if any(rates.values()) else None


def _rate(typed, option):
    rate = command.number(typed)
    if not rate > 0:
        raise load.DataError(option, f"'{command.shortened(typed)}' is no "
                             "number above 0, such as 12.5")
    return rate


def mechanisms_of(typed, processes):
    """Gives those to judge, with soft attention and none beside them."""
    listed = json.loads(processes.attnbench("list", "--json"))["mechanisms"]
    policies = [policy for one in listed for option in one["options"]
                if option["name"] == "policy"
                for policy in option["allowed"] if policy != option["default"]]
    known = [*(one["name"] for one in listed), *policies]
    asked = known if typed is None else typed.split(",")
    for name in asked:
        if name not in known:
            raise load.DataError(
                "--mechanism", command.unknown("mechanism", name, known))
    if set(asked) == {advice.BASELINE}:
        others = [name for name in known if name != advice.BASELINE]
        raise load.DataError(
            "--mechanism", "soft is what others are compared with, and always "
            f"measured; name one of {', '.join(others)}")
    measured = {advice.BASELINE, *asked}
    return [*(name for name in known if name in measured), advice.NOTHING]


def model_of(options, processes, folder):
    """Gives what a trained model stands for (its sizes, the mean lengths of its
    held-out sequences, the share of the memory that its decoding by the
    threshold reads), and how that decoding went.
    """
    path = os.path.join(folder, "decoded.json")
    # One sequence shows whether the model chooses, before minutes of decoding.
    for count in ["--sequences=1"], _handed_over(options, ("sequences",)):
        printed = processes.attnbench(
            "decode", f"--model={options.model}", *count, "-o", path, "--force")
        decoded = load.read_json(path)
        of_run, choices = decoded["run"]["settings"], decoded["choices"]
        if choices is not None:
            continue
        raise load.DataError(
            f"{options.model}: run.settings.mechanism",
            f"is {of_run['mechanism']}, which chooses no entries, so there is "
            "no p; expected a model of one that does, such as monotonic, "
            "mocha, matcha")
    count = len(decoded["sequences"])
    entries = sum(one["memory_length"] for one in decoded["sequences"])
    own = {name: of_run[name] for name in ("dim", *advice.SIZES)}
    return {
        **SHAPE, **own,
        "memory_length": max(1, advice.rounded(entries / count)),
        "output_length": max(1, advice.rounded(decoded["symbols"] / count)),
        "vocabulary": decoded["vocabulary"],
        "layers": 1,
        "memory_read": max(LEAST_SHARE, choices["memory_read"]),
    }, {"text": printed.splitlines()[0], **choices}


def _handed_over(options, names):
    """Gives what was typed of these options, which the program checks."""
    return [f"{_option(name)}={getattr(options, name)}" for name in names
            if getattr(options, name) is not None]


def shape_of(options, start):
    """Puts what was typed in the place of what is there. Outputs that were not
    typed stay in proportion to the entries.
    """
    shape = dict(start)
    for name in TYPED:
        typed = getattr(options, name)
        if typed is not None:
            shape[name] = type(start[name])(typed)
    if options.workload is None and shape["f"] > shape["memory_length"]:
        if options.f is not None:
            raise load.DataError("--f", f"is {shape['f']}, at most the "
                                 f"{shape['memory_length']} entries are allowed")
        shape["f"] = shape["memory_length"]
    if options.output_length is None:
        shape["output_length"] = max(
            1, start["output_length"] * shape["memory_length"]
            // start["memory_length"])
    for name in ("memory_length", "output_length"):
        if shape[name] > MOST_LENGTH:
            raise load.DataError(_option(name), f"is {shape[name]}, at most "
                                 f"{MOST_LENGTH} are allowed")
    return shape


def sweep(options, request, processes, folder):
    """Gives the result of the experiment document."""
    experiment = os.path.join(folder, "advise.json")
    path = os.path.join(folder, "result.json")
    measure.write_document(experiment, request, may_replace=False)
    typed = _handed_over(options, ("repetitions", "seed"))
    processes.attnbench("run-sweep", experiment, *typed, "-o", path)
    return load.read(path, "sweep")
