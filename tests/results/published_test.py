"""Guards against published numbers that are not the papers', or that nobody can tell
the meaning of."""

import copy
import glob
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))

from attnbench.analysis import load, published  # noqa: E402
from documents import read, validate  # noqa: E402


class PublishedTest(unittest.TestCase):
    def setUp(self):
        paths = sorted(glob.glob(os.path.join(ROOT, "results", "published", "*.json")))
        self.papers = [read("results", "published", os.path.basename(path))
                       for path in paths]
        self.tables = {table["id"]: table for paper in self.papers
                       for table in paper["tables"]}
        self.statements = {statement["id"]: statement for paper in self.papers
                           for statement in paper["statements"]}
        self.claims = {claim["id"]: claim
                       for claim in read("experiments", "claims.json")["claims"]}

    def test_they_are_valid(self):
        for paper in self.papers:
            validate(paper, "published")

    def test_all_tables_are_there(self):
        self.assertEqual(sorted(self.tables), [
            "britz-table-1", "britz-table-2", "britz-table-3", "mad-figure-8-cells",
            "mad-table-1", "mad-table-2", "mad-table-3", "mad-table-4", "mocha-table-1",
            "mocha-table-2"])

    def test_every_row_has_every_column_and_numbers_where_they_are_better(self):
        for name, table in self.tables.items():
            columns = table["columns"]
            for row in table["rows"]:
                self.assertEqual(list(row), list(columns), name)
            for column, about in columns.items():
                if about["better"] is None:
                    continue
                values = [row[column] for row in table["rows"] if row[column] is not None]
                self.assertTrue(all(isinstance(value, (int, float)) and value > 0
                                    for value in values), (name, column))
            keys = [tuple(row[column] for column, about in columns.items()
                          if about["better"] is None) for row in table["rows"]]
            self.assertEqual(len(keys), len(set(keys)), name)

    def test_claims_and_numbers_name_each_other(self):
        named = {**self.tables, **self.statements}
        self.assertEqual(len(named), len(self.tables) + len(self.statements))
        for name, entry in named.items():
            self.assertLessEqual(set(entry["claims"]), set(self.claims), name)
        for claim in self.claims.values():
            name = claim["paper"]["published"]
            if name is not None:
                self.assertIn(claim["id"], named[name]["claims"])

    def test_columns_that_claims_compare_with_are_there(self):
        for claim in self.claims.values():
            for part in claim["parts"]:
                quantity = part["quantity"]
                if "table" in quantity:
                    columns = self.tables[quantity["table"]]["columns"]
                    self.assertIn(quantity["column"], columns)

    def value(self, table, column, **key):
        (row,) = [row for row in self.tables[table]["rows"]
                  if all(row[name] == value for name, value in key.items())]
        return row[column]

    def number(self, statement, name):
        return self.statements[statement]["numbers"][name]

    # The papers' own sentences on their tables: a digit lost in either shows.
    def test_tables_give_the_differences_that_the_text_names(self):
        hard = self.value("mad-table-2", "word_error_rate", decoding="hard")
        soft = self.value("mad-table-2", "word_error_rate", decoding="softmax")
        self.assertAlmostEqual(hard - soft,
                               self.number("mad-wsj-difference", "difference"))
        old = self.value("mocha-table-1", "word_error_rate", mechanism="monotonic")
        new = self.value("mocha-table-1", "word_error_rate", mechanism="mocha")
        self.assertAlmostEqual(100 * (old - new) / old,
                               self.number("mocha-wsj-gain", "gain"), delta=0.5)
        self.assertEqual(old, hard)
        soft, hard, chunks = (
            self.value("mocha-table-2", "rouge_1", mechanism=name)
            for name in ("soft", "monotonic", "mocha"))
        self.assertAlmostEqual(soft - hard,
                               self.number("mocha-rouge-loss", "difference"), delta=0.05)
        self.assertAlmostEqual((chunks - hard) / (soft - hard),
                               self.number("mocha-rouge-gap", "share"), delta=0.05)
        full = self.value("britz-table-3", "time_s", mechanism="soft")
        fixed = self.value("britz-table-3", "time_s", num_contexts=32)
        self.assertAlmostEqual(100 * (full - fixed) / full,
                               self.number("britz-translation-gain", "saved"), delta=1)

    def test_ratios_of_figure_8_are_those_of_its_times_as_far_as_colours_tell(self):
        for row in self.tables["mad-figure-8-cells"]["rows"]:
            of_times = row["soft_s"] / row["monotonic_s"]
            self.assertLess(abs(row["ratio"] / of_times - 1), 0.15, row)

    def test_a_hole_in_a_table_is_refused_with_table_and_cell(self):
        published.require_whole(self.papers[1], "mad.json")

        def refused(change, *said):
            paper = copy.deepcopy(self.papers[1])
            change(next(t for t in paper["tables"] if t["id"] == "mad-figure-8-cells"))
            with self.assertRaises(load.DataError) as caught:
                published.require_whole(paper, "mad.json")
            for what in ("mad.json: table mad-figure-8-cells", *said):
                self.assertIn(what, str(caught.exception))

        cell = "memory_length = 4, output_length = 16"
        refused(lambda table: table["rows"].pop(2), "has no row for " + cell)
        refused(lambda table: table["rows"][2].update(ratio=None),
                "ratio is None for " + cell)
        refused(lambda table: table["rows"][2].pop("ratio"), "rows[2]", "ratio")
        refused(lambda table: table["rows"].append(table["rows"][2]), "two rows")

    def test_the_corpora_that_cannot_be_had_are_listed(self):
        names = {corpus["name"] for table in self.tables.values()
                 for corpus in table["corpora"]}
        self.assertEqual(names, {
            "TIMIT", "Wall Street Journal", "Gigaword", "CNN/Daily Mail", "WMT'17",
            "IWSLT 2015 English-Vietnamese"})


if __name__ == "__main__":
    unittest.main()
