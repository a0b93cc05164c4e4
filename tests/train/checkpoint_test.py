"""Guards against going on from a file that is not what the run left (cut short, of another
run, with other numbers than were written), and against checkpoints that the program reads
otherwise than the trainer wrote them.
"""

import copy
import dataclasses
import json
import os
import subprocess
import unittest
from unittest import mock

import numpy
from documents import ROOT, read, validate
from in_folder import InFolder

from attnbench.analysis import load
from attnbench.train import checkpoint, settings

MODEL = os.path.join(ROOT, "tests", "cli", "copy_model.json")


def decoded(path):
    """What the program prints of a model."""
    done = subprocess.run(
        [os.environ["ATTNBENCH"], "decode", "--model", path, "--sequences", "20"],
        capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.replace(path, "the model")


class CheckpointTest(InFolder):
    def setUp(self):
        super().setUp()
        self.document = read("tests", "cli", "copy_model.json")
        self.read = checkpoint.read(MODEL)

    def error(self, change):
        document = copy.deepcopy(self.document)
        change(document)
        self.write("c.json", json.dumps(document))
        with self.assertRaises(load.DataError) as caught:
            checkpoint.read(self.path("c.json"))
        return str(caught.exception).removeprefix(self.folder + "/")

    def test_it_is_read_with_the_same_bits_by_both_programs(self):
        values = self.read.parameters["mix.b"]
        values[:3] = numpy.float32(0.1), numpy.nextafter(numpy.float32(0.1), 1), -0.0
        self.read.squares["mix.b"][:2] = 3.4e38, 1e-45
        self.read.loss_sum = 0.1 + 0.2
        checkpoint.write(self.path("c.json"), self.read)
        again = checkpoint.read(self.path("c.json"))
        self.assertEqual((again.run, again.step, again.loss_sum),
                         (self.read.run, self.read.step, self.read.loss_sum))
        for name, array in self.read.parameters.items():
            self.assertEqual(again.parameters[name].tobytes(), array.tobytes())
            self.assertEqual(again.parameters[name].shape, array.shape)
            self.assertEqual(again.means[name].tobytes(), self.read.means[name].tobytes())
            self.assertEqual(again.squares[name].tobytes(), self.read.squares[name].tobytes())

        checkpoint.write(self.path("c.json"), checkpoint.read(MODEL))
        written = read(self.path("c.json"))
        validate(written, "checkpoint")
        self.assertEqual(written, self.document)
        self.assertIn("error", decoded(MODEL))
        self.assertEqual(decoded(self.path("c.json")), decoded(MODEL))

    def test_who_reads_finds_one_whole_checkpoint_whatever_happens(self):
        checkpoint.write(self.path("c.json"), self.read)
        self.read.step -= 1
        for name in ("fsync", "replace"):
            with mock.patch.object(os, name, side_effect=KeyboardInterrupt):
                with self.assertRaises(KeyboardInterrupt):
                    checkpoint.write(self.path("c.json"), self.read)
            self.assertEqual(checkpoint.read(self.path("c.json")).step, self.read.step + 1)
            self.assertEqual(os.listdir(self.folder), ["c.json"])
        self.read.means["mix.b"][0] = numpy.nan
        with self.assertRaisesRegex(ValueError, "mix.b has a number that is not finite"):
            checkpoint.write(self.path("c.json"), self.read)
        self.assertEqual(checkpoint.read(self.path("c.json")).step, self.read.step + 1)

    def test_cut_short_it_is_refused_by_name_wherever_it_is_cut(self):
        with open(MODEL, encoding="utf-8") as file:
            text = file.read()
        for size in range(0, len(text) - 2, 1009):
            self.write("c.json", text[:size])
            with self.assertRaisesRegex(load.DataError, "c.json: not JSON"):
                checkpoint.read(self.path("c.json"))

    def test_what_is_wrong_in_it_is_named_by_its_place(self):
        def of(name, key, value):
            return lambda document: document["parameters"][name].update({key: value})

        def run(**changed):
            return lambda document: document["run"]["settings"].update(changed)

        biases = [0.0] * 6
        for change, *parts in (
                (lambda d: d.update(kind="trained"), "c.json: kind: is not checkpoint"),
                (lambda d: d.pop("kind"), "c.json: kind: is not checkpoint"),
                (lambda d: d.update(schema_version=2), "c.json: schema_version is 2"),
                (lambda d: d.update(more=1), "c.json: ", "'more'"),
                (lambda d: d.update(step=3001), "c.json: step: is 3001", "3000 steps"),
                (run(stepps=1), "c.json: run.settings: ", "'stepps'"),
                (run(mechanism="mocka"), "c.json: run.settings: mechanism", "'mocha'"),
                (run(encoder_units=5), "c.json: run.settings.encoder_units: makes 5"),
                (of("mix.b", "shape", [2, 2]),
                 "c.json: parameters.mix.b: has 6 numbers, not as many as its shape, [2, 2]"),
                (of("mix.b", "values", biases[1:]), "c.json: parameters.mix.b: has 5 numbers"),
                (of("mix.b", "means", [*biases[1:], 1e39]),
                 "c.json: parameters.mix.b: has the number 1e+39, which f32 has not"),
                (of("mix.b", "squares", [*biases[1:], -1e-30]),
                 "c.json: parameters.mix.b.squares: has a number below 0"),
                (of("mix.b", "values", [*biases[1:], None]),
                 "c.json: parameters.mix.b: values[5] is None")):
            text = self.error(change)
            for part in parts:
                self.assertIn(part, text)

    def test_it_is_of_one_run_and_its_model(self):
        run = self.read.run

        def error(other=run):
            try:
                checkpoint.check_is_of(self.read, other, "c.json")
                checkpoint.check_parameters(self.read, "c.json")
            except load.DataError as error:
                return str(error)
            return ""

        self.assertEqual(error(), "")
        self.assertEqual(error(settings.run_of(self.document["run"])), "")
        self.assertEqual(
            error(dataclasses.replace(
                run, settings=dataclasses.replace(run.settings, mechanism="soft"))),
            'c.json: is of a run with mechanism "monotonic"; expected "soft"')
        self.assertEqual(
            error(dataclasses.replace(run, seed=4)),
            "c.json: is of run d6 with seed 1 (held out: 1); expected run d6 with seed 4 "
            "(held out: 1)")
        self.read.parameters["more"] = numpy.zeros(1, numpy.float32)
        self.assertEqual(error(), "c.json: parameters.more: is no parameter of this model")
        self.read.parameters["mix.W"] = numpy.zeros((12, 6), numpy.float32)
        self.assertEqual(
            error(), "c.json: parameters.mix.W: has the shape [12, 6]; expected [6, 12]")
        del self.read.parameters["mix.W"]
        self.assertEqual(error(), "c.json: parameters.mix.W: is missing")


if __name__ == "__main__":
    unittest.main()
