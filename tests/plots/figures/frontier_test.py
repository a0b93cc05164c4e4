"""Guards against a frontier that sets a band beside another cell than exact of the same
rounds, or shows a share of energies that were not counted.
"""

import unittest

import known_effects
from made_up import make_cell, make_document
from plot_case import PlotTest

BOUNDS = (0.1, 1e-3)


def cells(bounds=BOUNDS):
    made = []
    for mode in ("expect", "gradient"):
        for energy, workload in (("additive", "symbols:8:8"), ("dot", "symbols:8:8"),
                                 ("dot", "planted")):
            same = {"mode": mode, "energy": energy, "workload": workload,
                    "schedule": "teacher_forced"}
            made.append(make_cell(
                "monotonic", 400, 50, variant="exact", options={"bound": 1e-3},
                samples_ns=[1000.0 * k for k in range(1, 9)],
                operations={"energies": 20000}, **same))
            made += [make_cell(
                "monotonic", 400, 50, variant="banded", options={"bound": bound},
                samples_ns=[250.0 * k for k in range(1, 9)],
                operations={"energies": 2000},
                band={"mass_cut": bound, "reach": 1.0, "dense": 0.0,
                      "gradient_error": 0.2 if mode == "gradient" else None,
                      "gradient_size": 7.0 if mode == "gradient" else None}, **same)
                for bound in bounds]
    return made


class FrontierFigure(PlotTest):
    def setUp(self):
        super().setUp()
        known_effects.use(self)

    def fails(self, made, *parts):
        path = self.write(make_document(made))
        self.fails_with(["--figure", "frontier", path], *parts)

    def test_it_says_energies_and_speedup_of_every_bound(self):
        out = self.draws(self.write(make_document(cells())))
        self.assertEqual(self.pictures(), ["frontier.png", "frontier.svg"])
        for mode in ("expect", "gradient"):
            self.assertRegex(out, rf"  {mode}, dot, planted: bound 0.1: 1/10 of the energies, "
                             r"4.0x \[[^]]*\]; bound 0.001: 1/10 of the energies, 4.0x")
        self.assertEqual(out.count("L1 error of the gradient: 0.2 of 7 at 0.1, 0.2 of 7"), 3)
        words = self.svg("frontier")
        for text in ("energy additive", "energy dot", "symbols:8:8", "planted",
                     "share of energies", "speed-up over exact"):
            self.assertIn(text, words)

    def test_a_band_without_exact_beside_it_is_refused(self):
        made = [cell for cell in cells() if cell["variant"] == "banded"]
        self.fails(made, "cells missing: exact beside monotonic")

    def test_a_band_without_count_or_bound_is_refused(self):
        made = cells()
        made[1]["operations"]["energies"] = 0
        self.fails(made, "has no energies")
        made = cells()
        made[1]["options"] = {}
        self.fails(made, "has no option bound")

    def test_two_mechanisms_are_refused(self):
        made = cells()
        made += [{**cell, "mechanism": "mocha"} for cell in cells()]
        self.fails(made, "several mechanisms")


if __name__ == "__main__":
    unittest.main()
