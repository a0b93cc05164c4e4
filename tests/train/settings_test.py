"""Guards against an experiment that trains something else than it says, that stops after
minutes instead of at once, or that one program takes and the other refuses: the
test of the program reads refused.json, too, but not its refused_in_training.
"""

import json
import os
import unittest

from documents import ROOT, read, validate
from in_folder import InFolder

from attnbench.analysis import load
from attnbench.train import parameters, settings

CASES = read("tests", "train", "refused.json")
MADE_UP = {
    "name": "e", "question": "q", "source": "s", "seed": 5, "seeds": 3,
    "settings": {"steps": 100, "noise": 1, "curve_every": 0},
    "alternatives": [
        {"name": "soft", "seeds": 1, "settings": {"mechanism": "soft"}},
        {"name": "w2", "settings": {"mechanism": "mocha", "chunk_width": 2}}],
    "profiles": {"quick": {"seeds": 2, "settings": {"steps": 7}}},
}


class SettingsTest(InFolder):
    def runs(self, document, name="e.json", **options):
        self.write(name, json.dumps(document))
        return settings.runs(settings.read_experiment(self.path(name)), name, **options)

    def error(self, document, **options):
        with self.assertRaises(load.DataError) as caught:
            self.runs(document, **options)
        return str(caught.exception)

    def test_settings_lie_over_each_other_and_seeds_come_first(self):
        made = self.runs(MADE_UP)
        self.assertEqual([(run.name, run.seed) for run in made],
                         [("soft", 5), ("w2", 5), ("w2", 6), ("w2", 7)])
        for run in made:
            self.assertEqual((run.held_out_seed, run.settings.steps), (5, 100))
        self.assertEqual(made[0].settings.mechanism, "soft")
        self.assertEqual((made[1].settings.chunk_width, made[1].settings.noise), (2, 1))
        quick = self.runs(MADE_UP, quick=True, only=["w2"])
        self.assertEqual([(run.name, run.seed, run.settings.steps) for run in quick],
                         [("w2", 5, 7), ("w2", 6, 7)])

    def test_what_is_left_out_is_as_the_program_has_it(self):
        # The result was written by the program.
        run, = self.runs({**MADE_UP, "seeds": 1, "settings": {}, "alternatives": [{"name": "a"}]})
        model = read("tests", "cli", "copy_model.json")
        self.assertEqual(run.document().keys(), model["run"].keys())
        self.assertEqual(list(run.document()["settings"]), list(model["run"]["settings"]))
        self.assertEqual((run.settings.batch, run.settings.task, run.settings.learning_rate),
                         (32, "stretch", 0.005))
        # settings_test.cc holds these to the program's.
        self.assertEqual(run.document()["settings"], {
            key: about["default"] for key, about in settings.SCHEMA.items() if "default" in about})
        whole = self.runs({**MADE_UP, "settings": {"steps": 1e2, "noise": 1}})[0].document()
        self.assertEqual(json.dumps([whole["settings"][key] for key in ("steps", "noise")]),
                         "[100, 1.0]")

    def test_what_cannot_be_trained_is_refused_by_name(self):
        for case in (*CASES["refused"], *CASES["refused_in_training"]):
            with self.subTest(case["settings"]):
                text = self.error({**MADE_UP, "seed": 3, "settings": case["settings"],
                                   "alternatives": [{"name": "a"}]})
                for name in ("e.json: ", *case["names"]):
                    self.assertIn(name, text)
        for allowed in CASES["allowed"]:
            with self.subTest(allowed):
                self.runs({**MADE_UP, "seed": 3, "settings": allowed,
                           "alternatives": [{"name": "a"}]})

    def test_held_out_targets_that_are_all_empty_are_refused(self):
        tiny = {"task": "copy", "least_symbols": 0, "most_symbols": 1}
        for more, key in (({"held_out": 1}, "held_out"), ({"curve_held_out": 1}, "curve_held_out")):
            self.assertIn(
                f"e.json: alternatives[0].settings.{key}: is 1, and the targets of these sequences "
                "of seed 3 are empty, so that there is no error; expected more of them",
                self.error({**MADE_UP, "seed": 3, "settings": {**tiny, **more},
                            "alternatives": [{"name": "a"}]}))

    def test_the_place_of_what_is_wrong_is_named(self):
        for changed, *parts in (
                ({"more": 1}, "e.json: unknown member 'more'"),
                ({"settings": {"stepps": 3}}, "e.json: settings: ", "'stepps'", "'steps'"),
                ({"alternatives": []}, "e.json: alternatives "),
                ({"alternatives": [{"name": "a"}, {"name": "b", "settings": {"nois": 3}}]},
                 "e.json: alternatives[1].settings: ", "'nois'", "'noise'"),
                ({"alternatives": [{"name": "a"}, {"name": "a"}]},
                 "e.json: alternatives[1].name: is there twice: 'a'"),
                ({"alternatives": [{"name": "a", "settings": {"mechanism": "sotf"}}]},
                 "e.json: alternatives[0].settings: mechanism is 'sotf'", "'soft'"),
                ({"alternatives": [{"name": "a", "seeds": 2**62}]},
                 "e.json: alternatives[0]: seeds", "10000"),
                ({"profiles": {"quick": {"settings": {"x": 1}}}},
                 "e.json: profiles.quick.settings: ", "'x'"),
                ({"seeds": 2**62}, "e.json: seeds", "10000"),
                ({"seeds": 0}, "e.json: seeds"),
                ({"seed": 2**53}, "e.json: seed"),
                ({"seed": 2**53 - 2},
                 "e.json: seed: is 9007199254740990, and the last of 3 seeds of 'w2' would be "
                 "9007199254740992; the greatest is 9007199254740991")):
            with self.subTest(changed):
                text = self.error({**MADE_UP, **changed}).replace(self.folder + "/", "")
                for part in parts:
                    self.assertIn(part, text)
        self.assertEqual(self.runs({**MADE_UP, "seed": 2**53 - 3})[-1].seed, 2**53 - 1)
        self.assertIn("f.json: name: is 'e'; expected the file's, 'f'",
                      self.error(MADE_UP, name="f.json"))
        self.assertIn("--only: unknown alternative 'sofd'; did you mean 'soft'?",
                      self.error(MADE_UP, only=["sofd"]))
        del (without := dict(MADE_UP))["profiles"]
        self.assertIn("e.json: profiles: has no quick", self.error(without, quick=True))

    def test_mechanisms_of_a_library_can_be_named(self):
        document = {**MADE_UP, "alternatives": [{"name": "a", "settings": {"mechanism": "mine"}}]}
        self.assertIn("'mine'", self.error(document))
        settings.know_mechanisms(["mine", "soft"])
        run, = self.runs(document, only=["a"])[:1]
        self.assertTrue(run.settings.attends)
        self.assertFalse(run.settings.is_monotonic)
        self.assertIn("attention.W", parameters.parameter_shapes(run.settings))

    def test_the_repositorys_experiments_can_be_trained(self):
        kept = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, kept)
        names = [name for name in os.listdir(f"{ROOT}/experiments/training")
                 if name.endswith(".json")]
        self.assertIn("stretch.json", names)
        for name in names:
            with self.subTest(name):
                validate(read("experiments", "training", name), "training_experiment")
                path = f"{ROOT}/experiments/training/{name}"
                experiment = settings.read_experiment(path)
                data = experiment.get("folders", [experiment["settings"].get("data")])[0]
                for quick in (False, True):
                    if data is None:
                        self.assertTrue(settings.runs(experiment, path, quick))
                        continue
                    # Corpora are made by another program.
                    with self.assertRaisesRegex(load.DataError, f"{data}: is no folder"):
                        settings.runs(experiment, path, quick)


if __name__ == "__main__":
    unittest.main()
