"""Guards against a page that is right as text and does not work: a script that
fails, a figure without a size, a filter, a heading or a link that does nothing.
Runs headless Chromium on pages opened from file://; scripts/check.sh report."""

import pathlib
import shutil
import sys
import unittest
from unittest import mock

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import results

import made_up
import made_up_claims
from pages import assemble

CHROMIUM = pathlib.Path("/usr/bin/chromium")
DRIVER = pathlib.Path("/usr/bin/chromedriver")


def start():
    options = webdriver.chrome.options.Options()
    options.binary_location = str(CHROMIUM)
    # Chromium's sandbox does not run as root; containers have a small /dev/shm.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage",
                     "--disable-gpu", "--window-size=1300,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.chrome.service.Service(str(DRIVER))
    return webdriver.Chrome(service=service, options=options)


class BrowserTest(results.ReportCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = start()
        cls.addClassCleanup(cls.browser.quit)

    def show(self, *documents, hash_="", **keywords):
        """Opens their page; a message in the console is an error."""
        self.go_to(self.page(*documents, **keywords).as_uri() + hash_)
        self.addCleanup(self.check_console)

    def go_to(self, url):
        """Opens a page and waits for its pictures."""
        # This opens a new page even if only the hash differs.
        self.browser.get("about:blank")
        self.browser.get(url)
        self.wait_for(lambda: not self.find_all("script.packed"))

    def wait_for(self, what):
        """Gives what `what()` gives once that is true."""
        return WebDriverWait(self.browser, 30).until(lambda _: what())

    def unfold(self, table=0):
        """Opens a table; gives what is said of its rows."""
        self.find(f"#table-{table} > summary").click()
        return self.wait_for(lambda: self.find(f"#table-{table} output").text)

    def check_console(self):
        self.assertEqual(self.browser.get_log("browser"), [])

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def opened(self, name):
        """Gives the record of that id once it is there: a link only changes the hash,
        and the page hears of that later.
        """
        return self.wait_for(lambda: next(iter(self.find_all(f"#{name}")), None))

    def column(self, name, table=0):
        heads = [h.text for h in self.find_all(f"#table-{table} thead th")]
        place = heads.index(name) + 1
        return [cell.text for cell in
                self.find_all(f"#table-{table} tbody tr > :nth-child({place})")]

    def sort_by(self, name):
        for button in self.find_all("#table-0 thead button"):
            if button.text == name:
                button.send_keys(Keys.ENTER)
                return button.find_element(By.XPATH, "..").get_attribute("aria-sort")
        raise AssertionError(f"no heading {name}")

    def filter(self, text):
        field = self.find("#filter-0")
        field.clear()
        field.send_keys(text)

    def count(self):
        return self.find("#table-0 output").text

    def test_all_figures_are_drawn(self):
        self.show(results.sweep(made_up.mocha_cells((10, 20))),
                  results.sweep(made_up.mad_cells((4, 8))),
                  made_up.stability_document())
        pictures = self.find_all("figure svg")
        self.assertGreater(len(pictures), 4)
        for picture in pictures:
            self.assertGreater(picture.size["width"], 300)
            self.assertGreater(picture.size["height"], 100)
            drawn = self.browser.execute_script(
                "return arguments[0].querySelector('path').getBBox().width", picture)
            self.assertGreater(drawn, 0)
        # One page has two pictures, and the second's marks are its own.
        self.assertTrue(self.browser.execute_script("""
            return [...document.querySelectorAll("svg use")].every((use) => {
              const name = use.getAttribute("xlink:href").slice(1);
              const mark = document.getElementById(name);
              return mark && mark.closest("svg") === use.closest("svg");
            });"""))

    def test_a_filter_leaves_the_rows_that_fit(self):
        self.show(results.sweep(made_up.mocha_cells((10, 20))))
        self.assertEqual(self.unfold(), "rows 1 to 14 of 14")
        self.filter("mocha")
        self.assertEqual(self.column("mechanism"), ["mocha"] * 6)
        self.assertEqual(self.count(), "rows 1 to 6 of 6, filtered from 14")
        self.filter("mechanism=MOCHA chunk_width>2 memory_length=20")
        self.assertEqual(self.column("chunk_width"), ["4", "8"])
        # A value that all rows share has no column.
        self.filter("dim=256 soft")
        self.assertEqual(self.column("mechanism"), ["soft"] * 2)
        self.filter("nothing like it")
        self.assertEqual(self.column("mechanism"), [])
        self.assertEqual(self.count(), "no rows, filtered from 14")

    def test_a_heading_sorts_both_ways_by_the_keyboard(self):
        cells = made_up.mocha_cells((10, 20))
        made_up.stop(cells[4], "error", "no memory")
        self.show(results.sweep(cells))
        self.unfold()
        given = [c["median_ns"] for c in cells if c["median_ns"]]
        self.assertEqual(self.sort_by("median_ns"), "ascending")
        shown = self.column("median_ns")
        # Numbers sort by size, not by letters; missing ones are last in either
        # order.
        self.assertEqual(shown[-1], "-")
        self.assertEqual([float(v) for v in shown[:-1]],
                         [float(f"{v:.4g}") for v in sorted(given)])
        self.assertEqual(self.sort_by("median_ns"), "descending")
        shown = self.column("median_ns")
        self.assertEqual(shown[-1], "-")
        self.assertEqual(float(shown[0]), float(f"{max(given):.4g}"))
        self.assertEqual(self.sort_by("mechanism"), "ascending")
        self.assertEqual(len(self.find_all("[aria-sort]")), 1)
        self.assertEqual(self.column("mechanism"),
                         sorted(cell["mechanism"] for cell in cells))
        self.assertEqual(len(self.find_all("tr.failed")), 1)

    def test_a_number_leads_to_its_raw_record(self):
        cells = made_up.mocha_cells((10, 20))
        self.show(results.sweep(cells))
        self.unfold()
        self.sort_by("median_ns")
        index = min(range(14), key=lambda i: cells[i]["median_ns"])
        self.find("#table-0 tbody tr td.number a").click()
        self.assertTrue(self.browser.current_url.endswith(f"#cell-0-{index}"))
        opened = self.opened(f"cell-0-{index}")
        self.assertEqual(opened.get_attribute("open"), "true")
        self.assertEqual(
            self.browser.execute_script(
                "return JSON.parse(arguments[0].querySelector('pre').textContent)",
                opened),
            cells[index])
        # The same link opens a record again that was closed by hand.
        opened.find_element(By.TAG_NAME, "summary").click()
        self.assertIsNone(opened.get_attribute("open"))
        self.find("#table-0 tbody tr td.number a").click()
        self.assertEqual(opened.get_attribute("open"), "true")

    def test_an_integer_that_a_number_of_javascript_cannot_hold_stays_as_it_is(self):
        cells = results.plain_cells()
        large = [2**53 + 1 + 2 * n for n in range(len(cells))]
        for cell, number in zip(cells, large):
            cell["peak_memory_bytes"] = number
        self.show(results.sweep(cells))
        self.unfold()
        self.assertEqual(self.column("peak_memory_bytes"), list(map(str, large)))
        self.assertEqual(self.sort_by("peak_memory_bytes"), "ascending")
        self.assertEqual(self.column("peak_memory_bytes"), list(map(str, large)))
        self.filter(f"peak_memory_bytes={large[1]}")
        self.assertEqual(self.column("peak_memory_bytes"), [str(large[1])])
        self.filter(f"peak_memory_bytes>{large[0]}")
        self.assertEqual(self.column("peak_memory_bytes"), list(map(str, large[1:])))
        self.find("#table-0 tbody tr td.number a").click()
        self.assertIn(f'"peak_memory_bytes": {large[1]},', self.opened("cell-0-1").text)

    def test_an_address_with_a_record_opens_it(self):
        self.show(results.sweep(results.peers_cells()), results.verify(),
                  hash_="#cell-0-5")
        self.assertIn("took longer than 2 s", self.opened("cell-0-5").text)
        # A part of a record leads to the whole.
        self.unfold(2)
        self.find("#table-2 tbody tr:last-child th a").click()
        self.assertIn('"mechanism": "matcha"', self.opened("cell-1-1").text)
        self.assertTrue(self.find("#table-1").get_attribute("open"))

    def test_rows_come_a_page_at_a_time(self):
        cells = [made_up.make_cell("soft", t, 1) for t in range(1, 251)]
        self.show(results.sweep(cells))
        self.assertEqual(self.find_all("#table-0 tbody tr"), [])
        self.unfold()
        self.assertEqual(len(self.find_all("#table-0 tbody tr")), 100)
        self.find("#table-0 .next").click()
        self.find("#table-0 .next").click()
        self.assertEqual(self.count(), "rows 201 to 250 of 250")
        self.assertEqual(self.column("memory_length")[0], "201")
        self.assertFalse(self.find("#table-0 .next").is_enabled())
        self.find("#table-0 .previous").click()
        self.assertEqual(self.column("row")[0], "100")
        # A filter starts at its first row.
        self.filter("memory_length>245")
        self.assertEqual(self.count(), "rows 1 to 5 of 5, filtered from 250")

    def test_a_hostile_name_stays_a_name(self):
        self.show(results.sweep(results.hostile_cells(), cpu=results.HOSTILE),
                  hash_="#cell-0-1")
        self.assertIn("</script>", self.opened("cell-0-1").text)
        self.assertEqual(self.find_all("#out"), [])
        name = self.browser.execute_script(
            "return document.querySelector('#table-0 tbody tr:nth-child(2) td')"
            ".textContent")
        self.assertEqual(name, results.HOSTILE)

    def test_records_beside_a_page_come_when_a_table_is_opened(self):
        """The page has a name in which an address has other meanings."""
        name = 'a#b?%41&"é: x.html'
        with mock.patch.object(assemble, "MOST_BYTES", 0):
            self.show(results.sweep(made_up.mocha_cells((10, 20))), results.verify(), name=name)
        self.assertEqual(self.find_all("script[src]"), [])
        self.assertEqual(self.unfold(), "rows 1 to 14 of 14")
        self.assertEqual(len(self.find_all("script[src]")), 1)
        self.find("#table-0 tbody th a").click()
        self.assertIn('"mechanism": "soft"', self.opened("cell-0-0").text)
        self.browser.execute_script("location.hash = '#cell-1-1'")
        self.assertIn('"mechanism": "matcha"', self.opened("cell-1-1").text)

    def test_a_page_without_its_records_shows_all_else_and_says_what_is_missing(self):
        with mock.patch.object(assemble, "MOST_BYTES", 0):
            path = self.page(results.sweep(made_up.mocha_cells((10, 20))))
        shutil.rmtree(f"{path}.files")
        self.go_to(path.as_uri())
        self.assertEqual(len(self.find_all("figure svg")), 1)
        self.assertRegex(self.unfold(), "^The records are in report.html.files/[0-9a-f]{16}.js, "
                                        "which is not beside this page.$")
        # A link to one of them leads to the same words.
        self.go_to(path.as_uri() + "#cell-0-1")
        self.wait_for(lambda: "not beside this page" in self.find("#table-0 output").text)
        self.assertTrue(all("ERR_FILE_NOT_FOUND" in entry["message"]
                            for entry in self.browser.get_log("browser")))

    def test_a_browser_that_is_too_old_says_so(self):
        old = self.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {
            "source": "delete window.DecompressionStream"})
        self.addCleanup(self.browser.execute_cdp_cmd,
                        "Page.removeScriptToEvaluateOnNewDocument", old)
        self.show(results.sweep(made_up.mocha_cells((10, 20))))
        words = "DecompressionStream is not defined"
        self.assertEqual(self.find("figure .scroll").text, f"This browser cannot show it: {words}.")
        self.assertEqual(self.unfold(), words)

    def size(self, width):
        """Makes the page so wide, which a window of Chromium may not be."""
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False})
        self.addCleanup(
            self.browser.execute_cdp_cmd, "Emulation.clearDeviceMetricsOverride", {})

    def box(self, element):
        return self.browser.execute_script(
            "return arguments[0].getBoundingClientRect().toJSON()", element)

    def test_all_of_the_ledger_is_on_a_screen_of_1400_pixels(self):
        self.size(1400)
        self.show(made_up_claims.document())
        head = self.find(".ledger thead th")
        self.assertEqual(head.text, "verdict")
        self.assertGreaterEqual(self.box(head)["left"], 0)
        # Evidence that is unfolded scrolls in its own box.
        for folded in self.find_all(".ledger summary"):
            folded.click()
        for element in self.find_all(".ledger, .ledger > tbody > tr > *"):
            self.assertLessEqual(self.box(element)["right"], 1400)
        self.assertLessEqual(
            *self.browser.execute_script("""
                const box = document.querySelector(".ledger").parentElement;
                return [box.scrollWidth, box.clientWidth];"""))

    def claims(self):
        """Gives the names of the claims that are seen."""
        return [claim.text for claim in self.find_all(".ledger th > a") if claim.is_displayed()]

    def test_claims_of_one_verdict_are_shown(self):
        document = made_up_claims.document()
        self.show(document)
        self.assertEqual(self.claims(), [claim["id"] for claim in document["claims"]])
        for width in (1300, 400):  # A claim is a row, or a block.
            self.size(width)
            self.find("input[value='refuted']").click()
            self.assertEqual(self.claims(), ["mad-speedup"])
            self.find("input[value='']").click()
            self.assertEqual(len(self.claims()), len(document["claims"]))

    def test_an_address_shows_its_claim_whatever_verdict_is_chosen(self):
        self.show(made_up_claims.document(), results.sweep(made_up.mocha_cells((10, 20))),
                  hash_="#claim-britz-K")

        def is_there(name):
            box = self.box(self.find(f"#claim-{name}"))
            return 0 <= box["top"] < 1000 and box["height"] > 0

        self.wait_for(lambda: is_there("britz-K"))
        self.find("input[value='refuted']").click()
        self.browser.execute_script("location.hash = '#claim-mad-binary'")
        self.wait_for(lambda: is_there("mad-binary"))
        self.assertGreater(len(self.claims()), 1)
        self.assertTrue(self.find("input[value='']").is_selected())

    def test_an_address_unfolds_what_it_leads_to(self):
        self.show(results.sweep(results.plain_cells()), hash_="#file-0")
        self.wait_for(lambda: self.find("#file-0").is_displayed())

    def test_reasons_are_seen_on_screens_and_on_paper_without_unfolding(self):
        self.show(made_up_claims.document())
        for media in ("screen", "print"):
            self.emulate(media)
            reasons = [why.text for why in self.find_all(".why") if why.is_displayed()]
            self.assertIn("It is <so>.", reasons)
            self.assertIn("holds only if chunk_energy_scale = 1.", reasons)

    def test_the_report_of_the_committed_results_can_be_mailed_and_read(self):
        path = self.folder / "report.html"
        folder = results.ROOT / "results"
        files = [folder / "claims.json", *sorted((folder / "claims").glob("*.json")),
                 *sorted((folder / "training").glob("*.json"))]
        code, error = self.run_report(*map(str, files), "-o", str(path))
        self.assertEqual(code, 0, error)
        self.assertLessEqual(path.stat().st_size, 1_500_000)
        self.size(400)
        self.go_to(path.as_uri())
        self.assertEqual(self.browser.execute_script("""
            return [...document.querySelectorAll("a[href^='#']")].map((link) => link.hash.slice(1))
                .filter((name) => !/^cell-/.test(name) && !document.getElementById(name));"""), [])
        self.assertLessEqual(*self.browser.execute_script(
            "return [document.documentElement.scrollWidth, window.innerWidth]"))
        claims = len(self.claims())
        self.find("input[value='refuted']").click()
        self.assertIn(len(self.claims()), range(1, claims))
        self.assertIn("rows 1 to ", self.unfold(1))
        self.check_console()

    def emulate(self, media="screen", scheme="light"):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.addCleanup(self.browser.execute_cdp_cmd, "Emulation.setEmulatedMedia",
                        {"media": "", "features": []})

    def test_a_page_on_paper_is_as_wide_as_the_paper(self):
        self.size(718)  # A4 without its margins
        self.emulate("print", "dark")
        self.show(results.sweep(made_up.mad_cells((4, 8))), made_up_claims.document(),
                  results.sweep(results.peers_cells()))
        for element in self.find_all("figure svg, .ledger"):
            self.assertLessEqual(self.box(element)["right"], 718)
        color = self.browser.execute_script("return getComputedStyle(document.body).color")
        self.assertEqual(color, "rgb(26, 26, 26)")

    def test_evidence_opens_and_leads_to_the_record_of_its_claim(self):
        document = made_up_claims.document()
        self.show(document)
        evidence = self.find(".ledger details")
        link = evidence.find_element(By.TAG_NAME, "a")
        self.assertFalse(
            self.browser.execute_script("return arguments[0].checkVisibility()", link))
        evidence.find_element(By.TAG_NAME, "summary").click()
        link.click()
        self.assertIn(document["claims"][0]["claim"], self.opened("cell-0-0").text)

    def test_a_narrow_window_scrolls_tables_and_not_the_page(self):
        self.size(400)
        self.show(results.sweep(made_up.mad_cells((4, 8))), made_up_claims.document(),
                  results.sweep(results.peers_cells()), results.verify())
        for folded in self.find_all("details:not(details details) > summary"):
            folded.click()
        self.wait_for(lambda: self.find("#table-3 output").text)
        self.assertLessEqual(
            *self.browser.execute_script(
                "return [document.documentElement.scrollWidth, window.innerWidth]"))
        # A claim is one block: the verdict above the claim, both as wide as the window.
        verdict, claim = map(self.box, self.find_all(".ledger > tbody > tr:first-child > *")[:2])
        self.assertLess(verdict["bottom"], claim["bottom"])
        self.assertEqual(verdict["left"], claim["left"])
        self.assertGreater(claim["width"], 300)

    def test_text_contrasts_with_what_is_behind_it(self):
        """Expects WCAG 2 AA: 4.5 to 1, for every element that has text of its own."""
        for scheme in ("light", "dark"):
            with self.subTest(scheme):
                self.emulate(scheme=scheme)
                self.contrasts()

    def contrasts(self):
        cells = made_up.mocha_cells((10, 20))
        made_up.stop(cells[4], "error", "no memory")
        self.show(results.sweep(cells, warnings=["busy"]),
                  results.sweep(results.peers_cells(), valid=False,
                                invalid_reasons=["why"]),
                  made_up_claims.document())
        self.unfold()
        least = self.browser.execute_script("""
          const levels = (color) => color.match(/[\\d.]+/g).map(Number);
          const luminance = (color) => {
            const [r, g, b] = levels(color).map((level) => {
              const v = level / 255;
              return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const behind = (element) => {
            const color = getComputedStyle(element).backgroundColor;
            return levels(color)[3] === 0 ? behind(element.parentElement) : color;
          };
          let least = [99, "nothing"], count = 0;
          for (const element of document.querySelectorAll("body *:not(svg *)")) {
            const own = [...element.childNodes].some(
                (node) => node.nodeType === 3 && node.data.trim());
            if (!own || element.closest(":disabled, script, style, noscript")) continue;
            const ends = [getComputedStyle(element).color, behind(element)]
                .map(luminance).sort((a, b) => a - b);
            const ratio = (ends[1] + 0.05) / (ends[0] + 0.05);
            count += 1;
            if (ratio < least[0]) least = [ratio, element.outerHTML.slice(0, 200)];
          }
          return [count, ...least];""")
        self.assertGreater(least[0], 100)
        self.assertGreaterEqual(least[1], 4.5, least)


if __name__ == "__main__":
    for needed in (CHROMIUM, DRIVER):
        if not needed.exists():
            sys.exit(f"browser_test.py: there is no {needed}; scripts/setup.sh "
                     "--tools installs chromium and chromium-driver")
    unittest.main()
