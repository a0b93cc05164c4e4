"""Guards against a trained model that no command takes, or that another model, another
document or a cut file is taken for.

copy_model.json is the checkpoint of a small run on task copy; everything else is made
from it.
"""

import copy
import os
import unittest

from documents import read, strict, validate
from result_files import ROOT, ResultFilesTest, run

MODEL = os.path.join(ROOT, "tests", "cli", "copy_model.json")


class TrainedModel(ResultFilesTest):
    def setUp(self):
        super().setUp()
        self.model = read("tests", "cli", "copy_model.json")

    def of_mechanism(self, mechanism):
        """The path of a model with the same numbers and another mechanism."""
        def change(model):
            model["run"]["settings"].update(mechanism=mechanism, num_contexts=2, chunk_width=2)
            parameters = model["parameters"]
            energy = {name: array for name, array in parameters.items()
                      if name.startswith("attention.")}
            if mechanism in ("mocha", "matcha"):
                for name, array in energy.items():
                    parameters[name.replace("attention", "chunk")] = copy.deepcopy(array)
                del parameters["chunk.r"]
            elif mechanism == "soft":
                del parameters["attention.r"]
            else:
                for name in energy:
                    del parameters[name]
                count = 2 * model["run"]["settings"]["dim"]
                for side in ("encoder", "decoder"):
                    numbers = [0.5] * count
                    parameters["memory." + side] = {
                        "shape": [2, count // 2], "values": numbers, "means": numbers,
                        "squares": numbers}
            if mechanism == "none":
                for name in ("memory.encoder", "memory.decoder", "mix.W", "mix.b"):
                    del parameters[name]
        return self.changed(f"{mechanism}.json", self.model, change)

    def decoded(self, *arguments):
        """What `decode` prints, and its document."""
        out, err = self.gives(0, "decode", *arguments, "--force", "-o", self.path("d.json"))
        self.assertEqual(err, "")
        with open(self.path("d.json"), encoding="utf-8") as file:
            return out, strict(file.read())

    def test_outputs_stand_beside_their_targets_and_the_error_is_of_all(self):
        out, document = self.decoded("--model", MODEL)
        self.assertEqual(len(document["sequences"]), 64)
        self.assertEqual(document["run"], self.model["run"])
        self.assertEqual(document["symbols"],
                         sum(len(one["target"]) - 1 for one in document["sequences"]))
        self.assertEqual(document["error"], document["edits"] / document["symbols"])
        # Of a model that knew nothing about its source it would be above 90 %.
        self.assertLess(document["error"], 0.05)
        self.check_text(out, document)

    def test_outputs_that_are_wrong_are_marked_and_counted(self):
        def say_always_five(model):
            model["parameters"]["output.b"]["values"][5] = 1000
        out, document = self.decoded(
            "--model", self.changed("five.json", self.model, say_always_five))
        self.check_text(out, document)
        for sequence in document["sequences"]:
            # The longest target without its end, and 5 more.
            self.assertEqual([one["symbol"] for one in sequence["outputs"]], [5] * 8)
        # All but one 5 of each target, if it has any, is an edit.
        self.assertEqual(document["edits"], sum(
            8 - sequence["target"].count(5) for sequence in document["sequences"]))

    def check_text(self, out, document):
        lines = out.splitlines()
        self.assertIn(": monotonic trained on copy, step ", lines[0])
        self.assertIn("; 64 of its held-out sequences", lines[0])
        self.assertIn("online: entries are encoded when", lines[1])
        for line, sequence in zip(lines[3:13], document["sequences"][:10], strict=True):
            symbols = [one["symbol"] for one in sequence["outputs"]]
            shown = [" ".join("." if symbol == 1 else str(symbol) for symbol in each)
                     for each in (sequence["target"], symbols)]
            self.assertIn(f" {shown[0]} ", line)
            self.assertIn(f" {shown[1]} ", line)
            self.assertEqual("wrong" in line, symbols != sequence["target"])
        self.assertEqual(lines[-1], f"error {100 * document['error']:.2f} %: "
                         f"{document['edits']} edits of {document['symbols']} symbols, without "
                         "end symbols")

    def test_an_entry_is_read_when_the_attention_asks_for_it(self):
        _, document = self.decoded("--model", MODEL)
        for sequence in document["sequences"]:
            read_before = 0
            for output in sequence["outputs"]:
                here = output["position"] or sequence["memory_length"]
                self.assertEqual(output["entries_read"], max(here, read_before))
                read_before = output["entries_read"]
        first = [sequence["outputs"][0]["entries_read"] for sequence in document["sequences"]]
        self.assertIn(1, first)

    def test_models_of_all_mechanisms_decode_and_fewer_sequences_are_the_first(self):
        _, whole = self.decoded("--model", MODEL)
        _, few = self.decoded("--model", MODEL, "--sequences", "12")
        self.assertEqual(few["sequences"], whole["sequences"][:12])
        for mechanism in ("mocha", "matcha", "soft", "memory", "none"):
            out, document = self.decoded("--model", self.of_mechanism(mechanism),
                                         "--sequences", "3")
            chooses = mechanism in ("mocha", "matcha")
            self.assertEqual(document["choices"] is not None, chooses)
            self.assertEqual("threshold: " in out, chooses)
            self.assertEqual("chosen entries" in out, chooses)
            for sequence in document["sequences"]:
                for output in sequence["outputs"]:
                    self.assertTrue(chooses or output["position"] is None)

    def test_diagnose_takes_the_energies_of_a_model(self):
        out, err = self.gives(0, "diagnose", "--model", MODEL, "--json")
        self.assertEqual(err, "")
        document = strict(out)
        validate(document, "diagnosis")
        self.assertEqual((document["source"], document["shape"]), ("energies", [64, 4, 4]))
        (monotonic,) = document["mechanisms"]
        self.assertEqual((monotonic["mechanism"], monotonic["sequences"]), ("monotonic", 64))
        exact = monotonic["variants"][0]
        self.assertEqual((exact["variant"], exact["first_wrong"]), ("exact", None))
        # Where decoding makes the targets, both see the same energies.
        _, decoded = self.decoded("--model", MODEL)
        self.assertAlmostEqual(monotonic["decoding"]["zero_contexts"],
                               decoded["choices"]["zero_contexts"], delta=0.05)
        self.assertAlmostEqual(monotonic["decoding"]["latency"]["ap"],
                               decoded["choices"]["latency"]["ap"], delta=0.05)
        out, _ = self.gives(0, "diagnose", "--model", MODEL, "--sequences", "3")
        self.assertIn("step ", out.splitlines()[0])
        self.assertIn("3 of its held-out sequences, each output given the target's symbols", out)

    def test_the_mechanism_and_its_window_are_the_models_own(self):
        document = strict(self.gives(0, "diagnose", "--model", self.of_mechanism("mocha"),
                                     "--sequences", "4", "--json")[0])
        self.assertEqual([one["mechanism"] for one in document["mechanisms"]], ["mocha"])
        self.assertEqual(document["chunk_width"], "2")
        document = strict(self.gives(
            0, "diagnose", "--model", self.of_mechanism("matcha"), "--sequences", "4",
            "--mechanism", "monotonic,matcha", "--json")[0])
        self.assertEqual([one["mechanism"] for one in document["mechanisms"]],
                         ["monotonic", "matcha"])

    def test_advise_starts_from_the_lengths_and_the_share_that_a_model_reads(self):
        def advise(*arguments):
            done = run("advise", "--model", MODEL, "--repetitions", "2", "--json", *arguments)
            self.assertIn(done.returncode, (0, 5), done.stderr)
            document = strict(done.stdout)
            validate(document, "advice")
            return document

        choices = self.decoded("--model", MODEL)[1]["choices"]
        document = advise()
        shape, model = document["shape"], document["model"]
        self.assertEqual((shape["memory_length"], shape["output_length"], shape["layers"]),
                         (3, 2, 1))
        self.assertEqual(shape["dim"], self.model["run"]["settings"]["dim"])
        self.assertEqual(shape["vocabulary"], 20)
        self.assertEqual(shape["memory_read"], choices["memory_read"])
        self.assertEqual(model["latency"], choices["latency"])
        self.assertEqual(model["zero_contexts"], choices["zero_contexts"])
        shape = advise("-T", "30", "-d", "16")["shape"]
        self.assertEqual((shape["memory_length"], shape["output_length"], shape["dim"]),
                         (30, 20, 16))

    def test_a_model_without_choices_has_no_p(self):
        for mechanism in ("none", "memory", "soft"):
            path = self.of_mechanism(mechanism)
            for command in ("diagnose", "advise"):
                self.refused((command, "--model", path),
                             f"{path}: run.settings.mechanism: is {mechanism}, which chooses no "
                             "entries", "monotonic, mocha, matcha")

    def test_what_is_no_checkpoint_is_refused_by_file_and_place(self):
        def refused(change, *parts):
            path = self.changed("c.json", self.model, change)
            for command in ("decode", "diagnose", "advise"):
                self.refused((command, "--model", path), f"{path}: ", *parts)

        refused(lambda model: model["run"]["settings"].update(most_symbols=10**9),
                "run.settings.most_symbols", "10000")
        refused(lambda model: model["run"]["settings"].update(mechanism="mocka"),
                "run.settings.mechanism", "mocha")
        refused(lambda model: model["run"]["settings"].update(energy_units=3),
                "run.settings.energy_units: is 3")
        refused(lambda model: model["parameters"].pop("output.b"),
                "parameters.output.b: is missing")
        refused(lambda model: model["run"]["settings"].update(task="stretch"),
                "parameters.")
        refused(lambda model: model["run"]["settings"].update(mechanism="mocha"),
                "parameters.chunk.V: is missing")
        refused(lambda model: model["run"]["settings"].update(encoder_units=400),
                "run.settings.encoder_units")
        refused(lambda model: model["parameters"]["output.b"].update(shape=[4, 5]),
                "parameters.output.b: has the shape [4, 5]; expected [20]")
        with open(MODEL, encoding="utf-8") as file:
            text = file.read()
        with open(self.path("cut.json"), "w", encoding="utf-8") as file:
            file.write(text[: len(text) // 2])
        for command in ("decode", "diagnose", "advise"):
            self.refused((command, "--model", self.path("cut.json")), "cut.json: ")

    def test_a_model_that_is_read_is_not_replaced(self):
        kept = self.write("kept.json", self.model)
        for command in ("decode", "diagnose", "advise"):
            self.refused((command, "--model", kept, "-o", kept, "--force"),
                         "is read by this command")


if __name__ == "__main__":
    unittest.main()
