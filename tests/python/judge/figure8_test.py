"""Guards against a judge that takes another program for that of MAD's authors, or another
build of it: by stored results of experiments/authors/measure.py, of which that of columns
is of a program in which an entry is a column, otherwise the same.
"""

import os
import unittest
from unittest import mock

from attnbench.analysis import ROOT, load, published
from attnbench.judge import claims, ledger, needs, quantities
from attnbench.judge import readings
from attnbench.judge.readings import Document

STORED = os.path.join(ROOT, "tests", "python", "judge", "figure8")
LEDGER = ledger.read(os.path.join(ROOT, "experiments", "claims.json"))
CLAIMS = {claim["id"]: claim for claim in LEDGER["claims"]}
TABLES = readings.published_tables(published.papers())
RMS = "factor between our ratio and the published one, root mean square"
SPREAD = "spread of our time of monotonic attention over the published one"
RIGHT = {"eigen": "3.2.10", "optimization": "none"}


def stored(name):
    return load.read(os.path.join(STORED, f"{name}.json"), "authors")


def only(content, *builds):
    """The content with these builds alone."""
    return {**content, **{
        name: [one for one in content[name]
               if any(build.items() <= one.items() for build in builds)]
        for name in ("builds", "cells")}}


class Figure8(unittest.TestCase):
    def claim(self, content, name="mad-figure-8"):
        """The claim with what was measured; our own kernels were not."""
        claim = CLAIMS[name]
        documents = {
            one: Document(one, f"{one}.json", content) if kind["kind"] == "authors"
            else Document(one, None, None, "not measured")
            for one, kind in LEDGER["measurements"].items()}
        (judged,) = claims.result([claim], documents, content["context"])["claims"]
        return judged

    def figures(self, content, name="mad-figure-8"):
        """The numbers of each part, by its name."""
        return {part["name"]: [group["least"]["value"] for group in part["groups"]]
                for part in self.claim(content, name)["measured"]}

    def test_rows_and_no_optimisation_with_the_eigen_of_the_time_hold(self):
        self.assertEqual(self.claim(only(stored("rows"), RIGHT))["verdict"], "holds")

    def test_of_all_builds_those_that_hold_are_the_condition(self):
        claim = self.claim(stored("rows"))
        self.assertEqual(claim["verdict"],
                         "holds only if eigen = 3.2.10 and optimization = none")
        self.assertEqual(claim["because"], CLAIMS["mad-figure-8"]["because"])

    def test_entries_as_columns_do_not_hold(self):
        self.assertEqual(self.claim(stored("columns"))["verdict"], "refuted")

    def test_a_newer_eigen_does_not_hold_by_its_ratio(self):
        content = stored("rows")
        newer = {"eigen": "3.4.0", "optimization": "none"}
        mixed = only(content, RIGHT, newer)
        self.assertEqual(self.claim(mixed)["verdict"], "holds only if eigen = 3.2.10")
        old, new = self.figures(mixed)[RMS]
        self.assertLess(old, 1.5)
        self.assertGreater(new, 2)

    def test_an_optimised_build_does_not_hold_by_its_times(self):
        mixed = only(stored("rows"), {"eigen": "3.2.10"})
        self.assertEqual(self.claim(mixed)["verdict"], "holds only if optimization = none")
        for build, spread in zip(mixed["builds"], self.figures(mixed)[SPREAD], strict=True):
            self.assertEqual(spread > 1.3, build["optimization"] != "none", build)

    def test_without_an_eigen_of_the_time_it_is_undecided_and_names_who_has_it(self):
        newer = only(stored("rows"), {"eigen": "3.4.0"})
        for name in ("mad-figure-8", "mad-speedup", "mad-speedup-where"):
            said = self.claim(newer, name)["verdict"]
            self.assertTrue(said.startswith("undecided: needs Eigen 3.2 (--eigen DIR)"), said)
            self.assertIn("results/claims/authors.json, of ", said)
        with mock.patch.object(needs, "ROOT", "nowhere"):
            self.assertEqual(self.claim(newer)["verdict"],
                             "undecided: needs Eigen 3.2 (--eigen DIR)")

    def test_a_part_of_the_grid_leaves_it_undecided(self):
        content = stored("rows")
        content["cells"] = [cell for cell in content["cells"] if cell["memory_length"] <= 16
                            and cell["output_length"] <= 16]
        self.assertEqual(self.claim(content)["verdict"],
                         "undecided: needs all 36 cells of the figure, and has 9")

    def test_times_that_mean_nothing_are_nothing_to_judge_by(self):
        content = stored("rows")
        content["context"].update(valid=False, invalid_reasons=["it was busy"])
        self.assertIn("it was busy", self.claim(content)["verdict"])
        self.assertIn("not measurable here", self.claim(content)["verdict"])

    def test_the_figures_are_those_of_all_cells(self):
        """Times that are the published ones, but for a factor that is known."""
        content = only(stored("rows"), RIGHT)
        rows = {(row["memory_length"], row["output_length"]): row
                for row in TABLES["mad-figure-8-cells"]}
        for cell in content["cells"]:
            row = rows.get((cell["memory_length"], cell["output_length"]))
            if row is None:
                continue
            soft = 2 * row["ratio"] * row["monotonic_s"]
            seconds = soft if cell["mechanism"] == "soft" else row["monotonic_s"]
            cell["samples_ns"] = [seconds * 1e9 / 100] * cell["processes"]

        found = self.figures(content)
        for name, value in (
                (RMS, 2), (SPREAD, 1),
                ("our ratio over the published one, geometric mean", 2),
                ("our time of monotonic attention over the published one, geometric mean", 1),
        ):
            self.assertAlmostEqual(found[name][0], value, msg=name)
        self.assertGreater(found["rank correlation of the two ratios"][0], 0.999)

    def test_published_values_stand_beside_the_claims_of_the_text(self):
        content = stored("rows")
        values = {**self.figures(content, "mad-speedup"),
                  **self.figures(content, "mad-speedup-where")}
        self.assertEqual(values["least, published"], [1.5])
        self.assertEqual(values["greatest, published"], [40.9])
        self.assertAlmostEqual(values["rank correlation with T, published"][0], 0.783, 3)
        self.assertAlmostEqual(values["rank correlation with U, published"][0], 0.472, 3)


if __name__ == "__main__":
    unittest.main()
