"""Guards against a ledger of claims whose verdicts are not what is seen first, that folds
a reason, or that hides what they were read from.
"""

import unittest

import results

import made_up
import made_up_claims


class LedgerTest(results.ReportCase):
    def test_the_verdict_is_the_first_column_of_the_ledger(self):
        page = self.read(made_up_claims.document())
        found = page.ledger()
        count = len(made_up_claims.document()["claims"])
        self.assertEqual(len(found), count)
        self.assertIn("verdict claim measured here", page.words())
        for name, verdict in (
            ("mad-binary", "holds"),
            ("mad-speedup", "refuted"),
            ("mocha-moving-sum", "holds only if"),
            ("britz-K", "not measurable here"),
        ):
            self.assertEqual(found[name][0], verdict)
        shown = found["mad-speedup"][1]
        self.assertIn("MAD appendix F", shown)
        self.assertIn("soft over monotonic, everywhere (ratio): 1.53 [1.3, 1.61] to 34.9 "
                      "[25, 42.2] , must be 3.5 to 45", shown)
        self.assertIn(f"{count} claims: 1 holds, 1 holds only under a condition, 1 refuted,",
                      page.words())

    def test_a_page_of_a_quick_run_says_so_in_its_title_and_at_its_top(self):
        document = made_up_claims.document()
        self.assertNotIn("quick run", self.page(document).read_text())
        text = self.page({**document, "quick": True}).read_text()
        self.assertIn("<title>attnbench report (quick run)</title>", text)
        self.assertIn("(quick run)</h1>\n<p><strong>Measured with --quick", text)

    def test_the_reason_of_a_verdict_is_not_folded_however_long_it_is(self):
        document = results.claims()
        verdict = "undecided: the interval" + 20 * " of all readings"
        document["claims"][0] |= {"verdict": verdict, "because": "They differ."}
        first, shown, evidence = next(iter(self.read(document).ledger().values()))
        self.assertEqual(first, "undecided")
        self.assertIn(f"{verdict}. They differ.", shown)
        self.assertNotIn(verdict, evidence)
        found = self.read(made_up_claims.document()).ledger()
        for name, reason in (
            ("mad-speedup", "It is <so>."),
            ("mocha-moving-sum", "holds only if chunk_energy_scale = 1."),
            ("britz-K", "not measurable here: no training result."),
        ):
            self.assertIn(reason, found[name][1])

    def test_every_claim_has_an_address_of_its_own(self):
        document = made_up_claims.document()
        page = self.read(document, document)
        for claim in document["claims"]:
            self.assertIn(f"claim-{claim['id']}", page.ids())
        self.assertEqual(len(page.ids()), len(set(page.ids())))

    def test_a_claim_leads_to_the_figures_of_what_it_was_read_from(self):
        claims = results.claims()
        for claim, file in zip(claims["claims"], ("elsewhere/1.json", "9.json"), strict=True):
            claim["evidence"] = [{"measurement": "m", "file": file, "point": None,
                                  "place": "cells[0]"}]
        page = self.read(claims, results.sweep(made_up.mocha_cells((10, 20))))
        first, second = page.ledger().values()
        self.assertIn("Figures: MoChA, figure 3, appendix B (1.json) Evidence", f"{first[1]} {first[2]}")
        self.assertNotIn("Figures:", second[1])
        (figure,) = [one for one in page.ids() if one.endswith("mocha_figure3")]
        # One link stands in the ledger; a single figure needs no list of figures.
        self.assertEqual([a.get("href") for a in page.named("a")].count(f"#{figure}"), 1)

    def test_the_evidence_of_each_claim_is_folded_with_all_groups(self):
        document = made_up_claims.document()
        page = self.read(document)
        found = page.ledger()
        for name, (_, shown, evidence) in found.items():
            self.assertTrue(evidence.startswith(f"Evidence for {name} "), evidence)
            self.assertNotIn("Evidence", shown)
        for text in ("workload = uniform 1.53 [1.3, 1.61] at T = 4 34.9 [25, 42.2] at T = 128",
                     "undecided: the interval [3.1, 4.5] contains the bound 4",
                     "Read from results/claims/speedup.json cells[0], cells[1]", "Raw record"):
            self.assertIn(text, found["mad-speedup"][2])
        number = list(found).index("mad-speedup")
        self.assertIn(f"#cell-0-{number}", [a.get("href") for a in page.named("a")])
        self.assertEqual(page.records(0), document["claims"])


if __name__ == "__main__":
    unittest.main()
