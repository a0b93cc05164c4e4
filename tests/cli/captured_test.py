"""The workload captured:FILE from outside: scans go as the captured energies say, in
sweeps, whole decoders and advice, and files that are not as documented are refused.

Guards against padding that is scanned, choices of the computed energies, and results of
two files under one name.
"""

import importlib.util
import os
import re
import subprocess
import sys
import unittest

import numpy

from documents import strict, validate
from result_files import ROOT, ResultFilesTest, run, sweep

QUICK = ("--repetitions", "2", "-d", "16")
NO, YES = -9.0, 9.0


def path_of(choices, entries):
    """The energies [U, T] of outputs that choose these entries, from 0; None: none."""
    energies = numpy.full((len(choices), entries), NO, "f4")
    for output, entry in enumerate(choices):
        if entry is not None:
            energies[output, entry] = YES
    return energies


def scanned(choices, entries):
    """How many energies a scan of them evaluates. Which entries it has passed does not
    come again, and after an output without a choice there is nothing left.
    """
    place = count = 0
    for entry in choices:
        if place == entries:
            continue
        count += entries - place if entry is None else entry - place + 1
        place = entries if entry is None else entry
    return count


class Captured(ResultFilesTest):
    A, B = [2, 2, 5, 11], [0, 3, None]

    def save(self, name, array, **others):
        """An .npy, or with other arrays an .npz."""
        path = self.path(name)
        if others:
            numpy.savez(path, energies=array, **others)
        else:
            numpy.save(path, array)
        return path

    def padded(self, name="two.npz", **others):
        """A of 12 entries and B of 7, with numbers in the padding that would decide."""
        energies = numpy.full((2, 4, 12), numpy.nan, "f4")
        energies[0] = path_of(self.A, 12)
        energies[1, :3, :7] = path_of(self.B, 7)
        energies[1, :3, 7] = YES
        return self.save(name, energies, output_lengths=numpy.array([4, 3]),
                         **(others or {"lengths": numpy.array([12, 7])}))

    def swept(self, path, *arguments):
        return sweep(self.path("r.json"), *QUICK, "--workload", f"captured:{path}",
                     *arguments, "--force")

    def test_scans_choose_what_was_captured_and_read_no_padding(self):
        document = self.swept(self.padded(), "--mechanism", "soft,monotonic,mocha,matcha",
                              "--energy", "dot,additive", "--precision", "f32,f64", "-w", "2")
        validate(document, "sweep")
        count = scanned(self.A, 12) + scanned(self.B, 7)
        self.assertEqual(len(document["cells"]), 16)
        for cell in document["cells"]:
            self.assertEqual(cell["status"], "ok", cell["message"])
            self.assertEqual([cell[name] for name in ("memory_length", "output_length",
                                                      "batch")], [12, 4, 2])
            self.assertLessEqual(cell["numerics"]["error"], cell["numerics"]["error_bound"])
            is_soft = cell["mechanism"] == "soft"
            self.assertEqual(cell["operations"]["energies"],
                             4 * 12 + 3 * 7 if is_soft else count)
            self.assertAlmostEqual(cell["numerics"]["attention_mass"], 7 if is_soft else 6,
                                   delta=1e-5)
        (told,) = document["context"]["workload_files"]
        self.assertRegex(told.pop("hash"), "^[0-9a-f]{16}$")
        self.assertEqual(told, {"workload": f"captured:{self.path('two.npz')}", "sequences": 2,
                                "entries": 19, "outputs": 7})
        # The table counts no padding, either: 6 of 7 outputs have a context.
        rows = strict(self.gives(0, "show", self.path("r.json"), "--format", "json")[0])["rows"]
        for row in rows:
            self.assertAlmostEqual(row["zero_contexts"],
                                   0 if row["mechanism"] == "soft" else 1 / 7, delta=1e-5)
            self.assertAlmostEqual(row["memory_read"],
                                   1 if row["mechanism"] == "soft" else (count - 6) / 19)

    def test_the_computed_energies_are_counted_as_work(self):
        path = self.save("one.npy", path_of(self.A, 12))
        of_file = self.swept(path, "--mechanism", "soft")["cells"][0]
        uniform = sweep(self.path("u.json"), *QUICK, "--mechanism", "soft", "-T", 12, "-U", 4)
        for name in ("energies", "flops", "bytes"):
            self.assertEqual(of_file["operations"][name],
                             uniform["cells"][0]["operations"][name], name)

    def test_a_mask_and_lengths_say_the_same(self):
        mask = numpy.zeros((2, 12), bool)
        mask[1, 7:] = True
        documents = [self.swept(self.padded("two.npz", **one), "--mechanism", "mocha")
                     for one in ({"lengths": numpy.array([12, 7])}, {"mask": mask})]
        first, second = (document["cells"][0] for document in documents)
        for member in ("numerics", "operations", "latency"):
            self.assertEqual(first[member], second[member])

    def test_heads_are_sequences_and_chunk_energies_weigh(self):
        energies = numpy.stack([path_of(self.A, 12), path_of([1, 2, 3, 4], 12)])[None]
        plain = self.swept(self.save("heads.npy", energies), "--mechanism", "mocha", "-w", "3")
        self.assertEqual(plain["cells"][0]["batch"], 2)
        chunk = numpy.zeros_like(energies)
        chunk[..., 1::2] = 40
        both = self.swept(self.save("both.npz", energies, chunk_energies=chunk), "--mechanism",
                          "mocha", "-w", "3")
        out, err = self.gives(
            0, "decode", "--mechanism", "mocha", "-d", "4", "-w", "3", "--workload",
            f"captured:{self.path('both.npz')}")
        self.assertIn("both.npz has 2 sequences; decodes the first\n", err)
        decoded = strict(out)
        self.assertEqual([one["position"] for one in decoded["steps"]], [3, 3, 6, 12])
        # Entries 1 to 3, of which the second has nearly all of exp(40).
        numpy.testing.assert_allclose(decoded["steps"][0]["weights"], [0, 1, 0], atol=1e-9)
        self.assertNotEqual(plain["cells"][0]["numerics"]["context_sum"],
                            both["cells"][0]["numerics"]["context_sum"])

    def test_other_workloads_stand_beside_it_at_its_lengths(self):
        path = self.padded()
        experiment = self.write("e.json", {
            "name": "e", "repetitions": 2,
            "axes": {"dim": 8, "workload": ["uniform", f"captured:{path}"]},
            "alternatives": [{"mechanism": "monotonic"}]})
        document = sweep(self.path("r.json"), experiment)
        self.assertEqual([[cell[name] for name in ("memory_length", "output_length", "batch")]
                          for cell in document["cells"]], 2 * [[12, 4, 2]])

    def test_only_decoding_takes_it(self):
        path = self.padded()
        document = self.swept(
            path, "--mechanism", "monotonic", "--mode", "decode,expect", "--scope", "full",
            "--variant", "exact,published_O3", "--precision", "f64")
        messages = {(cell["mode"], cell["variant"]): cell["message"]
                    for cell in document["cells"]}
        self.assertIsNone(messages["decode", "exact"])
        self.assertIn("energies s . h only", messages["decode", "published_O3"])
        self.assertIn("has mode decode only", messages["expect", "exact"])

    def test_masks_of_minus_a_billion_can_be_checked(self):
        energies = path_of(self.A, 12)
        energies[energies < 0] = -1e9
        document = self.swept(self.save("mask.npy", energies), "--mechanism", "soft,mocha")
        self.assertEqual([cell["status"] for cell in document["cells"]], ["ok", "ok"])

    def test_whole_decoders_scan_as_captured_and_have_no_empty_source(self):
        document = self.swept(
            self.padded(), "--mechanism", "soft,monotonic,none", "--scope", "decoder",
            "--energy", "additive", "--beam", "1,3", "--vocabulary", "9", "--layers", "1")
        validate(document, "sweep")
        for cell in document["cells"]:
            self.assertEqual(cell["status"], "ok", cell["message"])
            self.assertEqual(cell["decoder"]["source_lengths"], [12, 7])
            if cell["mechanism"] != "monotonic":
                continue
            reads = cell["decoder"]["reads"]
            # The second hypothesis of a beam begins with the second output.
            if cell["beam"] == 1:
                self.assertEqual(reads["energies_per_output"],
                                 (scanned(self.A, 12) + scanned(self.B, 7)) / 7)
                self.assertEqual(reads["zero_contexts"], 1 / 7)
            # A reads its last entry, and B passes the end.
            self.assertEqual(reads["memory_read"], 1)

    def test_advice_is_of_the_captured_scans(self):
        path = self.padded()
        done = run("advise", "--workload", f"captured:{path}", "-d", "16", "--vocabulary", "9",
                   "--repetitions", "2", "--mechanism", "mocha", "-w", "8",
                   "--frames-per-second", "10", "--outputs-per-second", "2",
                   "-o", self.path("a.json"))
        self.assertIn(done.returncode, (0, 5), done.stderr)
        with open(self.path("a.json"), encoding="utf-8") as file:
            document = strict(file.read())
        validate(document, "advice")
        shape = document["shape"]
        self.assertEqual([shape[name] for name in (
            "sequences", "entries", "outputs", "memory_length", "output_length", "memory_read")],
            [2, 19, 7, 12, 4, 1])
        self.assertAlmostEqual(shape["zero_contexts"], 1 / 7)
        mocha = document["mechanisms"][1]
        seconds = mocha["decoder"]["time_ns"] / 1e9
        self.assertAlmostEqual(mocha["real_time_factors"]["frames"], seconds / 1.9)
        self.assertAlmostEqual(mocha["real_time_factors"]["outputs"], seconds / 3.5)
        # Outputs without a context are the model's own: they do not make the time wrong.
        self.assertTrue(mocha["is_as_trained"])
        self.assertIn("2 sequences of captured:", done.stdout)
        self.assertIn("leave 14 % of the outputs without a context", done.stdout)
        self.assertEqual(self.gives(0, "show", self.path("a.json"))[0], done.stdout)
        for typed, *parts in ((("-T", "12"), "--memory-length: is set by the captured"),
                              (("--model", "m.json"), "--model: is set by")):
            self.refused(("advise", "--workload", f"captured:{path}", *typed), *parts)
        self.refused(("advise", "--workload", "uniform"), "--workload: 'uniform' is none")
        self.refused(("advise", "--workload", "captured:none.npy"),
                     "attnbench: none.npy: cannot be read")
        self.refused(("advise", "--workload", f"captured:{path}", "-o", path, "--force"),
                     "two.npz", "is read by this command")

    def test_a_file_that_is_not_as_documented_is_refused_with_its_place(self):
        def refused(array, *parts, typed=(), **others):
            path = self.save("bad.npz", array, **others)
            self.refused(("run-sweep", *QUICK, "--workload", f"captured:{path}", *typed,
                          "-o", self.path("r.json")), *parts)
            self.assertFalse(os.path.exists(self.path("r.json")))
        good = numpy.stack([path_of(self.A, 12)] * 3)
        lengths = numpy.array([12, 7, 12])
        for value, text in ((numpy.nan, "is nan"), (numpy.inf, "is inf"), (1e300, "is 1e+300")):
            bad = good.astype("f8")
            bad[1, 2, 6] = value
            refused(bad, f"bad.npz: energies[2, 3, 7]: {text}, not finite in f32 "
                    "(lengths or mask leaves padding out)",
                    mask=numpy.zeros((3, 12), bool))
        heads, chunk = good[None], good[None].copy()
        chunk[0, 1, 0, 1] = numpy.nan
        refused(heads, "bad.npz: chunk_energies[1, 2, 1, 2]: is nan, not finite",
                chunk_energies=chunk)
        refused(good, "chunk_energies: has the shape [2, 4, 12], but", chunk_energies=good[:2])
        refused(good[0, 0], "[U, T], [B, U, T] or [B, H, U, T]",
                output_lengths=numpy.array([1]))
        refused(good, "lengths: has the shape [2]; lengths of [3] are needed",
                lengths=lengths[:2])
        refused(good, "mask: has the shape [2, 12]; a mask [B, T] of [3, 12] is needed",
                mask=numpy.zeros((2, 12), bool))
        refused(good, "unknown array 'length'; did you mean 'lengths'", length=lengths)
        for axis, asked, of_file in (("-T", 11, "memory_length 12"), ("-U", 5, "output_length 4"),
                                     ("-B", 2, "batch 3")):
            refused(good, f"captured:{self.path('bad.npz')}: has {of_file}, but {asked} is asked",
                    typed=(axis, str(asked)), output_lengths=numpy.array([4, 4, 4]))

    @unittest.skipIf(importlib.util.find_spec("torch") is None, "there is no PyTorch")
    def test_the_lines_of_the_page_capture_what_diagnose_and_a_sweep_take(self):
        with open(os.path.join(ROOT, "docs", "sweeps.md"), encoding="utf-8") as file:
            (lines,) = re.findall("^```python\n(.*?)^```$", file.read(), re.M | re.S)
        code = f"""
import numpy, os, torch
from attnbench.torch import MoChA
torch.manual_seed(1)
attention = MoChA(query_size=6, memory_size=8, size=5, heads=2, width=4)
states, memory = torch.randn(3, 4, 6), torch.randn(3, 20, 8)
lengths = torch.tensor([20, 13, 7])
os.chdir({self.folder!r})
{lines}
"""
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, text=True,
                              capture_output=True,
                              env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")})
        self.assertEqual(done.returncode, 0, done.stderr)
        path = self.path("captured.npz")
        (cell,) = self.swept(path, "--mechanism", "mocha")["cells"]
        self.assertEqual([cell[name] for name in (
            "status", "memory_length", "output_length", "batch")], ["ok", 20, 4, 6])
        found = strict(self.gives(0, "diagnose", "--energies", path, "--lengths", path,
                                  "--json")[0])
        self.assertEqual((found["shape"], found["sequences"]), ([3, 2, 4, 20], 6))

    def test_a_file_that_changed_is_named(self):
        path = self.padded()
        self.swept(path, "--mechanism", "monotonic")
        os.rename(self.path("r.json"), self.path("old.json"))
        self.padded(lengths=numpy.array([12, 6]))
        self.swept(path, "--mechanism", "monotonic")
        self.refused(("compare", self.path("old.json"), self.path("r.json")), "r.json",
                     f"workload captured:{path} held other inputs than in")
        self.refused(("run-sweep", *QUICK, "--mechanism", "monotonic", "--workload",
                      f"captured:{path}", "-o", self.path("old.json"), "--resume"),
                     "old.json", "not of this sweep")
        self.refused(("run-sweep", *QUICK, "--workload", f"captured:{path}", "-o", path,
                      "--force"), "is read by this command")
        case = self.write("c.json", {"mechanism": "soft", "inputs": {"energies": [[1, 2]]}})
        self.refused(("run-sweep", *QUICK, "--workload", f"captured:{case}", "-o",
                      self.path("n.json")), "is a case file, which the workload file:CASE")


if __name__ == "__main__":
    unittest.main()
