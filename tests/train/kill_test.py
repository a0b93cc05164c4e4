"""Guards against a training that loses, mixes up or leaves behind something when it is killed.

    kill_test.py --kills 30 --seed 5    does so 30 times, which takes minutes
"""

import argparse
import contextlib
import glob
import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest

from documents import ROOT, read, validate
from in_folder import InFolder
import tiny_training

STEPS = 100
EXPERIMENT = tiny_training.experiment(
    {"name": "soft", "settings": {"mechanism": "soft"}}, {"name": "hard"},
    settings={**tiny_training.SETTINGS, "steps": STEPS})
SECONDS = 120  # after which something hangs


class KillTest(InFolder):
    kills, seed, jobs = 3, None, "1"

    def setUp(self):
        super().setUp()
        self.write("tiny.json", json.dumps(EXPERIMENT))

    def start(self, *more):
        # A checkpoint a step, so that most kills come while one is written.
        return subprocess.Popen(
            [sys.executable, os.path.join(ROOT, "python", "attnbench", "__main__.py"), "train",
             "tiny.json", "--checkpoint-seconds", "0", "-j", self.jobs, *more],
            cwd=self.folder, stderr=subprocess.PIPE, text=True)

    def train(self, *more):
        """Trains to the end, and gives how long that took from the result's first writing on."""
        with self.start(*more) as running:
            start = self.wait_for_begin(running, more)
            error = running.communicate(timeout=SECONDS)[1]
            self.assertEqual(running.returncode, 0, error)
        return time.monotonic() - start

    def wait_for_begin(self, running, more):
        path = self.path(more[more.index("-o") + 1])
        before = os.stat(path).st_mtime_ns if os.path.exists(path) else None
        end = time.monotonic() + SECONDS
        while running.poll() is None and time.monotonic() < end:
            with contextlib.suppress(FileNotFoundError):
                if os.stat(path).st_mtime_ns != before:
                    break
            time.sleep(0.001)
        return time.monotonic()

    def runs(self, name):
        return tiny_training.runs(self.path(name))

    def steps(self):
        """How far each run is, by what is on the disk, all of which must be whole."""
        steps = {}
        for path in glob.glob(self.path("r.json.checkpoints/*.json")):
            checkpoint = read(path)
            validate(checkpoint, "checkpoint")
            steps[checkpoint["run"]["name"]] = checkpoint["step"]
        for run in self.runs("r.json"):
            steps[run["name"]] = STEPS + 1
        return steps

    def processes(self):
        """Those that were started in the folder of this test."""
        found = []
        for entry in glob.glob("/proc/[0-9]*/cwd"):
            with contextlib.suppress(OSError):
                if os.readlink(entry) == os.path.realpath(self.folder):
                    found.append(entry)
        return found

    def test_killed_at_any_moment_it_goes_on_to_the_same_bits_and_loses_no_step(self):
        seed = self.seed if self.seed is not None else random.randrange(2**32)
        drawn = random.Random(seed)
        with self.subTest(seed=seed):
            seconds = self.train("-o", "whole.json")
            done = resumed = 0
            before = {}
            while done < self.kills:
                how = "--resume" if before else "--force"
                with self.start("-o", "r.json", how) as running:
                    if drawn.random() < 0.8:
                        self.wait_for_begin(running, ("-o", "r.json"))
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        running.wait(drawn.uniform(0, seconds))
                    running.kill()
                    error = running.communicate()[1]
                end = time.monotonic() + SECONDS
                while self.processes() and time.monotonic() < end:
                    time.sleep(0.001)
                self.assertEqual(self.processes(), [])
                if not os.path.exists(self.path("r.json")):
                    continue
                steps = self.steps()
                for name, step in before.items():
                    self.assertGreaterEqual(steps.get(name, 0), step, name)
                done += running.returncode == -signal.SIGKILL
                resumed += how == "--resume"
                before = steps
                if running.returncode == 0:
                    self.assertEqual(self.runs("r.json"), self.runs("whole.json"))
                    before = {}
                else:
                    self.assertEqual(running.returncode, -signal.SIGKILL, error)
            self.train("-o", "r.json", "--resume")
            self.assertEqual(self.runs("r.json"), self.runs("whole.json"))
            self.assertEqual(sorted(os.listdir(self.folder)),
                             ["r.json", "tiny.json", "whole.json"])
        print(f"{done} kills, {resumed} of them after --resume", file=sys.stderr)


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--kills", type=int, default=KillTest.kills)
    options.add_argument("--seed", type=int)
    known, others = options.parse_known_args()
    KillTest.kills, KillTest.seed = known.kills, known.seed
    KillTest.jobs = "2" if known.kills > 3 else "1"
    unittest.main(argv=[sys.argv[0], *others])
