"""Guards against a frontier that sets a band beside another cell than exact of the same
rounds, or shows a share of energies that were not counted.
"""

import re
import unittest

import known_effects
from made_up import make_cell, make_document
from plot_case import PlotTest

BOUNDS = (0.1, 1e-3)
WORKLOADS = (("symbols:8:8", "additive"), ("symbols:8:8", "dot"), ("planted", "dot"))


def cells(bounds=BOUNDS):
    made = []
    for mode in ("expect", "gradient"):
        for workload, energy in WORKLOADS:
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

    def test_it_says_energies_speedups_and_errors_at_one_bound(self):
        out = self.draws(self.write(make_document(cells())))
        self.assertEqual(self.pictures(), ["frontier.png", "frontier.svg"])
        head, *rows = re.findall("^  .*$", out, re.M)
        self.assertRegex(head, "^  bound 0.001 +energy +energies +expect, speed-up +gradient, "
                         "speed-up +gradient, L1 error$")
        self.assertEqual(len(rows), 3)
        for row, (workload, energy) in zip(rows, WORKLOADS):
            self.assertRegex(row, rf"^  {workload} +{energy} +1/10 +4.0x \[[^]]*\] +"
                             r"4.0x \[[^]]*\] +0.2 of 7$")

    def test_the_bound_told_is_the_one_nearest_to_a_thousandth(self):
        out = self.draws(self.write(make_document(cells((0.5, 1e-2, 1e-6)))))
        self.assertIn("  bound 0.01 ", out)

    def test_without_gradients_none_are_told(self):
        made = [cell for cell in cells() if cell["mode"] == "expect"]
        out = self.draws(self.write(make_document(made)))
        self.assertNotIn("gradient, speed-up", out)
        self.assertRegex(out, r"planted +dot +1/10 +4.0x \[[^]]*\] +-\n")

    def test_shares_are_drawn_once_and_speedups_of_each_energy(self):
        self.draws(self.write(make_document(cells())))
        words = self.svg("frontier")
        for text, times in (("expectation, energy additive", 1), ("gradient, energy dot", 1),
                            ("share of energies", 1), ("speed-up over exact", 4)):
            self.assertEqual(words.count(text), times, text)
        for text in ("symbols:8:8", "planted"):
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
