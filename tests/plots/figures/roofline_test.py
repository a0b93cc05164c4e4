"""Guards against a roofline of another machine than the one that was measured:
limits that are missing or of other threads, a point at the wrong place, a figure
that is drawn of every sweep unasked."""

import re
import unittest

import made_up
from made_up import make_cell, make_document, stop
from plot_case import PlotTest

from attnbench.analysis import load
from figures import roofline


def limits(precision="f32", threads=1):
    """100 GFLOP/s; 50 and 10 GB/s read, 25 and 5 GB/s copied."""
    levels = (("L1", 1 << 15, 50e9), ("DRAM", None, 10e9))
    return made_up.limits(levels, precision, threads)


def cells():
    """Two mechanisms in two modes, at T = 8 and 64; 2 flops a byte."""
    made = []
    for mechanism in ("soft", "newcomer"):
        for mode, scope in (("decode", "full"), ("gradient", "attention")):
            for length in (8, 64):
                made.append(make_cell(
                    mechanism, length, 4, mode=mode, scope=scope, time_ns=1000.0,
                    operations={"flops": 200.0 * length, "bytes": 100.0 * length},
                    limit={"bound": "L1", "limit_ns": 250, "fraction": 0.25,
                           "working_set_bytes": 1}))
    made.append(make_cell("soft", 8, 4, variant="reference", time_ns=9e9))
    return made


def document(made=None, of_machine=None):
    whole = make_document(made or cells())
    whole["context"]["limits"] = of_machine or [limits("f64"), limits()]
    return whole


class RooflineFigure(PlotTest):
    def draw(self, whole, *arguments):
        """(exit code, stdout, stderr, names of the pictures)."""
        return (*self.run_draw(*arguments, self.write(whole)), self.pictures())

    def fails(self, whole, *texts):
        self.fails_with(["--figure", "roofline", self.write(whole)], *texts)

    def test_a_sweep_of_several_modes_gives_it_with_a_panel_each(self):
        code, out, err, pictures = self.draw(document())
        self.assertEqual((code, pictures), (0, ["roofline.png", "roofline.svg"]), err)
        svg = (self.folder / "roofline.svg").read_text()
        words = " ".join(re.sub("<[^>]*>", " ", svg).split())
        for text in ("decoding, scores computed", "gradient, scores given", "flops for each byte",
                     "GFLOP/s", "newcomer", "soft", "L1", "DRAM", "peak"):
            self.assertIn(text, words)
        self.assertIn("  decode, full, f32, soft, T = 64: 0.25 of L1\n", out)
        self.assertNotIn("T = 8:", out)

    def test_a_fraction_is_told_with_its_interval_where_there_is_one(self):
        made = cells()
        for cell in made:
            if cell["limit"]:
                cell["limit"]["fraction_interval"] = [0.2, 0.31]
        code, out, err, _ = self.draw(document(made))
        self.assertEqual(code, 0, err)
        self.assertIn("soft, T = 64: 0.25 [0.2, 0.31] of L1\n", out)

    def test_points_and_lines_are_where_the_numbers_put_them(self):
        frame = load.cells_of(document(), "r.json")
        figure, _ = roofline.draw(frame)
        decode, gradient = figure.axes
        # Per mechanism a line and its two points; above them the machine.
        points = {(round(float(x), 6), round(float(y) * 1e-9, 6))
                  for line in decode.lines if line.get_linestyle() == "None"
                  for x, y in line.get_xydata()}
        self.assertEqual(points, {(2, 1.6), (2, 12.8)})
        for axes, read in ((decode, 2), (gradient, 1)):
            l1, dram, peak = (line.get_xydata() for line in axes.lines[:3])
            self.assertAlmostEqual(l1[0][1] / l1[0][0], read * 25e9)
            self.assertAlmostEqual(dram[0][1] / dram[0][0], read * 5e9)
            self.assertEqual([tuple(end) for end in (l1[1], dram[1])],
                             [(4 / read, 100e9), (20 / read, 100e9)])
            self.assertEqual({y for _, y in peak}, {100e9})

    def test_a_sweep_of_one_mode_gives_it_only_when_asked(self):
        whole = document([c for c in cells() if c["mode"] == "decode"])
        code, out, err, pictures = self.draw(whole)
        self.assertEqual((code, "roofline.png" in pictures), (0, False), err)
        code, out, err, pictures = self.draw(whole, "--figure", "roofline")
        self.assertEqual((code, "roofline.png" in pictures), (0, True), err)

    def test_skipped_cells_are_left_out_and_told(self):
        made = cells()
        stop(made[0], "skipped", "no such thing")
        code, _, err, _ = self.draw(document(made))
        self.assertEqual(code, 0, err)
        self.assertIn("no such thing", (self.folder / "roofline.svg").read_text())

    def test_what_is_missing_is_named(self):
        whole = document()
        del whole["context"]["limits"]
        self.fails(whole, "result.json: context", "limits is missing")
        self.fails(document(of_machine=[limits(threads=2)]), "context.limits",
                   "precision f32 and threads 1")
        made = cells()
        made[3]["operations"]["bytes"] = 0
        self.fails(document(made), "cells[3]", "operations.bytes is 0")
        self.fails(document([c for c in cells() if c["variant"] != "exact"]),
                   "variant exact")
        made = cells()
        made[0]["threads"] = 2
        self.fails(document(made), "mixed data: threads is 1, 2")


if __name__ == "__main__":
    unittest.main()
