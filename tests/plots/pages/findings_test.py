"""Guards against findings that are not those of the committed results, that call a gain
what its interval does not show, or that leave a judged claim out or put it under another
verdict."""

import contextlib
import io
import json
import os
import re
import tempfile
import unittest
from unittest import mock

from made_up import make_trained, make_trained_run

from attnbench.analysis import ROOT, claims_result, load, trained
from attnbench.judge import verdicts
from pages import findings, markdown, new_findings

AGAIN = "write it again: /usr/bin/python3 plots/findings.py -o FINDINGS.md"
# Printed with letters of 8 points.
MOST_LINES, MOST_WORDS = 110, 2500
UNDER = {
    "What failed": {"refuted", "not reproduced here"},
    "What holds only in part": {"holds only if", "depends on reading"},
    "What was confirmed": {"holds"},
}


class FindingsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(ROOT, "FINDINGS.md"), encoding="utf-8") as file:
            cls.page = file.read()
        cls.sections = dict(re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", cls.page, re.M))

    def test_the_page_is_that_of_the_committed_results(self):
        self.assertTrue(self.page == markdown.page(findings.lines()), f"stale; {AGAIN}")

    def test_it_takes_two_pages(self):
        self.assertLessEqual(len(self.page.splitlines()), MOST_LINES)
        self.assertLessEqual(
            len(re.sub(r"\]\([^)]*\)", "", self.page).split()), MOST_WORDS)

    def test_errors_of_other_speakers_are_of_the_seeds_that_all_have(self):
        def runs(folders):
            return trained.Runs(make_trained("speech", [
                make_trained_run(name, seed, 10.0 * seed, task="folder", data=folders[seed - 1])
                for name, seeds in (("soft", (1, 2, 3)), ("memory", (1, 2))) for seed in seeds]))

        self.assertEqual(findings._seeds(runs("aba"), ("soft", "memory")), [1, 2])
        self.assertIsNone(findings._seeds(runs("aaa"), ("soft", "memory")))
        self.assertEqual(findings._error_text(runs("aba"), "soft", [1, 2]), "10.00, 20.00")

    def test_each_judged_claim_is_once_under_its_verdict(self):
        claims = claims_result.read(claims_result.FULL)["claims"]
        self.assertGreater(len(claims), 50)
        for claim in claims:
            kind = claims_result.kind(claim["verdict"])
            found = [heading for heading in UNDER
                     for _ in re.findall(rf"\[{claim['id']}\]\(", self.sections[heading])]
            with self.subTest(claim=claim["id"]):
                self.assertEqual(found, [heading for heading, kinds in UNDER.items()
                                         if kind in kinds])
        (count,) = re.findall(r"^(\d+) more claims", self.page, re.M)
        self.assertEqual(int(count) + len(set(re.findall(
            r"\[([a-z0-9-]+)\]\(results/\w+\.md#", self.page, re.I))), len(claims))

    def test_a_gain_is_bold_where_its_interval_is_above_1(self):
        gains = re.findall(r"\| (\*\*)?([\d.]+) \[([\d.]+), ([\d.]+)\](\*\*)? ",
                           self.sections["What to use when"].split("\nSecond,")[0])
        self.assertGreater(len(gains), 10)
        for bold, _, low, _, _ in gains:
            # 1.0 may be rounded either way.
            self.assertEqual(bool(bold), float(low) > 1 or (bool(bold) and low == "1.0"))
        self.assertTrue(any(bold for bold, *_ in gains))
        self.assertTrue(any(not bold for bold, *_ in gains))

    def test_every_new_finding_names_a_figure_that_is_there_and_a_command(self):
        items = re.findall(r"^- \*\*.*\n(?:  .*\n)*", self.sections["What is new"], re.M)
        self.assertGreater(len(items), 3)
        for item in items:
            (figure,) = re.findall(r"\[figure\]\(([^)]*)\)", item)
            self.assertTrue(os.path.exists(os.path.join(ROOT, figure)), figure)
            self.assertRegex(item, r"`attnbench [^`]*`")

    def test_what_is_of_a_result_that_is_not_valid_says_so(self):
        contexts = [{"valid": True, "invalid_reasons": []},
                    {"valid": False, "invalid_reasons": ["other programs ran"]}]
        for count, said in ((1, "- **It is.** So ("),
                            (2, "- **It is.** INVALID: other programs ran. So (")):
            line = new_findings.line(
                new_findings.Finding("It is.", "So", "gap", "gap", contexts[:count]))
            self.assertTrue(line.startswith(said), line)

    def test_only_a_claim_that_failed_says_by_which_part(self):
        claim = {"id": "made-up", "source": "MAD 2.2", "claim": "It is.", "because": None,
                 "verdict": verdicts.REFUTED,
                 "measured": [part("first", "holds", 1), part("second", "fails", 7)]}
        waits = {**part("new", "waits for trained results of speech", 1), "groups": None}
        claim["measured"].insert(0, waits)
        self.assertIn("(second: 7; claimed at most 3)", *findings.claim_texts([claim]))
        for kind in (verdicts.HOLDS, verdicts.HOLDS_ONLY_IF):
            claim["verdict"] = kind
            self.assertEqual(findings.claim_texts([claim]),
                             ["- [made-up](results/mad.md#made-up): It is."])


def part(name, verdict, value):
    reading = {"value": value, "interval": None, "labels": {}}
    return {"name": name, "unit": "ratio", "role": "claim", "verdict": verdict,
            "rule": {"kind": "at_most", "bound": 3},
            "groups": [{"least": reading, "greatest": reading}]}


class CommandTest(unittest.TestCase):
    def run_main(self, *arguments):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            code = findings.main(arguments)
        return code, err.getvalue()

    def test_a_folder_that_is_not_there_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "none", "FINDINGS.md")
            code, err = self.run_main("-o", path)
        self.assertEqual(code, 2)
        self.assertEqual(len(err.splitlines()), 1)
        self.assertIn(path, err)

    def test_a_result_that_is_broken_is_named_and_no_page_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "FINDINGS.md")
            broken = os.path.join(folder, "decoder.json")
            with open(broken, "w", encoding="utf-8") as file:
                json.dump({"kind": "sweep"}, file)
            with mock.patch.object(load, "committed", lambda *_: broken):
                code, err = self.run_main("-o", page)
            self.assertEqual((code, os.path.exists(page)), (2, False))
            self.assertIn(broken, err)


if __name__ == "__main__":
    unittest.main()
