"""attnbench advise from outside: a table and a conclusion for a shape, the same as a
document, and clear errors.
"""

import json
import os
import signal
import subprocess
import unittest

from documents import strict, validate
from result_files import ATTNBENCH, ResultFilesTest, run, sweep

from attnbench.answers import advise

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
                 for one in listed] + ["alignatt f=4", "none"]
        rows = lines[2:2 + len(names)]
        self.assertEqual([row.split("  ")[1] for row in rows], names)
        # The machine of a test may be too loud for a verdict.
        last = (r"\nNo verdict: .*\n\Z" if validity.startswith("INVALID") else
                r"\nIt (pays|does not pay|cannot be told): .*Soft attention takes \d+ % of")
        self.assertRegex(out, last)
        self.assertIn("[3/3]", err)
        with open(self.path("a.json"), encoding="utf-8") as file:
            document = strict(file.read())
        self.assertEqual(self.gives(0, "show", self.path("a.json")), (out, ""))
        self.assertIn("is of kind \"advice\", must be 'sweep'", self.gives(
            2, "show", self.path("a.json"), "--format", "csv")[1])
        validate(document, "advice")
        self.assertEqual(document["lengths"], [1, 5, 20])
        self.assertNotIn("rates", document)
        self.assertTrue(document["context"]["command"].endswith(
            f"advise {' '.join(SHAPE)} --beam 2 -w 3 -o {self.path('a.json')}"))
        by_name = {one["mechanism"]: one for one in document["mechanisms"]}
        self.assertEqual({one["message"] for one in document["mechanisms"]}, {None})
        for name in ("monotonic", "mocha w=3", "matcha"):
            self.assertGreaterEqual(by_name[name]["memory_read"], 0.9, name)
            self.assertLess(by_name[name]["latency"]["ap"], 0.9)
            self.assertTrue(by_name[name]["is_as_trained"])
        # It reads on as they do, and 4 entries more.
        policy = by_name["alignatt f=4"]
        self.assertTrue(policy["is_as_trained"])
        self.assertGreater(policy["latency"]["ap"],
                           by_name["monotonic"]["latency"]["ap"])
        self.assertLess(policy["energies_per_output"],
                        by_name["soft"]["energies_per_output"])
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

    def test_only_the_mechanisms_that_are_asked_for_are_measured_and_judged(self):
        out, _ = self.advise("--mechanism", "mocha,memory", "--frames-per-second", "25",
                             "--outputs-per-second", "5", "--json")
        document = strict(out)
        validate(document, "advice")
        found = {one["mechanism"]: one for one in document["mechanisms"]}
        self.assertEqual(list(found), ["soft", "mocha w=4", "memory K=32", "none"])
        is_judged = {name: one["verdict"] is not None for name, one in found.items()}
        is_valid = document["context"]["valid"]
        self.assertEqual(list(is_judged.values()), [False, is_valid, is_valid, False])
        self.assertEqual(document["rates"],
                         {"frames_per_second": 25, "outputs_per_second": 5})
        # 20 frames come in 0.8 s, and 6 outputs are wanted in 1.2 s.
        factors = found["none"]["real_time_factors"]
        seconds = found["none"]["decoder"]["time_ns"] / 1e9
        self.assertAlmostEqual(factors["frames"], seconds / 0.8)
        self.assertAlmostEqual(factors["outputs"], seconds / 1.2)

    def test_help_has_the_shape_that_is_taken(self):
        help_text, _ = self.gives(0, "advise", "--help")
        for name, value in advise.SHAPE.items():
            if name != "memory_read":
                self.assertRegex(
                    help_text, rf"--{name.replace('_', '-')} VALUE={value}\s")

    def test_one_that_is_interrupted_says_so_and_leaves_nothing(self):
        running = subprocess.Popen(
            [ATTNBENCH, "advise", "-T", "2000", "-o", self.path("a.json")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        with running:
            for line in running.stderr:
                if "[1/3]" in line:
                    break
            running.send_signal(signal.SIGINT)
            out, err = running.communicate()
        self.assertEqual((running.returncode, out), (130, ""))
        self.assertTrue(err.endswith("\nattnbench: advise: interrupted\n"), err)
        self.assertEqual(os.listdir(self.folder), [])

    def test_show_prints_it_between_other_results(self):
        self.advise("--mechanism", "mocha", "-o", self.path("a.json"))
        sweep(self.path("s.json"), "--mechanism", "soft", "-T", "4", "-d", "4",
              "--repetitions", "2")
        both, _ = self.gives(0, "show", self.path("s.json"), self.path("a.json"),
                             self.path("s.json"))
        apart = [self.gives(0, "show", self.path(name))[0] for name in ("s.json", "a.json")]
        self.assertEqual(both, apart[0] + apart[1] + apart[0])
        self.refused(("show", self.path("a.json"), self.path("none.json")), "none.json")

    def test_an_answer_that_is_there_is_not_replaced(self):
        with open(self.path("a.json"), "w", encoding="utf-8") as file:
            json.dump({}, file)
        self.refused(("advise", *SHAPE, "-o", self.path("a.json")), "a.json", "--force")


if __name__ == "__main__":
    unittest.main()
