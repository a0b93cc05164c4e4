"""Results for tests of compare, check, merge and show: real sweeps with made-up
times, so that no verdict depends on the machine.
"""

import copy
import json
import os
import re
import subprocess
from xml.etree import ElementTree

import markdown_it

from documents import strict
from hostile import without_controls
from in_folder import InFolder

ATTNBENCH = os.environ["ATTNBENCH"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMONMARK = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])


def run(*arguments, program=ATTNBENCH, **keywords):
    return subprocess.run([program, *map(str, arguments)], cwd=ROOT,
                          capture_output=True, text=True, check=False, **keywords)


def sweep(path, *arguments, program=ATTNBENCH):
    result = run("run-sweep", *arguments, "-o", path, program=program)
    if result.returncode:
        raise AssertionError(result.stderr)
    with open(path, encoding="utf-8") as file:
        return strict(file.read())


def set_times(document, time_ns, processes=10):
    """Gives each process two rounds, all half a percent apart, in a valid result."""
    document["context"].update(valid=True, invalid_reasons=[], calibration=[])
    document["context"].pop("runs", None)
    for cell in document["cells"]:
        middle = time_ns(cell)
        cell["processes"] = processes
        cell["samples_ns"] = [middle * (1 + 0.0005 * process)
                              for process in range(processes) for _ in range(2)]
        cell["prepare_samples_ns"] = cell["prepare_samples_ns"][:1] * processes
        cell["median_ns"] = middle
        cell["interval_ns"] = [middle, middle]


def fail(cell, status, message):
    """Takes the times of a cell away."""
    for key in ("trials_per_sample", "median_ns", "interval_ns", "prepare_ns", "spread",
                "operations", "peak_memory_bytes", "limit", "numerics"):
        cell[key] = None
    for key in ("latency", "least_ns"):  # results from before these members lack them
        if key in cell:
            cell[key] = None
    for key in ("samples_ns", "prepare_samples_ns", "draw_ns"):
        cell[key] = []
    cell.pop("decoder", None)
    cell.update(status=status, message=message)


def words(text):
    """The words of a text: a page of Markdown or HTML keeps no more of its blanks."""
    text = text.replace("\r", " ")
    return " ".join(without_controls(text, keeps_lines=True).split())


def markdown_texts(text):
    """The texts of all cells and items of Markdown, in which nothing else is markup."""
    assert "$" not in text, "GitHub reads a formula"
    texts = []
    for token in COMMONMARK.parse(text):
        assert re.match("inline|paragraph|(table|thead|tbody|tr|th|td|bullet_list|list_item)_",
                        token.type), token
        if token.type == "inline":
            assert {one.type for one in token.children} <= {"text"}, token
            texts.append(words("".join(one.content for one in token.children)))
    return texts


class ResultFilesTest(InFolder):
    def write(self, name, document):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        return path

    def changed(self, name, document, change):
        """Writes a copy of the document after `change`; gives its path."""
        document = copy.deepcopy(document)
        change(document)
        return self.write(name, document)

    def gives(self, code, *arguments):
        """Gives (stdout, stderr) of a command that exits with `code`."""
        result = run(*arguments)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout, result.stderr

    def report_of_tests(self, code, *arguments):
        """The suite that --format junit writes, as an element of XML."""
        text = self.gives(code, *arguments, "--format", "junit")[0]
        (suite,) = ElementTree.fromstring(text)
        counts = {"tests": len(suite.findall("testcase")), "errors": len(suite.findall("*/error")),
                  "failures": len(suite.findall("*/failure")),
                  "skipped": len(suite.findall("*/skipped"))}
        for name, count in counts.items():
            self.assertEqual(int(suite.attrib[name]), count, name)
        return suite

    def refused(self, arguments, *parts):
        """Expects exit code 2, and one line that has all parts."""
        out, err = self.gives(2, *arguments)
        self.assertEqual(out, "")
        self.assertEqual(err.count("\n"), 1, err)
        for part in parts:
            self.assertIn(part, err)
