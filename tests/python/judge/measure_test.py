"""Guards against a measurement that failed and counts as made, against a result that is
there before it is whole, against a fault that is told of the wrong place, and against a
program that goes on after the signal that ended its run.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

from attnbench.analysis import load
from attnbench.judge import measure

PARAMETERS = {"added": [], "model": [{"layer": "embedding", "inputs": 1, "units": 1}],
              "readings": [{"reading": "as it is", "layers": []}]}
OURS = {"name": "parameter_share", "inputs": PARAMETERS, "place": "ledger: a"}
OF_PROGRAM = {"name": "made_up", "inputs": {"n": 1}, "place": "ledger: b"}


class Program:
    """Writes what `attnbench computed` would."""

    def __init__(self, rows):
        self.rows = rows

    def attnbench(self, *arguments, text):
        assert json.loads(text) == [OF_PROGRAM], text
        with open(arguments[arguments.index("-o") + 1], "w", encoding="utf-8") as file:
            json.dump({"kind": "computed", "quantities": self.rows}, file)


class Measure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "exact.json")

    def make(self, rows):
        options = types.SimpleNamespace(force=False, resume=False, quick=False)
        measurer = measure.Measurer({}, os.path.dirname(self.path), options, Program(rows))
        measurer._computed([OURS, OF_PROGRAM], self.path)

    def test_an_exact_result_has_our_rows_and_the_programs_in_the_order_asked(self):
        self.make([{"name": "made_up", "inputs": {"n": 1}, "value": 7}])
        rows = load.read_json(self.path)["quantities"]
        self.assertEqual([(row["name"], row["value"]) for row in rows],
                         [("parameter_share", 0.0), ("made_up", 7)])

    def test_a_quantity_without_a_row_is_named_and_no_result_is_left(self):
        with self.assertRaisesRegex(load.DataError, "ledger: b: .*no row of made_up"):
            self.make([{"name": "made_up", "inputs": {"n": 2}, "value": 7}])
        self.assertFalse(os.path.exists(self.path))

    def test_a_result_that_cannot_be_written_is_named(self):
        full = OSError(28, "No space left on device")
        with mock.patch("attnbench.analysis.whole_file.write", side_effect=full):
            with self.assertRaisesRegex(load.DataError, "exact.json: cannot be written: No space"):
                self.make([{"name": "made_up", "inputs": {"n": 1}, "value": 7}])

    def test_a_temporary_folder_that_cannot_be_made_is_named(self):
        with mock.patch("tempfile.TemporaryDirectory", side_effect=OSError(13, "denied")):
            with self.assertRaisesRegex(load.DataError, "temporary folder: cannot be made"):
                measure.temporary_folder()


class Processes(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.dict(os.environ, {measure.PROGRAM: sys.executable})
        patch.start()
        self.addCleanup(patch.stop)
        handlers = [(number, signal.getsignal(number))
                    for number in (signal.SIGINT, signal.SIGTERM)]
        self.processes = measure.Processes()
        for number, handler in handlers:
            self.addCleanup(signal.signal, number, handler)

    def test_only_a_command_of_the_program_may_end_with_a_finding(self):
        finding = "print('made'); raise SystemExit(1)"
        self.assertEqual(self.processes.attnbench("-c", finding), "made\n")
        with self.assertRaises(measure.Ended) as caught:
            self.processes.python("-c", finding)
        self.assertEqual(caught.exception.code, 1)

    def test_a_program_that_is_gone_is_named(self):
        with self.assertRaisesRegex(load.DataError, "/gone/attnbench: cannot be run: No such"):
            self.processes.run("/gone/attnbench")

    def test_a_signal_that_comes_as_a_program_starts_is_handed_to_it(self):
        started = []

        class Interrupted(subprocess.Popen):
            def __init__(self, *words, **options):
                super().__init__(*words, **options)
                started.append(self)
                os.kill(os.getpid(), signal.SIGTERM)

        with mock.patch("subprocess.Popen", Interrupted):
            with self.assertRaises(measure.Ended) as caught:
                self.processes.python("-c", "import time; time.sleep(600)")
        self.addCleanup(started[0].kill)
        self.assertEqual(caught.exception.code, measure.INTERRUPTED)
        self.assertEqual(started[0].poll(), -signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
