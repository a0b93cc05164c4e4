"""Guards against pages of the reproduction that are not of the committed results, that are
too long to read, or whose links lead nowhere, and against made-up claims in a form that the
program does not have."""

import glob
import os
import re
import runpy
import tempfile
import unittest

import jsonschema
import made_up_claims
from attnbench.analysis import ROOT
from documents import read, validate
from pages import reproduction, reproduction_figures

# The measurements of claims that have figures of their own.
OF_CLAIMS = [f"results/claims/{name}.json"
             for name in ("authors", "decoder", "figure3", "speedup", "translation")]
# What its pictures are drawn from, not what else was trained.
SOURCES = runpy.run_path(os.path.join(ROOT, "scripts", "figures.py"))["SOURCES"]
TRAINED = sorted({f"results/{file}" for picture in reproduction_figures.PICTURES
                  for file in SOURCES[picture.figure] if file.startswith("training/")})
AGAIN = ("write it again: /usr/bin/python3 plots/reproduction.py results/claims.json "
         f"results/*.json {' '.join(OF_CLAIMS + TRAINED)} -o REPRODUCTION.md")
MOST_LINES, MOST_BYTES, MOST_CHARACTERS = 1500, 60000, 400


def anchors(text):
    """What links can point at in a page, as GitHub names its headings."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


class InRoot(unittest.TestCase):
    def setUp(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(ROOT)

    def assert_readable(self, pages):
        for path, text in pages.items():
            with self.subTest(page=path):
                lines = text.split("\n")
                self.assertLessEqual(len(lines), MOST_LINES)
                self.assertLessEqual(len(text.encode()), MOST_BYTES)
                self.assertLessEqual(max(map(len, lines)), MOST_CHARACTERS)
                self.assert_links(path, text, pages)

    def assert_links(self, path, text, pages):
        links = re.findall(r"\]\(((?!https:)[^)]*)\)", text)
        self.assertTrue(links)
        for link in links:
            file, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(path), file))
            with self.subTest(link=link):
                self.assertTrue(target in pages or os.path.exists(target) or not file)
                if anchor:
                    self.assertIn(anchor, anchors(pages[target] if file else text))


class StaleTest(InRoot):
    def test_the_pages_are_those_of_the_committed_results(self):
        made = reproduction.pages(
            "results/claims.json",
            sorted(glob.glob("results/*.json")) + OF_CLAIMS + TRAINED, "REPRODUCTION.md")
        for path, text in made.items():
            with self.subTest(page=path), open(path, encoding="utf-8") as file:
                self.assertTrue(file.read() == text, f"stale; {AGAIN}")
        there = glob.glob("results/*.md") + glob.glob("results/claims/*.md")
        self.assertEqual({"REPRODUCTION.md", *there} - {"results/crossover.md"}, set(made))
        self.assertTrue(any("](figures/" in text for text in made.values()))
        self.assert_readable(made)

    def test_the_pages_of_a_quick_run_are_readable_where_it_puts_them(self):
        with tempfile.TemporaryDirectory() as folder:
            made = reproduction.pages("results/quick/claims.json", [],
                                      os.path.join(folder, "REPRODUCTION.md"))
            self.assertEqual(len(made), 7)
            self.assert_readable(made)

    def test_the_committed_claims_are_valid_and_measured_by_the_whole_grids(self):
        claims = read("results", "claims.json")
        validate(claims, "claims")
        self.assertTrue(claims["context"]["valid"])
        self.assertNotIn("--quick", claims["context"]["command"].split())

    def test_made_up_claims_have_the_form_of_measured_ones(self):
        schema = read("results", "schema", "claims.schema.json")
        of_claim = {"$ref": "#/definitions/claim", "definitions": schema["definitions"]}
        for claim in made_up_claims.document()["claims"]:
            jsonschema.Draft7Validator(of_claim).validate(claim)


if __name__ == "__main__":
    unittest.main()
