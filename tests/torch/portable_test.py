"""Guards against a portable path that is wrong where products of 1 - p vanish, p is 0 or 1, or
energies lie far apart; that PyTorch's tracers cannot follow; or that is not the one taken.
operators_test.py and errors_test.py, which run for each path, have the rest.
"""

import itertools
import os
import subprocess
import sys
import threading
import unittest
from unittest import mock

import numpy
import torch
import torch.utils.checkpoint
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

import attnbench.torch as at
import dispatch_test
import needs
from attnbench.torch import portable
from attnbench.torch.portable import additive, checks
from dispatch_test import drawn, gradients, loss, results

B, H = 2, 2
LENGTHS = torch.tensor([5, 3])


def operators():
    """Those of dispatch_test.py that have a portable path."""
    return [one for one in dispatch_test.operators() if hasattr(portable, one[0])]


def recursion(p, start):
    """alpha [U, T] of p by the recurrence, in long double."""
    p, last = p.astype(numpy.longdouble), start.astype(numpy.longdouble)
    alpha = numpy.zeros_like(p)
    for i, row in enumerate(p):
        q = numpy.longdouble(0)
        for j, x in enumerate(row):
            q += last[j]
            alpha[i, j] = x * q
            q *= 1 - x
        last = alpha[i]
    return alpha


def hard_tables(U, T):
    """Energies [B, H, U, T] whose p is ordinary, tiny, nearly 1, or anything at all."""
    e = drawn(B, H, U, T, seed=1).double()
    yield e
    yield 20 * e
    yield e - 60
    yield e + 30
    inf = float("inf")
    yield torch.where(drawn(B, H, U, T, seed=2) > 1, torch.tensor(inf).double(),
                      torch.where(e > 0.5, torch.tensor(-inf).double(), e))


class Portable(unittest.TestCase):
    def setUp(self):
        path = at.backend("portable")
        self.addCleanup(path.__exit__)

    def assert_close(self, a, b, tolerance, what=None):
        self.assertEqual(a.shape, b.shape, what)
        error = (a - b).abs().max() / b.abs().max().clamp(min=1)
        self.assertLessEqual(float(error), tolerance, what)


class NumbersTest(Portable):
    def test_alpha_is_that_of_the_recursion_in_long_double(self):
        # The first shapes go row by row, the next column by column, the others by diagonals.
        for U, T in ((1, 70), (2, 33), (1, 1), (70, 1), (33, 2), (6, 5), (40, 50), (50, 40)):
            start = drawn(B, H, T, seed=3).sigmoid().double()
            for n, e in enumerate(hard_tables(U, T)):
                p = e.sigmoid()
                made = at.monotonic_attention(p=p, start=start)
                for b, h in itertools.product(range(B), range(H)):
                    wanted = recursion(p[b, h].numpy(), start[b, h].numpy())
                    error = numpy.abs(made[b, h].numpy() - wanted)
                    self.assertTrue((error <= 1e-14 * wanted + 1e-300).all(), (U, T, n))

    @needs.native
    def test_values_and_gradients_are_those_of_the_native_path(self):
        cases = (lambda e, u=None, **more: at.monotonic_attention(energies=e, **more),
                 lambda e, u, **more: at.mocha_attention(u, 3, energies=e, **more),
                 lambda e, u, **more: at.mocha_attention(u, 8, energies=e, **more),
                 lambda e, u, **more: at.mocha_attention(u, None, energies=e, **more),
                 lambda e, u, **more: at.matcha_attention(u, energies=e, **more))
        for (U, T), end in itertools.product(
                ((1, 24), (6, 5), (3, 1)), ("absorb", "stay_last", "restart")):
            lengths = torch.tensor([T, max(0, T - 5)])
            starts = () if end == "restart" else (drawn(B, H, T, seed=4).sigmoid().double(),)
            for n, e in enumerate(hard_tables(U, T)):
                # Only the first has no chunk energies.
                u = (1, 30, 1000)[n % 3] * drawn(B, H, U, T, seed=5).double()
                for m, function in enumerate(cases):
                    tables, made = 1 if m == 0 else 2, []
                    for path in ("portable", "native"):
                        with at.backend(path):
                            made.append(gradients(
                                lambda n, *x: function(
                                    *x[:tables], lengths=n, end=end,
                                    **dict(zip(["start"], x[tables:]))),
                                lengths, (e, u)[:tables] + starts))
                    for a, b in zip(*made):
                        self.assert_close(a, b, 1e-12, (U, T, end, n, m))

    def test_f32_keeps_its_digits_over_long_memories(self):
        for (U, T), (spread, mean), (of_chunks, width) in itertools.product(
                ((64, 256), (4, 1024)), ((1, -3), (10, -10)), ((1, 4), (30, 50), (30, None))):
            tables = (mean + spread * drawn(1, 2, U, T), of_chunks * drawn(1, 2, U, T, seed=2))
            made = []
            for dtype in (torch.float, torch.double):
                e, u = (x.to(dtype, copy=True).requires_grad_() for x in tables)
                beta, alpha = at.mocha_attention(u, width, energies=e)
                (beta * drawn(1, 2, U, T, seed=3).to(dtype)).sum().backward()
                made.append((alpha.double(), beta.double(), e.grad.double(), u.grad.double()))
            (alpha, beta, *found), (exact_alpha, exact_beta, *exact) = made
            for table, wanted in ((alpha, exact_alpha), (beta, exact_beta)):
                error = (table - wanted).abs().amax(-1) / wanted.sum(-1)
                self.assertLessEqual(float(error.detach().max()), 2e-6, (U, T, mean, width))
            for gradient, wanted in zip(found, exact):
                error = (gradient - wanted).abs().max() / wanted.abs().max()
                self.assertLessEqual(float(error), 4e-6, (U, T, mean, width))

    def test_a_saturated_choice_keeps_the_digits_of_what_goes_on(self):
        # In f32 1 - sigmoid(40) is 0.
        e = torch.tensor([[[[40., 40., 0.]]]], requires_grad=True)
        alpha = at.monotonic_attention(energies=e)
        r = torch.tensor([40.]).double().neg().sigmoid()
        wanted = torch.cat([1 - r, r, r * r / 2]).float()
        self.assertTrue(torch.allclose(alpha[0, 0, 0], wanted, rtol=1e-6, atol=0))
        alpha[0, 0, 0, 1].backward()
        self.assertTrue(torch.allclose(e.grad[0, 0, 0, :2], torch.cat([-r, r * r]).float(),
                                       rtol=1e-6, atol=0))

    def test_chunk_energies_may_be_as_far_apart_as_their_type_allows(self):
        p = drawn(1, 1, 3, 40).sigmoid()
        u = torch.tensor([-3e38, 0., 3e38, -1e4, 90.]).repeat(8).expand(1, 1, 3, 40)
        for dtype, function in itertools.product(
                (torch.float, torch.double),
                (lambda u, p: at.mocha_attention(u, 3, p=p),
                 lambda u, p: at.mocha_attention(u, None, p=p),
                 lambda u, p: at.matcha_attention(u, p=p))):
            inputs = [x.to(dtype, copy=True).requires_grad_() for x in (u, p)]
            beta, alpha = function(*inputs)
            self.assert_close(beta.sum(-1), alpha.sum(-1), 1e-6)
            (beta * beta).sum().backward()
            self.assertTrue(all(x.grad.isfinite().all() for x in inputs))


def in_python(code, **environment):
    """Runs it where no library is unless it is named."""
    return subprocess.run(
        [sys.executable, "-c", code], text=True, capture_output=True, check=False,
        env={**os.environ, "ATTNBENCH_TORCH_LIBRARY": "/no/such.so", **environment})


# Stands for a place without a library: none is to be found.
WITHOUT = """
import sys, types
library = sys.modules["attnbench.torch.library"] = types.ModuleType("library")
def load(): raise ModuleNotFoundError("no library was found")
library.load = load
"""


@needs.native
class MessagesTest(unittest.TestCase):
    def test_a_wrong_number_has_the_digits_that_the_native_path_tells(self):
        numbers = [x * 10.0**n for n in range(-45, 39, 5) for x in (1.5, -1, 1 / 3, 7)]
        numbers += [1.25 * 2.0**n for n in range(1, 120, 9)] + [float("nan"), float("inf")]
        for dtype in (torch.float, torch.double, torch.half, torch.bfloat16):
            for number in numbers:
                p = torch.full((1, 1, 1, 1), number, dtype=torch.double).to(dtype)
                if 0 <= p <= 1:
                    p = -p
                if p == 0:
                    continue
                told = []
                for path in ("portable", "native"):
                    with at.backend(path), self.assertRaises(ValueError) as caught:
                        at.monotonic_attention(p=p)
                    told.append(str(caught.exception))
                self.assertEqual(*told)


class BackendTest(unittest.TestCase):
    @needs.native
    def test_a_path_is_forced_for_good_or_until_the_end_of_a_block(self):
        p = drawn(1, 1, 2, 3).sigmoid().requires_grad_()

        def taken():
            out = at.monotonic_attention(p=p)  # its graph lives as long as it
            return "native" if "attnbench" in out.grad_fn.name() else "portable"

        self.assertEqual(taken(), "native")
        with at.backend("portable"):
            self.assertEqual(taken(), "portable")
            with at.backend("auto"):
                self.assertEqual(taken(), "native")
            self.assertEqual(taken(), "portable")
        try:
            with at.backend("portable"):
                raise KeyError
        except KeyError:
            self.assertEqual(taken(), "native")
        self.addCleanup(at.backend("portable").__exit__)
        self.assertEqual(taken(), "portable")

    @needs.native
    def test_a_path_that_is_kept_can_be_taken_in_several_blocks(self):
        module = sys.modules["attnbench.torch.backend"]
        now = lambda: (module._path, checks.values)
        before = now()
        portable_path = at.backend("portable")
        with portable_path:
            self.assertEqual(now()[0], "portable")
        self.assertEqual(now(), before)
        for _ in range(2):
            with portable_path:
                self.assertEqual(now()[0], "portable")
                with at.backend("native"), portable_path:
                    self.assertEqual(now()[0], "portable")
                self.assertEqual(now()[0], "portable")
            self.assertEqual(now(), before)
        self.addCleanup(at.backend("auto").__exit__)
        kept = at.backend("portable")
        at.backend("native")
        with kept:
            self.assertEqual(now()[0], "portable")
        self.assertEqual(now()[0], "native")

    def test_a_path_leaves_the_checks_of_numbers_as_they_are_unless_they_are_given(self):
        with at.backend("auto", check_values=False):
            with at.backend("portable"):
                self.assertFalse(checks.values)
                with at.backend("portable", check_values=True):
                    self.assertTrue(checks.values)
                self.assertFalse(checks.values)
        self.assertTrue(checks.values)

    def test_a_path_that_is_not_there_is_refused_by_name(self):
        with self.assertRaisesRegex(ValueError, "path must be one of auto, native, portable, "
                                                "but is 'fast'"):
            at.backend("fast")
        done = in_python("import attnbench.torch", ATTNBENCH_TORCH_BACKEND="fast")
        self.assertIn("ValueError: ATTNBENCH_TORCH_BACKEND: path must be one of", done.stderr)
        done = in_python("import attnbench.torch as at; at.backend('native')")
        self.assertIn("ValueError: path cannot be native: ATTNBENCH_TORCH_LIBRARY names no file",
                      done.stderr)

    def test_without_a_library_the_portable_path_is_taken_and_a_bad_one_is_told_once(self):
        code = ("import torch, attnbench.torch as at\n"
                "for _ in range(2): made = at.monotonic_attention(p=torch.full((1, 1, 1, 2), .5))\n"
                "print(made.tolist())")
        done = in_python(code, PYTHONWARNINGS="always::UserWarning", ATTNBENCH_TORCH_BACKEND="")
        self.assertEqual(done.stdout, "[[[[0.5, 0.25]]]]\n")
        self.assertEqual(done.stderr.count("Warning"), 1, done.stderr)
        self.assertIn("takes its portable path: ATTNBENCH_TORCH_LIBRARY names no file",
                      done.stderr)
        for quiet in (in_python(WITHOUT + code),
                      in_python(code, ATTNBENCH_TORCH_BACKEND="portable")):
            self.assertEqual((quiet.stdout, quiet.stderr), (done.stdout, ""))

    @needs.two_devices
    def test_lengths_on_another_device_are_moved(self):
        for name, function, tensors in operators():
            for a, b in zip(gradients(function, LENGTHS.cpu(), tensors),
                            gradients(function, LENGTHS, tensors)):
                self.assertTrue(torch.equal(a, b), name)

    def test_checks_of_numbers_can_be_turned_off_and_those_of_shapes_cannot(self):
        p = torch.full((1, 1, 2, 3), 1.5)
        with at.backend("portable", check_values=False):
            at.monotonic_attention(p=p, lengths=torch.tensor([7]))
            at.expected_delays(p, torch.tensor([7]))
            with self.assertRaisesRegex(ValueError, "p must be"):
                at.monotonic_attention(p=p[0])
        with at.backend("portable"), self.assertRaisesRegex(ValueError, "is 1.5"):
            at.monotonic_attention(p=p)

    def test_ten_steps_of_training_have_the_loss_of_the_native_path(self):
        """Without native operators: on another device than the CPU, the loss of the CPU."""
        if needs.MISSING and LENGTHS.device.type == "cpu":
            self.skipTest(needs.MISSING)
        losses = []
        for path, device in (("portable" if needs.MISSING else "native", "cpu"),
                             ("portable", LENGTHS.device)):
            torch.manual_seed(1)
            with at.backend(path):
                # Devices draw other noise.
                noise = float(LENGTHS.device.type == "cpu")
                model = at.MoChA(6, 5, 4, heads=2, width=3, noise=noise).to(device)
                optimizer = torch.optim.SGD(model.parameters(), 0.5)
                states, memory, wanted, lengths = (x.to(device) for x in (
                    drawn(3, 7, 6, seed=1), drawn(3, 11, 5, seed=2), drawn(3, 7, 10, seed=3),
                    torch.tensor([11, 4, 7])))
                for _ in range(10):
                    step = (model(states, memory, lengths).contexts - wanted).square().mean()
                    optimizer.zero_grad()
                    step.backward()
                    optimizer.step()
            losses.append(float(step))
        self.assertLess(losses[0], 1.2)
        self.assertLess(abs(losses[0] - losses[1]), 1e-5)

    def test_a_script_calls_the_portable_path_where_there_is_no_library(self):
        done = in_python(WITHOUT + """
import io, torch, attnbench.torch as at
torch.manual_seed(1)
model, x, y = at.MAtChA(3, 3, 3).eval(), torch.randn(2, 4, 3), torch.randn(2, 5, 3)
scripted = torch.jit.script(model)
out, plain = scripted(x, y), model(x, y)
print(torch.equal(out.alpha, plain.alpha), torch.equal(out.weights, plain.weights))
try:
    torch.jit.save(scripted, io.BytesIO())
except RuntimeError as error:
    print(str(error).splitlines()[1])
mocha, p = torch.jit.script(at.mocha_attention), torch.rand(1, 1, 2, 3)
for width in (-5, -2, 0):
    try:
        print(mocha(p, width, p=p))
    except RuntimeError as error:
        print(error)
""")
        self.assertEqual(done.stdout.splitlines()[:1], ["True True"], done.stderr)
        self.assertIn("Could not export Python function call", done.stdout)
        for width in (-5, -2, 0):
            self.assertIn("width must be at least 1, or -1 for infinite lookback, but is"
                          f" {width}\n", done.stdout)


class Counted(TorchDispatchMode):
    """Counts the operations within, but not views, and the numbers of the largest tensor that
    one of them makes.
    """

    def __init__(self):
        super().__init__()
        self.calls, self.largest, self.types = 0, 0, set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        aliases = [x.alias_info for x in function._schema.returns]
        self.calls += all(x is None or x.is_write for x in aliases)
        for x in results(out) if not any(aliases) else ():
            if isinstance(x, torch.Tensor):
                self.largest = max(self.largest, x.numel())
                self.types.add(x.dtype)
        return out


class CostTest(Portable):
    def counted(self, function, *tensors):
        inputs = [x.clone().requires_grad_() for x in tensors]
        with Counted() as counted:
            loss(function(*inputs)).backward()
        return counted

    def test_alpha_takes_the_way_of_fewer_launches(self):
        def calls(U, T):
            return self.counted(lambda p: at.monotonic_attention(p=p),
                                drawn(1, 1, U, T).sigmoid()).calls

        # Rows take about 2 (1 + log2 T) each, and diagonals 4 (U + T).
        self.assertLess(calls(1, 1024), 4 * 1024 / 4)
        self.assertLess(calls(1024, 1), 4 * 1024 / 4)
        self.assertLess(calls(300, 60) - calls(100, 60), 4.5 * 200)
        self.assertGreater(calls(300, 60) - calls(100, 60), 3.5 * 200)

    def test_more_outputs_than_entries_take_no_memory_of_their_square(self):
        for U, T in ((500, 4), (500, 60)):
            largest = self.counted(lambda p: at.monotonic_attention(p=p),
                                   drawn(1, 1, U, T).sigmoid()).largest
            self.assertLessEqual(largest, 3 * U * max(T, 8))

    def test_windows_of_any_width_take_no_memory_for_each_of_their_entries(self):
        u = drawn(1, 1, 2, 256)
        for width in (3, 100, None):
            largest = self.counted(lambda u, p, w=width: at.mocha_attention(u, w, p=p),
                                   u, u.sigmoid()).largest
            self.assertLessEqual(largest, 4 * 2 * 256)

    def test_adaptive_chunks_take_memory_of_one_output(self):
        u = drawn(1, 1, 20, 32)
        largest = self.counted(lambda u, p: at.matcha_attention(u, p=p), u, u.sigmoid()).largest
        self.assertLessEqual(largest, 3 * 32 * 32)

    def test_a_memory_that_heads_share_is_not_copied_for_each(self):
        B, H, U, T, K, d = 2, 8, 2, 10, 3, 50
        largest = self.counted(
            lambda e, s, m: at.memory_contexts(e, s, m.unsqueeze(1).expand(-1, H, -1, -1)),
            drawn(B, H, T, K), drawn(B, H, U, K), drawn(B, T, d)).largest
        # Only the gradient of the expanded tensor has as many as all heads.
        self.assertLessEqual(largest, B * H * T * d)
        with torch.no_grad(), Counted() as counted:
            at.memory_contexts(drawn(B, H, T, K), drawn(B, H, U, K),
                               drawn(B, T, d).unsqueeze(1).expand(-1, H, -1, -1))
        self.assertLess(counted.largest, B * H * T * d / 2)

    def test_no_f64_is_made_of_other_types_which_some_devices_lack(self):
        for (name, function, tensors), dtype in itertools.product(
                operators(), (torch.float, torch.half, torch.bfloat16)):
            types = self.counted(lambda *x, f=function: f(LENGTHS, *x),
                                 *(x.to(dtype) for x in tensors)).types
            self.assertIn(torch.float, types, name)
            self.assertNotIn(torch.double, types, name)

    def test_additive_energies_in_blocks_are_those_of_all_outputs_at_once(self):
        tensors = drawn(2, 2, 7, 3), drawn(2, 2, 5, 3, seed=2), drawn(2, 3, seed=3)
        function = lambda n, *x: at.additive_energies(*x, n)
        expected = gradients(function, LENGTHS, tensors)
        with mock.patch.object(additive, "_MOST_NUMBERS", 3 * 2 * 2 * 5 * 3):
            made = gradients(function, LENGTHS, tensors)
            largest = self.counted(at.additive_energies, *tensors).largest
        for a, b in zip(made, expected):
            self.assert_close(a, b, 1e-6)
        self.assertEqual(largest, 3 * 2 * 2 * 5 * 3)


class TracingTest(Portable):
    def assert_all_equal(self, made, expected, what):
        self.assertEqual(len(made), len(expected), what)
        for a, b in zip(made, expected):
            self.assertTrue(torch.equal(a, b), what)

    def test_a_traced_graph_gives_values_and_gradients_of_other_tensors(self):
        for (name, function, tensors), mode in itertools.product(operators(), ("real", "fake")):
            graph = make_fx(lambda n, *x: gradients(function, n, x), tracing_mode=mode)(
                LENGTHS, *tensors)
            self.assertFalse([n for n in dispatch_test.nodes(graph) if "attnbench" in n], name)
            other, lengths = [x.flip(0) for x in tensors], LENGTHS.flip(0)
            self.assert_all_equal(graph(lengths, *other), gradients(function, lengths, other),
                                  (name, mode))

    def test_a_graph_traced_with_a_memory_that_heads_share_serves_one_that_they_do_not(self):
        e, s, m = drawn(B, H, 5, 4), drawn(B, H, 3, 4, seed=2), drawn(B, H, 5, 2, seed=3)
        for mode in ("real", "fake"):
            graph = make_fx(lambda *x: at.memory_contexts(*x), tracing_mode=mode)(
                e, s, m[:, :1].expand(B, H, 5, 2))
            self.assertTrue(torch.equal(graph(e, s, m), at.memory_contexts(e, s, m)), mode)

    def test_a_graph_has_no_look_at_numbers_and_none_fails_unseen(self):
        for (name, function, tensors), mode in itertools.product(operators(), ("real", "fake")):
            graph = make_fx(function, tracing_mode=mode)(LENGTHS, *tensors)
            self.assertFalse([n for n in dispatch_test.nodes(graph) if "aminmax" in n], name)
        with mock.patch.object(torch.Tensor, "aminmax", side_effect=RuntimeError("no memory")):
            with self.assertRaisesRegex(RuntimeError, "no memory"):
                at.monotonic_attention(p=drawn(1, 1, 2, 3).sigmoid())

    def test_meta_and_fake_tensors_get_the_shapes_and_types(self):
        for name, function, tensors in operators():
            for dtype in (torch.float, torch.half):
                inputs = [x.to(dtype) for x in tensors]
                expected = gradients(function, LENGTHS, inputs)
                meta = [x.to("meta") for x in inputs]
                with FakeTensorMode() as mode:
                    fakes = [mode.from_tensor(x) for x in (LENGTHS, *inputs)]
                    fake = gradients(function, fakes[0], fakes[1:])
                for made in (gradients(function, LENGTHS, meta),
                             gradients(function, LENGTHS.to("meta"), meta), fake):
                    self.assertEqual([(x.shape, x.dtype, x.stride()) for x in made],
                                     [(x.shape, x.dtype, x.stride()) for x in expected], name)

    def test_what_cannot_be_followed_is_refused(self):
        for name, function, tensors in operators():
            with self.assertRaisesRegex(RuntimeError, "does not follow the portable path"):
                torch.jit.trace(function, (LENGTHS, *tensors))
            with forward_ad.dual_level(), self.assertRaisesRegex(
                    RuntimeError, "has no forward-mode derivative"):
                function(None, *(forward_ad.make_dual(x, x) for x in tensors))
            # The first derivative of a linear loss may depend on nothing: it is refused, too.
            for n, of in itertools.product(range(len(tensors)), (loss, lambda out: sum(
                    x.sum() for x in results(out)))):
                inputs = [x.clone().requires_grad_() for x in tensors]
                made, = torch.autograd.grad(of(function(LENGTHS, *inputs)), inputs[n],
                                            create_graph=True)
                with self.assertRaisesRegex(RuntimeError, "first derivatives only", msg=name):
                    made.sum().backward()

    def test_gradients_are_those_of_what_forward_saw_in_checkpoints_and_threads(self):
        for name, function, tensors in operators():
            expected = gradients(function, LENGTHS, tensors)[-len(tensors):]
            inputs = [x.clone().requires_grad_() for x in tensors]
            lengths = LENGTHS.clone()
            out = loss(function(lengths, *inputs))
            lengths.numpy()[:] = [1, -1]
            for keeps in (True, False):
                made = torch.autograd.grad(out, inputs, retain_graph=keeps)
                self.assert_all_equal(made, expected, name)
            for reentrant in (True, False):
                inputs = [x.clone().requires_grad_() for x in tensors]
                loss(torch.utils.checkpoint.checkpoint(
                    function, LENGTHS, *inputs, use_reentrant=reentrant)).backward()
                self.assert_all_equal([x.grad for x in inputs], expected, name)
            inputs = [x.clone().requires_grad_() for x in tensors]
            thread = threading.Thread(target=loss(function(LENGTHS, *inputs)).backward)
            thread.start()
            thread.join()
            self.assert_all_equal([x.grad for x in inputs], expected, name)

    def test_a_gradient_of_numbers_that_changed_in_place_is_right_or_refused(self):
        for name, function, tensors in operators():
            for n, lengths in itertools.product(range(len(tensors)), (None, LENGTHS)):
                expected = gradients(function, lengths, tensors)[-len(tensors):]
                inputs = [x.clone().requires_grad_() for x in tensors]
                out = loss(function(lengths, *inputs))
                with torch.no_grad():
                    inputs[n].mul_(0.5)
                try:
                    made = torch.autograd.grad(out, inputs)
                except RuntimeError as error:
                    self.assertRegex(str(error), "modified.* inplace", name)
                else:
                    self.assert_all_equal(made, expected, name)

    def test_many_gradients_at_once_are_those_of_each(self):
        cases = [one[1:] for one in operators()]
        for (U, T), end in itertools.product(((1, 9), (9, 1), (3, 5)), ("absorb", "restart")):
            tables = drawn(B, H, U, T), drawn(B, H, U, T, seed=2)
            cases += [(lambda n, e, u, f=f, end=end, T=T: f(
                e, u, lengths=n.clamp(max=T), end=end), tables) for f in (
                    lambda e, u, **more: at.mocha_attention(u, 2, energies=e, **more),
                    lambda e, u, **more: at.matcha_attention(u, energies=e, **more))]
        e, s, m = drawn(B, H, 5, 4), drawn(B, H, 3, 4, seed=2), drawn(B, 1, 5, 2, seed=3)
        cases.append((lambda n, e, s, m: at.memory_contexts(
            e, s, m.expand(-1, H, -1, -1), n), (e, s, m)))
        for n, (function, tensors) in enumerate(cases):
            inputs = [x.clone().requires_grad_() for x in tensors]
            out = results(function(LENGTHS, *inputs))
            batch = [drawn(3, *x.shape, seed=8) for x in out]
            made = torch.autograd.grad(out, inputs, batch, is_grads_batched=True,
                                       retain_graph=True)
            for i in range(3):
                expected = torch.autograd.grad(out, inputs, [x[i] for x in batch],
                                               retain_graph=True)
                for a, b in zip(made, expected):
                    self.assert_close(a[i], b, 1e-6, n)

    def test_autocast_leaves_types_and_numbers_as_they_are(self):
        for name, function, tensors in operators():
            expected = results(function(LENGTHS, *tensors))
            with torch.autocast(LENGTHS.device.type, dtype=torch.bfloat16):
                made = results(function(LENGTHS, *tensors))
            self.assert_all_equal(made, expected, name)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # which tells the reason of a skip
