"""A process that trains runs, one after the other, on one core:

    python3 worker.py CONNECTION PARENT DEVICE

It gets one messages.Job after the other by the connection, a file descriptor that its parent,
a process, made with multiprocessing.Pipe, and tells what comes of it. It ends with the
connection, and dies with its parent. SIGTERM stops a run, which leaves a checkpoint.
"""

import os
import sys

if __name__ == "__main__":
    _HERE = os.path.dirname(os.path.realpath(__file__))
    # Python would look for modules in this folder first, and some have names of others.
    sys.path[:] = [os.path.dirname(os.path.dirname(_HERE)),
                   *(path for path in sys.path if path != _HERE)]

from attnbench.analysis import start

import contextlib
import ctypes
import multiprocessing.connection
import signal
import time

NEEDED = f"PyTorch (apt-get install python3-torch, or pip install torch), {start.NEEDED}"
with start.imports("attnbench train", NEEDED):
    import torch

    from attnbench.analysis import load
    from attnbench.train import attention, checkpoint, context, messages, settings
    from attnbench.train.trainer import Diverged, Trainer, use_one_thread

SECONDS_BETWEEN_STEPS = 1  # that are told
_SET_DEATH_SIGNAL = 1  # of prctl(2)


class Stop(Exception):
    """SIGTERM came."""


class Worker:
    def __init__(self, connection, device):
        self._connection, self._device = connection, device
        self._is_stopped = False
        self._may_raise = False  # where nothing is lost if the work ends in its middle
        signal.signal(signal.SIGTERM, self._stop)

    def serve(self):
        with contextlib.suppress(EOFError, BrokenPipeError):  # there is no more to do
            while True:
                message = self._connection.recv()
                self._connection.send(self._answer(message))

    def _answer(self, message):
        try:
            if isinstance(message, messages.Check):
                return self._check(message.settings)
            return messages.Trained(self._train(message))
        except Stop:
            return messages.Stopped()
        except load.DataError as error:
            return messages.Stopped(refusal=str(error))
        except (EOFError, BrokenPipeError):
            raise
        except Exception as error:
            text = str(error).split("\n", maxsplit=1)[0]  # PyTorch adds where it was
            return messages.Stopped(bug=f"{type(error).__name__}: {text}")

    def _stop(self, *_):
        self._is_stopped = True
        if self._may_raise:
            raise Stop

    def _check(self, documents):
        """Refuses what would show only after hours."""
        try:
            torch.empty(1, device=self._device).add_(1)
        except (RuntimeError, AssertionError) as error:
            raise load.DataError("--device", (
                f"'{self._device}' is not there for PyTorch {torch.__version__}: "
                f"{str(error).splitlines()[0]}")) from error
        settings.know_mechanisms({one["mechanism"] for one in documents})
        for one in documents:
            attention.make(settings.Settings(**one), self._device)
        return messages.Ready(context.of_torch(self._device))

    def _train(self, job):
        attempt = Attempt(job, self._device)
        run = attempt.trainer.run
        trained = {**job.run, "status": "ok", "message": None, "result": None}
        try:
            self._train_to_end(attempt)
            attempt.save()  # what follows may take minutes
            with self._interruptible():
                trained["result"] = attempt.trainer.evaluate(run.settings.held_out, whole=True)
                # The held-out set is that of the first seed.
                if run.seed == run.held_out_seed:
                    trained["example"] = attempt.trainer.example()
        except Diverged as diverged:
            trained.update(status="diverged", message=str(diverged), result=None)
        trained.update(curve=attempt.trainer.curve, seconds=attempt.seconds())
        times = attempt.trainer.times
        if times.steps:
            # Only results of a trainer in C++, which is gone, have attention_share, too.
            trained["step_ms"] = 1e3 * times.seconds / times.steps
            trained["step_cpu_ms"] = 1e3 * times.cpu_seconds / times.steps
        return trained

    def _train_to_end(self, attempt):
        job, trainer = attempt.job, attempt.trainer
        saved = told = time.monotonic()
        while not trainer.is_done:
            if self._is_stopped:
                attempt.save()
                raise Stop
            report = trainer.step()
            now = time.monotonic()
            if now - saved >= job.checkpoint_seconds:
                attempt.save()
                saved = time.monotonic()  # of a large model it may take a minute
            if now - told >= SECONDS_BETWEEN_STEPS:
                curve = trainer.curve
                self._connection.send(messages.Step(
                    report.step, report.loss, curve[-1] if curve else None,
                    attempt.steps_per_second()))
                told = now

    @contextlib.contextmanager
    def _interruptible(self):
        self._may_raise = True
        try:
            if self._is_stopped:
                raise Stop
            yield
        finally:
            self._may_raise = False


class Attempt:
    """A run from its checkpoint on."""

    def __init__(self, job, device):
        self.job, self.trainer = job, Trainer(settings.run_of(job.run), device)
        self._seconds_before = 0.0
        if os.path.exists(job.checkpoint):
            saved = checkpoint.read(job.checkpoint)
            self.trainer.restore(saved, job.checkpoint)
            self._seconds_before = saved.seconds
        self._start, self._first_step = time.monotonic(), self.trainer.steps_done

    def save(self):
        saved = self.trainer.save()
        saved.seconds = self.seconds()
        try:
            checkpoint.write(self.job.checkpoint, saved)
        except OSError as error:
            raise load.DataError(
                self.job.checkpoint, f"cannot be written: {error.strerror}") from error
        except ValueError:
            # Numbers overflow a step before the loss does. No checkpoint may hold them, and the
            # one before leads to the same end.
            pass

    def seconds(self):
        """Of all that it has been trained."""
        return self._seconds_before + time.monotonic() - self._start

    def steps_per_second(self):
        return (self.trainer.steps_done - self._first_step) / (time.monotonic() - self._start)


def main(descriptor, parent, device):
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != int(parent):  # it has died before that
        return
    use_one_thread()
    Worker(multiprocessing.connection.Connection(int(descriptor)), device).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
