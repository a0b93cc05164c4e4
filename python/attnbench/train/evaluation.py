"""How well a model decodes the held-out sequences of its run, and an example of its attention: what
`result`, `curve` and `example` of results/schema/trained.schema.json have.
"""

import collections

import torch
from torch.nn.functional import cross_entropy

from attnbench.train import tasks
from attnbench.train.attention import by_threshold
from attnbench.train.decodings import Decodings, edits
from attnbench.train.model import NO_TARGET, batch_of

# Below and above these bounds a p counts as discrete.
ALMOST_ZERO, ALMOST_ONE = 0.05, 0.95
BINS = 20  # of p_histogram
ENTRIES_OFF = 10  # either way, of lateness_histogram
MOST_NUMBERS = 2**14  # of an example's frames
# Sums that each speaker has, too.
OF_SPEAKER = ("symbols", "soft", "hard")
EXAMPLE_AMONG = 32  # first held-out sequences, of which one is the example


@torch.no_grad()
def evaluate(model, run, count, whole=False):
    """Gives of the first `count` held-out sequences what a point of the curve has, a dict; all of
    `result` if it shall be `whole`. What mechanisms of another kind have is None, or absent where
    the schema lets it be.
    """
    settings = run.settings
    sums, decodings = _Sums(), Decodings(model, run)
    for examples, batch, encoding in batches(model, run, count):
        expected = model.decode(encoding, encoding.first, batch.previous)
        is_output = batch.targets != NO_TARGET
        sums.add("loss", cross_entropy(
            expected.logits.flatten(0, 1), batch.targets.flatten(), ignore_index=NO_TARGET,
            reduction="sum"))
        sums.add("outputs", is_output)
        sums.add_symbols(examples)
        sums.add_edits("soft", model.decode_greedily(encoding), examples)
        if settings.is_monotonic:
            sums.add_choices(expected.attended, is_output)
            sums.add_edits("hard", model.decode_greedily(encoding, by_threshold), examples)
        if whole:
            chosen, alpha = expected, None
            if settings.is_monotonic:
                chosen = model.decode(
                    encoding, encoding.first, batch.previous, choose=by_threshold)
                alpha = chosen.attended.alpha
            sums.add_ends(alpha, examples)
            if settings.mechanism == "memory":
                sums.add_spread(model.attention.context_weights(encoding.prepared), batch.lengths)
            decodings.add(examples, batch, encoding, expected, chosen)
    point = sums.point(settings)
    return {**point, **sums.rest(settings), **decodings.result()} if whole else point


@torch.no_grad()
def example(model, run):
    """Gives `example`: attention [U, T], choices [U] and contexts [K, T] (alpha_tk of Britz eq 5)
    of the longest target of the first few held-out sequences, the first such, given the target's
    symbols. Where there are some of a speaker that training has not heard, it is one of these.
    """
    settings = run.settings
    longest = max(_held_out(run, 0, EXAMPLE_AMONG), key=lambda one: (
        one.speaker is not None and one.speaker not in settings.training_speakers,
        len(one.target)))
    batch = _batch(model, [longest])
    encoding = model.encode(batch)

    def decode(choose=None):
        return model.decode(encoding, encoding.first, batch.previous, choose=choose,
                            wants_weights=True).attended

    found = {"attention": [], "choices": [], "contexts": []}
    if settings.attends:
        found["attention"] = _rounded(decode().weights[0, 0])
    if settings.is_monotonic:
        chosen = decode(by_threshold).alpha[0, 0]
        # A column behind the last entry is there for outputs that choose none.
        found["choices"] = torch.cat([chosen, 1 - chosen.sum(1, True)], 1).argmax(1).tolist()
    if settings.mechanism == "memory":
        found["contexts"] = _rounded(model.attention.context_weights(encoding.prepared)[0])
    if settings.data_facts:
        names = settings.symbol_names
        if longest.speaker is not None:
            found["speaker"] = longest.speaker
        found["symbols"] = [names[symbol] for symbol in longest.target[:-1]]
        if longest.ends is not None:
            found["ends"] = longest.ends.tolist()
        if settings.has_frames and longest.source.size <= MOST_NUMBERS:
            found["frames"] = _rounded(longest.source, 1)
    return found


def batches(model, run, count):
    """Gives the first `count` held-out examples in batches: (examples, Batch, Encoding)."""
    together = run.settings.evaluation_batch
    for first in range(0, count, together):
        examples = _held_out(run, first, min(together, count - first))
        batch = _batch(model, examples)
        yield examples, batch, model.encode(batch)


def _held_out(run, first, count):
    return run.settings.examples(tasks.HELD_OUT, run.held_out_seed, first, count)


def _batch(model, examples):
    return batch_of(examples, model.output.weight.device)


def _rounded(table, digits=3):
    return [[round(number, digits) for number in row] for row in table.tolist()]


class _Sums:
    """The sums that an evaluation is made of."""

    def __init__(self):
        self.sums = dict.fromkeys(
            ("loss", "outputs", "mass", "looks", "discrete", "spread", "spread_sequences",
             *OF_SPEAKER), 0.0)
        self.of_speaker = collections.defaultdict(lambda: dict.fromkeys(OF_SPEAKER, 0.0))
        self.histogram = torch.zeros(BINS, dtype=torch.double)
        # Of a speaker, or None: (late, waits) of add_ends, each [U] of an example.
        self.ends = collections.defaultdict(list)

    def add(self, name, numbers):
        self.sums[name] += numbers.sum(dtype=torch.double).item()

    def _add_of_example(self, example, name, number):
        self.sums[name] += number
        if example.speaker is not None:
            self.of_speaker[example.speaker][name] += number

    def add_symbols(self, examples):
        for one in examples:
            self._add_of_example(one, "symbols", len(one.target) - 1)

    def add_edits(self, name, outputs, examples):
        for number, one in zip(edits(outputs, examples), examples):
            self._add_of_example(one, name, number)

    def add_choices(self, attended, is_output):
        alpha = attended.alpha.squeeze(1) * is_output.t().unsqueeze(2)
        p = attended.energies.squeeze(1).sigmoid()
        # alpha(i, j) = p(i, j) times the probability that output i looks at j.
        looks = (alpha / p).masked_fill(p == 0, 0)
        self.add("mass", alpha)
        self.add("looks", looks)
        self.add("discrete", looks * ((p < ALMOST_ZERO) | (p > ALMOST_ONE)))
        bins = (p * BINS).long().clamp(max=BINS - 1)
        self.histogram += torch.bincount(bins.flatten(), looks.double().flatten(), BINS).cpu()

    def add_ends(self, alpha, examples):
        """How far from the end of its symbol an output chooses, n - e in entries, of alpha [B, 1,
        U, T] by the threshold: the end is after e entries, the entry chosen the n-th, or the last
        if there is none, for which the output waits. None: nothing is chosen, and all outputs wait.
        """
        for b, one in enumerate(examples):
            if one.ends is None:
                continue
            n = torch.tensor(len(one.source))
            waits = torch.ones(len(one.ends), dtype=torch.bool)
            if alpha is not None:
                table = alpha[b, 0, :len(one.ends)].cpu()
                waits = table.sum(1) == 0
                n = torch.where(waits, n, table.argmax(1) + 1)
            self.ends[one.speaker].append((n - torch.from_numpy(one.ends), waits))

    def add_spread(self, alpha, lengths):
        """How wide the K contexts lie over the source, beside uniform ones, without unit: of
        alpha_tk of Britz eq 5, with a position encoding if there is one, as alpha [B, K, T] whose
        entries from `lengths` [B] on are 0,

            s_k = sum over t of alpha_tk
            sigma_k = standard deviation of t under alpha_tk / s_k
            spread = sum over k of s_k sigma_k / (sum over k of s_k sqrt((T^2 - 1) / 12)),

        the mean over sequences with T > 1: 1 for contexts that hold the same of every entry, 0
        for contexts of one entry each.
        """
        alpha = alpha.double()
        t = torch.arange(alpha.size(2), device=alpha.device)
        s = alpha.sum(2)
        q = alpha / s.clamp(min=1e-300).unsqueeze(2)
        sigma = (q * (t - (q * t).sum(2, True)).square()).sum(2).sqrt()
        uniform = ((lengths.double().square() - 1) / 12).sqrt()
        spread = (s * sigma).sum(1) / (s.sum(1) * uniform)
        self.add("spread", spread[lengths > 1])
        self.add("spread_sequences", lengths > 1)

    def point(self, settings):
        sums = self.sums
        found = {**_errors(sums, settings), "loss": sums["loss"] / sums["outputs"],
                 "selected_mass": None, "discrete_share": None}
        if settings.is_monotonic:
            found["selected_mass"] = sums["mass"] / sums["outputs"]
            found["discrete_share"] = sums["discrete"] / sums["looks"] if sums["looks"] > 0 else 0.0
        return found

    def rest(self, settings):
        """What `result` has of these sums beside a point."""
        sums, found = self.sums, {}
        if sums["looks"] > 0:
            found["p_histogram"] = (self.histogram / sums["looks"]).tolist()
        ends = [of_example for of_one in self.ends.values() for of_example in of_one]
        if ends:
            found.update(_distances(ends, settings))
            late = torch.cat([late for late, _ in ends])
            off = late.round().long().clamp(-ENTRIES_OFF, ENTRIES_OFF) + ENTRIES_OFF
            counts = torch.bincount(off, minlength=2 * ENTRIES_OFF + 1)
            found["lateness_histogram"] = (counts.double() / len(late)).tolist()
        if sums["spread_sequences"] > 0:
            found["context_spread"] = sums["spread"] / sums["spread_sequences"]
        if self.of_speaker:
            found["speakers"] = [
                {"speaker": speaker, "in_training": speaker in settings.training_speakers,
                 **_errors(theirs, settings), **_distances(self.ends[speaker], settings)}
                for speaker, theirs in sorted(self.of_speaker.items())]
        return found


def _errors(sums, settings):
    """What follows from sums of OF_SPEAKER."""
    symbols = max(sums["symbols"], 1.0)
    return {"soft_error": sums["soft"] / symbols,
            "hard_error": sums["hard"] / symbols if settings.is_monotonic else None}


def _distances(ends, settings):
    """What follows from the ends of _Sums, of one speaker or of all: alignment_error is the mean of
    |n - e| over symbols, lateness that of n - e, waiting_share that of waits.
    """
    if not ends:
        return {}
    late, waits = map(torch.cat, zip(*ends))
    found = {}
    if settings.is_monotonic:
        found["alignment_error"] = late.abs().mean().item()
        found["waiting_share"] = waits.double().mean().item()
    return {**found, "lateness": late.mean().item(), "median_lateness": late.median().item()}
