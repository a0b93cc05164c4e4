"""Guards against online decoding that is another process than `attnbench decode` runs: its
energies given, positions, weights and contexts must be the same; against a decoder that reads
what is not there yet, against one that evaluates more energies than it says, and against a place
that its caller moves by what it still holds, or that takes what cannot follow.
"""

import copy
import itertools
import json
import os
import pickle
import subprocess
import tempfile
import unittest

import torch
from torch import nn

import attnbench.torch as at
import needs

ATTNBENCH = os.environ.get("ATTNBENCH")
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

    @needs.program
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

    @needs.program
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

    def test_what_a_step_gave_can_be_written_to(self):
        with torch.no_grad():
            for end in ENDS:
                for module in modules(end):
                    expected = module.decode(STATES, MEMORY)
                    place = module.begin(B)
                    module.append(place, MEMORY)
                    module.close(place)
                    for i in range(U):
                        step = module.step(place, STATES[:, i])
                        self.assertTrue(torch.equal(step.positions, expected.positions[:, :, i]))
                        step.begins.fill_(T - 1)
                        step.positions.fill_(0)
                        step.contexts.fill_(7)

    def assert_refused(self, module, place, kind, text, call):
        """Refused by name, and the place goes on as if nothing had been called."""
        untouched = place.copy()
        with self.assertRaisesRegex(kind, text):
            call()
        for one in (place, untouched):
            one.closed = True
        if place.memory is not None:
            for i in range(U):
                made = [module.step(one, STATES[:, i]) for one in (place, untouched)]
                self.assertTrue(torch.equal(made[0].contexts, made[1].contexts))

    def assert_refused_as_before(self, place, text, call):
        before = dict(vars(place))
        with self.assertRaisesRegex(ValueError, text):
            call()
        for name, value in vars(place).items():
            self.assertIs(value, before[name], name)

    def test_what_cannot_follow_is_refused_and_nothing_is_changed(self):
        for module in modules("absorb"):
            def at_entries(n, lengths=None):
                place = module.begin(B)
                module.append(place, MEMORY[:, :n], lengths)
                return place

            ended = at_entries(5, torch.tensor([2, 5]))
            lengths = torch.tensor([8, T])
            self.assert_refused(
                module, ended, ValueError,
                r"lengths\[0\] must stay 2, where this sequence ended, but is 8",
                lambda: module.append(ended, MEMORY[:, 5:], lengths))
            ended = at_entries(5, torch.tensor([2, 5]))
            self.assert_refused(
                module, ended, ValueError,
                r"lengths\[0\] must stay 2, .* but lengths are not given",
                lambda: module.append(ended, MEMORY[:, 5:]))
            place = at_entries(T)
            self.assert_refused(
                module, place, ValueError, r"lengths\[1\] is 3, but this sequence has 30 entries",
                lambda: module.append(place, MEMORY[:, :0], torch.tensor([T, 3])))
            place = at_entries(5)
            self.assert_refused(
                module, place, ValueError, r"lengths must be in \[0, T\] with T = 30, but",
                lambda: module.append(place, MEMORY[:, 5:], torch.tensor([T + 1, 5])))
            holed = MEMORY.clone()
            holed[:, 12] = float("nan")
            place = module.begin(B)
            module.append(place, MEMORY[:, :8])
            with torch.no_grad():
                module.energy.r.sub_(5)  # so that an output scans all
                module.append(place, holed[:, 8:])
                self.assert_refused_as_before(
                    place, "numbers", lambda: module.step(place, STATES[:, 0]))
                module.energy.r.add_(5)
            place = module.begin(B)
            module.close(place)
            self.assert_refused(module, place, ValueError, "memory was appended after close",
                                lambda: module.append(place, MEMORY))
            with self.assertRaisesRegex(ValueError, "before anything was appended"):
                module.step(place, STATES[:, 0])

    def test_an_output_that_waits_takes_no_other_state(self):
        with torch.no_grad():
            for module in modules("absorb"):
                expected = module.decode(STATES, MEMORY)
                place = module.begin(B)
                owned = STATES[:, 0].clone()
                self.assertIsNone(module.step(place, owned))
                owned.fill_(1)
                with self.assertRaisesRegex(ValueError, "state must be that of the call before"):
                    module.step(place, STATES[:, 1])
                module.append(place, MEMORY)
                module.close(place)
                for i in range(U):
                    step = module.step(place, STATES[:, i])
                    self.assert_close(step.contexts, expected.contexts[:, i])

    def test_places_of_another_batch_or_module_and_their_wrong_arguments_are_refused(self):
        module = at.MoChA(Q, M, D, H).double()
        place = module.begin(B)
        module.append(place, MEMORY)
        for other in (at.MoChA(Q, M, D, 1), at.MoChA(Q, M, D + 1, H),
                      at.MonotonicAttention(Q, M, D, H), at.MoChA(Q, M, D, H),
                      copy.deepcopy(module)):
            other.double()
            for stands in (place, place.copy(), copy.deepcopy(place)):
                for call in (lambda: other.step(stands, STATES[:, 0]),
                             lambda: other.append(stands, MEMORY), lambda: other.close(stands)):
                    self.assert_refused(module, stands, ValueError,
                                        "place must be of this module's begin", call)
        with torch.no_grad():
            expected = module.step(place.copy(), STATES[:, 0])
        kept = pickle.loads(pickle.dumps(place))
        self.assert_close(module.step(kept, STATES[:, 0]).contexts, expected.contexts)
        one = module.begin(1)
        module.append(one, MEMORY[:1])
        for kind, text, call in (
                # A batch of 1 was spread over that of the place.
                (ValueError, "state must have a batch of 2, as place has",
                 lambda: module.step(place, STATES[:1, 0])),
                (ValueError, "state must have a batch of 1, as place has",
                 lambda: module.step(one, STATES[:, 0])),
                (ValueError, "memory must have a batch of 2, as place has",
                 lambda: module.append(module.begin(B), MEMORY[:1])),
                (ValueError, "states must have a batch of 2, as memory has",
                 lambda: module.decode(STATES[:1], MEMORY)),
                (ValueError, "batch must be at least 0", lambda: module.begin(-1)),
                (TypeError, "batch must be an int", lambda: module.begin(2.5)),
                (TypeError, "place must be of begin", lambda: module.close(None)),
                (TypeError, "place must be of begin",
                 lambda: module.step(module.prepare(MEMORY), STATES[:, 0])),
                (TypeError, "index must be a tensor", lambda: place.reorder([0])),
                (TypeError, "index must be int64", lambda: place.reorder(torch.tensor([0.]))),
                (ValueError, "index must have one dimension",
                 lambda: place.reorder(torch.tensor([[0]]))),
                (ValueError, r"index must be in \[0, B\) with B = 2, but index\[1\] is -1",
                 lambda: place.reorder(torch.tensor([0, -1]))),
                (ValueError, r"index must be in \[0, B\) with B = 2, but index\[0\] is 2",
                 lambda: place.reorder(torch.tensor([2])))):
            with self.assertRaisesRegex(kind, text):
                call()

    def test_copies_of_a_place_go_on_by_themselves(self):
        for module in modules("absorb"):  # with gradients, of which torch copies no tensor
            expected = module.decode(STATES, MEMORY)
            for copied in (lambda place: place.copy(), copy.deepcopy):
                place = module.begin(B)
                module.append(place, MEMORY[:, :9])
                waits = module.step(place, STATES[:, 0]) is None
                other = copied(place)
                other.memory.data.fill_(0)
                other.keys.data.fill_(0)
                other.lengths.fill_(1)
                module.close(other)
                module.append(place, MEMORY[:, 9:])
                module.close(place)
                for i in range(0 if waits else 1, U):
                    step = module.step(place, STATES[:, i])
                    self.assert_close(step.contexts, expected.contexts[:, i])

    def test_a_beam_over_a_place_is_each_hypothesis_decoded_by_itself(self):
        beam, symbols = 3, 6
        torch.manual_seed(8)
        embedding = nn.Embedding(symbols, 4).double()
        cell, out = nn.GRUCell(4 + H * M, Q).double(), nn.Linear(Q, symbols).double()
        moved = 0

        def stepped(module, place, state, read):
            """Gives one step, to a place whose memory grows meanwhile."""
            while (step := module.step(place, state)) is None:
                if read[0] < T:
                    module.append(place, MEMORY.repeat_interleave(place.batch // B, 0)[
                        :, read[0]:read[0] + 4])
                    read[0] += 4
                else:
                    module.close(place)
            return step

        with torch.no_grad():
            for module in modules("absorb"):
                place, read = module.begin(B), [0]
                state, symbol = torch.zeros(B, Q).double(), torch.zeros(B, dtype=torch.long)
                score, histories, made = torch.zeros(B, 1).double(), [[]] * B, [[]] * B
                for _ in range(U):
                    step = stepped(module, place, state, read)
                    state = cell(torch.cat([embedding(symbol), step.contexts], 1), state)
                    width = score.size(1)
                    scores = (score.unsqueeze(2)
                              + out(state).log_softmax(1).view(B, width, symbols)).flatten(1)
                    score, best = scores.topk(beam, 1)
                    index = (best // symbols + width * torch.arange(B).unsqueeze(1)).flatten()
                    moved += int((index != torch.arange(len(index)) // (beam // width)).sum())
                    symbol = (best % symbols).flatten()
                    state = state[index]
                    place.reorder(index)
                    made = [made[k] + [(step.positions[k], step.contexts[k])] for k in index]
                    histories = [histories[k] + [n] for k, n in zip(index, symbol.tolist())]
                for n, (history, steps) in enumerate(zip(histories, made)):
                    alone = module.begin(1)
                    module.append(alone, MEMORY[n // beam:n // beam + 1])
                    module.close(alone)
                    state, symbol, total = torch.zeros(1, Q).double(), 0, 0
                    for chosen, (positions, contexts) in zip(history, steps):
                        step = module.step(alone, state)
                        self.assertTrue(torch.equal(step.positions[0], positions))
                        self.assert_close(step.contexts[0], contexts)
                        state = cell(torch.cat([embedding(torch.tensor([symbol])),
                                                step.contexts], 1), state)
                        total, symbol = total + out(state).log_softmax(1)[0, chosen], chosen
                    self.assertAlmostEqual(float(total), float(score.flatten()[n]), 9)
        self.assertGreater(moved, 10)

    def test_outputs_that_wait_are_reordered_with_their_states(self):
        index = torch.tensor([1, 1, 0])
        with torch.no_grad():
            for module in modules("absorb"):
                expected = module.decode(STATES[index], MEMORY[index])
                place = module.begin(B)
                module.append(place, MEMORY[:, :1])
                self.assertIsNone(module.step(place, STATES[:, 0]))
                place.reorder(index)
                module.append(place, MEMORY[index, 1:])
                module.close(place)
                for i in range(U):
                    step = module.step(place, STATES[index, i])
                    self.assert_close(step.contexts, expected.contexts[:, i])

    def test_16_bits_are_computed_in_f32_and_rounded_once(self):
        for dtype, unit in ((torch.bfloat16, 2**-8), (torch.half, 2**-11)):
            states, memory = STATES.to(dtype), MEMORY.to(dtype)
            for module in modules("absorb"):
                with torch.no_grad():
                    module.to(dtype)
                    made = module.decode(states, memory)
                    self.assertEqual(made.contexts.dtype, dtype)
                    place = module.begin(B)
                    module.append(place, memory)
                    module.close(place)
                    for i in range(U):
                        step = module.step(place, states[:, i])
                        self.assertTrue(torch.equal(step.contexts, made.contexts[:, i]))
                        expected = exact_contexts(module, states[:, i], memory, step)
                        error = (step.contexts.double() - expected).abs()
                        self.assertTrue((error <= 1.01 * unit * expected.abs() + 1e-7).all())

    def test_what_is_made_is_made_where_the_inputs_are(self):
        class NamesDevices(torch.overrides.TorchFunctionMode):
            made = 0

            def __torch_function__(self, function, types, args=(), kwargs=None):
                kwargs = kwargs or {}
                if function in (torch.arange, torch.zeros, torch.ones, torch.full, torch.eye,
                                torch.empty, torch.tensor, torch.linspace, torch.rand,
                                torch.randn):
                    assert kwargs.get("device") is not None, f"{function.__name__}: no device"
                    NamesDevices.made += 1
                return function(*args, **kwargs)

        lengths, outputs = torch.tensor([T, 11]), torch.tensor([U, 2])
        alpha = drawn(B, H, U, T).softmax(3)
        fixed = at.FixedMemoryAttention(Q, M, 3, H).double()
        for module in modules("absorb"):
            with NamesDevices():
                module.decode(STATES, MEMORY, lengths)
                module(STATES, MEMORY, lengths)
                fixed(STATES, MEMORY, lengths)
                fixed.step(STATES[:, 0], fixed.encode(MEMORY, lengths))
                delays = at.expected_delays(alpha, lengths)
                for metric in (at.average_lagging, at.average_proportion,
                               at.differentiable_average_lagging):
                    metric(delays, lengths, outputs)
        self.assertGreater(NamesDevices.made, 10)
        meta = at.MoChA(Q, M, D, H).to("meta")
        place = meta.begin(B)
        meta.append(place, torch.empty(B, T, M, device="meta"), lengths)
        for name, value in vars(place).items():
            if isinstance(value, torch.Tensor):
                self.assertTrue(value.is_meta, name)


def exact_contexts(module, state, memory, step):
    """The contexts of one output in f64, from a module's own keys and queries, whose type is
    that of its parameters.
    """
    contexts = torch.zeros(B, H, M).double()
    energy = module.chunk_energy or module.energy
    v = energy.v.double() * (energy.g.double() / energy.v.double().norm(dim=1)).unsqueeze(1)
    queries = energy.make_queries(state.unsqueeze(1)).double()
    keys = energy.make_keys(memory).double()
    for b, h in itertools.product(range(B), range(H)):
        first, last = int(step.begins[b, h]), int(step.positions[b, h])
        if last < 0:
            continue
        weights = torch.ones(1).double()
        if module.chunk_energy is not None:
            weights = ((queries[b, h] + keys[b, h, first:last + 1]).tanh() @ v[h]).softmax(0)
        contexts[b, h] = weights @ memory[b, first:last + 1].double()
    return contexts.flatten(1)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # which tells the reason of a skip
