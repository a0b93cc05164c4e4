"""Guards against a band whose certificate a result does not tell: a user would take an
approximation for exact, or train where nothing behind some entry has a gradient.
"""

import unittest

from documents import strict, validate
from result_files import ResultFilesTest, run


class Banded(ResultFilesTest):
    def cells(self, *arguments):
        """{(mechanism, mode, scope, variant, bound): cell}, and what the run printed."""
        path = self.path("banded.json")
        done = run("run-sweep", "--mechanism", "monotonic,mocha", "--variant", "exact,banded",
                   "--mode", "expect,gradient", "--scope", "full,attention", "--repetitions", "2",
                   "-B", "2", "-d", "8", "-o", path, "--force", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, encoding="utf-8") as file:
            document = strict(file.read())
        validate(document, "sweep")
        cells = {(*(cell[key] for key in ("mechanism", "mode", "scope", "variant")),
                  cell["options"].get("bound")): cell for cell in document["cells"]}
        return cells, document["context"]

    def test_a_cell_tells_its_certificate_and_how_many_energies_it_took(self):
        cells, context = self.cells("--workload", "symbols:12:12", "-T", "800", "-U", "100",
                                    "--option", "bound=0.1,0.001", "--energy", "additive")
        for (mechanism, mode, scope, variant, bound), cell in cells.items():
            self.assertEqual(cell["status"], "ok", cell["message"])
            counts = cell["operations"]
            if variant == "exact":
                self.assertNotIn("band", cell)
                self.assertEqual(counts["energies"], 2 * 800 * 100)
                continue
            band = cell["band"]
            self.assertTrue(0 < band["mass_cut"] <= bound, band)
            self.assertTrue(0.5 < band["reach"] <= 1, band)
            self.assertEqual(band["dense"], 0)
            self.assertLess(counts["energies"], 0.2 * 2 * 800 * 100)
            self.assertEqual(counts["chunk_energies"] > counts["energies"], mechanism == "mocha")
            self.assertLessEqual(cell["numerics"]["error"], cell["numerics"]["error_bound"])
            if mode == "gradient" and scope == "full":
                self.assertTrue(0 < band["gradient_error"] < 0.5 * band["gradient_size"], band)
            else:
                self.assertIsNone(band["gradient_error"])
            if bound == 0.1:
                less = cells[mechanism, mode, scope, variant, 0.001]
                self.assertLess(counts["energies"], less["operations"]["energies"])
                self.assertGreater(band["mass_cut"], less["band"]["mass_cut"])

    def test_a_band_that_never_reaches_the_end_is_told(self):
        cells, context = self.cells("--workload", "bias:4", "-T", "2000", "-U", "20")
        found = [cell for cell in cells.values() if cell.get("band")]
        self.assertEqual(len(found), 8)
        self.assertTrue(all(cell["band"]["reach"] < 0.5 for cell in found))
        self.assertIn("in 8 of 8 banded cells the band ends before the memory does",
                      " ".join(context["warnings"]))

    def test_a_wide_band_is_given_up_and_all_energies_are_counted(self):
        cells, context = self.cells("--workload", "bias:-6", "-T", "300", "-U", "20",
                                    "--energy", "dot")
        for (*_, variant, _), cell in cells.items():
            if variant == "banded":
                self.assertGreater(cell["band"]["dense"], 0.5)
                self.assertGreater(cell["operations"]["energies"], 2 * 300 * 20)


if __name__ == "__main__":
    unittest.main()
