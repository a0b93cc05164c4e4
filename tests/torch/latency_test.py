"""Guards against delays and latencies of another convention than `attnbench expect` has, and
against gradients that are not theirs.
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
        with self.assertRaisesRegex(ValueError, "lengths must be .B. with B = 1"):
            at.average_lagging(tensor([1, 2]), torch.tensor([3, 3]))


if __name__ == "__main__":
    unittest.main()
