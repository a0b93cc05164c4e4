"""Guards against delays and latencies of another convention than `attnbench expect` has,
against gradients that are not theirs, and against sums in 16 bits and lengths that nothing has.
"""

import itertools
import unittest

import torch
from torch.autograd import gradcheck

import attnbench.torch as at


def tensor(*numbers):
    return torch.tensor(numbers, dtype=torch.double)


class LatencyTest(unittest.TestCase):
    def test_the_worked_example_of_the_metrics_is_met(self):
        delays, lengths = tensor([3, 4, 5, 6, 6]), torch.tensor([6])
        for metric, expected in ((at.average_lagging, 2.7), (at.average_proportion, .8),
                                 (at.differentiable_average_lagging, 3.0)):
            self.assertAlmostEqual(float(metric(delays, lengths)), expected, 12)

    def test_metrics_are_those_of_their_definitions(self):
        delays = 9 * torch.rand(4, 2, 7, generator=torch.Generator().manual_seed(3)).double()
        delays[1, 0, 3] = 8
        delays[2, 1, 0] = 5
        lengths, outputs = torch.tensor([9, 8, 5, 3]), torch.tensor([7, 5, 1, 4])
        delays = torch.minimum(delays, lengths.view(4, 1, 1))
        found = [m(delays, lengths, outputs) for m in (
            at.average_proportion, at.average_lagging, at.differentiable_average_lagging)]
        for b, h in itertools.product(range(4), range(2)):
            T, U = int(lengths[b]), int(outputs[b])
            g = delays[b, h, :U].tolist()
            count = next((i + 1 for i in range(U) if g[i] >= T), U)
            lagging = sum(g[i] - i * T / U for i in range(count)) / count
            differentiable, least = 0, 0
            for i in range(U):
                delay = max(g[i], least)
                differentiable += (delay - i * T / U) / U
                least = delay + T / U
            for values, expected in zip(found, (sum(g) / T / U, lagging, differentiable)):
                self.assertAlmostEqual(float(values[b, h]), expected, 12)

    def test_what_chooses_nothing_has_read_all_entries(self):
        alpha = tensor([[.2, .4, .04], [0, 0, 0]]).view(1, 1, 2, 3)
        delays = at.expected_delays(alpha, torch.tensor([3]))
        self.assertTrue(torch.allclose(delays[0, 0], tensor(
            .2 * 1 + .4 * 2 + .04 * 3 + .36 * 3, 3)))
        self.assertTrue(torch.equal(delays, at.expected_delays(alpha)))

    def test_delays_are_the_same_under_absorb_and_stay_last(self):
        p = torch.rand(1, 1, 4, 6, generator=torch.Generator().manual_seed(1)).double() / 4
        absorb, stay = (at.expected_delays(at.monotonic_attention(p=p, end=end))
                        for end in ("absorb", "stay_last"))
        self.assertTrue(torch.allclose(absorb, stay))

    def test_padding_counts_nothing_and_a_sequence_of_none_has_0(self):
        p = torch.full((3, 1, 4, 6), .3, dtype=torch.double)
        lengths, outputs = torch.tensor([6, 4, 0]), torch.tensor([4, 2, 4])
        delays = at.expected_delays(at.monotonic_attention(p=p, lengths=lengths), lengths)
        alone = at.expected_delays(at.monotonic_attention(p=p[1:2, :, :2, :4]))
        self.assertTrue(torch.allclose(delays[1:2, :, :2], alone))
        for metric in (at.average_proportion, at.average_lagging,
                       at.differentiable_average_lagging):
            values = metric(delays, lengths, outputs)
            self.assertTrue(torch.allclose(values[1], metric(alone, lengths[1:2])[0]))
            self.assertEqual(float(values[2]), 0)
            self.assertEqual(metric(delays[:, :, :0], lengths).abs().sum(), 0)

    def test_a_loss_of_latency_has_a_gradient(self):
        p = torch.rand(2, 1, 4, 5, generator=torch.Generator().manual_seed(2)).double()
        lengths = torch.tensor([5, 3])

        def loss(p):
            delays = at.expected_delays(at.monotonic_attention(p=p, lengths=lengths), lengths)
            return (at.differentiable_average_lagging(delays, lengths).mean()
                    + at.average_lagging(delays, lengths).mean())

        self.assertTrue(gradcheck(loss, (p.requires_grad_(),)))

    def test_functions_compile_to_torch_script(self):
        delays, lengths = tensor([3, 4, 5, 6, 6]), torch.tensor([6])
        for metric in (at.average_lagging, at.average_proportion,
                       at.differentiable_average_lagging):
            self.assertEqual(torch.jit.script(metric)(delays, lengths), metric(delays, lengths))
        alpha = torch.rand(1, 2, 3)
        for arguments in ((alpha,), (alpha, torch.tensor([2]))):
            self.assertTrue(torch.equal(torch.jit.script(at.expected_delays)(*arguments),
                                        at.expected_delays(*arguments)))

    def test_lengths_that_do_not_fit_are_refused(self):
        alpha, delays = torch.full((2, 1, 3, 4), .25), torch.ones(2, 1, 3)
        fine = torch.tensor([4, 2])
        uses = [("lengths", lambda n: at.expected_delays(alpha, n))]
        for metric in (at.average_proportion, at.average_lagging,
                       at.differentiable_average_lagging):
            uses.append(("lengths", lambda n, metric=metric: metric(delays, n)))
            uses.append(("output_lengths", lambda n, metric=metric: metric(delays, fine, n)))
        for name, call in uses:
            for kind, text, wrong in (
                    (ValueError, r"must be \[B\] with B = 2, but has the shape \[1\]", [3]),
                    (ValueError, r"must be \[B\] with B = 2, but has the shape \[2, 1\]",
                     [[3], [3]]),
                    (ValueError, rf"must be .*, but {name}\[1\] is -1", [3, -1]),
                    (TypeError, "must be int64, but is float32", [3, 1.5]),
                    (TypeError, "must be int64, but is bool", [True, True])):
                with self.assertRaisesRegex(kind, f"^{name} {text}"):
                    call(torch.tensor(wrong))
            with self.assertRaisesRegex(TypeError, f"{name} must be a tensor, but is of type list"):
                call([3, 2])
            if name == "output_lengths":
                with self.assertRaisesRegex(
                        ValueError, r"^output_lengths must be in \[0, U\] with U = 3, but "
                        r"output_lengths\[0\] is 4"):
                    call(torch.tensor([4, 3]))
        for kind, text, call in (
                (ValueError, "delays must be .B, ..., U.", lambda: at.average_lagging(
                    delays[0, 0], fine)),
                (TypeError, "delays must be of a floating point type, but is int64",
                 lambda: at.average_lagging(delays.long(), fine)),
                (ValueError, "alpha must be .B, ..., U, T.",
                 lambda: at.expected_delays(alpha[0, 0, 0])),
                (TypeError, "alpha must be of a floating", lambda: at.expected_delays(
                    alpha.long()))):
            with self.assertRaisesRegex(kind, text):
                call()

    def test_16_bits_are_computed_in_f32_and_rounded_once(self):
        for dtype, unit in ((torch.bfloat16, 2**-8), (torch.half, 2**-11)):
            p = torch.rand(3, 2, 40, 500, generator=torch.Generator().manual_seed(5)) / 9
            lengths, outputs = torch.tensor([500, 301, 0]), torch.tensor([40, 17, 3])
            alpha = at.monotonic_attention(p=p, lengths=lengths).to(dtype)
            for given in (None, lengths):
                delays = at.expected_delays(alpha, given)
                error = (delays - at.expected_delays(alpha.double(), given)).abs().max()
                self.assertLessEqual(float(error), 1e-3)
            delays = delays.to(dtype)
            for metric in (at.average_proportion, at.average_lagging,
                           at.differentiable_average_lagging):
                self.assert_rounded_once(metric(delays, lengths, outputs),
                                         metric(delays.double(), lengths, outputs), unit)

    def assert_rounded_once(self, found, expected, unit):
        self.assertIn(found.dtype, (torch.bfloat16, torch.half))
        self.assertEqual(found.shape, expected.shape)
        error = (found.double() - expected).abs()
        self.assertTrue((error <= unit * expected.abs() + 1e-5).all(), error.max())

    def test_delays_of_an_alpha_of_16_bits_keep_the_digits_that_say_what_has_read_all(self):
        # In bfloat16 301 and 300.2 are both 300.
        exact = torch.zeros(1, 1, 3, 301)
        exact[0, 0, 0, [299, 300]], exact[0, 0, 1, [299, 300]], exact[0, 0, 2, 300] = (
            torch.tensor([.75, .25]), torch.tensor([.5, .5]), 1)
        for dtype in (torch.bfloat16, torch.half):
            for lengths in (None, torch.tensor([301])):
                delays = at.expected_delays(exact.to(dtype), lengths)
                self.assertEqual(delays.dtype, torch.float)
                self.assertTrue(torch.equal(delays, torch.tensor([[[300.25, 300.5, 301]]])))
            lagging = at.average_lagging(delays, torch.tensor([301]))
            expected = (300.25 + 300.5 + 301) / 3 - 301 / 3
            self.assertAlmostEqual(float(lagging), expected, 3)

    def test_a_sequence_of_no_entries_has_0_whatever_its_delays_are(self):
        for metric in (at.average_proportion, at.average_lagging,
                       at.differentiable_average_lagging):
            for outputs in (None, torch.tensor([2])):
                self.assertEqual(float(metric(tensor([3, 4, 5]), torch.tensor([0]), outputs)), 0)

    def test_a_length_that_16_bits_have_not_is_reached(self):
        delays = torch.tensor([[400., 1001, 1001]])
        lengths = torch.tensor([1001])
        expected = at.average_lagging(delays, lengths)  # of the first two outputs
        found = at.average_lagging(delays.bfloat16(), lengths)
        self.assertLessEqual(abs(float(found) - float(expected)), 2)

    def test_lengths_on_another_device_serve_and_meta_tensors_give_shapes(self):
        alpha, lengths = torch.rand(2, 1, 3, 4, device="meta"), torch.tensor([4, 2])
        for given in (lengths, lengths.to("meta")):
            delays = at.expected_delays(alpha, given)
            self.assertEqual((delays.shape, delays.device.type), ((2, 1, 3), "meta"))
            # PyTorch 1.13 has no cummax on meta, which DAL needs.
            for metric in (at.average_proportion, at.average_lagging):
                self.assertEqual(metric(delays, given, torch.tensor([3, 1])).shape, (2, 1))
        with self.assertRaisesRegex(ValueError, r"lengths\[0\] is 5"):
            at.expected_delays(alpha, torch.tensor([5, 2]))
        with self.assertRaisesRegex(TypeError, "lengths has no numbers"):
            at.expected_delays(torch.rand(2, 1, 3, 4), lengths.to("meta"))


if __name__ == "__main__":
    unittest.main()
