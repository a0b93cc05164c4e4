#!/usr/bin/env python3
"""Says how long experiments of `attnbench train` would take, before they do: it times some steps
and evaluations of each alternative on one thread, by the time of the core.

usage: budget.py [--quick] [-o RESULT] EXPERIMENT...
example: /usr/bin/python3 experiments/training/budget.py experiments/training/speech.json

Data folders have to be there. Seconds of a run are those of its steps, of the points of its
curve and of what comes after the last step, which is timed on a few of the held-out sequences.
"""

import collections
import os
import sys
import time

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # as a worker; NumPy reads them
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import measured
from attnbench.analysis import start
with start.imports("budget.py", measured.NEEDED):
    from attnbench.analysis import command, load
    from attnbench.train import settings, trainer


def rows(path, steps, held_out):
    """One for each alternative of an experiment."""
    experiment = settings.read_experiment(path)
    made = settings.runs(experiment, path)
    counts = collections.Counter(run.name for run in made)
    for run in made:
        if run.seed == run.held_out_seed:  # the first of its alternative
            yield {"experiment": experiment["name"], "alternative": run.name,
                   "runs": counts[run.name], "run_s": seconds(run, steps, held_out)}


def seconds(run, steps, held_out):
    of = run.settings
    made = trainer.Trainer(run)
    _seconds(made.step)  # warms up
    step = sum(_seconds(made.step) for _ in range(steps)) / steps
    count = min(held_out, of.held_out)
    of_point, of_end = (_seconds(made.evaluate, count, whole) / count for whole in (False, True))
    points = of.steps // of.curve_every if of.curve_every else 0
    return step * of.steps + of_point * points * of.curve_held_out + of_end * of.held_out


def _seconds(function, *arguments):
    before = time.process_time()
    function(*arguments)
    return time.process_time() - before


def table(found):
    """With the hours that the runs took, of those in results/training/."""
    lines = ["| experiment | alternative | runs | seconds a run | core hours | spent |",
             "| --- | --- | --- | --- | --- | --- |"]
    taken = {name: spent(name) for name in {row["experiment"] for row in found}}
    for row in found:
        hours = row["runs"] * row["run_s"] / 3600
        took = taken[row["experiment"]].get(row["alternative"])
        lines.append(f"| `{row['experiment']}` | `{row['alternative']}` | {row['runs']} | "
                     f"{row['run_s']:.0f} | {hours:.2f} | "
                     f"{'–' if took is None else f'{took:.2f}'} |")
    runs = sum(row["runs"] for row in found)
    hours = sum(row["runs"] * row["run_s"] for row in found) / 3600
    took = sum(sum(of.values()) for of in taken.values())
    return "\n".join([*lines, f"| all | | {runs} | | {hours:.1f} | {took:.1f} |"])


def spent(name):
    """{alternative: hours of its runs}; nothing of an experiment that was not trained yet."""
    path = load.committed("training", name)
    if not os.path.exists(path):
        return {}
    hours = {}
    for run in load.read(path, "trained")["runs"]:
        hours[run["name"]] = hours.get(run["name"], 0) + run["seconds"] / 3600
    return hours


def main(arguments):
    parser = measured.parser("budget.py", __doc__)
    parser.add_argument("experiments", nargs="+", metavar="EXPERIMENT")
    options = parser.parse_args(arguments)
    trainer.use_one_thread()
    steps, held_out = (2, 8) if options.quick else (40, 64)
    try:
        found = [row for path in options.experiments for row in rows(path, steps, held_out)]
    except load.DataError as error:
        return command.fail(str(error), "budget.py")
    print(table(found))
    if options.output:
        measured.write(measured.result(
            "training_budget", "training/budget.py", arguments, quick=options.quick, rows=found),
            options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
