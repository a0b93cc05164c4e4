"""What a user sees on standard error while models train: on a terminal a line of each run
every few seconds, in a log every minute, and one where a run ends.
"""

import math
import sys
import time

from attnbench.analysis import command

SECONDS_ON_TERMINAL, SECONDS_IN_LOG = 5, 60


class Progress:
    """`done` of `total` runs have ended before."""

    def __init__(self, total, done, stream=None, clock=time.monotonic):
        self._total, self._done = total, done
        self._stream = stream or sys.stderr
        self._seconds = SECONDS_ON_TERMINAL if self._stream.isatty() else SECONDS_IN_LOG
        self._clock = clock
        self._told = {}  # name and seed of a run -> when its last line was written

    def begin(self, run):
        self._told[run.name, run.seed] = self._clock()

    def step(self, run, report):
        """Takes a `Step` of a run, and tells of it where the last line is long ago."""
        if self._clock() - self._told[run.name, run.seed] >= self._seconds:
            self._told[run.name, run.seed] = self._clock()
            self._line(run, step_text(run, report))

    def end(self, run, trained):
        """Takes a finished run as the result has it."""
        self._done += 1
        runs = command.counted(self._total, "run")
        self._line(run, f"{end_text(trained)}; {self._done} of {runs}")

    def _line(self, run, text):
        print(command.printable(f"{run.name} seed {run.seed}: {text}"),
              file=self._stream, flush=True)


def step_text(run, report):
    """'step 100 of 300, 41 steps/s, loss 0.412, error 3.2 % (threshold 9.9 %), mass 0.95, about 5 s
    left'; error and mass are of the last point of the curve.
    """
    steps = run.settings.steps
    parts = [f"step {report.step} of {steps}", f"{report.steps_per_second:.3g} steps/s",
             f"loss {report.loss:.3f}"]
    if report.evaluation is not None:
        parts.append(f"error {100 * report.evaluation['soft_error']:.1f} %")
        if report.evaluation["hard_error"] is not None:
            parts[-1] += f" (threshold {100 * report.evaluation['hard_error']:.1f} %)"
            parts.append(f"mass {report.evaluation['selected_mass']:.2f}")
    left = (steps - report.step) / report.steps_per_second
    return ", ".join([*parts, f"about {duration_text(left)} left"])


def end_text(trained):
    """'ok in 12 s: error 3.21 %, threshold 9.87 %'"""
    told = trained["message"]
    result = trained["result"]
    if result is not None:
        told = f"error {100 * result['soft_error']:.2f} %"
        if result["hard_error"] is not None:
            told += f", threshold {100 * result['hard_error']:.2f} %"
    return f"{trained['status']} in {duration_text(trained['seconds'])}: {told}"


def duration_text(seconds):
    """'12 s', from 100 s on '2 min'"""
    return f"{math.ceil(seconds)} s" if seconds < 100 else f"{math.ceil(seconds / 60)} min"
