"""attnbench advise from outside: a table and a conclusion for a shape, the same as a
document, and clear errors.
"""

import json
import os
import unittest

from documents import strict, validate
from result_files import ResultFilesTest, run

SHAPE = ("-T", "20", "-U", "6", "-d", "64", "--vocabulary", "9", "--repetitions", "4")


class Advise(ResultFilesTest):
    def advise(self, *arguments):
        """Gives stdout and stderr; times of a test need not be valid."""
        done = run("advise", *SHAPE, *arguments)
        self.assertIn(done.returncode, (0, 5), done.stderr)
        return done.stdout, done.stderr

    def test_one_command_answers_for_a_shape(self):
        out, err = self.advise("--beam", "2", "-w", "3", "-o", self.path("a.json"))
        validity, *lines = [line for line in out.splitlines()
                            if not line.startswith("  warning: ")]
        self.assertRegex(validity, "^valid|^INVALID")
        self.assertIn("T = 20, U = 6, d = 64, beam 2, 9 symbols, 2 LSTM layers", lines[0])
        listed = strict(self.gives(0, "list", "--json")[0])["mechanisms"]
        widths = {"chunk_width": " w=3", "num_contexts": " K=32"}
        names = [one["name"] + "".join(widths.get(axis, "") for axis in one["axes"])
                 for one in listed] + ["none"]
        rows = lines[2:2 + len(names)]
        self.assertEqual([row.split("  ")[1] for row in rows], names)
        self.assertRegex(out, r"\nIt (pays|does not pay|cannot be told): .*Soft attention takes \d+ % of")
        self.assertIn("[3/3]", err)
        with open(self.path("a.json"), encoding="utf-8") as file:
            document = strict(file.read())
        self.assertEqual(self.gives(0, "show", self.path("a.json")), (out, ""))
        self.assertIn("is of kind \"advice\", must be 'sweep'", self.gives(
            2, "show", self.path("a.json"), "--format", "csv")[1])
        validate(document, "advice")
        self.assertEqual(document["lengths"], [1, 5, 20])
        by_name = {one["mechanism"]: one for one in document["mechanisms"]}
        for name in ("monotonic", "mocha w=3", "matcha"):
            self.assertGreaterEqual(by_name[name]["memory_read"], 0.9, name)
            self.assertLess(by_name[name]["latency"]["ap"], 0.9)
            self.assertTrue(by_name[name]["is_as_trained"])
        self.assertIsNone(by_name["soft"]["latency"])
        # Of 13 hypotheses in 7 steps, and of one of the empty source.
        self.assertAlmostEqual(by_name["soft"]["energies_per_output"], 20 * 13 / 14)
        self.assertEqual(os.listdir(self.folder), ["a.json"])

    def test_json_is_the_document_and_layers_and_encoder_are_taken(self):
        out, _ = self.advise("--layers", "1", "--encoder", "given",
                             "--energy", "normalized_additive", "--json")
        document = strict(out)
        validate(document, "advice")
        self.assertEqual(document["shape"]["layers"], 1)
        self.assertEqual(document["shape"]["encoder"], "given")

    def test_an_answer_that_is_there_is_not_replaced(self):
        with open(self.path("a.json"), "w", encoding="utf-8") as file:
            json.dump({}, file)
        self.refused(("advise", *SHAPE, "-o", self.path("a.json")), "a.json", "--force")


if __name__ == "__main__":
    unittest.main()
