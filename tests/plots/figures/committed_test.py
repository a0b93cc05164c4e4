"""Guards against committed figures whose letters cannot be read where they are printed,
whose names only the program knows, or that are not those that docs and scripts know.
"""

import importlib.util
import json
import os
import re
import subprocess
import unittest

from plot_case import ROOT, PlotTest

import figures
from attnbench.analysis import names

FOLDER = ROOT / "results" / "figures"
MOST_BYTES = 300_000  # of an SVG
# Names of this program that no paper has.
OF_THE_PROGRAM = re.compile(
    r"\b(mad2017|tf|nsp|fsq|jmin|noise\d|clipped_|rising_to_\d|\w+_L\d+|mocha|matcha)\b|"
    r"published_O\d|\w+\.json|partial_sums|moving_sum|denominator_one")


def scripts_figures():
    spec = importlib.util.spec_from_file_location("figures_py", ROOT / "scripts/figures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def words(path):
    found = re.findall(r"<text [^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))
    return [word for word in found if word.strip()]


class CommittedFigures(PlotTest):
    def test_each_is_there_in_both_formats_and_can_be_drawn_again(self):
        sources = scripts_figures().SOURCES
        for suffix in ("png", "svg"):
            self.assertEqual(sorted(path.stem for path in FOLDER.glob(f"*.{suffix}")),
                             sorted(sources))
        self.assertLessEqual(set(sources), set(figures.FIGURES))
        for files in sources.values():
            for name in files:
                self.assertTrue((ROOT / "results" / name).exists(), name)

    def test_each_is_as_wide_as_a_column_or_the_page_and_its_letters_can_be_read(self):
        for path in sorted(FOLDER.glob("*.svg")):
            with self.subTest(path.stem):
                self.prints(path)
                self.assertLess(path.stat().st_size, MOST_BYTES)

    def test_a_picture_has_no_date_and_no_name_that_only_the_program_knows(self):
        for path in sorted(FOLDER.glob("*.svg")):
            with self.subTest(path.stem):
                self.assertNotIn("<dc:date>", path.read_text(encoding="utf-8"))
                known = [word for word in words(path) if OF_THE_PROGRAM.search(word)]
                self.assertEqual(known, [])

    def test_the_pictures_are_those_of_this_code(self):
        # Two that draw fast stand for all; drawing all takes minutes.
        sources = scripts_figures().SOURCES
        for name in ("monte_carlo", "memory_share"):
            self.draws("--figure", name,
                       *(str(ROOT / "results" / file) for file in sources[name]))
            self.assertEqual(words(self.folder / f"{name}.svg"),
                             words(FOLDER / f"{name}.svg"))

    def test_a_form_is_named_by_its_toolkit_and_no_two_by_one_name(self):
        listed = subprocess.run([os.environ["ATTNBENCH"], "list", "--json"], check=True,
                                capture_output=True).stdout
        self.assertEqual(names.FORMS, {form["name"]: form["toolkit"]
                                       for form in json.loads(listed)["forms"]})
        self.assertEqual(len(set(names.FORMS.values())), len(names.FORMS))
        self.assertEqual(names.form("monotonic", "parallel", "fsq_op"), "fairseq 0.12")
        self.assertEqual(names.form("monotonic", "triangular"), "EMMA")
        self.assertEqual(names.form("mocha", "exact"), "MoChA, ours")
        self.assertEqual(names.form("newcomer", "novel"), "newcomer, novel")

    def test_runs_are_told_by_what_they_differ_in(self):
        def run(mechanism, **changes):
            return {"mechanism": mechanism, "noise": 1, "alpha": "exact", "chunk_width": 4,
                    "num_contexts": 8, "encoder_scoring": "softmax",
                    "decoder_scoring": "softmax", "position_encoding": "none", **changes}
        told = names.runs({"a": run("monotonic", noise=0), "b": run("monotonic"),
                           "c": run("monotonic", noise=4, noise_rise=0.7),
                           "d": run("mocha"), "e": run("soft"), "f": run("soft")})
        self.assertEqual(told, {
            "a": "monotonic, no noise", "b": "monotonic, noise 1",
            "c": "monotonic, noise rising to 4", "d": "MoChA, w = 4",
            "e": "soft (e)", "f": "soft (f)"})
        self.assertEqual(names.runs({
            "a": run("monotonic", task="stretch", energy_bias=0),
            "b": run("monotonic", task="stretch", energy_bias=-2, energy="additive"),
            "c": run("monotonic", task="reorder", energy_bias=-2)}), {
            "a": "monotonic, symbols held for frames, r from 0",
            "b": "monotonic, symbols held for frames, energy of MAD eq 15",
            "c": "monotonic, reordering, r from -2"})
        for data, task in (("build/corpora/speech-awb", "spoken phones"),
                           ("build/corpora/g2p", "letters to phones"),
                           ("data/speech-awb", "own data"), (None, "own data")):
            self.assertEqual(names.task({"task": "folder", "data": data}), task)
        self.assertEqual(names.apart({name: told[name] for name in "abc"}),
                         ("monotonic", {"a": "no noise", "b": "noise 1",
                                        "c": "noise rising to 4"}))
        self.assertEqual(names.apart({"a": "soft", "b": "MoChA"}),
                         ("", {"a": "soft", "b": "MoChA"}))


if __name__ == "__main__":
    unittest.main()
