"""Guards against a sweep that reads differently as Google Benchmark's JSON: a
sample lost, two cells of one name, a failed cell that passes for a fast one."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["ATTNBENCH"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "plots"))

import made_up  # noqa: E402


def sweep():
    """Two cells that differ in an option, one of mocha, one that failed."""
    samples = [100.0, 300.0, 200.0, 400.0]
    cells = [
        made_up.make_cell("soft", 10, 20, samples_ns=samples, options={"keys": keys})
        for keys in ("precomputed", "fresh")
    ]
    cells.append(made_up.make_cell("mocha", 10, 20, chunk_width=4, samples_ns=[7.5],
                                   options={"strict": False, "threshold": 0.5}))
    cells.append(made_up.make_cell("matcha", 10, 20))
    made_up.stop(cells[-1], "timeout", "longer than 2 s")
    return made_up.make_document(cells)


class ConvertTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def convert(self, document, *arguments):
        (self.folder / "r.json").write_text(json.dumps(document))
        return subprocess.run(
            [PROGRAM, "convert", "r.json", *arguments], cwd=self.folder,
            capture_output=True, text=True, timeout=60, check=False)

    def converted(self, document):
        done = self.convert(document, "--format", "gbench")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def refused(self, document, *messages, arguments=("--format", "gbench")):
        done = self.convert(document, *arguments)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for message in messages:
            self.assertIn(message, done.stderr)

    def test_every_sample_is_a_repetition_of_its_cell(self):
        entries = self.converted(sweep())["benchmarks"]
        runs = [entry for entry in entries if entry["run_type"] == "iteration"]
        first = [run for run in runs if run["name"] == runs[0]["name"]]
        self.assertEqual([run["real_time"] for run in first], [100, 300, 200, 400])
        self.assertEqual([run["cpu_time"] for run in first], [100, 300, 200, 400])
        self.assertEqual([run["repetition_index"] for run in first], [0, 1, 2, 3])
        for run in runs:
            self.assertEqual(run["time_unit"], "ns")
            self.assertEqual(run["iterations"], 100)
            self.assertEqual(run["run_name"], run["name"])

    def test_names_tell_cells_apart_by_axes_and_options(self):
        entries = self.converted(sweep())["benchmarks"]
        names = list(dict.fromkeys(entry["run_name"] for entry in entries))
        self.assertEqual(len(names), 4)
        self.assertEqual(
            names[2],
            "mocha/T=10/U=20/w=4/d=256/B=1/j=1/precision=f32/mode=decode/scope=full/"
            "schedule=online/energy=dot/variant=exact/workload=uniform/end=absorb/"
            "strict=false/threshold=0.5")
        self.assertTrue(names[1].endswith("/keys=fresh"), names[1])

    def test_aggregates_are_those_of_the_samples(self):
        entries = self.converted(sweep())["benchmarks"]
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
        # Of one sample there is no deviation.
        mocha = [e for e in entries if e["name"].startswith("mocha")]
        self.assertEqual([e["run_type"] for e in mocha], ["iteration"])

    def test_a_failed_cell_has_its_message_and_no_time(self):
        failed = self.converted(sweep())["benchmarks"][-1]
        self.assertTrue(failed["error_occurred"])
        self.assertEqual(failed["error_message"], "timeout: longer than 2 s")
        self.assertTrue(failed["name"].startswith("matcha/"))
        self.assertNotIn("real_time", failed)
        self.assertNotIn("cpu_time", failed)

    def test_the_context_says_what_ran_and_whether_it_is_valid(self):
        document = sweep()
        document["context"].update(valid=False, invalid_reasons=["why"])
        context = self.converted(document)["context"]
        self.assertEqual(context["date"], "2026-01-02T03:04:05Z")
        self.assertEqual(context["num_cpus"], 2)
        self.assertEqual(context["library_build_type"], "release")
        self.assertEqual(context["valid"], "false")
        self.assertEqual(context["simd"], "AVX2")

    def test_a_real_sweep_is_converted_into_a_file(self):
        subprocess.run([PROGRAM, "run-sweep", "--mechanism", "soft,mocha", "-T", "3",
                        "-d", "4", "--repetitions", "3", "-o", "real.json"],
                       cwd=self.folder, check=True, capture_output=True)
        document = json.loads((self.folder / "real.json").read_text())
        done = self.convert(document, "--format", "gbench", "-o", "g.json")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        made = json.loads((self.folder / "g.json").read_text())
        runs = [e for e in made["benchmarks"] if e["run_type"] == "iteration"]
        self.assertEqual(
            [run["real_time"] for run in runs],
            [ns for cell in document["cells"] for ns in cell["samples_ns"]])
        self.refused(document, "is there already", arguments=(
            "--format", "gbench", "-o", "g.json"))

    def test_what_is_no_sweep_is_refused(self):
        document = sweep()
        self.refused({**document, "kind": "verify"}, "r.json: kind is \"verify\"")
        self.refused({**document, "schema_version": 2}, "schema_version is 2")
        self.refused({}, "r.json: kind is missing")
        self.refused([], "r.json: is not an object")
        self.refused({**document, "cells": {}}, "r.json: cells: is not a list")
        for changes, message in (
            ({"samples_ns": []}, "samples_ns is empty"),
            ({"samples_ns": [1, 0]}, "samples_ns[1] is 0"),
            ({"samples_ns": 3}, "samples_ns is 3"),
            ({"status": 1}, "status is 1"),
        ):
            changed = sweep()
            changed["cells"][1].update(changes)
            self.refused(changed, "r.json: cells[1]: ", message)
        del document["cells"][2]["chunk_width"]
        self.refused(document, "cells[2]: chunk_width is missing")

    def test_the_format_has_a_name(self):
        self.refused(sweep(), "--format: is needed; valid: gbench", arguments=())
        self.refused(sweep(), "did you mean 'gbench'", arguments=("--format", "gbnch"))


if __name__ == "__main__":
    unittest.main()
