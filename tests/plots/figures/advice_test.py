"""Guards against bars of the figure `advice` that stand at another mechanism's name, or
for a scan that read nothing without a mark."""

import unittest

import made_up
from figures import advice


def time(speedup):
    return {"time_ns": 1e6, "time_interval_ns": [0.9e6, 1.1e6], "speedup": speedup,
            "speedup_interval": [0.9 * speedup, 1.1 * speedup]}


def mechanism(name, attention, decoder, is_as_trained=True):
    return {"mechanism": name, "message": None, "is_as_trained": is_as_trained,
            "attention": attention and time(attention),
            "decoder": decoder and time(decoder)}


def document(*mechanisms):
    shape = {"memory_length": 400, "output_length": 60, "dim": 512, "beam": 8,
             "vocabulary": 1000, "layers": 2, "energy": "additive", "encoder": "timed"}
    return {"kind": "advice", "context": made_up.CONTEXT, "shape": shape,
            "mechanisms": mechanisms, "conclusion": "It pays."}


class Advice(unittest.TestCase):
    def test_each_bar_stands_at_its_name_in_both_panels(self):
        figure, lines = advice.draw(document(
            mechanism("none", None, 1.5), mechanism("soft", 1, 1),
            mechanism("mocha w=4", 4, 1.2, is_as_trained=False),
            mechanism("matcha", None, None), mechanism("memory K=32", 40, 1.4)))
        self.assertEqual(lines, ["It pays."])
        alone, whole = figure.axes[:2]
        names = [label.get_text() for label in alone.get_yticklabels()]
        self.assertEqual(names, ["no attention", "MoChA w=4 *", "fixed-size memory K=32"])
        self.assertEqual(alone.get_ylim(), whole.get_ylim())

        def bars(panel):
            return [(bar.get_y() + bar.get_height() / 2, bar.get_x() + bar.get_width())
                    for bar in panel.patches]
        self.assertEqual(bars(alone), [(1, 4), (2, 40)])
        self.assertEqual(bars(whole), [(0, 1.5), (1, 1.2), (2, 1.4)])

    def test_its_axes_are_logarithmic_and_bars_begin_at_1(self):
        figure, _ = advice.draw(document(
            mechanism("soft", 1, 1), mechanism("mocha w=4", 4, 0.5)))
        for panel, speedup in zip(figure.axes, (4, 0.5)):
            self.assertEqual(panel.get_xscale(), "log")
            low, high = panel.get_xlim()
            self.assertTrue(0 < low < speedup < high)
            (bar,) = panel.patches
            self.assertEqual((bar.get_x(), bar.get_x() + bar.get_width()), (1, speedup))
            self.assertGreater(
                sum(low <= tick <= high for tick in panel.get_xticks()), 1)

    def test_nothing_to_draw_is_no_figure(self):
        self.assertFalse(advice.has_data(document(mechanism("soft", 1, 1))))


if __name__ == "__main__":
    unittest.main()
