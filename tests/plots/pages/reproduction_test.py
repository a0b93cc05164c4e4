"""Guards against a REPRODUCTION.md that lacks a claim, gives one another verdict or
figure than was measured, passes a measurement that was not made over in silence, or is
made of claims that were judged by other rules."""

import contextlib
import io
import json
import os
import shutil
import unittest
from unittest import mock

from made_up import decoded, mad_cells, make_cell, make_document, mocha_cells
from made_up_claims import decoder_document, document
import known_effects
import made_up_crossover
from plot_case import ROOT, PlotTest

from analysis import load
from pages import reproduction, reproduction_figures
from pages.not_attempted import FIGURES as FIGURES_OF_PAPERS

LEDGER = json.loads((ROOT / "experiments" / "claims.json").read_text())
TRANSLATION = {"dim": 512, "vocabulary": 16000}
EXPECTED = ROOT / "results" / "britz_figure2.json"


def cells_of(line):
    return [cell.strip() for cell in line.replace("\\|", "/").split("|")[1:-1]]


class ReproductionTest(PlotTest):
    def run_main(self, claims, *paths):
        """(exit code, the page or None, stderr)."""
        output = self.folder / "REPRODUCTION.md"
        error = io.StringIO()
        with contextlib.redirect_stderr(error):
            code = reproduction.main(
                [self.write(claims, "claims.json"), *map(str, paths), "-o", str(output)])
        return code, output.read_text() if output.exists() else None, error.getvalue()

    def page(self, claims, *paths):
        code, text, error = self.run_main(claims, *paths)
        self.assertEqual((code, error), (0, ""))
        return text

    def refused(self, claims, *paths):
        """The one line on stderr; no page."""
        code, text, error = self.run_main(claims, *paths)
        self.assertEqual((code, text, error.count("\n")), (2, None, 1), error)
        return error

    def rows_of(self, text, name):
        """Rows of the table of verdicts that are of a claim."""
        table = text.split("## Claims\n")[1].split("\n\n")[1]
        rows = [cells_of(line) for line in table.splitlines()[2:]]
        first = next(i for i, row in enumerate(rows) if row[0].startswith(f"[{name}]"))
        last = next((i for i in range(first + 1, len(rows)) if rows[i][0]), len(rows))
        return rows[first:last]


class ClaimsTest(ReproductionTest):
    def test_every_claim_stands_in_the_table_with_all_parts_that_decide(self):
        text = self.page(document())
        for claim in LEDGER["claims"]:
            own = [part["name"] for part in claim["parts"] if part["role"] == "claim"]
            rows = self.rows_of(text, claim["id"])
            self.assertEqual(len(rows), len(own))
            self.assertIn(f"{claim['claim']} ({claim['source']})".replace("|", "/"),
                          rows[0][0])
            for row, name in zip(rows, own):
                self.assertIn(name.replace("|", "/"), row[3])
            self.assertEqual(text.count(f"\n#### {claim['id']}\n"), 1)
        count = len(LEDGER["claims"])
        self.assertIn(
            f"\n{count} claims: 1 holds, 1 holds only under a condition, 1 refuted, 1 not "
            "reproduced here, 1 undecided, 1 depends on how the paper is read, 1 waits for "
            f"trained results, {count - 7} not measurable here. ", text)
        self.assertRegex(text, r"\. \d+ of cost: 1 refuted, 1 undecided, 1 depends on how")

    def test_each_verdict_is_told_with_its_figures_and_reason(self):
        text = self.page(document())
        self.assertEqual(self.rows_of(text, "mad-binary")[0][2:6], [
            "**holds**", "greatest difference of alpha and the choice (probability)",
            "3 to 17", "at most 0"])
        failed = self.rows_of(text, "mad-speedup")[0]
        self.assertEqual(failed[1:3], ["4 to 40", "**refuted**. It is &lt;so&gt;."])
        self.assertEqual(failed[4:6], ["1.53 \\[1.3, 1.61\\] to 34.9 \\[25, 42.2\\]",
                                       "3.5 to 45"])
        some = self.rows_of(text, "mocha-moving-sum")[0]
        self.assertEqual(some[2], "**holds only if** chunk_energy_scale = 1")
        self.assertEqual(some[4], "8e-07 to inf")
        wide = self.rows_of(text, "britz-gap-grows")[0]
        self.assertEqual(wide[2],
                         "**undecided**: the interval \\[-0.1, 0.2\\] contains 0")
        for name, said in (
                ("mocha-reorder", "**not reproduced here**"),
                ("mocha-params", "**depends on reading**: it holds if reading = narrow"),
                ("matcha-no-better", "**waits for** trained results of speech")):
            self.assertEqual(self.rows_of(text, name)[0][2], said)
        none = self.rows_of(text, "britz-K")[0]
        self.assertEqual(none[2], "**not measurable here**: no training result")
        self.assertEqual(none[4], "–")

    def test_what_seeds_gave_is_told_with_the_least_effect_that_they_could_show(self):
        made = document()
        (scoring,) = (one for one in made["claims"] if one["id"] == "britz-scoring")
        few = {"value": 0.02, "interval": [0, 0.05], "labels": {},
               "seeds": [0.01, 0.03], "least_effect": 0.063}
        more = {"value": 0.5, "interval": [0.4, 0.6], "labels": {},
                "seeds": [0.4, 0.5, 0.5, 0.5, 0.6], "least_effect": 0.1}
        scoring["measured"][0]["groups"] = [{
            "labels": {}, "verdict": "holds", "why": None, "readings": 2, "least": few,
            "greatest": more}]
        text = self.page(made)
        self.assertEqual(self.rows_of(text, "britz-scoring")[0][4],
                         "0.02 (2 seeds: 0.01, 0.03) to 0.5 \\[0.4, 0.6\\] of 5 seeds")
        section = text.split("\n#### britz-scoring\n")[1].split("\n#### ")[0]
        self.assertIn("(half of the widest interval): error (percent): 0.1.", section)
        self.assertEqual(text.count("half of the widest interval"), 1)

    def test_evidence_is_linked_and_says_how_much_of_it_is_not_shown(self):
        evidence = self.rows_of(self.page(document()), "mad-speedup")[0][6]
        link = os.path.relpath(ROOT / "results/claims/speedup.json", self.folder)
        self.assertEqual(
            evidence,
            f"[speedup.json]({link}) (AVX2) `cells[0]`, `cells[1]`, `cells[2]` and 2 more")
        section = self.page(document()).split("#### mad-speedup\n")[1].split("####")[0]
        self.assertIn(", `cells[4]` of `0123456789abcdef`.", section)

    def test_a_file_that_is_not_there_or_was_not_kept_is_no_link(self):
        claims = document()
        for claim in claims["claims"]:
            for number, entry in enumerate(claim["evidence"]):
                entry["file"] = None if number else "out/nowhere.json"
        evidence = self.rows_of(self.page(claims), "mad-speedup")[0][6]
        self.assertNotIn("](", evidence)
        self.assertTrue(evidence.startswith("nowhere.json `cells[0]`"), evidence)
        self.assertIn("speedup `cells[1]`", evidence)

    def test_every_group_is_told_with_what_sets_its_ends_apart(self):
        text = self.page(document())
        section = text.split("#### mad-speedup\n")[1].split("####")[0]
        self.assertIn(
            "| workload = uniform | 1.53 \\[1.3, 1.61\\] at T = 4 | 34.9 \\[25, 42.2\\] at "
            "T = 128 | 3.5 to 45 | fails |", section)
        self.assertIn("undecided: the interval \\[3.1, 4.5\\] contains the bound 4",
                      section)
        self.assertIn("| beside: least, published (ratio) | – |", section)

    def test_what_does_not_hold_as_it_stands_has_a_line_of_its_own(self):
        text = self.page(document())
        lines = text.split("## What does not hold as it stands\n\n")[1]
        lines = lines.split("\n\n")[0].splitlines()
        self.assertEqual([line.split("](")[0] for line in lines],
                         ["- [mad-speedup", "- [mocha-moving-sum", "- [mocha-params",
                          "- [mocha-reorder"])
        self.assertTrue(lines[0].endswith(". It is &lt;so&gt;."), lines[0])

    def test_a_quick_run_says_so_in_its_title_and_at_its_top(self):
        self.assertTrue(self.page(document()).startswith("# Reproduction\n\nWritten by"))
        text = self.page({**document(), "quick": True})
        self.assertTrue(text.startswith("# Reproduction (quick run)\n\n**Measured with"),
                        text[:99])

    def test_words_of_a_document_are_no_markup(self):
        claims = document()
        claims["claims"][0]["verdict"] = "not measurable here: <b> [x](y) `z` | a*b*"
        self.assertIn("not measurable here**: &lt;b&gt; \\[x\\](y) \\`z\\` \\| a\\*b\\*",
                      self.page(claims))

    def test_the_machine_is_that_of_the_files_that_were_judged(self):
        claims = document()
        path = os.path.join(ROOT, "results", "claims", "speedup.json")
        measured = load.read_json(path)["context"]
        text = self.page(claims)
        self.assertIn(f"| kernel | {measured['kernel']} |", text)
        self.assertNotIn("| memory | 8.0 GiB |", text)
        for claim in claims["claims"]:
            for evidence in claim["evidence"]:
                evidence["file"] = None
        self.assertIn("| memory | 8.0 GiB |", self.page(claims))

    def test_machines_of_one_name_have_a_column_for_each_simd_level(self):
        claims = document()
        evidence = next(claim for claim in claims["claims"]
                        if claim["id"] == "mad-speedup")["evidence"]
        evidence[0]["file"] = "results/claims/decoder.json"
        text = self.page(claims)
        self.assertRegex(text, r"\|  \| ([^|]*), AVX2 \| \1, AVX3 \|")
        self.assertRegex(text, r"\| results \|[^|]*speedup.json[^|]*\|[^|]*decoder.json[^|]*\|")
        self.assertRegex(self.rows_of(text, "mad-speedup")[0][6],
                         r"decoder.json\S* \(AVX3\).*speedup.json\S* \(AVX2\)")

    def test_a_claim_of_times_says_how_many_of_its_cells_lose_outputs(self):
        cells = load.read_json(os.path.join(ROOT, "results", "claims", "speedup.json"))["cells"]
        marked = sum(
            cell["numerics"]["attention_mass"] < 0.95 * cell["output_length"]
            for cell in cells[:5] if cell["mechanism"] == "monotonic")
        self.assertGreater(marked, 0)
        sections = self.page(document()).split("\n#### ")
        said = {section.split("\n")[0]: "of the outputs have no context" in section
                for section in sections[1:]}
        self.assertIn(f"In {marked} of the 5 cells of this evidence over 5 % of the outputs",
                      next(one for one in sections if one.startswith("mad-speedup\n")))
        self.assertTrue(said["mad-speedup"])
        self.assertFalse(said["mad-binary"])  # of counts, from the same cells

    def test_date_and_validity_come_from_the_context(self):
        claims = document()
        text = self.page(claims)
        self.assertIn("Commit 0123456789; An Invented Processor 3000 @ 2.50GHz, AVX2; "
                      "2026-01-02T03:04:05Z.", text)
        claims["context"].update(valid=False, invalid_reasons=["a debug build"])
        self.assertIn("INVALID: a debug build.", self.page(claims))

    def test_the_same_files_give_the_same_page(self):
        self.assertEqual(self.page(document()), self.page(document()))


class RefusalTest(ReproductionTest):
    def test_claims_that_are_not_all_there_are_refused(self):
        claims = document()
        del claims["claims"][7]
        self.assertIn(f"claims missing: {LEDGER['claims'][7]['id']}",
                      self.refused(claims))

    def test_claims_judged_by_another_ledger_are_refused(self):
        for change in (
            lambda claim: claim.update(claim="another"),
            lambda claim: claim["measured"][0].update(rule={"kind": "at_most",
                                                            "bound": 7}),
            lambda claim: claim["measured"][0].update(name="another"),
            lambda claim: claim["measured"].pop(),
        ):
            claims = document()
            change(claims["claims"][0])
            self.assertIn("mad-linear: was judged by another ledger", self.refused(claims))

    def test_what_is_no_result_of_claims_is_refused(self):
        self.assertIn("it must be 'claims'", self.refused(make_document(mad_cells([4]))))
        self.assertIn("cannot be read", self.refused(document(), "nowhere.json"))
        for key, value, said in (
            ("verdict", "passes", "claims[5].verdict: 'passes' does not match"),
            ("verdict", 3, "claims[5]: verdict is 3, it must be string"),
            ("evidence", None, "claims[5]: evidence is None, it must be array"),
            ("measured", [1], "claims[5]: measured[0] is 1, it must be object"),
        ):
            claims = document()
            claims["claims"][5][key] = value
            self.assertIn(said, self.refused(claims))

    def test_two_results_of_one_figure_are_refused(self):
        other = self.folder / "other.json"
        shutil.copy(EXPECTED, other)
        self.assertIn("is no position encoding",
                      self.refused(document(), EXPECTED, other))
        cells = make_document(mocha_cells())
        paths = [self.write(cells, name) for name in ("one.json", "two.json")]
        self.assertIn(f"two.json: is of figure mocha_figure3, as is {paths[0]}",
                      self.refused(document(), *paths))

    def test_a_figure_that_was_not_drawn_is_refused(self):
        error = self.refused(document(), EXPECTED)
        self.assertIn("britz_figure2.png: is not there; plots/draw.py", error)


class PapersTest(ReproductionTest):
    def drawn(self, name):
        (self.folder / "figures").mkdir(exist_ok=True)
        (self.folder / "figures" / f"{name}.png").write_bytes(b"")

    def test_figures_are_linked_with_what_they_show_and_their_result(self):
        self.drawn("britz_figure2")
        self.drawn("mad_figure8_builds")
        mad = self.write(make_document(mad_cells()), "mad_figure8.json")
        text = self.page(document(), EXPECTED, mad)
        self.assertIn("](figures/britz_figure2.png)", text)
        self.assertIn("- L(K/2, S/2) = 0.5 (the paper: 0.5)", text)
        part = text.split("### Figures of MAD\n")[1].split("### ")[0]
        self.assertIn("![Figure 8, appendix F](figures/mad_figure8_builds.png)", part)
        self.assertIn("From [mad_figure8.json](mad_figure8.json): Commit", part)
        self.assertRegex(part, r"- published: soft / monotonic min 1\.5x at T = 4")
        self.assertRegex(part, "- our kernels, f32: soft / monotonic min ")

    def matcha(self, mode, variant, t, time_ns, size):
        return make_cell("matcha", t, 2, variant=variant, mode=mode, scope="attention",
                         schedule="teacher_forced", time_ns=time_ns, precision="f64",
                         peak_memory_bytes=size)

    def test_what_is_left_of_the_advice_against_matcha_is_told_by_a_result(self):
        cells = [self.matcha("expect", *of) for of in (
            ("exact", 16, 1e3, 2**10), ("pairs", 16, 1e3, 2**10),
            ("partial_sums", 16, 4e3, 2**11), ("exact", 2048, 1e6, 2**20),
            ("pairs", 2048, 4e6, 2**20), ("partial_sums", 2048, 5e7, 2**25),
            ("exact", 4096, 2e6, 2**21), ("pairs", 4096, 16e6, 2**21))]
        cells += [self.matcha("gradient", *of) for of in (
            ("exact", 16, 3e3, 2**11), ("pairs", 16, 3e3, 2**11),
            ("exact", 2048, 3e6, 2**21), ("pairs", 2048, 9e6, 2**21))]
        path = self.write(make_document(cells), "matcha_algorithms.json")
        self.drawn("matcha_algorithms")
        section = self.page(document(), path).split("#### matcha-memory\n")[1]
        section = section.split("\n#### ")[0]
        for said in (
                "at T = 2048, U = 2, in f64, it takes 1 MiB where eqs 40 to "
                "43 take 32 MiB and 50x",
                "From T = 2048 to 4096 its time grows with T to the power of 1.00. At T = "
                "4096, it takes 2.00 ms and 2 MiB; all pairs of start and choice, in "
                "O(T^2), take 8.0x",
                "With its gradient, at T = 2048, it takes 3.00 ms and 2 MiB; all pairs of "
                "start and choice, in O(T^2), take 3.0x",
                "From [matcha_algorithms.json](matcha_algorithms.json)."):
            self.assertIn(said, section)
        self.assertNotIn("recommends against", self.page(document()))

    def test_outputs_of_a_command_make_one_figure_together(self):
        alignments = reproduction_figures.Picture("alignments", "", "Paths", "Of two.")
        paths = [self.write(decoded(name), f"{name}.json") for name in ("soft", "mocha")]
        self.drawn("alignments")
        with mock.patch.object(reproduction_figures, "PICTURES", (alignments,)):
            text = self.page(document(), *paths)
        self.assertEqual(text.count("](figures/"), 1)
        self.assertIn("From [soft.json](soft.json), [mocha.json](mocha.json).", text)
        self.assertIn("- mocha: 12 of 12 outputs", text)

    def test_the_lengths_from_which_on_are_told_where_they_were_measured(self):
        self.assertIn("### From which length on\n\nNot measured in this run.",
                      self.page(document()))
        made = made_up_crossover.cells(
            made_up_crossover.soft, made_up_crossover.memory)
        measured = make_document(made)
        measured["context"]["command"] = "run-sweep experiments/crossover.json"
        text = self.page(document(), self.write(measured, "crossover.json"))
        self.assertRegex(text, r"### From which length on\n\nAttention alone.*\n\n\| mechanism")
        self.assertIn("| memory, K = 32 |", text)

    def test_a_figure_without_a_result_is_named_as_not_measured(self):
        text = self.page(document())
        for title in ("Figure 8, appendix F", "Figure 3, appendix B",
                      "Errors of published closed forms"):
            self.assertIn(f"\n{title}: not measured in this run.\n", text)
        self.assertNotIn("![", text)

    def test_every_published_table_is_there_with_what_stands_in_for_its_corpora(self):
        text = self.page(document())
        for name in ("mad", "mocha", "britz"):
            paper = json.loads(
                (ROOT / "results" / "published" / f"{name}.json").read_text())
            for table in paper["tables"]:
                self.assertIn(f"\n{table['where'][0].upper()}{table['where'][1:]}: {table['what']}", text)
                self.assertIn(f"Here: {table['instead']}.", text)
            for statement in paper["statements"]:
                self.assertIn(f"| {statement['what']} |", text)
        corpora = text.split("## Corpora that are not free\n")[1]
        for name in ("TIMIT", "Wall Street Journal", "Gigaword", "CNN/Daily Mail",
                     "WMT'17", "IWSLT 2015 English-Vietnamese"):
            self.assertEqual(corpora.count(f"| {name} |"), 1)
        self.assertIn("MAD table 2, section 4; MoChA table 1, section 3.1", corpora)
        # Rows of MAD's tables 3 and 4 as the paper has them.
        self.assertIn("| hard monotonic | monotonic | hard | 37.14 | 18.00 | 34.87 |",
                      text)
        self.assertIn("| hard monotonic, eq 17 | monotonic | scaled_bilinear | hard | "
                      "23.0 |", text)

    def test_every_figure_of_the_papers_is_drawn_or_not_attempted_for_a_reason(self):
        # The numbers of their last figures.
        last = {"MAD": 8, "MoChA": 4, "Britz": 8}
        self.assertEqual({key: list(of_paper) for key, of_paper in FIGURES_OF_PAPERS.items()},
                         {key: list(range(1, n + 1)) for key, n in last.items()})
        pictures = {picture.figure for picture in reproduction_figures.PICTURES}
        text = self.page(document())
        listed = text.split("## Not attempted\n")[1].split("\n## ")[0]
        corpora = text.split("## Corpora that are not free\n")[1]
        for key, of_paper in FIGURES_OF_PAPERS.items():
            for number, figure in of_paper.items():
                is_drawn = figure.here is not None and figure.corpus is None
                self.assertEqual(listed.count(f"| {key} figure {number} | "), not is_drawn)
                if figure.here is not None:
                    self.assertIn(figure.here, pictures)
                if figure.corpus is not None:
                    self.assertIn(f"| {figure.corpus} |", corpora)

    def test_every_published_table_of_a_corpus_is_not_attempted_unless_it_is_of_times(self):
        listed = self.page(document()).split("## Not attempted\n")[1].split("\n## ")[0]
        for name in ("mad", "mocha", "britz"):
            paper = json.loads(
                (ROOT / "results" / "published" / f"{name}.json").read_text())
            for table in paper["tables"]:
                row = f"| {paper['paper']['key']} {table['where']} | "
                is_there = bool(table["corpora"]) and table["id"] != "britz-table-3"
                self.assertEqual(listed.count(row), is_there, row)
        self.assertIn("Not attempted: 7 tables of results on corpora that are not free (MAD 1, 2, 3 "
                      "and 4; MoChA 1 and 2; Britz 2)", listed)

    def test_decoders_stand_beside_the_published_times(self):
        known_effects.use(self)
        first = decoder_document()
        first["context"].update(valid=False, invalid_reasons=["a busy machine"])
        one = self.write(first, "one.json")
        three = self.write(decoder_document([70], **TRANSLATION), "three.json")
        self.drawn("britz_table1")
        text = self.page(document(), one, three)
        # 5.35 s of 6.46 s at L = 50; a length that was not measured has the paper's.
        self.assertIn("| 50 | memory | 32 | 99.96 | 5.35 | 0.828 | "
                      "0.800 \\[0.695, 0.921\\] | 0.700 \\[0.608, 0.806\\] |", text)
        self.assertIn("| 200 | memory | 32 | 100.00 | 9.59 | 0.672 | – | – |", text)
        self.assertIn("| 50 | soft | – | 99.94 | 6.46 | 1.000 | 1 | 1 |", text)
        self.assertEqual(text.count("\nMeasured here: INVALID: a busy machine."), 1)
        self.assertEqual(text.count("\nMeasured here: Commit 0123456789;"), 1)
        # No paper has these.
        self.assertIn("| 50 | mocha, w = 4 | – | – | – | – | 0.600 \\[0.521, 0.691\\] "
                      "(read 96 %, 8 % empty, not as trained) |", text)
        self.assertIn("| 50 | monotonic | – | – | – | – | skipped: no room |", text)
        self.assertIn("| memory | 64 | 27.13 | 0.815 | – | – |", text)
        self.assertIn("| memory | 32 | 26.85 | 0.807 | 0.800 \\[", text)

    def test_a_decoder_that_was_not_measured_is_named(self):
        text = self.page(document())
        self.assertIn("\nNot measured in this run: britz_table1.\n", text)
        self.assertIn("| 50 | memory | 32 | 99.96 | 5.35 |", text)
        self.assertIn("512, copy:1, 16000, 2, timed (dim, workload, vocabulary, layers, "
                      "encoder), as has another file", self.refused_twice())

    def test_other_lengths_of_a_published_model_are_no_row_of_its_table(self):
        one = self.write(decoder_document([20, 50]), "one.json")
        other = self.write(decoder_document([8, 20]), "other.json")
        found = reproduction.decoders([one, other])
        self.assertEqual([set(cells["memory_length"]) for cells in found.values()],
                         [{20, 50}])

    def test_a_broken_cell_of_a_decoder_is_named(self):
        broken = decoder_document([70])
        del broken["cells"][1]["beam"]
        with self.assertRaisesRegex(load.DataError, r"cells\[1\].*beam is missing"):
            reproduction.decoders([self.write(broken, "broken.json")])

    def refused_twice(self):
        (self.folder / "REPRODUCTION.md").unlink()
        paths = [self.write(decoder_document([70], **TRANSLATION), name)
                 for name in ("a.json", "b.json")]
        return self.refused(document(), *paths)


if __name__ == "__main__":
    unittest.main()
