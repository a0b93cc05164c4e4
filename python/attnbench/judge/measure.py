"""Makes the measurements that claims read, each once, by the program's own commands."""

import ctypes
import difflib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from attnbench.analysis import ROOT, command, load, whole_file
from attnbench.judge import computed

# The program hands its path and what the user typed to commands in Python
# (harness/system/python.h), and writes the latter into results.
PROGRAM, TYPED = "ATTNBENCH_PROGRAM", "ATTNBENCH_COMMAND_LINE"
AUTHORS = os.path.join(ROOT, "experiments", "authors", "measure.py")
GOOD, FINDING, INTERRUPTED = 0, 1, 130
_SET_DEATH_SIGNAL = 1  # of prctl(2)
_ENDING = (signal.SIGINT, signal.SIGTERM)


class Ended(Exception):
    """Another program has ended with this exit code, and said why."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


class Processes:
    """Runs other programs, one at a time. From the first one on a signal that asks to end
    is handed to it: a sweep then keeps what it has. A second one ends it at once.
    """

    def __init__(self, command_name="claims"):
        self.was_interrupted = False
        self._running = None
        self._program = os.environ.get(PROGRAM) or shutil.which("attnbench")
        if self._program is None:
            raise load.DataError("attnbench", "is not on PATH")
        os.environ.setdefault(
            TYPED, " ".join(["attnbench", command_name, *sys.argv[1:]]))
        self._set_death_signal = ctypes.CDLL(None).prctl
        for number in _ENDING:
            if signal.getsignal(number) != signal.SIG_IGN:  # as in the background
                signal.signal(number, self._hand_on)

    @property
    def folder(self):
        return os.path.dirname(os.path.realpath(self._program))

    def attnbench(self, *arguments, text=None):
        """Gives what a command of the program prints."""
        return self.run(self._program, *arguments, text=text, good=(GOOD, FINDING))

    def python(self, script, *arguments):
        return self.run(sys.executable, script, *arguments)

    def run(self, *words, text=None, good=(GOOD,)):
        # A signal waits until there is somebody to hand it to.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        # In a session of its own it gets a signal of the terminal once, from us.
        try:
            self._running = running = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
                start_new_session=True, preexec_fn=lambda: self._end_with_us(blocked))
        except OSError as error:
            raise load.DataError(words[0], f"cannot be run: {error.strerror}") from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        with running:
            printed, _ = running.communicate(text or "")
        self._running = None
        if self.was_interrupted:
            raise Ended(INTERRUPTED)
        if running.returncode < 0:
            raise load.DataError(
                " ".join(words[:2]), f"was killed by signal {-running.returncode}")
        if running.returncode not in good:
            raise Ended(running.returncode)
        return printed

    def _end_with_us(self, blocked):
        self._set_death_signal(_SET_DEATH_SIGNAL, signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def _hand_on(self, number, _):
        if self._running is None:
            raise Ended(INTERRUPTED)
        self.was_interrupted = True
        self._running.send_signal(number)


class Measurer:
    """Makes them in a folder, NAME.json for each, or finds them there."""

    def __init__(self, asked, folder, options, processes):
        self.asked, self.folder, self.options = asked, folder, options
        self._processes = processes
        self._replace = ["--force"] * (options.force or options.resume)
        self._quick = ["--quick"] * options.quick
        self._limits = []  # of the machine, once they are measured

    def path(self, name):
        return os.path.join(self.folder, f"{name}.json")

    def make(self, name):
        """Makes one that is not trained."""
        measurement = self.asked["measurements"][name]
        kind, path = measurement["kind"], self.path(name)
        output = ["-o", path, *self._replace]
        if kind == "sweep":
            self._sweep(measurement, path)
        elif kind == "authors":
            # A place that cannot be written must show before minutes of measuring.
            whole_file.check(path, (), bool(self._replace))
            self._processes.python(AUTHORS, f"--output={path}", *self._quick, *self._eigens())
        elif kind == "verify":
            own = measurement["quick"] if self.options.quick else measurement
            self._processes.attnbench(
                "verify", "--mechanism", ",".join(measurement["mechanisms"]), "--trials",
                str(own["trials"]), *self._quick, *output)
        elif kind == "stability":
            self._processes.attnbench("stability", *self._quick, *output)
        else:
            self._computed(quantities_of(self.asked, self.options.ledger, name), path)

    def check(self):
        """Refuses what would show only after hours."""
        quantities = quantities_of(self.asked, self.options.ledger)
        for one in quantities:
            if one["name"] in computed.QUANTITIES:
                computed.check(one["name"], one["inputs"], one["place"])
            elif difflib.get_close_matches(one["name"], computed.QUANTITIES):
                raise load.DataError(one["place"], command.unknown(
                    "quantity", one["name"], computed.QUANTITIES))
        self._processes.attnbench("computed", text=of_program(quantities))
        kinds = {self.asked["measurements"][name]["kind"] for name in names_of(self.asked)}
        if "authors" in kinds and not self.options.judge:
            self._processes.python(AUTHORS, "--ready", *self._eigens())
        builds = self.options.builds
        if builds is not None:
            command.whole_number("--builds", builds, 2, 9999)
            try:
                self._processes.python(
                    os.path.join(ROOT, "scripts", "relink.py"), self._processes.folder, builds)
            except Ended as ended:
                raise load.DataError("--builds", "needs a build folder that can link the "
                                     "program again; see above") from ended

    def context(self):
        """Where and when the result is made."""
        return json.loads(self._processes.attnbench("measure-points", "--describe"))["context"]

    def require_cells(self, name):
        """A sweep's document does not name its experiment: its cells have to be those of the
        measurement in one of the profiles, all of them.
        """
        measurement, path = self.asked["measurements"][name], self.path(name)
        told = {}
        for quick in (False, True):
            told[quick] = json.loads(self._processes.attnbench(
                *self._request(measurement, quick), "--against", path))
            if not told[quick]["others"] and told[quick]["there"] == told[quick]["wanted"]:
                return
        others = set(told[False]["others"]).intersection(told[True]["others"])
        what = f"measurement {name}, experiment {measurement['experiment']}"
        if others:
            raise load.DataError(f"{path}: cells[{min(others)}]",
                                 f"is no cell of {what}: is the file another measurement's?")
        raise load.DataError(
            path, f"has {told[False]['there']} cells; {what}, has {told[False]['wanted']}, "
            f"with --quick {told[True]['wanted']}: --resume measures the others")

    def _request(self, measurement, quick):
        """Of a sweep: the command's words that say what is measured."""
        path = seen_from_here("experiments", f"{measurement['experiment']}.json")
        own = measurement.get("quick" if quick else "full")
        if own is not None:
            return ["run-sweep", path, "--profile", json.dumps(own)]
        return ["run-sweep", path, *["--quick"] * quick]

    def _sweep(self, measurement, path):
        options = self.options
        self._processes.attnbench(
            *self._request(measurement, options.quick), *self._limits, "-o", path,
            *["--force"] * options.force, *["--resume"] * options.resume,
            *(["--builds", options.builds] if options.builds else ()))
        self._limits = ["--limits", path]

    def _computed(self, quantities, path):
        """The program gives its quantities and the context, and we add ours: nobody may find
        a result without these.
        """
        whole_file.check(path, (), bool(self._replace))
        with temporary_folder() as folder:
            of_it = os.path.join(folder, "of_program.json")
            self._processes.attnbench("computed", "-o", of_it, text=of_program(quantities))
            document = load.read_json(of_it)
        found = document["quantities"]
        document["quantities"] = []
        for one in quantities:
            name, inputs = one["name"], one["inputs"]
            if name in computed.QUANTITIES:
                rows = computed.rows(name, inputs)
            else:
                rows = [row for row in found if (row["name"], row["inputs"]) == (name, inputs)]
            if not rows:
                raise load.DataError(one["place"], f"the program gave no row of {name}")
            document["quantities"] += rows
        write_document(path, document, bool(self._replace))

    def _eigens(self):
        return [f"--eigen={folder}" for folder in self.options.eigen]


def quantities_of(asked, ledger, measurement=None):
    """The quantities that are computed, of one measurement or of all, each once, with their
    place; `ledger` is the path.
    """
    found, places = [], []
    for claim in asked["claims"]:
        for part in claim["parts"]:
            quantity = part["quantity"]
            if quantity["kind"] != "computed" or measurement not in (None, quantity["from"]):
                continue
            one = {"name": quantity["name"], "inputs": quantity["inputs"]}
            if one not in found:
                found.append(one)
                places.append(f"{ledger}: {claim['id']}, '{part['name']}'")
    return [{"place": place, **one} for place, one in zip(places, found)]


def of_program(quantities):
    """Those that the program computes, as it is asked for them."""
    return json.dumps([one for one in quantities if one["name"] not in computed.QUANTITIES])


def names_of(asked):
    """The measurements that the claims read, in the ledger's order."""
    read = {part["quantity"]["from"] for claim in asked["claims"] for part in claim["parts"]}
    return [name for name in asked["measurements"] if name in read]


def seen_from_here(*names):
    """A path of the project: it goes into results, which others read elsewhere."""
    whole = os.path.join(ROOT, *names)
    try:
        return os.path.relpath(whole)
    except OSError:  # somebody has removed the folder that we are in
        return whole


def write_document(path, document, may_replace):
    try:
        whole_file.write(path, load.document_text(document).encode(), may_replace)
    except FileExistsError as error:
        raise load.DataError(path, whole_file.IS_THERE) from error
    except OSError as error:
        raise load.DataError(path, f"cannot be written: {error.strerror}") from error


def temporary_folder():
    try:
        return tempfile.TemporaryDirectory(prefix="attnbench-")
    except OSError as error:
        raise load.DataError("a temporary folder", f"cannot be made: {error.strerror}") from error


def tell(text, command_name="claims"):
    print(command.printable(f"attnbench: {command_name}: {text}"), file=sys.stderr, flush=True)


def exit_code_of(command_name, work, hint=""):
    """Gives the exit code of a command that measures: that of work(), of a refusal, or of
    an interrupt, which it tells with the hint.
    """
    try:
        return work()
    except Ended as ended:
        if ended.code == INTERRUPTED:
            tell(f"interrupted{hint}", command_name)
        return ended.code
    except (load.DataError, command.UsageError) as error:
        return command.fail(error)
