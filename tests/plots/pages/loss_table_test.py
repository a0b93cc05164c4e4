"""Guards against a table of losses that takes another row for the one it names, hides a
number that is not finite, or is made of a result that has no losses."""

import unittest

import made_up
from plot_case import PlotTest

from attnbench.analysis import load
from pages import loss_table


def loss(preset, t, lost, first, **changes):
    return {"mechanism": "monotonic", "variant": "parallel" if preset else "exact",
            "preset": preset, "precision": "f32", "family": "recommended",
            "chunk_energy_scale": None, "memory_length": t, "output_length": 50,
            "draws": 25, "lost": lost, "selection_error": 3e-8, "first_length": first,
            "not_finite": 0, **changes}


def document():
    made = made_up.stability_document()
    made["losses"] = [
        loss(None, 256, 1e-8, None), loss(None, 512, 1e-8, None),
        loss("fsq_op", 256, 0.001, None), loss("fsq_op", 512, 0.1149, 420),
        loss("fsq_op", 256, 0.7, 3, precision="f64"),
        loss("nsp_no_denominator", 256, 0.9, 12), loss("nsp_no_denominator", 512, 1, 12),
        loss("jmin", 256, None, 9, selection_error=None, not_finite=3),
        loss("jmin", 512, None, 9, selection_error=None, not_finite=4),
    ]
    return made


class LossTable(PlotTest):
    def table(self, made):
        path = self.write(made)
        return loss_table.table(load.read(path, "stability"), path)

    def test_a_row_has_the_toolkit_its_first_length_and_its_losses(self):
        text = self.table(document())
        self.assertIn("U = 50, 25 draws", text)
        for row in (
            "| attnbench | `exact` | not up to 512 | 0.0 % | 0.0 % | 3e-8 |",
            "| fairseq 0.12 | `fsq_op` | 420 | 0.1 % | 11.5 % | 3e-8 |",
            "| MoChA-pytorch | `jmin` | 9 | NaN | NaN | NaN |",
        ):
            self.assertIn(row + "\n", text)
        self.assertNotIn("70.0 %", text)

    def test_a_form_that_this_code_does_not_know_has_its_name(self):
        made = document()
        for row in made["losses"]:
            if row["preset"] == "jmin":
                row.update(preset="novel")
        self.assertIn("| `novel` | `novel` | 9 |", self.table(made))

    def test_a_result_without_losses_is_refused(self):
        with self.assertRaisesRegex(load.DataError, "losses missing: measure it again"):
            self.table(made_up.stability_document())


if __name__ == "__main__":
    unittest.main()
