"""Guards against a table of targets, or a figure of peers, that says more than was
measured: a wrong pair of cells, a target missed that reads as met, a file that is
not there."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "plots"), os.path.join(ROOT, "tests", "plots")]

import load  # noqa: E402
import made_up  # noqa: E402
import targets  # noqa: E402
from figures import FIGURES, peers  # noqa: E402

SOFT = {"mechanism": "soft", "variant": "exact", "memory_length": 100}
# Rounds of a machine that is twice as slow now and then: only pairs tell.
ROUNDS = [1000, 2000, 1000, 2000, 1000, 2000]


def cell(**changes):
    changes.setdefault("samples_ns", ROUNDS)
    return made_up.make_cell(
        "soft", 100, 10, **{"operations": {"energies": 500}, **changes}
    )


def cells(framework=3, **changes):
    """Ours, and a framework that takes so many times as long."""
    slower = [framework * ns for ns in ROUNDS]
    return [cell(**changes),
            cell(variant="framework", samples_ns=slower, **changes)]


class TargetsTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def write(self, name, document):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        return path

    def run_main(self, target, measured, *arguments, context=None):
        document = made_up.make_document(measured)
        document["context"].update(context or {})
        target = {"work": "work", "experiment": "x", "cell": SOFT, **target}
        out, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            status = targets.main([
                self.write("peers_x.json", document), "--targets",
                self.write("targets.json", {"targets": [target]}), *arguments])
        self.assertEqual(status, 2 if error.getvalue() else 0)
        return error.getvalue() or out.getvalue()

    def row(self, target, measured, **keywords):
        """The fields of the one row."""
        lines = self.run_main(target, measured, **keywords).splitlines()
        self.assertTrue(lines[2].startswith("| work | "), lines)
        return [field.strip() for field in lines[2].split("|")[2:-1]]

    def test_a_ratio_is_of_pairs_and_of_the_framework_over_ours(self):
        target = {"measure": "ratio", "to": {"variant": "framework"}, "at_least": 2}
        self.assertEqual(
            self.row(target, cells()),
            ["≥ 2x framework", "3.0x", "yes", "–", "4 ns per energy"])
        self.assertEqual(self.row({**target, "at_least": 4}, cells())[2], "no")

    def test_an_interval_that_holds_the_target_is_unclear(self):
        measured = cells()
        measured[1]["samples_ns"] = [ns * k for ns, k in
                                     zip(ROUNDS, (1, 1, 2, 4, 5, 5))]
        target = {"measure": "ratio", "to": {"variant": "framework"}}
        for bound, met in (
            ({"at_least": 2}, "unclear"), ({"at_least": 1}, "yes"),
            ({"at_least": 6}, "no"), ({"at_most": 2}, "unclear"),
            ({"at_most": 5}, "yes"), ({"at_most": 0.5}, "no"), ({}, "–"),
        ):
            fields = self.row({**target, **bound}, measured)
            self.assertEqual(fields[1:3], ["3.0x [1.0, 5.0]", met])

    def test_the_other_scope_stands_beside(self):
        measured = [*cells(mode="expect", scope="attention"),
                    *cells(5, mode="expect", scope="full")]
        target = {"cell": {**SOFT, "scope": "attention"}, "measure": "ratio",
                  "to": {"variant": "framework"}, "beside": {"scope": "full"}}
        fields = self.row(target, measured)
        self.assertEqual([fields[1], fields[3], fields[4]],
                         ["3.0x", "5.0x", "2 ns per element"])

    def test_preparation_is_left_out_where_the_target_says_so(self):
        measured = [cell(prepare_ns=500),
                    cell(variant="framework", prepare_ns=0)]
        target = {"measure": "ratio", "to": {"variant": "framework"},
                  "without_preparation": True}
        # 1000 / 500 and 2000 / 1500 in turn.
        self.assertEqual(self.row(target, measured)[1], "1.7x [1.3, 2.0]")
        measured[0]["prepare_ns"] = 1000
        self.assertIn("preparation takes", self.row(target, measured)[1])

    def test_cells_of_two_points_are_not_paired(self):
        other = made_up.make_cell("soft", 200, 10, samples_ns=ROUNDS)
        target = {"measure": "growth", "to": {"memory_length": "greatest"}}
        self.assertEqual(self.row(target, [cell(), other])[:2],
                         ["(the time at the greatest T)", "1.0x [0.50, 2.0]"])

    def test_growth_is_ours_over_the_other(self):
        wide = cell(chunk_width=8, samples_ns=[3 * ns for ns in ROUNDS])
        target = {"cell": {"chunk_width": 8}, "measure": "growth",
                  "to": {"chunk_width": 4}, "at_most": 2}
        self.assertEqual(self.row(target, [cell(chunk_width=4), wide])[:3],
                         ["≤ 2x the time at w = 4", "3.0x", "no"])

    def test_times_limits_and_bytes(self):
        limited = [cell(limit={"limit_ns": 500}, peak_memory_bytes=10)]
        self.assertEqual(
            self.row({"measure": "limit", "at_least": 0.2}, limited)[:3],
            ["≥ 0.2 of the machine's limit", "0.375 [0.25, 0.5]", "yes"])
        self.assertEqual(
            self.row({"measure": "ns_per_entry", "at_most": 4}, limited)[1:3],
            ["4 [2, 4]", "yes"])
        limited.append(cell(variant="other", peak_memory_bytes=4))
        self.assertEqual(
            self.row({"measure": "peak_memory", "to": {"variant": "other"},
                      "at_most": 2.1}, limited)[1:3], ["2.5x", "no"])

    def test_reading_the_contexts_takes_the_bandwidth_of_the_level(self):
        # 2 K d numbers of 4 bytes for each of 10 outputs, at 2 bytes/ns.
        memory = made_up.make_cell("memory", 100, 10, samples_ns=[20480] * 6,
                                   num_contexts=4, dim=256, prepare_ns=0)
        level = {"name": "L2", "read_bytes_per_s": 2e9}
        limits = {"precision": "f32", "threads": 1, "levels": [level]}
        target = {"cell": {"mechanism": "memory"}, "at_least": 0.6, "level": "L2",
                  "measure": "read_of_contexts"}
        self.assertEqual(
            self.row(target, [memory], context={"limits": [limits]})[1:3],
            ["2 [2, 2]", "yes"])
        self.assertEqual(self.row(target, [memory])[1:3],
                         ["the result has no limits", "no"])

    def test_what_was_not_measured_is_not_met(self):
        target = {"measure": "ratio", "to": {"variant": "framework"}, "at_least": 2}
        measured = cells()
        made_up.stop(measured[1], "error", "no such thing")
        self.assertEqual(self.row(target, measured)[1:3],
                         ["error: no such thing", "no"])
        self.assertEqual(self.row({"measure": "limit", "at_least": 0.1}, cells())[1:3],
                         ["the result has no limits", "no"])

    def test_a_missing_cell_or_file_is_said_and_nothing_is_printed(self):
        target = {"measure": "ratio", "to": {"variant": "framework"}}
        self.assertIn("cell missing: ", self.run_main(target, [cell()]))
        self.assertIn("there 2 times: ", self.run_main(target, [cell(), *cells()]))
        self.assertIn("there is no peers_y.json",
                      self.run_main({**target, "experiment": "y"}, cells()))

    def test_a_page_gets_the_table_between_its_two_lines(self):
        target = {"measure": "ratio", "to": {"variant": "framework"}}
        page = self.write("page.md", None)
        for text, wanted in ((f"a\n{targets.BEGIN}old\n{targets.END}b\n", ""),
                             ("no lines\n", "<!-- targets -->")):
            with open(page, "w", encoding="utf-8") as file:
                file.write(text)
            said = self.run_main(target, cells(), "--into", page)
            self.assertIn(wanted, said)
        with open(page, "w", encoding="utf-8") as file:
            file.write(f"a\n{targets.BEGIN}old\n{targets.END}b\n")
        self.run_main(target, cells(), "--into", page)
        with open(page, encoding="utf-8") as file:
            written = file.read()
        table = self.run_main(target, cells())
        self.assertEqual(written, f"a\n{targets.BEGIN}{table}{targets.END}b\n")

    def test_the_targets_name_experiments_and_cells_that_are_there(self):
        folder = os.path.join(ROOT, "experiments", "peers")
        for target in load.read_json(targets.TARGETS)["targets"]:
            path = os.path.join(folder, target["experiment"] + ".json")
            self.assertEqual(load.read_json(path)["name"],
                             "peers_" + target["experiment"])
            self.assertIn(target["measure"], targets.MEASURES)


class PeersFigureTest(unittest.TestCase):
    def frame(self, changed=()):
        measured = []
        for mode in ("decode", "expect"):
            for length in (10, 100, 1000):
                for variant, time_ns in (("exact", 100), ("framework", 3 * length)):
                    measured.append(made_up.make_cell(
                        "soft", length, 8, mode=mode, variant=variant,
                        time_ns=float(time_ns)))
        for index, changes in dict(changed).items():
            measured[index].update(changes)
        return load.cells_of(made_up.make_document(measured), "made-up.json")

    def test_a_line_is_their_time_over_ours(self):
        figure, lines = FIGURES["peers"].draw(self.frame())
        self.assertEqual(lines, [
            f"{mode}, T = 1000: framework / soft 30x [30, 30]"
            for mode in ("decode", "expect")])
        values = list(figure.axes[0].lines[0].get_ydata())
        self.assertEqual(values, [0.3, 3, 30])

    def test_only_a_file_with_both_is_meant_for_it(self):
        self.assertTrue(peers.has_data(self.frame()))
        ours = self.frame()
        self.assertFalse(peers.has_data(ours[ours["variant"] == "exact"]))

    def test_what_cannot_be_compared_is_refused(self):
        for changed, message in [
            ({0: {"memory_length": 11}}, "cells missing: exact beside"),
            ({1: {"samples_ns": [1.0] * 3}}, "rounds cannot be paired"),
            ({1: {"status": "invalid", "message": "wrong"}}, "is invalid: wrong"),
            ({0: {"scope": "attention"}}, "mixed data: scope of mode decode"),
        ]:
            with self.assertRaisesRegex(load.DataError, message):
                peers.draw(self.frame(changed))


if __name__ == "__main__":
    unittest.main()
