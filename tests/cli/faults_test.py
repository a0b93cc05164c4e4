"""Guards against what a machine does to a program: no folder for temporary files, too
low limits, signals that cannot be caught. Each such fault ends in a message and an exit
code, and leaves no process and no file.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import time
import unittest

from in_folder import InFolder

PROGRAM = os.environ["ATTNBENCH"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEER = "/usr/bin/python3 " + os.path.join(ROOT, "tests", "support", "fake_peer.py")
TINY = ["run-sweep", "--mechanism", "soft", "-T", "3:8:1", "-U", "2", "-d", "4",
        "--repetitions", "2", "-o", "r.json"]
# This point takes longer than any test waits.
LONG = ["run-sweep", "--mechanism", "soft", "-T", "100000", "-U", "3000", "-o", "long.json"]


class Faults(InFolder):
    def run_here(self, *arguments, limits=(), **environment):
        def set_limits():
            for name, value in limits:
                resource.setrlimit(name, (value, value))

        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, text=True, check=False,
                              capture_output=True, timeout=600, preexec_fn=set_limits,
                              env={**os.environ, **environment})

    def start(self, *arguments):
        return subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, text=True,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def wait_for(self, happened, run=None):
        deadline = time.monotonic() + 30
        while not happened():
            self.assertLess(time.monotonic(), deadline)
            self.assertFalse(run and run.poll() is not None, "ended before that")
            time.sleep(0.01)

    @staticmethod
    def is_worker(pid):
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
            return "measure-points" in file.read()

    def left(self):
        return [name for name in os.listdir(os.environ["TMPDIR"]) if name.startswith("attnbench")]

    def test_a_wrong_folder_for_temporary_files_is_named_before_anything_is_measured(self):
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        for place in (self.path("missing"), self.path("file")):
            done = self.run_here(*TINY, TMPDIR=place)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"TMPDIR: '{place}' is no folder", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertFalse(os.path.exists(self.path("r.json")))

    def test_a_variable_that_is_not_utf8_is_named_before_anything_is_measured(self):
        odd = os.fsencode(self.folder) + b"/\xff"
        os.mkdir(odd)
        verify = ["verify", "--quick", "-o", "r.json"]
        for name, value, arguments in ((b"OMP_PLACES", b"\xff", TINY),
                                       (b"OMP_PLACES", b"\xff", verify), (b"TMPDIR", odd, TINY)):
            done = subprocess.run(
                [PROGRAM, *arguments], cwd=self.folder, capture_output=True, check=False,
                timeout=600, env={**os.environb, name: value})
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(name + b": is not UTF-8 text", done.stderr.splitlines()[-1])
            self.assertNotIn(b"verify: ", done.stderr)  # its progress
            self.assertFalse(os.path.exists(self.path("r.json")))

    def test_a_program_whose_path_is_not_utf8_is_refused(self):
        odd = os.fsencode(self.folder) + b"/\xff"
        os.symlink(PROGRAM, odd)
        done = subprocess.run([odd, *TINY], cwd=self.folder, capture_output=True, check=False,
                              timeout=600)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(b"the program's path: is not UTF-8 text", done.stderr)

    def test_a_folder_that_was_removed_under_the_program_is_wrong_usage(self):
        good = self.path("good.json")
        self.assertEqual(self.run_here(*TINY[:-1], good).returncode, 0)
        gone = self.path("gone")

        def run_in_gone(*arguments):
            os.mkdir(gone)
            return subprocess.run([PROGRAM, *arguments], cwd=gone, text=True, check=False,
                                  capture_output=True, timeout=600,
                                  preexec_fn=lambda: os.rmdir(gone))

        for arguments in (TINY, ["verify", "--quick", "-o", "v.json"],
                          ["claims", "mocha-params", "-o", "c.json"],
                          ["claims", "mocha-params", "--results", "c"],
                          ["merge", good, "-o", "all.json"], ["compare", "r.json", good],
                          ["report", "r.json", "-o", self.path("r.html")],
                          ["report", good, "-o", "r.html"]):
            done = run_in_gone(*arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for arguments in ([*TINY[:-1], self.path("r.json")],
                          ["report", good, "-o", self.path("r.html")],
                          ["claims", "mocha-params", "matcha-memory", "--quick"]):
            done = run_in_gone(*arguments)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_limits_that_are_too_low_are_named(self):
        for limit, value, words in ((resource.RLIMIT_NOFILE, 8, "ulimit -n"),
                                    (resource.RLIMIT_NOFILE, 20, "ulimit -n"),
                                    (resource.RLIMIT_STACK, 64 << 10, "ulimit -s")):
            done = self.run_here(*TINY, limits=[(limit, value)])
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(done.stderr, rf"{words} .*: is \d+; at least \d+ is needed")

    def test_what_a_killed_run_has_left_goes_with_the_next_run(self):
        for sent in (signal.SIGKILL, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
            with self.start(*LONG, "--force") as run:
                self.wait_for(self.left, run)
                self.assertEqual(self.run_here(*TINY, "--force").returncode, 0)
                self.assertEqual(len(self.left()), 1, "the folder of a run that lives")
                run.send_signal(sent)
                run.wait()
            self.assertEqual(self.run_here(*TINY, "--force").returncode, 0)
            self.assertEqual(self.left(), [])

    def test_a_plan_that_is_interrupted_leaves_no_process_and_no_file(self):
        with self.start(*LONG, "--dry-run") as run:
            self.wait_for(self.left, run)
            run.send_signal(signal.SIGINT)
            run.stderr.read()  # ends when no worker has it open any more
        self.assertEqual(run.returncode, 130)
        self.assertEqual((self.left(), os.listdir(self.folder)), ([], []))

    def test_what_a_peer_has_started_goes_with_a_killed_run(self):
        wrapper = f"sleep 1000 & echo $! >started; mv started sleep.pid; {PEER}"
        with open(self.path("wrapper.sh"), "w", encoding="utf-8") as file:
            file.write(wrapper)
        with self.start(*LONG, "--variant", "exact,framework", "--peer", "sh wrapper.sh") as run:
            self.wait_for(lambda: os.path.exists(self.path("sleep.pid")), run)
            run.kill()
        with open(self.path("sleep.pid"), encoding="utf-8") as file:
            pid = file.read().strip()
        self.wait_for(lambda: not os.path.exists(f"/proc/{pid}"))

    def test_a_worker_that_is_killed_between_two_points_is_replaced(self):
        with self.start(*TINY) as run:
            run.stderr.readline()
            self.assertIn("[1/6]", run.stderr.readline())
            run.send_signal(signal.SIGSTOP)
            time.sleep(0.5)  # the worker finishes its point
            with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="utf-8") as file:
                (worker,) = filter(self.is_worker, file.read().split())
            os.kill(int(worker), signal.SIGKILL)
            run.send_signal(signal.SIGCONT)
            error = run.stderr.read()
        self.assertEqual(run.returncode, 0, error)
        with open(self.path("r.json"), encoding="utf-8") as file:
            self.assertEqual({cell["status"] for cell in json.load(file)["cells"]}, {"ok"})

    def test_fewer_threads_than_were_asked_for_are_an_error(self):
        for variable, wanted in (("OMP_THREAD_LIMIT", 2), ("OMP_DYNAMIC", 0)):
            done = self.run_here(*TINY, "--force", "-B", "2", "-j", "2",
                                 **{variable: "1" if wanted else "true"})
            self.assertEqual(done.returncode, wanted, done.stderr)
        done = self.run_here(*TINY, "--force", "-j", "2", OMP_THREAD_LIMIT="1")
        self.assertIn("--threads: 2 threads are asked for, OMP_THREAD_LIMIT allows 1", done.stderr)
        done = self.run_here("roofline", "--quick", "-j", "2", OMP_THREAD_LIMIT="1")
        self.assertIn("OMP_THREAD_LIMIT allows 1", done.stderr)
        done = self.run_here(*TINY, "--force", OMP_THREAD_LIMIT="1", OMP_DYNAMIC="true")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("r.json"), encoding="utf-8") as file:
            openmp = json.load(file)["context"]["openmp"]
        self.assertEqual((openmp["OMP_THREAD_LIMIT"], openmp["OMP_DYNAMIC"]), ("1", "true"))

    def test_a_case_that_is_edited_while_it_is_measured_ends_the_run(self):
        def write(number):
            with open(self.path("new.json"), "w", encoding="utf-8") as file:
                json.dump({"mechanism": "soft", "inputs": {
                    "memory": [[1, 2], [3, 4]], "states": [[number, 6]]}}, file)
            os.replace(self.path("new.json"), self.path("case.json"))

        write(5)
        with self.start("run-sweep", "--mechanism", "soft", "--workload", "file:case.json",
                        "--repetitions", "500", "-o", "r.json") as run:
            self.wait_for(self.left, run)
            write(7)
            error = run.stderr.read()
        self.assertEqual(run.returncode, 2, error)
        self.assertIn("file:case.json: was changed while it was measured", error)
        self.assertFalse(os.path.exists(self.path("r.json")))

    def test_what_the_command_reads_is_no_output_even_by_force(self):
        here = {"e.json": "experiments/ci.json", "ledger.json": "experiments/claims.json",
                "peer.py": "tests/support/fake_peer.py",
                "claims/exact.json": "results/claims/exact.json"}
        os.mkdir(self.path("claims"))
        for name, source in here.items():
            shutil.copy(os.path.join(ROOT, source), self.path(name))
        for name, *arguments in (
                ("e.json", "run-sweep", "e.json"),
                ("peer.py", *TINY[:-2], "--peer", f"{PEER} peer.py"),
                ("e.json", "report", "e.json"),
                ("e.json", "merge", "e.json"),
                ("ledger.json", "claims", "--ledger", "ledger.json"),
                ("claims/exact.json", "claims", "mocha-params", "--judge", "--results",
                 "claims")):
            done = self.run_here(*arguments, "-o", name, "--force")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"{name}: is read by this command", done.stderr)
            with open(self.path(name), encoding="utf-8") as file, \
                    open(os.path.join(ROOT, here[name]), encoding="utf-8") as before:
                self.assertEqual(file.read(), before.read())
        # Without --results no measurement is read here.
        os.rename(self.path("claims/exact.json"), self.path("exact.json"))
        done = self.run_here("claims", "mocha-params", "-o", "exact.json", "--force")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_is_printed_to_a_closed_file_goes_nowhere(self):
        whole = " ".join([PROGRAM, *TINY])
        for closed in ("2>&-", "<&-", "<&- 2>&-"):
            done = subprocess.run(["/bin/sh", "-c", f"{whole} --force {closed}"], cwd=self.folder,
                                  text=True, capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(os.listdir(self.folder), ["r.json"])

    def test_experiments_are_found_outside_of_the_sources(self):
        listed = json.loads(self.run_here("list", "--json").stdout)["experiments"]
        self.assertIn("ci", listed)
        done = self.run_here("run-sweep", "experiments/ci.json", "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
