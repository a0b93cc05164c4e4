"""Guards against own data on which training, decoding in C++ and the figures are of different
utterances, against a worked example that does not work, and against folders that have changed.
"""

import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import unittest

import jsonschema
import numpy
import torch

from attnbench.train import checkpoint, evaluation, folder, settings, tasks, trainer
from documents import ROOT, read
from in_folder import InFolder
import tiny_training

PROGRAM = os.environ["ATTNBENCH"]
EXAMPLE = os.path.join(ROOT, "docs", "examples", "own_data")
sys.path.insert(0, EXAMPLE)

import make  # noqa: E402, in a folder that the line before names


class OwnDataTest(InFolder):
    def setUp(self):
        super().setUp()
        self.experiment = read(*"docs/examples/own_data/words.json".split("/"))
        os.mkdir(self.path("words"))
        make.main(self.path("words"))
        folder.opened.cache_clear()  # of another test
        kept = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, kept)

    def run_program(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True,
                              text=True, timeout=300, check=False)

    def gives(self, *arguments):
        done = self.run_program(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, arguments, *parts):
        done = self.run_program(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def runs(self, **changes):
        """The runs of the example, each with these settings."""
        self.experiment["settings"].update(changes)
        return settings.runs(self.experiment, "words.json")

    def train(self, **changes):
        """Trains the example with these settings, and gives its result."""
        self.experiment["settings"].update(changes)
        self.write("words.json", json.dumps(self.experiment))
        self.gives("train", "words.json", "--keep-checkpoints", "-o", "r.json")
        return tiny_training.result(self.path("r.json"))

    def check_decoding(self, result, output):
        """The program decodes the same sequences, with the same error."""
        for run in result["runs"]:
            path = f"{output}.checkpoints/{run['name']}-seed1.json"
            self.gives("decode", "--model", path, "--force", "-o", "d.json")
            decoded = read(self.path("d.json"))
            self.assertEqual(decoded["run"]["settings"], run["settings"])
            expected = run["result"]["hard_error"]
            self.assertAlmostEqual(
                decoded["error"], run["result"]["soft_error"] if expected is None else expected)
            made = settings.run_of(decoded["run"]).settings.examples(tasks.HELD_OUT, 1, 0, 9)
            self.assertEqual([one["target"] for one in decoded["sequences"]],
                             [one.target.tolist() for one in made])
            self.assertEqual([one["memory_length"] for one in decoded["sequences"]],
                             [len(one.source) for one in made])


class Example(OwnDataTest):
    def test_the_commands_of_its_page_work_to_the_end(self):
        shutil.rmtree(self.path("words"))
        with open(os.path.join(ROOT, "docs", "own_data.md"), encoding="utf-8") as file:
            commands, table, message = re.findall("```\n(.*?)```", file.read(), re.S)
        for line in commands.splitlines():
            words = shlex.split(line.replace("docs/", os.path.join(ROOT, "docs/")))
            if words[0] == "build/release/attnbench":
                words[0] = PROGRAM
            done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True,
                                  timeout=600, check=False)
            self.assertEqual(done.returncode, 0, f"{line}\n{done.stderr}")
            if "decode" in words:
                self.assertRegex(done.stdout, r" west [a-z ]*</s> .* west ")
        result = tiny_training.result(self.path("words.json"))
        self.check_decoding(result, "words.json")
        for run in result["runs"]:
            self.assertEqual(run["settings"]["data_facts"]["source"],
                             "docs/examples/own_data/make.py")
            self.assertEqual(run["settings"]["held_out"], 5)
            self.assertEqual("alignment_error" in run["result"], run["name"] != "soft")
            self.assertNotIn("alignment_error", run["curve"][0])
        self.assertTrue(glob.glob(self.path("*.png")))
        lines = self.text("words/utterances.tsv").splitlines(True)
        self.assertEqual("".join(lines[:2]), table)
        lines[4] = re.sub("north|east|south|west", "up", lines[4], 1)
        self.write("words/utterances.tsv", "".join(lines))
        done = self.run_program("train", os.path.join(EXAMPLE, "words.json"), "-o", "s.json")
        self.assertEqual(done.stderr, message)


class Trained(OwnDataTest):
    def test_a_folder_that_has_changed_is_refused_by_name(self):
        self.train(steps=5, curve_every=0)
        path = "r.json.checkpoints/monotonic-seed1.json"
        checkpoint.check_is_of(checkpoint.read(path), self.runs()[1], path)
        name = "words/features/utterance0019.npy"  # of the training
        numpy.save(self.path(name), numpy.load(self.path(name)) + 1)
        models = [(command, "--model", path) for command in ("decode", "diagnose", "advise",
                                                             "gap")]
        for arguments in models:
            self.refused(arguments, "words: has changed since the model was trained")
        self.refused(("train", "words.json", "--resume", "-o", "r.json"),
                     "r.json: holds run soft")
        os.remove(self.path("r.json"))
        self.refused(("train", "words.json", "--resume", "-o", "r.json"),
                     "is of a run with data_facts")
        os.rename(self.path("words"), self.path("elsewhere"))
        for arguments in models:
            self.refused(arguments, "words: is not there", "the working folder, ")
        self.refused(("train", "words.json", "-o", "s.json"), "words: is no folder")

    def test_sources_may_be_symbols(self):
        rows = ["id\tsplit\tsource\ttarget\tends"]
        rows += [f"{n}\t{'train' if n > 3 else 'held_out'}\ta b c{' b' * n}\tx y\t2 3"
                 for n in range(12)]
        shutil.rmtree(self.path("words"))
        os.mkdir(self.path("words"))
        self.write("words/utterances.tsv", "\n".join(rows))
        self.write("words/vocabulary.txt", "x\ny\n")
        self.write("words/source_vocabulary.txt", "a\nb\nc\n")
        # Its position encoding needs the length of the longest source.
        self.experiment["alternatives"].append({"name": "memory", "settings": {
            "mechanism": "memory", "num_contexts": 4, "position_encoding": "raw"}})
        self.experiment["alternatives"].append({"name": "additive", "settings": {
            "mechanism": "monotonic", "energy": "additive"}})
        result = self.train(steps=20, curve_every=0)
        self.check_decoding(result, "r.json")
        model = read(self.path("r.json.checkpoints/soft-seed1.json"))
        shape = model["parameters"]["source_embedding"]["shape"]
        self.assertEqual(shape, [5, 8])

    def test_the_distance_from_the_ends_is_of_the_entries_that_are_chosen(self):
        run = self.runs()[1]
        held_out = run.settings.examples(tasks.HELD_OUT, 1, 0, 5)
        ends = numpy.concatenate([one.ends for one in held_out])
        lengths = numpy.concatenate([[len(one.source)] * len(one.ends) for one in held_out])
        for bias, chosen in ((100, 1), (-100, lengths)):  # the first entry, none
            model = trainer.Trainer(run).model
            with torch.no_grad():
                model.by_name()["attention.r"].fill_(bias)
            result = evaluation.evaluate(model, run, 5, whole=True)
            late = chosen - ends
            self.assertAlmostEqual(result["alignment_error"], numpy.abs(late).mean())
            self.assertAlmostEqual(result["lateness"], late.mean())
            lower = numpy.sort(late)[(len(late) - 1) // 2]
            self.assertAlmostEqual(result["median_lateness"], lower)
            self.assertEqual(result["waiting_share"], float(bias < 0))
            shares = result["lateness_histogram"]
            self.assertEqual(len(shares), 21)
            for off in (-10, -1, 0, 2, 10):
                bins = numpy.clip(numpy.rint(late), -10, 10)
                self.assertAlmostEqual(shares[10 + off], (bins == off).mean(), msg=off)

    def test_what_chooses_nothing_waits_for_the_last_entry(self):
        run = self.runs()[0]
        result = evaluation.evaluate(trainer.Trainer(run).model, run, 5, whole=True)
        held_out = run.settings.examples(tasks.HELD_OUT, 1, 0, 5)
        late = numpy.concatenate([len(one.source) - one.ends for one in held_out])
        self.assertAlmostEqual(result["lateness"], late.mean())
        self.assertNotIn("alignment_error", result)
        self.assertNotIn("waiting_share", result)

    def test_an_example_has_the_frames_the_symbols_and_where_they_end(self):
        run = self.runs()[1]
        made = trainer.Trainer(run).example()
        held_out = run.settings.examples(tasks.HELD_OUT, 1, 0, 5)
        longest = max(held_out, key=lambda one: len(one.target))
        names = self.text("words/vocabulary.txt").split()
        self.assertEqual([names.index(one) + 2 for one in made["symbols"]],
                         longest.target[:-1].tolist())
        numpy.testing.assert_allclose(made["ends"], longest.ends)
        numpy.testing.assert_allclose(made["frames"], longest.source, atol=0.0501)

    def test_errors_of_a_speaker_are_of_the_utterances_of_that_speaker(self):
        lines = self.text("words/utterances.tsv").splitlines()
        # The first five are held out.
        speakers = ["speaker", "ann", "ann", *["bob"] * 18]
        self.write("words/utterances.tsv", "\n".join(map("\t".join, zip(lines, speakers))))
        run = self.runs(steps=40, curve_every=0)[1]
        made = trainer.Trainer(run)
        while not made.is_done:
            made.step()
        of_ann, of_all = (made.evaluate(count, whole=True) for count in (2, 5))
        ann, bob = map(dict, of_all["speakers"])
        self.assertEqual((ann.pop("speaker"), bob["speaker"]), ("ann", "bob"))
        self.assertEqual((ann.pop("in_training"), bob["in_training"]), (False, True))
        self.assertEqual(len(ann), 6)
        self.assertAlmostEqual(ann.pop("median_lateness"), of_ann["median_lateness"])
        symbols = [len(one.target) - 1 for one in run.settings.examples(tasks.HELD_OUT, 1, 0, 5)]
        for name, of_speaker in ann.items():
            self.assertAlmostEqual(of_speaker, of_ann[name])
            self.assertAlmostEqual(
                of_speaker * sum(symbols[:2]) + bob[name] * sum(symbols[2:]),
                of_all[name] * sum(symbols))
        run_schema = read("results", "schema", "trained.schema.json")["properties"]["runs"]["items"]
        jsonschema.validate(of_all, run_schema["properties"]["result"])

    def test_an_example_is_of_a_speaker_that_training_has_not_heard(self):
        lines = self.text("words/utterances.tsv").splitlines()
        speakers = ["speaker", *["bob"] * 4, "ann", *["bob"] * 15]
        self.write("words/utterances.tsv", "\n".join(map("\t".join, zip(lines, speakers))))
        run = self.runs()[1]
        made = trainer.Trainer(run).example()
        *_, of_ann = run.settings.examples(tasks.HELD_OUT, 1, 0, 5)
        self.assertEqual((made["speaker"], made["ends"]), ("ann", of_ann.ends.tolist()))

    def test_what_is_wrong_is_told_in_a_line_before_anything_is_trained(self):
        self.write("words.json", json.dumps(self.experiment))
        text = self.text("words/utterances.tsv")
        self.write("words/utterances.tsv", text.replace("\theld_out\t", "\theldout\t", 1))
        self.refused(("train", "words.json", "-o", "r.json"),
                     "words/utterances.tsv:2: the split is 'heldout'")
        self.assertFalse(glob.glob(self.path("r.json*")))


if __name__ == "__main__":
    unittest.main()
