"""Guards against a sweep that reads differently as Google Benchmark's JSON: a
sample lost, two cells of one name, a failed cell that passes for a fast one."""

import copy
import os
import statistics
import tempfile
import unittest

from documents import strict
from result_files import ResultFilesTest, fail, sweep

# Two cells each of soft, mocha and matcha, which differ in an option.
ARGUMENTS = ("--mechanism", "soft,mocha,matcha", "-T", "10", "-U", "20", "-d", "8",
             "--energy", "additive", "--option", "keys=precomputed,on_demand",
             "--repetitions", "4")


class ConvertTest(ResultFilesTest):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.swept = sweep(os.path.join(folder, "swept.json"), *ARGUMENTS)

    def setUp(self):
        super().setUp()
        # The same result on another day: known times, and one cell that failed.
        self.document = copy.deepcopy(self.swept)
        cells = self.document["cells"]
        cells[0].update(samples_ns=[100.0, 300.0, 200.0, 400.0], trials_per_sample=50)
        cells[2].update(samples_ns=[7.5])
        fail(cells[5], "timeout", "longer than 2 s")

    def converted(self, document):
        path = self.write("r.json", document)
        out, err = self.gives(0, "show", path, "--format", "gbench")
        self.assertEqual(err, "")
        return strict(out)

    def test_every_sample_is_a_repetition_of_its_cell(self):
        entries = self.converted(self.document)["benchmarks"]
        runs = [entry for entry in entries if entry["run_type"] == "iteration"]
        first = [run for run in runs if run["name"] == runs[0]["name"]]
        self.assertEqual([run["real_time"] for run in first], [100, 300, 200, 400])
        self.assertEqual([run["cpu_time"] for run in first], [100, 300, 200, 400])
        self.assertEqual([run["repetition_index"] for run in first], [0, 1, 2, 3])
        self.assertEqual([run["iterations"] for run in first], [50] * 4)
        for run in runs:
            self.assertEqual(run["time_unit"], "ns")
            self.assertEqual(run["run_name"], run["name"])

    def test_names_tell_cells_apart_by_axes_and_options(self):
        entries = self.converted(self.document)["benchmarks"]
        names = list(dict.fromkeys(entry["run_name"] for entry in entries))
        self.assertEqual(len(names), 6)
        self.assertEqual(
            names[2],
            "mocha/T=10/U=20/w=4/d=8/B=1/j=1/precision=f32/mode=decode/scope=full/"
            "schedule=online/energy=additive/variant=exact/workload=uniform/end=absorb/"
            "keys=precomputed/noise=0.0/sample=false/strict=false/threshold=0.5")
        self.assertTrue(names[1].endswith("/keys=on_demand"), names[1])

    def test_aggregates_are_those_of_the_samples(self):
        entries = self.converted(self.document)["benchmarks"]
        found = {entry["aggregate_name"]: entry for entry in entries[4:8]}
        samples = [100, 300, 200, 400]
        deviation = statistics.stdev(samples)
        for name, value, unit in (
            ("mean", 250, "time"), ("median", 250, "time"),
            ("stddev", deviation, "time"), ("cv", deviation / 250, "percentage"),
        ):
            entry = found[name]
            self.assertEqual(entry["name"], f"{entries[0]['name']}_{name}")
            self.assertEqual(entry["run_type"], "aggregate")
            self.assertEqual(entry["aggregate_unit"], unit)
            self.assertAlmostEqual(entry["real_time"], value, places=9)
        # A single sample has no deviation.
        mocha = [e for e in entries if "mocha" in e["name"] and "precomputed" in e["name"]]
        self.assertEqual([e["run_type"] for e in mocha], ["iteration"])

    def test_a_failed_cell_has_its_message_and_no_time(self):
        failed = self.converted(self.document)["benchmarks"][-1]
        self.assertTrue(failed["error_occurred"])
        self.assertEqual(failed["error_message"], "timeout: longer than 2 s")
        self.assertTrue(failed["name"].startswith("matcha/"))
        self.assertNotIn("real_time", failed)
        self.assertNotIn("cpu_time", failed)

    def test_the_context_says_what_ran_and_whether_it_is_valid(self):
        known = {"date": "2026-01-02T03:04:05Z", "cores": 3, "build_type": "Debug",
                 "simd": "AVX2"}
        self.document["context"].update(known, valid=False, invalid_reasons=["why"])
        context = self.converted(self.document)["context"]
        self.assertEqual(context["date"], "2026-01-02T03:04:05Z")
        self.assertEqual(context["num_cpus"], 3)
        self.assertEqual(context["library_build_type"], "debug")
        self.assertEqual(context["valid"], "false")
        self.assertEqual(context["simd"], "AVX2")
        self.document["context"].update(build_type="Release", valid=True,
                                        invalid_reasons=[])
        context = self.converted(self.document)["context"]
        self.assertEqual(context["library_build_type"], "release")
        self.assertEqual(context["valid"], "true")

    def test_a_real_sweep_is_converted(self):
        path = self.write("swept.json", self.swept)
        out, err = self.gives(0, "show", path, "--format", "gbench")
        self.assertEqual(err, "")
        runs = [e for e in strict(out)["benchmarks"] if e["run_type"] == "iteration"]
        self.assertEqual(
            [run["real_time"] for run in runs],
            [ns for cell in self.swept["cells"] for ns in cell["samples_ns"]])

    def test_a_cell_that_lacks_its_times_or_an_axis_is_refused_naming_the_place(self):
        for change, *parts in (
                (lambda d: d["cells"][1].update(samples_ns=[]), "cells[1]", "samples_ns"),
                (lambda d: d["cells"][2].pop("chunk_width"), "cells[2]", "chunk_width")):
            path = self.changed("r.json", self.document, change)
            self.refused(("show", path, "--format", "gbench"), "r.json: ", *parts)


if __name__ == "__main__":
    unittest.main()
