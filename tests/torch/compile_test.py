"""Guards against a portable path that torch.compile cuts into pieces, or that it or torch.export
gives other values or gradients: they have PyTorch's tracers follow what nobody else does.
"""

import os
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

import torch

import attnbench.torch as at
import dispatch_test
from attnbench.torch import portable
from dispatch_test import drawn, gradients, loss, results

LENGTHS = torch.tensor([5, 3])
needs_compile = unittest.skipUnless(
    hasattr(torch, "compiler"), f"PyTorch {torch.__version__} has no torch.compiler")


def apart(function, *arguments):
    """Calls it in a thread of its own: torch.compile does not follow the mode of on_device.py,
    which other threads do not have.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *arguments).result()


def operators():
    """The functions that have a portable path, with a width of None, and ends."""
    yield from (one for one in dispatch_test.operators() if hasattr(portable, one[0]))
    e, u = drawn(2, 2, 3, 5), drawn(2, 2, 3, 5, seed=2)
    yield ("mocha_attention", lambda n, e, u: at.mocha_attention(
        u, None, energies=e, lengths=n, end="stay_last"), (e, u))
    yield ("matcha_attention", lambda n, e, u: at.matcha_attention(
        u, energies=e, lengths=n, end="restart"), (e, u))


def modules():
    """Those that train, with states and memory."""
    torch.manual_seed(4)
    for module in (at.MonotonicAttention(3, 4, 5, 2, noise=0), at.MAtChA(3, 4, 5, 2, noise=0),
                   at.MoChA(3, 4, 5, 2, width=None, noise=0), at.FixedMemoryAttention(3, 4, 5, 2)):
        yield type(module).__name__, module, (drawn(2, 3, 3), drawn(2, 5, 4, seed=2))


@needs_compile
class CompileTest(unittest.TestCase):
    def setUp(self):
        path = at.backend("portable")
        self.addCleanup(path.__exit__)
        torch._dynamo.reset()
        self.addCleanup(torch._dynamo.reset)

    def assert_close(self, made, expected, what, tolerance=1e-6):
        self.assertEqual(len(made), len(expected), what)
        for a, b in zip(made, expected):
            self.assertEqual((a.shape, a.dtype, a.device), (b.shape, b.dtype, b.device), what)
            self.assertLessEqual(float((a - b).abs().max()), tolerance, what)

    def test_a_function_is_one_graph_of_the_same_values_and_gradients(self):
        for name, function, tensors in operators():
            compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
            made = apart(gradients, compiled, LENGTHS, tensors)
            self.assert_close(made, gradients(function, LENGTHS, tensors), name)

    def test_a_module_is_one_graph_of_the_same_values_and_gradients(self):
        for name, module, inputs in modules():
            made = []
            for call in (torch.compile(module, fullgraph=True, backend="aot_eager"), module):
                def steps(call=call):
                    out = call(*inputs, LENGTHS)
                    return [*results(out), *torch.autograd.grad(
                        loss(out), [*module.parameters()], allow_unused=True)]
                made.append([x for x in apart(steps) if x is not None])
            self.assert_close(*made, name)

    def test_a_compiled_function_takes_tensors_of_other_sizes(self):
        function = lambda n, e, u: at.mocha_attention(u, 2, energies=e, lengths=n)
        compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
        for U, T in ((3, 5), (1, 7), (6, 5)):
            tables = drawn(2, 2, U, T), drawn(2, 2, U, T, seed=2)
            self.assert_close(apart(gradients, compiled, LENGTHS, tables),
                              gradients(function, LENGTHS, tables), (U, T))

    def test_a_library_that_cannot_be_used_does_not_cut_the_graph(self):
        done = subprocess.run(
            [sys.executable, "-c", """
import torch, attnbench.torch as at
function = lambda p: at.monotonic_attention(p=p)
p = torch.full((1, 1, 1, 2), .5)
made = torch.compile(function, fullgraph=True, backend="aot_eager")(p)
print(torch.equal(made, function(p)))
"""], text=True, capture_output=True, check=False, timeout=120,
            env={**os.environ, "ATTNBENCH_TORCH_LIBRARY": "/no/such.so",
                 "ATTNBENCH_TORCH_BACKEND": "auto"})
        self.assertEqual(done.stdout, "True\n", done.stderr)
        self.assertIn("takes its portable path", done.stderr)

    def test_code_that_the_compiler_writes_gives_the_same(self):
        function = lambda n, e, u: at.mocha_attention(u, 2, energies=e, lengths=n)
        tables = drawn(1, 2, 2, 4), drawn(1, 2, 2, 4, seed=2)
        made = apart(gradients, torch.compile(function, fullgraph=True), LENGTHS[1:], tables)
        self.assert_close(made, gradients(function, LENGTHS[1:], tables), "inductor")

    def test_an_exported_program_gives_the_same_and_no_wrong_gradient(self):
        cases = [(name, Module(function), (LENGTHS, *tensors), tensors)
                 for name, function, tensors in operators()]
        cases += [(name, module, (*inputs, LENGTHS), inputs) for name, module, inputs in modules()]
        for name, module, arguments, tensors in cases:
            program = apart(torch.export.export, module, arguments).module()
            with torch.no_grad():
                self.assert_close(results(program(*arguments)), results(module(*arguments)), name)
            made = []
            for call in (module, program):
                inputs = [x.clone().requires_grad_() for x in tensors]
                places = {id(x): y for x, y in zip(tensors, inputs)}
                try:
                    out = loss(call(*(places.get(id(x), x) for x in arguments)))
                    made.append(torch.autograd.grad(out, inputs))
                except RuntimeError:  # of what custom gradients have written in place
                    self.assertIs(call, program, name)
            if len(made) == 2:
                self.assert_close(*made, name)


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments):
        return self.function(*arguments)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # which tells the reason of a skip
