"""Guards against operators that compute something else than the formulas, whose gradient is
not that of their output, whose result depends on padding, layout or threads, or that lose
digits of half types. It runs for each path of attnbench.torch, as ATTNBENCH_TORCH_BACKEND says.
"""

import ctypes
import glob
import itertools
import json
import os
import signal
import unittest

import torch
from torch.autograd import gradcheck

import attnbench.torch as at
import naive
import needs

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")
PORTABLE = os.environ.get("ATTNBENCH_TORCH_BACKEND") == "portable"
B, H, U, T = 2, 2, 3, 5
ENDS = ("absorb", "stay_last", "restart")
NAN, INF = float("nan"), float("inf")
FUNCTIONS_OF_ENERGIES = (
    lambda e, u, **more: at.monotonic_attention(energies=e, **more),
    lambda e, u, **more: at.mocha_attention(u, 2, energies=e, **more),
    lambda e, u, **more: at.matcha_attention(u, energies=e, **more),
)


def drawn(*shape, seed=1, dtype=torch.double):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def probabilities(*shape, seed=1, dtype=torch.double):
    return drawn(*shape, seed=seed, dtype=dtype).sigmoid()


def scan_functions():
    """Each function of p, u and keyword arguments with its naive form of one sequence."""
    yield (lambda p, u, **more: (at.monotonic_attention(p=p, **more),),
           lambda p, u, **more: naive.monotonic(p, **more))
    for width in (1, 2, 9, None):
        yield (lambda p, u, width=width, **more: at.mocha_attention(u, width, p=p, **more),
               lambda p, u, width=width, **more: naive.mocha(p, u, width, **more))
    yield (lambda p, u, **more: at.matcha_attention(u, p=p, **more),
           lambda p, u, **more: naive.matcha(p, u, **more))


class OperatorsTest(unittest.TestCase):
    def assert_close(self, a, b, tolerance=1e-12, what=None):
        self.assertEqual(a.shape, b.shape, what)
        self.assertTrue(((a - b).abs() <= tolerance).all(), what)

    def test_golden_values_of_all_operators_and_gradients_are_met(self):
        paths = sorted(glob.glob(os.path.join(GOLDEN, "*.json")))
        seen = 0
        for path in paths:
            with open(path, encoding="utf-8") as file:
                case = json.load(file)
            if case["mechanism"] == "soft":
                continue
            seen += 1
            inputs = {name: torch.tensor(rows, dtype=torch.double)[None, None].requires_grad_()
                      for name, rows in case["inputs"].items()}
            made = self.made_of(case, inputs)
            scale = case["tolerance"]
            for name, values in made.items():
                expected = torch.tensor(case["expected"][name], dtype=torch.double)
                error = (values[0, 0].detach() - expected).abs() / expected.abs().clamp(min=1)
                self.assertLessEqual(float(error.max()), scale, (path, name))
            gradients = case["expected"].get("gradients", {})
            if gradients:
                (made["attention"] * inputs["cotangent"].detach()).sum().backward()
            for name, rows in gradients.items():
                expected = torch.tensor(rows, dtype=torch.double)
                size = max(1.0, float(expected.abs().max()))
                error = (inputs[name].grad[0, 0] - expected).abs().max()
                self.assertLessEqual(float(error), scale * size, (path, name))
        self.assertEqual(seen, 43)

    def made_of(self, case, inputs):
        options = dict(case["options"])
        if case["mechanism"] == "memory":
            scores = (inputs["encoder_scores"], inputs["decoder_scores"])
            return {"attention": at.memory_attention(*scores, **options),
                    "context": at.memory_contexts(*scores, inputs["memory"], **options)}
        p = inputs["p_choose"]
        if case["mechanism"] == "monotonic":
            alpha = at.monotonic_attention(p=p)
            made = {"attention": alpha, "selection": alpha}
        elif case["mechanism"] == "mocha":
            width = options.get("chunk_width", 4)
            beta, alpha = at.mocha_attention(inputs["chunk_energies"], width, p=p)
            made = {"attention": beta, "selection": alpha}
        else:
            beta, alpha = at.matcha_attention(inputs["chunk_energies"], p=p)
            made = {"attention": beta, "selection": alpha}
        made["context"] = made["attention"] @ inputs["memory"]
        return made

    def test_attention_and_gradients_are_those_of_the_formulas_term_by_term(self):
        weights = [drawn(B, H, U, T, seed=5), drawn(B, H, U, T, seed=6)]
        lengths = torch.tensor([T, 3])
        for (ours, theirs), end in itertools.product(scan_functions(), ENDS):
            for with_start in (False,) if end == "restart" else (False, True):
                results = []
                for function in (ours, theirs):
                    p = probabilities(B, H, U, T, seed=2).requires_grad_()
                    u = drawn(B, H, U, T, seed=3).requires_grad_()
                    start = probabilities(B, H, T, seed=4).requires_grad_()
                    if function is ours:
                        more = {"start": start} if with_start else {}
                        out = ours(p, u, lengths=lengths, end=end, **more)
                    elif with_start:
                        out = naive.batched(lambda p, u, s: theirs(p, u, start=s, end=end),
                                            (p, u), lengths, (start,))
                    else:
                        out = naive.batched(lambda p, u: theirs(p, u, end=end), (p, u), lengths)
                    sum((w * o).sum() for w, o in zip(weights, out)).backward()
                    results.append([*out, p.grad, *(x.grad for x in (u, start)
                                                    if x.grad is not None)])
                self.assertEqual(len(results[0]), len(results[1]))
                for a, b in zip(*results):
                    self.assert_close(a, b, what=end)

    def test_gradcheck_passes_for_energies(self):
        e = drawn(1, 2, 2, 4).requires_grad_()
        u = drawn(1, 2, 2, 4, seed=2).requires_grad_()
        start = probabilities(1, 2, 4).requires_grad_()
        lengths = torch.tensor([3])
        for end in ENDS:
            starts = () if end == "restart" else (start,)
            for function in (
                lambda e, u, *s: at.monotonic_attention(None, e, lengths, *s or (None,), end),
                lambda e, u, *s: at.mocha_attention(u, 2, None, e, lengths, *s or (None,), end),
                lambda e, u, *s: at.mocha_attention(u, None, None, e, None, *s or (None,), end),
                lambda e, u, *s: at.matcha_attention(u, None, e, lengths, *s or (None,), end),
            ):
                self.assertTrue(gradcheck(function, (e, u, *starts)), end)

    def test_gradcheck_passes_for_additive_energies_and_memory(self):
        states = drawn(2, 2, 4, 3).requires_grad_()
        keys = drawn(2, 2, 5, 3, seed=2).requires_grad_()
        lengths = torch.tensor([5, 2])
        for v in (drawn(3).requires_grad_(), drawn(2, 3).requires_grad_()):
            self.assertTrue(gradcheck(
                lambda *x: at.additive_energies(*x, lengths), (states, keys, v)))
            self.assertTrue(gradcheck(at.additive_energies, (states[:, :, :1], keys, v)))
        memory = drawn(2, 2, 5, 4, seed=3).requires_grad_()
        self.assertTrue(gradcheck(
            lambda e, d: at.memory_attention(e, d, lengths, "sigmoid", "softmax", "raw"),
            (keys, states)))
        self.assertTrue(gradcheck(
            lambda e, d, m: at.memory_contexts(e, d, m, lengths, position_encoding="raw",
                                               place="outside"), (keys, states, memory)))

    def test_additive_energies_are_v_times_tanh(self):
        queries, keys, v = drawn(2, 2, 5, 3), 3 * drawn(2, 2, 6, 3, seed=2), drawn(2, 3)
        expected = ((queries.unsqueeze(3) + keys.unsqueeze(2)).tanh()
                    * v.view(1, 2, 1, 1, 3)).sum(4)
        self.assert_close(at.additive_energies(queries, keys, v), expected)
        # One output takes another way.
        self.assert_close(at.additive_energies(queries[:, :, :1], keys, v), expected[:, :, :1])
        # Keys so large that their factors are no numbers.
        large = at.additive_energies(queries, 1000 * keys, v)
        self.assert_close(large, ((queries.unsqueeze(3) + 1000 * keys.unsqueeze(2)).tanh()
                                  * v.view(1, 2, 1, 1, 3)).sum(4))

    def test_memory_attention_is_that_of_the_equations(self):
        encoder, decoder = drawn(2, 2, 5, 3), drawn(2, 2, 4, 3, seed=2)
        memory = drawn(2, 2, 5, 4, seed=3)
        lengths = torch.tensor([5, 3])
        for scoring, encoding, place, longest in itertools.product(
                itertools.product(("softmax", "sigmoid"), repeat=2),
                ("none", "raw", "renormalized", "renormalized_mean"),
                ("inside", "outside"), (0, 7)):
            options = (*scoring, encoding, place, longest)
            attention = at.memory_attention(encoder, decoder, lengths, *options)
            for b, h in itertools.product(range(2), range(2)):
                n = int(lengths[b])
                self.assert_close(attention[b, h, :, :n],
                                  naive.memory(encoder[b, h, :n], decoder[b, h], *options),
                                  what=options)
                self.assertEqual(float(attention[b, h, :, n:].abs().sum()), 0)
            self.assert_close(at.memory_contexts(encoder, decoder, memory, lengths, *options),
                              attention @ memory, what=options)

    def test_a_chain_of_single_steps_is_all_outputs_at_once(self):
        weights = drawn(B, H, U, T, seed=7)
        for (ours, _), end in itertools.product(scan_functions(), ("absorb", "stay_last")):
            results = []
            for at_once in (True, False):
                p = probabilities(B, H, U, T, seed=2).requires_grad_()
                u = drawn(B, H, U, T, seed=3).requires_grad_()
                lengths = torch.tensor([T, 2])
                if at_once:
                    out = ours(p, u, lengths=lengths, end=end)
                else:
                    steps, start = [], None
                    for i in range(U):
                        steps.append(ours(p[:, :, i:i + 1], u[:, :, i:i + 1],
                                          lengths=lengths, start=start, end=end))
                        start = steps[-1][-1][:, :, -1]
                    out = [torch.cat(x, 2) for x in zip(*steps)]
                (weights * out[0]).sum().backward()
                results.append([*out, p.grad])
            for a, b in zip(*results):
                self.assert_close(a, b, what=end)

    def test_each_sequence_of_a_padded_batch_is_as_if_alone(self):
        # The portable path adds windows in an order that depends on T.
        tolerance = 1e-14 if PORTABLE else 0
        lengths = torch.tensor([4, 0, 1])
        for (ours, _), end in itertools.product(scan_functions(), ENDS):
            p, u = probabilities(3, 1, U, T), drawn(3, 1, U, T, seed=2)
            for b, n in enumerate(lengths):
                p[b, :, :, n:] = float("nan")
                u[b, :, :, n:] = float("inf")
            p.requires_grad_(), u.requires_grad_()
            out = ours(p, u, lengths=lengths, end=end)
            sum(x.sum() for x in out).backward()
            for b, n in enumerate(lengths):
                alone = [x[b:b + 1, :, :, :n].detach().requires_grad_() for x in (p, u)]
                alone_out = ours(*alone, end=end)
                sum(x.sum() for x in alone_out).backward()
                for x, y in zip(out, alone_out):
                    self.assert_close(x[b:b + 1, :, :, :n], y, tolerance)
                    self.assertEqual(float(x[b, :, :, n:].abs().sum()), 0)
                for x, y in zip((p, u), alone):
                    if x.grad is None:
                        continue
                    if n > 0:
                        self.assert_close(x.grad[b:b + 1, :, :, :n], y.grad, tolerance)
                    self.assertEqual(float(x.grad[b, :, :, n:].abs().sum()), 0)

    def test_energies_and_contexts_do_not_read_beyond_the_lengths(self):
        lengths = torch.tensor([4, 0, 1])
        inside = (torch.arange(T) < lengths.unsqueeze(1)).view(3, 1, T, 1)
        keys, states, memory = drawn(3, 2, T, 4), drawn(3, 2, U, 4), drawn(3, 2, T, 3, seed=2)
        results = []
        for beyond in (0, float("nan")):
            inputs = [x.masked_fill(~inside, beyond).requires_grad_() for x in (keys, memory)]
            out = (at.additive_energies(states, inputs[0], drawn(4), lengths),
                   at.memory_attention(inputs[0], states, lengths, position_encoding="raw"),
                   at.memory_contexts(inputs[0], states, inputs[1], lengths))
            sum(x.sum() for x in out).backward()
            results.append([*out, *(x.grad for x in inputs)])
        for n, (a, b) in enumerate(zip(*results)):
            self.assertTrue(torch.equal(a, b))
            outside = ~inside.transpose(2, 3) if n < 2 else ~inside
            if n != 2:
                self.assertEqual(float(a.masked_fill(~outside, 0).abs().sum()), 0)

    def test_all_mass_is_kept_under_stay_last(self):
        p = probabilities(2, 2, 30, 40, dtype=torch.float) * 0.05
        alpha = at.monotonic_attention(p=p, end="stay_last")
        self.assert_close(alpha.sum(3), torch.ones(2, 2, 30), 2e-6)

    def test_known_values_of_each_end_are_met(self):
        p = torch.tensor([[[[.2, .5, .1], [.6, .3, .4], [.5, .5, .5]]]], dtype=torch.double)
        rows = {"absorb": [[.2, .4, .04], [.12, .144, .1504], [.06, .102, .1262]],
                "restart": [[.2, .4, .04], [.336, .1872, .19072], [.21504, .28512, .24992]],
                "stay_last": [[.2, .4, .4], [.12, .144, .736], [.06, .102, .838]]}
        for end, expected in rows.items():
            self.assert_close(at.monotonic_attention(p=p, end=end)[0, 0],
                              torch.tensor(expected, dtype=torch.double))

    def test_infinite_energies_are_certain_choices_with_finite_gradients(self):
        inf = float("inf")
        e = torch.tensor([[[[-inf, 1., inf, 0.], [-inf, -inf, -inf, inf]]]], requires_grad=True)
        alpha = at.monotonic_attention(energies=e)
        (alpha * torch.tensor([1., 2., 3., 4.])).sum().backward()
        q = torch.tensor(1.).sigmoid()
        self.assert_close(alpha.detach()[0, 0],
                          torch.stack([torch.stack([q * 0, q, 1 - q, q * 0]),
                                       torch.tensor([0., 0., 0., 1.])]), 1e-6)
        self.assertTrue(e.grad.isfinite().all())

    def test_tensors_of_other_layouts_give_the_same(self):
        p, u = probabilities(B, H, U, T), drawn(B, H, U, T, seed=2)
        expected = at.mocha_attention(u, 2, p=p)
        layouts = {
            "transposed": lambda x: x.transpose(2, 3).contiguous().transpose(2, 3),
            "heads inside": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
            "every second": lambda x: x.repeat_interleave(2, 3)[..., ::2],
            "part of a row": lambda x: torch.nn.functional.pad(x, (2, 3))[..., 2:-3],
            "heads first": lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
        }
        for name, layout in layouts.items():
            ours = layout(p).requires_grad_(), layout(u).requires_grad_()
            self.assertEqual([x.shape for x in ours], [p.shape] * 2)
            out = at.mocha_attention(ours[1], 2, p=ours[0])
            for a, b in zip(out, expected):
                self.assertTrue(torch.equal(a, b), name)
            # A sum's gradient has no memory of its own.
            out[0].sum().backward()
            base = p.clone().requires_grad_()
            at.mocha_attention(u, 2, p=base)[0].sum().backward()
            self.assertTrue(torch.equal(ours[0].grad, base.grad), name)
        one_row = probabilities(B, H, 1, T).expand(-1, -1, U, -1)
        self.assertTrue(torch.equal(at.monotonic_attention(p=one_row),
                                    at.monotonic_attention(p=one_row.contiguous())))

    def test_one_memory_for_all_heads_is_read_and_its_gradient_summed(self):
        encoder, decoder = drawn(2, 3, 5, 4), drawn(2, 3, 2, 4, seed=2)
        shared = drawn(2, 5, 3, seed=3).requires_grad_()
        copied = shared.detach().clone().requires_grad_()
        one = at.memory_contexts(encoder, decoder, shared.unsqueeze(1).expand(-1, 3, -1, -1))
        two = at.memory_contexts(encoder, decoder, copied.unsqueeze(1).repeat(1, 3, 1, 1))
        self.assertTrue(torch.equal(one, two))
        one.sum().backward(), two.sum().backward()
        self.assert_close(shared.grad, copied.grad)

    def test_one_row_for_all_entries_or_outputs_is_read_as_if_copied(self):
        # So large that BLAS multiplies, which knows no rows at one place.
        encoder, decoder = drawn(2, 3, 1, 20), drawn(2, 3, 1, 20, seed=2)
        row = drawn(2, 3, 1, 40, seed=3)
        expanded = [x.expand(-1, -1, n, -1) for x, n in ((encoder, 60), (decoder, 30), (row, 60))]
        self.assertTrue(torch.equal(at.memory_contexts(*expanded),
                                    at.memory_contexts(*(x.contiguous() for x in expanded))))

    def test_empty_batches_outputs_and_memories_give_empty_results(self):
        for shape in ((0, 1, 2, 3), (1, 0, 2, 3), (1, 1, 0, 3), (1, 1, 2, 0)):
            p = torch.zeros(shape, requires_grad=True)
            u = torch.zeros(shape, requires_grad=True)
            start = torch.zeros(shape[0], shape[1], shape[3], requires_grad=True)
            for ours, _ in scan_functions():
                out = ours(p, u, start=start)
                self.assertEqual(out[0].shape, shape)
                sum(x.sum() for x in out).backward()
                self.assertEqual(float(start.grad.abs().sum()), 0)
            rows = torch.zeros(shape[0], shape[1], shape[3], 4, requires_grad=True)
            states = torch.zeros(shape[0], shape[1], shape[2], 4, requires_grad=True)
            for out in (at.additive_energies(states, rows, torch.ones(4)),
                        at.memory_attention(rows, states)):
                self.assertEqual(out.shape, shape)
                out.sum().backward()
            contexts = at.memory_contexts(rows, states, rows)
            self.assertEqual(contexts.shape, (*shape[:3], 4))
            self.assertEqual(float(contexts.abs().sum()), 0)

    def test_each_head_of_a_memory_that_they_share_has_its_own_gradient(self):
        for lengths in (None, torch.tensor([T, 3])):
            made = []
            for copies in (False, True):
                e, s, m = (drawn(B, H, T, 4, seed=1).requires_grad_(), drawn(B, H, U, 4, seed=2),
                           drawn(B, 1, T, 7, seed=3).requires_grad_())
                heads = m.expand(-1, H, -1, -1)
                heads = heads.contiguous() if copies else heads
                contexts = at.memory_contexts(e, s, heads, lengths)
                loss = (contexts * drawn(B, H, U, 7, seed=4)).sum()
                made.append((contexts, *torch.autograd.grad(loss, (e, heads, m))))
            for a, b in zip(*made):
                self.assert_close(a, b)

    def test_a_gradient_beyond_the_lengths_is_not_read(self):
        lengths = torch.tensor([T, 3])
        inside = torch.arange(T) < lengths.view(B, 1, 1, 1)
        tables = drawn(B, H, U, T), drawn(B, H, U, T, seed=2)
        cases = [(lambda e, u, end=end, f=f: f(e, u, lengths=lengths, end=end), tables)
                 for end in ENDS for f in FUNCTIONS_OF_ENERGIES]
        cases.append((lambda e, s: at.memory_attention(e, s, lengths),
                      (drawn(B, H, T, 4), drawn(B, H, U, 4))))
        cases.append((lambda q, k: at.additive_energies(q, k, drawn(4), lengths),
                      (drawn(B, H, U, 4), drawn(B, H, T, 4))))
        for n, (function, given) in enumerate(cases):
            made = []
            for wrong in (0., NAN, INF):
                inputs = [x.clone().requires_grad_() for x in given]
                out = function(*inputs)
                out = out if isinstance(out, tuple) else (out,)
                upstream = [torch.where(inside, drawn(B, H, U, T, seed=5), wrong) for _ in out]
                made.append(torch.autograd.grad(out, inputs, upstream, allow_unused=True))
            for found in made[1:]:
                for a, b in zip(found, made[0]):
                    if b is not None:
                        self.assertTrue(torch.equal(a, b), n)

    def test_results_may_be_changed_in_place_before_their_gradient(self):
        lengths = torch.tensor([T, 3])
        e, u = drawn(B, H, U, T), drawn(B, H, U, T, seed=2)
        entries, states = drawn(B, H, T, 4, seed=3), drawn(B, H, U, 4, seed=4)
        cases = [(f, (e, u), dict(lengths=n, end=end)) for end in ENDS
                 for n in (None, lengths) for f in FUNCTIONS_OF_ENERGIES]
        for n in (None, lengths):
            cases += [(at.memory_attention, (entries, states), dict(lengths=n)),
                      (lambda e, s, **more: at.memory_contexts(e, s, e, **more),
                       (entries, states), dict(lengths=n)),
                      (lambda q, k, **more: at.additive_energies(q, k, drawn(4), **more),
                       (states, entries), dict(lengths=n))]
        for n, (function, given, more) in enumerate(cases):
            made = []
            for in_place in (False, True):
                inputs = [x.clone().requires_grad_() for x in given]
                out = function(*inputs, **more)
                out = out if isinstance(out, tuple) else (out,)
                loss = sum((x.mul_(2) if in_place else 2 * x).square().sum() for x in out)
                made.append(torch.autograd.grad(loss, inputs, allow_unused=True))
            for a, b in zip(*made):
                self.assertTrue(a is b is None or torch.equal(a, b), n)

    def test_a_gradient_that_is_taken_under_autocast_keeps_its_digits(self):
        e, s, m = (drawn(B, H, T, 4, seed=1, dtype=torch.float), drawn(
            B, H, U, 4, seed=2, dtype=torch.float), drawn(B, H, T, 7, seed=3, dtype=torch.float))
        for function, given in (
                (at.memory_attention, (e, s)), (at.memory_contexts, (e, s, m)),
                (lambda e, s, m: at.memory_contexts(e, s, m.expand(-1, H, -1, -1)),
                 (e, s, m[:, :1]))):
            made = []
            for casts in (False, True):
                inputs = [x.clone().requires_grad_() for x in given]
                with torch.autocast(e.device.type, dtype=torch.bfloat16, enabled=casts):
                    function(*inputs).square().sum().backward()
                made.append([x.grad for x in inputs])
            for a, b in zip(*made):
                self.assertTrue(torch.equal(a, b))

    def test_nothing_on_the_way_to_a_gradient_is_nan_for_a_sequence_of_no_entries(self):
        lengths = torch.tensor([0, 3])
        e, u = drawn(B, H, U, T), drawn(B, H, U, T, seed=2)
        entries, states = drawn(B, H, T, 4, seed=3), drawn(B, H, U, 4, seed=4)
        cases = [(f, (e, u), dict(end=end)) for end in ENDS for f in FUNCTIONS_OF_ENERGIES]
        cases += [(at.memory_attention, (entries, states), dict(place=place, position_encoding=L))
                  for place in ("inside", "outside")
                  for L in ("none", "raw", "renormalized", "renormalized_mean")]
        for function, given, more in cases:
            inputs = [x.clone().requires_grad_() for x in given]
            out = function(*inputs, lengths=lengths, **more)
            with torch.autograd.set_detect_anomaly(True):
                sum(x.square().sum() for x in (
                    out if isinstance(out, tuple) else (out,))).backward()
            self.assertTrue(all(x.grad is None or x.grad.isfinite().all() for x in inputs))

    def test_half_types_are_computed_in_f32_and_returned_in_kind(self):
        for dtype in (torch.half, torch.bfloat16):
            for ours, _ in scan_functions():
                # 2 ** -k is exact in all types.
                p = (2.0 ** -torch.randint(1, 4, (B, H, U, T)).double()).to(dtype)
                u = drawn(B, H, U, T).to(dtype)
                short = [p.clone().requires_grad_(), u.clone().requires_grad_()]
                full = [p.float().requires_grad_(), u.float().requires_grad_()]
                a, b = ours(*short), ours(*full)
                for x, y in zip(a, b):
                    self.assertEqual(x.dtype, dtype)
                    self.assertTrue(torch.equal(x, y.to(dtype)))
                sum(x.sum() for x in a).backward()
                sum(x.sum() for x in b).backward()
                self.assertEqual(short[0].grad.dtype, dtype)
                self.assertTrue(torch.equal(short[0].grad, full[0].grad.to(dtype)))
            energies = at.additive_energies(*(x.to(dtype) for x in (
                drawn(1, 1, 2, 3), drawn(1, 1, 4, 3), drawn(3))))
            self.assertEqual(energies.dtype, dtype)

    def test_threads_change_no_bit(self):
        before = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, before)
        results = []
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            results.append(self.everything())
        for other in results[1:]:
            for a, b in zip(results[0], other):
                self.assertTrue(torch.equal(a, b))

    def test_threads_that_share_a_sequence_change_no_bit(self):
        before = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, before)
        # They are long enough to be shared, and their parts are of no even size.
        # The portable path takes seconds for MAtChA, and shares smaller ones, too.
        for heads, (function, sizes) in itertools.product(
                (1, 2), ((lambda p, u: at.mocha_attention(u, 8, p=p), (131, 509)),
                         (lambda p, u: at.matcha_attention(u, p=p),
                          (37, 257) if PORTABLE else (131, 509)))):
            p, u, d, d_alpha = (drawn(1, heads, *sizes, seed=seed) for seed in (1, 2, 3, 4))
            p = (p - 3).sigmoid()  # not among the threads: PyTorch's has other bits there
            results = []
            for threads in (1, 2, 5):
                torch.set_num_threads(threads)
                inputs = [p.clone().requires_grad_(), u.clone().requires_grad_()]
                beta, alpha = function(*inputs)
                torch.autograd.backward([beta, alpha], [d, d_alpha])
                results.append([beta, alpha, *(x.grad for x in inputs)])
            for other in results[1:]:
                for a, b in zip(results[0], other):
                    self.assertTrue(torch.equal(a, b))

    @needs.cpu
    @needs.gradients_after_fork
    def test_a_forked_process_gives_the_same_bits(self):
        expected = torch.cat([x.flatten() for x in self.everything()])
        # GNU OpenMP's threads do not live on in a child: data loaders use one.
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(60)
                torch.set_num_threads(1)
                made = torch.cat([x.flatten() for x in self.everything()])
                os.write(write, b"1" if torch.equal(made, expected) else b"0")
            finally:
                os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        with open(read, "rb") as said:
            self.assertEqual(said.read(), b"1")

    def everything(self):
        p, u = probabilities(3, 2, 7, 33, dtype=torch.float), drawn(3, 2, 7, 33).float()
        lengths = torch.tensor([33, 0, 17])
        states, keys = drawn(3, 2, 7, 6).float(), drawn(3, 2, 33, 6).float()
        inputs = [x.requires_grad_() for x in (p, u, states, keys)]
        out = [*at.mocha_attention(u, 3, p=p, lengths=lengths),
               *at.matcha_attention(u, p=p, lengths=lengths),
               at.additive_energies(states, keys, torch.ones(6)),
               at.memory_attention(keys, states, lengths)]
        sum((x * x).sum() for x in out).backward()
        return [x.detach() for x in out] + [x.grad for x in inputs]

    @needs.cpu
    def test_matrix_products_of_others_keep_their_threads(self):
        blas = ctypes.CDLL("libopenblas.so.0")
        before = blas.openblas_get_num_threads()
        self.addCleanup(blas.openblas_set_num_threads, before)
        blas.openblas_set_num_threads(2)
        rows = drawn(2, 2, 5, 3).requires_grad_()
        at.memory_attention(rows, rows).sum().backward()
        with self.assertRaises(ValueError):
            at.memory_attention(rows * float("nan"), rows)
        self.assertEqual(blas.openblas_get_num_threads(), 2)

    def test_second_derivatives_are_refused(self):
        p, u = probabilities(1, 1, 2, 3).requires_grad_(), drawn(1, 1, 2, 3)
        rows = drawn(1, 1, 3, 2).requires_grad_()
        for out, of in ((at.monotonic_attention(p=p), p), (at.mocha_attention(u, 2, p=p)[0], p),
                        (at.matcha_attention(u, p=p)[0], p),
                        (at.memory_attention(rows, rows), rows),
                        (at.additive_energies(rows, rows, torch.ones(2).double()), rows)):
            gradient, = torch.autograd.grad((out * out).sum(), of, create_graph=True)
            with self.assertRaisesRegex(RuntimeError, "first derivatives only"):
                gradient.sum().backward()

    def test_a_gradient_that_nobody_wants_is_not_made(self):
        p, u = probabilities(1, 1, 2, 3), drawn(1, 1, 2, 3).requires_grad_()
        beta, alpha = at.mocha_attention(u, 2, p=p)
        self.assertTrue(beta.requires_grad)
        if PORTABLE:  # alpha does not depend on u
            self.assertFalse(alpha.requires_grad)
            beta.sum().backward()
        else:
            alpha.sum().backward()
            self.assertEqual(float(u.grad.abs().sum()), 0)
        self.assertIsNone(p.grad)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # which tells the reason of a skip
