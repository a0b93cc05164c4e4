"""Guards against a figure of the position encoding that is not what the program
computes, or that is drawn of another attention."""

import json
import os
import subprocess
import unittest

from plot_case import ROOT, PlotTest

PROGRAM = os.environ["ATTNBENCH"]
CASE = ROOT / "experiments" / "cases" / "britz_figure2.json"
RESULT = ROOT / "results" / "britz_figure2.json"


def expect(case):
    done = subprocess.run([PROGRAM, "expect", str(case)], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


class BritzFigure2Test(PlotTest):
    def test_the_program_multiplies_by_equation_10(self):
        table = expect(CASE)["attention"]
        contexts, length = len(table), len(table[0])
        self.assertEqual((contexts, length), (32, 64))
        for k, row in enumerate(table, 1):
            for s, value in enumerate(row, 1):
                wanted = ((1 - k / contexts) * (1 - s / length)
                          + k / contexts * s / length)
                self.assertAlmostEqual(value, wanted, delta=1e-15)

    def test_the_committed_result_is_what_the_program_prints(self):
        committed = json.loads(RESULT.read_text())
        printed = expect(CASE)
        self.assertEqual(committed.keys(), printed.keys())
        for ours, theirs in zip(committed["attention"], printed["attention"],
                                strict=True):
            for one, other in zip(ours, theirs, strict=True):
                self.assertAlmostEqual(one, other, delta=1e-15)

    def test_it_is_drawn_with_what_the_paper_says_of_it(self):
        out = self.draws(str(RESULT))
        self.assertEqual(self.pictures(), ["britz_figure2.png", "britz_figure2.svg"])
        self.assertIn("L(K/2, S/2) = 0.5 (the paper: 0.5)", out)
        self.assertIn("S = 64 and K = 32", self.svg("britz_figure2"))

    def test_an_encoding_that_is_not_symmetric_says_so(self):
        result = json.loads(RESULT.read_text())
        result["attention"] = [
            [value + index / 1000 for value in row]
            for index, row in enumerate(result["attention"])
        ]
        out = self.draws(self.write(result))
        self.assertIn("greatest |L(k, s) - L(K - k, S - s)| = 0.03", out)

    def test_attention_of_another_case_is_refused(self):
        for name in ("memory-softmax-softmax-raw", "monotonic-plain"):
            other = expect(ROOT / "tests" / "golden" / f"{name}.json")
            for arguments in ([], ["--figure", "britz_figure2"]):
                code, out, err = self.run_draw(self.write(other), *arguments)
                self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
        for attention in (None, [], [[]], [[1, 2], [1]], [[1, "x"]]):
            self.fails_with([self.write({"mechanism": "memory",
                                         "attention": attention})], "attention")


if __name__ == "__main__":
    unittest.main()
