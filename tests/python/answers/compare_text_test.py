"""Guards against a comparison whose text, table or report of tests says something else
than its document: a report that passes what the exit code does not, a table without the
rows that matter, a last line that does not say what could have been found.
"""

import math
import re
import unittest
from xml.etree import ElementTree

import compared
from compared import after_change, cell, cells, compare, result, samples, scaled

from attnbench.answers import change, compare_text, comparison


class Texts(unittest.TestCase):
    def setUp(self):
        compared.use_quiet(self)

    def invalid(self):
        return compare(cells(), result(cells(), valid=False, cpu="another",
                                       invalid_reasons=["built without optimisation"],
                                       warnings=["other programs ran"]))

    def two_verdicts(self):
        def move(found):
            found[1] = cell("mocha", 10, samples(120))
            found[2] = cell("soft", 20, samples(3000))
        return after_change(move)

    def all_documents(self):
        yield self.invalid()
        yield self.two_verdicts()
        yield after_change(lambda _: None)
        yield after_change(lambda found: found.pop())
        yield after_change(lambda found: found.append(cell("soft", 30, samples(1))))
        for status in ("error", "skipped"):
            yield after_change(lambda found: found[1].update(
                status=status, samples_ns=[], message="why"))
        yield after_change(lambda found: found[1].update(peak_memory_bytes=7))
        yield compare([], [])
        one = [cell("soft", 10, [1000.0], 1)]
        yield compare(one, one)
        for factor in (1.0, 1.5):
            yield compare(cells(), scaled(factor), is_paired=True)

    def test_a_case_is_bad_if_and_only_if_the_exit_code_is(self):
        codes = set()
        for document in self.all_documents():
            (suite,) = ElementTree.fromstring(compare_text.junit(document))
            bad = suite.findall("*/failure") + suite.findall("*/error")
            code = comparison.exit_code(document)
            codes.add(code)
            self.assertEqual(bool(bad), code != 0, compare_text.text(document))
        self.assertEqual(codes, {0, 1, 3, 5})

    def test_the_report_of_tests_tells_what_differs_and_what_the_terminal_says(self):
        document = self.invalid()
        (suite,) = ElementTree.fromstring(compare_text.junit(document))
        properties = {one.attrib["name"]: one.attrib["value"] for one in suite.iter("property")}
        self.assertIn(' and "another"', properties["differs: cpu"])
        self.assertEqual(properties["warning: b.json"], "other programs ran")
        said = compare_text.text(document).splitlines()
        around = [line for line in said if not re.match("verdict|AMBIGUOUS", line)]
        self.assertEqual(suite.find("system-out").text.splitlines(), around)

    def test_it_says_first_what_is_not_valid_and_what_differs_and_changed(self):
        lines = compare_text.text(self.invalid()).splitlines()
        self.assertEqual(lines[0], "INVALID: b.json: built without optimisation")
        self.assertEqual(lines[1], "warning: b.json: other programs ran")
        self.assertRegex(lines[2], '^differs: cpu: ".*" and "another"$')

        def change_it(found):
            found[0]["operations"]["flops"] = 101.5
            found[1]["peak_memory_bytes"] = None
        lines = compare_text.text(after_change(change_it)).splitlines()
        self.assertEqual(lines[:2], [
            "changed: soft T=10 U=10: operations.flops 100.5 -> 101.5",
            "changed: mocha T=10 U=10: peak_memory_bytes 4096 -> null"])
        self.assertRegex(lines[2], r"^all together B takes 1\.000 \[.*the machine, or all of ")

    def test_cells_have_a_line_each_with_their_names_and_numbers(self):
        text = compare_text.text(self.two_verdicts())
        self.assertRegex(text, r"(?m)^SLOWER      1\.200 \[1\.1\d\d, .*\]     1\.200 mocha T=10")
        self.assertIn("1 FASTER, 1 SLOWER, 1 SAME, 0 AMBIGUOUS; at most 0.05 for any false "
                      "FASTER or SLOWER among 3, margin 5 %\n", text)
        text = compare_text.text(after_change(lambda found: found[1].update(
            status="error", samples_ns=[], message="why")))
        self.assertIn("no time: mocha T=10 U=10: ok in A, error in B\n", text)
        decoders = [{**one, "scope": "decoder", "beam": beam, "memory_length": 10,
                     "output_length": 10} for beam, one in enumerate(cells(), 1)]
        self.assertIn(" soft beam=1: ", compare_text.text(compare(decoders, decoders)))

    def test_what_is_in_common_is_the_code_only_where_programs_measured_in_turn(self):
        for is_paired, whose in ((True, "all of the code"),
                                 (False, "the machine, or all of the code")):
            text = compare_text.text(compare(cells(), scaled(1.5), is_paired=is_paired))
            self.assertIn(f" times as long as A: {whose}; ", text)
        self.assertIn("fewer than 3 cells", compare_text.text(compare(cells()[:2], cells()[:2])))

    def last(self, document):
        return compare_text.text(document).splitlines()[-1]

    def test_the_last_line_says_the_smallest_change_that_could_have_been_found(self):
        document = compare(cells(), result(cells(), build_id="another"))
        floor = math.expm1(compared.half_width("ratio", 0.05 / 3, builds=1, runs=1))
        for row in document["rows"]:
            self.assertGreater(row["detectable"], max(floor, change.MARGIN) - 1e-12)
        self.assertEqual(self.last(document),
                         "the smallest change that it could have found: 5.0 %")
        noisy = cells()
        noisy[1] = cell("mocha", 10, [100.0, 100.0, 150.0, 150.0] * 5)
        document = compare(noisy, noisy)
        worst = change.percent_of(document["rows"][1]["detectable"])
        self.assertEqual(self.last(document),
                         f"the smallest change that it could have found: 5.0 % to {worst}, "
                         "by cell")
        self.assertIn("its processes are too few", document["rows"][1]["reason"])

    def test_the_last_line_says_where_nothing_could_have_been_found(self):
        for document in (compare([], []), self.invalid()):
            self.assertEqual(self.last(document), "it could have found no change of a time")
        one = [cells()[0], cell("mocha", 10, [100.0], 1)]
        self.assertRegex(self.last(compare(one, one)), r"%; none in 1 cell$")

    def test_a_placement_is_named_where_a_side_is_one_build(self):
        text = compare_text.text(compare(cells(), result(cells(), build_id="another")))
        self.assertIn("where a side is one build, no change below 1.", text)


class PullRequest(unittest.TestCase):
    HEAD = ("\n\n| cell | verdict | change | interval | B / A | reason |\n"
            "| --- | --- | ---: | --- | ---: | --- |\n")

    def setUp(self):
        compared.use_quiet(self)

    def test_a_table_has_the_rows_that_matter_and_counts_the_others(self):
        before = [*cells(), cell("a|b", 20, samples(1000)), cell("soft", 30, samples(1000)),
                  cell("soft", 40, samples(1)), cell("soft", 50, [1.0], 1),
                  cell("soft", 60, [1.0], 1)]
        after = [*scaled(1.3), cell("a|b", 20, samples(1300)), cell("soft", 30, samples(2000)),
                 cell("soft", 50, [1.3], 1), cell("soft", 60, [9.0], 1)]
        after[1] = cell("mocha", 10, samples(100))
        text = compare_text.markdown(compare(before, after))
        self.assertTrue(text.startswith("- all together B takes 1.300 ["), text)
        self.assertIn(self.HEAD, text)
        rows = re.findall(r"(?m)^\| (\S+) T=(\d+).*? \| ([A-Z]+) \|", text)
        # SAME is not there: a|b, soft T=10 and 20. Nothing is known of soft T=50, which has
        # no interval.
        self.assertEqual(rows, [("mocha", "10", "FASTER"), ("soft", "30", "SLOWER"),
                                ("soft", "50", "AMBIGUOUS"), ("soft", "60", "AMBIGUOUS")])
        self.assertIn("| 0.769 | [0.7", text)
        self.assertIn("] | 1.000 | the interval excludes 1 |\n", text)
        self.assertIn("|\n\n- not shown: 3 SAME\n"
                      "- only in A: soft T=40 U=40\n- 1 FASTER", text)
        self.assertRegex(text, "\n- the smallest change that it could have found: .*\n$")

    def test_what_may_differ_is_not_told_as_what_does_not(self):
        document = after_change(lambda found: None)
        document["rows"][0].update(verdict="AMBIGUOUS", ratio=1.01, interval=[0.3, 3])
        text = compare_text.markdown(document)
        self.assertIn("- not shown: 2 SAME\n- not shown: 1 AMBIGUOUS whose ratio lies within "
                      "the margin; their intervals reach beyond it, so nobody knows\n", text)

    def test_a_table_without_rows_that_matter_is_none(self):
        text = compare_text.markdown(after_change(
            lambda found: found[1].update(peak_memory_bytes=7)))
        self.assertNotIn("| cell |", text)
        self.assertIn("- changed: mocha T=10 U=10: peak_memory_bytes 4096 -&gt; 7\n", text)
        self.assertIn("- not shown: ", text)

    def test_nothing_in_words_is_markup(self):
        for told, escaped in (
                ("a|b *c* `d` ~e~ \\", "a\\|b \\*c\\* \\`d\\` \\~e\\~ \\\\"),
                ("a_b _c_", "a_b \\_c\\_"), ("<b>&$x$", "&lt;b&gt;&amp;&#36;x&#36;"),
                ("[0.9, 1.1] x", "\\[0.9, 1.1] x"), ("see [a](b)", "see [a\\](b)"),
                ("1. x", "1\\. x"), ("12) 1. x", "12\\) 1. x"), ("1.5", "1\\.5"),
                ("- a", "\\- a"), ("a - b\nc\r", "a - b c "), ("# a", "\\# a")):
            self.assertEqual(compare_text.words(told), escaped)


if __name__ == "__main__":
    unittest.main()
