"""Guards against a training that loses what it has done, that goes on from something
else, or that answers a wrong input with a crash.
"""

import fcntl
import json
import os
import signal
import subprocess
import time
import unittest

from documents import read
from in_folder import InFolder
import tiny_training

PROGRAM = os.environ["ATTNBENCH"]


class TrainTest(InFolder):
    def write(self, settings=None, **members):
        experiment = tiny_training.experiment(
            {"name": "soft", "settings": {"mechanism": "soft"}},
            {"name": "hard", "seeds": 2, "settings": settings or {}}, **members)
        self.dump(experiment, "tiny.json")

    def dump(self, document, name):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(document, file)

    def command(self, *arguments):
        return [PROGRAM, "train", "tiny.json", *arguments]

    def train(self, *arguments, **variables):
        return subprocess.run(
            self.command(*arguments), cwd=self.folder, env={**os.environ, **variables},
            capture_output=True, text=True, timeout=300, check=False)

    def expect_refused(self, arguments, *messages, **variables):
        with self.subTest(arguments=arguments):
            before = sorted(os.listdir(self.folder))
            done = self.train(*arguments, **variables)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stdout, "")
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertRegex(done.stderr, "^attnbench: ")
            for message in messages:
                self.assertIn(message, done.stderr)
            self.assertEqual(sorted(os.listdir(self.folder)), before)

    def result(self, name="r.json"):
        return tiny_training.result(self.path(name))

    def runs(self, name="r.json"):
        return tiny_training.runs(self.path(name))

    def test_all_runs_are_in_the_result_and_side_by_side_they_are_the_same(self):
        self.write()
        done = self.train("-o", "r.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("ok in"), 3, done.stderr)
        self.assertIn("; 3 of 3 runs\n", done.stderr)
        result = self.result()
        self.assertTrue(result["complete"])
        context = result["context"]
        self.assertEqual(context["command"], " ".join(self.command("-o", "r.json")))
        self.assertEqual((context["seed"], context["flags"]),
                         (1, "device cpu, native operators"))
        self.assertIn("torch", context["libraries"])
        names = [(run["name"], run["seed"]) for run in result["runs"]]
        self.assertEqual(names, [("soft", 1), ("hard", 1), ("hard", 2)])
        for run in result["runs"]:
            self.assertEqual([point["step"] for point in run["curve"]], [20, 40, 60])
            is_soft = run["name"] == "soft"
            self.assertEqual(run["result"]["hard_error"] is None, is_soft)
        self.assertEqual(sorted(os.listdir(self.folder)), ["r.json", "tiny.json"])
        done = self.train("-o", "two.json", "-j", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.runs("two.json"), self.runs())

    def test_a_stopped_run_goes_on_to_the_same_result(self):
        self.write(settings={"steps": 300})
        self.assertEqual(self.train("-o", "whole.json").returncode, 0)
        with subprocess.Popen(
                self.command("-o", "r.json", "--checkpoint-seconds", "0"),
                cwd=self.folder, stderr=subprocess.PIPE, text=True) as running:
            checkpoint = self.path("r.json.checkpoints/hard-seed1.json")
            end = time.monotonic() + 300
            while not os.path.exists(checkpoint) and time.monotonic() < end:
                time.sleep(0.001)
            running.send_signal(signal.SIGTERM)
            error = running.communicate(timeout=300)[1]
            self.assertEqual(running.returncode, 130, error)
        self.assertIn("1 of 3 runs are in r.json", error)
        self.assertLess(read(checkpoint)["step"], 300)
        self.assertFalse(self.result()["complete"])
        self.expect_refused(["-o", "r.json"], "r.json: is there already")

        with open(checkpoint, encoding="utf-8") as file:
            text = file.read()
        with open(checkpoint, "w", encoding="utf-8") as file:
            file.write(text[: len(text) // 2])
        self.expect_refused(["-o", "r.json", "--resume"], "hard-seed1.json: ")
        with open(checkpoint, "w", encoding="utf-8") as file:
            file.write(text.replace('"mix.b"', '"mix.c"'))
        self.expect_refused(["-o", "r.json", "--resume"],
                            "hard-seed1.json: parameters.mix.b: is missing")
        with open(checkpoint, "w", encoding="utf-8") as file:
            file.write(text)

        # What a killed process has left of the two files.
        for left in ("r.json", "r.json.checkpoints/hard-seed1.json"):
            with open(self.path(f"{left}.unfinished-abc"), "w", encoding="utf-8") as file:
                file.write("{")
        done = self.train("-o", "r.json", "--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.runs(), self.runs("whole.json"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["r.json", "tiny.json", "whole.json"])

    def test_resuming_with_other_settings_is_refused(self):
        self.write()
        self.assertEqual(self.train("-o", "r.json", "--only", "soft").returncode, 0)
        self.write(settings={"noise": 2})
        self.assertEqual(self.train("-o", "r.json", "--resume").returncode, 0)
        self.write(settings={"noise": 3})
        self.expect_refused(
            ["-o", "r.json", "--resume"], "r.json: holds run hard with seed 1", "--force")

    def test_resuming_with_another_build_is_refused_and_begun_anew_without_its_checkpoints(self):
        self.write()
        done = self.train("-o", "r.json", "--only", "soft", "--keep-checkpoints")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = self.result()
        result["context"]["build_id"] = "0123456789abcdef"
        self.dump(result, "r.json")
        self.expect_refused(["-o", "r.json", "--only", "soft", "--resume"],
                            "r.json: was made by another build", "PyTorch", "--force")
        path = self.path("r.json.checkpoints/soft-seed1.json")
        checkpoint = read(path)
        checkpoint["parameters"]["output.b"]["values"][0] += 1
        with open(path, "w", encoding="utf-8") as file:
            json.dump(checkpoint, file)
        self.assertEqual(self.train("-o", "r.json", "--only", "soft", "--force").returncode, 0)
        self.assertEqual(self.runs()[0]["result"], result["runs"][0]["result"])

    def test_parts_that_were_trained_apart_make_the_same_result(self):
        self.write()
        self.assertEqual(self.train("-o", "whole.json").returncode, 0)
        self.assertEqual(self.train("-o", "a.json", "--only", "soft").returncode, 0)
        self.assertEqual(self.train("-o", "b.json", "--only", "hard").returncode, 0)
        part = self.result("b.json")
        part["context"].update(cpu="Another", warnings=["it was hot"])
        self.dump(part, "b.json")
        done = self.train("-o", "all.json", "--parts", "a.json,b.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.runs("all.json"), self.runs("whole.json"))
        self.assertTrue(self.result("all.json")["complete"])
        told = self.result("all.json")["context"]["warnings"]
        self.assertIn("it was hot", told)
        self.assertIn("some runs were trained on another kind of machine: Another", " ".join(told))

        # What no part has is trained, and a part is another input.
        done = self.train("-o", "rest.json", "--parts", "b.json")
        self.assertEqual((done.returncode, done.stderr.count("ok in")), (0, 1), done.stderr)
        self.assertEqual(self.runs("rest.json"), self.runs("whole.json"))
        self.expect_refused(["-o", "r.json", "--parts", "a.json,c.json"], "c.json: ")
        self.expect_refused(["-o", "a.json", "--force", "--parts", "a.json"], "a.json")
        other = self.result("b.json")
        other["runs"][1]["result"]["soft_error"] += 0.1
        self.dump(other, "c.json")
        self.expect_refused(["-o", "r.json", "--parts", "b.json,c.json"],
                            "c.json: has another result of run hard with seed 2")
        part["context"]["build_id"] = "0123456789abcdef"
        self.dump(part, "b.json")
        self.expect_refused(["-o", "r.json", "--parts", "a.json,b.json"],
                            "b.json: was made by another build", "Leave it out of --parts")
        self.write(settings={"noise": 3})
        self.expect_refused(["-o", "r.json", "--force", "--parts", "b.json"],
                            "b.json: holds run hard with seed 1, of another experiment",
                            "Leave it out of --parts")

    def test_a_run_that_diverges_is_told_and_the_others_go_on(self):
        self.write()
        self.assertEqual(self.train("-o", "r.json", "--keep-checkpoints").returncode, 0)
        os.remove(self.path("r.json"))
        path = self.path("r.json.checkpoints/hard-seed1.json")
        checkpoint = read(path)
        checkpoint["step"] = 59
        values = checkpoint["parameters"]["output.W"]["values"]
        values[:] = len(values) * [3e38]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(checkpoint, file)
        done = self.train("-o", "r.json", "--resume", "--keep-checkpoints")
        self.assertEqual(done.returncode, 0, done.stderr)
        soft, hard, other = self.runs()
        self.assertEqual((soft["status"], soft["message"]), ("ok", None))
        self.assertEqual((hard["status"], hard["result"]), ("diverged", None))
        self.assertIn("in step 60", hard["message"])
        self.assertEqual((other["seed"], other["status"]), (2, "ok"))
        self.assertEqual(sorted(os.listdir(self.path("r.json.checkpoints"))),
                         ["hard-seed2.json", "soft-seed1.json"])

    def test_a_kept_checkpoint_is_the_trained_model(self):
        self.write()
        done = self.train("-o", "r.json", "--only", "hard", "--keep-checkpoints")
        self.assertEqual(done.returncode, 0, done.stderr)
        checkpoints = self.path("r.json.checkpoints")
        self.assertEqual(
            sorted(os.listdir(checkpoints)), ["hard-seed1.json", "hard-seed2.json"])
        checkpoint = read(checkpoints, "hard-seed1.json")
        self.assertEqual(checkpoint["step"], 60)
        self.assertEqual(checkpoint["parameters"]["attention.W"]["shape"], [8, 8])
        # To train what is left must not take it away.
        self.assertEqual(self.train("-o", "r.json", "--resume").returncode, 0)
        self.assertEqual(
            sorted(os.listdir(checkpoints)), ["hard-seed1.json", "hard-seed2.json"])

    def test_wrong_input_is_one_line_with_its_place(self):
        self.write()
        output = ["-o", "r.json"]
        self.expect_refused([], "--output is required")
        self.expect_refused([*output, "--only", "sofd"], "--only", "'soft'")
        self.expect_refused([*output, "--quick"], "tiny.json: profiles: has no quick")
        self.expect_refused([*output, "-j", "0"], "--jobs")
        self.expect_refused([*output, "--checkpoint-seconds", "nan"], "--checkpoint-seconds")
        self.expect_refused([*output, "--stepps", "3"], "--stepps")
        self.expect_refused(["-o", "nowhere/r.json"], "nowhere")
        self.expect_refused(["-o", "tiny.json", "--force"], "tiny.json")
        self.write(settings={"stepps": 3})
        self.expect_refused(
            output, "tiny.json: alternatives[1].settings: unknown member 'stepps'", "'steps'")
        for size in ("dim", "encoder_units", "embedding", "num_contexts"):
            self.write(settings={size: 10**12})
            self.expect_refused(output, f"settings: {size} is ", "from 1 up to 1024")
        self.write(more=1)
        self.expect_refused(output, "tiny.json: unknown member 'more'")
        with open(self.path("tiny.json"), "w", encoding="utf-8") as file:
            file.write("{")
        self.expect_refused(output, "tiny.json: ")

    def test_what_is_not_there_is_told_before_anything_is_trained(self):
        self.write()
        output = ["-o", "r.json"]
        self.expect_refused([*output, "--device", "cuda"], "--device: 'cuda' is not there")
        self.expect_refused([*output, "--device", "gpu"], "--device: unknown device 'gpu'")
        self.write(settings={"mechanism": "none"}, alternatives=[
            {"name": "a", "settings": {"mechanism": "none", "encoder_units": 9}}])
        self.expect_refused(output, "tiny.json: alternatives[0].settings.encoder_units")
        self.write()
        os.mkdir(self.path("without"))
        with open(self.path("without/torch.py"), "w", encoding="utf-8") as file:
            file.write("raise ModuleNotFoundError(\"No module named 'torch'\")\n")
        self.expect_refused(output, "No module named 'torch'", "attnbench train needs PyTorch",
                            "apt-get install python3-torch", "pip install torch",
                            PYTHONPATH=self.path("without"))

    def test_a_place_for_checkpoints_that_cannot_be_used_is_refused(self):
        self.write()
        folder = self.path("r.json.checkpoints")
        with open(folder, "w", encoding="utf-8"):
            pass
        self.expect_refused(["-o", "r.json"], "r.json.checkpoints: is there and is no folder")
        os.remove(folder)
        # The temporary file's name is some letters longer.
        self.write(alternatives=[{"name": 230 * "a"}])
        self.expect_refused(["-o", "r.json"], "-seed1.json: cannot be written: File name too long")
        self.write()
        os.makedirs(os.path.join(folder, "hard-seed2.json"))
        self.expect_refused(["-o", "r.json"], "hard-seed2.json: is there and is not a file")
        descriptor = os.open(folder, os.O_RDONLY)
        self.addCleanup(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        self.expect_refused(["-o", "r.json"], "another `attnbench train` writes there")


if __name__ == "__main__":
    unittest.main()
