"""Guards against exact quantities of claims that are not what their names say, and against
inputs that are taken whatever they are. Known answers are hand calculation.
"""

import json
import os
import tempfile
import unittest
from unittest import mock

from attnbench.analysis import load
from attnbench.judge import computed

NO_LAYERS = {"reading": "as it is", "layers": []}


def embedding(inputs):
    return [{"layer": "embedding", "inputs": inputs, "units": 1}]


def share(layer):
    return {"added": [layer], "model": embedding(100), "readings": [NO_LAYERS]}


def values(name, inputs):
    computed.check(name, inputs, "ledger")
    return [row["value"] for row in computed.rows(name, inputs)]


class Computed(unittest.TestCase):
    def refused(self, name, inputs):
        with self.assertRaises(load.DataError) as caught:
            computed.check(name, inputs, "ledger")
        return str(caught.exception)

    def test_parameters_are_counted_layer_by_layer(self):
        for layer, count in (
            ({"layer": "dense", "inputs": 3, "units": 2}, 8),
            ({"layer": "lstm", "inputs": 3, "units": 2}, 48),
            ({"layer": "energy", "inputs": 3, "states": 5, "units": 2}, 22),
            ({"layer": "convolution", "height": 3, "width": 3, "inputs": 2, "units": 4,
              "normalized": True}, 84),
            ({"layer": "convolution_lstm", "width": 3, "inputs": 2, "units": 4}, 304),
        ):
            self.assertEqual(values("parameter_share", share(layer)), [count])

    def test_a_model_has_what_a_reading_adds_to_it(self):
        found = computed.rows("parameter_share", {
            "added": embedding(10), "model": embedding(100),
            "readings": [{"reading": "narrow", "layers": []},
                         {"reading": "wide", "layers": embedding(300)}]})
        self.assertEqual([(row["labels"]["reading"], row["value"]) for row in found],
                         [("narrow", 10), ("wide", 2.5)])
        self.assertIn("readings", self.refused("parameter_share", {
            "added": embedding(1), "model": embedding(1), "readings": []}))

    def test_a_layer_has_that_of_its_kind(self):
        self.assertIn("did you mean 'lstm'", self.refused(
            "parameter_share", share({"layer": "lstn", "inputs": 1, "units": 1})))
        for layer, absent in (("convolution", "height"), ("energy", "states")):
            error = self.refused("parameter_share", share(
                {"layer": layer, "inputs": 1, "units": 1, "width": 1}))
            self.assertIn(f"ledger: parameter_share.added[0]: {absent} is missing", error)
        self.assertIn("unknown key 'widht'", self.refused("parameter_share", share(
            {"layer": "lstm", "inputs": 1, "units": 1, "widht": 1})))

    def test_dividing_by_a_factor_of_zero_is_wrong(self):
        def wrong(x, gradient):
            return values("cumprod_gradient_wrong", {
                "algorithms": ["division", "product_of_others"],
                "cases": [{"x": x, "gradient": gradient}]})
        self.assertEqual(wrong([2, 3, 4], [16, 10, 6]), [0, 0])
        by_division, by_products = wrong([0, 2, 3], [9, 0, 0])
        self.assertGreater(by_division, 0)
        self.assertEqual(by_products, 0)
        # Both algorithms report gradients that are wrong.
        self.assertEqual(wrong([2, 3, 4], [16, 11, 6]), [1, 1])

    def test_without_its_framework_a_quantity_has_no_number_and_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            # Python finds this one before any that is installed.
            with open(os.path.join(folder, "torch.py"), "w", encoding="utf-8") as file:
                file.write("raise ImportError('there is no torch')\n")
            with mock.patch.dict(os.environ, {"PYTHONPATH": folder}):
                found = [
                    *computed.rows("cumprod_gradient_of_framework",
                                   {"cases": [{"x": [2, 3], "gradient": [4, 2]}]}),
                    *computed.rows("matcha_bytes_exponent",
                                   {"against": "memory_length", "memory_length": [8, 16],
                                    "output_length": [4]})]
        self.assertEqual([row["value"] for row in found], [None, None])
        for row in found:
            self.assertIn("there is no torch", row["why"])
            json.dumps(row, allow_nan=False)

    def test_bytes_grow_against_one_length_while_the_other_stays(self):
        def inputs(against, lengths):
            return {"against": against, "memory_length": lengths, "output_length": [4]}
        computed.check("matcha_bytes_exponent", inputs("memory_length", [8, 16]), "ledger")
        for against, lengths, said in (("memory_length", [8], "memory_length"),
                                       ("output_length", [8], "output_length"),
                                       ("dim", [8, 16], "against")):
            self.assertIn(said, self.refused("matcha_bytes_exponent", inputs(against, lengths)))


if __name__ == "__main__":
    unittest.main()
