"""The SIMD level of the kernels from outside: `--simd` and ATTNBENCH_SIMD.

Guards against a level that is asked for and not taken, or taken though it does
not exist: a result would carry times of other kernels than it says."""

import json
import os
import re
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["ATTNBENCH"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SWEEP = ["run-sweep", "--mechanism", "monotonic", "-T", "3", "-U", "2", "-d", "4",
         "--repetitions", "2"]


def run(*arguments, variable=None):
    environment = {name: value for name, value in os.environ.items()
                   if name != "ATTNBENCH_SIMD"}
    if variable is not None:
        environment["ATTNBENCH_SIMD"] = variable
    return subprocess.run([PROGRAM, *arguments], env=environment, timeout=120,
                          capture_output=True, text=True, check=False)


def levels():
    """Gives the SIMD levels of this machine, best first, from the answer to a wrong
    name.
    """
    answer = run("list", "--simd", "nonsense").stderr
    return re.search(r"valid: (.*)", answer)[1].split(", ")


def case(name):
    return os.path.join(ROOT, "tests", "golden", name + ".json")


class Simd(unittest.TestCase):
    def simd_of(self, *arguments, variable=None):
        """Gives the level that a sweep says it ran on."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            done = run(*SWEEP, "-o", path, *arguments, variable=variable)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                document = json.load(file)
        self.assertEqual([cell["status"] for cell in document["cells"]], ["ok"])
        return document["context"]["simd"]

    def refused(self, done, *texts):
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def test_the_best_level_is_taken_where_nothing_is_asked_for(self):
        self.assertEqual(self.simd_of(variable=""), levels()[0])

    def test_every_level_can_be_asked_for_and_the_option_goes_first(self):
        for level in levels():
            with self.subTest(level=level):
                self.assertEqual(self.simd_of("--simd", level, variable="nonsense"),
                                 level)

    def test_the_variable_serves_where_there_is_no_option(self):
        self.assertEqual(self.simd_of(variable=levels()[-1]), levels()[-1])

    def test_help_names_the_levels(self):
        text = " ".join(run("--help").stdout.split())
        self.assertIn("one of " + ", ".join(levels()), text)

    def test_a_wrong_name_is_refused_where_it_stands(self):
        wanted = ["unknown SIMD level 'nonsense'", "valid: " + ", ".join(levels())]
        self.refused(run(*SWEEP, "--simd", "nonsense"), "attnbench: --simd: ", *wanted)
        self.refused(run(*SWEEP, variable="nonsense"), "attnbench: ATTNBENCH_SIMD: ",
                     *wanted)
        best = levels()[0]
        self.refused(run("list", "--simd", best.lower()), f"did you mean '{best}'?")

    def test_every_level_computes_the_same(self):
        for name in ("monotonic-long", "mocha-wide-chunk", "matcha-long", "soft-plain"):
            with open(case(name), encoding="utf-8") as file:
                expected = json.load(file)
            tolerance = expected["tolerance"]
            for level in levels():
                with self.subTest(name=name, level=level):
                    done = run("expect", case(name), "--simd", level)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    rows = json.loads(done.stdout)["attention"]
                    for row, right in zip(rows, expected["expected"]["attention"],
                                          strict=True):
                        for value, exact in zip(row, right, strict=True):
                            self.assertLessEqual(abs(value - exact), tolerance)


if __name__ == "__main__":
    unittest.main()
