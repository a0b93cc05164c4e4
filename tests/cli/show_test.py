"""attnbench show from outside, and the table with which run-sweep ends."""

import copy
import csv
import io
import os
import unittest

from documents import strict, validate
from result_files import ROOT, ResultFilesTest, fail, markdown_texts, run, set_times, sweep

DECODERS = os.path.join("results", "claims", "translation.json")
ADVICE = os.path.join(ROOT, "results", "advice.json")
DIAGNOSIS = os.path.join(ROOT, "results", "diagnosis.json")
SMALL = ("--mechanism", "soft,mocha,memory", "-T", "6,4", "-w", "2,3", "-K", "2", "-d", "4",
         "--repetitions", "3")


class Show(ResultFilesTest):
    def setUp(self):
        super().setUp()
        self.swept = run("run-sweep", *SMALL, "-o", self.path("r.json"))
        self.assertEqual(self.swept.returncode, 0, self.swept.stderr)

    def rows(self, *paths):
        text = self.gives(0, "show", *paths, "--format", "csv")[0]
        return list(csv.DictReader(io.StringIO(text)))

    def test_run_sweep_ends_with_the_table_that_show_prints_again(self):
        shown, err = self.gives(0, "show", self.path("r.json"))
        self.assertEqual((shown, err), (self.swept.stdout, ""))
        lines = shown.splitlines()
        self.assertEqual(lines[0], "T=6 U=6 d=4 B=1")
        self.assertRegex(lines[1], r"^  cell +time +speed-up +memory read +no context$")
        self.assertRegex(lines[2], r"^  soft +\d.* [num]s \[.*\] +1x +100 % +0 %$")
        self.assertRegex(lines[3], r"^  mocha w=2 +\d.* [num]s \[.*\] +\d.*x \[.*\]")
        self.assertEqual(lines[6], "T=4 U=4 d=4 B=1")
        self.assertRegex(shown, r"\nspeed-up: the time of soft over that of the cell")
        self.assertIn(f"\n{self.path('r.json')}: 8 cells (8 ok), ", shown)

    def test_csv_and_json_are_flat_rows_of_all_cells_of_all_results(self):
        result = os.path.join(ROOT, DECODERS)
        rows = self.rows(self.path("r.json"), result)
        document = strict(self.gives(0, "show", self.path("r.json"), result,
                                     "--format", "json")[0])
        validate(document, "table")
        self.assertEqual(len(rows), len(document["rows"]))
        for row, other in zip(rows, document["rows"]):
            for name in ("result", "point", "cell", "mechanism", "status"):
                self.assertEqual(row[name], other[name])
            self.assertEqual(row["memory_length"], str(other["memory_length"]))
            if other["time_ns"] is not None:
                self.assertEqual(float(row["time_ns"]), other["time_ns"])
            if other["speedup"] is not None:
                self.assertEqual([float(row["speedup_low"]), float(row["speedup_high"])],
                                 other["speedup_interval"])
        self.assertEqual({row["result"] for row in rows}, {self.path("r.json"), result})
        self.assertTrue(any(row["scope"] == "decoder" and row["speedup"] for row in rows))

    def test_markdown_has_a_row_for_each_cell_and_its_point_in_it(self):
        text = self.gives(0, "show", self.path("r.json"), "--format", "markdown")[0]
        self.assertEqual(text.count("| T=6 U=6 d=4 B=1 | "), 4)
        self.assertEqual({line.count("|") for line in text.splitlines() if "|" in line}, {7})

    def test_advice_comes_by_a_pipe_and_in_its_place_among_others(self):
        with open(ADVICE, encoding="utf-8") as piped:
            advice = run("show", "-", stdin=piped).stdout
        self.assertRegex(advice, r"^valid(, \d+ warnings?)?\n")
        self.assertIn("\n  mocha w=4 ", advice)
        self.assertEqual(self.gives(0, "show", self.path("r.json"), ADVICE, DIAGNOSIS),
                         (self.swept.stdout + advice + self.gives(0, "show", DIAGNOSIS)[0], ""))

    def test_nothing_is_printed_before_every_file_is_known_to_be_one(self):
        def change(document):
            del document["lengths"]
        with open(ADVICE, encoding="utf-8") as file:
            broken = self.changed("broken.json", strict(file.read()), change)
        for last, what in ((broken, f"{broken}: lengths is missing"),
                           (self.path("none.json"), "none.json: cannot be read")):
            self.refused(("show", self.path("r.json"), ADVICE, last), what)

    def test_a_decoder_that_attends_to_nothing_is_marked(self):
        done = run("run-sweep", "--mechanism", "soft,monotonic", "-T", "10", "-d", "8",
                   "--workload", "bias:-20", "--repetitions", "2", "-o", self.path("n.json"))
        self.assertRegex(done.stdout, r"\n  monotonic .*\] \* +100 % +100 %\n")
        self.assertIn("\n*: over 5 % of the outputs have no context", done.stdout)

    def test_long_tables_end_with_what_prints_them_whole(self):
        done = run("run-sweep", "--mechanism", "soft", "-T", "1:62:1", "-U", "1", "-d", "1",
                   "--repetitions", "1", "--trials", "1", "-o", self.path("long.json"))
        self.assertIn(f"\n2 more rows: attnbench show {self.path('long.json')}\n", done.stdout)
        whole = self.gives(0, "show", self.path("long.json"))[0]
        self.assertIn("T=62 U=1", whole)

    def test_cells_without_a_time_say_why_and_an_invalid_result_says_so(self):
        def change(document):
            fail(document["cells"][1], "timeout", "took too long")
            document["context"].update(valid=False, invalid_reasons=["a debug build"])
            document["context"]["warnings"] = ["other programs ran"]
        path = self.changed("b.json", sweep_of(self), change)
        shown = self.gives(0, "show", path)[0]
        self.assertIn("  timeout: took too long\n", shown)
        self.assertIn("1 timeout), INVALID", shown)
        self.assertIn("\n  warning: other programs ran\n", shown)
        # So say all other forms.
        row = self.rows(path)[0]
        self.assertEqual([row[key] for key in ("valid", "invalid_reasons", "warnings")],
                         ["false", "a debug build", "other programs ran"])
        text = self.gives(0, "show", path, "--format", "markdown")[0]
        texts = markdown_texts(text)
        self.assertIn(f"INVALID: {path}: a debug build", texts)
        self.assertIn(f"warning: {path}: other programs ran", texts)
        document = strict(self.gives(0, "show", path, "--json")[0])
        validate(document, "table")
        self.assertEqual(document["results"], [
            {"path": path, "valid": False, "invalid_reasons": ["a debug build"],
             "warnings": ["other programs ran"]}])
        context = strict(self.gives(0, "show", path, "--format", "gbench")[0])["context"]
        self.assertEqual([context[key] for key in ("valid", "invalid_reasons", "warnings")],
                         ["false", "a debug build", "other programs ran"])


def sweep_of(test):
    result = sweep(test.path("again.json"), *SMALL)
    set_times(result, lambda cell: 100.0 * cell["memory_length"])
    return copy.deepcopy(result)


if __name__ == "__main__":
    unittest.main()
