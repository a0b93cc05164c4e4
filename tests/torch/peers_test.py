"""Guards against operators that are measured beside PyTorch but give other numbers than our
mechanisms, or that no target reads."""

import json
import os
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["ATTNBENCH"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEER = "/usr/bin/python3 " + os.path.join(ROOT, "experiments", "peers", "framework.py")


class Operators(unittest.TestCase):
    def test_operators_and_closed_forms_give_the_numbers_of_the_mechanisms(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            subprocess.run(
                [PROGRAM, "run-sweep", "--mechanism", "monotonic,mocha,matcha", "-T", "12",
                 "-U", "4", "-B", "2", "-w", "3", "--mode", "gradient", "--workload",
                 "bias:-20", "--variant", "framework,framework_operators", "--repetitions",
                 "2", "--peer", PEER, "-o", path],
                check=True, capture_output=True, timeout=300, cwd=ROOT)
            with open(path, encoding="utf-8") as file:
                cells = json.load(file)["cells"]
        self.assertEqual(len(cells), 6)
        for cell in cells:
            self.assertEqual(cell["status"], "ok", cell["message"])
            self.assertLess(cell["numerics"]["error"], 1e-3, cell["mechanism"])
            is_ours = cell["variant"] == "framework_operators"
            self.assertEqual(cell["numerics"]["error_bound"] is not None, is_ours)


if __name__ == "__main__":
    unittest.main()
