"""Guards against training that computes a wrong loss, gradient or step, against a model that
decodes otherwise than the program, and against a run that goes on with other bits.

first_steps.json is an independent computation (`source` says whose) of small models: after no step
the evaluation and the example, the first loss and its gradient (of each parameter the norm and the
product with cos(0), cos(1), ...), and losses of a run of 50 steps.
"""

import dataclasses
import functools
import json
import math
import os
import subprocess
import tempfile
import unittest
from unittest import mock

import numpy
import torch

from attnbench.analysis.load import DataError
from attnbench.torch import library, monotonic_attention
from attnbench.train import attention, checkpoint, lstm, tasks, trainer
from attnbench.train.model import batch_of
from attnbench.train.settings import Run, Settings

with open(os.path.join(os.path.dirname(__file__), "first_steps.json"), encoding="utf-8") as file:
    EXPECTED = json.load(file)
MODELS = EXPECTED["models"]
STEPS = 50
SEQUENCES = 100
# Logits that are closer than this, and energies so near to 0, may be rounded either way.
TIE = 1e-4


def run_of(name, **settings):
    settings = {**EXPECTED["settings"], "curve_every": 0, **MODELS[name]["settings"], **settings}
    return Run(name, 1, 1, Settings(**settings))


@functools.cache
def trained(name):
    """A trainer after 50 steps, and its losses."""
    made = trainer.Trainer(run_of(name, steps=STEPS))
    return made, [made.step().loss for _ in range(STEPS)]


class TrainTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        trainer.use_one_thread()

    def assert_near(self, found, expected, tolerance, place):
        """Compares documents; numbers may differ by the tolerance, as a share if above 1."""
        if isinstance(expected, dict):
            self.assertEqual(list(found), list(expected), place)
            found, expected = list(found.items()), list(expected.items())
        if isinstance(expected, (list, tuple)):
            self.assertEqual(len(found), len(expected), place)
            for n, pair in enumerate(zip(found, expected)):
                self.assert_near(*pair, tolerance, f"{place}, {n}")
        elif isinstance(expected, float):
            self.assertLessEqual(abs(found - expected), tolerance * max(1, abs(expected)),
                                 f"{place}: {found}, {expected}")
        else:
            self.assertEqual(found, expected, place)


class FirstSteps(TrainTest):
    def test_the_first_loss_and_its_gradient_are_those_of_the_independent_computation(self):
        for name, expected in MODELS.items():
            made = trainer.Trainer(run_of(name, steps=1, greatest_norm=1e30))
            self.assert_near(made.step().loss, expected["loss"], 1e-5, name)
            gradients = {}
            for parameter, means in sorted(made.save().means.items()):
                gradient = 10 * means.astype(float).flatten()  # Adam has 0.1 of it
                gradients[parameter] = [
                    math.sqrt((gradient ** 2).sum()),
                    float(gradient @ numpy.cos(numpy.arange(gradient.size)))]
            self.assert_near(gradients, expected["gradients"], 1e-5, name)

    def test_losses_of_fifty_steps_are_those_of_the_independent_computation(self):
        for name, expected in MODELS.items():
            _, losses = trained(name)
            self.assert_near(
                [losses[int(step) - 1] for step in expected["losses"]],
                list(expected["losses"].values()), 1e-2, name)

    def test_evaluation_and_example_are_those_of_the_independent_computation(self):
        for name, expected in MODELS.items():
            made = trainer.Trainer(run_of(name))
            found = made.evaluate(made.run.settings.held_out, whole=True)
            self.assert_near({member: found[member] for member in expected["result"]},
                             expected["result"], 1e-5, name)
            # Weights are rounded to 0.001, either way.
            self.assert_near(made.example(), expected["example"], 1.001e-3, name)

    def test_a_curve_has_the_mean_loss_since_its_last_point(self):
        made = trainer.Trainer(run_of("monotonic", steps=5, curve_every=2, curve_held_out=8))
        losses = [made.step().loss for _ in range(5)]
        self.assertTrue(made.is_done)
        self.assertEqual([point["step"] for point in made.curve], [2, 4])
        self.assert_near([point["training_loss"] for point in made.curve],
                         [sum(losses[:2]) / 2, sum(losses[2:4]) / 2], 1e-12, "curve")
        made.curve[-1].pop("step")
        made.curve[-1].pop("training_loss")
        self.assertEqual(list(made.curve[-1]), [
            "soft_error", "hard_error", "loss", "selected_mass", "discrete_share"])

    def test_gradients_are_scaled_to_the_greatest_norm(self):
        made = trainer.Trainer(run_of("soft", greatest_norm=0.01))
        made.step()
        squares = sum((means.astype(float) ** 2).sum() for means in made.save().means.values())
        self.assertAlmostEqual(math.sqrt(squares), 0.1 * 0.01, places=6)

    def test_numbers_that_are_no_longer_finite_end_the_run_in_their_step(self):
        # A loss that is not finite, and energies that the functions refuse.
        for parameter, message in (("output.b", "in step 2 the loss is nan"),
                                   ("attention.b", "in step 2: keys must be numbers")):
            made = trainer.Trainer(run_of("monotonic"))
            made.step()
            with torch.no_grad():
                made.parameters[parameter][0] = math.nan
            with self.assertRaisesRegex(trainer.Diverged, message):
                made.step()
            for whole in (False, True):
                with self.assertRaisesRegex(trainer.Diverged, "in step 1"):
                    made.evaluate(8, whole)


class Resumed(TrainTest):
    def test_a_run_goes_on_from_a_checkpoint_with_the_same_bits(self):
        run = run_of("fed", steps=9, curve_every=4, noise_rise=0.5)
        whole, half = trainer.Trainer(run), trainer.Trainer(run)
        for _ in range(5):
            half.step()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "c.json")
            checkpoint.write(path, half.save())
            resumed = trainer.Trainer(run)
            resumed.restore(checkpoint.read(path), path)
        for made in (whole, resumed):
            while not made.is_done:
                made.step()
        self.assertEqual(resumed.curve, whole.curve)
        self.assertEqual(resumed.evaluate(16, whole=True), whole.evaluate(16, whole=True))
        first, second = whole.save(), resumed.save()
        for arrays, others in ((first.parameters, second.parameters),
                               (first.means, second.means), (first.squares, second.squares)):
            for name, array in arrays.items():
                self.assertTrue(numpy.array_equal(array, others[name]), name)

    def test_a_clipped_alpha_becomes_exact_and_stays_so(self):
        def trained(**more):
            made = trainer.Trainer(run_of("fed", steps=8, energy_bias=4, **more))
            while not made.is_done:
                made.step()
            return made

        clipped, exact, half, never = (
            trained(alpha="clipped", clip=1e-2), trained(),
            trained(alpha="clipped", clip=1e-2, clip_until=0.5),
            trained(alpha="clipped", clip=1e-2, clip_until=0))
        W = [made.parameters["attention.W"] for made in (clipped, exact, half, never)]
        self.assertTrue(torch.equal(W[1], W[3]))
        for a, b in ((0, 1), (0, 2), (1, 2)):
            self.assertFalse(torch.equal(W[a], W[b]))
        self.assertEqual(exact.evaluate(16), never.evaluate(16))
        # A run that has ended is evaluated as one that goes on.
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "c.json")
            checkpoint.write(path, half.save())
            resumed = trainer.Trainer(half.run)
            resumed.restore(checkpoint.read(path), path)
        self.assertEqual(resumed.evaluate(16, whole=True), half.evaluate(16, whole=True))

    def test_a_checkpoint_of_another_run_is_refused(self):
        saved = trainer.Trainer(run_of("soft")).save()
        with self.assertRaisesRegex(DataError, "c.json"):
            trainer.Trainer(run_of("soft", noise=1)).restore(saved, "c.json")
        more = dataclasses.replace(
            saved, parameters={**saved.parameters, "more": saved.parameters["mix.b"]})
        with self.assertRaisesRegex(DataError, "c.json: parameters.more: is no parameter"):
            trainer.Trainer(run_of("soft")).restore(more, "c.json")
        del saved.parameters["mix.b"]
        with self.assertRaisesRegex(DataError, "c.json: parameters.mix.b: is missing"):
            trainer.Trainer(run_of("soft")).restore(saved, "c.json")


class OneDecoder(TrainTest):
    """What the program makes of checkpoints."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def changed(self, name, parameter, change):
        """A trained model, one of whose parameters is changed, and its checkpoint."""
        saved = trained(name)[0].save()
        saved.parameters[parameter] = change(saved.parameters[parameter])
        made = trainer.Trainer(saved.run)
        made.restore(saved, "c.json")
        return made, saved

    def program_makes(self, saved, command):
        """What a command of the program says of a checkpoint."""
        model, output = (os.path.join(self.folder.name, name) for name in ("c.json", "o.json"))
        checkpoint.write(model, saved)
        subprocess.run(
            [os.environ["ATTNBENCH"], command, "--model", model, "--sequences", str(SEQUENCES),
             "-o", output, "--force"], check=True, capture_output=True)
        with open(output, encoding="utf-8") as file:
            return json.load(file)

    def held_out(self, run):
        return run.settings.examples(tasks.HELD_OUT, 1, 0, SEQUENCES)

    def test_the_program_decodes_what_python_decodes(self):
        for name in MODELS:
            # Early in training biases decide what is said.
            made, saved = self.changed(name, "output.b", numpy.zeros_like)
            is_hard = made.run.settings.is_monotonic
            choose = attention.by_threshold if is_hard else None
            sequences = self.program_makes(saved, "decode")["sequences"]
            examples = self.held_out(made.run)
            symbols = [[one["symbol"] for one in sequence["outputs"]] for sequence in sequences]
            self.assertGreater(len(set(sum(symbols, []))), 4, f"{name} says the same of all")
            batch = batch_of([
                tasks.Example(one.source, numpy.array(of_one))
                for one, of_one in zip(examples, symbols)])
            encoding = made.model.encode(batch)
            with torch.no_grad():
                decoded = made.model.decode(
                    encoding, encoding.first, batch.previous, choose=choose)
            greedy = made.model.decode_greedily(encoding, choose)
            best = decoded.logits.topk(2, 2)
            compared = 0
            for b, sequence in enumerate(sequences):
                positions = []
                is_sure = True
                for i, one in enumerate(sequence["outputs"]):
                    if is_hard:
                        energies = decoded.attended.energies[b, 0, i, :len(examples[b].source)]
                        is_sure &= float(energies.abs().min()) > TIE
                        row = decoded.attended.alpha[b, 0, i]
                        positions.append(int(row.argmax()) + 1 if row.any() else None)
                    is_sure &= one["margin"] > TIE
                    if not is_sure:
                        break
                    place = f"{name}, sequence {b}, output {i}"
                    self.assertEqual(int(best.indices[i, b, 0]), one["symbol"], place)
                    self.assertEqual(positions[i] if is_hard else None, one["position"], place)
                    margin = float(best.values[i, b, 0] - best.values[i, b, 1])
                    self.assert_near(margin, one["margin"], 1e-5, place)
                    compared += 1
                else:
                    self.assertEqual(
                        greedy[b], [one for one in symbols[b] if one != tasks.END], name)
            self.assertGreater(compared, 2 * SEQUENCES, name)

    def test_the_program_has_pythons_energies(self):
        for name in MODELS:
            if not run_of(name).settings.is_monotonic:
                continue
            # Few entries are chosen, so that an output's mass tells all of its energies.
            made, saved = self.changed(name, "attention.r", lambda r: numpy.array(r - 3, r.dtype))
            found = self.program_makes(saved, "diagnose")["mass"]
            batch = batch_of(self.held_out(made.run))
            with torch.no_grad():
                encoding = made.model.encode(batch)
                energies = made.model.decode(
                    encoding, encoding.first, batch.previous).attended.energies
            mass = monotonic_attention(energies=energies, lengths=batch.lengths).sum(3).squeeze(1)
            is_output = (batch.targets >= 0).t()
            self.assert_near(float(mass[is_output].double().mean()), found["mean"], 1e-5, name)
            self.assert_near(mass.masked_fill(~is_output, 2).amin(0).tolist(), found["outputs"],
                             1e-5, name)


class Mechanisms(TrainTest):
    def test_only_built_in_mechanisms_do_without_the_native_library(self):
        with mock.patch.object(library, "load", side_effect=library.NotFound("no library")):
            for name in (*attention.PORTABLE, "none"):
                attention.make(Settings(mechanism=name))
            with self.assertRaisesRegex(
                    DataError, "newcomer: needs the native library; .*soft, .*no library"):
                attention.make(Settings(mechanism="newcomer"))

    def test_an_output_may_depend_on_energies_of_those_before_it(self):
        def accumulated(_, energies, lengths=torch.ones(1)):
            beyond = torch.arange(energies.size(3)) >= lengths.view(-1, 1, 1, 1)
            return energies.cumsum(2).masked_fill(beyond, -math.inf).softmax(3)

        with mock.patch.object(attention, "energy_attention", accumulated), \
                mock.patch.object(library, "load"):
            made = trainer.Trainer(run_of("soft", mechanism="newcomer"))
            batch = batch_of(made.run.settings.examples(tasks.HELD_OUT, 1, 0, 5))
            with torch.no_grad():
                encoding = made.model.encode(batch)
                together = made.model.decode(encoding, encoding.first, batch.previous).logits
                state = encoding.first
                for i, symbols in enumerate(batch.previous):
                    logits, _, state = made.model.decode(encoding, state, symbols[None])
                    self.assertTrue(torch.allclose(logits[0], together[i], 1e-4, 1e-5), i)

    def test_clipped_alpha_is_the_exact_one_until_its_denominator_is_clipped(self):
        torch.manual_seed(1)
        p = torch.rand(2, 1, 3, 9, dtype=torch.double) * 0.6 + 0.2
        exact = monotonic_attention(p=p)
        self.assertTrue(torch.allclose(attention.clipped_alpha(p), exact, 1e-9, 1e-12))
        start = exact[:, :, 2]
        self.assertTrue(torch.allclose(
            attention.clipped_alpha(p, start), monotonic_attention(p=p, start=start), 1e-9, 1e-12))
        # Before the last entry 0.01^8 is left, which is below the bound.
        late = torch.zeros(1, 1, 9, dtype=torch.double)
        late[..., 8] = 1
        sharp = torch.full((1, 1, 1, 9), 0.99, dtype=torch.double)
        self.assertAlmostEqual(
            float(attention.clipped_alpha(sharp, late)[..., 8]), 0.99e-6, delta=1e-9)
        self.assertAlmostEqual(
            float(attention.clipped_alpha(sharp, late, clip=1e-3)[..., 8]), 0.99e-13, delta=1e-16)

    def test_additive_energies_have_neither_g_nor_r(self):
        for mechanism in ("soft", "mocha"):
            made = trainer.Trainer(run_of("soft", mechanism=mechanism, energy="additive"))
            self.assertNotIn("attention.g", made.parameters)
            self.assertNotIn("attention.r", made.parameters)
            self.assertEqual("chunk.g" in made.parameters, mechanism == "mocha")
            energy, parameters = made.model.attention.energy, made.parameters
            torch.manual_seed(1)
            d = made.run.settings.dim
            states, memory = torch.randn(2, 3, d), torch.randn(2, 4, d)
            found = energy(states, energy.make_keys(memory))
            queries, keys = states @ parameters["attention.W"].T, memory @ parameters["attention.V"].T
            sums = queries.unsqueeze(2) + keys.unsqueeze(1) + parameters["attention.b"]
            wanted = (sums.tanh() @ parameters["attention.v"].flatten()).unsqueeze(1)
            self.assertTrue(torch.allclose(found, wanted, atol=1e-5))
            before = parameters["attention.v"].clone()
            made.step()
            self.assertFalse(torch.equal(parameters["attention.v"], before))

    def test_energies_have_units_of_their_own(self):
        for mechanism in ("soft", "mocha"):
            made = trainer.Trainer(run_of("soft", mechanism=mechanism, energy_units=5))
            d = made.run.settings.dim
            names = ["attention", "chunk"][:1 + (mechanism == "mocha")]
            for name in names:
                self.assertEqual(tuple(made.parameters[f"{name}.W"].shape), (5, d))
                self.assertAlmostEqual(float(made.parameters[f"{name}.g"]), 5 ** -0.5, places=6)
            before = {name: made.parameters[f"{name}.V"].clone() for name in names}
            made.step()
            for name in names:
                self.assertFalse(torch.equal(made.parameters[f"{name}.V"], before[name]), name)


class LstmTest(TrainTest):
    def test_outputs_cells_and_gradients_are_those_of_torchs(self):
        torch.manual_seed(1)
        T, B, n, H = 5, 3, 4, 6
        ours, torchs = lstm.Lstm(n, H).double(), torch.nn.LSTM(n, H).double()
        with torch.no_grad():
            ours.W.copy_(torch.cat([torchs.weight_ih_l0, torchs.weight_hh_l0], 1))
            ours.b.copy_(torchs.bias_ih_l0)
            torchs.bias_hh_l0.copy_(ours.r)

        def results(run, parameters):
            torch.manual_seed(2)
            inputs = [torch.randn(*shape, dtype=torch.double).requires_grad_()
                      for shape in ((T, B, n), (B, H), (B, H))]
            h, c = run(*inputs)
            loss = (h * torch.randn(T, B, H, dtype=torch.double)).sum()
            loss = loss + (c * torch.randn(B, H, dtype=torch.double)).sum()
            return h, c, torch.autograd.grad(loss, [*inputs, *parameters])

        h, c, gradients = results(
            lambda x, *first: (lambda h, c: (h, c[-1]))(*ours(x, *first)), [ours.W, ours.b])
        h_torch, c_torch, expected = results(
            lambda x, h, c: (lambda y, last: (y, last[1][0]))(*torchs(x, (h[None], c[None]))),
            [torchs.weight_ih_l0, torchs.bias_ih_l0, torchs.weight_hh_l0])
        expected = [*expected[:3], torch.cat([expected[3], expected[5]], 1), expected[4]]
        for made, of_torch in ((h, h_torch), (c, c_torch), *zip(gradients, expected)):
            self.assertTrue(torch.allclose(made, of_torch, 1e-10, 1e-12))


if __name__ == "__main__":
    unittest.main()
