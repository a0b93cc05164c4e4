"""Guards against online decoding that is another process than `attnbench decode` runs: its
energies given, positions, weights and contexts must be the same; against a decoder that reads
what is not there yet, and against one that evaluates more energies than it says.
"""

import itertools
import json
import os
import subprocess
import tempfile
import unittest

import torch

import attnbench.torch as at

ATTNBENCH = os.environ["ATTNBENCH"]
B, U, T, Q, M, D, H = 2, 7, 30, 5, 3, 6, 2
ENDS = ("absorb", "stay_last", "restart")


def drawn(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).double()


STATES, MEMORY = drawn(B, U, Q), drawn(B, T, M, seed=2)


def modules(end):
    """Some that choose often, and some that choose nothing in the end."""
    for seed, initial_r in ((3, -0.4), (4, -0.9)):
        torch.manual_seed(seed)
        options = dict(end=end, initial_r=initial_r)
        for module in (at.MonotonicAttention(Q, M, D, H, **options),
                       at.MoChA(Q, M, D, H, width=3, **options),
                       at.MoChA(Q, M, D, H, width=None, **options),
                       at.MAtChA(Q, M, D, H, **options)):
            yield module.double().eval()


def decoded(module, b, h, length):
    """What the program makes of the energies of one sequence and head."""
    energies = module.energy(STATES, module.energy.make_keys(MEMORY))[b, h, :, :length]
    inputs = {"energies": energies.tolist(), "memory": MEMORY[b, :length].tolist()}
    options = {"end": module.end}
    name = "monotonic"
    if module.chunk_energy is not None:
        chunk = module.chunk_energy(STATES, module.chunk_energy.make_keys(MEMORY))
        inputs["chunk_energies"] = chunk[b, h, :, :length].tolist()
        name = "matcha" if isinstance(module, at.MAtChA) else "mocha"
    if name == "mocha":
        options["chunk_width"] = "inf" if module.width is None else module.width
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump({"mechanism": name, "options": options, "inputs": inputs}, file)
        file.flush()
        done = subprocess.run([ATTNBENCH, "decode", file.name], capture_output=True, text=True,
                              check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["steps"]


class OnlineTest(unittest.TestCase):
    def assert_close(self, a, b):
        self.assertEqual(a.shape, b.shape)
        self.assertTrue(((a - b).abs() <= 1e-12).all())

    def test_positions_and_contexts_are_those_of_the_program(self):
        lengths = [T, 11]
        seen = set()
        with torch.no_grad():
            for end in ENDS:
                for module in modules(end):
                    made = module.decode(STATES, MEMORY, torch.tensor(lengths))
                    for b, h in itertools.product(range(B), range(H)):
                        for i, step in enumerate(decoded(module, b, h, lengths[b])):
                            found = int(made.positions[b, h, i])
                            self.assertEqual(found + 1, step["position"] or 0)
                            seen.add((end, found == -1))
                            self.assert_close(made.contexts[b, i, h * M:(h + 1) * M],
                                              torch.tensor(step["context"], dtype=torch.double))
        self.assertEqual(seen, {("absorb", True), ("absorb", False), ("restart", True),
                                ("restart", False), ("stay_last", False)})

    def test_memory_that_comes_piece_by_piece_gives_the_same(self):
        with torch.no_grad():
            for end, pieces in itertools.product(ENDS, (1, 4, 17)):
                for module in modules(end):
                    expected = module.decode(STATES, MEMORY)
                    place = module.begin(B)
                    contexts, positions, read, i = [], [], 0, 0
                    while i < U:
                        step = module.step(place, STATES[:, i])
                        if step is not None:
                            contexts.append(step.contexts)
                            positions.append(step.positions)
                            i += 1
                        elif read < T:
                            module.append(place, MEMORY[:, read:read + pieces])
                            read = min(T, read + pieces)
                        else:
                            module.close(place)
                    self.assert_close(torch.stack(contexts, 1), expected.contexts)
                    self.assertTrue(torch.equal(torch.stack(positions, 2), expected.positions))

    def test_what_was_appended_stays_when_its_owner_writes_to_it(self):
        lengths = torch.tensor([T, 11])
        with torch.no_grad():
            for module in modules("absorb"):
                expected = module.decode(STATES, MEMORY, lengths)
                place, owned, given = module.begin(B), MEMORY.clone(), lengths.clone()
                module.append(place, owned, given)
                owned.fill_(7)
                given.fill_(10**6)
                module.close(place)
                for i in range(U):
                    step = module.step(place, STATES[:, i])
                    self.assert_close(step.contexts, expected.contexts[:, i])

    def test_an_output_is_made_as_soon_as_its_entry_is_there(self):
        with torch.no_grad():
            for module in modules("absorb"):
                first = module.decode(STATES[:1], MEMORY[:1]).positions[0, :, 0]
                if (first < 0).any():
                    continue
                needed = int(first.max()) + 1
                place = module.begin(1)
                for n in range(needed):
                    self.assertIsNone(module.step(place, STATES[:1, 0]))
                    module.append(place, MEMORY[:1, n:n + 1])
                self.assertTrue(torch.equal(module.step(place, STATES[:1, 0]).positions[0], first))

    def test_sequences_that_have_ended_do_not_wait_for_the_others(self):
        with torch.no_grad():
            for end in ENDS:
                for module in modules(end):
                    lengths = torch.tensor([T, 5])
                    expected = module.decode(STATES, MEMORY, lengths)
                    place = module.begin(B)
                    module.append(place, MEMORY[:, :5])
                    module.append(place, MEMORY[:, 5:], lengths)
                    self.assertEqual(place.ended().tolist(), [False, True])
                    module.close(place)
                    for i in range(U):
                        step = module.step(place, STATES[:, i])
                        self.assert_close(step.contexts, expected.contexts[:, i])

    def test_what_the_padding_holds_is_not_read(self):
        padded = MEMORY.clone()
        padded[1, 11:] = float("nan")
        lengths = torch.tensor([T, 11])
        with torch.no_grad():
            for end in ENDS:
                for module in modules(end):
                    expected = module.decode(STATES, MEMORY, lengths)
                    made = module.decode(STATES, padded, lengths)
                    self.assertTrue(torch.equal(made.contexts, expected.contexts))

    def test_energies_are_evaluated_in_linear_number(self):
        for module in modules("absorb"):
            evaluated = 0
            evaluate = module.energy.of_projected

            def counting(queries, keys):
                nonlocal evaluated
                evaluated += keys.size(2)
                return evaluate(queries, keys)

            module.energy.of_projected = counting
            states = drawn(1, 40, Q, seed=6)
            module.decode(states, drawn(1, 200, M, seed=7))
            # The call is shared by the heads.
            self.assertLessEqual(evaluated, H * (200 + 8 * 40))
            self.assertGreater(evaluated, 0)

    def test_an_energy_of_0_is_chosen(self):
        module = at.MonotonicAttention(Q, M, D, initial_r=0.0).double()
        with torch.no_grad():
            module.energy.query.weight.zero_()
            module.energy.key.weight.zero_()
            module.energy.key.bias.zero_()
            positions = module.decode(STATES, MEMORY).positions
            self.assertEqual(positions.abs().sum(), 0)
            self.assertEqual(decoded(module, 0, 0, T)[0]["position"], 1)

    def test_empty_batches_outputs_and_memories_decode(self):
        with torch.no_grad():
            for end in ENDS:
                for module in modules(end):
                    for states, memory in ((STATES[:0], MEMORY[:0]), (STATES[:, :0], MEMORY),
                                           (STATES, MEMORY[:, :0])):
                        made = module.decode(states, memory)
                        self.assertEqual(made.contexts.shape,
                                         (states.size(0), states.size(1), H * M))
                        self.assertEqual(made.positions.shape,
                                         (states.size(0), H, states.size(1)))
                        self.assertTrue((made.positions == -1).all())

    def test_wrong_order_of_calls_is_refused(self):
        module = next(modules("absorb"))
        place = module.begin(B)
        self.assertIsNone(module.step(place, STATES[:, 0]))
        with self.assertRaisesRegex(ValueError, "lengths must be .B. with B = 2"):
            module.append(place, MEMORY, torch.tensor([T + 1, 1]))
        place = module.begin(B)
        module.close(place)
        with self.assertRaisesRegex(ValueError, "after close"):
            module.append(place, MEMORY)
        with self.assertRaisesRegex(ValueError, "before anything was appended"):
            module.step(place, STATES[:, 0])


if __name__ == "__main__":
    unittest.main()
