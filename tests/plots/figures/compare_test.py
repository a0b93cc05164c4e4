"""Guards against a comparison's picture whose colours mean "different" and not
"better", whose rows are named wrongly, or that hides what is not valid."""

import unittest

from plot_case import PlotTest

from attnbench.analysis import load
from figures import compare
from made_up import make_cell

IDENTITY = [key for key in make_cell("soft", 4, 4) if key not in load.OUTCOMES]


def row(mechanism, length, ratio, verdict, interval=True):
    cell = make_cell(mechanism, length, length)
    return {
        **{key: cell[key] for key in IDENTITY}, "options": {},
        "verdict": verdict, "reason": "why", "ratio": ratio,
        "interval": [ratio / 1.02, ratio * 1.02] if interval else None,
        "a_ns": 1.0, "a_processes": 5, "b_ns": ratio, "b_processes": 5}


def document(rows, **changes):
    def side(name):
        return {"path": name, "commit": "0123456789abcdef", "build_id": "0",
                "date": "2026-01-02T03:04:05Z", "cpu": "A Processor", "simd": "AVX2",
                "valid": True, "invalid_reasons": [], "warnings": []}
    return {"schema_version": 1, "kind": "compare", "a": side("a.json"),
            "b": side("b.json"), "differences": [], "level": 0.05, "margin": 0.05,
            "comparisons": len(rows), "common_ratio": 1.0,
            "common_interval": [0.9, 1.1], "relative": True, "paired": False, "placement": None, "rows": rows,
            "untimed": [], "changes": [], "only_a": [], "only_b": [], **changes}


ROWS = [row("soft", 4, 1.0, "SAME"), row("mocha", 4, 1.5, "SLOWER"),
        row("mocha", 8, 0.5, "FASTER"), row("soft", 8, 1.1, "AMBIGUOUS", interval=False)]


class CompareFigure(PlotTest):
    def test_it_is_drawn_of_what_compare_prints(self):
        out = self.draws(self.write(document(ROWS)))
        self.assertEqual(self.pictures(), ["compare.png", "compare.svg"])
        self.assertIn("1 FASTER, 1 SLOWER, 1 SAME, 1 AMBIGUOUS; all together 1.000", out)
        self.assertIn("slowest: mocha, T = 4, U = 4 1.500", out)
        words = self.svg("compare")
        for text in ("FASTER: B is better", "SLOWER: B is worse", "MoChA, T = 8, U = 8",
                     "a.json, commit 0123456789, A Processor",
                     "Points without a line have no interval",
                     "time of B over time of A, over that of all cells together"):
            self.assertIn(text, words)
        self.assertNotIn("NOT VALID", words)

    def test_it_tells_what_else_the_comparison_tells(self):
        changed = {**{key: ROWS[0][key] for key in IDENTITY}, "field": "status", "a": "ok",
                   "b": "error"}
        told = document(ROWS, changes=[changed], placement=0.123, differences=[
            {"field": "cpu", "a": "A", "b": "B"}])
        told["b"]["warnings"] = ["other programs ran"]
        self.draws(self.write(told))
        words = self.svg("compare")
        for text in ("B carries 1 warning.", "Beside times, 1 number changed.",
                     "The two differ in cpu.", "no change below 12.3 % can be told from"):
            self.assertIn(text, words)

    def test_rows_are_sorted_and_stand_at_their_names(self):
        figure, _ = compare.draw(load.compare_of(document(ROWS), "c.json"))
        axes = figure.axes[0]
        names = [tick.get_text() for tick in axes.get_yticklabels()]
        self.assertEqual(names, ["MoChA, T = 8, U = 8", "soft, T = 4, U = 4",
                                 "soft, T = 8, U = 8", "MoChA, T = 4, U = 4"])
        points = {(line.get_xdata()[0], line.get_ydata()[0]): line
                  for line in axes.lines if len(line.get_xdata()) == 1}
        faster, slower = points[0.5, 0], points[1.5, 3]
        self.assertEqual(faster.get_color(), "#0072B2")
        self.assertEqual(slower.get_color(), "#D55E00")
        # Told apart without colours too.
        self.assertNotEqual(faster.get_marker(), slower.get_marker())
        spans = [line for line in axes.lines if list(line.get_ydata()) == [3, 3]]
        self.assertEqual(list(spans[0].get_xdata()), [1.5 / 1.02, 1.5 * 1.02])

    def test_axes_that_not_all_rows_have_are_in_the_names_of_those_that_have_them(self):
        rows = [ROWS[0], *({**ROWS[1], "scope": "decoder", "beam": beam, "vocabulary": 20}
                           for beam in (1, 10))]
        for given in (rows, rows[::-1]):
            names = compare.cell_names(load.compare_of(document(given), "c.json")["rows"])
            self.assertEqual(sorted(names), ["mocha, decoder, beam = 1",
                                             "mocha, decoder, beam = 10", "soft, full"])

    def test_what_is_not_valid_differs_or_is_left_out_is_said(self):
        changed = document(ROWS, differences=[{"field": "cpu", "a": 1, "b": 2}],
                           only_b=[{key: ROWS[0][key] for key in IDENTITY}])
        changed["b"].update(valid=False, invalid_reasons=["a debug build"])
        out = self.draws(self.write(changed))
        self.assertIn("INVALID: b.json: a debug build", out)
        words = self.svg("compare")
        for text in ("NOT VALID: b.json: a debug build", "The two differ in cpu",
                     "1 cell of one side only"):
            self.assertIn(text, words)

    def test_too_few_cells_are_over_nothing_in_common(self):
        few = document(ROWS[:2], relative=False, common_interval=None)
        self.draws(self.write(few))
        self.assertNotIn("all cells together", self.svg("compare"))

    def test_hundreds_of_cells_have_no_names_and_are_drawn(self):
        rows = [row("soft", length, 1 + length / 1e4, "SAME")
                for length in range(1, 301)]
        figure, _ = compare.draw(load.compare_of(document(rows), "c.json"))
        self.assertEqual(figure.axes[0].get_ylabel(), "300 cells, sorted")
        self.assertLessEqual(figure.get_size_inches()[1], compare.MOST_HEIGHT_IN)

    def test_what_is_wrong_is_named(self):
        for change, part in (
                ({"verdict": "GOOD"}, "rows[1]: verdict is 'GOOD'"),
                ({"ratio": 0}, "rows[1]: ratio is 0, it must be number above 0"),
                ({"options": None}, "rows[1]: options is None")):
            rows = [ROWS[0], {**ROWS[1], **change}]
            self.fails_with([self.write(document(rows))], part)
        self.fails_with([self.write(document([], common_ratio=None))], "fits no figure")


if __name__ == "__main__":
    unittest.main()
