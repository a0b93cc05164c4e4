"""Guards against a form of results that Google Benchmark's own compare.py does
not read, or reads as something else; scripts/check.sh report."""

import copy
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "cli"), str(ROOT / "tests" / "support")]

from result_files import ResultFilesTest, fail, sweep  # noqa: E402

COMPARE = pathlib.Path("/usr/share/benchmark/compare.py")
NOT_REPETITIONS = ("pvalue", "mean", "median", "stddev", "cv")


class ComparePy(ResultFilesTest):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.swept = sweep(os.path.join(folder, "swept.json"), "--mechanism",
                              "soft,monotonic,matcha", "-T", "10", "-d", "8",
                              "--repetitions", "1")

    def result(self, factor, fails):
        """Gives times `factor` times as slow as 100 to 111 ns; the last cell is good,
        or fails.
        """
        document = copy.deepcopy(self.swept)
        for cell in document["cells"]:
            cell["samples_ns"] = [factor * (100.0 + i) for i in range(12)]
            # The sweep has a single round, so its cells have no interval.
            cell["interval_ns"] = [factor * 100.0, factor * 111.0]
        if fails:
            fail(document["cells"][-1], "timeout", "longer than 2 s")
        return document

    def compare(self, *documents):
        converted = []
        for name, document in zip("ab", documents):
            path = self.write(f"{name}.json", document)
            converted.append(self.path(f"{name}.gbench.json"))
            out, _ = self.gives(0, "show", path, "--format", "gbench")
            with open(converted[-1], "w", encoding="utf-8") as file:
                file.write(out)
        done = subprocess.run(
            [sys.executable, COMPARE, "--no-color", "benchmarks", *converted],
            cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def changes(self, text, mechanism):
        """Gives the column "Time" of the repetitions of a mechanism."""
        lines = [line.split() for line in text.splitlines() if "/" in line]
        return [
            float(words[1])
            for words in lines
            if words[0].startswith(mechanism + "/")
            and words[0].rsplit("_")[-1] not in NOT_REPETITIONS
        ]

    def test_half_the_time_is_read_as_half_in_every_repetition(self):
        text = self.compare(self.result(2, False), self.result(1, False))
        self.assertEqual(self.changes(text, "soft"), [-0.5] * 12)
        self.assertRegex(text, r"OVERALL_GEOMEAN +-0\.5000")
        self.assertRegex(text, r"U Test, Repetitions: 12 vs 12")

    def test_a_cell_that_fails_on_either_side_is_left_out(self):
        for sides in ((False, True), (True, False), (True, True)):
            text = self.compare(self.result(2, sides[0]), self.result(1, sides[1]))
            self.assertEqual(self.changes(text, "soft"), [-0.5] * 12)
            self.assertNotIn("matcha", text)
            self.assertRegex(text, r"OVERALL_GEOMEAN +-0\.5")


if __name__ == "__main__":
    if not COMPARE.exists():
        sys.exit(f"compare_py_test.py: there is no {COMPARE}; scripts/setup.sh "
                 "--tools installs libbenchmark-tools")
    unittest.main()
