"""Guards against a mechanism of an author's own that Python cannot train: the library here
has a newcomer, `tempered`, by a folder and a line in the registry alone (tests/CMakeLists.txt).
"""

import math
import unittest

import torch

import attnbench.torch as at
import needs

B, H, U, T = 2, 2, 3, 5
LENGTHS = torch.tensor([T, 3])
KEYS = "soft, monotonic, mocha, matcha, tempered"
# Each mechanism with its options, and whether it takes chunk energies.
CALLS = (
    ("tempered", {"temperature": 0.5}, False),
    ("soft", {}, False),
    ("monotonic", {"end": "stay_last"}, False),
    ("mocha", {"chunk_width": 2, "end": "restart"}, True),
    ("mocha", {"chunk_width": "inf"}, True),
    ("matcha", {}, True),
)


def drawn(*shape, seed=1, dtype=torch.double):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@needs.native
class EnergyAttentionTest(unittest.TestCase):
    def setUp(self):
        self.energies, self.chunk = drawn(B, H, U, T), drawn(B, H, U, T, seed=2)

    def attention(self, mechanism, options=None, chunk=None, energies=None, lengths=LENGTHS):
        return at.energy_attention(
            mechanism, self.energies if energies is None else energies, chunk, lengths, options)

    def test_a_newcomer_is_trained_for_ten_steps(self):
        torch.manual_seed(1)
        states, memory = torch.randn(B, U, 6), torch.randn(B, T, 8)
        wanted = memory[:, [0, 2, 1]]
        layer = torch.nn.Linear(6, 8)
        optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
        losses = []
        for _ in range(10):
            energies = layer(states) @ memory.transpose(1, 2)
            attention = at.energy_attention(
                "tempered", energies.unsqueeze(1), lengths=LENGTHS,
                options={"temperature": 2}).squeeze(1)
            loss = (attention @ memory - wanted).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], 0.5 * losses[0], losses)

    def test_gradients_are_those_of_finite_differences(self):
        for mechanism, options, has_chunk in CALLS:
            inputs = [self.energies.clone().requires_grad_()]
            if has_chunk:
                inputs.append(self.chunk.clone().requires_grad_())
            self.assertTrue(torch.autograd.gradcheck(
                lambda *x: at.energy_attention(mechanism, x[0], *x[1:], lengths=LENGTHS,
                                               options=options), inputs), mechanism)

    def test_options_and_lengths_reach_the_mechanism(self):
        e, u, n = self.energies, self.chunk, LENGTHS
        beyond = torch.arange(T) >= n.view(B, 1, 1, 1)
        for expected, made in (
            ((e / 0.5).masked_fill(beyond, -math.inf).softmax(3),
             self.attention("tempered", {"temperature": 0.5})),
            (at.monotonic_attention(energies=e, lengths=n, end="stay_last"),
             self.attention("monotonic", {"end": "stay_last"})),
            (at.mocha_attention(u, 2, energies=e, lengths=n, end="restart")[0],
             self.attention("mocha", {"chunk_width": 2, "end": "restart"}, u)),
            (at.mocha_attention(u, 4, energies=e, lengths=n)[0],
             self.attention("mocha", None, u)),
            (at.mocha_attention(u, None, energies=e, lengths=n)[0],
             self.attention("mocha", {"chunk_width": math.inf}, u)),
            (at.matcha_attention(u, energies=e, lengths=n)[0],
             self.attention("matcha", {"strict": True}, u)),
        ):
            self.assertTrue(torch.allclose(made, expected, rtol=1e-12, atol=1e-15))

    def test_scripts_and_shapes_without_numbers_follow_it(self):
        scripted = torch.jit.script(at.energy_attention)
        made = scripted("tempered", self.energies, None, LENGTHS, {"temperature": "0.5"})
        self.assertTrue(torch.equal(made, self.attention("tempered", {"temperature": 0.5})))
        on_meta = self.attention("mocha", None, self.chunk.to("meta"), self.energies.to("meta"))
        self.assertEqual((on_meta.shape, on_meta.dtype, on_meta.device.type),
                         (self.energies.shape, torch.double, "meta"))

    def test_what_a_mechanism_does_not_have_is_refused_by_the_name_of_the_argument(self):
        e, u = self.energies, self.chunk
        infinite = e.clone()
        infinite[1, 0, 2, 1] = -math.inf
        for text, call in {
            f"mechanism must be one of {KEYS}, but is 'sotf'": lambda: self.attention("sotf"),
            f"mechanism must be one of {KEYS}: attention of memory does not follow from"
            " energies, but from encoder_scores, decoder_scores":
                lambda: self.attention("memory"),
            f"mechanism must be one of {KEYS}: attention of newcomer does not follow from"
            " energies, but from no scores": lambda: self.attention("newcomer"),
            "chunk_energies must not be given: mechanism soft takes none":
                lambda: self.attention("soft", None, u),
            "chunk_energies is missing: mechanism mocha takes them":
                lambda: self.attention("mocha"),
            "chunk_energies of shape [2, 2, 3, 4] does not fit energies of shape":
                lambda: self.attention("matcha", None, u[..., 1:]),
            "energies must be finite, but energies[1, 0, 2, 1] is -inf":
                lambda: self.attention("soft", energies=infinite),
            "options: tempered has no 'warmth', but temperature":
                lambda: self.attention("tempered", {"warmth": 1}),
            "options: monotonic has no 'chunk_width', but end, threshold, strict, sample, keys":
                lambda: self.attention("monotonic", {"chunk_width": 2}),
            "options: noise would be the same in every call; add it to energies":
                lambda: self.attention("monotonic", {"noise": 1}),
            "options: chunk_width must be a whole number from 1, but is '0'":
                lambda: self.attention("mocha", {"chunk_width": 0}, u),
            "options: chunk_width must be a whole number from 1, but is '2.5'":
                lambda: self.attention("mocha", {"chunk_width": 2.5}, u),
            "options: temperature must be a number from 0.01, but is 'nan'":
                lambda: self.attention("tempered", {"temperature": math.nan}),
            "options: temperature must be a number from 0.01, but is '0.5x'":
                lambda: self.attention("tempered", {"temperature": "0.5x"}),
            "options: threshold must be a number from 0 to 1, but is '2'":
                lambda: self.attention("monotonic", {"threshold": 2}),
            "options: strict must be true or false, but is '1'":
                lambda: self.attention("monotonic", {"strict": 1}),
            "options: end must be one of absorb, stay_last, restart, but is 'stop'":
                lambda: self.attention("monotonic", {"end": "stop"}),
            "options: each must be NAME=VALUE, but one is 'hot'": lambda:
                torch.ops.attnbench.energy_attention("tempered", e, None, None, "hot"),
            "mechanism tempered has no temperature above 1000":
                lambda: self.attention("tempered", {"temperature": 1e4}),
        }.items():
            with self.assertRaises(ValueError) as caught:
                call()
            self.assertIn(text, str(caught.exception))

    def test_what_is_of_another_type_is_refused(self):
        for text, call in {
            "mechanism must be a text, but is of type int": lambda: self.attention(7),
            "energies must be a tensor, but is of type list":
                lambda: at.energy_attention("soft", [1.0]),
            "energies must be float32, float64, float16 or bfloat16, but is int64":
                lambda: at.energy_attention("soft", self.energies.long()),
            "options must be a dict, but is of type list":
                lambda: self.attention("soft", ["keys"]),
            "options: a name must be a text, but is of type int":
                lambda: self.attention("soft", {1: 1}),
            "options: end must be a text, a number or a bool, but is of type NoneType":
                lambda: self.attention("monotonic", {"end": None}),
        }.items():
            with self.assertRaises(TypeError) as caught:
                call()
            self.assertIn(text, str(caught.exception))


if __name__ == "__main__":
    unittest.main(verbosity=2)  # which tells the reason of a skip
