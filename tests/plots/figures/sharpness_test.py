"""Guards against a picture of the distance between training and decoding that
leaves out a line, or draws contexts that there are none of."""

import unittest

from plot_case import PlotTest

from attnbench.analysis import printed
from figures import sharpness


def output(mechanism="monotonic", contexts=True, **changes):
    points = [{"sharpness": s, "attention_distance": 0.8 / s,
               "context_distance": 0.4 / s if contexts else None} for s in (4, 1, 2)]
    return {"mechanism": mechanism, "variant": "exact", "latency": {"ap": 0.5},
            "context": [[1.0, 2.0]],
            "sharpness": points, **changes}


class SharpnessFigure(PlotTest):
    def test_outputs_of_expect_give_it_and_no_other(self):
        out = self.draws(self.write(output(), "a.json"),
                         self.write(output("mocha", contexts=False), "b.json"))
        self.assertEqual(self.pictures(), ["sharpness.png", "sharpness.svg"])
        self.assertIn("  monotonic: distance of the attention 0.8 at s = 1, "
                      "0.2 at s = 4\n", out)
        self.assertIn("  mocha: ", out)
        for text in ("distance of the attention", "distance of the contexts"):
            self.assertIn(text, self.svg("sharpness"))

    def test_lines_are_the_distances_by_sharpness(self):
        figure, _ = sharpness.draw([printed.expect_of(output(), "a.json")])
        attention, contexts = (panel.lines[0] for panel in figure.axes)
        self.assertEqual(list(attention.get_xdata()), [1, 2, 4])
        self.assertEqual(list(attention.get_ydata()), [0.8, 0.4, 0.2])
        self.assertEqual(list(contexts.get_ydata()), [0.4, 0.2, 0.1])

    def test_without_a_memory_there_is_no_panel_of_contexts(self):
        figure, _ = sharpness.draw([printed.expect_of(output(contexts=False), "a.json")])
        self.assertEqual(len(figure.axes), 1)

    def test_what_is_missing_is_named(self):
        made = output()
        del made["sharpness"][1]["attention_distance"]
        self.fails_with([self.write(made)],
                        "sharpness[1]: attention_distance is 'missing'")
        self.fails_with([self.write(output(sharpness=[]))], "fewer than 2 points")
        made = output(sharpness=[{"sharpness": 0}] * 2)
        self.fails_with([self.write(made)], "sharpness must be above 0")


if __name__ == "__main__":
    unittest.main()
