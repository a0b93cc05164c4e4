"""attnbench stability from outside.

Guards against a result that is not strict JSON or not the same on any number of
threads, and a file that is replaced unasked.
"""
import os
import subprocess
import unittest

from documents import strict
from in_folder import InFolder

ATTNBENCH = os.environ["ATTNBENCH"]
NEWCOMER = os.environ["ATTNBENCH_WITH_NEWCOMER"]


def run(*arguments, program=ATTNBENCH, **environment):
    return subprocess.run([program, "stability", *map(str, arguments)],
                          capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


def numbers(document):
    return {key: value for key, value in document.items() if key != "context"}


class Stability(InFolder):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.folder, "stability.json")

    def result(self):
        with open(self.path, encoding="utf-8") as file:
            return strict(file.read())

    def test_a_quick_run_writes_a_result_a_table_and_its_progress(self):
        result = run("--quick", "-o", self.path)
        self.assertEqual(result.returncode, 0, result.stderr)
        document = self.result()
        self.assertEqual(document["kind"], "stability")
        self.assertEqual(document["context"]["seed"], 1)
        self.assertIn("--quick", document["context"]["command"])
        for name in ("monotonic exact", "monotonic TensorFlow", "monotonic neural_sp, no_denom", "mocha clipped"):
            self.assertIn(name, result.stdout)
        self.assertRegex(result.stderr, r"stability: (\d+) of \1 points\n$")
        self.assertEqual(os.listdir(self.folder), ["stability.json"])

        refused = run("--quick", "-o", self.path)
        self.assertEqual((refused.returncode, refused.stdout), (2, ""), refused.stderr)
        self.assertRegex(refused.stderr, r"\A.*--force replaces it.*\n\Z")
        again = run("--quick", "-o", self.path, "--force", "--json", "--seed", 2,
                    OMP_NUM_THREADS="1")
        self.assertEqual(again.returncode, 0, again.stderr)
        printed = strict(again.stdout)
        self.assertEqual(printed, self.result())
        self.assertEqual(printed["context"]["seed"], 2)
        self.assertNotEqual(numbers(printed), numbers(document))
        # wait_k is one mechanism more; others have no scores to start from and are left out.
        other = run("--quick", "--json", "--seed", 2, program=NEWCOMER,
                    OMP_NUM_THREADS="3")
        self.assertEqual(other.returncode, 0, other.stderr)
        further = numbers(strict(other.stdout))
        for key, rows in further.items():
            if isinstance(rows, list):
                further[key] = [row for row in rows if row.get("mechanism") != "wait_k"]
        self.assertNotEqual(further, numbers(strict(other.stdout)))
        self.assertEqual(further, numbers(printed))


if __name__ == "__main__":
    unittest.main()
