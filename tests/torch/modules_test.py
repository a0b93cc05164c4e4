"""Guards against modules whose energies are not MAD eq 16, that train other attention than
their functions give, that cannot be compiled, saved or trained, that lose |v| to overflow, round
in 16 bits what decides, or hold their caller's memory.
"""

import io
import unittest
import warnings

import torch
from torch import nn

import attnbench.torch as at
import needs

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

    def test_v_of_any_size_gives_the_energies_and_gradients_of_its_direction(self):
        def made(factor, dtype):
            torch.manual_seed(1)
            energy = at.AdditiveEnergy(Q, M, D, H, initial_r=-1.5).to(dtype)
            with torch.no_grad():
                energy.v.mul_(factor)
            found = energy(STATES.to(dtype), energy.make_keys(MEMORY.to(dtype)))
            (found * drawn(B, H, U, T, seed=3)).sum().backward()
            gradients = {name: x.grad * (factor if name == "v" else 1)
                         for name, x in energy.named_parameters()}
            return found, gradients

        for dtype, factors in ((torch.float, (1e-22, 2.0**-110, 1e20)),
                               (torch.double, (1e-170, 1e-300, 1e200))):
            energies, gradients = made(1.0, dtype)
            for factor in factors:
                found, others = made(factor, dtype)
                self.assert_close(found, energies, 1e-5)
                for name, expected in gradients.items():
                    self.assert_close(others[name], expected, 2e-4)

    def test_v_of_0_gives_energies_of_r_and_finite_gradients(self):
        energy = at.AdditiveEnergy(Q, M, D, H, initial_r=-1.5)
        with torch.no_grad():
            energy.v[1].zero_()
        found = energy(STATES, energy.make_keys(MEMORY))
        self.assertTrue((found[:, 1] == -1.5).all())
        self.assertFalse((found[:, 0] == -1.5).any())
        (found * drawn(B, H, U, T, seed=3)).sum().backward()
        for parameter in energy.parameters():
            self.assertTrue(parameter.grad.isfinite().all())

    def test_a_prepared_memory_stays_when_its_owner_writes_to_it(self):
        for module in scan_modules(noise=0):
            expected = module(STATES, MEMORY, LENGTHS)
            memory, lengths = MEMORY.clone(), LENGTHS.clone()
            prepared = module.prepare(memory, lengths)
            memory.fill_(3)
            lengths.fill_(T)
            made = module.attend(STATES, prepared)
            for a, b in zip(made, expected):
                self.assertTrue(torch.equal(a, b))
            made.contexts.sum().backward()

    def test_16_bits_are_computed_in_f32_and_rounded_once(self):
        for dtype, unit in ((torch.bfloat16, 2**-8), (torch.half, 2**-11)):
            states, memory = STATES.to(dtype), MEMORY.to(dtype)
            for module in scan_modules(noise=0):
                module.to(dtype)
                made = module(states, memory, LENGTHS)
                exact = exact_attention(module, states, memory)
                for found, expected in zip(made, exact):
                    self.assertEqual(found.dtype, dtype)
                    error = (found.double() - expected).abs()
                    self.assertTrue((error <= 1.05 * unit * expected.abs() + 1e-6).all())
                made.contexts.sum().backward()
                for parameter in module.parameters():
                    self.assertTrue(parameter.grad.isfinite().all())

    def test_fixed_memory_encodes_and_steps_in_16_bits(self):
        for dtype, unit in ((torch.bfloat16, 2**-8), (torch.half, 2**-11)):
            for options in ({}, {"encoder_scoring": "sigmoid", "decoder_scoring": "sigmoid"}):
                module = at.FixedMemoryAttention(Q, M, 3, H, **options).to(dtype)
                states, memory = STATES.to(dtype), MEMORY.to(dtype)
                encoded = module.encode(memory, LENGTHS)
                self.assertEqual(encoded.dtype, dtype)
                whole = module(states, memory, LENGTHS)
                for i in range(U):
                    found = module.step(states[:, i], encoded)
                    self.assertEqual(found.dtype, dtype)
                    scores = module._decoder_scores(states, memory)[:, :, i:i + 1].double()
                    beta = scores.sigmoid() if options else scores.softmax(3)
                    expected = (beta @ encoded.double()).squeeze(2).flatten(1)
                    error = (found.double() - expected).abs()
                    self.assertTrue((error <= 1.01 * unit * expected.abs() + 1e-6).all())
                    # The contexts C were rounded in between.
                    self.assert_close(found.float(), whole[:, i].float(), 20 * unit)

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

    @needs.native  # a script that calls Python cannot be saved
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
            with torch.autocast(STATES.device.type, dtype=torch.bfloat16), \
                    warnings.catch_warnings():
                warnings.simplefilter("error")  # of what later versions of PyTorch drop
                made = module(STATES, MEMORY, LENGTHS)
                # What autocast made elsewhere has its type.
                module(STATES.bfloat16(), MEMORY.bfloat16(), LENGTHS)
            if not isinstance(made, torch.Tensor):
                made, exact = made.contexts, exact.contexts
            self.assert_close(made.float(), exact, 0.1)
            made.sum().backward()
            for parameter in module.parameters():
                self.assertTrue(parameter.grad.isfinite().all())

    def test_steps_and_weights_of_a_fixed_memory_are_those_of_forward_under_autocast_too(self):
        for dtype in (torch.float, torch.double):
            for options in ({}, {"decoder_scoring": "sigmoid"}):
                module = at.FixedMemoryAttention(Q, M, 3, H, **options).to(dtype)
                states, memory = STATES.to(dtype), MEMORY.to(dtype)
                with torch.autocast(STATES.device.type, dtype=torch.bfloat16):
                    whole = module(states, memory, LENGTHS)
                    encoded = module.encode(memory, LENGTHS)
                    made = torch.stack([module.step(states[:, i], encoded) for i in range(U)], 1)
                    weights = module.weights(states, memory, LENGTHS)
                self.assertEqual({made.dtype, whole.dtype, weights.dtype}, {dtype})
                self.assert_close(made, whole, 1e-6)
                by_weights = (weights @ memory.unsqueeze(1)).transpose(1, 2).flatten(2)
                self.assert_close(by_weights, whole, 1e-6)

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

    def test_every_way_in_refuses_the_same_arguments_by_their_names(self):
        states, memory = torch.zeros(2, 3, Q), torch.zeros(2, 5, M)
        online, fixed = at.MoChA(Q, M, D, H), at.FixedMemoryAttention(Q, M, 4, H)
        ways = [lambda s, m, n: online(s, m, n), lambda s, m, n: online.decode(s, m, n),
                lambda s, m, n: online.attend(s, online.prepare(m, n)),
                lambda s, m, n: fixed(s, m, n), lambda s, m, n: fixed.weights(s, m, n)]
        of_memory = [lambda s, m, n: online.prepare(m, n), lambda s, m, n: fixed.encode(m, n),
                     lambda s, m, n: online.append(online.begin(2), m, n)]
        for kind, text, wrong in (
                (ValueError, "lengths must be in [0, T] with T = 5, but lengths[1] is -1", [5, -1]),
                (ValueError, "lengths must be in [0, T] with T = 5, but lengths[0] is 6", [6, 1]),
                (ValueError, "lengths must be [B] with B = 2, but has the shape [1]", [5]),
                (ValueError, "lengths must be [B] with B = 2, but has the shape []", 5),
                (TypeError, "lengths must be int64, but is float32", [5, 2.5]),
                (TypeError, "lengths must be int64, but is int32",
                 torch.tensor([5, 2], dtype=torch.int32))):
            for call in ways + of_memory:
                with self.assertRaises(kind) as caught:
                    call(states, memory, torch.as_tensor(wrong))
                self.assertEqual(str(caught.exception), text)
        for call in ways + of_memory:
            for text, m, n in (
                    ("lengths must be a tensor, but is of type list", memory, [5, 2]),
                    ("memory must be a tensor, but is of type NoneType", None, None),
                    ("memory must be float32, as the module's parameters are, but is float64",
                     memory.double(), None),
                    ("memory must be float32, as the module's parameters are, but is int64",
                     memory.long(), None),
                    ("memory must be where the module's parameters are, on"
                     f" {memory.device}, but is on {needs.OTHER_DEVICE}",
                     memory.to(needs.OTHER_DEVICE), None),
                    ("lengths has no numbers: it is on meta", memory,
                     torch.tensor([5, 2], device="meta"))):
                with self.assertRaises(TypeError) as caught:
                    call(states, m, n)
                self.assertEqual(str(caught.exception), text)
        for call in ways:
            with self.assertRaisesRegex(ValueError, "^states must have a batch of 2, as memory"):
                call(states[:1], memory, None)
            with self.assertRaisesRegex(TypeError, "^states must be float32, as"):
                call(states.double(), memory, None)
        encoded, prepared = fixed.encode(memory), online.prepare(memory)
        with self.assertRaisesRegex(TypeError, "encoded must be float32, as the module's"):
            fixed.step(states[:, 0], encoded.double())
        for text, call in {
            # A batch of 1 was spread over the other.
            "state must have a batch of 2, as encoded": lambda: fixed.step(states[:1, 0], encoded),
            "state must have a batch of 1, as encoded": lambda: fixed.step(states[:, 0],
                                                                           encoded[:1]),
            "encoded must be .B, H, K, m. with": lambda: fixed.step(states[:, 0], encoded[:, :1]),
            "prepared must be of this module's prepare":
                lambda: at.MonotonicAttention(Q, M, D, H).attend(states, prepared),
            "start must be .B, H, T. = .2, 2, 5., but its shape is .2, 1, 5.":
                lambda: online.attend(states, prepared, torch.zeros(2, 1, 5)),
        }.items():
            with self.assertRaisesRegex(ValueError, text):
                call()

    def test_lengths_on_another_device_serve(self):
        if LENGTHS.device.type != "cpu":
            for module in scan_modules(noise=0):
                for a, b in zip(module(STATES, MEMORY, LENGTHS.cpu()),
                                module(STATES, MEMORY, LENGTHS)):
                    self.assertTrue(torch.equal(a, b))
                made, expected = (module.decode(STATES, MEMORY, n)
                                  for n in (LENGTHS.cpu(), LENGTHS))
                self.assertTrue(torch.equal(made.contexts, expected.contexts))
        # Of memory on meta shapes are made.
        for module in scan_modules():
            module.to("meta")
            out = module(STATES.to("meta"), MEMORY.to("meta"), LENGTHS)
            self.assertEqual(out.contexts.shape, (B, U, H * M))
            self.assertTrue(module.prepare(MEMORY.to("meta"), LENGTHS).lengths.is_meta)


def exact_attention(module, states, memory):
    """Contexts, weights and alpha in f64 from a module's own keys and queries, whose type is
    that of its parameters.
    """
    def energies(energy):
        v = energy.v.double() * (energy.g.double() / energy.v.double().norm(dim=1)).unsqueeze(1)
        made = at.additive_energies(energy.make_queries(states).double(),
                                    energy.make_keys(memory).double(), v)
        return made if energy.r is None else made + energy.r.double().view(1, -1, 1, 1)

    e = energies(module.energy)
    alpha = weights = at.monotonic_attention(energies=e, lengths=LENGTHS)
    if isinstance(module, at.MAtChA):
        weights, _ = at.matcha_attention(energies(module.chunk_energy), energies=e,
                                         lengths=LENGTHS)
    elif isinstance(module, at.MoChA):
        weights, _ = at.mocha_attention(energies(module.chunk_energy), module.width, energies=e,
                                        lengths=LENGTHS)
    contexts = weights @ memory.double().unsqueeze(1)
    return contexts.transpose(1, 2).flatten(2), weights, alpha


if __name__ == "__main__":
    unittest.main(verbosity=2)  # which tells the reason of a skip
