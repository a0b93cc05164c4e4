"""attnbench diagnose from outside: the stored facts of other implementations, arrays of
numpy in every form, and clear errors; `expect` on the same arrays.
"""

import io
import json
import os
import re
import unittest
import zipfile

import numpy

from documents import strict, validate
from result_files import ResultFilesTest, run


def by_name(mechanism):
    return {" ".join(filter(None, (one["variant"], one["preset"]))): one
            for one in mechanism["variants"]}


def drawn(*shape):
    """p = sigmoid(N(-4, 1))."""
    e = numpy.random.default_rng(1).normal(-4, 1, shape)
    return (1 / (1 + numpy.exp(-e))).astype("f4")


def of_fairseq(p):  # [B, U, T]
    logs = numpy.log(1 - p + numpy.float32(1e-6))
    product = numpy.exp(numpy.cumsum(logs, 2, dtype="f4") - logs)
    rows = [numpy.eye(1, p.shape[2], dtype="f4")]
    for of_row, c in zip(p.swapaxes(0, 1), product.swapaxes(0, 1)):
        rows.append((of_row * c * (rows[-1] / c.clip(1e-6, 1)).cumsum(1)).clip(0, 1))
    return numpy.stack(rows[1:], 1)


class Diagnose(ResultFilesTest):
    def save(self, name, array):
        numpy.save(self.path(name), array)
        return self.path(name)

    def diagnose(self, *arguments):
        out, err = self.gives(0, "diagnose", *arguments, "--json")
        self.assertEqual(err, "")
        document = strict(out)
        validate(document, "diagnosis")
        return document

    def test_a_closed_form_is_called_wrong_where_its_bound_clips(self):
        # Output 1 chooses entry 35 alone; for output 2 every p is a half.
        p = numpy.full((2, 40), 0.5)
        p[0] = 0
        p[0, 35] = 1
        document = self.diagnose("--p", self.save("p.npy", p))
        self.assertEqual((document["sequences"], document["output_length"],
                          document["memory_length"]), (1, 2, 40))
        # 2^-35: what the clip must not be above.
        self.assertAlmostEqual(document["bound"]["log10"], -10.54, delta=0.01)
        self.assertEqual(document["bound"]["at"]["output"], 2)
        found = by_name(document["mechanisms"][0])
        self.assertIsNone(found["exact"]["first_wrong"])
        self.assertLess(found["exact"]["attention_error"], 1e-6)
        self.assertIsNone(found["triangular"]["first_wrong"])
        # alpha is 0.1455 instead of 0.5 at 1e-10, nearly 0 at 1e-6.
        for name, error in (("parallel tf", 0.5 - 0.1455), ("parallel nsp", 0.49999)):
            self.assertAlmostEqual(found[name]["attention_error"], error, delta=2e-4)
            self.assertEqual(found[name]["first_wrong"]["output"], 2)
            self.assertEqual(found[name]["worst"]["entry"], 36)
        # Of the mass that is there, 1 - 2^-5, what is found is 0.291 times as much.
        self.assertAlmostEqual(found["parallel tf"]["mass_errors"][1],
                               (1 - 2**-5) * (1 - 0.1455 / 0.5), delta=1e-3)
        self.assertEqual(found["parallel tf"]["mass_errors"][0], 0)
        self.assertAlmostEqual(found["parallel tf"]["mean_mass_error"],
                               found["parallel tf"]["mass_error"] / 2, delta=1e-6)
        self.assertGreater(found["parallel tf"]["gradient"]["relative_error"], 0.01)
        self.assertLess(found["triangular"]["gradient"]["relative_error"], 1e-5)
        out, _ = self.gives(0, "diagnose", "--p", self.path("p.npy"))
        self.assertIn("a form has to clip them at 1e-11 or less", out)
        self.assertRegex(out, r"\n  TensorFlow +0\.35 +0\.69 +0\.34 +\d+ %  output 2 ")

    def test_the_mass_of_an_output_is_told_and_that_less_than_1_is_right(self):
        # Rows of alpha that sum to 0.055 and 0.0066: what is left is never chosen.
        p = numpy.array([[0.03, 0.025 / 0.97, 0], [0.1, 0.06, 0.06]])
        alpha = numpy.zeros((3, 3))
        alpha[0, 0] = 1
        for i in range(2):
            for j in range(3):
                alpha[i + 1, j] = p[i, j] * sum(
                    alpha[i, k] * numpy.prod(1 - p[i, k:j]) for k in range(j + 1))
        exact = alpha[1:].sum(axis=1)
        document = self.diagnose("--p", self.save("p.npy", p))
        numpy.testing.assert_allclose(document["mass"]["outputs"], exact, rtol=1e-6)
        self.assertAlmostEqual(exact[0], 0.055)
        self.assertEqual(document["mass"]["at"], {"sequence": 1, "output": 2, "entry": None})
        self.assertEqual(document["mass"]["least"], document["mass"]["outputs"][1])
        self.assertAlmostEqual(document["mass"]["mean"], exact.mean())
        self.assertEqual(document["choices"], {"near_zero": 1 / 6, "near_one": 0})
        out, _ = self.gives(0, "diagnose", "--p", self.path("p.npy"))
        self.assertIn(f"Mass: an output's attention sums to 0.055, {exact[1]:.3g} in", out)
        self.assertIn("\nBelow 1 is right: the rest is the probability that the sampled process ",
                      out)
        # Of several sequences, and of batches of unlike lengths.
        both = numpy.stack([p, numpy.ones_like(p)])
        arguments = ("--p", self.save("both.npy", both), "--output-lengths",
                     self.save("lengths.npy", numpy.array([1, 2])))
        document = self.diagnose(*arguments)
        numpy.testing.assert_allclose(document["mass"]["outputs"], [exact[0], 1], rtol=1e-6)
        out, _ = self.gives(0, "diagnose", *arguments)
        self.assertIn("sums to 0.055 (output 1 of sequence 1) to 1, 0.685 on average", out)

    def test_an_output_that_has_hardly_any_mass_has_not_moved(self):
        p = numpy.full((40, 8), 0.3)
        document = self.diagnose("--p", self.save("p.npy", p))
        mass = document["mass"]["outputs"]
        with_mass = sum(one >= 0.01 for one in mass) / len(mass)
        self.assertLess(with_mass, 0.5)
        moved = [one["moved"] for one in document["mechanisms"][0]["variants"]]
        self.assertGreater(max(moved), 0)
        self.assertLessEqual(max(moved), with_mass)

    def test_p_near_0_and_1_is_told_and_what_follows(self):
        p = numpy.zeros((3, 40))
        p[:, 7] = 1
        out, _ = self.gives(0, "diagnose", "--p", self.save("p.npy", p))
        self.assertIn("p: 98 % below 0.01, 2 % above 0.99: gradients of energies", out)
        self.assertIn("sums to 1, 1, 1 in the exact expectation.\n", out)
        self.assertNotIn("Below 1", out)
        self.assertNotIn("not finite: ", out)
        out, _ = self.gives(0, "diagnose", "--p", self.save("p.npy", numpy.full((2, 4), 0.5)))
        self.assertIn("p: 0 % below 0.01, 0 % above 0.99.\n", out)

    def test_ones_before_the_mass_leave_no_bound(self):
        p = numpy.array([[0, 0, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1.0]])
        document = self.diagnose("--p", self.save("p.npy", p))
        self.assertIsNone(document["bound"]["log10"])
        found = by_name(document["mechanisms"][0])
        self.assertEqual(found["parallel fsq_op"]["attention_error"], 1)
        # All of it is lost; nothing is at another entry.
        self.assertEqual(found["parallel fsq_op"]["mass_error"], 1)
        self.assertEqual(found["parallel fsq_op"]["moved"], 0)
        self.assertEqual(found["parallel nsp_no_denominator"]["first_wrong"]["output"], 2)
        self.assertIsNone(found["parallel mad2017"]["first_wrong"])
        self.assertEqual(document["mechanisms"][0]["hard_distance"], 0)
        decoding = document["mechanisms"][0]["decoding"]
        self.assertEqual((decoding["zero_contexts"], decoding["memory_read"]), (0, 1))
        # g = 5, 6 of 6 entries.
        self.assertAlmostEqual(decoding["latency"]["ap"], 11 / 12)
        self.assertAlmostEqual(document["expected_latency"]["ap"], 11 / 12)

    def test_what_is_not_finite_is_counted_and_has_no_error(self):
        p = numpy.ones((2, 12))
        p[0, :11] = 0
        document = self.diagnose("--p", self.save("p.npy", p))
        jmin = by_name(document["mechanisms"][0])["parallel jmin"]
        self.assertGreater(jmin["not_finite"], 0)
        self.assertIsNone(jmin["attention_error"])
        # Its product takes in the p of the entry itself: 1e-10 instead of 1.
        self.assertEqual(jmin["first_wrong"]["output"], 1)
        self.assertIsNone(jmin["mass_errors"][1])
        out, _ = self.gives(0, "diagnose", "--p", self.path("p.npy"))
        self.assertRegex(out, r"\n  MoChA-pytorch +not finite +not finite")
        self.assertIn("\nnot finite: a NaN or an infinity, of finite numbers, for example where", out)

    def test_people_read_names_of_toolkits_and_programs_those_of_presets(self):
        forms = strict(self.gives(0, "list", "--json")[0])["forms"]
        path = self.save("p.npy", numpy.full((2, 4), 0.5))
        document = self.diagnose("--p", path, "--chunk-energies", path, "--mechanism",
                                 "monotonic,mocha")
        out, _ = self.gives(0, "diagnose", "--p", path, "--chunk-energies", path,
                            "--mechanism", "monotonic,mocha")
        for mechanism, text in zip(document["mechanisms"], out.split("computed by")[1:]):
            rows = [line[2:32].strip() for line in text.splitlines()[1:]
                    if line.strip() and line.startswith("  ")]
            toolkits = {form["name"]: form["toolkit"] for form in forms}
            self.assertEqual(rows, [toolkits.get(one["preset"] or one["variant"],
                                                 one["variant"])
                                    for one in mechanism["variants"]])
            self.assertIn("fairseq 0.12", rows)
            self.assertIn("fsq_op", [one["preset"] for one in mechanism["variants"]])
        self.assertRegex(out, "here: neural_sp, no_denom; MAD, denominator 1. Right: MAD; TensorFlow; ")

    def test_an_answer_without_mechanisms_is_refused(self):
        path = self.save("p.npy", numpy.full((2, 4), 0.5))
        document = self.diagnose("--p", path)
        self.assertEqual(self.gives(0, "show", self.write("d.json", document))[0],
                         self.gives(0, "diagnose", "--p", path)[0])
        document["mechanisms"] = []
        self.refused(("show", self.write("d.json", document)), "d.json", "mechanisms")

    def test_windows_and_presets_are_told_apart_under_mocha_and_matcha(self):
        p = numpy.full((1, 5), 0.5)
        p[0] = [0, 0, 1, 0, 0]
        u = numpy.array([[0, -20, -15, -3, 0.0]])
        document = self.diagnose(
            "--p", self.save("p.npy", p), "--chunk-energies", self.save("u.npy", u),
            "-w", "2", "--mechanism", "mocha,matcha")
        mocha, matcha = map(by_name, document["mechanisms"])
        self.assertEqual(document["chunk_width"], "2")
        # exp(u - max) clipped at 1e-5 gives 0.5 where 0.006693 is right.
        self.assertAlmostEqual(mocha["clipped"]["attention_error"], 0.4933, delta=5e-5)
        for name in ("exact", "parallel tf", "nested"):
            self.assertLess(mocha[name]["attention_error"], 1e-6, name)
        for name in ("exact", "parallel tf", "parallel mad2017", "nested"):
            self.assertLess(matcha[name]["attention_error"], 1e-6, name)
        self.assertIn("chunk_energies", strict(self.gives(
            0, "expect", self.case(p, u))[0])["gradients"])

    def case(self, p, u):
        numpy.savez(self.path("arrays.npz"), p_choose=p, chunk_energies=u,
                    c=numpy.ones_like(p))
        arrays = self.path("arrays.npz")
        return self.write("case.json", {
            "mechanism": "mocha", "options": {"chunk_width": 2},
            "inputs": {"p_choose": arrays, "chunk_energies": f"{arrays}:chunk_energies",
                       "cotangent": f"{arrays}:c"}})

    def test_an_alpha_of_fairseqs_form_is_found_and_named_at_1024_entries_and_right_at_128(self):
        for T, verdict in ((1024, "wrong; output "), (128, "right; no output ")):
            p = drawn(2, 20, T)
            arguments = ("--p", self.save("p.npy", p), "--alpha",
                         self.save("mine.npy", of_fairseq(p)))
            alpha = self.diagnose(*arguments)["alpha"]
            self.assertEqual([one["preset"] for one in alpha["looks_like"]], ["fsq"])
            self.assertLess(alpha["looks_like"][0]["difference"], 1e-5)
            self.assertGreater(alpha["difference"], 1e-5)
            self.assertEqual(alpha["first_wrong"] is None, T == 128)
            self.assertEqual(alpha["off"] > alpha["tolerance"] == 0.001, T == 1024)
            out, _ = self.gives(0, "diagnose", *arguments)
            self.assertIn(f"mine.npy: {verdict}", out)
            self.assertIn(" is off by more than 0.001 of its mass.\n", out)
            self.assertIn("each output's own mass (0.001), as small outputs need, and\nin the "
                          "table by the error that all are judged by (0.01). Places count from 1",
                          out)
            self.assertIn("\nIt looks like fairseq 0.10. Clips: 1 - p: as it is, + 1e-06, in logs; "
                          "C: [1e-06, 1]; alpha: [0, 1]\n", out)
            rows = dict(re.findall(r"^  (your alpha|fairseq 0.10) +(\S+ +\S+ +\S+ +\d+ %) ", out,
                                   re.MULTILINE))
            mine, fairseq = (row.split() for row in (rows["your alpha"], rows["fairseq 0.10"]))
            self.assertAlmostEqual(float(mine[0]), float(fairseq[0]), delta=1e-6)

    def test_errors_of_an_alpha_are_those_of_its_numbers(self):
        p = numpy.full((2, 40), 0.5)
        p[0] = 0
        p[0, 35] = 1
        exact = numpy.zeros((2, 40))
        exact[0, 35] = 1
        exact[1, 35:] = 0.5**numpy.arange(1, 6)
        mass = exact[1].sum()
        mine = exact.copy()
        mine[1] *= 0.25
        self.save("mine.npy", mine)
        arguments = ("--p", self.save("p.npy", p), "--alpha", self.path("mine.npy"))
        found = self.diagnose(*arguments)["alpha"]
        self.assertEqual(found["file"], self.path("mine.npy"))
        place = {"sequence": 1, "output": 2, "entry": None}
        self.assertEqual((found["first_wrong"], found["off_at"]), (place, place))
        for name, value in (("off", 0.75), ("lost_mass", 0.75),
                            ("difference", 0.75 * mass / (1 + mass))):
            self.assertAlmostEqual(found[name], value, delta=1e-6, msg=name)
        self.assertEqual(found["looks_like"], [])
        errors = found["errors"]
        self.assertEqual(errors["attention_error"], 0.375)
        self.assertEqual(errors["worst"], {**place, "entry": 36})
        self.assertAlmostEqual(errors["mass_error"], 0.75 * mass, delta=1e-3)
        out, _ = self.gives(0, "diagnose", *arguments)
        self.assertIn("mine.npy: wrong; output 2 is the first that is off by more than 0.001 of its "
                      "mass.\nThe worst, output 2, is off by 0.75 of its mass; up to 0.75 of an "
                      "output's mass is lost.\nIt looks like no published form.\n", out)
        self.gives(0, "diagnose", *arguments, "-o", self.path("d.json"))
        self.assertEqual(self.gives(0, "show", self.path("d.json"))[0], out)
        # A share of the output's mass, which --tolerance gives.
        self.assertIsNone(self.diagnose(*arguments, "--tolerance", "0.8")["alpha"]["first_wrong"])
        found = self.diagnose("--p", self.path("p.npy"), "--alpha",
                              self.save("exact.npy", exact))["alpha"]
        self.assertTrue(found["is_exact"])
        self.assertIsNone(found["first_wrong"])
        self.assertIn("\nIt is exact, to rounding.\n", self.gives(
            0, "diagnose", "--p", self.path("p.npy"), "--alpha", self.path("exact.npy"))[0])
        # An output of little mass is judged by it, and one without any has none to be given.
        p[0, 35] = 1e-6
        exact[0, 35] = 1e-6
        exact[1] *= 1e-6
        exact[1, 38] *= 1.5
        self.assertEqual(self.diagnose(
            "--p", self.save("rare.npy", p), "--alpha",
            self.save("rare_alpha.npy", exact))["alpha"]["first_wrong"], place)
        self.assertEqual(self.diagnose(
            "--p", self.save("none.npy", numpy.zeros((2, 40))), "--alpha",
            self.path("exact.npy"))["alpha"]["first_wrong"]["output"], 1)

    def test_an_alpha_is_cut_like_p_and_is_of_monotonic_attention(self):
        p = drawn(2, 3, 20)
        mine = of_fairseq(p)
        mine[1, 2], mine[1, :2, 7:] = 1, 0
        lengths = ("--lengths", self.save("lengths.npy", numpy.array([20, 7])),
                   "--output-lengths", self.save("outputs.npy", numpy.array([3, 2])))
        arguments = ("--p", self.save("p.npy", p), "--alpha", self.save("mine.npy", mine))
        self.assertIsNone(self.diagnose(*arguments, *lengths)["alpha"]["first_wrong"])
        self.assertEqual(self.diagnose(*arguments)["alpha"]["first_wrong"],
                         {"sequence": 2, "output": 1, "entry": None})
        both = self.diagnose(*arguments, "--chunk-energies", self.path("p.npy"), "--mechanism",
                             "monotonic,mocha")
        self.assertEqual(both["alpha"], self.diagnose(*arguments)["alpha"])
        e = numpy.log(p / (1 - p))
        found = self.diagnose("--energies", self.save("e.npy", e), "--alpha",
                              self.save("closed.npy", of_fairseq(p)))["alpha"]
        self.assertIsNone(found["first_wrong"])
        self.assertNotIn("alpha", {key for key, value in self.diagnose(
            "--p", self.path("p.npy")).items() if value is not None})
        for value, text in ((numpy.nan, "is nan"), (-0.5, "is -0.5"), (numpy.inf, "is inf")):
            mine[0, 1, 2] = value
            self.refused(("diagnose", "--p", self.path("p.npy"), "--alpha",
                          self.save("bad.npy", mine)),
                         f"bad.npy[1, 2, 3]: {text}, must be finite and not negative")
        self.refused(("diagnose", "--p", self.path("p.npy"), "--alpha",
                      self.save("bad.npy", mine[:, :2])),
                     "bad.npy: has the shape [2, 2, 20], but", "p.npy has [2, 3, 20]")
        self.refused(("diagnose", *arguments, "--chunk-energies", self.path("p.npy"),
                      "--mechanism", "mocha"), "--alpha: is the attention of monotonic; add it")
        self.refused(("diagnose", *arguments, "-o", self.path("mine.npy"), "--force"),
                     "is read by this command")

    def test_every_form_of_numpys_arrays_is_the_same_array(self):
        p = numpy.array([[0, 1, 0], [1, 0, 1]])
        numpy.savez_compressed(self.path("z.npz"), p_choose=p, other=p + 0.25)
        plain = self.diagnose("--p", self.save("p.npy", p.astype("f8")))
        plain.pop("context")
        for name, array in (("f", numpy.asfortranarray(p.astype("f4"))),
                            ("h", p.astype("f2")), ("big", p.astype(">f8")),
                            ("i", p.astype(">i4")), ("u", p.astype("u1")),
                            ("b", p.astype(bool))):
            same = self.diagnose("--p", self.save(f"{name}.npy", array))
            same.pop("context")
            self.assertEqual(same, plain, name)
        for text in ("z.npz", "z.npz:p_choose"):
            same = self.diagnose("--p", self.path(text))
            same.pop("context")
            self.assertEqual(same, plain, text)
        with open(self.path("v2.npy"), "wb") as file:
            numpy.lib.format.write_array(file, p.astype("f8"), version=(2, 0))
        same = self.diagnose("--p", self.path("v2.npy"))
        same.pop("context")
        self.assertEqual(same, plain)
        e = numpy.where(p > 0, 90.0, -90.0)
        self.assertEqual(self.diagnose("--energies", self.save("e.npy", e))["mechanisms"][0]
                         ["decoding"], plain["mechanisms"][0]["decoding"])
        halves = numpy.array([[2.0**-24, 0.5, 0.333]], dtype="f2")
        case = self.write("half.json", {"mechanism": "monotonic", "inputs": {
            "p_choose": self.save("halves.npy", halves)}})
        alpha = strict(self.gives(0, "expect", case)[0])["selection"][0]
        self.assertEqual(alpha[0], 2.0**-24)

    def test_batches_heads_and_lengths_leave_padding_out(self):
        rng = numpy.random.default_rng(1)
        p = rng.uniform(0.1, 0.9, (2, 3, 4, 20))
        p[1, :, 2:, :] = numpy.nan
        p[1, :, :, 7:] = numpy.nan
        arguments = ("--p", self.save("p.npy", p),
                     "--lengths", self.save("lengths.npy", numpy.array([20, 7])),
                     "--output-lengths", self.save("outputs.npy", numpy.array([4, 2])))
        document = self.diagnose(*arguments)
        self.assertEqual(document["sequences"], 6)
        self.assertEqual(document["shape"], [2, 3, 4, 20])
        exact = by_name(document["mechanisms"][0])["exact"]
        self.assertEqual((exact["sequences"], exact["outputs"], exact["not_finite"]), (6, 4, 0))
        # The same as one after another.
        errors = [by_name(self.diagnose("--p", self.save("one.npy", p[b, h, :U, :T]))
                          ["mechanisms"][0])["parallel fsq"]["attention_error"]
                  for b, U, T in ((0, 4, 20), (1, 2, 7)) for h in range(3)]
        self.assertEqual(by_name(document["mechanisms"][0])["parallel fsq"]
                         ["attention_error"], max(errors))

    def test_a_place_in_an_array_of_heads_is_told_as_batch_and_head(self):
        # Batch 2, head 3 alone is wrong: its output 2 has all its mass behind a clip.
        p = numpy.full((2, 3, 2, 40), 0.5)
        p[1, 2, 0] = 0
        p[1, 2, 0, 35] = 1
        alpha = numpy.zeros(p.shape)
        place = {"sequence": 6, "batch": 2, "head": 3, "output": 2, "entry": None}
        arguments = ("--p", self.save("p.npy", p), "--alpha", self.save("a.npy", alpha))
        document = self.diagnose(*arguments)
        form = by_name(document["mechanisms"][0])["parallel tf"]
        self.assertEqual(form["first_wrong"], place)
        self.assertEqual(form["worst"], {**place, "entry": 36})
        self.assertEqual(document["bound"]["at"], place)
        for at in (document["mass"]["at"], document["alpha"]["off_at"],
                   document["alpha"]["errors"]["worst"]):
            self.assertEqual(at["sequence"], 3 * (at["batch"] - 1) + at["head"])
        self.assertEqual(document["alpha"]["first_wrong"],
                         {"sequence": 1, "batch": 1, "head": 1, "output": 1, "entry": None})
        out, _ = self.gives(0, "diagnose", *arguments, "-o", self.path("d.json"))
        self.assertRegex(out, r"\n  TensorFlow .* output 2 of batch 2, head 3 ")
        self.assertIn("(output 2 of batch 2, head 3 needs that)", out)
        self.assertIn("output 1 of batch 1, head 1 is the first that is off", out)
        self.assertEqual(self.gives(0, "show", self.path("d.json"))[0], out)
        # Without an axis of heads a sequence is one.
        flat = self.diagnose("--p", self.save("flat.npy", p.reshape(6, 2, 40)))
        self.assertEqual(by_name(flat["mechanisms"][0])["parallel tf"]["first_wrong"],
                         {"sequence": 6, "output": 2, "entry": None})

    def test_a_mask_leaves_padding_out_as_lengths_do(self):
        p = numpy.random.default_rng(1).uniform(0.1, 0.9, (2, 3, 4, 20))
        p[1, :, :, 7:] = numpy.nan
        mask = numpy.arange(20) >= numpy.array([[20], [7]])
        path = self.save("p.npy", p)
        documents = [self.diagnose("--p", path, option, self.save(f"{option}.npy", array))
                     for option, array in (("--mask", mask),
                                           ("--lengths", numpy.array([20, 7])))]
        for document in documents:
            document.pop("context")
        self.assertEqual(*documents)
        # PyTorch's mask of one sequence has no axis of batches.
        one = self.save("one.npy", p[1, 0])
        self.assertEqual(self.diagnose("--p", one, "--mask", self.save("m.npy", mask[1]))
                         ["memory_length"], 7)

    def test_an_alpha_with_mass_on_padding_is_refused_at_its_place(self):
        p = drawn(2, 3, 20)
        given = ("diagnose", "--p", self.save("p.npy", p), "--mask",
                 self.save("m.npy", numpy.arange(20) >= numpy.array([[20], [7]])), "--alpha")
        mine = of_fairseq(p)
        left = float(mine[1, 0, 7:].sum())
        self.assertGreater(left, 0.01)
        self.refused((*given, self.save("mine.npy", mine)), f"mine.npy[2, 1, 8]: begins padding, "
                     f"on which its output has a mass of {left:.2g}: was the mask applied?")
        mine[1, :, 7:] = 0
        self.gives(0, *given, self.save("mine.npy", mine))

    def test_a_mask_that_leaves_no_beginning_is_refused_with_its_place(self):
        path = self.save("p.npy", numpy.full((2, 3, 5), 0.5))

        def refused(mask, *parts):
            self.refused(("diagnose", "--p", path, "--mask",
                          self.save("m.npy", numpy.array(mask))), *parts)
        refused([[0, 0, 1, 1, 1], [0, 0, 1, 0, 0]], "m.npy[2, 4]: is False behind padding")
        refused([[0, 0, 1, 1, 1], [1, 1, 1, 0, 0]], "m.npy[2, 1]: is True, so that the sequence "
                "begins with padding", "invert it (~mask)")
        refused([[0, 0, 1, 1, 1], [0, 0, 0, 0, -1]], "m.npy[2, 5]: is -1, must be True")
        refused([[0.0, -numpy.inf] + 3 * [0.0]] * 2, "m.npy[1, 2]: is -inf, must be True")
        refused([[0, 0, 1]] * 2, "m.npy: has the shape [2, 3]; a mask [B, T] of [2, 5]")
        refused([0, 0, 0, 0, 1], "m.npy: has the shape [5]; a mask")
        self.refused(("diagnose", "--p", path, "--mask", path, "--lengths", path), "--lengths")

    def test_what_takes_long_is_a_sample_that_the_answer_names(self):
        p = numpy.random.default_rng(2).uniform(0, 0.02, (12, 6000)).astype("f4")
        document = self.diagnose("--p", self.save("p.npy", p))
        found = by_name(document["mechanisms"][0])
        self.assertEqual(found["parallel tf"]["outputs"], 12)
        self.assertEqual((found["triangular"]["sequences"], found["triangular"]["outputs"]),
                         (1, 2))
        self.assertLess(found["triangular"]["attention_error"], 1e-5)
        self.assertIsNone(found["triangular"]["gradient"])
        out, _ = self.gives(0, "diagnose", "--p", self.path("p.npy"))
        self.assertIn("EMMA takes long: of the first 2 outputs of sequence 1", out)

    def test_an_answer_goes_into_a_file_and_a_case_comes_from_a_pipe(self):
        path = self.save("p.npy", numpy.full((1, 3), 0.5))
        out, _ = self.gives(0, "diagnose", "--p", path, "-o", self.path("d.json"))
        self.assertEqual(self.gives(0, "show", self.path("d.json")), (out, ""))
        with open(self.path("d.json"), encoding="utf-8") as file:
            validate(strict(file.read()), "diagnosis")
        self.refused(("diagnose", "--p", path, "-o", self.path("d.json")), "is there already")
        kept = self.path("kept.json")
        with open(kept, "w", encoding="utf-8") as file:
            json.dump({"mechanism": "monotonic", "inputs": {"p_choose": path}}, file)
        sweep = ("run-sweep", "--mechanism", "monotonic", "--mode", "expect",
                 "--workload", "file:" + kept)
        for command in (("diagnose", "--p", path), ("diagnose", "--p", kept), ("expect", kept),
                        ("decode", kept), sweep,
                        ("decode", "--mechanism", "monotonic", "-T", "3", "-U", "1",
                         "--workload", "file:" + kept)):
            self.refused((*command, "-o", path, "--force"), "is read by this command")
        case = json.dumps({"mechanism": "monotonic", "inputs": {"p_choose": [[0.5, 1]]}})
        for command, key in (("expect", "attention"), ("decode", "steps")):
            done = run(command, "-", input=case)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(key, strict(done.stdout))
            out = self.path(f"{command}.json")
            done = run(command, "-", "-o", out, input=case)
            self.assertEqual((done.returncode, done.stdout), (0, ""))
            with open(out, encoding="utf-8") as file:
                self.assertIn(key, strict(file.read()))
        self.refused(("expect", "-", "-o", out), "is there already")

    def test_arrays_that_are_not_as_documented_are_refused(self):
        good = io.BytesIO()
        numpy.save(good, numpy.full((2, 3), 0.5))
        good = good.getvalue()

        def refused(change, *parts):
            with open(self.path("bad.npy"), "wb") as file:
                file.write(change)
            self.refused(("diagnose", "--p", self.path("bad.npy")), "bad.npy", *parts)
        refused(b"", "is empty")
        refused(good[:-1], "has 47 bytes of numbers, [2, 3] of type <f8 are 48")
        refused(good + b"x", "has 49 bytes")
        refused(good[:40], "ends within its header")
        refused(good[:7], "ends within its header")
        refused(b"\x92" + good[1:], "is neither an .npy nor an .npz")
        refused(good[:6] + b"\x04" + good[7:], "is of format 4.0; 1.0 to 3.0")
        refused(good[:8] + b"\xff\xff" + good[10:], "header of 65535 bytes")
        for old, new, *parts in (
                (b"'<f8'", b"'<c8'", "has the type '<c8'; valid: f2"),
                (b"'<f8'", b"'|O' ", "holds Python objects", "astype"),
                (b"'<f8'", b"[(1)]", "holds records with fields"),
                (b"(2, 3)", b"(2,-3)", "no length at character"),
                (b"(2, 3)", b"(2, 0)", "it is empty"),
                (b"(2, 3)", b"(6,)  ", "[U, T], [B, U, T] or [B, H, U, T]"),
                (b"False", b"Fals\"", "fortran_order that is no True"),
                (b"'shape'", b"'shade'", "an unknown key 'shade'"),
                (b"(2, 3)", b"(2, 3 ", "no length at character")):
            self.assertIn(old, good)
            refused(good.replace(old, new), *parts)
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (%s,), }\n"
        for shape in (b"4000000000, 4000000000", b"99999999999999999999, 2"):
            text = header % shape
            refused(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + b"12")
        numpy.save(self.path("o.npy"), numpy.array([[1, "a"]], dtype=object))
        self.refused(("diagnose", "--p", self.path("o.npy")), "holds Python objects")

    def test_archives_and_numbers_that_cannot_be_are_refused_with_their_place(self):
        half = numpy.full((2, 3), 0.5)
        numpy.savez(self.path("a.npz"), q=half)
        path = self.path("a.npz")
        self.refused(("diagnose", "--p", path), "unknown array 'p_choose'", f"{path}:q")
        self.refused(("diagnose", "--p", f"{path}:r"), "unknown array 'r'")
        with open(path, "rb") as file:
            content = file.read()
        with open(self.path("cut.npz"), "wb") as file:
            file.write(content[:-30])
        self.refused(("diagnose", "--p", self.path("cut.npz")), "cut.npz: is not an .npz")
        with open(self.path("more.npz"), "wb") as file:
            file.write(content + b"\0 and text")
        self.refused(("diagnose", "--p", self.path("more.npz:q")), "more.npz: is not an .npz")
        with zipfile.ZipFile(self.path("z.npz"), "w") as archive:
            archive.writestr("p_choose.npy", b"text")
        self.refused(("diagnose", "--p", self.path("z.npz")), "p_choose: is not an array")
        plain = self.save("p.npy", half)
        self.refused(("diagnose", "--p", f"{plain}:q"), "holds one array, which has no name")
        for value in (1.5, -0.1, numpy.nan, numpy.inf):
            array = half.copy()
            array[1, 2] = value
            self.refused(("diagnose", "--p", self.save("q.npy", array)),
                         "q.npy[2, 3]: is ", "not a probability")
            case = self.write("c.json", {"mechanism": "monotonic", "inputs": {
                "p_choose": self.path("q.npy")}})
            self.refused(("expect", case), "inputs.p_choose: ", "q.npy[2, 3]: ")
        array = half.copy()
        array[0, 1] = -numpy.inf
        self.refused(("diagnose", "--energies", self.save("q.npy", array)),
                     "q.npy[1, 2]: is -inf", "(lengths or mask leaves padding out)")
        self.refused(("expect", self.write("c.json", {"mechanism": "monotonic", "inputs": {
            "p_choose": self.path("c.json")}})), "names a case file")
        for lengths, *parts in (((3,), "[1]: is 3, must be a whole number from 1 to 2"),
                                ((0,), "[1]: is 0"), ((1.5,), "is 1.5"),
                                ((1 + 1e-9,), "is 1.000000001"),
                                ((1, 2), "one for each member of the batch")):
            self.refused(("diagnose", "--p", plain, "--output-lengths",
                          self.save("l.npy", numpy.array(lengths))), "l.npy", *parts)
        self.refused(("diagnose", "--p", plain, "--mechanism", "mocha", "--chunk-energies",
                      self.save("u.npy", half[:1])), "u.npy: has the shape [1, 3], but")
        os.mkfifo(self.path("pipe"))
        self.refused(("diagnose", "--p", self.path("pipe")), "a pipe that nobody writes to")


if __name__ == "__main__":
    unittest.main()
