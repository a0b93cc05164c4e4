"""attnbench compare and merge from outside: exit codes, documents that are as
their schema says, and errors that name file and place."""

import copy
import functools
import os
import subprocess
import tempfile
import unittest

from documents import CONTROL, read, strict, validate
from result_files import ROOT, ResultFilesTest, fail, run, set_times, sweep

from attnbench.answers import match

DECODERS = read("results", "claims", "translation.json")
SMALL = ("--mechanism", "soft,mocha", "-T", "4,6", "-d", "4", "--repetitions", "1")


@functools.cache
def small():
    with tempfile.TemporaryDirectory() as folder:
        return sweep(os.path.join(folder, "swept.json"), *SMALL)


class Files(ResultFilesTest):
    def setUp(self):
        super().setUp()
        self.result = copy.deepcopy(small())
        set_times(self.result, lambda cell: 100.0 * cell["memory_length"])
        self.a = self.write("a.json", self.result)


# Beyond whatever the committed effects may be.
MARGIN = ("--margin", "0.5")


class Compare(Files):
    def slower(self, all_together=1.0):
        """One cell of four takes three times as long, beside `all_together`."""
        def time_ns(cell):
            slower = cell["mechanism"] == "mocha" and cell["memory_length"] == 6
            return (3.0 if slower else 1.0) * all_together * 100.0 * cell["memory_length"]
        return self.changed("b.json", self.result, lambda d: set_times(d, time_ns))

    def test_a_result_is_the_same_as_itself(self):
        out, err = self.gives(0, "compare", self.a, self.a, *MARGIN)
        self.assertEqual(err, "")
        self.assertEqual(out.count("\nSAME "), 4)
        self.assertIn("4 SAME, 0 AMBIGUOUS", out)

    def test_a_result_may_come_by_a_pipe_and_not_from_a_device(self):
        with open(self.a, encoding="utf-8") as piped:
            same = run("compare", "-", self.a, *MARGIN, stdin=piped)
        self.assertEqual(same.returncode, 0, same.stderr)
        refused = run("compare", "/dev/zero", self.a)
        self.assertEqual((refused.returncode, refused.stderr), (
            2, "attnbench: /dev/zero: cannot be read: is neither a file nor a pipe\n"))

    def test_slower_fails_in_every_format(self):
        out, _ = self.gives(1, "compare", self.a, self.slower(1.3))
        self.assertIn("SLOWER      3.000 [", out)
        self.assertIn("]     3.900 mocha T=6", out)
        self.assertIn("all together B takes 1.300 [", out)
        table = self.gives(1, "compare", self.a, self.slower(), "--format", "markdown")[0]
        self.assertIn("| mocha T=6 U=6 | SLOWER | 3.000 | [", table)
        out = self.gives(1, "compare", self.a, self.slower(), "--json")[0]
        self.assertEqual(
            out, self.gives(1, "compare", self.a, self.slower(), "--format=json")[0])
        document = strict(out)
        validate(document, "compare")
        slower = [row for row in document["rows"] if row["verdict"] == "SLOWER"]
        self.assertEqual([row["mechanism"] for row in slower], ["mocha"])
        suite = self.report_of_tests(1, "compare", self.a, self.slower())
        self.assertEqual(suite.attrib["name"], "attnbench compare")
        bad = [case.attrib["name"] for case in suite if case.find("failure") is not None]
        self.assertEqual((bad, suite.attrib["failures"]), (["mocha T=6 U=6"], "1"))

    def test_options_of_the_closed_form_have_the_programs_defaults(self):
        listed = strict(self.gives(0, "list", "--json")[0])["mechanisms"]
        found = {option["name"]: option["default"] for mechanism in listed
                 for option in mechanism["options"] if option["name"] in match.OF_PARALLEL}
        self.assertEqual(found, match.OF_PARALLEL)

    def test_all_cells_alike_are_the_machine_and_not_slower(self):
        def change(document):
            set_times(document, lambda cell: 105.0 * cell["memory_length"])
        other = self.changed("b.json", self.result, change)
        out, _ = self.gives(0, "compare", self.a, other, *MARGIN)
        self.assertIn("all together B takes 1.050 [", out)
        self.assertIn("4 SAME", out)

    def test_times_that_are_not_valid_have_their_own_exit_code(self):
        def change(document):
            document["context"].update(valid=False, invalid_reasons=["a debug build"])
        invalid = self.changed("b.json", self.result, change)
        out, _ = self.gives(5, "compare", self.a, invalid)
        self.assertIn("INVALID: ", out)
        self.assertIn("0 FASTER, 0 SLOWER, 0 SAME, 4 AMBIGUOUS", out)
        self.assertTrue(out.endswith("\nit could have found no change of a time\n"), out)

    def test_a_count_that_changed_fails_though_no_time_did(self):
        def change(document):
            document["cells"][1]["operations"]["energies"] += 1
        other = self.changed("b.json", self.result, change)
        out, _ = self.gives(1, "compare", self.a, other, *MARGIN)
        self.assertRegex(out.split("verdict", 1)[0], r"changed: .*operations\.energies")
        self.assertIn("4 SAME", out)

    def test_of_whole_decoders_too_every_list_is_as_the_schema_says(self):
        before, after = copy.deepcopy(DECODERS), copy.deepcopy(DECODERS)
        del before["cells"][0], after["cells"][1]
        for document in (before, after):
            document["context"]["cells_of_points"][0] -= 1
        fail(after["cells"][1], "timeout", "took too long")
        after["cells"][2]["decoder"]["reads"]["memory_read"] = 0.5
        out, _ = self.gives(3, "compare", self.write("before.json", before),
                            self.write("after.json", after), "--json")
        document = strict(out)
        validate(document, "compare")
        for key in ("rows", "untimed", "changes", "only_a", "only_b"):
            self.assertEqual({row["scope"] for row in document[key]}, {"decoder"}, key)

    def test_a_single_round_is_3_without_an_interval_and_its_json_is_strict(self):
        def change(document):
            for cell in document["cells"]:
                cell.update(samples_ns=[5.0], processes=1)
        path = self.changed("one.json", self.result, change)
        document = strict(self.gives(3, "compare", path, path, "--json")[0])
        validate(document, "compare")
        for row in document["rows"]:
            self.assertIsNone(row["interval"])
            self.assertEqual(row["verdict"], "AMBIGUOUS")

    def test_what_cannot_be_compared_is_3_and_what_is_no_result_2(self):
        def shorten(document):
            document["cells"].pop()
            del document["context"]["cells_of_points"]  # older results lack it
        fewer = self.changed("b.json", self.result, shorten)
        out, _ = self.gives(3, "compare", self.a, fewer, "--json")
        validate(strict(out), "compare")
        self.assertEqual(len(strict(out)["only_a"]), 1)
        none = self.changed("none.json", self.result, lambda d: d["cells"].clear())
        self.gives(3, "compare", none, none)
        bad = self.changed("bad.json", self.result,
                           lambda d: d["cells"][1].pop("samples_ns"))
        self.refused(("compare", self.a, bad), "bad.json: cells[1]", "samples_ns")


class Libraries(ResultFilesTest):
    SWEEP = ("run-sweep", *SMALL, "--energy", "bilinear")

    def expect_told(self, variables, *fields, warning):
        """Expects that a run with these variables is told from one without, by its own
        warning, by compare, by merge and by --resume.
        """
        plain, other = self.path("plain.json"), self.path("other.json")
        self.assertEqual(run(*self.SWEEP, "-o", plain, "--shard", "0/2").returncode, 0)
        environment = {**os.environ, **variables}
        done = run(*self.SWEEP, "-o", other, "--shard", "1/2", env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(warning, done.stdout)
        with open(other, encoding="utf-8") as file:
            context = strict(file.read())["context"]
        # A worker runs what the program runs.
        done = run("measure-points", "--describe", env=environment)
        for member in ("loaded", "environment"):
            self.assertEqual(strict(done.stdout)["context"][member], context[member])
        for name, value in variables.items():
            self.assertEqual(context["environment"][name], value)
        out = run("compare", plain, other).stdout
        for field in fields:
            self.assertIn(f"differs: {field}: ", out)
        self.refused(("merge", plain, other, "-o", self.path("all.json")),
                     f"is no part of the run of {plain}: it has {fields[0]} ")
        resumed = run(*self.SWEEP, "-o", plain, "--shard", "0/2", "--resume", env=environment)
        self.assertEqual(resumed.returncode, 2, resumed.stderr)
        self.assertIn(f"{fields[0]} was ", resumed.stderr)
        return context["loaded"]["blas"]

    def test_another_core_of_openblas_is_told(self):
        described = strict(run("measure-points", "--describe").stdout)["context"]
        core = described["loaded"]["blas"]["core"]
        if "AVX" not in described["simd"]:
            self.skipTest(f"{described['simd']} is the best level here")
        older = "Nehalem" if core == "Prescott" else "Prescott"
        blas = self.expect_told({"OPENBLAS_CORETYPE": older}, "loaded.blas.core",
                                "environment.OPENBLAS_CORETYPE",
                                warning=f"warning: OpenBLAS runs its kernels for {older}")
        self.assertEqual(blas, {**described["loaded"]["blas"], "core": older})

    def test_another_blas_that_is_preloaded_is_told(self):
        library = self.path("libother.so")
        source = os.path.join(ROOT, "tests", "support", "other_blas.c")
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", source, "-o", library], check=True)
        blas = self.expect_told({"LD_PRELOAD": library}, "loaded.blas.file", "loaded.blas.core",
                                "environment.LD_PRELOAD",
                                warning=f"matrix products are those of {library}, which is not "
                                "OpenBLAS")
        self.assertEqual(blas, {"file": library})

    def test_another_malloc_is_told_and_what_decides_no_time_is_not(self):
        library = self.path("libmalloc.so")
        subprocess.run(["gcc", "-x", "c", "-", "-shared", "-fPIC", "-o", library], check=True,
                       text=True, input="void *__libc_malloc(unsigned long);\n"
                       "void *malloc(unsigned long size) { return __libc_malloc(size); }\n")
        for variables, expected in (
                ({"LD_PRELOAD": library}, {"malloc": library}),
                ({"OPENBLAS_NUM_THREADS": "2", "LD_LIBRARY_PATH": self.folder}, {})):
            plain, other = (
                strict(run("measure-points", "--describe", env={**os.environ, **more})
                       .stdout)["context"] for more in ({}, variables))
            found = {name: one["file"] for name, one in other["loaded"].items()
                     if one != plain["loaded"][name]}
            self.assertEqual(found, expected)
            self.assertEqual(other["environment"] == plain["environment"], not expected)


class Texts(Files):
    def test_no_text_of_a_result_moves_the_cursor(self):
        said = "so \x1b[31m\x9b2J\rit is"

        def change(document):
            document["context"].update(valid=False, invalid_reasons=[said], warnings=[said],
                                       cpu=said)
            fail(document["cells"][0], "error", said)
            for cell in document["cells"]:
                cell["mechanism"] += said
        other = self.changed("b.json", self.result, change)
        commands = (("compare", self.a, other), ("check", other, "--baseline", self.a, "--time"),
                    ("merge", other, "-o", self.path("all.json")), ("show", other),
                    ("show", other, "--format", "csv"),
                    ("check", other, "--baseline", self.a, "--format", "junit"),
                    ("check", other, "--baseline", self.path("none.json"), "--update"))
        for arguments in commands:
            done = run(*arguments)
            self.assertIn(done.returncode, (0, 1, 2, 3), done.stderr)
            self.assertIn("so ?[31m?2J?it is", done.stdout + done.stderr)
            self.assertNotRegex(done.stdout + done.stderr, CONTROL)
        # The text itself stays.
        with open(self.path("all.json"), encoding="utf-8") as file:
            self.assertEqual(strict(file.read())["context"]["warnings"], [said])

        def misspell(document):
            document["cells"][0][said] = 1
        misspelt = self.changed("c.json", self.result, misspell)
        for arguments in (("compare", self.a, misspelt),
                          ("report", misspelt, "-o", self.path("r.html"))):
            self.refused(arguments, "it is")
            self.assertNotRegex(run(*arguments).stderr, CONTROL)


class Merge(Files):
    def shard(self, index):
        points = self.result["context"]["points"]

        def change(document):
            document["context"]["shard"] = f"{index}/{len(points)}"
            document["cells"] = [cell for cell in document["cells"]
                                 if cell["point"] == points[index]]
        return self.changed(f"shard{index}.json", self.result, change)

    def merged(self):
        with open(self.path("all.json"), encoding="utf-8") as file:
            return strict(file.read())

    def test_shards_give_the_cells_of_the_run(self):
        shards = [self.shard(1), self.shard(0)]
        out, err = self.gives(0, "merge", *shards, "-o", self.path("all.json"))
        self.assertIn("all.json: 4 cells (4 ok)", out)
        document = self.merged()
        validate(document, "sweep")
        self.assertEqual(document["cells"], self.result["cells"])
        self.assertIsNone(document["context"]["shard"])
        self.assertIn("attnbench merge", document["context"]["command"])
        self.assertNotIn("INVALID", out + err)
        self.gives(0, "compare", self.a, self.path("all.json"))
        self.refused(("merge", *shards, "-o", self.path("all.json")), "--force")
        self.gives(0, "merge", *shards, "-o", self.path("all.json"), "--force")

    def test_a_point_that_lacks_a_cell_is_refused(self):
        point = self.result["context"]["points"][1]
        fewer = self.changed("fewer.json", self.result, lambda d: d["cells"].pop())
        lacks = f"fewer.json: has 1 of the 2 cells of point {point}"
        self.refused(("merge", fewer, "-o", self.path("all.json")), lacks)
        self.refused(("check", fewer, "--baseline", self.a), lacks)
        self.refused(("compare", self.a, fewer), lacks)
        self.refused(("report", fewer, "-o", self.path("r.html")), lacks)
        of_others = self.changed("others.json", self.result,
                                 lambda d: d["context"]["cells_of_points"].pop())
        self.refused(("compare", self.a, of_others),
                     "others.json: context.cells_of_points: has 1 number, of 2 points")

    def test_a_failed_cell_fails_the_merge_as_it_failed_its_run(self):
        whole = self.changed(
            "failed.json", self.result,
            lambda d: fail(d["cells"][0], "error", "ended by signal 11"))
        _, err = self.gives(1, "merge", whole, "-o", self.path("all.json"))
        self.assertIn("1 of 4 cells failed; the first: ", err)
        self.assertIn("signal 11", err)

    def test_missing_points_are_3_and_with_partial_a_result_that_is_not_valid(self):
        arguments = ("merge", self.shard(1), "-o", self.path("all.json"))
        _, err = self.gives(3, *arguments)
        self.assertIn("1 of 2 points are missing; shard 0/2 is missing", err)
        with self.assertRaises(FileNotFoundError):
            self.merged()
        out, _ = self.gives(0, *arguments, "--partial")
        self.assertIn("INVALID: 1 of 2 points are missing", out)
        document = self.merged()
        validate(document, "sweep")
        self.assertFalse(document["context"]["valid"])

    def test_points_of_two_files_and_parts_of_other_runs_are_refused(self):
        out = ("-o", self.path("all.json"))
        self.refused(("merge", self.a, self.shard(0), *out), "shard0.json: has point",
                     "a.json has too")
        other = self.changed("other.json", self.result,
                             lambda d: d["context"].update(build_id="another"))
        self.refused(("merge", self.shard(1), other, *out), "other.json: is no part",
                     "build_id")


if __name__ == "__main__":
    unittest.main()
