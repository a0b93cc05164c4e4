"""Guards against a loader that takes only whole results: a shard, an interrupted
run and failed cells are results too; and against one that takes anything."""

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

from plot_case import ROOT, PlotTest
from attnbench.analysis import input_file, load
import made_up

PROGRAM = os.environ.get("ATTNBENCH")  # mutations have none


class LoadTest(PlotTest):
    def load(self, cells, **context):
        document = made_up.make_document(cells)
        document["context"].update(context)
        return load.load(self.write(document))

    def test_a_result_of_the_program_is_a_frame_in_one_call(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.json")
            subprocess.run(
                [PROGRAM, "run-sweep", "--mechanism", "soft,mocha", "-T", "3,5", "-d",
                 "4", "--repetitions", "3", "-o", path], check=True, capture_output=True)
            # As a user would, from anywhere.
            done = subprocess.run(
                [sys.executable, "-c",
                 "from attnbench.analysis.load import load\n"
                 "frame = load('mine.json')\n"
                 "print(len(frame), (frame.median_ns > 0).all(), *frame.mechanism,"
                 " *frame.memory_length, frame.attrs['context']['seed'])"],
                cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
                check=True, capture_output=True, text=True)
        self.assertEqual(done.stdout.split(),
                         "4 True soft mocha soft mocha 3 3 5 5 1".split())

    def test_a_member_of_a_cell_is_an_axis_or_an_outcome_that_is_described(self):
        members = load.CELL["properties"]
        self.assertEqual(load.AXES | load.OUTCOMES | {"mechanism", "options"},
                         set(members) | {"reads"})
        self.assertFalse(load.AXES & load.OUTCOMES)
        self.assertLess({"memory_length", "variant"}, load.AXES)
        self.assertLess({"status", "median_ns", "point"}, load.OUTCOMES)
        for name in load.OUTCOMES - {"reads"}:
            self.assertIn("description", members[name], name)

    def test_a_large_file_is_told_before_it_is_read(self):
        path = self.write(made_up.make_document([made_up.make_cell("soft", 3, 3)]))
        large = f"attnbench: reading {path}: 0 MiB, which takes a while\n"
        for most, told in ((1 << 20, ""), (100, large)):
            said = io.StringIO()
            with mock.patch.object(input_file, "LARGE_BYTES", most), \
                    contextlib.redirect_stderr(said):
                load.load(path)
            self.assertEqual(said.getvalue(), told)

    def test_a_shard_or_an_interrupted_run_is_what_it_has(self):
        frame = self.load([made_up.make_cell("soft", 3, 3)], shard="1/4",
                          points=[made_up.POINT, "fedcba9876543210"])
        self.assertEqual(len(frame), 1)
        self.assertEqual(frame.attrs["context"]["shard"], "1/4")
        self.assertEqual(frame["point"].iloc[0], made_up.POINT)

    def test_a_point_that_is_there_has_all_of_its_cells(self):
        cells = [made_up.make_cell("soft", 3, 3)]
        self.assertEqual(len(self.load(cells, points=[made_up.POINT, "fedcba9876543210"],
                                       cells_of_points=[1, 5])), 1)
        for planned, what in (([2], f"has 1 of the 2 cells of point {made_up.POINT}"),
                              ([1, 1], "cells_of_points: has 2 numbers, of 1 point\\b")):
            with self.assertRaisesRegex(load.DataError, what):
                self.load(cells, points=[made_up.POINT], cells_of_points=planned)

    def test_what_a_message_repeats_is_no_longer_than_a_line(self):
        for document in ({"k" * 10_000: 1}, {"kind": "\u20ac" * 10_000},
                         {**made_up.make_document([]), "x" * 10_000: 1}):
            with self.assertRaises(load.DataError) as caught:
                load.read(self.write(document), "sweep")
            self.assertLess(len(str(caught.exception)), 700)
        with self.assertRaisesRegex(load.DataError, r"k\.\.\.\(10000 characters\)\.\.\.k"):
            load.read_json(self.write(f'{{"{"k" * 10_000}": 1, "{"k" * 10_000}": 2}}'))

    def test_what_follows_a_document_is_refused_as_by_the_program(self):
        for text in ("{}\0 and text", "{}\0", "\0{}", "{} {}", "{},", '{"a": 1,}'):
            with self.assertRaisesRegex(load.DataError, "not JSON"):
                load.read_json(self.write(text))
        self.assertEqual(load.read_json(self.write("\ufeff{}")), {})

    def test_an_interval_has_its_lower_end_first(self):
        cell = made_up.make_cell("soft", 3, 3)
        cell["interval_ns"] = [2.0, 1.0]
        with self.assertRaisesRegex(load.DataError, r"cells\[0\]\.interval_ns: is \[2.0, 1.0\]"):
            self.load([cell])

    def test_an_integer_beyond_64_bits_is_refused(self):
        cell = made_up.make_cell("soft", 3, 3)
        for number in (2**63, 1e20):
            with self.assertRaisesRegex(load.DataError, "memory_length is"):
                self.load([{**cell, "memory_length": number}])

    def test_a_whole_number_may_be_written_with_a_point(self):
        cell = made_up.make_cell("soft", 3, 3, samples_ns=[1.0, 2.0, 3.0, 4.0], processes=2)
        cell["median_ns"] = 2.0
        document = made_up.make_document([{**cell, "memory_length": 3e0, "processes": 2.0,
                                           "chunk_width": 4.0}])
        document["schema_version"] = 1.0
        read = load.read(self.write(document), "sweep")
        (found,) = read["cells"]
        for name, wanted in (("memory_length", 3), ("processes", 2), ("chunk_width", 4)):
            self.assertEqual((found[name], type(found[name])), (wanted, int))
        # Times stay what they are: numpy's integers would overflow.
        self.assertEqual({type(one) for one in (found["median_ns"], *found["samples_ns"])},
                         {float})
        with self.assertRaisesRegex(load.DataError, "processes is 1.5, it must be integer"):
            self.load([{**cell, "processes": 1.5}])

    def test_a_pipe_without_a_writer_is_refused_and_one_with_a_writer_read(self):
        path = f"{self.write({})}.fifo"
        os.mkfifo(path)
        with mock.patch.object(input_file, "MOST_SECONDS_WITHOUT_WRITER", 0.1), \
                self.assertRaisesRegex(load.DataError, "a pipe that nobody writes to"):
            load.read_json(path)
        writer = os.open(path, os.O_RDWR)
        with mock.patch.object(input_file, "MOST_SECONDS_OF_WAITING", 0.1), \
                mock.patch.object(input_file, "MOST_SECONDS_WITHOUT_WRITER", 0.1), \
                self.assertRaisesRegex(load.DataError, "a pipe, and nothing came"):
            load.read_json(path)
        late = threading.Timer(0.2, lambda: pathlib.Path(path).write_text('{"a": 1}', "utf-8"))
        os.close(writer)
        late.start()
        self.assertEqual(load.read_json(path), {"a": 1})
        late.join()

    def test_a_file_is_no_larger_than_the_program_takes(self):
        path = self.write({"a": "b" * 100})
        with self.assertRaisesRegex(load.DataError, "cannot be read: is larger than 0 MiB"):
            load.read_json(path, most_bytes=50)
        source = (ROOT / "harness" / "base" / "json_file.h").read_text(encoding="utf-8")
        most = int(re.search(r"most_mebibytes = (\d+)", source)[1])
        self.assertEqual(input_file.MOST_BYTES, most << 20)

    def test_every_status_is_kept_and_has_no_times(self):
        cells = [made_up.make_cell("soft", t, 3) for t in range(1, 6)]
        for cell, status in zip(cells, load.STATUSES):
            if status != "ok":
                made_up.stop(cell, status, "why")
        frame = self.load(cells)
        self.assertEqual(tuple(frame["status"]), load.STATUSES)
        self.assertEqual(list(frame["median_ns"].isna()), [False] + [True] * 4)
        self.assertIsNone(frame["interval_ns"].iloc[1])

    def test_samples_of_several_processes_stay_in_their_order(self):
        samples = [1.0, 2.0, 3.0, 4.0]
        frame = self.load([made_up.make_cell("soft", 3, 3, samples_ns=samples,
                                             processes=2)])
        self.assertEqual(frame["samples_ns"].iloc[0], samples)
        self.assertEqual(frame["processes"].iloc[0], 2)

    def test_a_cell_is_of_one_build_unless_it_says_more(self):
        cell = made_up.make_cell("soft", 3, 3, processes=4)
        self.assertEqual(load.builds(cell), 1)
        for builds in (2, 4):
            (found,) = self.load([{**cell, "builds": builds}]).to_dict("records")
            self.assertEqual(load.builds(found), builds)
        with self.assertRaisesRegex(load.DataError, "4 processes are not equally many of 3"):
            self.load([{**cell, "builds": 3}])

    def test_points_processes_and_builds_are_no_settings(self):
        cells = made_up.mocha_cells((10, 20))
        for cell in cells:
            length = cell["memory_length"]
            processes = length // 10
            cell.update(point=f"{length:016x}", processes=processes, builds=processes)
        self.draws("--figure", "mocha_figure3", self.write(made_up.make_document(cells)))

    def test_what_is_no_result_is_refused_by_name_and_place(self):
        good = made_up.make_document(made_up.mocha_cells())

        def context(**changes):
            return {**good, "context": {**good["context"], **changes}}

        def cell(left_out=None, **changes):
            first = {key: value for key, value in good["cells"][0].items() if key != left_out}
            return {**good, "cells": [{**first, **changes}, *good["cells"][1:]]}

        for content, message in (
            ("{", "odd.json: not JSON"),
            ('{"a": NaN}', "NaN"),
            ("[]", "not a JSON object"),
            *((f'{{"kind": {number}}}', "the number .* is too large")
              for number in ("1e400", "9" * 400, "-1e999")),
            ('{"kind": 1, "a": {"b": 1, "b": 2}}', "the key 'b' is there twice in one object"),
            ({}, "kind is missing"),
            ({**good, "kind": "verify"}, "kind is 'verify', it must be 'sweep'"),
            ({**good, "schema_version": 2}, "schema_version is 2, it must be 1"),
            ({**good, "context": {}}, "context: commit is missing"),
            (context(dirty="no"), "context: dirty is 'no'"),
            *((context(valid=valid, invalid_reasons=reasons),
               f"context: invalid_reasons is {re.escape(str(reasons))}, it must be array of at")
              for valid, reasons in ((True, ["a debug build"]), (False, []))),
            ({**good, "cells": {}}, "cells"),
            ({**good, "cells": []}, "cells: is empty"),
            (cell("status"), r"cells\[0\]: status is missing"),
            (cell(status="lost"), r"cells\[0\]: status is 'lost'"),
            (cell("samples_ns"), r"cells\[0\]: samples_ns is missing"),
            (cell(samples_ns=[0]), "samples_ns.* above 0"),
            (cell(memory_length="x"), "memory_length is 'x', .*int"),
        ):
            with self.subTest(message), self.assertRaisesRegex(load.DataError, message) as caught:
                load.load(self.write(content, "odd.json"))
            self.assertIn("odd.json", str(caught.exception))
        with self.assertRaisesRegex(load.DataError, "absent.json: cannot be read"):
            load.load(str(pathlib.Path(self.folder) / "absent.json"))


if __name__ == "__main__":
    unittest.main()
