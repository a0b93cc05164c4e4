"""The gate from outside: a fresh sweep of experiments/ci.json has the numbers of
results/baseline/ci.json, on whatever machine and at whatever SIMD level; and
each way in which a result can miss its baseline has its exit code."""

import copy
import json
import os
import unittest

from documents import read, strict, validate
from result_files import ROOT, ResultFilesTest, fail, run, set_times, sweep

BASELINE = os.path.join("results", "baseline", "ci.json")


def leave_out(document, cell):
    del document["cells"][cell]
    document["context"]["cells_of_points"][0] -= 1


class Check(ResultFilesTest):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(ROOT, BASELINE), encoding="utf-8") as file:
            cls.baseline = json.load(file)
        # These tests do not care whether its times count.
        cls.baseline["context"].update(valid=True, invalid_reasons=[])

    def check(self, code, change, *arguments):
        """Gives the exit code and output for the baseline after a change to it."""
        result = self.changed("r.json", self.baseline, change)
        return self.gives(code, "check", result, "--baseline", BASELINE, *arguments)[0]

    def test_this_program_has_the_numbers_of_the_committed_baseline(self):
        fresh = sweep(self.path("fresh.json"), "experiments/ci.json")
        out, _ = self.gives(0, "check", self.path("fresh.json"), "--baseline", BASELINE)
        cells = len(self.baseline["cells"])
        self.assertEqual(cells, len(fresh["cells"]))
        self.assertGreater(cells, 150)
        self.assertIn(f"{cells} of {cells} cells compared, 0 changed, 0 missing", out)

    def test_it_runs_where_there_is_no_python(self):
        for arguments in ((), ("--time",), ("--format", "markdown"), ("--format", "junit"),
                          ("--json",)):
            done = run("check", BASELINE, "--baseline", BASELINE, *arguments,
                       env={"PATH": "/nonexistent", "ATTNBENCH_PYTHON": "/nonexistent/python"})
            self.assertIn(done.returncode, (0, 3) if arguments else (0,), done.stderr)
            self.assertEqual(done.stderr, "")

    def test_a_number_that_changed_is_1(self):
        def change(document):
            document["cells"][5]["numerics"]["context_l2"] *= 1.001
        self.assertIn("numerics.context_l2", self.check(1, change))

    def test_a_point_without_one_of_its_cells_is_2_and_an_absent_point_is_3(self):
        def tear(document):
            del document["cells"][0]
        torn = self.changed("torn.json", self.baseline, tear)
        for arguments in (("check", torn, "--baseline", BASELINE),
                          ("check", BASELINE, "--baseline", torn),
                          ("compare", BASELINE, torn)):
            self.refused(arguments, "torn.json: has ", "--resume measures that point again")

        def lose(document):
            point = document["context"]["points"][0]
            document["cells"] = [c for c in document["cells"] if c["point"] != point]
        self.assertIn("\nmissing: ", self.check(3, lose))

    def test_a_baseline_of_which_nothing_was_measured_is_3(self):
        def skip(document):
            for cell in document["cells"]:
                fail(cell, "skipped", "not today")
        skipped = self.changed("skipped.json", self.baseline, skip)
        cells = len(self.baseline["cells"])
        out, _ = self.gives(3, "check", skipped, "--baseline", skipped)
        self.assertIn(f"0 of {cells} cells compared", out)
        self.assertIn(f"{cells} not measured", out)
        self.refused(("check", skipped, "--baseline", skipped, "--update"),
                     "no cell of it was measured")

    def test_an_empty_or_absent_baseline_is_3(self):
        fresh = os.path.join(ROOT, BASELINE)
        empty = self.changed("empty.json", self.baseline, lambda d: d["cells"].clear())
        self.gives(3, "check", fresh, "--baseline", empty)
        with open(self.path("zero.json"), "w", encoding="utf-8"):
            pass
        for name in ("zero.json", "absent.json"):
            out, _ = self.gives(3, "check", fresh, "--baseline", self.path(name))
            self.assertIn("there is no baseline", out)

    def test_what_is_no_result_is_2_not_an_absent_baseline(self):
        fresh = os.path.join(ROOT, BASELINE)
        with open(self.path("torn.json"), "w", encoding="utf-8") as file:
            file.write('{"kind": "sweep", "cells": [')
        self.refused(("check", fresh, "--baseline", self.path("torn.json")),
                     "torn.json: is not JSON")

    def test_json_is_as_its_schema_says(self):
        def change(document):
            leave_out(document, 7)
            document["cells"][0]["operations"]["energies"] += 1
        document = strict(self.check(3, change, "--json"))
        validate(document, "check")
        self.assertEqual((len(document["changes"]), len(document["missing"])), (1, 1))
        absent = ("--baseline", self.path("absent.json"), "--json")
        out, _ = self.gives(3, "check", BASELINE, *absent)
        validate(strict(out), "check")

    def test_ci_systems_and_pull_requests_can_read_it(self):
        def change(document):
            document["cells"][0]["operations"]["energies"] += 1
        changed = self.changed("r.json", self.baseline, change)
        suite = self.report_of_tests(1, "check", changed, "--baseline", BASELINE)
        self.assertEqual((suite.attrib["tests"], suite.attrib["failures"]), ("2", "1"))
        self.assertIn("-> ", suite.find("testcase/failure").attrib["message"])
        self.assertIn("1 changed, 0 missing", suite.find("system-out").text)
        table = self.check(1, change, "--format", "markdown")
        self.assertRegex(table, r"^- changed: .*operations\.energies")

    def test_its_json_of_whole_decoders_is_as_its_schema_says(self):
        def change(document):
            del document["cells"][1]
            document["context"]["cells_of_points"][0] -= 1
            document["cells"][2]["decoder"]["reads"]["memory_read"] = 0.5
            fail(document["cells"][3], "timeout", "took too long")
        decoders = read("results", "claims", "translation.json")
        out, _ = self.gives(
            3, "check", self.changed("r.json", decoders, change), "--baseline",
            self.write("base.json", decoders), "--time", "--json")
        document = strict(out)
        validate(document, "check")
        for key in ("changes", "failed", "missing"):
            self.assertEqual({row["beam"] for row in document[key]}, {10}, key)

    def test_times_count_only_where_asked_and_as_ratios(self):
        base = copy.deepcopy(self.baseline)
        set_times(base, lambda cell: 100.0)
        base = self.write("base.json", base)

        def of(name, mocha_ns):
            def change(document):
                set_times(document, lambda cell: 3 * (
                    mocha_ns if cell["mechanism"] == "mocha" else 100.0))
            return self.changed(name, self.baseline, change)
        slower, same = of("slower.json", 300.0), of("same.json", 100.0)
        self.gives(0, "check", slower, "--baseline", base)
        self.gives(0, "check", same, "--baseline", base, "--time")
        out, _ = self.gives(1, "check", slower, "--baseline", base, "--time", "--json")
        validate(strict(out), "check")
        regressed = [ratio for ratio in strict(out)["time"]["ratios"]
                     if ratio["verdict"] == "REGRESSED"]
        self.assertEqual({ratio["mechanism"] for ratio in regressed}, {"mocha"})

    def test_a_cell_that_is_in_no_ratio_is_named_and_3(self):
        base = copy.deepcopy(self.baseline)
        set_times(base, lambda cell: 100.0)
        set_times({**base, "cells": base["cells"][3:4]}, lambda cell: 100.0, processes=5)
        base = self.write("base.json", base)
        self.gives(0, "check", base, "--baseline", base)
        out, _ = self.gives(3, "check", base, "--baseline", base, "--time")
        self.assertIn("no ratio: soft", out)
        out, _ = self.gives(3, "check", base, "--baseline", base, "--time", "--json")
        validate(strict(out), "check")
        (left_out,) = strict(out)["time"]["left_out"]
        self.assertIn("its rounds are others", left_out["reason"])

    def test_update_makes_the_result_the_baseline(self):
        base = self.write("base.json", self.baseline)

        def change(document):
            document["cells"][0]["operations"]["energies"] += 1
        result = self.changed("r.json", self.baseline, change)
        self.gives(1, "check", result, "--baseline", base)
        out, err = self.gives(0, "check", result, "--baseline", base, "--update")
        self.assertIn("operations.energies", out)
        self.assertIn("CHANGELOG.md", err)
        self.gives(0, "check", result, "--baseline", base)
        new = self.path("new.json")
        self.gives(0, "check", result, "--baseline", new, "--update")
        self.gives(0, "check", result, "--baseline", new)

    def test_what_is_not_valid_never_becomes_a_baseline(self):
        base = self.write("base.json", self.baseline)

        def invalid(document):
            document["context"].update(valid=False, invalid_reasons=["a debug build"])

        def failed(document):
            fail(document["cells"][0], "error", "no")
        for change, why in ((invalid, "a debug build"), (failed, "is error: no")):
            result = self.changed("r.json", self.baseline, change)
            self.refused(("check", result, "--baseline", base, "--update"),
                         "cannot become a baseline", why)
            with open(base, encoding="utf-8") as file:
                self.assertEqual(json.load(file), self.baseline)


if __name__ == "__main__":
    unittest.main()
