"""Guards against a form of results that Google Benchmark's own compare.py does
not read, or reads as something else; scripts/check.sh report."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import results  # noqa: F401  (finds tests/plots)

import made_up

PROGRAM = os.environ["ATTNBENCH"]
COMPARE = pathlib.Path("/usr/share/benchmark/compare.py")
NOT_REPETITIONS = ("pvalue", "mean", "median", "stddev", "cv")


def sweep(factor, fails):
    """`factor` times as slow; one more cell is good, or fails."""
    cells = [
        made_up.make_cell(name, 10, 10, samples_ns=[factor * (100.0 + i)
                                                    for i in range(12)])
        for name in ("soft", "monotonic", "matcha")
    ]
    if fails:
        made_up.stop(cells[-1], "timeout", "longer than 2 s")
    return made_up.make_document(cells)


class ComparePy(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def compare(self, *documents):
        for name, document in zip("ab", documents):
            (self.folder / f"{name}.json").write_text(json.dumps(document))
            subprocess.run(
                [PROGRAM, "convert", f"{name}.json", "--format", "gbench", "-o",
                 f"{name}.gbench.json", "--force"], cwd=self.folder, check=True)
        done = subprocess.run(
            [sys.executable, COMPARE, "--no-color", "benchmarks", "a.gbench.json",
             "b.gbench.json"],
            cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def changes(self, text, mechanism):
        """Column "Time" of the repetitions of a mechanism."""
        lines = [line.split() for line in text.splitlines() if "/" in line]
        return [
            float(words[1])
            for words in lines
            if words[0].startswith(mechanism + "/")
            and words[0].rsplit("_")[-1] not in NOT_REPETITIONS
        ]

    def test_half_the_time_is_read_as_half_in_every_repetition(self):
        text = self.compare(sweep(2, False), sweep(1, False))
        self.assertEqual(self.changes(text, "soft"), [-0.5] * 12)
        self.assertRegex(text, r"OVERALL_GEOMEAN +-0\.5000")
        self.assertRegex(text, r"U Test, Repetitions: 12 vs 12")

    def test_a_cell_that_fails_on_either_side_is_left_out(self):
        for sides in ((False, True), (True, False), (True, True)):
            text = self.compare(sweep(2, sides[0]), sweep(1, sides[1]))
            self.assertEqual(self.changes(text, "soft"), [-0.5] * 12)
            self.assertNotIn("matcha", text)
            self.assertRegex(text, r"OVERALL_GEOMEAN +-0\.5")


if __name__ == "__main__":
    if not COMPARE.exists():
        sys.exit(f"compare_py_test.py: there is no {COMPARE}; scripts/setup.sh "
                 "--tools installs libbenchmark-tools")
    unittest.main()
