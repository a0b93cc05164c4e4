"""Guards against a bar of the figure `diagnosis` at another variant's name, a wrong
variant that looks right, and a mass of one output drawn at another."""

import unittest

import made_up
from figures import diagnosis


def variant(name, error, masses, first_wrong=None, not_finite=0):
    return {"variant": "parallel", "preset": name, "outputs": len(masses),
            "attention_error": None if not_finite else error, "not_finite": not_finite,
            "mass_errors": masses, "first_wrong": first_wrong}


def document(*variants, **more):
    return {**more, "kind": "diagnosis", "context": made_up.CONTEXT, "sequences": 2,
            "output_length": 3, "memory_length": 9, "source": "p_choose",
            "precision": "f32", "tolerance": 0.01,
            "mechanisms": [{"mechanism": "monotonic", "variants": list(variants)}]}


class Diagnosis(unittest.TestCase):
    def test_each_variant_has_its_error_and_its_masses_in_one_row(self):
        wrong = {"sequence": 1, "output": 2, "entry": None}
        figure, lines = diagnosis.draw(document(
            variant("tf", 0.4, [0, -0.5, 0.9], wrong), variant("nsp", 1e-7, [0, 0, 1e-7]),
            variant("jmin", None, [0, None], wrong, not_finite=4),
            variant("slow", None, []), mass={"least": 0.0066, "greatest": 0.055}))
        self.assertIn("exact attention sums to 0.0066 to 0.055; below 1 is right",
                      " ".join(figure.texts[-1].get_text().split()))
        self.assertEqual(lines, ["monotonic: wrong by more than 0.01: TensorFlow; "
                                 "MoChA-pytorch"])
        errors, masses = figure.axes[:2]
        names = [label.get_text() for label in errors.get_yticklabels()]
        self.assertEqual(names, ["TensorFlow", "neural_sp", "MoChA-pytorch"])
        bars = [(bar.get_y() + bar.get_height() / 2, bar.get_width())
                for bar in errors.patches]
        self.assertEqual(bars, [(0, 0.4), (1, 1e-7)])
        colors = [bar.get_facecolor() for bar in errors.patches]
        self.assertNotEqual(colors[0], colors[1])
        self.assertEqual([text.get_text().strip() for text in errors.texts], ["not finite"])
        self.assertEqual(errors.get_ylim(), masses.get_ylim())
        drawn = masses.images[0].get_array()
        self.assertEqual(drawn[:2].tolist(), [[0, 0.5, 0.9], [0, 0, 1e-7]])
        self.assertEqual(drawn.mask[2].tolist(), [False, True, True])

    def test_nothing_that_was_measured_is_no_figure(self):
        self.assertFalse(diagnosis.has_data(document(variant("slow", None, []))))


if __name__ == "__main__":
    unittest.main()
