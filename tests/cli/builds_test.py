"""Relinks of a program, and two programs measured in turn, from outside."""

import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import unittest

from documents import ROOT, validate
from in_folder import InFolder

PROGRAM = os.environ["ATTNBENCH"]
SWEEP = ("run-sweep", "--mechanism", "soft,monotonic", "-T", "4", "-U", "2", "-d", "4",
         "--repetitions", "2", "-o", "r.json")
EXPERIMENT = {
    "name": "small", "question": "?", "source": "none", "seed": 1, "repetitions": 2,
    "axes": {"memory_length": [4, 6], "output_length": 2, "dim": 4},
    "alternatives": [{"mechanism": "soft"}, {"mechanism": "monotonic"},
                     {"mechanism": "mocha"}],
}


class BuildsTest(InFolder):
    def run_program(self, *arguments, status=0, program=PROGRAM):
        done = subprocess.run([program, *arguments], cwd=self.folder, text=True,
                              capture_output=True, timeout=600, check=False)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr)
        return done

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)


class Relinks(BuildsTest):
    def setUp(self):
        super().setUp()
        self.relinks = os.path.join(os.path.dirname(PROGRAM), "relinks")
        if not os.path.exists(self.relinks):
            self.addCleanup(shutil.rmtree, self.relinks, ignore_errors=True)

    def test_relinks_of_another_program_are_made_again_however_new_they_are(self):
        os.makedirs(self.relinks, exist_ok=True)
        for name in ("attnbench-1", "program.sha256"):
            with open(os.path.join(self.relinks, name), "w", encoding="utf-8") as file:
                file.write("of another")
        self.run_program(*SWEEP, "--builds", "2")

    def test_each_process_is_of_the_next_relink(self):
        self.run_program(*SWEEP, "--builds", "2", "--processes", "4")
        with open(self.path("r.json"), encoding="utf-8") as file:
            document = json.load(file)
        validate(document, "sweep")
        for cell in document["cells"]:
            self.assertEqual((cell["builds"], cell["processes"]), (2, 4))
            self.assertEqual(len(cell["samples_ns"]), 8)
            self.assertGreaterEqual(cell["spread"]["builds"], 0)
        programs = [os.path.join(self.relinks, f"attnbench-{n}") for n in (1, 2)]
        contents = []
        for program in programs:
            with open(program, "rb") as file:
                contents.append(file.read())
            self.assertEqual(self.run_program("list", program=program).stdout,
                             self.run_program("list").stdout)
        self.assertNotEqual(*contents)

    def test_what_cannot_be_linked_again_is_told_before_anything_is_measured(self):
        copied = shutil.copy(PROGRAM, self.path("attnbench"))
        os.makedirs(self.path("scripts"))
        os.symlink(os.path.join(ROOT, "scripts", "relink.py"), self.path("scripts/relink.py"))
        done = self.run_program(*SWEEP, "--builds", "2", status=2, program=copied)
        self.assertIn("is no build folder of attnbench", done.stderr)
        self.assertIn("--builds: needs a build folder", done.stderr)
        self.assertNotIn("r.json", os.listdir(self.folder))

    def test_processes_are_a_multiple_of_builds(self):
        done = self.run_program(*SWEEP, "--builds", "2", "--processes", "3", status=2)
        self.assertIn("--processes: is 3, and not a multiple of --builds 2", done.stderr)


class Programs(BuildsTest):
    def compare(self, old, new, *arguments, status=0):
        experiment = self.write("small.json", json.dumps(EXPERIMENT))
        return self.run_program("compare", "--programs", old, new, experiment,
                                "--processes", "3", *arguments, status=status)

    def test_two_programs_measure_in_turn(self):
        other = shutil.copy(PROGRAM, self.path("other"))
        done = self.run_program(
            "compare", "--programs", PROGRAM, other,
            self.write("small.json", json.dumps(EXPERIMENT)), "--processes", "3",
            "--json", "--margin", "0.9", status=None)
        document = json.loads(done.stdout)
        validate(document, "compare")
        self.assertEqual(len(document["rows"]), 6)
        self.assertEqual({(row["a_processes"], row["b_processes"]) for row in document["rows"]},
                         {(3, 3)})
        self.assertEqual((document["a"]["path"], document["b"]["path"]), (PROGRAM, other))
        self.assertEqual(document["changes"], [])
        self.assertNotIn("SLOWER", {row["verdict"] for row in document["rows"]})
        self.assertEqual(sorted(os.listdir(self.folder)), ["other", "small.json"])

    def test_a_path_may_begin_with_a_dash(self):
        os.symlink(PROGRAM, self.path("-program"))
        self.write("-small.json", json.dumps(EXPERIMENT))
        done = subprocess.run(
            [PROGRAM, "compare", "--programs", "--processes", "2", "--repetitions", "1", "--json",
             "--", "-program", PROGRAM, "-small.json"],
            cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 1, 5), done.stderr)
        self.assertEqual(json.loads(done.stdout)["a"]["path"], "-program")

    def test_what_is_no_program_of_this_form_is_refused_before_anything_is_measured(self):
        stranger = self.write("stranger", "#!/bin/sh\necho hello\n")
        older = self.write("older", "#!/bin/sh\necho '{\"context\": {}}'\n")
        plain = self.write("plain", "no program")
        for path in (stranger, older):
            os.chmod(path, 0o755)
        for path, words in ((stranger, "does not say what it is"),
                            (older, "has no 'commit'"),
                            (plain, "could not be started: " + plain + ": Permission denied"),
                            (self.path("missing"), "is no program and no build folder"),
                            (self.folder, "has no attnbench; build it first")):
            with self.subTest(path):
                done = self.compare(PROGRAM, path, status=2)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertNotIn("points", done.stderr)

    def test_a_program_that_does_not_answer_is_named_within_the_limit(self):
        describes = f'case "$*" in *--describe) exec {PROGRAM} "$@";; esac\n'
        # It holds the output of the program open when that is killed.
        stray = f"setsid sh -c 'echo $$ > {self.path('stray')}; exec sleep 60' &\n"
        experiment = self.write("small.json", json.dumps(EXPERIMENT))

        def compare(case):
            number, (script, said) = case
            program = self.write(f"program{number}", f"#!/bin/sh\n{script}\n")
            os.chmod(program, 0o755)
            return program, said, self.run_program(
                "compare", "--programs", program, PROGRAM, experiment, "--processes", "3",
                "--cell-limit", "5" if script.startswith(describes) else "1", status=None)

        cases = (
            ("exec sleep 60", r"does not say what it is, as an attnbench since compare "
             r"--programs does \(gave no answer within 1 s\)"),
            ("exec >&-; exec sleep 60", "did not end by itself within 2 s"),
            ("exec tr '\\0' a < /dev/zero", "it wrote something else|no answer within 1 s"),
            ("yes >&2", "gave no answer within 1 s: y"),
            (describes + "exec sleep 60", "did not begin to measure within 5 s"),
            (describes + stray + "trap '' ALRM TERM; while :; do sleep 0.2; done",
             "did not begin to measure within 5 s"),
            (describes + "exec yes", "answered 'y', which is no object of JSON"),
            (describes + "exec tr '\\0' a < /dev/zero",
             r"answered 'a{100}\.\.\.\(\d+ characters\)\.\.\.a{100}', which is no object"
             "|did not begin to measure within 5 s"),
            (describes + "exit 3", "ended with status 3 before it measured anything"))
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            done_all = list(threads.map(compare, enumerate(cases)))
        with open(self.path("stray"), encoding="utf-8") as file:
            for process in file.read().split():
                os.kill(int(process), signal.SIGKILL)
        for program, said, done in done_all:
            with self.subTest(said):
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertRegex(done.stderr, f"attnbench: {program}: .*({said})")
                self.assertLess(len(done.stderr), 1000)

    def test_an_interrupt_ends_the_program_that_measures(self):
        experiment = self.write("small.json", json.dumps(EXPERIMENT))
        with subprocess.Popen(
                [PROGRAM, "compare", "--programs", PROGRAM, PROGRAM, experiment, "--processes",
                 "1000"], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE) as running:
            told = running.stderr.readline()
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=60)
        self.assertEqual((running.returncode, out), (130, ""), told + err)
        self.assertEqual(err.splitlines()[-1], "attnbench: compare: interrupted")

    def test_options_of_programs_go_together(self):
        done = self.run_program("compare", "--programs", PROGRAM, PROGRAM, status=2)
        self.assertIn("needs an experiment", done.stderr)


if __name__ == "__main__":
    unittest.main()
