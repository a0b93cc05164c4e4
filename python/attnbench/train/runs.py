"""All runs of an experiment, side by side in processes of one core each (worker.py). The
result is written again after every run, and a run that is not finished has a checkpoint beside
it, so that whatever ends the program costs little, and --resume goes on.
"""

import contextlib
import fcntl
import multiprocessing.connection
import os
import signal
import subprocess
import sys

from attnbench.analysis import command, load, whole_file
from attnbench.judge import measure
from attnbench.train import checkpoint, context, messages
from attnbench.train.progress import Progress

WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
# A worker has one core, and the same bits every time: CUDA's products need a workspace for it.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
               "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}


def train(runs, seed, options, result):
    """Trains `runs`, settings.Run each, and adds them to the document `result`, which has all
    but its context and is written to `options.output`; its member `complete` says in the end
    whether all are there, or a signal came before. `seed` is the experiment's.

    Raises DataError if the output is there and may not be replaced, holds runs of another
    experiment or build, if a checkpoint is damaged or of another run, or the device is not
    there, all before anything is trained.
    """
    with _locked(os.path.realpath(options.output) + ".checkpoints") as folder:
        _Training(runs, seed, options, result, folder).train()


class _Training:
    def __init__(self, runs, seed, options, result, folder):
        self._runs, self._seed, self._options, self._result = runs, seed, options, result
        self._folder = folder
        self._finished = {}  # place of a run -> the run as results have it
        self._missing = []  # places of those that nobody has begun
        self._workers = []
        self._is_stopped = False
        self._refusal = self._bug = None

    def train(self):
        options = self._options
        for path in (options.output, *map(self._checkpoint, self._runs)):
            whole_file.remove_leftovers(path)
        # The output last: it need not be there.
        before = [self._read_finished(path) for path in options.parts]
        if options.resume and os.path.exists(options.output):
            before.append(self._read_finished(options.output))
        self._missing = [place for place in range(len(self._runs)) if place not in self._finished]
        for place in self._missing:
            self._check_checkpoint(self._runs[place])
        self._progress = Progress(len(self._runs), len(self._finished))
        _catch_interrupts(self._stop)
        try:
            ready = self._start_worker().receive()
            if isinstance(ready, messages.Ready):
                self._begin(ready.of_torch, before)
                self._serve()
            else:
                self._take_stopped(ready)
        finally:
            for worker in self._workers:
                worker.end()
        if self._refusal is not None:
            raise command.UsageError(self._refusal)
        if self._bug is not None:
            raise RuntimeError(self._bug)

    def _read_finished(self, path):
        """Takes the runs of a result, and gives its path and context."""
        result = load.read(path, "trained")
        places = {_identity(run.document()): place for place, run in enumerate(self._runs)}
        for run in result["runs"]:
            place = places.get(_identity(run))
            if place is None:
                raise load.DataError(path, (
                    f"holds run {run['name']} with seed {run['seed']}, of another experiment, of "
                    "other settings or of an alternative that --only leaves out; the output would "
                    f"not have it. {self._advice(path)}"))
            if self._finished.get(place, run)["result"] != run["result"]:
                raise load.DataError(path, (
                    f"has another result of run {run['name']} with seed {run['seed']} than a file "
                    f"before it. {self._advice(path)}"))
            self._finished[place] = run
        return path, result["context"]

    def _advice(self, path):
        return ("Use -o for another file, or --force" if path == self._options.output
                else "Leave it out of --parts")

    def _check_checkpoint(self, run):
        path = self._checkpoint(run)
        whole_file.check(path, (), may_replace=True)
        if self._options.resume and os.path.exists(path):
            saved = checkpoint.read(path)
            checkpoint.check_is_of(saved, run, path)
            checkpoint.check_parameters(saved, path)

    def _begin(self, of_torch, before):
        for path, of in before:
            if of["build_id"] != of_torch["build_id"]:
                raise load.DataError(path, (
                    "was made by another build of attnbench or PyTorch, or on another device, "
                    f"and the output would mix the two. {self._advice(path)}"))
        if not self._options.resume:
            for run in self._runs:
                self._remove_checkpoint(run)
        self._result["context"] = context.of_all(
            context.make(self._seed, of_torch), [of for _, of in before])
        for warning in of_torch["warnings"]:
            measure.tell(warning, "train")
        self._write()

    def _serve(self):
        """Gives runs to workers until all are trained, or have stopped."""
        while len(self._workers) < min(self._options.jobs, len(self._missing)):
            self._start_worker()
        for worker in self._workers:
            self._give_next(worker)
        while busy := {one.connection: one for one in self._workers if one.place is not None}:
            for connection in multiprocessing.connection.wait(busy):
                self._take(busy[connection], busy[connection].receive())

    def _take(self, worker, message):
        run = self._runs[worker.place]
        match message:
            case messages.Ready():
                pass  # of another worker than the first
            case messages.Step():
                self._progress.step(run, message)
            case messages.Trained():
                self._finish(worker.place, message.run)
                self._give_next(worker)
            case messages.Stopped():
                worker.place = None
                self._take_stopped(message)

    def _take_stopped(self, message):
        self._refusal, self._bug = self._refusal or message.refusal, self._bug or message.bug
        self._stop()

    def _finish(self, place, trained):
        run = self._runs[place]
        self._finished[place] = trained
        self._write()
        # Not before: who is killed in between has one of the two.
        if not (self._options.keep_checkpoints and trained["result"]):
            self._remove_checkpoint(run)
        self._progress.end(run, trained)

    def _give_next(self, worker):
        worker.place = None
        if self._is_stopped or not self._missing:
            return
        worker.place = self._missing.pop(0)
        run = self._runs[worker.place]
        self._progress.begin(run)
        worker.send(messages.Job(
            run.document(), self._checkpoint(run), self._options.checkpoint_seconds))

    def _write(self):
        self._result["runs"] = [self._finished[place] for place in sorted(self._finished)]
        self._result["complete"] = len(self._finished) == len(self._runs)
        measure.write_document(self._options.output, self._result, may_replace=True)

    def _checkpoint(self, run):
        return os.path.join(self._folder, f"{run.name}-seed{run.seed}.json")

    def _remove_checkpoint(self, run):
        with contextlib.suppress(FileNotFoundError):
            os.remove(self._checkpoint(run))

    def _start_worker(self):
        worker = _Worker(self._options.device)
        self._workers.append(worker)
        worker.send(messages.Check([run.document()["settings"] for run in self._runs]))
        if self._is_stopped:  # a signal came before it was in the list
            worker.stop()
        return worker

    def _stop(self):
        self._is_stopped = True
        for worker in self._workers:
            worker.stop()


class _Worker:
    """A process that trains one run after the other; `place` is that of its run, if any."""

    def __init__(self, device):
        self.place = None
        self._was_stopped = False
        self.connection, theirs = multiprocessing.Pipe()
        with theirs:
            words = [sys.executable, WORKER, str(theirs.fileno()), str(os.getpid()), device]
            # In a session of its own it gets no signal of the terminal.
            self._process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=2, env={**os.environ, **ENVIRONMENT},
                pass_fds=[theirs.fileno()], start_new_session=True)

    def send(self, message):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # receive tells of it
            self.connection.send(message)

    def receive(self):
        """Gives the next message; Stopped where the process has died."""
        with contextlib.suppress(EOFError, ConnectionResetError):
            return self.connection.recv()
        code = self._process.wait()
        if self._was_stopped:
            return messages.Stopped()
        if code > 0:  # it has said why
            raise measure.Ended(code)
        return messages.Stopped(refusal=(
            f"a process that trains was killed by signal {-code}; --resume goes on"))

    def stop(self):
        self._was_stopped = True
        self._process.terminate()

    def end(self):
        self.connection.close()
        self.stop()
        self._process.wait()


def _identity(run):
    """What tells runs apart, of a run of a result or what Run.document() gives."""
    return load.json_text(
        {name: run[name] for name in ("name", "seed", "held_out_seed")}
        | {"settings": dict(sorted(run["settings"].items()))})


def _catch_interrupts(stop):
    def handle(number, _):
        signal.signal(number, signal.SIG_DFL)  # a second one ends the program at once
        stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:  # as in the background
            signal.signal(number, handle)


@contextlib.contextmanager
def _locked(path):
    """Makes the folder of checkpoints, and keeps another process from training there. It goes
    in the end if nothing is in it.
    """
    try:
        os.makedirs(path, exist_ok=True)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except (FileExistsError, NotADirectoryError) as error:
        raise load.DataError(
            path, "is there and is no folder; remove it, or choose another output") from error
    except OSError as error:
        raise load.DataError(path, f"cannot be made: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise load.DataError(path, (
                "another `attnbench train` writes there; wait for its end, or choose another "
                "output")) from error
        try:
            yield path
        finally:
            with contextlib.suppress(OSError):
                os.rmdir(path)
    finally:
        os.close(descriptor)
