"""What the process that trains an experiment (runs.py) and its workers (worker.py) tell each
other.
"""

import dataclasses
from typing import Optional


@dataclasses.dataclass
class Check:
    """The first message to a worker, which looks whether it can train all of these."""

    settings: list  # as documents


@dataclasses.dataclass
class Ready:
    """The answer."""

    of_torch: dict  # context.of_torch


@dataclasses.dataclass
class Job:
    """To a worker."""

    run: dict  # what Run.document() gives
    checkpoint: str  # the path of what it goes on from, if it is there, and leaves
    checkpoint_seconds: float


@dataclasses.dataclass
class Step:
    step: int
    loss: float
    evaluation: Optional[dict]  # the last point of the curve
    steps_per_second: float


@dataclasses.dataclass
class Trained:
    run: dict  # as results have it


@dataclasses.dataclass
class Stopped:
    """The end of a job without its result. Without a reason the worker was asked to stop."""

    refusal: Optional[str] = None  # of what the user gave
    bug: Optional[str] = None
