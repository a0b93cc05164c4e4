"""Guards against a beam that loses the best output, a sampled choice that is not drawn from what
training takes the expectation of, and numbers of decoding that are of something else.
"""

import dataclasses
import math
import unittest

import numpy
import torch

from attnbench.train import attention, evaluation, tasks, trainer
from attnbench.train.model import batch_of
from attnbench.train.settings import Run, Settings

SETTINGS = {"task": "copy", "least_symbols": 1, "most_symbols": 4, "dim": 8, "encoder_units": 8,
            "embedding": 4, "steps": 40, "batch": 8, "held_out": 40, "curve_every": 0,
            "learning_rate": 0.02, "energy_bias": 0, "noise": 1}
MECHANISMS = ("soft", "monotonic", "mocha", "matcha", "memory", "none")


def trained(mechanism, **more):
    run = Run("a", 3, 1, Settings(**{**SETTINGS, "mechanism": mechanism, **more}))
    made = trainer.Trainer(run)
    for _ in range(run.settings.steps):
        made.step()
    # Outputs end late, and what is said next depends much on what was said.
    with torch.no_grad():
        for name in ("target_embedding", "decoder.W", "output.W"):
            made.parameters[name].mul_(3)
        made.parameters["output.b"][tasks.END] -= 5
    return made


class DecodingsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        trainer.use_one_thread()
        cls.of = {f"{name}{'_fed' * fed}": trained(name, input_feeding=fed)
                  for name in MECHANISMS for fed in (False, True) if name != "none" or not fed}

    def beam(self, model, example, width, choose):
        """The same by one output after the other, each made from its first symbol on."""
        outputs = [([], 0.0)]  # symbols, log p
        for _ in range(model.settings.most_outputs):
            longer = []
            for symbols, log_p in outputs:
                if symbols[-1:] == [tasks.END]:
                    longer.append((symbols, log_p))
                    continue
                batch = batch_of([tasks.Example(example.source, numpy.array([*symbols, 0]))])
                with torch.no_grad():
                    encoding = model.encode(batch)
                    logits = model.decode(
                        encoding, encoding.first, batch.previous, choose=choose).logits[-1, 0]
                longer += [([*symbols, symbol], log_p + more)
                           for symbol, more in enumerate(logits.log_softmax(0).tolist())]
            outputs = sorted(longer, key=lambda one: -one[1])[:width]
        return [symbol for symbol in outputs[0][0] if symbol != tasks.END]

    def test_a_beam_is_that_of_one_output_after_the_other_and_of_one_is_greedy(self):
        others = 0
        for name, made in self.of.items():
            end = made.parameters["output.b"].data[tasks.END:][:1]
            for later in (0, 3):  # some outputs end before others; then few end
                end -= later
                choose = attention.by_threshold if made.run.settings.is_monotonic else None
                examples, _, encoding = next(evaluation.batches(made.model, made.run, 8))
                greedy = made.model.decode_greedily(encoding, choose)
                self.assertEqual(made.model.decode_by_beam(encoding, 1, choose), greedy, name)
                found = made.model.decode_by_beam(encoding, 3, choose)
                wanted = [self.beam(made.model, one, 3, choose) for one in examples]
                self.assertEqual(found, wanted, name)
                others += sum(a != b for a, b in zip(found, greedy))
            end += 3
        self.assertGreater(others, 5)

    def test_choices_are_drawn_from_what_training_takes_the_expectation_of(self):
        torch.manual_seed(1)
        model = self.of["monotonic"].model
        _, batch, encoding = next(evaluation.batches(model, self.of["monotonic"].run, 3))
        with torch.no_grad():
            wanted = model.decode(encoding, encoding.first, batch.previous).attended.alpha
            sample = attention.sampler(7)
            drawn = sum(model.decode(encoding, encoding.first, batch.previous,
                                     choose=sample).attended.alpha for _ in range(2000)) / 2000
        self.assertLess(float((drawn - wanted).abs().max()), 4.5 * 0.5 / math.sqrt(2000))

    def test_numbers_are_those_of_their_formulas(self):
        for name, made in self.of.items():
            found = made.evaluate(40, whole=True)
            is_monotonic = made.run.settings.is_monotonic
            self.assertEqual("sampled_error" in found, is_monotonic, name)
            self.assertEqual(len(found["wrong_by_position"]), 5)
            choose = attention.by_threshold if is_monotonic else None
            wrong, outputs, variation, entropy, read = [0] * 5, [0] * 5, 0, 0, []
            edits = symbols = 0
            for examples, batch, encoding in evaluation.batches(made.model, made.run, 40):
                with torch.no_grad():
                    decoded, expected = (made.model.decode(
                        encoding, encoding.first, batch.previous, choose=one)
                        for one in (choose, None))
                beam = made.model.decode_by_beam(encoding, 4, choose)
                for b, one in enumerate(examples):
                    edits += tasks.edit_distance(beam[b], one.target[:-1])
                    symbols += len(one.target) - 1
                    delays = []
                    for i, target in enumerate(one.target):
                        outputs[i] += 1
                        wrong[i] += int(decoded.logits[i, b].argmax()) != target
                        if not is_monotonic:
                            continue
                        p, q = (of.logits[i, b].double().softmax(0) for of in (expected, decoded))
                        variation += float((p - q).abs().sum()) / 2
                        alpha = expected.attended.alpha[b, 0, i].double().tolist()
                        shares = [*alpha, 1 - sum(alpha)]
                        entropy -= sum(x * math.log(x) for x in shares if x > 0)
                        row = decoded.attended.alpha[b, 0, i]
                        delays.append(int(row.argmax()) + 1 if row.any() else len(one.source))
                    read.append(sum(delays) / len(one.source) / len(one.target))
            self.assertAlmostEqual(found["beam_error"], edits / symbols)
            for i in range(5):
                self.assertAlmostEqual(found["wrong_by_position"][i], wrong[i] / outputs[i])
            if is_monotonic:
                self.assertAlmostEqual(found["output_variation"], variation / sum(outputs), 5)
                self.assertAlmostEqual(found["choice_entropy"], entropy / sum(outputs), 4)
                self.assertAlmostEqual(found["average_proportion"], sum(read) / 40, 5)

    def test_a_place_without_outputs_has_no_share_of_wrong_ones(self):
        made = self.of["monotonic"]
        runs = (dataclasses.replace(made.run, held_out_seed=seed) for seed in range(1, 100))
        run, one = next((run, one) for run in runs for one in run.settings.examples(
            tasks.HELD_OUT, run.held_out_seed, 0, 1) if len(one.target) < 5)
        found = evaluation.evaluate(made.model, run, 1, whole=True)
        self.assertEqual(len(found["wrong_by_position"]), len(one.target))

    def test_the_same_run_draws_the_same_choices(self):
        made = self.of["monotonic_fed"]
        first, second = (made.evaluate(40, whole=True) for _ in range(2))
        self.assertEqual(first, second)
        self.assertNotEqual(first["sampled_error"], first["hard_error"])


if __name__ == "__main__":
    unittest.main()
