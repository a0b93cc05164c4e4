"""Guards against a name that another program reads as something else than itself: 250 of
them, through every form of output, read back by a parser of that form.
"""

import csv
import io
import json
import os
import re
import tempfile
import unittest

import hostile
from documents import CONTROL, strict
from hostile import NAMES, without_controls
from result_files import ResultFilesTest, fail, markdown_texts, run, set_times, sweep, words


class Names(ResultFilesTest):
    """A result in which mechanisms, options, messages and the machine have such names."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.made = sweep(os.path.join(folder, "made.json"), "--mechanism", "soft",
                             "-T", "4", "-d", "4", "--repetitions", "2")

    def setUp(self):
        super().setUp()
        document = json.loads(json.dumps(self.made))
        set_times(document, lambda cell: 100.0)
        (first,) = document["cells"]
        document["cells"] = []
        for number, name in enumerate(NAMES):
            cell = {**json.loads(json.dumps(first)), "mechanism": name,
                    "options": {"name": name}}
            if number % 2:
                fail(cell, "error", name)
            document["cells"].append(cell)
        document["context"]["cells_of_points"] = [len(NAMES)]
        document["context"].update(valid=False, invalid_reasons=NAMES, warnings=NAMES)
        self.document = document
        self.result = self.write("r.json", document)

    def printed(self, code, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, code, done.stderr[:1000])
        self.assertNotRegex(done.stdout.replace("\t", ""), CONTROL)
        return done.stdout

    def test_json_gives_every_name_back(self):
        table = strict(self.printed(0, "show", self.result, "--json"))
        self.assertEqual([row["mechanism"] for row in table["rows"]], NAMES)
        self.assertEqual([row["message"] for row in table["rows"]][1::2], NAMES[1::2])
        self.assertEqual(table["results"][0]["warnings"], NAMES)
        self.assertEqual(table["results"][0]["invalid_reasons"], NAMES)
        compared = strict(self.printed(1, "compare", self.result, self.result, "--json"))
        self.assertEqual([row["mechanism"] for row in compared["rows"]], NAMES[::2])

    def test_csv_gives_every_name_back(self):
        text = self.printed(0, "show", self.result, "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        expected = [without_controls(name, keeps_lines=True) for name in NAMES]
        self.assertEqual([row["mechanism"] for row in rows], expected)
        self.assertEqual([row["message"] for row in rows][1::2], expected[1::2])
        self.assertEqual({row["warnings"] for row in rows}, {"; ".join(expected)})
        self.assertEqual({row["invalid_reasons"] for row in rows}, {"; ".join(expected)})

    def test_google_benchmarks_json_gives_every_name_back(self):
        document = strict(self.printed(0, "show", self.result, "--format", "gbench"))
        self.assertEqual(document["context"]["warnings"], "; ".join(NAMES))
        entries = {}
        for entry in document["benchmarks"]:
            entries.setdefault(entry["family_index"], entry)
        for name, entry in zip(NAMES, entries.values(), strict=True):
            self.assertTrue(entry["name"].startswith(f"{name}/T=4/"), entry)
            self.assertTrue(entry["run_name"].endswith(f"/name={name}"), entry)
        self.assertEqual([entry["error_message"] for entry in entries.values()
                          if "error_message" in entry],
                         [f"error: {name}" for name in NAMES[1::2]])

    def test_markdown_gives_every_name_back(self):
        texts = markdown_texts(self.printed(0, "show", self.result, "--format", "markdown"))
        for number, name in enumerate(NAMES):
            self.assertIn(words(name), texts)
            if number % 2:
                self.assertIn(words(f"error: {name}"), texts)
            self.assertIn(words(f"warning: {self.result}: {name}"), texts)
            self.assertIn(words(f"INVALID: {self.result}: {name}"), texts)
        # A row that may be the same is left out: half of the cells take longer, and that in
        # the middle has a count that changed.
        document = json.loads(json.dumps(self.document))
        names = NAMES[::2]
        for cell in document["cells"][::2]:
            place = names.index(cell["mechanism"])
            cell["samples_ns"] = [(place + 1) * sample for sample in cell["samples_ns"]]
            cell["peak_memory_bytes"] += place == len(names) // 2
        texts = markdown_texts(self.printed(
            1, "compare", self.result, self.write("other.json", document), "--format",
            "markdown", "--margin", "0.0001"))
        for name in names:
            if name == names[len(names) // 2]:
                name = f"changed: {name}"
            self.assertTrue(any(text.startswith(words(name)) for text in texts), name)
        for name in NAMES[1::2]:
            self.assertTrue(any(text.startswith(words(f"no time: {name}")) for text in texts),
                            name)

    def test_junit_gives_every_name_and_the_machines_back(self):
        machines = [" ".join(NAMES), "another"]
        paths = []
        for cpu in machines:
            self.document["context"]["cpu"] = cpu
            paths.append(self.write(f"{len(paths)}.json", self.document))
        for code, arguments in (
                (1, ("compare", *paths)), (1, ("check", paths[1], "--baseline", paths[0]))):
            suite = self.report_of_tests(code, *arguments)
            (differs,) = [one.attrib["value"] for one in suite.iter("property")
                          if one.attrib["name"] == "differs: cpu"]
            told, _, other = differs.rpartition(" and ")
            held = re.sub("[\x7f-\x9f\ufffe\uffff]", "?", machines[0])
            self.assertEqual([json.loads(told), json.loads(other)], [held, machines[1]])
            self.assertIn("differs: cpu: ", suite.find("system-out").text)
        suite = self.report_of_tests(1, "compare", *paths)
        cases = [one.attrib["name"] for one in suite.iter("testcase")]
        for name in NAMES:
            held = re.sub("[\ufffe\uffff]", "?", without_controls(name))
            self.assertTrue(any(case.startswith(held) for case in cases), repr(name))

    def test_files_of_every_name_are_read_and_named(self):
        names = [self.write(name, self.made) for name in hostile.file_names()]
        table = strict(self.printed(0, "show", *names, "--json"))
        self.assertEqual([row["result"] for row in table["rows"]], names)
        for name in names:
            made = strict(self.printed(3, "check", name, "--baseline", name + "no", "--json"))
            self.assertEqual((made["result"], made["baseline"]), (name, name + "no"))
            os.remove(name)
            run("run-sweep", "--mechanism", "soft", "-T", "4", "--repetitions", "1", "-o", name)
            with open(name, encoding="utf-8") as file:
                self.assertIn("cells", strict(file.read()))


if __name__ == "__main__":
    unittest.main()
