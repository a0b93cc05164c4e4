"""Guards against speed-ups that are not those of `attnbench show`, against a document of
the program that load() does not take, and against a new kind of result that nobody tried.
"""

import csv
import glob
import io
import json
import math
import os
import subprocess
import tempfile
import unittest

import attnbench
import made_up
import numpy
from attnbench.analysis import load, modes, reads
from documents import ROOT
from pages import markdown

PROGRAM = os.environ["ATTNBENCH"]
# One of our mechanisms, other programs, several builds, whole decoders, three variants.
SWEEPS = ("claims/figure3", "peers_lengths", "claims/decoder", "claims/translation",
          "claims/speedup", "threads")


def committed(name):
    return os.path.join("results", f"{name}.json")


class ProgramTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def run_program(self, *arguments, codes=(0,)):
        done = subprocess.run([PROGRAM, *arguments], cwd=ROOT, capture_output=True,
                              text=True, check=False)
        self.assertIn(done.returncode, codes, done.stderr)
        return done.stdout

    def sweep(self, name, *arguments):
        self.run_program("run-sweep", "-d", "4", "--repetitions", "3", *arguments, "-o",
                         self.path(name))
        return self.path(name)


class Speedups(ProgramTest):
    def assert_same(self, path):
        """Expects the numbers of `show`; gives how many speed-ups there are."""
        text = self.run_program("show", path, "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(text)))
        faster = attnbench.speedups(path)
        self.assertEqual(
            list(faster.index), [number for number, row in enumerate(rows) if row["over"]])
        for number, row in faster.iterrows():
            shown = rows[number]
            over = rows[row["over"]]
            self.assertEqual((over["point"], over["cell"]), (shown["point"], shown["over"]))
            self.assertEqual(row["over_mechanism"], over["mechanism"])
            self.assertEqual(row["mechanism"], shown["mechanism"])
            for column, of_show in (
                ("median_ns", "time_ns"), ("low_ns", "time_low_ns"),
                ("high_ns", "time_high_ns"), ("speedup", "speedup"),
                ("speedup_low", "speedup_low"), ("speedup_high", "speedup_high"),
                ("zero_contexts", "zero_contexts"),
            ):
                if shown[of_show]:
                    wanted = float(shown[of_show])
                    self.assertTrue(math.isclose(row[column], wanted, rel_tol=1e-6,
                                                 abs_tol=1e-12), (number, column))
                else:
                    self.assertTrue(math.isnan(row[column]), (number, column))
        for row, cell in zip(rows, load.load(path).to_dict("records"), strict=True):
            for column, value in cell["reads"].items():
                if row[column]:
                    self.assertAlmostEqual(value, float(row[column]), 6, column)
                elif cell["mechanism"] in modes.MECHANISMS and row["time_ns"]:
                    self.assertIsNone(value, column)
        return int(faster["speedup"].notna().sum())

    def test_they_are_those_of_show(self):
        for name in SWEEPS:
            with self.subTest(name):
                path = os.path.join(ROOT, committed(name))
                self.assertGreater(self.assert_same(path), 0)

    def test_of_captured_sequences_of_unlike_lengths_padding_counts_for_nothing(self):
        energies = numpy.random.default_rng(1).normal(-1.5, 1, (4, 12, 40)).astype("f4")
        numpy.savez(self.path("c.npz"), energies=energies, lengths=[40, 20, 10, 5],
                    output_lengths=[12, 8, 3, 2])
        path = self.sweep("r.json", "--mechanism", "soft,monotonic,mocha", "--workload",
                          f"captured:{self.path('c.npz')},uniform")
        self.assertEqual(self.assert_same(path), 4)
        faster = attnbench.speedups(path)
        captured = faster[faster["workload"] != "uniform"]
        self.assertTrue((captured["zero_contexts"] > reads.MOST_EMPTY).all(), captured)
        self.assertEqual([reads.is_marked(cell) for cell in load.load(path).to_dict("records")],
                         [False, True, True, False, False, False])

    def test_figures_mark_the_speed_ups_that_show_marks(self):
        marks = 0
        for name in SWEEPS:
            path = os.path.join(ROOT, committed(name))
            shown = self.run_program("show", path, "--format", "markdown")
            rows = shown.split("| ---: |\n")[1].split("\n\n")[0].splitlines()
            cells = load.load(path).to_dict("records")
            wanted = [number for number, row in enumerate(rows)
                      if row.split(" | ")[3].endswith(markdown.text(reads.MARK))]
            faster = attnbench.speedups(path)
            self.assertEqual(
                [number for number in faster.index[faster["speedup"].notna()]
                 if reads.is_marked(cells[number])], wanted)
            self.assertEqual(markdown.text(reads.NOTE) in shown, bool(wanted))
            marks += len(wanted)
        self.assertGreater(marks, 50)

    def test_groups_without_soft_and_cells_without_times(self):
        path = self.sweep("r.json", "--mechanism", "soft,monotonic,mocha", "-T", "3,4",
                          "-w", "2,3", "--precision", "f32,f64")
        self.assertEqual(self.assert_same(path), 12)
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        cells = document["cells"]
        for cell in cells:
            if cell["memory_length"] == 4:
                cell["samples_ns"] = cell["samples_ns"][:-1]
        cells[0]["samples_ns"] = cells[0]["samples_ns"][:1]
        made_up.stop(cells[-1], "timeout", "too slow")
        cells[-1].update(trials_per_sample=None, peak_memory_bytes=None, numerics=None,
                         prepare_samples_ns=[])
        path = self.write("changed.json", json.dumps(document))
        self.assertLess(self.assert_same(path), 11)
        without = self.sweep("without.json", "--mechanism", "monotonic,mocha,memory", "-T",
                             "3", "-w", "2,3", "-K", "2", "--workload", "uniform,bias:-20")
        self.assertEqual(self.assert_same(without), 6)
        self.assertEqual(set(attnbench.speedups(without)["over_mechanism"]), {"monotonic"})
        self.assertGreater(attnbench.speedups(without)["zero_contexts"].max(), 0.99)
        both = attnbench.speedups([path, without])
        self.assertEqual(both.loc[both["path"] == without, "over"].min(), len(cells))

    def test_a_single_round_has_no_interval_and_a_single_cell_no_speed_up(self):
        path = self.path("one.json")
        self.run_program("run-sweep", "--mechanism", "soft,mocha", "-T", "3", "-d", "4",
                         "--repetitions", "1", "-o", path)
        self.assertEqual(self.assert_same(path), 1)
        self.assertTrue(attnbench.speedups(path)["speedup_high"].isna().all())
        alone = attnbench.speedups(self.write("alone.json", json.dumps(
            made_up.make_document([made_up.make_cell("soft", 3, 3)]))))
        self.assertEqual((len(alone), "speedup" in alone.columns), (0, True))


class Kinds(ProgramTest):
    def made(self):
        """A result of each kind; relative paths are of committed ones, which
        results_test.py looks at.
        """
        run, write = self.run_program, self.write
        run("advise", "-T", "20", "-U", "6", "-d", "64", "--vocabulary", "9",
            "--repetitions", "2", "-o", self.path("advice.json"), codes=(0, 5))
        # A real one takes seconds.
        roofline = made_up.make_result("roofline", limits=[
            made_up.limits([("L1", 32768, 3e11), ("DRAM", None, 1e10)])])
        trained = made_up.make_trained("stretch", [made_up.make_trained_run(
            "noise0", 1, 2.0, 9.0, steps=(100,),
            example={"attention": [[0.5, 0.25]], "choices": [0], "contexts": []})])
        before, after = committed("compare/before"), committed("compare/after")
        return {
            "table": write("table.json", run("show", after, "--format", "json")),
            "compare": write("compare.json", run(
                "compare", before, after, "--json", codes=(0, 1))),
            "check": write("check.json", run(
                "check", after, "--baseline", before, "--time", "--json", codes=(0, 1))),
            "diagnosis": write("diagnosis.json", run(
                "diagnose", "--p", "tests/golden/mocha-plain.json", "--json")),
            "decode": write("decode.json", run("decode", "tests/golden/mocha-hard.json")),
            "expect": write("expect.json", run("expect", "tests/golden/mocha-plain.json")),
            "trained": write("trained.json", json.dumps(trained)),
            "sweep": after,
            "roofline": write("roofline.json", json.dumps(roofline)),
            "advice": self.path("advice.json"),
            "aa": committed("aa"),
            "authors": committed("claims/authors"),
            "banded_torch": committed("banded_torch"),
            "claims": committed("claims"),
            "clip_gradient": committed("clip_gradient"),
            "computed": committed("claims/exact"),
            "effects": committed("effects"),
            "gap": committed("gap"),
            "model_gap": committed("gap_model"),
            "published": committed("published/mocha"),
            "python_loop": committed("python_loop"),
            "replacement": committed("replacement"),
            "stability": committed("claims/stability"),
            "training_budget": committed("training_budget"),
            "verify": committed("verify_mocha"),
        }

    def test_every_kind_is_a_frame_with_rows(self):
        frames = {}
        for kind, path in self.made().items():
            with self.subTest(kind):
                frames[kind] = frame = attnbench.load(os.path.join(ROOT, path))
                self.assertEqual(frame.attrs["kind"], kind)
                self.assertGreater(len(frame), 0)
                for table in frame.attrs["tables"] if os.path.isabs(path) else ():
                    for name, column in attnbench.load(path, table).items():
                        if column.dtype == object:
                            self.assertFalse(
                                any(isinstance(one, (list, dict)) for one in column),
                                (table, name))
        self.assert_all_kinds(frames)
        self.assert_numbers(frames)

    def assert_all_kinds(self, frames):
        """Expects a result of each schema that is one of results."""
        kinds = {"decode", "expect"}
        for path in glob.glob(os.path.join(ROOT, "results", "schema", "*.schema.json")):
            with open(path, encoding="utf-8") as file:
                if "kind" in json.load(file)["properties"]:
                    kinds.add(os.path.basename(path).removesuffix(".schema.json"))
        self.assertEqual(set(frames), kinds - {"checkpoint"})  # a model is no result

    def assert_numbers(self, frames):
        self.assertEqual(list(frames["table"]["time_ns"]), list(frames["sweep"]["median_ns"]))
        self.assertIn("time_low_ns", frames["table"].columns)
        self.assertEqual(frames["roofline"]["name"].iloc[-1], "DRAM")
        self.assertEqual(list(frames["roofline"]["read_bytes_per_s"]), [3e11, 1e10])
        self.assertEqual(frames["advice"].attrs["shape.memory_length"], 20)
        self.assertEqual(frames["advice"]["mechanism"].iloc[0], "soft")
        self.assertTrue((frames["compare"]["low"] <= frames["compare"]["ratio"]).all())
        self.assertEqual(frames["compare"].attrs["b.commit"],
                         frames["sweep"].attrs["commit"])
        ratios = frames["check"]
        self.assertEqual(set(ratios["reference.mechanism"]), {"soft"})
        for _, row in ratios.iterrows():
            self.assertAlmostEqual(row["change"], row["result_ratio"] / row["baseline_ratio"])
        self.assertEqual(frames["decode"]["position"].iloc[0], 1)
        trained = attnbench.load(frames["trained"].attrs["path"], "runs.example.attention")
        self.assertEqual(list(trained["attention"]), [0.5, 0.25])


if __name__ == "__main__":
    unittest.main()
