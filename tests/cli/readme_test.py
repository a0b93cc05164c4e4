"""Guards against a README, or a page of docs/, that says what is no longer so: its
axes and commands are those of the program, its figures and quoted output those of
the committed results, its links lead somewhere."""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from fnmatch import fnmatch

PROGRAM = os.environ["ATTNBENCH"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(ROOT, "results")


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def plots(script, *arguments):
    return run(sys.executable, os.path.join(ROOT, "plots", script), *arguments)


def drawn(*names):
    """What draw.py says of figures of the committed results of the same names."""
    with tempfile.TemporaryDirectory() as folder:
        return "".join(
            plots("draw.py", "--figure", name, os.path.join(RESULTS, name + ".json"),
                  "-o", folder)
            for name in names)


def pages():
    """README.md and the pages that it links to for users."""
    names = glob.glob("docs/*.md", root_dir=ROOT)
    assert len(names) > 3, names
    return ["README.md", *sorted(names)]


def documents():
    """Every page for people."""
    return sorted(
        name for pattern in ("*.md", "docs/*.md", "experiments/*.md",
                             "mechanisms/*/*.md")
        for name in glob.glob(pattern, root_dir=ROOT))


def anchors(text):
    """What links can point at in a page, as GitHub names its headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text,
                                               flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in headings}


class DocumentsTest(unittest.TestCase):
    def stands_in(self, text, names):
        """Exactly so, in one of the pages."""
        self.assertTrue(text.strip())
        self.assertTrue(any(text in read(name) for name in names),
                        f"stands nowhere in {', '.join(names)}:\n{text}")


class NumbersTest(DocumentsTest):
    def test_speed_ups_are_those_of_the_committed_results(self):
        quoted = [line for name in pages()
                  for line in re.findall(r"^  \S.*x \[.*", read(name), re.MULTILINE)]
        self.assertGreater(len(quoted), 10)
        printed = drawn("mad_figure8", "mocha_figure3").splitlines()
        for line in quoted:
            self.assertIn(line, printed)

    def test_the_finding_of_stability_is_that_of_the_committed_result(self):
        (finding,) = re.findall(r"^  (\S.*)$", drawn("stability"), re.MULTILINE)
        self.assertRegex(finding, r"\d.*\.$")
        self.stands_in(finding, ["README.md"])

    def test_the_targets_are_those_of_the_committed_results(self):
        made = plots("targets.py",
                     *sorted(glob.glob(os.path.join(RESULTS, "peers_*.json"))),
                     os.path.join(RESULTS, "threads.json"))
        self.stands_in(f"<!-- targets -->\n{made}<!-- /targets -->\n", pages())

    def test_the_growth_is_that_of_the_committed_result(self):
        made = plots("growth.py", os.path.join(RESULTS, "growth.json"))
        self.stands_in(f"<!-- growth table -->\n{made}<!-- end of growth table -->\n",
                       pages())


class ProgramTest(DocumentsTest):
    def test_the_axes_are_those_of_the_program(self):
        self.stands_in(run(PROGRAM, "list", "--markdown").strip(), pages())

    def test_the_commands_are_those_of_the_program(self):
        listed = run(PROGRAM, "--help").split("Subcommands:\n")[1]
        there = re.findall(r"^  (\S+)", listed, re.MULTILINE)
        self.assertIn("run-sweep", there)
        table = re.search(r"^\| command \|.*?\n\n", read("README.md"),
                          re.MULTILINE | re.DOTALL).group()
        said = [name for row in table.strip().splitlines()[2:]
                for name in re.findall(r"`([\w-]+)`", row.split("|")[1])]
        self.assertEqual(sorted(said), sorted(there))

    def test_the_commands_of_a_newcomer_are_those_that_ci_runs(self):
        block = read("README.md").split("## Two commands\n\n```\n")[1].split("```")[0]
        scripts = [line.split()[0] for line in block.splitlines()]
        self.assertEqual(scripts, ["scripts/reproduce.sh", "scripts/test.sh"])
        for script in scripts:
            self.assertTrue(os.access(os.path.join(ROOT, script), os.X_OK), script)
        self.assertIn('"$root/scripts/test.sh"', read(".ci/run"))


class LinksTest(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        for document in documents():
            text = read(document)
            folder = os.path.dirname(os.path.join(ROOT, document))
            for link in re.findall(r"\]\(([^)\s]+)\)", text):
                if re.match(r"[a-z]+:", link):
                    continue
                path, _, anchor = link.partition("#")
                with self.subTest(document=document, link=link):
                    target = os.path.join(folder, path) if path else os.path.join(
                        ROOT, document)
                    self.assertTrue(os.path.exists(target))
                    if anchor:
                        with open(target, encoding="utf-8") as file:
                            self.assertIn(anchor, anchors(file.read()))

    def test_every_page_of_docs_is_linked_from_the_readme(self):
        for page in pages()[1:]:
            self.assertIn(f"({page}", read("README.md"))

    def test_every_header_of_the_harness_stands_in_hacking(self):
        rows = [line.split("|")[1] for line in read("HACKING.md").splitlines()
                if line.startswith("| `harness/")]
        named = [name.removeprefix("harness/") for row in rows
                 for name in re.findall(r"`([^`]+)`", row)]
        headers = [os.path.splitext(name)[0] for name in glob.glob(
            "**/*.h", root_dir=os.path.join(ROOT, "harness"), recursive=True)]
        self.assertGreater(len(headers), 50)
        for header in headers:
            self.assertTrue(any(fnmatch(header, name) for name in named),
                            f"HACKING.md does not have harness/{header}")
        for name in named:
            self.assertTrue(not name or any(fnmatch(h, name) for h in headers),
                            f"HACKING.md has harness/{name}, which is not there")


if __name__ == "__main__":
    unittest.main()
