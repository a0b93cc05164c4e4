"""Guards against a certificate that does not hold, a band that evaluates what it need not, one
that costs more than all pairs, and gradients of something else. It runs for each path of
attnbench.torch.
"""

import math
import unittest
from contextlib import ExitStack
from functools import partial
from unittest import mock

import torch
from torch.autograd import gradcheck

import attnbench.torch as at
import needs
from attnbench.torch import banded

B, H = 2, 2


def sharp_energies(U, T, sharpness=9.0, noise=1.0, seed=1):
    """Energies of outputs that look for one of T / U symbols, as workload symbols has them."""
    generator = torch.Generator().manual_seed(seed)
    symbols = max(2, T // U)
    of_entries = torch.randint(symbols, (B, H, 1, T), generator=generator)
    wanted = torch.randint(symbols, (B, H, U, 1), generator=generator)
    sign = torch.where(of_entries == wanted, sharpness, -sharpness)
    drawn = torch.randn(B, H, U, T, generator=generator, dtype=torch.double)
    made = sign.double() + noise * drawn
    return made.to(torch.ones(1).device)


class OneThread(unittest.TestCase):
    def setUp(self):
        # These arrays are small: threads that wait for a busy core take ten times as long as one.
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)

    def within(self, context):
        stack = ExitStack()
        stack.enter_context(context)
        self.addCleanup(stack.close)


class AnyWidth(OneThread):
    """A band is never given up here, however wide."""

    def setUp(self):
        super().setUp()
        self.within(mock.patch.object(banded, "MOST_SHARE", math.inf))


class BandTest(AnyWidth):
    def hold(self, band, alpha, bound, rounding=1e-12):
        error = (alpha - band.alpha).abs().sum(3)
        self.assertTrue((band.alpha <= alpha + rounding).all())
        self.assertTrue((error <= band.mass_cut + rounding).all())
        self.assertTrue((band.mass_cut <= bound * (1 + 1e-6)).all())
        self.assertTrue((band.mass_cut.diff(dim=2) >= -rounding).all())

    def test_the_certificate_holds(self):
        lengths = torch.tensor([1000, 600])
        for sharpness in (3.0, 9.0, 40.0):
            energies = sharp_energies(100, 1000, sharpness)
            for more in ({}, {"lengths": lengths}, {"end": "stay_last"},
                         {"lengths": lengths, "end": "stay_last"}):
                alpha = at.monotonic_attention(energies=energies, **more)
                for bound in (1.0, 0.1, 1e-3, 1e-6):
                    band = at.banded_attention(bound, energies=energies, **more)
                    self.hold(band, alpha, bound)
                    of_p = at.banded_attention(bound, p=energies.sigmoid(), **more)
                    self.hold(of_p, alpha, bound, 1e-9)
                    self.assertIs(band.weights, band.alpha)
                    self.assertFalse(band.dense)

    def test_the_certificate_holds_where_draws_do_not_go(self):
        p = torch.zeros(B, H, 70, 400, dtype=torch.double)
        p[..., 300] = 1  # mass in two far places
        p[..., 1] = 0.5
        far = p.clone()
        far[:, :, 1:, 1] = 1 - 1e-5
        creeping = torch.full_like(p, 1e-4)
        creeping[..., 5] = creeping[..., 200] = 1 - 1e-6
        cases = (p, far, creeping, torch.zeros_like(p), torch.ones_like(p))
        for table in cases:
            for bound in (1.0, 1e-2, 1e-6):
                for end in ("absorb", "stay_last"):
                    band = at.banded_attention(bound, p=table, end=end)
                    self.hold(band, at.monotonic_attention(p=table, end=end), bound)

    def test_beta_is_that_of_the_banded_alpha(self):
        energies = sharp_energies(80, 1000)
        u = torch.randn(B, H, 80, 1000, generator=torch.Generator().manual_seed(3),
                        dtype=torch.double)
        for width in (1, 3, None):
            band = at.banded_attention(1e-2, energies=energies, chunk_energies=u, width=width)
            beta, alpha = at.mocha_attention(u, width, energies=energies)
            self.hold(band, alpha, 1e-2)
            self.assertTrue(
                ((beta - band.weights).abs().sum(3) <= band.mass_cut + 1e-12).all(), width)

    def test_what_lies_beyond_a_length_is_not_read(self):
        lengths = torch.tensor([600, 250])
        energies = sharp_energies(70, 600)
        u = torch.randn(B, H, 70, 600, generator=torch.Generator().manual_seed(6),
                        dtype=torch.double).to(energies.device)
        start = torch.zeros(B, H, 600, dtype=torch.double)
        start[..., 3], start[..., 240] = 0.25, 0.5
        for table in (energies, u, start):
            table[1, ..., 250:] = torch.nan
        u.requires_grad_()
        given = {"energies": energies, "lengths": lengths, "start": start}
        beta, alpha = at.mocha_attention(u, 3, **given)
        band = at.banded_attention(1e-3, chunk_energies=u, width=3, **given)
        self.hold(band, alpha, 1e-3)
        self.assertTrue(((beta - band.weights).abs().sum(3) <= band.mass_cut + 1e-12).all())
        band.weights.square().sum().backward()
        self.assertEqual(float(u.grad[1, ..., 250:].abs().sum()), 0)
        self.hold(at.banded_attention(1e-3, **given), alpha, 1e-3)

    def test_f32_keeps_the_bound_and_half_is_computed_in_it(self):
        energies = sharp_energies(100, 1200)
        alpha = at.monotonic_attention(energies=energies)
        band = at.banded_attention(1e-4, energies=energies.float())
        error = (alpha - band.alpha.double()).abs().sum(3)
        self.assertTrue((error <= band.mass_cut.double() + 1e-4).all())
        for short in (torch.half, torch.bfloat16):
            table = energies.to(short)
            start = torch.full((B, H, 1200), 1 / 1200).to(table)
            for more in ({}, {"start": start}):
                exact = at.monotonic_attention(energies=table.float(), **{
                    name: one.float() for name, one in more.items()})
                band = at.banded_attention(0.1, energies=table, chunk_energies=table, width=1,
                                           **more)
                self.assertEqual((band.alpha.dtype, band.weights.dtype), (short, short))
                # Rounding to 8 bits moves a row of sum 1 by less.
                error = (exact - band.alpha.float()).abs().sum(3)
                self.assertTrue((error <= band.mass_cut + 0.004).all())

    def test_gradients_are_those_of_the_band(self):
        U, T = 40, 200
        energies = sharp_energies(U, T, 12.0, 0.5).requires_grad_()
        cotangent = torch.randn(B, H, U, T, generator=torch.Generator().manual_seed(4),
                                dtype=torch.double)
        exact, = torch.autograd.grad(
            (at.monotonic_attention(energies=energies) * cotangent).sum(), energies)
        for bound in (1e-2, 1e-5):
            band = at.banded_attention(bound, energies=energies)
            found, = torch.autograd.grad((band.alpha * cotangent).sum(), energies)
            error = float((found - exact).abs().amax())
            self.assertLessEqual(error, 1.5 * bound * U * float(cotangent.abs().max()))
            self.assertGreater(float(found.abs().sum()), 0)

    def test_gradients_are_the_same_for_each_way_of_asking(self):
        """Parts of an array add to one gradient: it must begin anew with every call, and hold
        what every output asks for.
        """
        energies = sharp_energies(70, 300, 12.0, 0.5)
        u = sharp_energies(70, 300, 1.0, seed=2)
        found = {}
        for given in (("e",), ("u",), ("e", "u"), ("e", "u")):
            tables = {"e": energies.clone(), "u": u.clone()}
            for name in given:
                tables[name].requires_grad_()
            band = at.banded_attention(1e-2, energies=tables["e"], chunk_energies=tables["u"],
                                       width=3)
            loss = band.weights.square().sum() + band.alpha[:, :, ::2].sum()
            for _ in range(2):
                gradients = torch.autograd.grad(
                    loss, [tables[name] for name in given], retain_graph=True)
                for name, gradient in zip(given, gradients):
                    self.assertGreater(float(gradient.abs().sum()), 0)
                    self.assertTrue(torch.equal(found.setdefault(name, gradient), gradient), name)

    def test_tables_have_a_gradient_even_if_first_asked_for_without(self):
        energies = sharp_energies(40, 200, 12.0).half().requires_grad_()
        band = at.banded_attention(1e-2, energies=energies, chunk_energies=energies, width=2)
        with torch.no_grad():
            self.assertGreater(float(band.alpha.sum() + band.weights.sum()), 0)
        for table in (band.alpha, band.weights):
            found, = torch.autograd.grad(table.float().square().sum(), energies, retain_graph=True)
            self.assertGreater(float(found.abs().sum()), 0)

    def test_contexts_are_those_of_the_weights(self):
        memory = torch.randn(B, 300, 5, dtype=torch.double, requires_grad=True)
        energies = sharp_energies(70, 300, 12.0)
        for width in (1, None):
            energies = energies.detach().requires_grad_()
            band = at.banded_attention(1e-2, energies=energies, chunk_energies=energies,
                                       width=width)
            gradients = []
            for contexts in (band.contexts(memory), band.weights @ memory.unsqueeze(1)):
                gradients.append((contexts, *torch.autograd.grad(
                    contexts.square().sum(), (memory, energies), retain_graph=True)))
            for made, expected in zip(*gradients):
                self.assertLess(float((made - expected).abs().max()), 1e-12)

    def test_gradcheck(self):
        p = sharp_energies(2, 6, 1.0).sigmoid()[:1, :1].requires_grad_()
        u = torch.randn(1, 1, 2, 6, dtype=torch.double).requires_grad_()
        start = torch.rand(1, 1, 6, dtype=torch.double).div(6).requires_grad_()
        self.assertTrue(gradcheck(lambda p: at.banded_attention(1e-6, p=p).alpha, p))
        self.assertTrue(gradcheck(lambda p, u, start: at.banded_attention(
            1e-6, p=p, chunk_energies=u, width=2, start=start).weights, (p, u, start)))

    def test_gradients_of_a_module_are_those_without_a_band(self):
        torch.manual_seed(5)
        states, memory = (torch.randn(B, n, 6, dtype=torch.double, requires_grad=True)
                          for n in (12, 50))
        for module in (at.MonotonicAttention(6, 6, 8, H), at.MoChA(6, 6, 8, H, width=3),
                       at.MoChA(6, 6, 8, H, width=None)):
            module = module.double().eval()
            prepared = module.prepare(memory, torch.tensor([50, 31]))
            wanted = (states, memory, *module.parameters())
            found, exact = (torch.autograd.grad(contexts.square().sum(), wanted, retain_graph=True)
                            for contexts in (module.attend_banded(states, prepared, 1e-6)[0],
                                             module.attend(states, prepared).contexts))
            for one, other in zip(found, exact):
                self.assertLess(float((one - other).abs().max()), 1e-4)
                self.assertGreater(float(other.abs().max()), 1e-3)

    def test_noise_is_drawn_once_for_a_call_and_its_gradient(self):
        torch.manual_seed(6)
        module = at.MonotonicAttention(6, 6, 8, H).double()
        states, memory = torch.randn(B, 3, 6).double(), torch.randn(B, 7, 6).double()

        def contexts(r, seed=1):
            torch.manual_seed(seed)
            with torch.no_grad():
                module.energy.r.copy_(r)
            made = module.attend_banded(states, module.prepare(memory), 1e-6)[0]
            return made

        r = torch.tensor([0.3, -0.2], dtype=torch.double)
        self.assertFalse(torch.equal(contexts(r), contexts(r, 2)))
        self.assertTrue(torch.equal(contexts(r), contexts(r)))
        found, = torch.autograd.grad(contexts(r).sum(), module.energy.r)
        for h in range(H):
            step = torch.zeros(H, dtype=torch.double)
            step[h] = 1e-5
            difference = (contexts(r + step) - contexts(r - step)).sum() / 2e-5
            self.assertAlmostEqual(float(found[h]), float(difference), 6)

    def test_it_evaluates_the_band_alone(self):
        U, T = 128, 4096
        energies, asked = sharp_energies(U, T, 12.0), []

        def scores_of(rows, columns):
            asked.append((rows, columns))
            return energies[:, :, rows, columns]

        band = banded.evaluate(1e-3, energies.shape, scores_of, False, None, None, "absorb")
        area = sum((rows.stop - rows.start) * (columns.stop - columns.start) * B * H
                   for rows, columns in asked)
        self.assertEqual(band.energies, area)
        self.assertLess(area, 0.7 * energies.numel())
        self.assertEqual(band.reach, max(columns.stop for _, columns in asked))

    def test_a_start_is_where_the_first_output_begins(self):
        energies = sharp_energies(64, 600)
        start = torch.zeros(B, H, 600, dtype=torch.double)
        start[..., 3], start[..., 250] = 0.25, 0.5
        band = at.banded_attention(1e-3, energies=energies, start=start)
        self.hold(band, at.monotonic_attention(energies=energies, start=start), 1e-3)

    def test_it_says_where_it_never_reaches_the_end(self):
        p = torch.full((1, 1, 50, 900), 0.5, dtype=torch.double)
        p[..., 7] = 1
        self.assertLess(at.banded_attention(1e-3, p=p).reach, 100)

    def test_modules_attend_on_a_band(self):
        torch.manual_seed(5)
        U, T = 40, 500
        states, memory = torch.randn(B, U, 6), torch.randn(B, T, 7)
        for module in (at.MonotonicAttention(6, 7, 8, 2), at.MoChA(6, 7, 8, 2, width=3)):
            module = module.to(states.device).eval()
            prepared = module.prepare(memory, torch.tensor([T, 300]))
            exact = module.attend(states, prepared)
            contexts, band = module.attend_banded(states, prepared, bound=1e-2)
            self.assertTrue(
                ((band.alpha - exact.alpha).abs().sum(3) <= band.mass_cut + 1e-4).all())
            self.assertTrue(
                ((band.weights - exact.weights).abs().sum(3) <= band.mass_cut + 1e-4).all())
            self.assertLess(float((contexts - exact.contexts).abs().max()), 0.2)
            contexts.sum().backward()
            self.assertTrue(all(p.grad is not None for p in module.parameters()))
            module.train()
            module.attend_banded(states, prepared)
        with self.assertRaisesRegex(TypeError, "MAtChA has no band"):
            module = at.MAtChA(6, 7, 8)
            module.attend_banded(states, module.prepare(memory))

    def test_what_cannot_be_is_refused(self):
        p = torch.rand(1, 1, 3, 5)
        for bound in (0, -1, 1.5, float("nan"), 1e-7):
            with self.assertRaisesRegex(ValueError, "bound must be from 1e-06 to 1"):
                at.banded_attention(bound, p=p)
        with self.assertRaisesRegex(ValueError, "end must be absorb or stay_last"):
            at.banded_attention(0.1, p=p, end="restart")
        with self.assertRaisesRegex(ValueError, "either p or energies"):
            at.banded_attention(0.1)
        with self.assertRaisesRegex(ValueError, r"chunk_energies of shape \[1, 1, 3, 4\] does not"):
            at.banded_attention(0.1, p=p, chunk_energies=p[..., 1:])
        with self.assertRaisesRegex(TypeError, "chunk_energies must have the type of p"):
            at.banded_attention(0.1, p=p, chunk_energies=p.double())
        with self.assertRaisesRegex(ValueError, "p must be .B, H, U, T., but has 3 dimensions"):
            at.banded_attention(0.1, p=p[0])

    def test_a_start_is_refused_as_the_exact_functions_do(self):
        p = torch.rand(1, 1, 3, 5)
        negative = torch.zeros(1, 1, 5)
        negative[0, 0, 2] = -1
        for start, error in ((torch.zeros(1, 1, 10), ValueError), (negative, ValueError),
                             (torch.full((1, 1, 5), torch.nan), ValueError),
                             (torch.zeros(1, 5), ValueError),
                             (torch.zeros(1, 1, 5).half(), TypeError)):
            said = []
            for attend in (at.monotonic_attention, partial(at.banded_attention, 0.1)):
                with self.assertRaises(error) as caught:
                    attend(p=p, start=start)
                said.append(str(caught.exception).split("\n")[0])
            self.assertEqual(*said)

    def test_nothing_is_empty_tables(self):
        for shape in ((0, 2, 3, 5), (2, 0, 3, 5), (1, 1, 0, 5), (1, 1, 3, 0)):
            p = torch.rand(shape)
            for more in ({}, {"start": torch.zeros(shape[:2] + shape[3:])},
                         {"chunk_energies": p, "width": 2},
                         {"lengths": torch.zeros(shape[0], dtype=torch.int64)}):
                band = at.banded_attention(0.1, p=p, **more)
                self.assertEqual((band.weights.shape, band.alpha.shape), (p.shape, p.shape))
                self.assertEqual(band.mass_cut.shape, p.shape[:3])
                self.assertEqual((band.energies, band.reach), (0, 0))


@needs.native
@needs.cpu
class OperatorTest(AnyWidth):
    """What the native path has of its own."""

    def setUp(self):
        super().setUp()
        self.within(at.backend("native"))

    def test_paths_differ_by_no_more_than_both_certificates(self):
        U, T = 60, 900
        energies, u = (sharp_energies(U, T, sharpness).requires_grad_() for sharpness in (9.0, 1.0))
        cotangent = torch.rand(B, H, U, T, generator=torch.Generator().manual_seed(4),
                               dtype=torch.double)
        for more in ({}, {"lengths": torch.tensor([T, 500])}, {"end": "stay_last"}):
            for chunks in ({}, {"chunk_energies": u, "width": 3}):
                given, made = [energies, u][:1 + len(chunks) // 2], []
                for path in ("native", "portable"):
                    with at.backend(path):
                        band = at.banded_attention(1e-2, energies=energies, **chunks, **more)
                    loss = ((band.alpha + band.weights) * cotangent).sum()
                    made.append((band, torch.autograd.grad(loss, given)))
                (native, d_native), (portable, d_portable) = made
                certificate = native.mass_cut + portable.mass_cut + 1e-12
                self.assertGreater(float(native.mass_cut.max()), 0)
                for name in ("alpha", "weights"):
                    error = (getattr(native, name) - getattr(portable, name)).abs().sum(3)
                    self.assertTrue((error <= certificate).all(), (name, more))
                self.assertLess(native.energies, portable.energies)
                # |dL/d alpha| is at most 2, and weights of a chunk move by at most their sum.
                for one, other, most in zip(d_native, d_portable, (3 * U, 2)):
                    self.assertLessEqual(float((one - other).abs().max()),
                                         most * float(certificate.max()))
                    self.assertGreater(float(one.abs().max()), 0.01)

    def test_results_are_the_same_for_every_number_of_threads(self):
        torch.manual_seed(7)
        module = at.MoChA(6, 6, 8, H, width=3)
        states, memory = torch.randn(5, 20, 6), torch.randn(5, 90, 6)
        made = []
        for threads in (1, 3):
            torch.set_num_threads(threads)
            torch.manual_seed(8)
            contexts, _ = module.attend_banded(states, module.prepare(memory), 1e-2)
            made.append((contexts, *torch.autograd.grad(
                contexts.square().sum(), tuple(module.parameters()))))
        for one, other in zip(*made):
            self.assertTrue(torch.equal(one, other))

    def test_the_operators_refuse_what_does_not_fit(self):
        ops = torch.ops.attnbench
        p, places = torch.rand(1, 1, 2, 8), torch.tensor([0, 5, 15])
        w, memory = torch.ones(3), torch.ones(1, 8, 4)
        queries, keys, v = torch.ones(1, 1, 2, 3), torch.ones(1, 1, 8, 3), torch.ones(1, 3)
        for text, call in {
            "bound must be from": lambda: ops.banded_attention(p, True, 0, 1),
            "most_share must be from 0 to 1": lambda: ops.banded_attention(p, True, 0.1, 2),
            "p must be in [0, 1], but p[0, 0, 1, 7] is 2":
                lambda: ops.banded_attention(torch.where(torch.arange(16).view(p.shape) < 15, p,
                                                         torch.tensor(2.0)), True, 0.1, 1),
            "end must be absorb or stay_last":
                lambda: ops.banded_attention(p, True, 0.1, 1, end="restart"),
            "p have no keys": lambda: ops.banded_attention(queries, True, 0.1, 1, keys, v),
            "keys of shape [1, 1, 8, 2] does not fit queries":
                lambda: ops.banded_attention(queries, False, 0.1, 1, keys[..., 1:], v),
            "v is missing": lambda: ops.banded_attention(queries, False, 0.1, 1, keys),
            "chunk_keys must have 8 entries, but has 7":
                lambda: ops.banded_attention(p, True, 0.1, 1, chunk_scores=queries,
                                             chunk_keys=keys[:, :, 1:], chunk_v=v),
            "entries must rise within [0, 16)":
                lambda: ops.banded_contexts(w, places + 1, memory, 1, 2),
            "entries must rise within [0, 8)":
                lambda: ops.banded_contexts(w, places.flip(0), memory, 1, 1),
            "entries must be of the shape of weights":
                lambda: ops.banded_contexts(w, places[1:], memory, 1, 2),
        }.items():
            with self.assertRaises((ValueError, TypeError)) as caught:
                call()
            self.assertIn(text, str(caught.exception))
        with self.assertRaisesRegex(TypeError, "it is on meta"):
            at.banded_attention(0.1, p=p.to("meta"))


class FallbackTest(OneThread):
    def test_a_wide_band_is_exact(self):
        U, T = 10, 300
        lengths = torch.tensor([T, 250])
        energies = torch.full((B, H, U, T), -4.0, dtype=torch.double).requires_grad_()
        for more in ({}, {"lengths": lengths}, {"end": "stay_last"}):
            band = at.banded_attention(1e-3, energies=energies, **more)
            self.assertTrue(band.dense)
            self.assertEqual(float(band.mass_cut.abs().sum()), 0)
            self.assertEqual(band.reach, T)
            in_vain = band.energies - energies.numel()
            self.assertTrue(0 < in_vain <= banded.MOST_SHARE * energies.numel(), in_vain)
            alpha = at.monotonic_attention(energies=energies, **more)
            self.assertTrue(torch.equal(band.alpha, alpha))
            found, exact = (torch.autograd.grad(table.square().sum(), energies)[0]
                            for table in (band.alpha, alpha))
            self.assertTrue(torch.equal(found, exact))

    def test_chunk_energies_are_of_those_that_are_too_many(self):
        p = torch.zeros(1, 1, 320, 400, dtype=torch.double)
        p[..., 390] = 1
        u = torch.randn_like(p)
        self.assertFalse(at.banded_attention(1e-3, p=p).dense)
        for width, dense in ((4, False), (None, True)):
            band = at.banded_attention(1e-3, p=p, chunk_energies=u, width=width)
            self.assertEqual(band.dense, dense)
            if dense:
                beta, alpha = at.mocha_attention(u, width, p=p)
                self.assertTrue(torch.equal(band.weights, beta))
                self.assertTrue(torch.equal(band.alpha, alpha))
                self.assertGreaterEqual(band.chunk_energies, p.numel())
            else:
                self.assertGreater(band.chunk_energies, band.energies)


class PortableTest(AnyWidth):
    """Tests of the portable path, whichever the others take."""

    def setUp(self):
        super().setUp()
        self.within(at.backend("portable"))

    test_contexts = BandTest.test_contexts_are_those_of_the_weights
    test_gradients = BandTest.test_gradients_are_the_same_for_each_way_of_asking


class PortableFallbackTest(OneThread):
    def setUp(self):
        super().setUp()
        self.within(at.backend("portable"))

    test_chunk_energies = FallbackTest.test_chunk_energies_are_of_those_that_are_too_many


if __name__ == "__main__":
    unittest.main()
