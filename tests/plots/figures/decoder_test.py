"""Guards against a figure of whole decoders with ratios that are not the
result's, the paper's numbers at another place, and a failed cell left out
unsaid."""

import re
import unittest

from made_up import make_document
from plot_case import ROOT, PlotTest

from analysis import decoder_reads
from figures import britz_table1

RATIOS = {"none": 0.5, "memory": 0.625, "soft": 1.0, "mocha": 0.875}
PAPERS = 9.59 / 14.28  # table 1, L = 200, K = 32


def cells(lengths=(50, 200), beams=(10, 1)):
    return [
        {
            "mechanism": mechanism,
            "num_contexts": 32 if mechanism == "memory" else None,
            "chunk_width": 4 if mechanism == "mocha" else None,
            "units": 256,
            "memory_share": 1,
            "length": length,
            "beam": beam,
            "status": "ok",
            "message": None,
            "ratio_to_soft": {"value": ratio, "interval": [ratio * 0.9, ratio * 1.1]},
        }
        for length in lengths for beam in beams for mechanism, ratio in RATIOS.items()
    ]


def document(made):
    return {
        "schema_version": 1,
        "kind": "decoder",
        "context": make_document([])["context"],
        "model": {"vocabulary": 20, "layers": 2, "forget_bias": 1},
        "cells": made,
    }


class DecoderFigure(PlotTest):
    def test_a_time_like_that_of_trained_weights_is_one_here_as_in_the_program(self):
        header = (ROOT / "harness" / "measure" / "decoder_ratios.h").read_text(encoding="utf-8")
        constants = dict(re.findall(r"constexpr double (k\w+) = ([\d.]+);", header))
        self.assertEqual(float(constants["kLeastMemoryRead"]), decoder_reads.LEAST_READ)
        self.assertEqual(float(constants["kMostZeroContexts"]), decoder_reads.MOST_EMPTY)

    def fails(self, made, *parts):
        self.fails_with(["--figure", "britz_table1", self.write(document(made))], *parts)

    def test_times_of_several_models_are_not_of_one_figure(self):
        for key, value in (("units", 64), ("memory_share", 0.25)):
            for index, mechanism in enumerate(RATIOS):  # soft among them
                made = cells()
                made[index][key] = value
                self.assertEqual(made[index]["mechanism"], mechanism)
                self.fails(made, "2 models")

    def test_a_result_of_whole_decoders_gives_it(self):
        out = self.draws(self.write(document(cells())))
        self.assertEqual(self.pictures(), ["britz_table1.png", "britz_table1.svg"])
        self.assertIn("L = 200, beam 10, memory, K = 32 / soft: 0.625 "
                      f"(paper: {PAPERS:.3f})\n", out)
        self.assertIn("L = 200, beam 1, memory, K = 32 / soft: 0.625\n", out)
        self.assertIn("L = 200, beam 10, mocha, w = 4 / soft: 0.875\n", out)
        words = self.svg("britz_table1")
        for text in ("here: beam 10", "here: greedy", "longest source L", "Britz, table 1",
                     "memory, K = 32", "256 units, vocabulary 20"):
            self.assertIn(text, words)

    def test_what_was_read_stands_beside_the_ratio_of_what_chooses(self):
        made = cells()
        for cell in made:
            if cell["mechanism"] == "mocha":
                cell["end"] = "absorb"
                cell["reads"] = {"memory_read": 0.97, "zero_contexts": 0.01,
                                 "energies_per_output": 2}
        made[-1]["reads"]["memory_read"] = 0.4
        out = self.draws(self.write(document(made)))
        self.assertIn("L = 200, beam 10, mocha, w = 4 / soft: 0.875 "
                      "(read 97 %, 1 % empty)\n", out)
        self.assertIn("L = 200, beam 1, mocha, w = 4 / soft: 0.875 "
                      "(read 40 %, 1 % empty, not as trained)\n", out)
        self.assertIn("Left out: where less than 90 %", self.svg("britz_table1"))

    def test_a_line_has_no_mark_where_the_scan_stood_still(self):
        one = {**cells()[3], "end": "absorb",
               "reads": {"memory_read": 0.97, "zero_contexts": 0.01}}
        still = {**one, "length": 200, "reads": {"memory_read": 0.97, "zero_contexts": 0.2}}
        lines = britz_table1._lines([one, still], ["mocha, w = 4"], one["beam"])
        self.assertEqual(list(lines["mocha, w = 4"]), [50])

    def test_a_cell_that_failed_is_left_out_and_named(self):
        made = cells()
        made[1].update(status="invalid", message="wrong", ratio_to_soft=None)
        self.draws(self.write(document(made)))
        _, lines = britz_table1.draw({**document(made), "path": "made up"})
        self.assertEqual(lines[0], "L = 50, beam 10, memory, K = 32: invalid: wrong")
        of_memory = [cell for cell in made if cell["mechanism"] == "memory"]
        drawn = britz_table1._lines(of_memory, ["memory, K = 32"], 10)["memory, K = 32"]
        self.assertEqual(list(drawn), [200])

    def test_a_skipped_cell_is_left_out_of_its_line(self):
        made = cells()
        made[3].update(status="skipped", message="why", ratio_to_soft=None)
        self.draws(self.write(document(made)))

    def test_without_full_attention_there_is_no_figure(self):
        made = cells()
        for cell in made:
            cell["ratio_to_soft"] = None
        self.fails(made, "no cell has a ratio")

    def test_what_is_wrong_with_a_cell_is_named(self):
        for change, *parts in [
            ({"length": "50"}, "cells[0]", "length"),
            ({"ratio_to_soft": {"value": 0, "interval": None}}, "ratio_to_soft", "above 0"),
        ]:
            made = cells()
            made[0].update(change)
            self.fails(made, *parts)
        made = cells()
        del made[2]["beam"]
        self.fails(made, "cells[2]", "beam is missing")
        self.fails([], "cells")


if __name__ == "__main__":
    unittest.main()
