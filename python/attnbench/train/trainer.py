"""One run of training. All that it draws (parameters, examples, noise) is a function of seed and
step, so that a checkpoint needs no state of a generator: a run that goes on from one makes the
same bits as a run that never stopped.
"""

import contextlib
import dataclasses
import math
import time

import torch
from torch.nn.functional import cross_entropy

from attnbench.train import checkpoint, evaluation, tasks
from attnbench.train.model import NO_TARGET, Model, batch_of
from attnbench.train.parameters import first_parameters, parameter_shapes


class Diverged(Exception):
    """Numbers are no longer finite; the text says what is not, and in which step."""


@dataclasses.dataclass(frozen=True)
class StepReport:
    step: int  # from 1
    loss: float  # nats a symbol


@dataclasses.dataclass
class StepTimes:
    """Of the steps that one object made: examples, forward, backward and Adam, without
    evaluations.
    """

    steps: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0  # of this process


def use_one_thread():
    """Makes this process compute the same bits every time. Denormal numbers count as 0: some
    CPUs take long over them.
    """
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)


class Trainer:
    """Trains the model of a `settings.Run`, on a device of torch."""

    def __init__(self, run, device="cpu"):
        self.run = run
        self.device = torch.device(device)
        self.model = Model(run.settings, device)
        self.parameters = self.model.by_name()
        self._set(first_parameters(run.settings, run.seed))
        self.optimizer = torch.optim.Adam(self.parameters.values(), foreach=True)
        self._set_steps_done(0)
        self.loss_sum = 0.0  # of the steps since the last point of the curve
        self.curve = []  # points, as a result has them
        self.times = StepTimes()

    @property
    def is_done(self) -> bool:
        return self.steps_done == self.run.settings.steps

    def step(self) -> StepReport:
        """Makes the next step, and the point of the curve that falls on it. Raises Diverged."""
        start, cpu_start = time.perf_counter(), time.process_time()
        with _diverges(self.steps_done + 1):
            report = self._train()
        self.times.steps += 1
        self.times.seconds += time.perf_counter() - start
        self.times.cpu_seconds += time.process_time() - cpu_start
        every = self.run.settings.curve_every
        if every > 0 and self.steps_done % every == 0:
            self.curve.append({
                "step": self.steps_done, "training_loss": self.loss_sum / every,
                **self.evaluate(self.run.settings.curve_held_out)})
            self.loss_sum = 0.0
        return report

    def evaluate(self, count, whole=False) -> dict:
        """As evaluation.evaluate. Raises Diverged."""
        with _diverges(self.steps_done):
            found = evaluation.evaluate(self.model, self.run, count, whole)
        if not math.isfinite(found["loss"]):
            raise Diverged(f"in step {self.steps_done} the held-out loss is {found['loss']}")
        return found

    def example(self) -> dict:
        """Gives `example` of a run. Raises Diverged."""
        with _diverges(self.steps_done):
            return evaluation.example(self.model, self.run)

    def restore(self, saved, path) -> None:
        """Goes on from a checkpoint. Raises DataError naming `path` if it is of another run or
        model.
        """
        checkpoint.check_is_of(saved, self.run, path)
        checkpoint.check_parameters(saved, path)
        self._set(saved.parameters)
        for name, parameter in self.parameters.items():
            self.optimizer.state[parameter] = {
                "step": torch.tensor(float(saved.step)),
                **{key: torch.from_numpy(arrays[name]).clone().to(self.device).view_as(parameter)
                   for key, arrays in (("exp_avg", saved.means), ("exp_avg_sq", saved.squares))}}
        self._set_steps_done(saved.step)
        self.loss_sum = saved.loss_sum
        self.curve = list(saved.curve)

    def save(self) -> checkpoint.Checkpoint:
        """Gives a checkpoint; its seconds are 0, as only the caller knows them."""
        shapes = parameter_shapes(self.run.settings)

        def arrays(of):
            return {name: of(parameter).detach().cpu().clone().view(shapes[name]).numpy()
                    for name, parameter in self.parameters.items()}

        def kept(key):
            state = self.optimizer.state
            return arrays(lambda parameter: state[parameter].get(key, torch.zeros_like(parameter)))

        return checkpoint.Checkpoint(
            self.run, self.steps_done, 0.0, self.loss_sum, list(self.curve),
            arrays(lambda parameter: parameter), kept("exp_avg"), kept("exp_avg_sq"))

    def _set(self, arrays):
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(torch.from_numpy(arrays[name]).view_as(parameter))

    def _set_steps_done(self, steps):
        self.steps_done = steps
        settings = self.run.settings
        if settings.alpha == "clipped" and settings.clip_until < 1 and (
                steps >= settings.clip_until * settings.steps):
            self.model.attention.clip = None

    def _train(self):
        settings = self.run.settings
        batch = batch_of(settings.examples(
            tasks.TRAINING, self.run.seed, self.steps_done * settings.batch, settings.batch),
            self.device)
        encoding = self.model.encode(batch)
        decoded = self.model.decode(encoding, encoding.first, batch.previous, self._noise(batch))
        loss = cross_entropy(
            decoded.logits.flatten(0, 1), batch.targets.flatten(), ignore_index=NO_TARGET)
        self.optimizer.zero_grad()
        loss.backward()
        norm = float(torch.nn.utils.clip_grad_norm_(
            self.parameters.values(), settings.greatest_norm))
        report = StepReport(self.steps_done + 1, loss.item())
        if not (math.isfinite(report.loss) and math.isfinite(norm)):
            raise Diverged(f"in step {report.step} the loss is {report.loss}, the gradient's norm"
                           f" {norm}")
        # Adam's rate falls linearly to 0.
        self.optimizer.param_groups[0]["lr"] = settings.learning_rate * (
            1 - self.steps_done / settings.steps)
        self.optimizer.step()
        self._set_steps_done(report.step)
        self.loss_sum += report.loss
        return report

    def _noise(self, batch):
        """Gives the noise of the next step's energies [B, 1, U, T], None if there is none."""
        settings = self.run.settings
        if settings.noise == 0 or not settings.is_monotonic:
            return None
        rise = settings.noise_rise * settings.steps
        share = 1.0 if rise == 0 else min(self.steps_done / max(rise, 1.0), 1.0)
        first = self.steps_done * settings.batch
        noise = tasks.standard_noise(
            self.run.seed, range(first, first + settings.batch), len(batch.targets),
            len(batch.source), settings.noise * share)
        return torch.from_numpy(noise).unsqueeze(1).to(self.device)


@contextlib.contextmanager
def _diverges(step):
    """The functions refuse numbers that are not finite, which here are the model's."""
    try:
        yield
    except ValueError as error:
        raise Diverged(f"in step {step}: {error}") from error
