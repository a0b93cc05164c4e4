"""One run of training. Everything that it draws (parameters, examples, noise) is a function of
seed and step, so that a checkpoint needs no state of a generator: a run that goes on from one
makes the same bits as a run that never stopped.
"""

import dataclasses
from typing import Optional


class Diverged(Exception):
    """Numbers are no longer finite; the text says what is not, and in which step."""


@dataclasses.dataclass(frozen=True)
class StepReport:
    step: int  # from 1
    loss: float  # nats a symbol
    # log of the mean of sum over j of alpha(i, j); None: the mechanism chooses nothing.
    log_mass: Optional[float]


@dataclasses.dataclass
class StepTimes:
    """Of the steps that one object made: examples, forward, backward and Adam, without
    evaluations.
    """

    steps: int = 0
    seconds: float = 0.0


class Trainer:
    """Trains the model of a `settings.Run` on a torch device."""

    def __init__(self, run, device="cpu"):
        self.run = run
        self.steps_done = 0
        self.loss_sum = 0.0  # of the steps since the last point of the curve
        self.curve = []  # of dicts, as `curve` of a result has them
        self.times = StepTimes()

    @property
    def is_done(self) -> bool:
        return self.steps_done == self.run.settings.steps

    def step(self) -> StepReport:
        """Makes the next step, and the point of the curve that falls on it. Raises Diverged."""
        raise NotImplementedError

    def evaluate(self, count) -> dict:
        """Gives `result` of a run, of the first `count` held-out sequences. Raises Diverged."""
        raise NotImplementedError

    def example(self) -> dict:
        """Gives `example` of a run."""
        raise NotImplementedError

    def restore(self, checkpoint, path) -> None:
        """Goes on from a checkpoint. Raises DataError naming `path` if it is of another run or
        model.
        """
        raise NotImplementedError

    def save(self):
        """Gives a Checkpoint, whose `seconds` are 0: who runs this knows them."""
        raise NotImplementedError
