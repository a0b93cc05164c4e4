"""Guards against pages of the reproduction that lack a claim, give one another verdict or
figure than was measured, pass a measurement that was not made over in silence, or are
made of claims that were judged by other rules."""

import contextlib
import io
import json
import os
import re
import shutil
import unittest
from unittest import mock

from made_up import decoded, mad_cells, make_cell, make_document, mocha_cells
from made_up_claims import decoder_document, document
import known_effects
from plot_case import ROOT, PlotTest

from attnbench.analysis import load
from pages import claim_words, markdown, reproduction, reproduction_figures
from pages.not_attempted import FIGURES as FIGURES_OF_PAPERS

LEDGER = json.loads((ROOT / "experiments" / "claims.json").read_text())
TRANSLATION = {"dim": 512, "vocabulary": 16000}
EXPECTED = ROOT / "results" / "britz_figure2.json"


def cells_of(line):
    return [cell.strip() for cell in line.replace("\\|", "/").split("|")[1:-1]]


def section(text, name):
    """What a page has below the heading of a claim."""
    return re.split(rf"\n##+ {name}\n", text)[1].split("\n##")[0]


class ReproductionTest(PlotTest):
    def run_main(self, claims, *paths):
        """(exit code, the pages by their places, stderr)."""
        error = io.StringIO()
        with contextlib.redirect_stderr(error):
            code = reproduction.main(
                [self.write(claims, "claims.json"), *map(str, paths),
                 "-o", str(self.folder / "REPRODUCTION.md")])
        made = {str(path.relative_to(self.folder)): path.read_text()
                for path in self.folder.rglob("*.md") if path.is_file()}
        return code, made, error.getvalue()

    def pages(self, claims, *paths):
        code, made, error = self.run_main(claims, *paths)
        self.assertEqual((code, error), (0, ""))
        self.assertEqual(sorted(made), sorted(
            ["REPRODUCTION.md", *(f"results/{folder}{name}.md" for folder in ("", "claims/")
                                  for name in ("mad", "mocha", "britz"))]))
        return made

    def page(self, claims, *paths):
        """The page of verdicts."""
        return self.pages(claims, *paths)["REPRODUCTION.md"]

    def papers(self, claims, *paths):
        """The pages of the papers."""
        return "".join(text for path, text in self.pages(claims, *paths).items()
                       if re.fullmatch(r"results/\w+\.md", path))

    def evidence(self, claims, *paths):
        """The pages of evidence."""
        return "".join(text for path, text in self.pages(claims, *paths).items()
                       if path.startswith("results/claims/"))

    def refused(self, claims, *paths):
        """The one line on stderr; no page."""
        code, made, error = self.run_main(claims, *paths)
        self.assertEqual((code, made, error.count("\n")), (2, {}, 1), error)
        return error

    def rows_of(self, text, name):
        """Rows of a table that are of a claim: those of its section."""
        return [cells_of(line) for line in section(text, name).splitlines()
                if line.startswith("|")][2:]

    def verdict_of(self, text, name):
        (row,) = (cells_of(line) for line in text.splitlines()
                  if line.startswith(f"| [{name}]"))
        return row[2]


class ClaimsTest(ReproductionTest):
    def test_every_claim_has_a_verdict_a_row_for_each_part_that_decides_and_evidence(self):
        made = self.pages(document())
        text = made["REPRODUCTION.md"]
        for claim in LEDGER["claims"]:
            own = [part["name"] for part in claim["parts"] if part["role"] == "claim"]
            page = f"{claim['source'].split()[0].lower()}.md"
            link = f"[{claim['id']}](results/{page}#{claim['id'].lower()}): "
            self.assertEqual(text.count(link), 1)
            rows = self.rows_of(made[f"results/{page}"], claim["id"])
            self.assertEqual(len(rows), len(own))
            for row, name in zip(rows, own):
                self.assertIn(name.replace("|", "/"), row[0])
            self.assertIn(f"{claim['claim']} ({claim['source']})",
                          section(made[f"results/{page}"], claim["id"]))
            section(made[f"results/claims/{page}"], claim["id"])
        count = len(LEDGER["claims"])
        self.assertIn(
            f"\n{count} claims: 1 holds, 1 holds only under a condition, 1 refuted, 1 not "
            "reproduced here, 1 undecided, 1 depends on how the paper is read, 1 waits for "
            f"trained results, {count - 7} not measurable here.\n", text)
        self.assertRegex(text, r"\n- \d+ of cost: 1 refuted, 1 undecided, 1 depends on how")

    def test_claims_are_in_the_ledgers_order_on_top_and_in_the_papers_on_its_page(self):
        made = self.pages(document())
        listed = re.findall(r"^\| \[([\w-]+)\]", made["REPRODUCTION.md"], re.MULTILINE)
        self.assertEqual(listed, [claim["id"] for claim in LEDGER["claims"]])
        for name, order in (
            ("mad", ["2.2", "2.3", "2.4", "2.5", "3", "4", "C.1", "F", "G"]),
            ("mocha", ["2.4", "3", "3.1", "3.2", "B", "C"]),
            ("britz", ["3", "3.2", "4", "4.1", "4.1.2", "4.2", "4.2.2", "5"]),
        ):
            found = re.findall(r"^## (?:Section|Appendix) (.*)$", made[f"results/{name}.md"],
                               re.MULTILINE)
            self.assertEqual(found, order)

    def test_each_verdict_is_told_with_its_figures_and_reason(self):
        made = self.pages(document())
        top, text = made["REPRODUCTION.md"], self.papers(document())
        self.assertIn("Verdict: **holds** (", section(text, "mad-binary"))
        self.assertEqual(self.rows_of(text, "mad-binary")[0], [
            "greatest difference of alpha and the choice (probability)", "0", "3 to 17",
            "at most 0"])
        self.assertEqual(self.verdict_of(top, "mad-speedup"), "**refuted**. It is &lt;so&gt;.")
        self.assertEqual(self.rows_of(text, "mad-speedup")[0][1:], [
            "4 to 40", "1.53 \\[1.3, 1.61\\] to 34.9 \\[25, 42.2\\]", "3.5 to 45"])
        self.assertEqual(self.rows_of(text, "mocha-moving-sum")[0][2], "8e-07 to inf")
        self.assertIn("**undecided**: the interval \\[-0.1, 0.2\\] contains 0",
                      section(text, "britz-gap-grows"))
        for name, short, said in (
                ("mocha-moving-sum", "**holds only if** chunk_energy_scale = 1", ""),
                ("mocha-reorder", "**not reproduced here**", ""),
                ("mocha-params", "**depends on reading**", ": it holds if reading = narrow"),
                ("matcha-no-better", "**waits for** trained results of speech", ""),
                ("britz-K", "**not measurable here**", ": no training result")):
            self.assertEqual(self.verdict_of(top, name).split(" (expected")[0], short)
            self.assertIn(f"Verdict: {short}{said} (", section(text, name))
        self.assertEqual(self.rows_of(text, "britz-K")[0][2], "–")

    def test_evidence_names_a_preset_by_its_toolkit(self):
        self.assertEqual(
            claim_words.labels_text({"variant": "parallel", "preset": "fsq_op",
                                     "memory_length": 4}),
            "variant = parallel, preset = fairseq 0.12, T = 4")
        self.assertEqual(claim_words.labels_text({"preset": None}), "preset = none")
        self.assertEqual(claim_words.labels_text({"preset": "novel"}), "preset = novel")

    def test_a_verdict_that_is_not_the_expected_one_is_named(self):
        text = self.page(document())
        self.assertEqual(self.verdict_of(text, "britz-gap-grows"),
                         "**undecided** (expected: holds)")
        self.assertRegex(text, r"This run gives \d+ other verdicts: [^#]*\*\*undecided\*\* of "
                               r"britz-gap-grows; ")
        self.assertRegex(text, r"The committed quick run gives \d+ other verdicts: ")
        self.assertNotIn("expected", self.verdict_of(text, "mad-speedup"))

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
        self.assertEqual(self.rows_of(self.papers(made), "britz-scoring")[0][2],
                         "0.02 (2 seeds: 0.01, 0.03) to 0.5 \\[0.4, 0.6\\] of 5 seeds")
        text = self.evidence(made)
        self.assertIn("(half of the widest interval): error (percent): 0.1.",
                      section(text, "britz-scoring"))
        self.assertEqual(text.count("half of the widest interval"), 1)

    def test_evidence_is_linked_with_the_level_of_its_machine_and_its_points(self):
        link = os.path.relpath(ROOT / "results/claims/speedup.json",
                               self.folder / "results/claims")
        self.assertIn(
            f"\n- [speedup.json]({link}) (AVX2) `cells[0]` of `0123456789abcdef`, `cells[1]` of",
            section(self.evidence(document()), "mad-speedup"))

    def test_what_is_not_shown_of_the_evidence_is_counted(self):
        claims = document()
        (speedup,) = (one for one in claims["claims"] if one["id"] == "mad-speedup")
        speedup["evidence"] = [{**speedup["evidence"][0], "place": f"cells[{cell}]"}
                               for cell in range(30)]
        text = section(self.evidence(claims), "mad-speedup")
        self.assertIn(", 6 more\n", text)
        self.assertNotIn("`cells[24]`", text)

    def test_a_file_that_is_not_there_or_was_not_kept_is_no_link(self):
        claims = document()
        for claim in claims["claims"]:
            for number, entry in enumerate(claim["evidence"]):
                entry["file"] = None if number else "out/nowhere.json"
        text = section(self.evidence(claims), "mad-speedup")
        self.assertNotIn("](", text)
        self.assertIn("\n- nowhere.json `cells[0]`", text)
        self.assertIn("\n- speedup `cells[1]`", text)

    def test_every_group_is_told_with_what_sets_its_ends_apart(self):
        text = section(self.evidence(document()), "mad-speedup")
        self.assertIn(
            "| workload = uniform | 1.53 \\[1.3, 1.61\\] at T = 4 | 34.9 \\[25, 42.2\\] at "
            "T = 128 | 3.5 to 45 | fails |", text)
        self.assertIn("undecided: the interval \\[3.1, 4.5\\] contains the bound 4", text)
        self.assertIn("| beside: least, published (ratio) | – |", text)

    def test_a_quick_run_says_so_in_its_title_and_at_its_top(self):
        self.assertTrue(self.page(document()).startswith("# Reproduction\n\n`plots/reproduction.py` writes"))
        text = self.page({**document(), "quick": True})
        self.assertTrue(text.startswith("# Reproduction (quick run)\n\n**Measured with"),
                        text[:99])

    def test_words_of_a_document_are_no_markup(self):
        claims = document()
        claims["claims"][0]["verdict"] = "not measurable here: <b> [x](y) `z` | a*b*"
        self.assertIn("not measurable here**: &lt;b&gt; \\[x\\](y) \\`z\\` \\| a\\*b\\*",
                      self.papers(claims))

    def test_the_machine_is_that_of_the_files_that_were_judged(self):
        claims = document()
        path = os.path.join(ROOT, "results", "claims", "speedup.json")
        measured = load.read_json(path)["context"]
        text = self.page(claims)
        self.assertIn(f" | {measured['kernel']} | ", text)
        self.assertNotIn(" | 8.0 GiB | ", text)
        for claim in claims["claims"]:
            for evidence in claim["evidence"]:
                evidence["file"] = None
        self.assertIn(" | 8.0 GiB | ", self.page(claims))

    def test_machines_of_one_name_have_a_row_for_each_simd_level(self):
        claims = document()
        evidence = next(claim for claim in claims["claims"]
                        if claim["id"] == "mad-speedup")["evidence"]
        evidence[0]["file"] = "results/claims/decoder.json"
        self.assertRegex(self.page(claims), r"\| ([^|]*), AVX2 \|.* speedup.json \|\n"
                                            r"\| \1, AVX3 \|.* decoder.json \|\n")
        self.assertRegex(section(self.evidence(claims), "mad-speedup"),
                         r"decoder.json\S* \(AVX3\)[^\0]*speedup.json\S* \(AVX2\)")

    def test_a_claim_of_times_says_how_many_of_its_cells_lose_outputs(self):
        cells = load.read_json(os.path.join(ROOT, "results", "claims", "speedup.json"))["cells"]
        marked = sum(
            cell["numerics"]["attention_mass"] < 0.95 * cell["output_length"]
            for cell in cells[:5] if cell["mechanism"] == "monotonic")
        self.assertGreater(marked, 0)
        text = self.evidence(document())
        self.assertIn(f"In {marked} of the 5 cells of this evidence over 5 % of the outputs",
                      section(text, "mad-speedup"))
        # Of counts, from the same cells.
        self.assertNotIn("of the outputs have no context", section(text, "mad-binary"))

    def test_date_and_validity_come_from_the_context(self):
        claims = document()
        text = self.page(claims)
        self.assertIn("Commit 0123456789; An Invented Processor 3000 @ 2.50GHz, AVX2; "
                      "2026-01-02T03:04:05Z.", text)
        claims["context"].update(valid=False, invalid_reasons=["a debug build"])
        self.assertIn("INVALID: a debug build.", self.page(claims))

    def test_warnings_are_counted_once_and_told_in_one_place(self):
        claims = document()
        path = os.path.join(ROOT, "results", "claims", "speedup.json")
        behind = load.read_json(path)["context"]["warnings"]
        self.assertGreater(len(behind), 1)
        claims["context"]["warnings"] = [
            *behind, "the probe L3 took 36 % longer", "the probe L3 took 5.5 % longer"]
        made = self.pages(claims)
        text = made["REPRODUCTION.md"].split("\n## Warnings\n\n")[1]
        self.assertIn(f": {len(behind) + 2}, of ", text)
        self.assertIn("\n- 2 times: the probe L3 took … % longer\n", text)
        self.assertNotRegex("".join(made.values()), r"carries \d+ warning")
        counts = [int(count) for count in re.findall(r"^- (\d+) times?: ", text, re.MULTILINE)]
        self.assertEqual(sum(counts), len(behind) + 2)

    def test_the_same_files_give_the_same_page(self):
        self.assertEqual(self.pages(document()), self.pages(document()))


class MarkdownTest(unittest.TestCase):
    WORDS = "a - 1 + 2. # b `c d` **e f** [g h](i) \\* j > 3) k \\[1, 2\\] = l "

    def assert_whole(self, text):
        """No markup is divided."""
        self.assertEqual((text.count("`") % 2, text.count("**") % 2), (0, 0), text)
        self.assertEqual(len(re.findall(r"(?<!\\)\[", text)), text.count("]("), text)

    def test_a_long_line_is_broken_neither_in_markup_nor_before_what_begins_a_list(self):
        for start, indent in (("", ""), ("- ", "  ")):
            long = (start + self.WORDS * 40).rstrip()
            first, *others = markdown.page([long]).splitlines()
            self.assertGreater(len(others), 3)
            for line in (first, *others):
                self.assertLessEqual(len(line), 400)
                self.assert_whole(line)
            for line in others:
                self.assertRegex(line, f"^{indent}[A-Za-z`*(\\[]")
            self.assertEqual(" ".join([first, *(line.lstrip() for line in others)]), long)

    def test_a_row_that_is_too_long_goes_on_in_rows_below(self):
        cells = [(self.WORDS * count).rstrip() for count in (1, 20, 9)]
        _, _, *rows = markdown.table("abc", [cells])
        self.assertGreater(len(rows), 2)
        parts = [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]
        for row, own in zip(rows, parts):
            self.assertLessEqual(len(row), 400)
            for cell in own:
                self.assert_whole(cell)
        self.assertEqual([" ".join(filter(None, column)) for column in zip(*parts)], cells)

    def test_a_row_that_fits_is_left_as_it_is(self):
        self.assertEqual(markdown.table("ab", [["c d", "e"]])[2:], ["| c d | e |"])


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

    def test_a_place_where_no_page_can_be_written_is_named_before_any_is(self):
        (self.folder / "results").write_text("")
        self.assertRegex(self.refused(document()), r"results/\w+\.md: cannot be written")
        (self.folder / "results").unlink()
        (self.folder / "results" / "mad.md").mkdir(parents=True)
        self.assertIn("results/mad.md: is there and is not a file",
                      self.refused(document()))

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
        made = self.pages(document(), EXPECTED, mad)
        britz, part = made["results/britz.md"], made["results/mad.md"]
        self.assertIn("](../figures/britz_figure2.png)", britz)
        self.assertIn("- L(K/2, S/2) = 0.5 (the paper: 0.5)", britz)
        part = part.split("## Appendix F\n")[1].split("## Appendix G\n")[0]
        self.assertIn("![Figure 8, appendix F](../figures/mad_figure8_builds.png)", part)
        self.assertIn("From [mad_figure8.json](../mad_figure8.json): Commit", part)
        self.assertRegex(part, r"- published: soft / monotonic min 1\.5x at T = 4")
        self.assertRegex(part, "- our kernels, f32: soft / monotonic min ")
        # Each value of the published figure has ours beside it.
        rows = [cells_of(line) for line in part.split("| ratio | our kernels, f32 |\n")[1]
                .split("\n\n")[0].splitlines()[1:]]
        self.assertEqual(len(rows), 36)
        self.assertEqual(rows[0][:5], ["4", "4", "0.050", "0.032", "1.5"])
        self.assertTrue(all(re.match(r"[\d.]+x", row[5]) for row in rows), rows)

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
        text = section(self.evidence(document(), path), "matcha-memory").replace("\n", " ")
        for said in (
                "at T = 2048, U = 2, in f64, it takes 1 MiB where eqs 40 to "
                "43 take 32 MiB and 50x",
                "From T = 2048 to 4096 its time grows with T to the power of 1.00. At T = "
                "4096, it takes 2.00 ms and 2 MiB; all pairs of start and choice, in "
                "O(T^2), take 8.0x",
                "With its gradient, at T = 2048, it takes 3.00 ms and 2 MiB; all pairs of "
                "start and choice, in O(T^2), take 3.0x",
                "From [matcha_algorithms.json](../../matcha_algorithms.json)."):
            self.assertIn(said, text)
        self.assertNotIn("recommends against", self.evidence(document()))

    def test_outputs_of_a_command_make_one_figure_together(self):
        alignments = reproduction_figures.Picture("alignments", "MAD", "section 2.2", "Of two.")
        paths = [self.write(decoded(name), f"{name}.json") for name in ("soft", "mocha")]
        self.drawn("alignments")
        with mock.patch.object(reproduction_figures, "PICTURES", (alignments,)):
            text = self.papers(document(), *paths)
        self.assertEqual(text.count("](../figures/"), 1)
        self.assertIn("From [soft.json](../soft.json), [mocha.json](../mocha.json).", text)
        self.assertIn("- mocha: 12 of 12 outputs", text)

    def test_a_figure_without_a_result_is_named_as_not_measured(self):
        text = self.papers(document())
        for title in ("Figure 8, appendix F", "Figure 3, appendix B"):
            self.assertIn(f"\n{title}: not measured in this run.\n", text)
        self.assertNotIn("![", text)

    def test_every_published_table_is_there_with_what_stands_in_for_its_corpora(self):
        made = self.pages(document())
        for name in ("mad", "mocha", "britz"):
            paper = json.loads(
                (ROOT / "results" / "published" / f"{name}.json").read_text())
            text = made[f"results/{name}.md"].replace("\n", " ")
            for table in paper["tables"]:
                self.assertIn(f" {table['where'][0].upper()}{table['where'][1:]}: "
                              f"{table['what']}", text)
                self.assertIn(f"Here: {table['instead']}.", text)
            for statement in paper["statements"]:
                self.assertIn(f"| {statement['what']} |", text)
        corpora = made["REPRODUCTION.md"].split("| corpus |")[1]
        for name in ("TIMIT", "Wall Street Journal", "Gigaword", "CNN/Daily Mail",
                     "WMT'17", "IWSLT 2015 English-Vietnamese"):
            self.assertEqual(corpora.count(f"| {name} |"), 1)
        self.assertIn("MAD table 2, section 4; MoChA table 1, section 3.1", corpora)
        # Rows of MAD's tables 3 and 4 as the paper has them.
        self.assertIn("| hard monotonic | monotonic | hard | 37.14 | 18.00 | 34.87 |",
                      made["results/mad.md"])
        self.assertIn("| hard monotonic, eq 17 | monotonic | scaled_bilinear | hard | "
                      "23.0 |", made["results/mad.md"])

    def test_every_figure_of_the_papers_is_drawn_or_not_attempted_for_a_reason(self):
        # The numbers of their last figures.
        last = {"MAD": 8, "MoChA": 4, "Britz": 8}
        self.assertEqual({key: list(of_paper) for key, of_paper in FIGURES_OF_PAPERS.items()},
                         {key: list(range(1, n + 1)) for key, n in last.items()})
        pictures = {picture.figure for picture in reproduction_figures.PICTURES}
        text = self.page(document())
        listed = text.split("## Not attempted\n")[1].split("\n## ")[0]
        corpora = text.split("| corpus |")[1]
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
        text = self.papers(document(), one, three)
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
        text = self.papers(document())
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
        for path in self.folder.rglob("*.md"):
            path.unlink()
        paths = [self.write(decoder_document([70], **TRANSLATION), name)
                 for name in ("a.json", "b.json")]
        return self.refused(document(), *paths)


if __name__ == "__main__":
    unittest.main()
