"""What the end of a run says that points of its curve do not: errors of other ways to decode, how
late the choices are, and what may tell how much hard decoding loses.
"""

import collections

import torch

from attnbench.torch import latency
from attnbench.train import attention, tasks
from attnbench.train.model import NO_TARGET

BEAM = 4
LATENCIES = {name: getattr(latency, name) for name in (
    "average_proportion", "average_lagging", "differentiable_average_lagging")}


class Decodings:
    """Makes members of `result`. Where a model chooses entries, it does so by the threshold; other
    models have the first two members alone. With alpha(i, j) expected, and the distributions p(i)
    of output i by the expectation and q(i) by the threshold, both given the target's symbols,

        beam_error         edits a symbol of the target, by a beam of BEAM
        wrong_by_position  share of wrong outputs i, a list, given the target's symbols
        sampled_error      edits a symbol, of entries chosen with their probability
        choice_entropy     mean over i of - sum over j of alpha log alpha - r log r,
                           r(i) = 1 - sum over j of alpha(i, j), in nats
        output_variation   mean over i of 1/2 sum over symbols of |p(i) - q(i)|

    and the LATENCIES, means over sequences, given the target's symbols.
    """

    def __init__(self, model, run):
        self._model, self._is_monotonic = model, run.settings.is_monotonic
        self._choose = attention.by_threshold if self._is_monotonic else None
        self._sample = attention.sampler(run.seed, model.output.weight.device)
        self._sums = collections.Counter()
        self._wrong, self._outputs = (
            torch.zeros(run.settings.most_symbols + 1, dtype=torch.double) for _ in range(2))

    def add(self, examples, batch, encoding, expected, chosen):
        """Takes a batch with what the model makes of it, given the target's symbols: Decoded by
        the expectation and by the threshold, which are the same if the model chooses nothing.
        """
        model, sums = self._model, self._sums
        sums["symbols"] += sum(len(one.target) - 1 for one in examples)
        sums["sequences"] += len(examples)
        sums["beam"] += sum(edits(model.decode_by_beam(encoding, BEAM, self._choose), examples))
        is_output = batch.targets != NO_TARGET  # [U, B]
        is_wrong = (chosen.logits.argmax(2) != batch.targets) & is_output
        self._wrong[:len(is_wrong)] += is_wrong.sum(1).cpu()
        self._outputs[:len(is_output)] += is_output.sum(1).cpu()
        if self._is_monotonic:
            sums["sampled"] += sum(edits(model.decode_greedily(encoding, self._sample), examples))
            self._add_choices(expected, chosen, batch.lengths, is_output)

    def _add_choices(self, expected, chosen, lengths, is_output):
        sums = self._sums
        apart = expected.logits.softmax(2) - chosen.logits.softmax(2)
        sums["variation"] += _sum(apart.abs().sum(2)[is_output]) / 2
        sums["entropy"] += _sum(_entropy(expected.attended.alpha.squeeze(1))[is_output.t()])
        delays = latency.expected_delays(chosen.attended.alpha.squeeze(1), lengths)
        for name, of_delays in LATENCIES.items():
            sums[name] += _sum(of_delays(delays, lengths, is_output.sum(0)))

    def result(self):
        sums = self._sums
        symbols, outputs = max(sums["symbols"], 1), self._outputs.sum().item()
        longest = self._outputs.count_nonzero()
        found = {"beam_error": sums["beam"] / symbols,
                 "wrong_by_position": (self._wrong / self._outputs)[:longest].tolist()}
        if self._is_monotonic:
            found.update(
                sampled_error=sums["sampled"] / symbols,
                choice_entropy=sums["entropy"] / outputs,
                output_variation=sums["variation"] / outputs,
                **{name: sums[name] / sums["sequences"] for name in LATENCIES})
        return found


def edits(outputs, examples):
    """Gives of each example how many edits make its target of the output, a list of symbols."""
    return [tasks.edit_distance(output, one.target[:-1])
            for output, one in zip(outputs, examples)]


def _sum(numbers):
    return numbers.sum(dtype=torch.double).item()


def _entropy(alpha):
    """Of the choices of each output, [..., U], with that of none, of alpha [..., U, T]."""
    none = (1 - alpha.sum(-1, keepdim=True)).clamp(min=0)
    shares = torch.cat([alpha, none], -1)
    return -torch.special.xlogy(shares, shares).sum(-1)
