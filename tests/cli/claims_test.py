"""attnbench claims from outside.

Guards against a result that is not as its schemas say, evidence that leads nowhere,
a finding that is called an error, files that are replaced unasked, and a wrong ledger
that is taken.
"""
import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from attnbench.judge import claims, measure
from documents import CONTROL, read, validate
from in_folder import InFolder

ATTNBENCH = os.environ["ATTNBENCH"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# One claim of each way to measure that takes no more than a second or two.
IDS = ["matcha-memory", "mocha-params", "mad-clip-harmless"]


def run(*arguments, cwd=None):
    return subprocess.run([ATTNBENCH, "claims", *map(str, arguments)], cwd=cwd,
                          capture_output=True, text=True, check=False)


def run_here(*arguments):
    """Runs it in this process, as Python's packages take longer to load than a refusal;
    gives (exit code, stdout, stderr), with what the program says that it starts.
    """
    out = io.StringIO()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as told:
        kept = os.dup(2)
        os.dup2(told.fileno(), 2)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
                code = claims.main([*map(str, arguments)])
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        told.seek(0)
        return code, out.getvalue(), told.read()


class Claims(InFolder):
    def setUp(self):
        super().setUp()
        program = mock.patch.dict(os.environ, {measure.PROGRAM: ATTNBENCH})
        program.start()
        self.addCleanup(program.stop)
        for number in (signal.SIGINT, signal.SIGTERM):
            self.addCleanup(signal.signal, number, signal.getsignal(number))

    def fails(self, text, *arguments):
        code, out, error = run_here(*arguments)
        self.assertEqual((code, out), (2, ""), error)
        self.assertIn(text, error.splitlines()[-1])

    def ledger(self, change):
        ledger = read("experiments", "claims.json")
        change(ledger)
        with open(self.path("ledger.json"), "w", encoding="utf-8") as file:
            json.dump(ledger, file)
        return self.path("ledger.json")

    def test_a_quick_run_gives_verdicts_whose_evidence_is_there(self):
        results = self.path("results")
        output = self.path("claims.json")
        result = run(*IDS, "--quick", "--json", "--results", results, "-o", output)
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual(document, read(output))
        validate(document, "claims")
        claims = {claim["id"]: claim for claim in document["claims"]}
        # The order is the ledger's, whatever was typed.
        self.assertEqual(list(claims),
                         ["mad-clip-harmless", "mocha-params", "matcha-memory"])
        # What was trained is stored in the project, and read.
        self.assertEqual({os.path.basename(evidence["file"])
                          for evidence in claims["mad-clip-harmless"]["evidence"]},
                         {"clipping.json", "g2p.json", "speech.json"})
        # A claim that does not hold is a finding, so the exit code is 0.
        self.assertIn("strides in time alone", claims["mocha-params"]["verdict"])
        self.assertEqual(sorted(os.listdir(results)), ["bytes.json", "exact.json"])
        validate(read(results, "exact.json"), "computed")
        validate(read(results, "bytes.json"), "sweep")
        for claim in claims.values():
            for evidence in claim["evidence"]:
                kept = read(evidence["file"])
                name, index = re.match(r"(\w+)\[(\d+)\]", evidence["place"]).groups()
                row = kept[name][int(index)]
                self.assertEqual(row.get("point"), evidence["point"])
        self.assertTrue(claims["matcha-memory"]["evidence"])
        # This reads the cells again.
        cells = [cell for cell in read(results, "bytes.json")["cells"]
                 if cell["variant"] == "exact"]
        rows = {group["labels"]["variant"]: group
                for group in claims["matcha-memory"]["measured"][2]["groups"]}
        of_short, of_long = (cell["peak_memory_bytes"] for cell in cells
                             if cell["output_length"] == 4)
        self.assertEqual(len(cells), 4)
        self.assertAlmostEqual(2 ** rows["exact"]["least"]["value"], of_long / of_short)
        self.assertIn("measurement 1 of 6, bytes", result.stderr)

        self.fails("--force", *IDS, "--quick", "-o", output)
        self.fails("--force", *IDS, "--quick", "--results", results)
        again = run(*IDS, "--quick", "--results", results, "--resume")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("bytes.json: 4 of 4 points are there", again.stderr)
        self.assertRegex(again.stdout, r"(?m)^mocha-params +\w.*strides in time alone")

        judged = run(*IDS, "--judge", "--json", "--results", results)
        self.assertEqual(judged.returncode, 0, judged.stderr)
        self.assertEqual(judged.stderr, "")
        self.assertEqual({claim["id"]: claim for claim in json.loads(judged.stdout)["claims"]},
                         claims)
        os.remove(os.path.join(results, "bytes.json"))
        left = run("matcha-memory", "mocha-params", "--judge", "--results", results)
        self.assertRegex(left.stdout, r"not measurable here: .*bytes.json is not there")
        self.fails("has no measurement that these claims read", "mad-linear",
                   "--judge", "--results", results)
        shutil.copy(os.path.join(ROOT, "results", "claims", "width.json"),
                    os.path.join(results, "bytes.json"))
        self.fails("bytes.json: cells[0]: is no cell of measurement bytes, experiment "
                   "matcha_memory", "matcha-memory", "--judge", "--results", results)
        whole = read("results", "claims", "bytes.json")
        lost = {cell["point"] for cell in whole["cells"][-2:]}
        whole["cells"] = [cell for cell in whole["cells"] if cell["point"] not in lost]
        with open(os.path.join(results, "bytes.json"), "w", encoding="utf-8") as file:
            json.dump(whole, file)
        self.fails(f"bytes.json: has {len(whole['cells'])} cells; measurement bytes, "
                   "experiment matcha_memory, has ", "matcha-memory", "--judge",
                   "--results", results)
        shutil.copy(os.path.join(results, "exact.json"),
                    os.path.join(results, "bytes.json"))
        self.fails("must be 'sweep'", "matcha-memory", "--judge",
                   "--results", results)
        exact = os.path.join(results, "exact.json")
        whole = read(exact)
        for damaged, said in (([], "not a JSON object"),
                              ({**whole, "kind": 3}, "kind is 3, it must be 'computed'"),
                              ({**whole, "quantities": [{"name": 3}]},
                               "exact.json: quantities[0]")):
            with open(exact, "w", encoding="utf-8") as file:
                json.dump(damaged, file)
            self.fails(said, "mocha-params", "--judge", "--results", results)
        whole = read("results", "claims", "translation.json")
        shutil.copy(os.path.join(ROOT, "results", "claims", "decoder.json"), results)
        cell = whole["cells"][1]
        for owner, key, samples in ((cell, "samples_ns", [1.0] * 4),
                                    (cell["decoder"], "attention_samples_ns", [1.0] * 5)):
            kept, owner[key] = owner[key], samples
            with open(os.path.join(results, "translation.json"), "w",
                      encoding="utf-8") as file:
                json.dump(whole, file)
            self.fails("translation.json: cells[1]", "britz-speed", "--judge",
                       "--results", results)
            self.fails(f"{key} has {len(samples)} samples", "britz-speed",
                       "--judge", "--results", results)
            owner[key] = kept
        shutil.copy(os.path.join(ROOT, "results", "claims", "decoder.json"),
                    os.path.join(results, "translation.json"))
        self.fails("translation.json: cells[0]: is no cell of measurement translation, "
                   "experiment britz_table3", "britz-speed", "--judge", "--results", results)
        loop = os.path.join(results, "loop")
        os.symlink("loop", loop)
        self.fails("is no folder", *IDS, "--judge", "--results", loop)
        os.remove(exact)
        os.symlink("loop", exact)
        self.fails("exact.json: cannot be read", "mocha-params", "--judge", "--results", results)
        os.remove(exact)
        nowhere = os.path.join(results, "nowhere")
        self.fails("is no folder", *IDS, "--judge", "--results", nowhere)
        self.assertFalse(os.path.exists(nowhere))
        self.assertIn("3 claims: ", again.stdout)
        forced = run("mocha-params", "--quick", "--results", results, "--force",
                     "-o", output)
        self.assertEqual(forced.returncode, 0, forced.stderr)
        self.assertEqual(len(read(output)["claims"]), 1)

    def test_the_committed_verdicts_are_those_of_the_committed_results(self):
        judged = run("--judge", "--json", "--results", os.path.join("results", "claims"),
                     cwd=ROOT)
        self.assertEqual(judged.returncode, 0, judged.stderr)

        def verdicts(claims):
            # The digits behind it depend on the compiler.
            return {claim["id"]: (
                re.match("holds only if|holds|refuted|not reproduced here|undecided|depends "
                         "on reading|waits for|not measurable here", claim["verdict"])[0],
                [(part["name"], [(group["labels"], group["verdict"])
                                 for group in part["groups"]])
                 for part in claim["measured"]],
                claim["evidence"]) for claim in claims["claims"]}
        committed = verdicts(read("results", "claims.json"))
        self.assertEqual(list(committed),
                         [claim["id"] for claim in read("experiments", "claims.json")["claims"]])
        self.assertEqual(verdicts(json.loads(judged.stdout)), committed)

    def test_no_text_of_a_measurement_moves_the_cursor(self):
        said = "so \x1b[31m\x9b2J\rit is"
        document = read("results", "claims", "exact.json")
        document["context"]["warnings"] = [said]
        for key, code in (("warnings", 0), (said, 2)):
            document["context"].setdefault(key, 1)
            with open(self.path("exact.json"), "w", encoding="utf-8") as file:
                json.dump(document, file)
            judged = run("mocha-params", "--judge", "--results", self.folder)
            self.assertEqual(judged.returncode, code, judged.stderr)
            self.assertRegex(judged.stdout + judged.stderr, r"so \?\[31m\?2J.it is")
            self.assertNotRegex(judged.stdout + judged.stderr, CONTROL)

    def test_the_authors_program_is_built_with_the_folders_of_eigen_that_are_given(self):
        results = self.path("results")
        done = run("mad-figure-8", "--quick", "--json", "--results", results,
                   "--eigen", "/usr/include/eigen3")
        self.assertEqual(done.returncode, 0, done.stderr)
        (claim,) = json.loads(done.stdout)["claims"]
        self.assertTrue(claim["verdict"].startswith("undecided: needs "), claim["verdict"])
        measured = read(results, "authors.json")
        validate(measured, "authors")
        self.assertTrue(measured["quick"])

    def test_a_folder_without_eigen_is_refused_before_anything_is_measured(self):
        results = self.path("results")
        self.fails(f"--eigen {self.folder}: has no headers of Eigen", "mad-linear",
                   "mad-figure-8", "--quick", "--results", results, "--eigen",
                   "/usr/include/eigen3", "--eigen", self.folder)
        self.assertFalse(os.path.exists(results))

    def test_an_interrupted_run_keeps_what_it_has_and_goes_on(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            results = self.path(f"results{number}")
            with subprocess.Popen(
                    [ATTNBENCH, "claims", "mad-linear", "--results", results],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run_of_it:
                for line in run_of_it.stderr:
                    if "[1/" in line or "1 of" in line and "point" in line:
                        break
                run_of_it.send_signal(number)
                out, error = run_of_it.communicate(timeout=60)
            self.assertEqual((run_of_it.returncode, out), (130, ""), error)
            self.assertEqual(error.splitlines()[-1],
                             "attnbench: claims: interrupted; --resume goes on")
            self.assertTrue(os.listdir(results))

    def test_results_say_what_the_user_typed(self):
        results = self.path("results")
        done = run("mad-binary", "mocha-params", "--quick", "--results", results)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("verify", "exact"):
            context = read(results, f"{name}.json")["context"]
            self.assertEqual(context["command"], f"{ATTNBENCH} claims mad-binary mocha-params "
                             f"--quick --results {results}")
            self.assertEqual(context["valid"], not context["invalid_reasons"])

    def test_a_quick_run_by_python_stays_one_when_it_is_judged_again(self):
        results = self.path("results")
        python = [sys.executable, "-m", "attnbench", "claims", "mocha-params", "--results", results]
        environment = {**os.environ, "PATH": f"{os.path.dirname(ATTNBENCH)}:{os.environ['PATH']}",
                       "PYTHONPATH": os.path.join(ROOT, "python")}
        for option in ("--quick", "--judge"):
            done = subprocess.run([*python, option, "--json"], env=environment,
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(json.loads(done.stdout)["quick"])

    def test_without_a_folder_nothing_is_left_and_evidence_names_no_file(self):
        result = run("mocha-params", "--json", cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        (claim,) = json.loads(result.stdout)["claims"]
        self.assertEqual({entry["file"] for entry in claim["evidence"]}, {None})
        self.assertEqual(os.listdir(self.folder), [])

    def test_another_ledger_gives_other_verdicts(self):
        def widen(ledger):
            for claim in ledger["claims"]:
                if claim["id"] == "mocha-params":
                    claim["parts"][0]["rule"]["high"] = 99
        result = run("mocha-params", "--ledger", self.ledger(widen))
        self.assertRegex(result.stdout, r"(?m)^mocha-params +holds$")

    def test_wrong_usage_names_what_is_wrong(self):
        def twice(ledger):
            ledger["claims"].append(ledger["claims"][0])
        self.fails("claim mad-linear is there twice", "--ledger", self.ledger(twice))

        def no_measurement(ledger):
            ledger["claims"][0]["parts"][0]["quantity"]["from"] = "linaer"
        self.fails("did you mean 'linear'", "--ledger", self.ledger(no_measurement))

        def no_rule(ledger):
            del ledger["claims"][0]["parts"][0]["rule"]
        self.fails("claims[0]", "--ledger", self.ledger(no_rule))

        def unknown_kind(ledger):
            ledger["claims"][0]["kind"] = "belief"
        self.fails("ledger.json: claims[0] (mad-linear): kind is 'belief', it must be",
                   "--list", "--ledger", self.ledger(unknown_kind))

        self.fails("experiments/ci.json: schema_version is missing",
                   "--ledger", os.path.join(ROOT, "experiments", "ci.json"))

        def no_failure(ledger):
            ledger["claims"][0]["parts"][0]["rule"] = {"kind": "at_least", "bound": 0}
        self.fails("mad-linear, 'energies over max(T, U)': rule cannot fail",
                   "mocha-params", "-o", self.path("none.json"), "--ledger",
                   self.ledger(no_failure))

        def no_axis(ledger):
            ledger["measurements"]["bytes"]["quick"] = {"axes": {"dimm": 3}}
        self.fails("did you mean 'dim'", "matcha-memory", "--quick", "--ledger",
                   self.ledger(no_axis))

        def no_processes(ledger):
            ledger["measurements"]["bytes"]["full"] = {"processses": 5}
        self.fails("did you mean 'processes'", "matcha-memory", "--ledger",
                   self.ledger(no_processes))

        def no_trials(ledger):
            ledger["measurements"]["bytes"]["full"] = {"trials": 0}
        self.fails("ledger.json: measurements.bytes.full: trials is 0, it must be integer "
                   "from 1", "mocha-params", "--ledger", self.ledger(no_trials))

        def no_mechanism(ledger):
            ledger["measurements"]["verify"]["mechanisms"][1] = "mochi"
        self.fails("ledger.json: measurements.verify.mechanisms[1]: mechanism is 'mochi', it "
                   "must be one of", "mocha-params", "--ledger", self.ledger(no_mechanism))

        def no_draws(ledger):
            for claim in ledger["claims"]:
                if claim["id"] == "mocha-w1":
                    claim["parts"][0]["quantity"]["inputs"]["draws"] = "4"
        self.fails("ledger.json: mocha-w1, 'numbers that differ': width_one_difference.draws: "
                   '"4" is no whole number from 1', "mocha-w1", "--ledger",
                   self.ledger(no_draws))

        def no_quantity(ledger):
            for claim in ledger["claims"]:
                if claim["id"] == "mocha-params":
                    claim["parts"][0]["quantity"]["name"] = "parameter_shares"
        self.fails("did you mean 'parameter_share'", "mocha-params", "--ledger",
                   self.ledger(no_quantity))


if __name__ == "__main__":
    unittest.main()
