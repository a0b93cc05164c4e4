"""Guards against a README that says what is no longer so: its axes are those of
the program, its figures those of the committed results, its links lead somewhere."""

import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["ATTNBENCH"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class ReadmeTest(unittest.TestCase):
    def test_the_axes_are_those_of_the_program(self):
        self.assertIn(run(PROGRAM, "list", "--markdown").strip(), read("README.md"))

    def test_the_numbers_are_those_of_the_committed_results(self):
        quoted = re.findall(r"^  \S.*x \[.*", read("README.md"), re.MULTILINE)
        self.assertGreater(len(quoted), 10)
        with tempfile.TemporaryDirectory() as folder:
            drawn = "".join(
                run(sys.executable, os.path.join(ROOT, "plots", "draw.py"),
                    "--figure", name, os.path.join(ROOT, "results", name + ".json"),
                    "-o", folder)
                for name in ("mad_figure8", "mocha_figure3"))
        for line in quoted:
            self.assertIn(line, drawn)

    def test_the_finding_of_stability_is_that_of_the_committed_result(self):
        with tempfile.TemporaryDirectory() as folder:
            drawn = run(sys.executable, os.path.join(ROOT, "plots", "draw.py"),
                        "--figure", "stability",
                        os.path.join(ROOT, "results", "stability.json"), "-o", folder)
        (finding,) = re.findall(r"^  (\S.*)$", drawn, re.MULTILINE)
        self.assertRegex(finding, r"\d.*\.$")
        self.assertIn(finding, read("README.md"))

    def test_the_targets_are_those_of_the_committed_results(self):
        results = os.path.join(ROOT, "results")
        made = run(sys.executable, os.path.join(ROOT, "plots", "targets.py"),
                   *sorted(glob.glob(os.path.join(results, "peers_*.json"))),
                   os.path.join(results, "threads.json"))
        self.assertIn(f"<!-- targets -->\n{made}<!-- /targets -->\n",
                      read("README.md"))

    def test_the_growth_is_that_of_the_committed_result(self):
        made = run(sys.executable, os.path.join(ROOT, "plots", "growth.py"),
                   os.path.join(ROOT, "results", "growth.json"))
        self.assertIn(f"<!-- growth table -->\n{made}<!-- end of growth table -->\n",
                      read("README.md"))

    def test_every_link_to_a_file_leads_somewhere(self):
        for document in ("README.md", "HACKING.md", "CONTRIBUTING.md"):
            for target in re.findall(r"\]\(([^)#:]+)\)", read(document)):
                self.assertTrue(os.path.exists(os.path.join(ROOT, target)),
                                f"{document}: {target}")


if __name__ == "__main__":
    unittest.main()
