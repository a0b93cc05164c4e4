"""attnbench gap from outside.

Guards against a result that is not strict JSON or not the same on any number of
threads, parts that do not add up, and a model whose loss is not the trainer's.

fed_model.json is the checkpoint of a small run on task stretch whose decoder reads its
last context, trained without noise.
"""

import os
import unittest

from documents import read, strict, validate
from result_files import ROOT, ResultFilesTest, run

MODEL = os.path.join(ROOT, "tests", "cli", "fed_model.json")
SMALL = ("-T", "12", "-U", "6", "-d", "8", "--vocabulary", "5", "--decoders", "8", "--paths", "400",
         "--sharpness", "4", "--feedback", "0,1")
TRAINER_LOSS = 0.2550952  # of the held-out set, as the trainer wrote it
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}


def numbers(document):
    return {key: value for key, value in document.items() if key != "context"}


class Gap(ResultFilesTest):
    def measured(self, *arguments, kind="gap"):
        """What `gap` prints, its document, and what it says meanwhile."""
        path = self.path("gap.json")
        result = run("gap", *arguments, "-o", path, "--force")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(path, encoding="utf-8") as file:
            document = strict(file.read())
        validate(document, kind)
        self.assertEqual(self.gives(0, "show", path), (result.stdout, ""))
        return result.stdout, document, result.stderr

    def test_a_sweep_writes_a_result_a_table_and_a_sentence(self):
        text, document, said = self.measured(*SMALL)
        self.assertRegex(said, r"gap: 16 of 16 decoders")
        self.assertEqual([(point["sharpness"], point["feedback"]) for point in document["points"]],
                         [(4, 0), (4, 1)])
        opened, closed = (point["mean"] for point in document["points"])
        self.assertEqual(opened["entries"]["mean_field"]["low"], 0)
        self.assertGreater(opened["outputs"]["sampling"]["low"], 0.05)
        self.assertGreater(closed["outputs"]["mean_field"]["low"], 0.02)
        self.assertEqual([row["output"] for row in document["points"][0]["rows"]], [*range(1, 7)])
        self.assertRegex(text, r"(?m)^  4 +1 +0\.\d{3} .* 1\.000$")
        self.assertRegex(text, r"\nThe largest gap, .* the lattice is .*\n\Z")

        one = run("gap", *SMALL, "--json", env=ONE_THREAD)
        self.assertEqual(one.returncode, 0, one.stderr)
        self.assertEqual(numbers(strict(one.stdout)), numbers(document))
        other = strict(run("gap", *SMALL, "--json", "--seed", "2").stdout)
        self.assertNotEqual(other["points"], document["points"])

    def test_without_noise_none_is_removed(self):
        document = self.measured(*SMALL, "--noise", "0")[1]
        for point in document["points"]:
            self.assertEqual(point["mean"]["outputs"]["removed_noise"],
                             {"value": 0, "low": 0, "high": 0, "floor": 0})

    def test_a_models_nats_add_up_and_begin_with_the_trainers_loss(self):
        few = ("--model", MODEL, "--paths", "256")
        text, model, said = self.measured(*few, kind="model_gap")
        self.assertRegex(said, r"gap: 256 of 256 sequences")
        self.assertEqual(model["run"], read("tests", "cli", "fed_model.json")["run"])
        nats = {name: one["value"] for name, one in model["nats"].items()}
        self.assertAlmostEqual(nats["expectation"], TRAINER_LOSS, delta=1e-3)
        self.assertAlmostEqual(nats["expectation"] + nats["mean_field"] + nats["sampling"],
                               nats["sampled"], delta=5e-5)
        self.assertAlmostEqual(nats["sampled"] + nats["thresholding"], nats["threshold"],
                               delta=5e-5)
        self.assertAlmostEqual(nats["lattice"], nats["sampled"], delta=0.02)
        self.assertGreater(model["nats"]["sampling"]["low"], 0)
        outputs = model["gap"]["outputs"]
        self.assertLess(outputs["mean_field"]["value"], 2 * outputs["mean_field"]["floor"])
        self.assertGreater(outputs["sampling"]["low"], outputs["sampling"]["floor"])
        errors = {name: one["value"] for name, one in model["errors"].items()}
        self.assertLess(errors["expectation"], errors["threshold"])
        self.assertNotIn("states", model)
        self.assertRegex(
            text, r"\nDecoding by the threshold costs 2\.072 nats an output, the expectation "
            r"without noise 0\.255\. What adds to it: sampling 0\.\d{3}, the threshold "
            r"1\.\d{3}\. A loss by the lattice would also see \d+ % of the 0\.\d{3} nats "
            r"that the mean field and sampling add together\.\n\Z")

        # A few sequences show a difference between threads as well as all do.
        one, many = (run("gap", *few, "--sequences", "16", "--json", env=env)
                     for env in (ONE_THREAD, None))
        self.assertEqual(numbers(strict(one.stdout)), numbers(strict(many.stdout)))

    def test_paths_by_default_resolve_a_model(self):
        outputs = self.measured("--model", MODEL, "--sequences", "4", kind="model_gap")[1]["gap"]
        for parts in outputs["entries"], outputs["outputs"]:
            self.assertLess(max(part["floor"] for part in parts.values()), 0.015)

    def test_a_sentence_names_only_what_is_above_chance(self):
        """A part may help, or be chance alone, and shares of nothing say nothing."""
        model = read("results", "gap_model.json")
        zero = {"value": 0.01, "low": -0.1, "high": 0.12}
        model["nats"]["mean_field"] = zero
        model["nats"]["sampling"] = {"value": -0.2, "low": -0.3, "high": -0.1}
        path = self.changed("m.json", model, lambda _: None)
        self.assertRegex(run("show", path).stdout,
                         r"What adds to it: the threshold 1\.\d{3}\.\n\Z")
        model["nats"]["thresholding"] = zero
        path = self.changed("m.json", model, lambda _: None)
        self.assertRegex(run("show", path).stdout, r"\. No part between them is above chance\.\n\Z")

    def test_noise_of_a_model_can_be_another_than_it_was_trained_with(self):
        document = self.measured("--model", MODEL, "--sequences", "8", "--noise", "2",
                                 kind="model_gap")[1]
        self.assertEqual(document["noise"], 2)
        self.assertGreater(document["gap"]["outputs"]["removed_noise"]["value"], 0.01)

    def test_models_of_other_mechanisms_are_refused_by_name(self):
        model = read("tests", "cli", "copy_model.json")
        for mechanism in ("soft", "none"):
            path = self.changed("m.json", model, lambda one, name=mechanism: self.turn(one, name))
            said = run("gap", "--model", path)
            self.assertEqual((said.returncode, said.stdout), (2, ""))
            self.assertIn(f"m.json: run.settings.mechanism: is {mechanism}; expected a model of "
                          "monotonic", said.stderr)

    @staticmethod
    def turn(model, mechanism):
        """Makes of a model of monotonic one of that mechanism."""
        model["run"]["settings"]["mechanism"] = mechanism
        parameters = model["parameters"]
        for name in [*parameters]:
            if name == "attention.r" or mechanism == "none" and name.startswith(("attention.", "mix.")):
                del parameters[name]

    def test_a_model_that_is_not_finite_is_refused(self):
        def change(model):
            output = model["parameters"]["output.W"]
            output["values"] = [3e38] * len(output["values"])
        path = self.changed("m.json", read("tests", "cli", "fed_model.json"), change)
        said = run("gap", "--model", path)
        self.assertEqual((said.returncode, said.stdout), (2, ""), said.stderr)
        self.assertIn("not finite", said.stderr)


if __name__ == "__main__":
    unittest.main()
