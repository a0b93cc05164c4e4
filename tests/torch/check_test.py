"""Guards against a check of a user's own alpha that calls a wrong one right, names a toolkit
whose form it is not, or has forms that are not those of the program.
"""

import json
import os
import re
import subprocess
import tempfile
import unittest

import numpy
import torch
import torch.nn.functional as F

import attnbench.torch as at
from attnbench.torch import published
import needs

PROGRAM = os.environ.get("ATTNBENCH")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAN = float("nan")


def drawn(*shape, bias=-4.0, seed=1, dtype=torch.float):
    """p = sigmoid(N(bias, 1))."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(*shape, generator=generator) + bias).sigmoid().to(dtype)


def of_fairseq(p):  # [B, U, T]
    product = F.pad((1 - p + 1e-6).log(), (1, 0))[..., :-1].cumsum(-1).exp()
    rows = [F.pad(torch.ones(len(p), 1), (0, p.size(2) - 1)).to(p)]
    for of_row, c in zip(p.unbind(1), product.unbind(1)):
        rows.append((of_row * c * (rows[-1] / c.clamp(1e-6, 1)).cumsum(-1)).clamp(0, 1))
    return torch.stack(rows[1:], 1)


def clipped_at(least, p):
    """A closed form of nobody: the denominator is clipped to [least, 1]."""
    form = published.Form("nobody", "", least=least)
    return published.alpha_and_starts(form, p.unsqueeze(1), None, "absorb")[0].squeeze(1)


def preserved(alpha, lengths):
    """What fairseq calls mass preservation: the last entry has the rest of the mass."""
    alpha = alpha.clone()
    for row, length in zip(alpha, lengths.tolist()):
        row[..., length - 1] = 0
        row[..., length - 1] = 1 - row.sum(-1).clamp(0, 1)
    return alpha


def exact(p, **more):
    return at.monotonic_attention(p=p.unsqueeze(1), **more).squeeze(1)


class ProgramTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def answer(self, *arguments, **more):
        done = subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True,
                              timeout=120, **more)
        return json.loads(done.stdout)

    def save(self, name, tensor):
        path = os.path.join(self.folder, name)
        numpy.save(path, tensor.numpy())
        return path


@needs.program
class FormsAreThoseOfTheProgram(ProgramTest):
    def expect(self, mechanism, **case):
        """Gives attention [U, T] of `attnbench expect`, in f64."""
        inputs = {name: table.tolist() for name, table in case.pop("inputs").items()}
        return torch.tensor(self.answer("expect", "-", input=json.dumps(
            {"mechanism": mechanism, "options": case, "inputs": inputs}))["attention"],
            dtype=torch.double)

    def presets(self):
        """Gives preset and form of each."""
        listed = [form for form in self.answer("list", "--json")["forms"]
                  if form["name"] != "triangular"]
        self.assertEqual([(form["toolkit"], form["clips"]) for form in listed],
                         [(form.toolkit, form.clips) for form in published.FORMS])
        return zip([form["name"] for form in listed], published.FORMS)

    def assert_same(self, found, wanted, name):
        error = (found - wanted).abs() / wanted.abs().clamp(min=1e-300)
        self.assertLess(float(error.max()), 1e-12, name)

    def test_alpha_is_that_of_the_program_for_each_end(self):
        # Every clip clips: products of 1 - p fall to 1e-20, or to 0, and those of fairseq 0.10
        # rise above 1, as does its alpha.
        p = drawn(4, 30, bias=1.0, dtype=torch.double)
        p[0, :9] = 0
        p[0, 9] = 1
        p[1, :20] = 0
        p[2, 15] = 1 - 1e-12
        for preset, form in self.presets():
            for end in ("absorb", "stay_last", "restart"):
                used = p.clone()
                if end == "stay_last":
                    used[:, -1] = 1
                found, _ = published.alpha_and_starts(form, used.view(1, 1, 4, 30), None, end)
                wanted = self.expect("monotonic", variant="parallel", preset=preset, end=end,
                                     inputs={"p_choose": p})
                self.assert_same(found[0, 0], wanted, (preset, end))

    def test_alpha_in_f32_is_that_of_the_program_up_to_rounding(self):
        p = drawn(1, 20, 1024)
        path = self.save("p.npy", p)
        for preset, form in self.presets():
            alpha, _ = published.alpha_and_starts(form, p.unsqueeze(1), None, "absorb")
            found = self.answer("diagnose", "--p", path, "--alpha", self.save("a.npy", alpha[0]),
                                "--json")["alpha"]["looks_like"]
            differences = {one["preset"]: one["difference"] for one in found}
            # PyTorch adds logs in f64, the program in f32.
            self.assertLess(differences[preset], 5e-6, preset)
            mine = at.check(alpha[0, 0], p=p[0]).looks_like
            self.assertEqual(list(mine), [
                form.toolkit for name, form in self.presets() if name in differences])

    def test_beta_is_that_of_the_program(self):
        p = drawn(3, 12, bias=0.0, dtype=torch.double)
        u = 9 * drawn(3, 12, seed=2, dtype=torch.double)
        u[0, 3] = 14  # what is clipped at 1e-5 of it
        inputs = {"p_choose": p, "chunk_energies": u}
        four = lambda x: x.view(1, 1, 3, 12)
        for preset, form in self.presets():
            alpha, starts = published.alpha_and_starts(form, four(p), None, "absorb")
            for width in (1, 4, None):
                wanted = self.expect("mocha", variant="parallel", preset=preset, inputs=inputs,
                                     chunk_width=width or 12)
                found = published.exact_chunks(alpha, four(u), width)[0, 0]
                self.assert_same(found, wanted, (preset, width))
            wanted = self.expect("matcha", variant="parallel", preset=preset, inputs=inputs)
            found = published.matcha_chunks(four(p), starts, four(u))[0, 0]
            self.assert_same(found, wanted, preset)
        alpha = at.monotonic_attention(p=four(p))
        for width in (4, None):
            wanted = self.expect("mocha", variant="clipped", inputs=inputs,
                                 chunk_width=width or 12)
            self.assert_same(published.clipped_chunks(alpha, four(u), width)[0, 0], wanted, width)


class Check(unittest.TestCase):
    def test_fairseqs_form_is_found_and_named_at_1024_entries_and_right_at_128(self):
        p = drawn(2, 20, 1024)
        found = at.check(of_fairseq(p), p=p)
        self.assertEqual(list(found.looks_like), ["fairseq 0.10"])
        self.assertFalse(found.is_right)
        self.assertGreater(found.lost_mass, 0.5)
        self.assertIn("\nlooks like fairseq 0.10. Clips: 1 - p: as it is, + 1e-06, in logs; C: "
                      "[1e-06, 1]; alpha: [0, 1]", str(found))
        self.assertIn(f"alpha is wrong: alpha[{found.first_wrong[0]}, {found.first_wrong[1]}] is"
                      " the first output off by more than 0.001 of its mass\n", str(found))
        p = drawn(2, 20, 128)
        found = at.check(of_fairseq(p), p=p)
        self.assertTrue(found.is_right)
        self.assertIn("alpha is right: no output is off by more than 0.001 of its mass\n",
                      str(found))
        self.assertGreater(found.off, 1e-5)

    def test_errors_and_places_are_those_of_a_worked_example(self):
        # Output 1 chooses entry 35 alone, and output 2 each with 1/2: alpha of its first entry
        # is 0.5 min(1, 2^-35 / 1e-10) by MAD, and all that follow in proportion.
        p = torch.full((2, 40), 0.5)
        p[0] = 0
        p[0, 35] = 1
        share = 2**-35 / 1e-10
        found = at.check(clipped_at(1e-10, p.unsqueeze(0))[0], p=p)
        self.assertAlmostEqual(found.error, 0.5 * (1 - share), 5)
        self.assertEqual(found.error_at, (1, 35))
        self.assertEqual((found.first_wrong, found.off_at), ((1,), (1,)))
        self.assertAlmostEqual(found.off, 1 - share, 5)
        self.assertAlmostEqual(found.lost_mass, 1 - share, 5)
        self.assertAlmostEqual(found.difference, (1 - 2**-5) * (1 - share) / (2 - 2**-5), 5)
        # The tolerance is a share of the output's mass.
        self.assertIsNone(at.check(exact(p[None])[0], p=p, tolerance=1e-6).first_wrong)
        self.assertIsNone(at.check(clipped_at(1e-10, p[None])[0], p=p, tolerance=0.8).first_wrong)
        rare = p.clone()
        rare[0, 35] = 1e-6
        self.assertEqual(at.check(clipped_at(1e-10, rare[None])[0], p=rare).first_wrong, (1,))
        # Mass that is made up is no loss.
        found = at.check(2 * exact(p[None])[0], p=p)
        self.assertEqual((found.first_wrong, found.lost_mass), ((0,), 0))
        self.assertAlmostEqual(found.off, 1)

    def test_an_exact_alpha_is_right_and_looks_like_no_form_in_every_type(self):
        for dtype in (torch.float, torch.double, torch.half, torch.bfloat16):
            p = drawn(2, 20, 256, dtype=dtype)
            found = at.check(exact(p), p=p)
            self.assertTrue(found.is_right, dtype)
            self.assertTrue(found.is_exact, dtype)
            self.assertEqual(found.looks_like, {})
            self.assertTrue(str(found).endswith("\nexact, to rounding"))
            # Where nothing is clipped forms are exact, too.
            short = drawn(2, 3, 9, dtype=torch.double)
            for form in published.FORMS[:3]:
                alpha, _ = published.alpha_and_starts(form, short.unsqueeze(1), None, "absorb")
                self.assertEqual(at.check(alpha.to(dtype), p=short.unsqueeze(1)).looks_like, {})
        e = torch.randn(2, 20, 256) - 4
        alpha = at.monotonic_attention(energies=e.unsqueeze(1)).squeeze(1)
        self.assertTrue(at.check(alpha, energies=e).is_exact)

    def test_a_form_of_nobody_looks_like_none(self):
        p = drawn(2, 20, 1024)
        for alpha in (clipped_at(1e-8, p), 0.5 * exact(p), torch.full_like(p, 1 / 1024)):
            found = at.check(alpha, p=p)
            self.assertFalse(found.is_right)
            self.assertEqual(found.looks_like, {})
            self.assertTrue(str(found).endswith("\nlooks like no published form"))
        # MAD's has 0.291 of the mass of output 2: near, but not that.
        p = torch.full((1, 2, 40), 0.5)
        p[0, 0] = 0
        p[0, 0, 35] = 1
        alpha = exact(p)
        alpha[0, 1] *= 0.28
        self.assertEqual(at.check(alpha, p=p).looks_like, {})
        # As near to the exact alpha as to a form.
        p = drawn(2, 20, 300)
        alpha = (of_fairseq(p) + exact(p)) / 2
        self.assertEqual(at.check(alpha, p=p).looks_like, {})

    def test_every_form_is_named_in_every_type_with_those_that_it_is_not_told_from(self):
        p = drawn(1, 20, 1024)
        for dtype in (torch.float, torch.double, torch.half, torch.bfloat16):
            used = p.to(dtype)
            for form in published.FORMS:
                alpha, _ = published.alpha_and_starts(
                    form, used.unsqueeze(1).to(torch.promote_types(dtype, torch.float)), None,
                    "absorb")
                names = list(at.check(alpha[:, 0].to(dtype), p=used).looks_like)
                self.assertIn(form.toolkit, names, dtype)
                self.assertLessEqual(len(names), 3)

    def test_lengths_start_end_and_heads_are_those_of_the_operator(self):
        p, lengths = drawn(2, 3, 5, 40, bias=-1.0), torch.tensor([40, 23])
        start = drawn(2, 3, 40, bias=-3.0)
        more = {"lengths": lengths, "start": start, "end": "stay_last"}
        alpha = at.monotonic_attention(p=p, **more)
        self.assertTrue(at.check(alpha, p=p, **more).is_exact)
        for name in more:
            less = {key: value for key, value in more.items() if key != name}
            self.assertFalse(at.check(alpha, p=p, **less).is_right, name)
        # Weights of padding are wrong.
        alpha[1, 2, 4, 30] = 0.01
        found = at.check(alpha, p=p, **more)
        self.assertEqual(found.first_wrong, (1, 2, 4))
        self.assertEqual(found.error_at, (1, 2, 4, 30))
        # As is a weight where there is no mass.
        nothing = at.check(torch.full((1, 4), 0.1), p=torch.zeros(1, 4))
        self.assertEqual(nothing.first_wrong, (0,))
        self.assertLess(nothing.off, float("inf"))
        restart = at.monotonic_attention(p=p, lengths=lengths, end="restart")
        self.assertTrue(at.check(restart, p=p, lengths=lengths, end="restart").is_exact)
        self.assertFalse(at.check(restart, p=p, lengths=lengths).is_right)

    def test_what_toolkits_put_into_the_last_entry_does_not_hide_their_form(self):
        # Where nothing is lost the last entry has most of the mass, else nearly nothing.
        for T, is_right in ((300, True), (1024, False)):
            p, lengths = drawn(2, 20, T), torch.tensor([T, T - 100])
            p[1, :, T - 100:] = 0
            alpha = preserved(of_fairseq(p), lengths)
            p[1, :, T - 100:] = NAN  # is not read
            more = {"p": p, "lengths": lengths, "end": "stay_last"}
            found = at.check(alpha, **more)
            self.assertEqual(list(found.looks_like), ["fairseq 0.10"])
            self.assertEqual(found.is_right, is_right)
            self.assertTrue(at.check(exact(**more), **more).is_exact)

    def test_forms_begin_where_the_scan_does(self):
        p = drawn(2, 20, 1024)
        start = F.pad(drawn(2, 24), (0, 1000))
        alpha, _ = published.alpha_and_starts(
            published.FORMS[4], p.unsqueeze(1), start.unsqueeze(1), "absorb")
        found = at.check(alpha.squeeze(1), p=p, start=start)
        self.assertEqual(list(found.looks_like), ["fairseq 0.10"])

    def test_forms_that_clip_nothing_which_tells_them_apart_are_all_named(self):
        # What fairseq 0.10 adds is lost in rounding, as p is 0 or 1 nearly everywhere.
        p = (8 * torch.randn(1, 20, 100, generator=torch.Generator().manual_seed(3))).sigmoid()
        found = at.check(of_fairseq(p), p=p)
        self.assertEqual(list(found.looks_like), ["neural_sp", "fairseq 0.10", "fairseq 0.12"])
        # Of a beta, too; MoChA-pytorch's alpha is not finite here.
        u = torch.zeros_like(p).unsqueeze(1)
        beta = published.exact_chunks(of_fairseq(p).unsqueeze(1), u, 3).squeeze(1)
        found = at.check(beta=beta, p=p, chunk_energies=u.squeeze(1), width=3)
        self.assertTrue(set(found.looks_like) >= {"neural_sp", "fairseq 0.10", "fairseq 0.12"})

    def test_a_beta_is_told_by_its_alpha_and_its_chunks(self):
        p, u = drawn(1, 2, 20, 1024), 6 * torch.randn(1, 2, 20, 1024)
        lengths = torch.tensor([1000])
        more = {"p": p, "chunk_energies": u, "lengths": lengths}
        beta, alpha = at.mocha_attention(width=4, **more)
        self.assertTrue(at.check(beta=beta, width=4, **more).is_exact)
        self.assertFalse(at.check(beta=beta, width=5, **more).is_right)
        self.assertTrue(at.check(
            beta=at.mocha_attention(width=None, **more)[0], width=None, **more).is_exact)
        # Closed forms of alpha see p = 0 in the padding, and `check` nothing.
        p[..., 1000:], u[..., 1000:] = 0, -30
        closed = of_fairseq(p[0])[None]
        notebook = ", chunks of MoChA's notebook"
        made_of = (
            (published.exact_chunks(closed, u, 4), "fairseq 0.10"),
            (published.clipped_chunks(closed, u, 4), "fairseq 0.10" + notebook),
            (published.clipped_chunks(alpha, u, 4), "exact alpha" + notebook))
        p[..., 1000:] = u[..., 1000:] = NAN
        # A second sequence has no entry.
        p, u = torch.cat([p, p]), torch.cat([u, u])
        more = {"p": p, "chunk_energies": u, "lengths": torch.tensor([1000, 0])}
        for made, name in made_of:
            made = torch.cat([made, torch.zeros_like(made)])
            found = at.check(beta=made, width=4, **more)
            self.assertEqual(list(found.looks_like), [name])
            self.assertIn("beta is wrong: beta[0, 0, ", str(found))

    def test_a_beta_without_width_is_that_of_matcha(self):
        p, u = drawn(1, 1, 4, 120), 6 * torch.randn(1, 1, 4, 120)
        lengths = torch.tensor([100])
        p[..., 100:] = 0
        closed = of_fairseq(p[0])[None]
        starts = torch.cat([F.pad(torch.ones(1, 1, 1, 1), (0, 119)), closed[:, :, :-1]], 2)
        made = published.matcha_chunks(p, starts, u)
        p[..., 100:] = u[..., 100:] = NAN
        more = {"p": p, "chunk_energies": u, "lengths": lengths}
        beta = at.matcha_attention(**more)[0]
        self.assertTrue(at.check(beta=beta, **more).is_exact)
        self.assertFalse(at.check(beta=beta, width=4, **more).is_right)
        self.assertEqual(list(at.check(beta=made, **more).looks_like), ["fairseq 0.10"])

    def test_a_beta_of_a_process_that_stays_at_the_last_entry_is_told(self):
        p, u = drawn(1, 1, 20, 300), 6 * torch.randn(1, 1, 20, 300)
        used = p.clone()
        used[..., -1] = 1
        alpha, _ = published.alpha_and_starts(published.FORMS[4], used, None, "stay_last")
        found = at.check(beta=published.exact_chunks(alpha, u, 3), p=p, chunk_energies=u, width=3,
                         end="stay_last")
        self.assertEqual(list(found.looks_like), ["fairseq 0.10"])

    def test_gradients_views_and_arguments_are_left_as_they_are(self):
        p = drawn(2, 3, 8, bias=0.0).requires_grad_()
        alpha = exact(p)
        before = alpha.detach().clone()
        self.assertTrue(at.check(alpha, p=p).is_exact)
        self.assertTrue(at.check(alpha.transpose(0, 1)[:, :1].transpose(0, 1), p=p[:1]).is_exact)
        self.assertTrue(torch.equal(alpha, before))
        self.assertIsNone(p.grad)

    def test_what_cannot_be_checked_is_refused_by_its_name(self):
        p = drawn(2, 3, 4)
        alpha = exact(p)

        def changed(value):
            wrong = alpha.clone()
            wrong[1, 2, 3] = value
            return wrong
        beta = {"beta": alpha, "p": p, "chunk_energies": p}
        for kind, text, given in (
                (ValueError, "give either alpha or beta", {"p": p}),
                (ValueError, "give either alpha or beta", {**beta, "alpha": alpha}),
                (ValueError, "give either p or energies", {"alpha": alpha}),
                (ValueError, "give either p or energies", {"alpha": alpha, "p": p, "energies": p}),
                (ValueError, "p must have the shape of alpha, [2, 3, 4], but its shape is [2, 3, 3",
                 {"alpha": alpha, "p": p[..., 1:]}),
                (ValueError, "chunk_energies must have the shape of beta",
                 {**beta, "chunk_energies": p[:1]}),
                (ValueError, "chunk_energies must be given with beta", {"beta": alpha, "p": p}),
                (ValueError, "chunk_energies are of beta",
                 {"alpha": alpha, "p": p, "chunk_energies": p}),
                (ValueError, "width is of beta", {"alpha": alpha, "p": p, "width": 4}),
                (ValueError, "width must be at least 1", {**beta, "width": 0}),
                (TypeError, "width must be an int", {**beta, "width": "4"}),
                (ValueError, "alpha must be [U, T], [B, U, T] or [B, H, U, T]",
                 {"alpha": alpha[None, None], "p": p[None, None]}),
                (ValueError, "alpha must be [U, T], [B, U, T] or [B, H, U, T]",
                 {"alpha": alpha[0, 0], "p": p[0, 0]}),
                (ValueError, "its shape is [2, 3, 0]",
                 {"alpha": alpha[..., :0], "p": p[..., :0]}),
                (ValueError, "alpha must be finite and not negative, but alpha[1, 2, 3] is nan",
                 {"alpha": changed(NAN), "p": p}),
                (ValueError, "alpha[1, 2, 3] is -0.25", {"alpha": changed(-0.25), "p": p}),
                (ValueError, "beta[1, 2, 3] is inf", {**beta, "beta": changed(float("inf"))}),
                (ValueError, "p must be in [0, 1], but p", {"alpha": alpha, "p": changed(1.5)}),
                (ValueError, "p must be in [0, 1], but p", {"alpha": alpha, "p": changed(NAN)}),
                (TypeError, "alpha must be a tensor, but is of type ndarray",
                 {"alpha": alpha.numpy(), "p": p}),
                (TypeError, "p must be a tensor, but is of type list",
                 {"alpha": alpha, "p": p.tolist()}),
                (TypeError, "alpha must be of a floating point type, but is int64",
                 {"alpha": alpha.long(), "p": p}),
                (TypeError, "p must be of a floating point type, but is complex64",
                 {"alpha": alpha, "p": p + 0j}),
                (TypeError, "alpha has no numbers", {"alpha": alpha.to("meta"), "p": p}),
                (TypeError, "p has no numbers", {"alpha": alpha, "p": p.to("meta")}),
                (TypeError, "alpha must be dense", {"alpha": alpha.to_sparse(), "p": p}),
                (ValueError, "start must be [2, 4], as alpha is, but its shape is [2, 3]",
                 {"alpha": alpha, "p": p, "start": p[:, 0, 1:]}),
                (TypeError, "start must be of a floating point type",
                 {"alpha": alpha, "p": p, "start": p[:, 0].long()}),
                (ValueError, "lengths must be in [0, T] with T = 4, but lengths[1] is 5",
                 {"alpha": alpha, "p": p, "lengths": torch.tensor([4, 5])}),
                (TypeError, "lengths must be int64",
                 {"alpha": alpha, "p": p, "lengths": torch.tensor([4.0, 3.0])}),
                (ValueError, "end", {"alpha": alpha, "p": p, "end": "none"}),
                (TypeError, "end must be a text", {"alpha": alpha, "p": p, "end": None}),
                (TypeError, "tolerance must be a number",
                 {"alpha": alpha, "p": p, "tolerance": "1e-3"}),
                (ValueError, "tolerance must be in (0, 1), but is 0",
                 {"alpha": alpha, "p": p, "tolerance": 0})):
            with self.subTest(text=text, given=list(given)):
                with self.assertRaises(kind) as caught:
                    at.check(**given)
                self.assertIn(text, str(caught.exception))


class ThePage(unittest.TestCase):
    def test_the_example_runs_and_prints_what_stands_below_it(self):
        with open(os.path.join(ROOT, "docs", "operators.md"), encoding="utf-8") as file:
            (code, printed), = re.findall(
                r"^```python\n([^`]*check\([^`]*)^```\n\n```\n(.*?)^```$", file.read(), re.M | re.S)
        lines = []
        exec(compile(code, "docs/operators.md", "exec"), {"print": lines.append})
        self.assertEqual("\n".join(map(str, lines)) + "\n", printed)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # which tells the reason of a skip
