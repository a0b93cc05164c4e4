"""Guards against pictures of latency that hide a mechanism, a bias or a cell
without figures, and against a share of the memory that is not what was passed."""

import unittest

import known_effects
from made_up import make_cell, make_document, stop
from plot_case import PlotTest

from attnbench.analysis import load, reads
from figures import latency, memory_share

T, U = 100, 40
# r: (AP, AL, DAL, entries passed, outputs that chose)
BIASES = {4: (0.1, 2.0, 3.0, 20, 40), 0: (0.3, 9.0, 9.5, 60, 39),
          -8: (0.9, 80.0, 85.0, 100, 10)}


def online(mechanism, r, **changes):
    ap, al, dal, passed, chose = BIASES[r]
    figures = changes.pop("figures", {"ap": ap, "al": al, "laal": al, "dal": dal})
    return make_cell(
        mechanism, T, U, workload=f"bias:{r}", latency=figures,
        operations={"energies": passed + chose},
        numerics={"attention_mass": float(chose)}, **changes)


def cells():
    # Without an output that has no context.
    made = [make_cell("soft", T, U, workload="planted", time_ns=8000.0)]
    made += [make_cell(m, T, U, workload="planted", time_ns=2000.0,
                       operations={"energies": T + U},
                       numerics={"attention_mass": float(U)},
                       chunk_width=w) for m, w in (("monotonic", None), ("mocha", 4))]
    for r, speedup in zip(BIASES, (20.0, 8.0, 400.0)):
        made.append(make_cell("soft", T, U, workload=f"bias:{r}", latency=None,
                              time_ns=8000.0))
        made.append(online("monotonic", r, time_ns=8000.0 / speedup))
        made.append(online("mocha", r, chunk_width=4, time_ns=16000.0 / speedup))
    return made


def frame(made):
    return load.cells_of(make_document(made), "r.json")


class LatencyFigure(PlotTest):
    def setUp(self):
        super().setUp()
        known_effects.use(self)

    def fails(self, made, *parts, figure="latency"):
        path = self.write(make_document(made))
        self.fails_with(["--figure", figure, path], *parts)

    def test_a_sweep_over_the_bias_gives_both_figures(self):
        out = self.draws(self.write(make_document(cells())))
        self.assertEqual(self.pictures(), ["latency.png", "latency.svg",
                                           "memory_share.png", "memory_share.svg"])
        self.assertIn("  monotonic; mocha, w = 4, r = 0: AP 0.300, AL 9.0, DAL 9.5 "
                      "entries, 60 % of the memory passed, 3 % of the outputs without "
                      "a context\n", out)
        self.assertIn("  monotonic: 20x [20, 20] where 20 % of the memory is passed, "
                      "4.0x [4.0, 4.0] where 100 % is\n", out)
        self.assertIn("  mocha, w = 4: 10x [10, 10] where 20 %", out)
        self.assertIn("hollow: over 5 %", self.svg("memory_share"))
        for text in ("negative bias of energies", "average proportion (AP)", "AL", "DAL", "lag, entries",
                     "T = 100", "U = 40"):
            self.assertIn(text, self.svg("latency"))

    def test_each_panel_has_its_figures(self):
        figure, _ = latency.draw(frame(cells()))
        proportion, lag, passed, empty = figure.axes

        def drawn(panel, line):
            return list(panel.lines[line].get_ydata())
        # Early choices are on the left.
        self.assertEqual(list(proportion.lines[0].get_xdata()), [-4, 0, 8])
        self.assertEqual(drawn(proportion, 0), [0.1, 0.3, 0.9])
        self.assertEqual(len(proportion.lines), 1)  # the same: one line
        self.assertEqual(drawn(lag, 0), [2.0, 9.0, 80.0])
        self.assertEqual(drawn(lag, 1), [3.0, 9.5, 85.0])
        self.assertEqual(drawn(passed, 0), [0.2, 0.6, 1.0])
        for found, expected in zip(drawn(empty, 0), [0.0, 0.025, 0.75]):
            self.assertAlmostEqual(found, expected)

    def test_what_differs_has_a_line_of_its_own(self):
        made = cells()
        made[5]["latency"] = {**made[5]["latency"], "dal": 3.5}
        figure, said = latency.draw(frame(made))
        self.assertEqual(len(figure.axes[0].lines), 2)
        self.assertEqual(len(said), 6)
        self.assertTrue(said[3].startswith("mocha, w = 4, r = 4: "), said)

    def test_a_share_that_counts_do_not_tell_is_not_drawn(self):
        made = [{**cell, "end": cell["end"] and "stay_last"} for cell in cells()]
        figure, said = latency.draw(frame(made))
        self.assertEqual(len(figure.axes[2].lines), 1)
        self.assertEqual(list(figure.axes[2].lines[0].get_ydata()), 3 * [None])
        self.assertIn("an unknown share of the memory passed", said[0])
        self.fails(made, "cells missing: a mechanism that scans and ends by absorb",
                   figure="memory_share")

    def test_the_share_is_of_all_sequences_of_a_batch(self):
        cell = online("monotonic", 0, batch=4)
        cell["operations"]["energies"] = 4 * (60 + 38)
        cell["numerics"]["attention_mass"] = 4 * 38.0
        self.assertAlmostEqual(reads.of(cell, {})["memory_read"], 0.6)

    def test_of_captured_sequences_padding_counts_for_nothing(self):
        made = cells()[:3]
        for workload, chose in (("captured:full.npy", 50.0), ("captured:lost.npy", 40.0)):
            made.append(make_cell("soft", T, U, workload=workload, latency=None))
            made += [make_cell(m, T, U, workload=workload, chunk_width=w,
                               operations={"energies": 60 + chose},
                               numerics={"attention_mass": chose})
                     for m, w in (("monotonic", None), ("mocha", 4))]
        for cell in made:
            cell["batch"] = 2
        document = make_document(made)
        document["context"]["workload_files"] = [
            {"workload": name, "hash": 16 * "0", "sequences": 2, "entries": 120, "outputs": 50}
            for name in ("captured:full.npy", "captured:lost.npy")]
        found = load.cells_of(document, "r.json")["reads"]
        self.assertEqual([reads.MEMBERS, *(tuple(one.values()) for one in found[3:8])],
                         [("memory_read", "zero_contexts"), (1, 0), (0.5, 0), (0.5, 0),
                          (1, 0), (0.5, 1 - 40 / 50)])

    def test_the_speed_up_stands_over_the_share(self):
        figure, _ = memory_share.draw(frame(cells()))
        monotonic = figure.axes[0].containers[0].lines[0]
        self.assertEqual(list(monotonic.get_xdata()), [0.2, 0.6, 1.0])
        for found, expected in zip(monotonic.get_ydata(), [20, 8, 4]):
            self.assertAlmostEqual(found, expected)
        # Where most outputs have no context it costs nothing: apart, over their share.
        apart = figure.axes[1].containers[0].lines[0]
        self.assertEqual(list(apart.get_xdata()), [0.75])
        self.assertEqual(apart.get_fillstyle(), "none")
        self.assertAlmostEqual(apart.get_ydata()[0], 400)

    def test_what_is_missing_is_named(self):
        self.fails([c for c in cells() if (c["mechanism"], c["workload"])
                    != ("mocha", "bias:0")],
                   "cells missing: mocha, w = 4, workload bias:0")
        made = cells()
        for cell in made:
            cell.pop("latency", None)  # a result before the field
        self.fails(made, "no cell has a latency")
        made = cells()
        made[4]["latency"]["al"] = None
        self.fails(made, "cells[4].latency: al is None, it must be number")
        self.fails(cells() + cells()[4:5], "cell twice")
        uniform = [dict(c, workload="uniform") for c in cells()[3:6]]
        self.fails(uniform, "cells missing: workload bias:R")
        made = cells()
        stop(made[4], "timeout", "too long")
        self.fails(made, "cells missing: monotonic, workload bias:4")
        made = cells()
        made[7]["dim"] = 64
        self.fails(made, "mixed data: dim is 256, 64")

    def test_a_share_needs_soft_and_several_workloads(self):
        self.fails([c for c in cells() if c["mechanism"] != "soft"],
                   "cells missing: soft beside", figure="memory_share")
        self.fails(cells()[3:6], "monotonic under a second workload",
                   figure="memory_share")
        self.fails([c for c in cells() if c["mechanism"] == "soft"],
                   "cells missing", figure="memory_share")


if __name__ == "__main__":
    unittest.main()
