"""Guards against a peer that takes the sweep with it, whose wrong numbers get a
time, or that stays behind; tests/support/fake_peer.py is the peer."""

import json
import os
import subprocess
import unittest

from documents import CONTROL, validate
from in_folder import InFolder

PROGRAM = os.environ["ATTNBENCH"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FAKE = "/usr/bin/python3 " + os.path.join(ROOT, "tests", "support", "fake_peer.py")
BOTH = ["--mechanism", "soft", "--variant", "exact,framework"]
TINY = ["-T", "6", "-U", "3", "-d", "4", "--repetitions", "3"]
# The fake peer says that it approximates alpha of hard monotonic attention.
ALPHA = ["--mechanism", "monotonic", "--variant", "exact,framework"]


class PeerTest(InFolder):
    def run_sweep(self, *arguments, peer=FAKE, environment=None):
        """Gives the finished program, after a check that no process and no file of the
        peer is left.
        """
        given = [] if peer is None else ["--peer", peer]
        done = subprocess.run(
            [PROGRAM, "run-sweep", *given, *arguments],
            cwd=self.folder, capture_output=True, text=True, timeout=600,
            check=False, env={**os.environ, "TMPDIR": self.folder, **(environment or {})},
        )
        left = os.listdir(self.folder)
        self.assertFalse([name for name in left if name.startswith("attnbench")])
        for pid in self.peers():
            self.assertFalse(os.path.exists(f"/proc/{pid}"), pid)
        return done

    def peers(self):
        """Gives the processes that were started."""
        path = os.path.join(self.folder, "fake_peer.pids")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return file.read().split()

    def measure(self, *arguments, status=0, **keywords):
        """Gives the cells, by mechanism and variant, of a sweep with that exit status.
        """
        done = self.run_sweep(*TINY, "--force", "-o", "r.json", *arguments, **keywords)
        self.assertEqual(done.returncode, status, done.stderr)
        with open(os.path.join(self.folder, "r.json"), encoding="utf-8") as file:
            document = json.load(file)
        validate(document, "sweep")
        self.libraries = document["context"]["libraries"]
        return {(c["mechanism"], c["variant"]): c for c in document["cells"]}

    def expect_refused(self, *messages, arguments=BOTH, peer=FAKE):
        done = self.run_sweep(*TINY, "-o", "r.json", *arguments, peer=peer)
        with self.subTest(arguments=arguments, peer=peer):
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            for message in messages:
                self.assertIn(message, done.stderr)
            self.assertNotIn("r.json", os.listdir(self.folder))


class Slow(PeerTest):
    def test_what_a_peer_does_untimed_may_take_longer_than_its_trials(self):
        cells = self.measure(*BOTH, peer=FAKE + " warm")
        self.assertEqual(cells["soft", "framework"]["status"], "ok")


class Resumed(PeerTest):
    def test_a_peer_that_is_edited_during_a_run_ends_it(self):
        peer = os.path.join(self.folder, "peer.py")
        with open(FAKE.split()[1], encoding="utf-8") as file:
            script = file.read().replace("ROOT = ", f"ROOT = {ROOT!r} or ")
        with open(peer, "w", encoding="utf-8") as file:
            file.write(script)
        command = [PROGRAM, "run-sweep", "-T", "6,7", *TINY[2:-1], "300", *BOTH, "-o", "r.json",
                   "--peer", "/usr/bin/python3 peer.py"]
        with subprocess.Popen(command, cwd=self.folder, text=True,
                              stderr=subprocess.PIPE) as run:
            while not run.stderr.readline().startswith("[1/2]"):
                self.assertIsNone(run.poll(), "ended before that")
            with open(peer, "a", encoding="utf-8") as file:
                file.write("# edited")
            error = run.stderr.read()
        self.assertEqual(run.returncode, 2, error)
        self.assertIn("--peer: was changed while it was measured", error)

    def test_points_of_another_peer_are_not_taken(self):
        self.measure(*BOTH)
        done = self.run_sweep(*TINY, *BOTH, "--resume", "-o", "r.json", peer=FAKE + " ")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("1 point there is not of this sweep", done.stderr)
        done = self.run_sweep(*TINY, *BOTH, "--resume", "-o", "r.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nothing left to do", done.stdout)

    def test_points_of_a_peer_that_was_edited_are_not_taken(self):
        peer = os.path.join(self.folder, "peer.py")
        fake = FAKE.split()[1]
        with open(peer, "w", encoding="utf-8") as file:
            file.write(f"import runpy\nrunpy.run_path({fake!r}, run_name='__main__')\n")
        command = f"/usr/bin/python3 '{peer}'"
        self.measure(*BOTH, peer=command)
        done = self.run_sweep(*TINY, *BOTH, "--resume", "-o", "r.json", peer=command)
        self.assertIn("nothing left to do", done.stdout)
        with open(peer, "a", encoding="utf-8") as file:
            file.write("# faster now\n")
        done = self.run_sweep(*TINY, *BOTH, "--resume", "-o", "r.json", peer=command)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("1 point there is not of this sweep", done.stderr)


class Measuring(PeerTest):
    def test_a_peer_is_measured_like_any_other_cell(self):
        for batch, precision, near in (("1", "f32", 1e-5), ("2", "f64", 1e-12)):
            cells = self.measure(*BOTH, "-B", batch, "--precision", precision)
            ours, peers = cells["soft", "exact"], cells["soft", "framework"]
            self.assertEqual(len(peers["samples_ns"]), 3)
            self.assertEqual(len(peers["draw_ns"]), len(ours["draw_ns"]))
            trials, draws = peers["trials_per_sample"], len(peers["draw_ns"])
            self.assertTrue(trials < draws or trials % draws == 0, trials)
            self.assertEqual(peers["operations"], ours["operations"])
            self.assertIsNone(peers["peak_memory_bytes"])
            self.assertIsInstance(peers["prepare_ns"], float)
            self.assertGreater(peers["numerics"]["error_bound"],
                               peers["numerics"]["error"])
            # The draws are the same, so the contexts are.
            for sum_of in ("context_sum", "context_l2"):
                self.assertAlmostEqual(peers["numerics"][sum_of],
                                       ours["numerics"][sum_of], delta=near)
            self.assertIn("fake_numpy", self.libraries)

    def test_training_too_and_what_approximates_has_no_bound(self):
        for mode in ("expect", "gradient"):
            cells = self.measure(*ALPHA, "--mode", mode)
            ours = cells["monotonic", "exact"]["numerics"]
            peers = cells["monotonic", "framework"]["numerics"]
            self.assertAlmostEqual(ours["attention_mass"], peers["attention_mass"],
                                   places=5)
            self.assertIsNone(peers["error_bound"])
            # The peer's gradient is zero, and its error must show that.
            self.assertEqual(peers["error"] > 1e-3, mode == "gradient")

    def test_page_faults_of_a_trial_are_those_of_the_peer_that_tells_them(self):
        faults = lambda fault: self.measure(*BOTH, peer=FAKE + fault)["soft", "framework"][
            "page_faults"]
        self.assertLess(faults(""), 50)
        self.assertAlmostEqual(faults(" pages"), 100, delta=50)
        self.assertIsNone(faults(" no_faults"))

    def test_an_experiment_names_it(self):
        with open(os.path.join(self.folder, "e.json"), "w", encoding="utf-8") as file:
            json.dump({"name": "e", "alternatives": [
                {"mechanism": "soft", "variant": ["exact", "framework"]}]}, file)
        cells = self.measure("e.json")
        self.assertEqual([c["status"] for c in cells.values()], ["ok", "ok"])

    def test_what_it_does_not_have_is_skipped_and_says_so(self):
        for arguments, message in [
            (["--energy", "additive"], "energy additive is not one of variant framework's: dot"),
            (["--schedule", "teacher_forced"], "schedule teacher_forced is not one of"),
            (["--mode", "expect"], "mode expect is not one of variant framework's: decode"),
            (["-B", "13"], "13 is unlucky"),
        ]:
            cell = self.measure(*BOTH, *arguments)["soft", "framework"]
            self.assertEqual(cell["status"], "skipped")
            self.assertIn(message, cell["message"])
        cell = self.measure("--mechanism", "memory,soft", "--variant", "framework")[
            "memory", "framework"]
        self.assertIn("variant framework is not one of memory's", cell["message"])


class GoingWrong(PeerTest):
    def expect_failed(self, fault, status, message, *arguments):
        """Expects that the peer's cell of soft has failed, and no other."""
        cells = self.measure("--mechanism", "soft", "--variant", "exact,framework",
                             *arguments, peer=f"{FAKE} {fault}", status=1)
        self.assertEqual(cells["soft", "exact"]["status"], "ok")
        failed = cells["soft", "framework"]
        self.assertEqual((failed["status"], failed["samples_ns"]), (status, []))
        self.assertIn(message, failed["message"])

    def test_what_it_does_not_know_is_an_error_that_names_it(self):
        sequence = {"outputs": 1, "energy_bias": 0, "energy_scale": 0, "given": {},
                    "cotangent": {}, "wanted": []}
        call = {"call": "prepare", "cell": 1, "axes": {"precision": "f64", "batch": 1,
                                                       "mechanism": "soft"},
                "options": {}, "file": os.devnull, "parameters": {}, "draws": [[sequence]]}
        gates = {"offset": 0, "rows": 0, "columns": 0}
        for message, unknown in [
            ({**call, "draws": [[{**sequence, "slopes": gates, "gates": gates}]]},
             "gates, slopes"),
            ({**call, "weights": {}}, "weights"),
            (call, None),
        ]:
            done = subprocess.run(FAKE.split(), input=json.dumps(message), cwd=self.folder,
                                  capture_output=True, text=True, check=True)
            answer = json.loads(done.stdout)
            self.assertEqual(answer, {} if unknown is None else {
                "error": f"ValueError: the peer does not know {unknown}"})

    def test_wrong_numbers_get_no_time(self):
        self.expect_failed("wrong", "invalid", "context differs by 0.01")

    def test_wrong_numbers_of_an_approximation_are_recorded(self):
        cells = self.measure(*ALPHA, "--mode", "expect", peer=FAKE + " wrong")
        cell = cells["monotonic", "framework"]
        self.assertEqual(cell["status"], "ok")
        self.assertAlmostEqual(cell["numerics"]["error"], 1e-2, places=4)

    def test_a_cell_of_a_peer_that_goes_wrong_is_an_error(self):
        self.expect_failed("die", "error", "ended with status 1: fake peer: that was too much")
        self.expect_failed("die prepare", "error", "ended with status 1: fake peer:")
        self.expect_failed("kill", "error", "was killed by signal 9")
        self.expect_failed("hang", "timeout", "no answer to 'time' within 3 s",
                           "--peer-limit", "3")
        self.expect_failed("talk Nonsense", "error",
                           "answered 'Nonsense', which is no object of JSON")
        self.expect_failed("talk {}", "error", "its answer to 'output': has no 'sequences'")
        self.expect_failed("lie", "error", "took 1000000000000000 ns")
        self.expect_failed("seconds", "error", "is its time in nanoseconds?")
        self.expect_failed("shape", "error", "gave contexts as [3, 3], must be [3, 4]")
        self.expect_failed("", "error", "ValueError: 'keys' is of no use",
                           "--option", "keys=on_demand")

    def test_what_it_says_does_not_move_the_cursor(self):
        done = self.run_sweep(
            *TINY, *BOTH, "-o", "r.json",
            peer=FAKE + r""" talk '{"error": "so \u001b[31m\u009b2J\rit is"}'""")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr.count("so ?[31m?2J?it is\n"), 2, done.stderr)
        self.assertNotRegex(done.stdout + done.stderr, CONTROL)
        done = self.run_sweep(
            *TINY, *BOTH, "-o", "other.json",
            peer=r"""echo '{"error": "so \u001b[31m\u009b2J\rit is"}'""")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertNotRegex(done.stdout + done.stderr, CONTROL)

    def test_one_without_an_answer_is_measured_again_with_more_time(self):
        def measure(limit, *arguments, status, is_well=False):
            done = self.run_sweep(*TINY, *BOTH, "-o", "r.json", "--peer-limit", limit, *arguments,
                                  peer=FAKE + " hang",
                                  environment={"FAKE_PEER_IS_WELL": "1"} if is_well else {})
            self.assertEqual(done.returncode, status, done.stderr)
            with open(self.path("r.json"), encoding="utf-8") as file:
                return done, json.load(file)

        _, first = measure("3", status=1)
        self.assertEqual([c["status"] for c in first["cells"]], ["ok", "timeout"])
        for limit in ("3", "2"):
            done, same = measure(limit, "--resume", status=1, is_well=True)
            self.assertIn("nothing left to do", done.stdout)
            self.assertEqual(same, first)
        done, second = measure("60", "--resume", status=0, is_well=True)
        self.assertIn("1 point with a cell that ended at a lower --cell-limit or --peer-limit is "
                      "measured again", done.stderr)
        self.assertEqual([c["status"] for c in second["cells"]], ["ok", "ok"])
        self.assertEqual([run["peer_limit_s"] for run in second["context"]["runs"]], [60])

    def test_one_that_stays_when_all_is_measured_costs_nothing(self):
        cells = self.measure(*BOTH, peer=f"sh -c '{FAKE}; trap \"\" TERM HUP; sleep 100'")
        self.assertEqual([c["status"] for c in cells.values()], ["ok", "ok"])

    def test_the_others_go_on_with_another_process(self):
        cells = self.measure(
            "--mechanism", "soft,monotonic", "--variant", "framework",
            "--mode", "decode,expect", peer=FAKE + " die time soft", status=1)
        self.assertEqual(cells["monotonic", "framework"]["status"], "ok")
        # The three processes: one described itself, the worker has one, and
        # another followed when that died.
        self.assertEqual(len(self.peers()), 3)


class WrongInput(PeerTest):
    def test_a_command_that_is_no_peer_is_refused(self):
        self.expect_refused("--peer: './no-such-peer'", "not found", peer="./no-such-peer")
        self.expect_refused("--peer: 'true' ended with status 0", peer="true")
        self.expect_refused("--peer: 'echo hello' answered 'hello', which is no object",
                            peer="echo hello")
        self.expect_refused("--peer: ", "has no 'protocol'", peer="echo {}")
        self.expect_refused("--peer: ", "ended with status 1: fake peer",
                            peer=FAKE + " die describe")
        self.expect_refused("closed its output and did not end by itself within 2 s",
                            peer="sh -c 'exec >&-; trap \"\" TERM; sleep 100'")
        self.expect_refused("which is no object", peer="yes")
        self.expect_refused("which is no object", peer="cat /dev/zero")
        self.expect_refused("no answer to 'describe' within 1 s: y", peer="sh -c 'yes >&2'",
                            arguments=[*BOTH, "--peer-limit", "1"])
        self.expect_refused("--peer: ", "no answer to 'describe' within 3 s",
                            peer=FAKE + " hang describe",
                            arguments=[*BOTH, "--peer-limit", "3"])

    def test_what_it_says_of_itself_is_checked(self):
        for change, message in [
            ("protocol=2", "protocol: is 2, must be 1"),
            ("name='\"mine\"'", "variants[0].name: \"mine\" does not match ^framework"),
            ("mechanism='\"sotf\"'", "variants[0].mechanism: unknown value 'sotf'; did you mean 'soft'?"),
            ("modes='[\"train\"]'", "variants[0].modes[0]: unknown value 'train'"),
            ("modes=[]", "variants[0].modes: is a list of 0 values"),
            ("approximates=1", "variants[0].approximates: 1 is neither true nor false"),
            ("variants=[]", "variants: is a list of 0 values"),
            ("libraries='{\"eigen\":\"9\"}'", "library 'eigen', which is one of"),
        ]:
            self.expect_refused("--peer: ", message, peer=f"{FAKE} {change}")

    def test_its_limit_is_a_number_above_zero(self):
        self.expect_refused("--peer-limit: '0' is not",
                            arguments=[*BOTH, "--peer-limit", "0"])


if __name__ == "__main__":
    unittest.main()
