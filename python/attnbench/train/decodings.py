"""What the end of a run says that points of its curve do not: errors of other ways to decode, how
late the choices are, and what may tell how much hard decoding loses.
"""

import torch

from attnbench.torch import latency
from attnbench.train import attention
from attnbench.train.evaluation import batches, edits
from attnbench.train.model import NO_TARGET

BEAM = 4
LATENCIES = {name: getattr(latency, name) for name in (
    "average_proportion", "average_lagging", "differentiable_average_lagging")}


@torch.no_grad()
def compare(model, run, count):
    """Gives members of `result`, a dict, of the first `count` held-out sequences. Where a model
    chooses entries, it does so by the threshold; other models have the first two members alone.
    With alpha(i, j) expected, and the distributions p(i) of output i by the expectation and q(i)
    by the threshold, both given the target's symbols,

        beam_error         edits a symbol of the target, by a beam of BEAM
        wrong_by_position  share of wrong outputs i, a list, given the target's symbols
        sampled_error      edits a symbol, of entries chosen with their probability
        choice_entropy     mean over i of - sum over j of alpha log alpha - r log r,
                           r(i) = 1 - sum over j of alpha(i, j), in nats
        output_variation   mean over i of 1/2 sum over symbols of |p(i) - q(i)|

    and the LATENCIES, means over sequences, given the target's symbols.
    """
    is_monotonic = run.settings.is_monotonic
    choose = attention.by_threshold if is_monotonic else None
    sample = attention.sampler(run.seed, model.output.weight.device)
    sums = dict.fromkeys(("symbols", "sequences", "beam", "sampled", "entropy", "variation",
                          *LATENCIES), 0.0)
    wrong, outputs = (torch.zeros(run.settings.most_symbols + 1, dtype=torch.double)
                      for _ in range(2))
    for examples, batch, encoding in batches(model, run, count):
        sums["symbols"] += sum(len(one.target) - 1 for one in examples)
        sums["sequences"] += len(examples)
        sums["beam"] += sum(edits(model.decode_by_beam(encoding, BEAM, choose), examples))
        is_output = batch.targets != NO_TARGET  # [U, B]
        decoded = model.decode(encoding, encoding.first, batch.previous, choose=choose)
        is_wrong = (decoded.logits.argmax(2) != batch.targets) & is_output
        wrong[:len(is_wrong)] += is_wrong.sum(1).cpu()
        outputs[:len(is_output)] += is_output.sum(1).cpu()
        if is_monotonic:
            sums["sampled"] += sum(edits(model.decode_greedily(encoding, sample), examples))
            expected = model.decode(encoding, encoding.first, batch.previous)
            _add_choices(sums, decoded, expected, batch.lengths, is_output)
    symbols, num_outputs = max(sums["symbols"], 1), outputs.sum().item()
    longest = outputs.count_nonzero()
    found = {"beam_error": sums["beam"] / symbols,
             "wrong_by_position": (wrong / outputs)[:longest].tolist()}
    if is_monotonic:
        found.update(
            sampled_error=sums["sampled"] / symbols,
            choice_entropy=sums["entropy"] / num_outputs,
            output_variation=sums["variation"] / num_outputs,
            **{name: sums[name] / sums["sequences"] for name in LATENCIES})
    return found


def _add_choices(sums, decoded, expected, lengths, is_output):
    """Adds what choices by the threshold, of `decoded`, and expected ones tell."""
    apart = expected.logits.softmax(2) - decoded.logits.softmax(2)
    sums["variation"] += _sum(apart.abs().sum(2)[is_output]) / 2
    sums["entropy"] += _sum(_entropy(expected.attended.alpha.squeeze(1))[is_output.t()])
    delays = latency.expected_delays(decoded.attended.alpha.squeeze(1), lengths)
    for name, of_delays in LATENCIES.items():
        sums[name] += _sum(of_delays(delays, lengths, is_output.sum(0)))


def _sum(numbers):
    return numbers.sum(dtype=torch.double).item()


def _entropy(alpha):
    """Of the choices of each output, [..., U], with that of none, of alpha [..., U, T]."""
    none = (1 - alpha.sum(-1, keepdim=True)).clamp(min=0)
    shares = torch.cat([alpha, none], -1)
    return -torch.special.xlogy(shares, shares).sum(-1)
