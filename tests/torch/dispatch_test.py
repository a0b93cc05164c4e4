"""Guards against operators that write their results behind PyTorch's back, so that a tracer
sees memory that nobody fills, and against gradients of integers that changed, or of tensors
that shrank, after forward had checked them. It is of the native path: portable_test.py has the
other's.
"""

import itertools
import threading
import unittest

import numpy
import torch
import torch.utils.checkpoint
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.autograd.graph import saved_tensors_hooks
from torch.fx.experimental.proxy_tensor import make_fx

import attnbench.torch as at
import needs

try:
    import functorch
except ImportError:
    functorch = None  # it came with PyTorch 1.13, and is torch.func from 2.0 on

B, H, U, T, D = 2, 2, 3, 5, 4


def drawn(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def operators():
    """Each operator's name, its function of lengths and tensors, and these tensors."""
    p, u = drawn(B, H, U, T).sigmoid(), drawn(B, H, U, T, seed=2)
    start = drawn(B, H, T, seed=3).sigmoid()
    entries, states = drawn(B, H, T, D, seed=4), drawn(B, H, U, D, seed=5)
    memory, v = drawn(B, H, T, 2, seed=6), drawn(D, seed=7)
    yield ("monotonic_attention",
           lambda n, p, s: at.monotonic_attention(p=p, lengths=n, start=s), (p, start))
    yield ("mocha_attention",
           lambda n, p, u, s: at.mocha_attention(u, 2, p=p, lengths=n, start=s), (p, u, start))
    yield ("matcha_attention",
           lambda n, p, u, s: at.matcha_attention(u, p=p, lengths=n, start=s), (p, u, start))
    yield ("energy_attention",
           lambda n, e: at.energy_attention("soft", e, lengths=n), (u,))
    yield ("energy_attention",
           lambda n, e, u: at.energy_attention("mocha", e, u, n, {"chunk_width": 2}), (p, u))
    yield "memory_attention", lambda n, e, d: at.memory_attention(e, d, n), (entries, states)
    yield ("memory_contexts", lambda n, e, d, m: at.memory_contexts(e, d, m, n),
           (entries, states, memory))
    yield ("additive_energies", lambda n, q, k, v: at.additive_energies(q, k, v, n),
           (states, entries, v))


def results(out):
    return out if isinstance(out, tuple) else (out,)


def loss(out):
    return sum((x * x).sum() for x in results(out))


def gradients(function, lengths, tensors):
    """Results of a call and gradients of its loss."""
    inputs = [x.detach().clone().requires_grad_() for x in tensors]
    out = function(lengths, *inputs)
    return (*results(out), *torch.autograd.grad(loss(out), inputs))


def nodes(graph):
    return [str(node.target) for node in graph.graph.nodes]


@needs.native
class DispatchTest(unittest.TestCase):
    LENGTHS = torch.tensor([T, 3])

    def assert_all_equal(self, made, expected, what):
        self.assertEqual(len(made), len(expected), what)
        for a, b in zip(made, expected):
            self.assertTrue(torch.equal(a, b), what)

    def test_a_traced_graph_has_the_operator_and_its_values(self):
        for name, function, tensors in operators():
            graph = make_fx(function)(self.LENGTHS, *tensors)
            self.assertIn(f"attnbench.{name}.default", nodes(graph))
            self.assertFalse([node for node in nodes(graph) if "empty" in node], name)
            other = [x.flip(0) for x in tensors]
            self.assert_all_equal(results(graph(self.LENGTHS, *other)),
                                  results(function(self.LENGTHS, *other)), name)

    def test_a_traced_script_has_the_operator_and_its_values(self):
        for name, function, tensors in operators():
            traced = torch.jit.trace(function, (self.LENGTHS, *tensors))
            self.assertIn(f"attnbench::{name}", str(traced.graph))
            other = [x.flip(0) for x in tensors]
            self.assert_all_equal(results(traced(self.LENGTHS, *other)),
                                  results(function(self.LENGTHS, *other)), name)

    def test_a_traced_gradient_has_the_operator_of_the_gradient(self):
        for (name, function, tensors), mode in (
                (one, mode) for one in operators() for mode in ("real", "fake")):
            graph = make_fx(lambda n, *x: gradients(function, n, x), tracing_mode=mode)(
                self.LENGTHS, *tensors)
            self.assertIn(f"attnbench.{name}_backward.default", nodes(graph))
            other = [x.flip(0) for x in tensors]
            self.assert_all_equal(graph(self.LENGTHS, *other),
                                  gradients(function, self.LENGTHS, other), name)

    def test_meta_and_fake_tensors_get_the_shapes_and_types(self):
        for name, function, tensors in operators():
            for dtype in (torch.float, torch.double, torch.half):
                inputs = [x.to(dtype) for x in tensors]
                expected = gradients(function, self.LENGTHS, inputs)
                meta = [x.to("meta") for x in inputs]
                with FakeTensorMode() as mode:
                    fakes = [mode.from_tensor(x) for x in (self.LENGTHS, *inputs)]
                    fake = gradients(function, fakes[0], fakes[1:])
                for made in (gradients(function, self.LENGTHS, meta),
                             gradients(function, self.LENGTHS.to("meta"), meta), fake):
                    self.assertEqual([(x.shape, x.dtype, x.stride()) for x in made],
                                     [(x.shape, x.dtype, x.stride()) for x in expected], name)

    def test_meta_tensors_are_refused_as_others_are(self):
        p = torch.full((2, 1, 2, 3), .5)
        for text, call in {
            "p must be [B, H, U, T], but has 3 dimensions":
                lambda: at.monotonic_attention(p=p[0].to("meta")),
            "lengths must be in [0, T] with T = 3, but lengths[1] is 4":
                lambda: at.monotonic_attention(p=p.to("meta"), lengths=torch.tensor([1, 4])),
            "lengths must be [B] with B = 2": lambda: at.monotonic_attention(
                p=p.to("meta"), lengths=torch.tensor([1]).to("meta")),
            "place must be one of": lambda: at.memory_attention(
                p.to("meta"), p.to("meta"), place="after"),
        }.items():
            with self.assertRaises(ValueError) as caught:
                call()
            self.assertIn(text, str(caught.exception))

    @unittest.skipIf(functorch is None, "without functorch")
    def test_functorch_gives_gradients_and_maps_and_functions_without_views(self):
        for name, function, tensors in operators():
            plain = functorch.functionalize(function)(self.LENGTHS, *tensors)
            self.assert_all_equal(results(plain), results(function(self.LENGTHS, *tensors)), name)
            f = lambda *x: loss(function(self.LENGTHS, *x))
            everything = tuple(range(len(tensors)))
            expected = gradients(function, self.LENGTHS, tensors)[-len(tensors):]
            self.assert_all_equal(functorch.grad(f, everything)(*tensors), expected, name)
            mapped = functorch.vmap(functorch.grad(f, everything))(
                *(torch.stack([x, x]) for x in tensors))
            self.assert_all_equal([x[1] for x in mapped], expected, name)

    def test_gradients_that_are_batched_are_those_one_by_one(self):
        for name, function, tensors in operators():
            inputs = [x.clone().requires_grad_() for x in tensors]
            out = results(function(self.LENGTHS, *inputs))[0]
            batch = drawn(3, *out.shape, seed=9)
            alone = [torch.autograd.grad(out, inputs, one, retain_graph=True) for one in batch]
            made = torch.autograd.grad(out, inputs, batch, is_grads_batched=True)
            self.assert_all_equal(made, [torch.stack(x) for x in zip(*alone)], name)

    def test_forward_mode_and_second_derivatives_are_refused(self):
        for name, function, tensors in operators():
            with forward_ad.dual_level(), self.assertRaisesRegex(
                    RuntimeError, f"{name} has no forward-mode derivative"):
                function(None, *(forward_ad.make_dual(x, x) for x in tensors))
            inputs = [x.clone().requires_grad_() for x in tensors]
            made = torch.autograd.grad(loss(function(None, *inputs)), inputs[0],
                                       create_graph=True)
            with self.assertRaisesRegex(RuntimeError, "first derivatives only"):
                made[0].sum().backward()

    def test_inference_mode_computes_and_its_lengths_serve_in_training(self):
        for name, function, tensors in operators():
            expected = gradients(function, self.LENGTHS, tensors)
            with torch.inference_mode():
                lengths = self.LENGTHS.clone()
                made = results(function(lengths, *(x.clone() for x in tensors)))
            self.assert_all_equal(made, expected[:len(made)], name)
            self.assert_all_equal(gradients(function, lengths, tensors), expected, name)

    def test_views_that_are_negated_or_zero_by_a_flag_are_read_as_they_are(self):
        p = drawn(1, 1, U, T).sigmoid()
        negated = torch.view_as_complex(torch.stack([p, -p], -1)).conj().imag
        self.assertTrue(negated.is_neg())
        self.assertTrue(torch.equal(at.monotonic_attention(p=negated),
                                    at.monotonic_attention(p=p)))
        zero = torch._efficientzerotensor((1, 1, U, T))
        self.assertEqual(float(at.monotonic_attention(p=zero).sum()), 0)


@needs.native
class SavedTest(unittest.TestCase):
    def test_a_gradient_is_that_of_the_lengths_that_forward_saw(self):
        for name, function, tensors in operators():
            expected = gradients(function, torch.tensor([T, 3]), tensors)
            for later in ([400, 300], [-1, 2**62], [1, 2]):
                owned = numpy.array([T, 3])
                inputs = [x.clone().requires_grad_() for x in tensors]
                out = function(torch.from_numpy(owned), *inputs)
                owned[:] = later
                made = (*results(out), *torch.autograd.grad(loss(out), inputs))
                for a, b in zip(made, expected):
                    self.assertTrue(torch.equal(a, b), (name, later))

    def test_lengths_that_are_written_while_outputs_are_computed_do_no_harm(self):
        p = drawn(2, 1, 300, 400).sigmoid().requires_grad_()
        owned, done = numpy.array([400, 300]), threading.Event()

        def write():
            while not done.is_set():
                owned[:] = [2**40, -2**40]
                owned[:] = [400, 300]

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(30):
                try:
                    at.monotonic_attention(p=p, lengths=torch.from_numpy(owned)).sum().backward()
                except ValueError as error:
                    self.assertIn("lengths must be in", str(error))
        finally:
            done.set()
            writer.join()
        self.assertTrue(p.grad is None or p.grad.isfinite().all())

    def test_saved_tensors_that_come_back_otherwise_are_refused(self):
        for change in (lambda x: x[..., :1], lambda x: x.flatten(), lambda x: x[:0],
                       lambda x: torch.cat([x, x]), lambda x: x.double(), lambda x: x.half(),
                       lambda x: x.long(), lambda x: x.to("meta"), lambda x: x.to_sparse(),
                       lambda x: x.new_zeros((9,) * max(1, x.dim()))):
            for name, function, tensors in operators():
                inputs = [x.clone().requires_grad_() for x in tensors]
                with saved_tensors_hooks(lambda x: x, change):
                    out = function(torch.tensor([T, 3]), *inputs)
                with self.assertRaises((ValueError, TypeError, RuntimeError), msg=name):
                    torch.autograd.grad([x.sum() for x in results(out)], inputs)

    def test_tensors_without_memory_are_refused(self):
        def without_memory(*shape, dtype=torch.float):
            tensor = torch.ones(shape, dtype=dtype)
            tensor.storage().resize_(1)
            return tensor

        with self.assertRaisesRegex(TypeError, "p has no numbers"):
            at.monotonic_attention(p=without_memory(1, 1, 2, 3))
        with self.assertRaisesRegex(TypeError, "lengths has no numbers"):
            at.monotonic_attention(p=torch.full((2, 1, 2, 3), .5),
                                   lengths=without_memory(2, dtype=torch.long))

    def test_saved_tensors_whose_memory_is_gone_are_refused(self):
        for name, function, tensors in operators():
            for left in (0, 1):
                inputs = [x.clone().requires_grad_() for x in tensors]
                out = sum(x.sum() for x in results(function(None, *inputs)))
                inputs[0].storage().resize_(left)
                with self.assertRaisesRegex(TypeError, "has no numbers", msg=name):
                    out.backward()

    def test_numbers_that_are_written_past_autograd_do_no_harm(self):
        # The gradient is then of other numbers, as with any operator of PyTorch.
        for value in (float("nan"), float("inf"), -1e30, 1e30):
            for name, function, tensors in operators():
                inputs = [x.clone().requires_grad_() for x in tensors]
                out = function(torch.tensor([T, 3]), *inputs)
                for x in inputs:
                    x.detach().numpy()[...] = value
                torch.autograd.grad([x.sum() for x in results(out)], inputs)
                counted = [x.clone().requires_grad_() for x in tensors]
                out = function(torch.tensor([T, 3]), *counted)
                with torch.no_grad():
                    counted[0].fill_(0.5)
                with self.assertRaisesRegex(RuntimeError, "modified by an inplace", msg=name):
                    loss(out).backward()

    def test_a_gradient_is_taken_twice_by_checkpoints_and_by_other_threads(self):
        lengths = torch.tensor([T, 3])
        for name, function, tensors in operators():
            expected = gradients(function, lengths, tensors)[-len(tensors):]
            inputs = [x.clone().requires_grad_() for x in tensors]
            out = loss(function(lengths, *inputs))
            for keeps in (True, False):
                made = torch.autograd.grad(out, inputs, retain_graph=keeps)
                self.assertTrue(all(map(torch.equal, made, expected)), name)
            with self.assertRaisesRegex(RuntimeError, "a second time"):
                torch.autograd.grad(out, inputs)
            for reentrant in (True, False):
                inputs = [x.clone().requires_grad_() for x in tensors]
                loss(torch.utils.checkpoint.checkpoint(
                    function, lengths, *inputs, use_reentrant=reentrant)).backward()
                self.assertTrue(all(torch.equal(x.grad, e) for x, e in zip(inputs, expected)),
                                name)
            inputs = [x.clone().requires_grad_() for x in tensors]
            thread = threading.Thread(target=loss(function(lengths, *inputs)).backward)
            thread.start()
            thread.join()
            self.assertTrue(all(torch.equal(x.grad, e) for x, e in zip(inputs, expected)), name)

    def test_a_gradient_has_the_same_bits_with_what_forward_left_behind_and_without(self):
        outputs, entries = 41, 70  # more than are taken together
        u, d = drawn(B, H, outputs, entries, seed=2), drawn(B, H, outputs, entries, seed=3)
        start = drawn(B, H, entries, seed=4).sigmoid() / entries
        for dtype, probabilities, end, lengths, begin in itertools.product(
                (torch.float, torch.double, torch.half), (True, False),
                ("absorb", "stay_last", "restart"), (None, torch.tensor([entries, 9])),
                (None, start)):
            if end == "restart" and begin is not None:
                continue
            scores = drawn(B, H, outputs, entries)
            scores = (scores.sigmoid() if probabilities else scores).to(dtype)
            more = [lengths, None if begin is None else begin.to(dtype), end]
            for name, chunk in (("monotonic", []), ("mocha", [u.to(dtype), 3]),
                                ("matcha", [u.to(dtype)])):
                arguments = [scores, probabilities, *chunk, *more]
                operator = f"{name}_attention"
                *results, arrived = getattr(
                    torch.ops.attnbench, operator + "_with_arrived")(*arguments)
                plain = getattr(torch.ops.attnbench, operator)(*arguments)
                plain = plain if isinstance(plain, tuple) else (plain,)
                self.assertTrue(all(map(torch.equal, results, plain)), operator)
                self.assertEqual(arrived is None, end == "restart", operator)
                backward = getattr(torch.ops.attnbench, operator + "_backward")
                cotangents = [d.to(dtype)] * len(results)
                mask = [True] * (2 if name == "monotonic" else 3)
                made, again = (backward(*cotangents, mask, *arguments, arrived=q)
                               for q in (arrived, None))
                for a, b in zip(made, again):
                    self.assertTrue(a is b is None or torch.equal(a, b), (operator, end, dtype))

    def test_what_forward_left_behind_is_read(self):
        p, d = torch.full((1, 1, 2, 3), .5), drawn(1, 1, 2, 3)
        *_, arrived = torch.ops.attnbench.monotonic_attention_with_arrived(p, True)
        backward = torch.ops.attnbench.monotonic_attention_backward
        twice = backward(d, [True, False], p, True, arrived=2 * arrived)[0]
        self.assertTrue(torch.equal(twice, 2 * backward(d, [True, False], p, True)[0]))
        gone = torch.rand(1, 1, 2, 3)
        gone.storage().resize_(2)
        for wrong, kind in ((arrived[:, :, :1], ValueError), (arrived.double(), TypeError),
                            (arrived[0], ValueError), (torch.empty(1, 1, 2, 3, 0), ValueError),
                            (gone, TypeError), (arrived.to_sparse(), TypeError)):
            with self.assertRaisesRegex(kind, "arrived"):
                backward(d, [True, False], p, True, arrived=wrong)

    def test_a_hook_that_changes_a_tensor_in_place_is_counted(self):
        p, changed = drawn(1, 1, 2, 3).sigmoid().requires_grad_(), torch.zeros(1)

        def pack(x):
            changed.add_(1)
            return x

        with saved_tensors_hooks(pack, lambda x: x):
            at.monotonic_attention(p=p)
        self.assertEqual(changed.item(), 2)  # p, and what arrived
        self.assertEqual(changed._version, 2)

    def test_a_gradient_called_by_name_refuses_what_does_not_fit(self):
        call = torch.ops.attnbench.monotonic_attention_backward
        p, d = torch.full((1, 1, 2, 3), .5), torch.ones(1, 1, 2, 3)
        self.assertEqual(call(d, [True, False], p, True)[0].shape, p.shape)
        self.assertIsNone(call(d, [True, False], p, True)[1])
        for kind, text, arguments in (
                (ValueError, "lengths must be in", (d, [True, False], p, True,
                                                    torch.tensor([9]))),
                (ValueError, "d_attention of shape", (d[:, :, :1], [True, False], p, True)),
                (TypeError, "d_attention must have the type of p", (d.double(), [True, False], p,
                                                                True)),
                (ValueError, "start of shape", (d, [True, True], p, True, None, d[0])),
                (RuntimeError, "", (d, [True], p, True))):
            with self.assertRaises(kind) as caught:
                call(*arguments)
            self.assertIn(text, str(caught.exception))


if __name__ == "__main__":
    unittest.main(verbosity=2)  # which tells the reason of a skip
