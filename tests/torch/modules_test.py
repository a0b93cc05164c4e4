"""Guards against modules whose energies are not MAD eq 16, that train other attention than
their functions give, or that cannot be compiled, saved or trained.
"""

import io
import unittest

import torch
from torch import nn

import attnbench.torch as at

B, U, T, Q, M, D, H = 3, 4, 9, 5, 7, 6, 2


def drawn(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def scan_modules(**options):
    torch.manual_seed(4)
    return [at.MonotonicAttention(Q, M, D, H, **options), at.MoChA(Q, M, D, H, **options),
            at.MoChA(Q, M, D, H, width=None, **options), at.MAtChA(Q, M, D, H, **options)]


STATES, MEMORY, LENGTHS = drawn(B, U, Q), drawn(B, T, M, seed=2), torch.tensor([T, 4, 0])


class ModulesTest(unittest.TestCase):
    def assert_close(self, a, b, tolerance=2e-6):
        self.assertEqual(a.shape, b.shape)
        self.assertTrue(((a - b).abs() <= tolerance).all(), (a - b).abs().max())

    def test_energies_are_those_of_mad_eq_16(self):
        self.assertEqual(at.AdditiveEnergy(Q, M, D, H, initial_r=-2).r.tolist(), [-2.0] * H)
        energy = at.AdditiveEnergy(Q, M, D, H, initial_r=-1.5)
        self.assertEqual(energy.g.tolist(), [torch.tensor(D ** -.5).item()] * H)
        with torch.no_grad():
            energy.g.mul_(3)
        found = energy(STATES, energy.make_keys(MEMORY))
        for h in range(H):
            own = slice(h * D, (h + 1) * D)
            W, V = energy.query.weight[own], energy.key.weight[own]
            v = energy.g[h] * energy.v[h] / energy.v[h].norm()
            queries, keys = STATES @ W.T, MEMORY @ V.T + energy.key.bias[own]
            inside = queries.unsqueeze(2) + keys.unsqueeze(1)
            self.assert_close(found[:, h], inside.tanh() @ v - 1.5)

    def test_attention_is_that_of_the_function_and_contexts_its_mean(self):
        for end in ("absorb", "stay_last", "restart"):
            for module in scan_modules(end=end):
                module.eval()
                out = module(STATES, MEMORY, LENGTHS)
                energies = module.energy(STATES, module.energy.make_keys(MEMORY))
                alpha = at.monotonic_attention(energies=energies, lengths=LENGTHS, end=end)
                self.assert_close(out.alpha, alpha)
                if isinstance(module, at.MonotonicAttention):
                    self.assertTrue(torch.equal(out.weights, out.alpha))
                else:
                    u = module.chunk_energy(STATES, module.chunk_energy.make_keys(MEMORY))
                    arguments = dict(energies=energies, lengths=LENGTHS, end=end)
                    beta, _ = (at.matcha_attention(u, **arguments)
                               if isinstance(module, at.MAtChA) else
                               at.mocha_attention(u, module.width, **arguments))
                    self.assert_close(out.weights, beta)
                by_head = torch.cat([out.weights[:, h] @ MEMORY for h in range(H)], 2)
                self.assert_close(out.contexts, by_head)

    def test_noise_is_added_in_training_only(self):
        for module in scan_modules(noise=2.0):
            torch.manual_seed(1)
            first = module(STATES, MEMORY, LENGTHS)
            torch.manual_seed(1)
            again = module(STATES, MEMORY, LENGTHS)
            self.assertTrue(torch.equal(first.weights, again.weights))
            other = module(STATES, MEMORY, LENGTHS)
            self.assertFalse(torch.equal(first.weights, other.weights))
            energies = module.energy(STATES, module.energy.make_keys(MEMORY), LENGTHS)
            torch.manual_seed(1)
            noisy = energies + 2 * torch.randn_like(energies)
            self.assertTrue(torch.equal(
                first.alpha, at.monotonic_attention(energies=noisy, lengths=LENGTHS)))
            module.eval()
            self.assertTrue(torch.equal(module(STATES, MEMORY, LENGTHS).weights,
                                        module(STATES, MEMORY, LENGTHS).weights))

    def test_steps_that_feed_alpha_back_are_the_whole(self):
        for module in scan_modules(noise=0):
            whole = module(STATES, MEMORY, LENGTHS)
            prepared, start, contexts = module.prepare(MEMORY, LENGTHS), None, []
            for i in range(U):
                step = module.attend(STATES[:, i:i + 1], prepared, start)
                start = step.alpha[:, :, -1]
                contexts.append(step.contexts)
            self.assert_close(torch.cat(contexts, 1), whole.contexts)

    def test_modules_compile_save_and_load_as_torch_script(self):
        for module in [*scan_modules(), at.FixedMemoryAttention(Q, M, 3, H)]:
            module.eval()
            file = io.BytesIO()
            torch.jit.save(torch.jit.script(module), file)
            file.seek(0)
            expected, found = (m(STATES, MEMORY, LENGTHS)
                               for m in (module, torch.jit.load(file)))
            if isinstance(expected, torch.Tensor):
                expected, found = [expected], [found]
            for a, b in zip(expected, found):
                self.assertTrue(torch.equal(a, b))

    def test_functions_compile_to_torch_script(self):
        p, u = drawn(B, H, U, T).sigmoid(), drawn(B, H, U, T, seed=2)
        rows = drawn(B, H, T, 3)

        @torch.jit.script
        def all_of_them(p, u, rows):
            beta, alpha = at.mocha_attention(u, 2, p=p)
            lookback, _ = at.mocha_attention(u, None, energies=u, end="stay_last")
            adaptive, _ = at.matcha_attention(u, p=p)
            attention = at.memory_attention(rows, rows[:, :, :2], encoder_scoring="sigmoid")
            contexts = at.memory_contexts(rows, rows[:, :, :2], rows)
            energies = at.additive_energies(rows, rows, rows[0, 0, 0])
            return (alpha, beta, lookback, adaptive, attention, contexts, energies,
                    at.monotonic_attention(p=p))

        # A compiled function has no Python to fall back to.
        expected = (*reversed(at.mocha_attention(u, 2, p=p)),
                    at.mocha_attention(u, None, energies=u, end="stay_last")[0],
                    at.matcha_attention(u, p=p)[0],
                    at.memory_attention(rows, rows[:, :, :2], encoder_scoring="sigmoid"),
                    at.memory_contexts(rows, rows[:, :, :2], rows),
                    at.additive_energies(rows, rows, rows[0, 0, 0]),
                    at.monotonic_attention(p=p))
        for a, b in zip(all_of_them(p, u, rows), expected):
            self.assertTrue(torch.equal(a, b))

    def test_state_dicts_carry_all_parameters(self):
        for one, other in zip(scan_modules(), scan_modules()):
            with torch.no_grad():
                for parameter in other.parameters():
                    parameter.add_(1)
            names = set(one.state_dict())
            self.assertLessEqual({"energy.query.weight", "energy.key.weight", "energy.key.bias",
                                  "energy.v", "energy.g", "energy.r"}, names)
            self.assertNotIn("chunk_energy.r", names)
            other.load_state_dict(one.state_dict())
            one.eval(), other.eval()
            self.assertTrue(torch.equal(one(STATES, MEMORY).weights,
                                        other(STATES, MEMORY).weights))

    def test_training_reaches_every_parameter_and_lowers_the_loss(self):
        for module in [*scan_modules(noise=0.1), at.FixedMemoryAttention(Q, M, 3, H)]:
            torch.manual_seed(2)
            out = nn.Linear(H * M, 1)
            target = drawn(B, U, 1, seed=5)
            parameters = [*module.parameters(), *out.parameters()]
            optimizer = torch.optim.Adam(parameters, 0.05)
            losses = []
            for _ in range(30):
                made = module(STATES, MEMORY, LENGTHS)
                contexts = made if isinstance(made, torch.Tensor) else made.contexts
                loss = ((out(contexts) - target) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            for parameter in parameters:
                self.assertGreater(float(parameter.grad.abs().sum()), 0)
            self.assertLess(losses[-1], 0.7 * losses[0])

    def test_fixed_memory_contexts_are_its_weights_over_the_memory(self):
        for options in ({}, {"position_encoding": "raw", "place": "outside"},
                        {"encoder_scoring": "sigmoid", "decoder_scoring": "sigmoid",
                         "position_encoding": "renormalized", "max_length": 12}):
            module = at.FixedMemoryAttention(Q, M, 3, H, **options)
            contexts = module(STATES, MEMORY, LENGTHS)
            weights = module.weights(STATES, MEMORY, LENGTHS)
            self.assertEqual(weights.shape, (B, H, U, T))
            self.assert_close(contexts, torch.cat([weights[:, h] @ MEMORY for h in range(H)], 2))
            encoded = module.encode(MEMORY, LENGTHS)
            self.assertEqual(encoded.shape, (B, H, 3, M))
            for i in range(U):
                self.assert_close(module.step(STATES[:, i], encoded), contexts[:, i])

    def test_modules_work_in_f64(self):
        for module in [*scan_modules(), at.FixedMemoryAttention(Q, M, 3, H)]:
            module.double().eval()
            made = module(STATES.double(), MEMORY.double(), LENGTHS)
            contexts = made if isinstance(made, torch.Tensor) else made.contexts
            self.assertEqual(contexts.dtype, torch.double)

    def test_modules_train_under_autocast(self):
        for module in [*scan_modules(noise=0), at.FixedMemoryAttention(Q, M, 3, H)]:
            exact = module(STATES, MEMORY, LENGTHS)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                made = module(STATES, MEMORY, LENGTHS)
            if not isinstance(made, torch.Tensor):
                made, exact = made.contexts, exact.contexts
            self.assert_close(made.float(), exact, 0.1)
            made.sum().backward()
            for parameter in module.parameters():
                self.assertTrue(parameter.grad.isfinite().all())

    def test_options_that_make_no_sense_are_refused(self):
        for text, call in {
            "end must be one of": lambda: at.MoChA(Q, M, D, end="last"),
            "noise must be at least 0": lambda: at.MAtChA(Q, M, D, noise=-1),
            "width must be at least 1": lambda: at.MoChA(Q, M, D, width=0),
        }.items():
            with self.assertRaisesRegex(ValueError, text):
                call()

    def test_memory_and_states_of_other_sizes_are_refused_by_name(self):
        states, memory = torch.zeros(2, 3, Q), torch.zeros(2, 5, M)
        online = at.MoChA(Q, M, D)
        place = online.begin(2)
        fixed = at.FixedMemoryAttention(Q, M, 4)
        for name, calls in {
            "memory": [lambda: online(states, memory[:, :, 1:]),
                       lambda: online.append(place, memory[0]),
                       lambda: fixed(states, memory[0]),
                       lambda: fixed.encode(memory[:, :, 1:])],
            "states": [lambda: online(states[0], memory),
                       lambda: fixed.weights(states[:, :, 1:], memory)],
            "state": [lambda: online.step(place, states[:, 0, 1:]),
                      lambda: fixed.step(states[:, 0, 1:], fixed.encode(memory))],
        }.items():
            for call in calls:
                with self.assertRaisesRegex(ValueError, f"^{name} must have [23] dimensions"):
                    call()
        with self.assertRaisesRegex(ValueError, "lengths must be"):
            online.append(place, memory, torch.tensor([5, 6]))
        self.assertEqual(place.appended, 0)


if __name__ == "__main__":
    unittest.main()
