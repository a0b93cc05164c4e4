"""Guards against examples of docs/operators.md that do not run, and against replacements of
toolkits' functions that do not give what those compute where nothing is clipped: their
formulas, in f64 and on inputs that are neither long nor sharp.
"""

import os
import re
import unittest

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
B, H, U, T = 2, 3, 4, 6
LENGTHS = torch.tensor([6, 4])


def drawn(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).double()


def examples():
    """Runs the page's examples one after another, and gives what they define."""
    with open(os.path.join(ROOT, "docs", "operators.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```$", file.read(), re.M | re.S)
    torch.manual_seed(5)
    names = {}
    for block in blocks:
        exec(compile(block, "docs/operators.md", "exec"), names)
    return len(blocks), names


COUNT, PAGE = examples()


def closed_form(p, previous):
    """The next alpha of MAD appendix C.1, from cumulative products of 1 - p and their inverse."""
    products = (1 - p).cumprod(-1)
    products = torch.cat([torch.ones_like(products[..., :1]), products[..., :-1]], -1)
    return p * products * (previous / products).cumsum(-1)


def all_alphas(p, start):
    """[..., U, T] from p and where the first output starts, [..., T]."""
    alphas = []
    for i in range(p.size(-2)):
        start = closed_form(p[..., i, :], start)
        alphas.append(start)
    return torch.stack(alphas, -2)


def windows(x, back, ahead):
    """The moving sums of x over the `back` entries before, its own, and `ahead` after it."""
    padded = torch.nn.functional.pad(x, (back, ahead))
    return padded.unfold(-1, back + ahead + 1, 1).sum(-1)


def chunkwise(alpha, u, width):
    """beta of MoChA eqs 18 and 19."""
    return u.exp() * windows(alpha / windows(u.exp(), width - 1, 0), 0, width - 1)


class ToolkitsTest(unittest.TestCase):
    def setUp(self):
        self.p = drawn(B, U, T).sigmoid()
        self.u = drawn(B, U, T, seed=2)
        self.padding = torch.arange(T) >= LENGTHS.unsqueeze(1)
        first = torch.zeros(T).double()
        first[0] = 1
        self.first = first

    def assert_close(self, a, b):
        self.assertEqual(a.shape, b.shape)
        self.assertLessEqual(float((a - b).detach().abs().max()), 1e-6)

    def test_every_example_of_the_page_was_run(self):
        self.assertEqual(COUNT, 11)

    def test_replacements_take_ten_lines_or_little_more(self):
        with open(os.path.join(ROOT, "docs", "operators.md"), encoding="utf-8") as file:
            text = file.read()
        code = re.findall(r"^```python\n(.*?)^```$", text.split("## In place of toolkits")[1],
                          re.M | re.S)
        for block in code:
            for one in re.split(r"^(?=def |class )", block, flags=re.M):
                self.assertLessEqual(len(one.strip().splitlines()), 16)

    def test_fairseq_alignment_and_mass_preservation(self):
        p = self.p.masked_fill(self.padding.unsqueeze(1), 0)
        alpha = all_alphas(p, self.first)
        found = PAGE["expected_alignment_from_p_choose"](self.p, self.padding)
        self.assert_close(found, alpha)
        # What a row lacks is added to its last entry.
        kept = alpha.clone()
        for b, n in enumerate(LENGTHS):
            kept[b, :, n - 1] += 1 - alpha[b].sum(1)
        found = PAGE["expected_alignment_from_p_choose"](self.p, self.padding, end="stay_last")
        self.assert_close(found, kept)
        self.assert_close(PAGE["expected_alignment_from_p_choose"](self.p),
                          all_alphas(self.p, self.first))

    def test_fairseq_soft_attention_of_a_given_alpha(self):
        alpha = drawn(B, U, T, seed=3).softmax(2)
        for width in (1, 3, None):
            expected = chunkwise(alpha, self.u, width or T)
            self.assert_close(PAGE["expected_soft_attention"](alpha, self.u, chunk_size=width),
                              expected)
        alpha = alpha.masked_fill(self.padding.unsqueeze(1), 0)
        u = self.u.masked_fill(self.padding.unsqueeze(1), -50)
        self.assert_close(PAGE["expected_soft_attention"](alpha, self.u, self.padding),
                          chunkwise(alpha, u, T))

    def test_neural_sp_alpha_and_beta(self):
        e = drawn(B, H, U, T, seed=4)
        previous = drawn(B, H, 1, T, seed=5).softmax(3)
        alpha, p = PAGE["parallel_monotonic_attention"](e, previous)
        self.assert_close(p, e.sigmoid())
        self.assert_close(alpha, all_alphas(e.sigmoid(), previous[:, :, 0]))
        torch.manual_seed(3)
        noisy = e + 2 * torch.randn_like(e)
        torch.manual_seed(3)
        alpha, p = PAGE["parallel_monotonic_attention"](e, previous, noise_std=2.0,
                                                        stableemit_weight=0.1)
        self.assert_close(p, 0.9 * noisy.sigmoid())
        self.assert_close(alpha, all_alphas(p, previous[:, :, 0]))
        for width, shared in ((2, False), (-1, False), (2, True)):
            heads = (1 if shared else H) * 2
            u = drawn(B, heads, U, T, seed=6)
            expected = [chunkwise(alpha[:, m], u[:, c if shared else 2 * m + c],
                                  T if width == -1 else width) for m in range(H) for c in range(2)]
            made = PAGE["soft_chunkwise_attention"](alpha, u, None, width, 2, 1.5, shared)
            self.assert_close(made, 1.5 * torch.stack(expected, 1))

    def test_seamless_blocks_are_chosen_as_their_last_entries(self):
        for entries in (6, 5):
            e = drawn(B, H, U, entries, seed=8)
            p_choose = drawn(B, H, U, 3, seed=9).sigmoid()
            beta, alpha = PAGE["emma_attention"](p_choose, e)
            # What no whole block has chosen stays at the last entry.
            whole = entries // 2
            blocks = all_alphas(p_choose[..., :whole], self.first[:whole])
            expected = torch.zeros_like(e)
            expected[..., 1::2] = blocks
            expected[..., -1] += 1 - blocks.sum(3)
            self.assert_close(alpha, expected)
            self.assert_close(beta, chunkwise(expected.flatten(0, 1), e.flatten(0, 1),
                                              entries).view_as(e))

    def test_addons_alignments_of_one_output(self):
        previous = drawn(B, T, seed=7).softmax(1)
        found = PAGE["monotonic_attention_of_addons"](self.p[:, 0], previous)
        self.assert_close(found, closed_form(self.p[:, 0], previous))
        # mode "hard": the first chosen entry from the last choice on.
        p = torch.tensor([[0, 1, 0, 1, 1, 0.]] * 2)
        last = torch.tensor([[0, 0, 1, 0, 0, 0.], [0, 0, 0, 0, 0, 1.]])
        self.assertEqual(PAGE["monotonic_attention_of_addons"](p, last, "hard").tolist(),
                         [[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0]])

    def test_addons_mechanism(self):
        memory, query = drawn(B, T, 3), drawn(B, 5, seed=2)
        torch.manual_seed(1)
        made = PAGE["BahdanauMonotonicAttention"](5, 4, memory.float(), LENGTHS,
                                                  score_bias_init=-1.0)
        energy = made.energy.double()
        made.prepared = made.prepare(memory, LENGTHS)
        v = energy.g * energy.v[0] / energy.v[0].norm()
        score = (energy.key(memory) + energy.query(query).unsqueeze(1)).tanh() @ v - 1
        state = self.first.expand(B, T)
        expected = closed_form(score.sigmoid().masked_fill(self.padding, 0), state)
        alignments, following = made(query, state)
        self.assert_close(alignments, expected)
        self.assert_close(made(query, following)[0], closed_form(
            score.sigmoid().masked_fill(self.padding, 0), expected))

    def test_espnet_attention_of_an_rnn_decoder(self):
        torch.manual_seed(1)
        attention = PAGE["AttMoChA"](3, 5, 4, att_win=2, score_bias_init=-1.0).double()
        with torch.no_grad():
            attention.mocha.noise = 0.0
        encoded, previous = drawn(B, T, 3), None
        whole = attention.mocha(torch.stack([torch.zeros(B, 5).double(), drawn(B, 5, seed=2)], 1),
                                encoded, LENGTHS)
        for i, state in enumerate((None, drawn(B, 5, seed=2))):
            context, previous = attention(encoded, LENGTHS.tolist(), state, previous)
            self.assert_close(context, whole.contexts[:, i])
            self.assert_close(previous, whole.alpha[:, 0, i])
        attention.reset()
        self.assertIsNone(attention.prepared)


if __name__ == "__main__":
    unittest.main()
