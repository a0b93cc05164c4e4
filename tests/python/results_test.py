"""Guards against a result that load() refuses or of which it leaves something out, against
columns that hold lists or depend on what was measured, and against errors that do not
name the file.
"""

import glob
import json
import math
import os
import tempfile
import unittest

import attnbench
import made_up
from documents import ROOT, read

RESULTS = os.path.join(ROOT, "results")
SCALARS = (str, bool, int, float, type(None))
# Of each kind a committed result in which most of its tables have rows.
OF_KIND = {
    "aa": "aa.json",
    "claims": "claims.json",
    "computed": "claims/exact.json",
    "effects": "effects.json",
    "expect": "expect_matcha.json",
    "gap": "gap.json",
    "model_gap": "gap_model.json",
    "published": "published/mad.json",
    "stability": "claims/stability.json",
    "sweep": "claims/translation.json",
    "verify": "verify_mocha.json",
}


def committed(name):
    return os.path.join(RESULTS, name)


def paths_of_results():
    return [path for path in glob.glob(committed("**/*.json"), recursive=True)
            if os.sep + "schema" + os.sep not in path]


def numbers_and_texts(value):
    """All scalars in a document, but for null and what it says of its kind and context."""
    if isinstance(value, dict):
        head = ("schema_version", "kind") + ("context",) * isinstance(
            value.get("context"), dict)
        for key, member in value.items():
            if key not in head:
                yield from numbers_and_texts(member)
    elif isinstance(value, list):
        for item in value:
            yield from numbers_and_texts(item)
    elif value is not None:
        yield {"inf": math.inf, "-inf": -math.inf}.get(value, value)


class LoadTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def write(self, document, name="result.json"):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(document if isinstance(document, str) else json.dumps(document))
        return path

    def assert_flat(self, frame):
        for name, column in frame.items():
            self.assertTrue(name)
            if column.dtype == object:
                self.assertLessEqual(set(map(type, column)), set(SCALARS), name)
            else:
                self.assertIn(str(column.dtype), ("int64", "float64", "bool"), name)

    def assert_refused(self, what, *arguments, of=attnbench.load):
        with self.assertRaises(attnbench.DataError) as caught:
            of(*arguments)
        for part in what:
            self.assertIn(part, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))


class Committed(LoadTest):
    def test_every_committed_result_is_a_flat_frame(self):
        paths = paths_of_results()
        self.assertGreater(len(paths), 40)
        for path in paths:
            with self.subTest(path):
                frame = attnbench.load(path)
                self.assertGreater(len(frame), 0)
                self.assert_flat(frame)
                self.assertEqual(set(frame["path"]), {path})
                self.assertEqual(frame.attrs["path"], path)

    def test_no_committed_result_is_invalid(self):
        frames = {path: attnbench.load(path) for path in paths_of_results()}
        self.assertGreater(sum(frame.attrs.get("valid") is True for frame in frames.values()),
                           30)
        # A comparison of two programs has a.valid and b.valid.
        invalid = {path: key for path, frame in frames.items()
                   for key, value in frame.attrs.items()
                   if key.split(".")[-1] == "valid" and value is False}
        self.assertEqual(invalid, {})

    def test_the_tables_of_a_kind_hold_all_that_is_in_it(self):
        for kind, name in OF_KIND.items():
            with self.subTest(kind):
                path, there = committed(name), set()
                main = attnbench.load(path)
                self.assertEqual(main.attrs["kind"], kind)
                for table in main.attrs["tables"]:
                    frame = attnbench.load(path, table)
                    self.assert_flat(frame)
                    self.assertEqual(frame.attrs["table"], table)
                    for _, column in frame.items():
                        there.update(column)
                document = read("results", name)
                if kind == "computed":  # lists among its inputs are texts
                    for one in document["quantities"]:
                        one["inputs"] = {key: value for key, value in one["inputs"].items()
                                         if not isinstance(value, list)}
                wanted = set(numbers_and_texts(document))
                self.assertGreater(len(wanted), 10)
                self.assertEqual(wanted - there, set())

    def test_a_cell_is_a_row_with_its_members(self):
        path = committed("claims/figure3.json")
        frame, document = attnbench.load(path), read("results", "claims/figure3.json")
        self.assertEqual(len(frame), len(document["cells"]))
        for number in (1, 3, 5):
            cell, row = document["cells"][number], frame.loc[number]
            for column, wanted in (
                ("mechanism", cell["mechanism"]),
                ("memory_length", cell["memory_length"]),
                ("median_ns", cell["median_ns"]),
                ("low_ns", cell["interval_ns"][0]),
                ("high_ns", cell["interval_ns"][1]),
                ("operations.flops", cell["operations"]["flops"]),
                ("spread.rounds", cell["spread"]["rounds"]),
                ("options.threshold", cell["options"].get("threshold")),
            ):
                self.assertEqual(row[column], wanted, column)
        context = document["context"]
        self.assertEqual(frame.attrs["context"], context)
        self.assertEqual(
            [frame.attrs[key] for key in ("kind", "table", "valid", "commit", "machine")],
            ["sweep", "cells", True, context["commit"], context["cpu"]])

    def test_a_sample_knows_its_process_build_and_round(self):
        path = committed("peers_additive.json")
        frame = attnbench.load(path, "cells.samples_ns")
        cells = read("results", "peers_additive.json")["cells"]
        self.assertEqual(list(frame["samples_ns"]),
                         [ns for cell in cells for ns in cell["samples_ns"]])
        of_one = frame[frame["cells"] == 5]
        count = cells[5]["processes"]
        self.assertEqual(cells[5]["builds"], count)
        self.assertGreater(count, 1)
        self.assertEqual(list(of_one["process"]),
                         [process for process in range(count) for _ in range(5)])
        self.assertEqual(list(of_one["build"]), list(of_one["process"]))
        self.assertEqual(list(of_one["round"]), list(range(5)) * count)
        joined = frame.join(attnbench.load(path)[["mechanism", "median_ns"]], on="cells")
        self.assertEqual(list(joined["mechanism"]),
                         [cell["mechanism"] for cell in cells for _ in cell["samples_ns"]])

    def test_a_row_of_an_inner_list_has_the_columns_of_the_outer_one(self):
        frame = attnbench.load(committed("verify_mocha.json"))
        cases = read("results", "verify_mocha.json")["cases"]
        self.assertEqual(len(frame), sum(len(case["quantities"]) for case in cases))
        self.assertEqual(
            list(frame["scores"]),
            [case["scores"] for case in cases for _ in case["quantities"]])
        self.assertEqual(set(frame["cases.verdict"]), {"passed"})
        self.assertEqual(frame["cases"].max(), len(cases) - 1)
        self.assertEqual(frame.attrs["verdict"], "passed")
        groups = attnbench.load(committed("claims.json"), "claims.measured.groups")
        self.assertEqual(groups["claims"].nunique(), groups["id"].nunique())
        self.assertEqual(groups["greatest.value"].max(), math.inf)
        self.assertIn("holds", set(groups["measured.verdict"]))
        self.assertIn("fails", set(groups["verdict"]))

    def test_the_papers_numbers_have_a_column_for_each_of_theirs(self):
        frame = attnbench.load(committed("published/britz.json"))
        times = frame[frame["id"] == "britz-table-3"]
        self.assertEqual(times["time_s"].iloc[0], 26.85)
        self.assertEqual(times["num_contexts"].iloc[0], 32)

    def test_what_expect_printed_is_a_row_a_number(self):
        path = committed("expect_mocha.json")
        document = read("results", "expect_mocha.json")
        frame = attnbench.load(path)
        rows, columns = len(document["attention"]), len(document["attention"][0])
        self.assertEqual(len(frame), rows * columns)
        last = frame.iloc[-1]
        self.assertEqual((last["row"], last["column"]), (rows - 1, columns - 1))
        self.assertEqual(last["attention"], document["attention"][-1][-1])
        self.assertEqual(frame.attrs["mechanism"], "mocha")
        self.assertEqual(frame.attrs["latency.ap"], document["latency"]["ap"])
        errors = attnbench.load(path, "latency.sampled.ap_errors")
        self.assertEqual(list(errors["rms"]),
                         [one["rms"] for one in document["latency"]["sampled"]["ap_errors"]])


class MadeUp(LoadTest):
    def test_columns_do_not_depend_on_what_was_measured(self):
        soft = made_up.make_cell("soft", 4, 4, options={})
        failed = made_up.make_cell("mocha", 4, 4, chunk_width="inf", options={})
        made_up.stop(failed, "timeout", "too slow")
        frames = [attnbench.load(self.write(made_up.make_document([cell])))
                  for cell in (soft, failed)]
        self.assertEqual(list(frames[0].columns), list(frames[1].columns))
        self.assertEqual(frames[1]["chunk_width"].iloc[0], math.inf)
        self.assertTrue(math.isnan(frames[0]["chunk_width"].iloc[0]))
        self.assertTrue(math.isnan(frames[1]["median_ns"].iloc[0]))
        self.assertEqual(frames[0]["median_ns"].dtype, frames[1]["median_ns"].dtype)
        self.assertIsNone(frames[0]["message"].iloc[0])

    def test_several_files_are_one_frame(self):
        first = made_up.make_document([made_up.make_cell("soft", t, 4) for t in (1, 2)])
        second = made_up.make_document([made_up.make_cell("soft", 3, 4)])
        second["context"].update(valid=False, invalid_reasons=["a debug build"])
        paths = [self.write(first, "a.json"), self.write(second, "b.json")]
        frame = attnbench.load(paths)
        self.assertEqual(list(frame["memory_length"]), [1, 2, 3])
        self.assertEqual(list(frame["path"]), [paths[0], paths[0], paths[1]])
        self.assertFalse(frame.attrs["valid"])
        self.assertEqual(frame.attrs["files"][paths[1]]["context"], second["context"])
        samples = attnbench.load(paths, "cells.samples_ns")
        self.assertEqual(list(samples["cells"].unique()), [0, 1, 2])
        whole = attnbench.load(paths, "document")
        self.assertEqual(list(whole["path"]), paths)

    def test_tables_without_rows_keep_their_columns(self):
        path = self.write(made_up.make_document([]))
        self.assertIn("operations.bytes", attnbench.load(path).columns)
        samples = attnbench.load(path, "cells.samples_ns")
        self.assertEqual(
            list(samples.columns),
            ["path", "cells", "item", "process", "build", "round", "samples_ns"])

    def test_a_number_that_was_not_finite_is_nan(self):
        document = {"mechanism": "mocha", "variant": "exact", "attention": [[None, 0.5]]}
        frame = attnbench.load(self.write(document))
        self.assertEqual(str(frame["attention"].dtype), "float64")
        self.assertTrue(math.isnan(frame["attention"].iloc[0]))

    def test_an_integer_keeps_all_of_its_digits(self):
        cells = [made_up.make_cell(name, 3, 3) for name in ("soft", "mocha")]
        cells[0]["peak_memory_bytes"] = 2**53 + 1
        cells[1]["peak_memory_bytes"] = None
        frame = attnbench.load(self.write(made_up.make_document(cells)))
        self.assertEqual(frame["peak_memory_bytes"].tolist(), [2**53 + 1, None])
        self.assert_flat(frame)
        whole = {"mechanism": "soft", "memory_length": 3, "steps": [
            {"position": 1, "begin": 1, "end": 1, "inspected": 2**64, "weights": [1.0]}]}
        frame = attnbench.load(self.write(whole), "steps")
        self.assertEqual(frame["inspected"].tolist(), [2**64])

    def test_what_decode_printed_is_a_row_an_output(self):
        path = self.write(made_up.decoded("mocha", width=3))
        steps = attnbench.load(path)
        self.assertEqual(steps.attrs["kind"], "decode")
        self.assertEqual(len(steps), 12)
        weights = attnbench.load(path, "steps.weights")
        self.assertAlmostEqual(weights["weights"].sum(), 12)
        self.assertEqual(weights["steps"].nunique(), 12)


class WrongInput(LoadTest):
    def test_what_cannot_be_read_is_named(self):
        absent = os.path.join(self.folder, "absent.json")
        for of in (attnbench.load, attnbench.speedups, attnbench.figures):
            self.assert_refused((absent, "cannot be read", "No such file"), absent, of=of)
            self.assert_refused((self.folder, "Is a directory"), self.folder, of=of)
            path = self.write("{")
            self.assert_refused((path, "not JSON"), path, of=of)
        self.assert_refused(("not JSON",), self.write('{"kind": NaN}'))
        self.assert_refused(("not JSON",), self.write(b"\xff\xfe".decode("latin-1")))
        self.assert_refused(("not a JSON object",), self.write("[1]"))

    def test_what_is_no_result_is_named(self):
        document = made_up.make_document([])
        for changed, *parts in (
            ({}, "kind is missing", "'sweep'", "'verify'"),
            ({**document, "kind": "sweeps"}, "kind is 'sweeps'", "'sweep'"),
            ({**document, "kind": ["sweep"]}, "kind is ['sweep']"),
            ({**document, "schema_version": 2}, "schema_version is 2, it must be 1"),
            ({**document, "cells": [5]}, "cells"),
            ({**document, "more": 1}, "unknown member 'more'; known: "),
            ({"steps": 5}, "mechanism is missing"),
            ({"mechanism": "soft", "attention": []}, "attention", "is no table"),
            ({"mechanism": "soft", "attention": 5}, "attention is 5"),
        ):
            path = self.write(changed)
            self.assert_refused((path, *parts), path)

    def test_what_cannot_be_asked_for_is_named(self):
        sweep = self.write(made_up.make_document([]), "sweep.json")
        exact = committed("claims/exact.json")
        self.assert_refused((sweep, "no table 'cell'", "cells, cells.samples_ns"), sweep, "cell")
        self.assert_refused((exact, "of kind 'computed'", sweep, "'sweep'"), [sweep, exact])
        self.assert_refused((exact, "kind is 'computed', it must be 'sweep'"), exact,
                            of=attnbench.speedups)
        for of in (attnbench.load, attnbench.speedups, attnbench.figures):
            self.assert_refused(("paths: is empty",), [], of=of)


if __name__ == "__main__":
    unittest.main()
