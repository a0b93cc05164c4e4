"""Guards against a page that hides a failed cell, shows a number that is in no
file, lets a name from a file become markup, or has a link that leads nowhere.
What needs a browser is in browser_test.py."""

import json
import re
import subprocess
import sys
import unittest
from unittest import mock
import xml.etree.ElementTree

import hostile
import results
from attnbench.analysis import command, load, whole_file, words as markup_words
from hostile import NAMES
from parsed import Page, unpacked
from results import HOSTILE, POINTS, ROOT, ReportCase

import made_up
import made_up_claims
from figures import draw
from pages import assemble, validity


def committed(name):
    return json.loads((ROOT / "results" / f"{name}.json").read_text(encoding="utf-8"))


class PageTest(ReportCase):
    whole = None  # made once, as it is large

    def everything(self):
        PageTest.whole = PageTest.whole or self.read(
            results.sweep(made_up.mocha_cells((10, 20))),
            results.sweep(results.peers_cells()),
            results.sweep(results.hostile_cells()),
            results.verify(),
            results.claims(),
            results.computed(),
            made_up.stability_document(),
            committed("advice"),
            committed("diagnosis"),
        )
        return PageTest.whole

    def test_ids_are_unique_and_links_and_labels_lead_somewhere(self):
        page = self.everything()
        ids = page.ids()
        self.assertEqual(len(ids), len(set(ids)))
        known = set(ids)
        for tag, attributes in page.elements:
            for key in ("aria-labelledby", "aria-describedby", "for"):
                for name in attributes.get(key, "").split():
                    self.assertIn(name, known, (tag, attributes))
            for key in ("href", "xlink:href"):
                target = attributes.get(key, "#")
                if target.startswith("data:image/png"):
                    continue
                self.assertTrue(target.startswith("#"), target)
                cell = re.fullmatch(r"#cell-(\d+)-(\d+)", target)
                if cell:
                    records = page.records(cell[1])
                    self.assertLess(int(cell[2]), len(records))
                elif target != "#":
                    self.assertIn(target[1:], known)
            for used in re.findall(r"url\(#([^)]*)\)", str(attributes)):
                self.assertIn(used, known)

    def test_advice_has_its_table_its_verdicts_and_its_figure(self):
        document = committed("advice")
        text = self.read(document).words()
        (mocha,) = (one["attention"] for one in document["mechanisms"]
                    if one["mechanism"] == "mocha w=4")
        for words in (document["conclusion"], f"mocha w=4 {mocha['time_ns'] / 1e6:.3g} ms [",
                      "AP, DAL: mean share", "limit: soft's decoder", "attention alone",
                      "T = 400, U = 60", "random weights"):
            self.assertIn(words, text)
        document["context"].update(valid=False, invalid_reasons=["a debug build"])
        text = self.read(document).words()
        # Its raw JSON has the conclusion.
        self.assertNotIn(document["conclusion"], text.rpartition("Validity and context")[0])
        self.assertIn("Not valid: a debug build.", text)
        self.assertIn("No verdict: the run is INVALID", text)

    def test_a_diagnosis_has_its_figure_and_its_variants_as_records(self):
        page = self.read(committed("diagnosis"))
        self.assertIn("monotonic: wrong by more than 0.01: MAD; TensorFlow;", page.words())
        self.assertIn("mechanisms: variants (10 rows)", page.words())

    def test_a_cell_that_was_measured_and_has_no_time_is_one_line(self):
        cells = results.plain_cells()
        cells[0].update(median_ns=None, samples_ns=[])
        path = self.write(results.sweep(cells), "counts.json")
        self.refused([path, "-o", str(self.folder / "counts.html")], "counts.json: cells[0]")
        with self.assertRaisesRegex(load.DataError, r"counts.json: cells\[0\]"):
            draw.draw_files([path])

    def test_headings_go_down_one_level_at_a_time(self):
        levels = [int(tag[1]) for tag, _ in self.everything().elements
                  if re.fullmatch("h[1-6]", tag)]
        self.assertEqual(levels[0], 1)
        self.assertEqual(levels.count(1), 1)
        for before, after in zip(levels, levels[1:]):
            self.assertLessEqual(after, before + 1)

    def test_tables_and_figures_have_names_and_headings_have_scopes(self):
        page = self.everything()
        tags = [tag for tag, _ in page.elements]
        self.assertEqual(tags.count("table"), tags.count("caption"))
        self.assertGreater(tags.count("table"), 8)
        for attributes in page.named("th"):
            self.assertIn(attributes.get("scope"), ("col", "row"))
        pictures = page.named("svg")
        self.assertGreater(len(pictures), 2)
        for attributes in pictures:
            self.assertEqual(attributes["role"], "img")
            self.assertTrue(attributes["aria-labelledby"] and attributes["aria-describedby"])

    def test_pictures_are_svg_that_stands_alone(self):
        text = self.page(results.sweep(made_up.mocha_cells((10, 20)))).read_text()
        found = re.findall(r"<svg .*?</svg>", Page(text).text, re.DOTALL)
        self.assertEqual(len(found), 1)
        for picture in found:
            xml.etree.ElementTree.fromstring(picture)
            self.assertIn("MoChA, w = 8", picture)
            # Letters of 6 points in print have at least 11 pixels on a screen.
            (width,) = re.findall(r'<svg [^>]*?\bwidth="([0-9.]+)pt"', picture)
            (in_print,) = re.findall(r'viewBox="0 0 ([0-9.]+) ', picture)
            self.assertGreaterEqual(6 * float(width) / float(in_print) / 0.75, 11)
        self.assertIn("T = U = 20: soft / monotonic", Page(text).words())

    def test_nothing_is_fetched(self):
        page = self.everything()
        for tag in ("link", "iframe", "object", "base", "form"):
            self.assertEqual(page.named(tag), [])
        for tag, attributes in page.elements:
            self.assertNotIn("src", attributes, tag)
        policy = next(a["content"] for a in page.named("meta")
                      if a.get("http-equiv") == "Content-Security-Policy")
        self.assertTrue(policy.startswith("default-src 'none';"))

    def test_a_name_from_a_file_is_text_everywhere(self):
        document = results.sweep(results.hostile_cells(), cpu=HOSTILE,
                                 warnings=[HOSTILE], command=HOSTILE)
        other = results.computed(**{HOSTILE: [{HOSTILE: HOSTILE}, {HOSTILE: 1}]})
        page = self.read(document, other, title=HOSTILE)
        self.assertNotIn("b", [tag for tag, _ in page.elements])
        self.assertNotIn("out", page.ids())
        self.assertIn(" ".join(HOSTILE.split()), page.words())
        self.assertEqual(page.records(0), document["cells"])
        self.assertIn(HOSTILE, page.column(0, "mechanism"))

    def test_every_name_is_on_the_page_as_it_is(self):
        cells = [made_up.make_cell(name, 10, 10, options={name: name}) for name in NAMES]
        for cell, name in zip(cells, NAMES):
            made_up.stop(cell, "error", name)
        page = self.read(results.sweep(cells, warnings=NAMES, cpu=" ".join(NAMES)),
                         names=hostile.file_names())
        self.assertEqual(page.records(0), cells)
        self.assertEqual(page.column(0, "mechanism"), NAMES)

        def words(text):
            return " ".join(markup_words.clean(text).split())
        texts = set(map(words, page.texts))
        for name in NAMES:
            self.assertIn(words(name), texts | {""})
        self.assertIn(words(" ".join(NAMES)), page.words())
        for name in hostile.file_names():
            self.assertIn(words(command.printable(f"{name}: valid")), page.words())

    def test_a_picture_has_the_names_as_they_are(self):
        names = ["url(#a)", "'DejaVu Sans'", 'a id="b"', 'xlink:href="#a"', "_a_", "<b>&amp;"]
        page = self.read(results.sweep(
            [made_up.make_cell(name, t, t, time_ns=10.0 * t) for t in (10, 20)
             for name in names]))
        self.assertEqual(len(page.named("svg")), 1)
        for name in names:
            self.assertIn(name, page.texts)

    def test_what_html_cannot_hold_does_not_stop_it(self):
        document = results.sweep(results.peers_cells(), cpu="a\x00b\ud800c")
        self.assertIn("a\ufffdb\ufffdc", self.read(document).words())

    def test_the_same_results_give_the_same_bytes(self):
        path = self.write(results.sweep(made_up.mocha_cells((10, 20))))
        pages = []
        for seed in ("1", "2"):
            out = self.folder / f"{seed}.html"
            subprocess.run(
                [sys.executable, results.ROOT / "plots" / "report.py", path, "-o", out],
                env={"PYTHONHASHSEED": seed, "MPLCONFIGDIR": str(self.folder)},
                check=True,
            )
            pages.append(out.read_bytes())
        self.assertEqual(len(Page(pages[0].decode()).named("svg")), 1)
        self.assertEqual(*pages)

    # ---- a page that would be large -----------------------------------------

    def large(self, *documents):
        """Gives the page of the documents, and what lies beside it, if any record is too much."""
        with mock.patch.object(assemble, "MOST_BYTES", 0):
            path = self.page(*documents)
        beside = self.folder.glob("report.html.files/*")
        return path.read_text(), {one.name: one.read_text() for one in beside}

    def test_records_that_make_a_page_large_lie_beside_it(self):
        documents = results.sweep(results.plain_cells()), results.verify()
        page = self.read(*documents)
        text, beside = self.large(*documents)
        large = Page(text)
        self.assertEqual(large.words(), page.words())
        paths = json.loads(large.scripts["files"])
        # One file has the cells, one the cases, and one the quantities of cases.
        self.assertEqual(len(paths), 3)
        self.assertNotIn("packed-0", large.scripts)
        for number, path in enumerate(paths):
            folder, name = path.split("/")
            self.assertEqual(folder, "report.html.files")
            packed = re.fullmatch('document.currentScript.dataset.packed="([^"]*)";\n',
                                  beside[name])[1]
            self.assertEqual(unpacked(packed).split("\n"), page.lines(number))
        self.assertEqual(set(beside), {path.split("/")[1] for path in paths})

    def test_only_a_page_with_records_beside_it_may_load_anything(self):
        document = results.sweep(results.plain_cells())
        text, _ = self.large(document)
        self.assertIn("'strict-dynamic';", text)
        self.assertNotIn("strict-dynamic", self.page(document).read_text())

    def test_records_of_an_older_page_go_and_other_files_stay(self):
        self.large(results.sweep(results.plain_cells()))
        folder = self.folder / "report.html.files"
        old = set(folder.iterdir())
        (folder / "mine.js").write_text("mine")
        self.large(results.verify())
        self.assertFalse(old & set(folder.iterdir()))
        self.page(results.verify())
        self.assertEqual([one.name for one in folder.iterdir()], ["mine.js"])

    def test_a_page_that_cannot_be_written_leaves_the_old_one_and_its_records(self):
        def write(path, content, may_replace=True):
            if str(path).endswith(".html"):
                raise OSError(28, "No space left on device")
            whole(path, content, may_replace)

        before = self.large(results.sweep(results.plain_cells()))
        path, whole = self.write(results.verify()), whole_file.write
        with mock.patch.object(whole_file, "write", write), \
                mock.patch.object(assemble, "MOST_BYTES", 0):
            for name in ("report.html", "new.html"):
                code, error = self.run_report(path, "-o", str(self.folder / name), "--force")
                self.assertEqual(code, 2)
                self.assertIn(f"{name}: cannot be written: No space left", error)
        self.assertFalse((self.folder / "new.html.files").exists())
        beside = (self.folder / "report.html.files").iterdir()
        self.assertEqual(((self.folder / "report.html").read_text(),
                          {one.name: one.read_text() for one in beside}), before)

    def test_what_is_in_the_place_of_the_records_is_named(self):
        place = self.folder / "report.html.files"
        place.write_text("mine")
        path = self.write(results.verify())
        with mock.patch.object(assemble, "MOST_BYTES", 0):
            self.refused([path, "-o", str(self.folder / "report.html")],
                         f"{place}: cannot be written: File exists")
        self.assertEqual(place.read_text(), "mine")

    # ---- validity -----------------------------------------------------------

    def test_verdicts_and_figures_come_before_validity_and_records(self):
        order = ["ledger", "figures", "peers", "validity", "cells"]
        self.assertEqual([n for n in self.everything().ids() if n in order], order)
        page = self.read(results.sweep(results.plain_cells()))
        self.assertIn("The result is valid, no cell failed.", page.words())
        self.assertNotIn("ledger", page.ids())
        self.assertNotIn("peers", page.ids())

    def test_good_results_fold_into_one_line_and_others_stand_open(self):
        good = results.computed()
        page = self.read(good, good, good)
        self.assertEqual([inside for name, inside in page.folded.items()
                          if name.startswith("file-")], ["3 results, all valid"] * 3)
        warned = results.sweep([], points=[], warnings=["the machine was busy"])
        for bad in (
            results.verify(),
            results.sweep(results.peers_cells()[-2:]),  # one of them failed
            results.sweep([], points=POINTS),
            results.sweep([], points=[], valid=False, invalid_reasons=["a debug build"]),
        ):
            page = self.read(good, bad, warned)
            self.assertEqual(page.folded["file-1"], "")
            for number in (0, 2):
                self.assertEqual(page.folded[f"file-{number}"],
                                 "2 other results, all valid (1 with warnings)")
            self.assertRegex(page.words(), "^.*1 .{,20}(not|failed).* Which, and why")

    def test_an_invalid_result_says_so_with_its_reasons(self):
        cells = results.plain_cells()
        page = self.read(
            results.sweep(cells),
            results.sweep(cells, valid=False, invalid_reasons=["a debug build"],
                          warnings=["the machine was busy"]),
        )
        words = page.words()
        self.assertIn("1 of 2 results not valid.", words)
        self.assertIn("1.json: not valid", words)
        self.assertIn("Not valid because: a debug build", words)
        self.assertIn("the machine was busy", words)

    def test_what_is_shown_of_an_invalid_result_says_so(self):
        why = {"valid": False, "invalid_reasons": ["a debug build"]}
        claims = results.claims()
        claims["context"].update(why)
        words = self.read(claims, results.sweep(results.plain_cells(), **why)).words()
        self.assertIn("0.json Not valid: a debug build. 2 claims:", words)
        self.assertIn("T, U = 5, d = 256 (1.json) Not valid: a debug build.", words)
        self.assertIn("INVALID: see below", words)

    def test_failed_cells_are_counted_with_message_and_link(self):
        page = self.read(results.sweep(results.peers_cells()))
        self.assertIn("1 cell failed.", page.words())
        self.assertIn("7 cells, 6 of them ok.", page.words())
        self.assertIn("timeout 1 row 5 took longer than 2 s", page.words())
        self.assertIn("#cell-0-5", [a.get("href") for a in page.named("a")])
        self.assertEqual(page.column(0, "status")[5], "timeout")
        self.assertEqual(page.column(0, "message")[5], "took longer than 2 s")
        self.assertIsNone(page.column(0, "median_ns")[5])

    def test_a_skipped_cell_is_named_and_no_failure(self):
        cells = results.plain_cells()
        made_up.stop(cells[-1], "skipped", "64 threads")
        words = self.read(results.sweep(cells)).words()
        self.assertIn("The result is valid, no cell failed (1 cell skipped).", words)
        self.assertIn("skipped 1 row 2 64 threads", words)

    def test_a_failed_cell_of_a_decoder_is_counted_too(self):
        document = made_up_claims.decoder_document()
        made_up.stop(document["cells"][1], "invalid", "wrong")
        page = self.read(results.computed(), document)  # a table before that of the cells
        words = page.words()
        self.assertIn("1 cell failed (4 cells skipped).", words)
        self.assertIn("16 cells, 11 of them ok.", words)
        self.assertIn("invalid 1 row 1 wrong", words)
        self.assertIn("#cell-1-1", [a.get("href") for a in page.named("a")])
        self.assertIn("invalid: wrong", words)
        self.assertEqual(len(page.named("svg")), 1)

    def crossover_document(self):
        def timed(mechanism, t, u):
            time_ns = t * u if mechanism == "soft" else 40 * (t + u)
            return made_up.make_cell(
                mechanism, t, u, samples_ns=[time_ns * (1 + r / 100) for r in range(-4, 5)],
                median_ns=float(time_ns),
                num_contexts=32 if mechanism == "memory" else None,
                operations={"energies": t * u if mechanism == "soft" else 0,
                            "chunk_energies": 0})
        document = made_up.make_document(
            [timed(mechanism, t, u) for t in (16, 64, 256) for u in (8, 32)
             for mechanism in ("soft", "memory")])
        document["context"]["command"] = "run-sweep experiments/crossover.json"
        return document

    def test_lengths_from_which_on_stand_in_a_table(self):
        page = self.read(self.crossover_document())
        words = page.words()
        self.assertIn("#crossover", [a.get("href") for a in page.named("a")])
        # These solve T T = 2 * 40 T, and twice as much; lengths are tried 1
        # percent apart.
        self.assertRegex(words, r"memory, K = 32 256 – all 8\d \[\d+, \d+\] 16\d \[")
        elsewhere = self.crossover_document()
        elsewhere["context"]["command"] = "run-sweep experiments/growth.json"
        self.assertNotIn("crossover", self.read(elsewhere).ids())

    def test_a_result_that_tells_no_length_is_named(self):
        document = self.crossover_document()
        document["cells"] = [cell for cell in document["cells"]
                             if cell["mechanism"] != "soft"]
        self.assertIn("0.json: no lengths:", self.read(document).words())

    def test_figures_of_papers_come_first_in_the_papers_order(self):
        page = self.read(made_up_claims.decoder_document(), made_up.stability_document(),
                         results.sweep(made_up.mocha_cells((10, 20))))
        figures = [one for one in page.ids() if re.fullmatch(r"figure-\d+-[a-z0-9_]*", one)]
        self.assertEqual(figures[:3], ["figure-2-mocha_figure3", "figure-0-britz_table1",
                                       "figure-1-stability"])
        # A list of all stands before them.
        links = [a["href"] for a in page.named("a") if a.get("href", "").startswith("#figure-")]
        self.assertEqual(links, [f"#{one}" for one in figures])

    def test_a_decoder_has_its_figure(self):
        page = self.read(made_up_claims.decoder_document())
        self.assertIn("The result is valid, no cell failed (4 cells skipped).",
                      page.words())
        self.assertIn("Britz, table 1 as a figure, section 4.1 (0.json)", page.words())
        self.assertEqual(len(page.named("svg")), 1)

    def test_a_failed_verdict_is_no_good_result(self):
        page = self.read(results.verify())
        self.assertIn("1 verdict failed.", page.words())
        self.assertIn("worst mocha, attention", page.words())

    def test_a_part_of_a_sweep_says_how_much_of_it(self):
        document = results.sweep(results.plain_cells(), points=POINTS,
                                 shard="0/2")
        page = self.read(document)
        self.assertIn("1 result not complete.", page.words())
        self.assertIn("cells of 1 of 2 points", page.words())
        self.assertIn("shard 0/2", page.words())

    def test_a_sweep_without_a_cell_is_shown(self):
        page = self.read(results.sweep([], points=POINTS))
        self.assertIn("0 cells, 0 of them ok.", page.words())
        self.assertIn("cells of 0 of 2 points", page.words())

    def test_differences_of_the_fingerprint_are_named(self):
        one = results.sweep(results.plain_cells(), caches=["L1 48K"])
        two = results.sweep(results.plain_cells(), caches=["L1 32K"],
                            date="2027-01-01T00:00:00Z", seed=2)
        words = self.read(one, two, one).words()
        self.assertIn("they differ in: caches.", words)
        self.assertIn("caches L1 48K all others caches L1 32K 1.json", words)
        # What differs stands there alone.
        self.assertEqual(words.split("Where they differ")[1].count("caches L1"), 2)
        words = self.read(one, two, two, one).words()
        self.assertIn("caches L1 48K 0.json, 3.json caches L1 32K 1.json, 2.json", words)

    def test_what_all_results_agree_on_stands_once(self):
        one = results.sweep([], cpu="Only Once 3000", points=[])
        words = self.read(one, one, one).words()
        self.assertIn("All were made by the same program", words)
        fingerprint = words.split("Fingerprint")[1].split("All records")[0]
        self.assertEqual(fingerprint.count("Only Once 3000"), 1)
        self.assertNotIn("Where they differ", fingerprint)

    def test_the_fingerprint_is_what_the_program_compares(self):
        text = (ROOT / "harness" / "machine" / "context.h").read_text(encoding="utf-8")
        fields = {
            name: set(re.findall(r'visit\("(\w+)"', body))
            for name, body in re.findall(r"^struct (\w+)[^;{]*{$(.*?)^};$", text, re.M | re.S)
        }
        self.assertGreater(len(fields["Setup"]), 15)
        self.assertIn("seed", fields["Setup"])
        self.assertEqual(set(validity.NOT_FINGERPRINT),
                         fields["Context"] | fields["SweepContext"] | {"seed"})

    # ---- numbers ------------------------------------------------------------

    def test_peers_are_paired_by_rounds(self):
        page = self.read(results.sweep(results.peers_cells()))
        words = page.words()
        # The ratio of every round is 3; medians that are not paired have
        # another one.
        self.assertRegex(words, r"T = 10, U = 10, .*? framework 3\.0x 2\.\d to 3\.\d ")
        self.assertRegex(words, r"T = 100, U = 10, .*? framework 5\.0x 4\.\d to 6\.\d ")
        self.assertIn("framework: timeout: took longer than 2 s.", words)
        self.assertIn("ours: no such cell.", words)
        self.assertIn("with 95 % intervals", words)
        links = [a.get("href") for a in page.named("a")]
        self.assertIn("#cell-0-2", links)
        self.assertIn("#cell-0-3", links)

    def test_rounds_of_one_process_are_one_observation(self):
        cells = results.peers_cells()[:2]
        for cell, factors in zip(cells, ((1, 1), (3, 9))):
            cell.update(processes=2, samples_ns=[
                factor * ns for factor in factors for ns in (100, 200, 300, 400)])
        words = self.read(results.sweep(cells)).words()
        # The mean of ln 3 and ln 9; two values have Student's interval of one degree.
        self.assertRegex(words, r"framework 5\.2x 0\.0\d to \d{4} ")

    def test_every_record_of_every_list_is_in_the_page_unchanged(self):
        cells = results.plain_cells()
        verify = results.verify()
        page = self.read(results.sweep(cells), verify, results.computed())
        self.assertEqual(page.records(0), cells)
        self.assertEqual(page.records(1), verify["cases"])
        # Quantities stand inside cases, and their numbers lead to the case.
        self.assertEqual(page.column(2, "quantities.verdict"),
                         ["passed", "failed", "passed"])
        self.assertEqual(page.data(2)["links"], [0, 0, 1])
        self.assertEqual(page.data(2)["source"], 1)

    def test_an_interval_has_its_ends_whatever_it_is_of(self):
        document = made_up_claims.decoder_document()
        page = self.read(document)
        wanted = [cell["decoder"]["attention_interval_ns"][1]
                  for cell in document["cells"] if "decoder" in cell]
        shown = page.column(0, "decoder.attention_interval_ns high")
        self.assertEqual([value for value in shown if value is not None], wanted)

    def test_a_table_has_the_numbers_of_the_file(self):
        cells = results.plain_cells()
        page = self.read(results.sweep(cells))
        self.assertEqual(page.column(0, "median_ns"), [c["median_ns"] for c in cells])
        self.assertEqual(page.column(0, "interval_ns low"),
                         [c["interval_ns"][0] for c in cells])
        constants = page.data(0)["constants"]
        self.assertEqual(constants["count of samples_ns"], made_up.ROUNDS)
        self.assertEqual(constants["dim"], 256)
        self.assertIn("dim 256", page.words())

    def test_an_integer_beyond_doubles_is_in_the_tables_as_a_text(self):
        cells = results.plain_cells()
        cells[0]["peak_memory_bytes"] = 2**53 + 1
        page = self.read(results.sweep(cells))
        self.assertEqual(page.column(0, "peak_memory_bytes")[0], {"whole": "9007199254740993"})
        self.assertEqual(page.records(0)[0]["peak_memory_bytes"], 2**53 + 1)

    def test_what_no_part_of_the_page_knows_is_shown(self):
        page = self.read(results.computed())
        self.assertIn("kind computed", page.words())
        self.assertEqual(page.column(0, "inputs.answer"), [42, None])
        self.assertEqual(page.column(0, "inputs.c.d"), [None, "true"])

    def test_names_with_dots_have_rows_of_their_own(self):
        libraries = {"eigen.3": "3.4.0", "open.blas": "0.3"}
        page = self.read(results.sweep(results.plain_cells(), libraries=libraries))
        self.assertIn("libraries.eigen.3 3.4.0", page.words())
        self.assertIn("libraries.open.blas 0.3", page.words())

    def test_a_name_is_no_mathematics(self):
        cells = made_up.mocha_cells((10, 20))
        for cell in cells:
            if cell["mechanism"] == "mocha":
                cell["mechanism"] = "a$\\alpha$ \\frac"
        words = self.read(results.sweep(cells)).words()
        self.assertNotIn("was not drawn", words)
        self.assertIn("a$\\alpha$ \\frac, w = ", words)

    def test_a_sweep_that_no_figure_fits_has_a_chart_named_by_its_content(self):
        page = self.read(results.sweep(results.plain_cells()))
        self.assertEqual(len(page.named("svg")), 1)
        self.assertIn("Time of a decode with soft by memory length T, U = 5, d = 256 (0.json)",
                      page.words())
        one = self.read(results.sweep(results.plain_cells()[:1]))
        self.assertIn("Time of a decode with soft, T = 10, U = 5, d = 256 (0.json)", one.words())

    def test_a_figure_that_cannot_be_drawn_says_why(self):
        cells = made_up.mocha_cells((10, 20))
        made_up.stop(cells[3], "error", "out of memory")
        words = self.read(results.sweep(cells)).words()
        self.assertIn("mocha_figure3", words)
        self.assertRegex(words, "was not drawn: 0.json: .*out of memory")
        self.assertRegex(words, r"Time of a decode by memory length T = U.*? \(0.json\)")
        self.assertNotIn(str(self.folder), words)


if __name__ == "__main__":
    unittest.main()
