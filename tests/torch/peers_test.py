"""Guards against operators that are measured beside PyTorch but give other numbers than our
mechanisms, or that no target reads."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import torch

import needs

PROGRAM = os.environ.get("ATTNBENCH")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEER = "/usr/bin/python3 " + os.path.join(ROOT, "experiments", "peers", "framework.py")
sys.path[:0] = [
    os.path.join(ROOT, name) for name in ("python", os.path.dirname(PEER.split()[1]))]
from attnbench.torch import matcha_attention, mocha_attention, monotonic_attention
from framework_training import adaptive, chunkwise, selection


class Operators(unittest.TestCase):
    @needs.program
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
            # Only what approximates has no bound; its error is recorded.
            is_ours = cell["variant"] == "framework_operators"
            self.assertEqual(cell["numerics"]["error_bound"] is not None, is_ours)

    def test_closed_forms_are_the_operators_where_they_clip_nothing(self):
        torch.manual_seed(1)
        p, u = 0.2 * torch.rand(2, 4, 12), torch.randn(2, 4, 12)
        tiny = float(torch.finfo(p.dtype).tiny)
        wide = [x.unsqueeze(1) for x in (p, u)]
        for by_logs in (False, True):
            for closed, ours in (
                    (selection(p, tiny, by_logs), monotonic_attention(p=wide[0])),
                    (chunkwise(p, u, 3, tiny, by_logs),
                     mocha_attention(wide[1], 3, p=wide[0])[0]),
                    (adaptive(p, u, tiny, by_logs),
                     matcha_attention(wide[1], p=wide[0])[0])):
                self.assertTrue(torch.allclose(closed, ours.squeeze(1), atol=1e-5))


class Claims(unittest.TestCase):
    def answer(self, script, question):
        done = subprocess.run(
            ["/usr/bin/python3", os.path.join(ROOT, "experiments", "peers", script)],
            input=json.dumps(question), check=True, capture_output=True, text=True,
            timeout=120)
        answer = json.loads(done.stdout)
        self.assertEqual(answer.pop("framework"), "torch " + torch.__version__)
        return answer

    def test_gradients_are_those_of_the_framework_s_own_cumprod(self):
        cases = [{"x": [2, 3, 4]}, {"x": [0, 2, 3]}]
        self.assertEqual(self.answer("cumprod.py", cases),
                         {"gradients": [[16, 10, 6], [9, 0, 0]]})

    def test_what_a_gradient_keeps_is_an_array_of_t_by_t_an_output_at_least(self):
        T, U = 64, 5
        (kept,), (of_twice,) = (
            self.answer("matcha_bytes.py", {"memory_length": [T], "output_length": [u]})
            ["bytes"] for u in (U, 2 * U))
        square = 8 * T * T
        self.assertGreater(kept, U * square)
        self.assertLess(kept, 4 * U * square)
        # Only the mask of the pairs is there once.
        self.assertLess(of_twice, 2 * kept)
        self.assertGreaterEqual(of_twice, 2 * kept - T * T)
        both = self.answer("matcha_bytes.py",
                           {"memory_length": [8, T], "output_length": [U, 2 * U]})
        self.assertEqual(both["bytes"][2:], [kept, of_twice])


if __name__ == "__main__":
    unittest.main(verbosity=2)  # which tells the reason of a skip
