"""Guards against a REPRODUCTION.md that is not of the committed results, and against
made-up claims in a form that the program does not have."""

import glob
import os
import unittest

import jsonschema
import made_up_claims
from analysis import ROOT
from documents import read, validate
from pages import reproduction

# The measurements of claims that have figures of their own.
OF_CLAIMS = [f"results/claims/{name}.json"
             for name in ("authors", "decoder", "figure3", "speedup", "stability",
                           "translation")]


class StaleTest(unittest.TestCase):
    def setUp(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(ROOT)

    def test_the_page_is_that_of_the_committed_results(self):
        made = reproduction.page(
            "results/claims.json",
            sorted(glob.glob("results/*.json")) + OF_CLAIMS
            + sorted(glob.glob("results/training/*.json")), "")
        with open("REPRODUCTION.md", encoding="utf-8") as file:
            self.assertTrue(
                file.read() == made,
                "stale; write it again: /usr/bin/python3 plots/reproduction.py "
                "results/claims.json results/*.json " + " ".join(OF_CLAIMS)
                + " results/training/*.json -o REPRODUCTION.md")

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
