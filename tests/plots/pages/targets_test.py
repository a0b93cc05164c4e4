"""Guards against a table of targets that says more than was measured: a wrong pair
of cells, an interval too narrow, a target missed that reads as met, a file that is
not there."""

import contextlib
import glob
import io
import itertools
import json
import math
import os
import subprocess
import tempfile
import unittest

import jsonschema
import pandas
import known_effects
import made_up
from attnbench.analysis import ROOT, load, measures, settings
from attnbench.judge import claims, ledger
from attnbench.judge.readings import Document
from documents import validate
from pages import targets

PROGRAM = os.environ["ATTNBENCH"]

CONTEXT = made_up.make_document([])["context"]
SOFT = {"mechanism": "soft", "variant": "exact", "memory_length": 100}
# Rounds of a machine that is twice as slow now and then: only pairs tell.
ROUNDS = [1000, 2000, 1000, 2000, 1000, 2000]


KINDS = {"ratio": "speed_over", "mean": "mean_speed_over", "growth": "time_over",
         "peak_memory": "bytes_over", "bandwidth": "bandwidth_share"}


def ledger_of(*wanted):
    """A ledger with a part for each {"work", "result", "cell", "measure", ...}."""
    parts = []
    for target in wanted:
        kind = target["measure"]
        quantity = {"kind": KINDS.get(kind, kind), "from": target["result"],
                    "of": target["cell"]}
        quantity |= {key: target[key] for key in
                     ("to", "moves", "without_preparation", "beside", "among")
                     if key in target}
        part = {"name": target["work"], "role": "beside", "unit": "ratio",
                "quantity": quantity}
        for key in ("at_least", "at_most"):
            if key in target:
                part.update(role="claim", rule={"kind": key, "bound": target[key]})
        parts.append(part)
    return {"schema_version": 1,
            "measurements": {target["result"]: {"kind": "sweep", "experiment": "x"}
                             for target in wanted},
            "claims": [{"id": "target-x", "source": "Target", "claim": "It is fast.",
                        "parts": parts}]}


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


class TableTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name
        known_effects.use(self)

    def write(self, name, document):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        return path


class TargetsTest(TableTest):
    def run_main(self, target, measured, *arguments, context=None):
        document = made_up.make_document(measured)
        document["context"].update(context or {})
        target = {"work": "work", "result": "x", "cell": SOFT, **target}
        out, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            status = targets.main([
                self.write("x.json", document), "--targets",
                self.write("targets.json", ledger_of(target)), *arguments])
        self.assertEqual(status, 2 if error.getvalue() else 0)
        return error.getvalue() or out.getvalue()

    def row(self, target, measured, **keywords):
        """The fields of the one row."""
        lines = self.run_main(target, measured, **keywords).splitlines()
        self.assertTrue(lines[4].startswith("| work | "), lines)
        return [field.strip() for field in lines[4].split("|")[2:-1]]

    def test_a_ratio_is_of_pairs_and_of_the_framework_over_ours(self):
        target = {"measure": "ratio", "to": {"variant": "framework"}, "at_least": 2}
        self.assertEqual(
            self.row(target, cells()),
            ["≥ 2x framework", "3.0x", "met", "–", "2.83 ns per energy"])
        self.assertEqual(self.row({**target, "at_least": 4}, cells())[2], "missed")

    def test_a_verdict_is_of_the_row_and_of_a_target_that_is_easier(self):
        # The logarithms' quartiles are ln(1.25) apart: 4 exp(-+ 2.5019 * 0.06279).
        measured = [cell(samples_ns=[1000] * 12), cell(variant="framework", samples_ns=[
            1000 * k for k in (3, 3.6, 4, 4, 4.5, 9) for _ in range(2)])]
        target = {"measure": "ratio", "to": {"variant": "framework"}}
        for bound, said in (
            ({"at_least": 3}, "met"), ({"at_least": 3.6}, "met within 10 %"),
            ({"at_least": 4}, "open"), ({"at_least": 4.95}, "missed"),
            ({"at_most": 5}, "met"), ({"at_most": 4.4}, "met within 10 %"),
            ({"at_most": 4}, "open"), ({"at_most": 3}, "missed"), ({}, "–"),
        ):
            fields = self.row({**target, **bound}, measured)
            self.assertEqual(fields[1:3], ["4.0x [3.4, 4.7]", said], bound)

    def test_one_round_has_no_interval_and_decides_nothing(self):
        target = {"measure": "ratio", "to": {"variant": "framework"}}
        measured = [cell(samples_ns=[1000]),
                    cell(variant="framework", samples_ns=[3000])]
        for bound in ({"at_least": 2}, {"at_most": 2}, {"at_least": 4}):
            self.assertEqual(self.row({**target, **bound}, measured)[1:3],
                             ["3.0x, no interval", "open"])
        self.assertEqual(
            self.row({"measure": "growth", "to": {"variant": "framework"},
                      "at_most": 2}, measured)[1:3],
            ["0.33x, no interval", "open"])
        self.assertEqual(
            self.row({"measure": "ns_per_entry", "at_most": 4}, measured)[1:3],
            ["2, no interval", "open"])

    def test_verdicts_are_counted_and_with_them_those_that_chance_gives(self):
        known_effects.use(self, s_run=0.1)
        path = self.write("x.json", made_up.make_document(cells(peak_memory_bytes=1)))
        target = {"measure": "ratio", "to": {"variant": "framework"}, "work": "work",
                  "result": "x", "cell": SOFT}
        elsewhere = {"result": "y", "at_least": 2}
        exact = {"measure": "peak_memory", "at_most": 2}
        wanted = [{"at_least": n} for n in (1, 2, 2.5, 3, 4)]
        wanted += [exact, elsewhere, elsewhere, {"result": "y"}, {}]
        table = targets.table(ledger_of(*({**target, **one} for one in wanted)), [path])
        self.assertRegex(
            table, "^Framework: not measured. Commit 0123456789; An Invented Processor 3000 "
            "@ 2.50GHz, AVX2; .* Warnings of all results: 0. 8 rows have a target: 3 met, "
            "1 met within 10 %, 1 missed, 1 open, 2 not measured. 5 of them have an interval, "
            "each about a 95 % one, so about 0.25 false verdicts are to be expected, if ")

    def test_one_round_gives_no_verdict_that_could_be_false(self):
        path = self.write("x.json", made_up.make_document(
            [cell(samples_ns=[1000]), cell(variant="framework", samples_ns=[3000])]))
        target = {"measure": "ratio", "to": {"variant": "framework"}, "work": "work",
                  "result": "x", "cell": SOFT, "at_least": 2}
        self.assertIn("1 open. 0 of them have an interval",
                      targets.table(ledger_of(target), [path]))

    def test_the_effects_are_those_of_what_is_measured(self):
        def width(target, *changes):
            known_effects.use(self, s_run=0.1)
            said = self.row(target, cells(*changes))[1]
            return tuple(map(float, said.split("[")[1].split("]")[0].split(", ")))
        # t with 10 degrees is 2.228: a tenth of a ratio, and of a time.
        self.assertEqual(width({"measure": "ratio", "to": {"variant": "framework"}}, 300),
                         (240, 375))
        low, high = width({"measure": "ns_per_entry"})
        self.assertLess(low, 2.83 * 0.8)

    def test_many_speeds_have_one_mean_and_the_least_is_told(self):
        measured = []
        for mechanism, mode, speed in (("soft", "decode", 2), ("soft", "expect", 1),
                                       ("mocha", "decode", 4)):
            for threads, time_ns in ((1, 1000 * speed), (2, 1000)):
                measured.append(made_up.make_cell(
                    mechanism, 8, 8, mode=mode, threads=threads, time_ns=float(time_ns)))
        target = {"measure": "mean", "cell": {"threads": 2}, "to": {"threads": 1},
                  "at_least": 1.8, "among": [
                      {"mechanism": "soft", "mode": "decode"}, {"mode": "expect"},
                      {"mechanism": "mocha"}]}
        self.assertEqual(self.row(target, measured), [
            "≥ 1.8x the speed at j = 1",
            "2.0x, the least 1.00x: soft, expect", "met", "–", "–"])
        made_up.stop(measured[-1], "error", "no such thing")
        self.assertEqual(self.row(target, measured)[1:3], ["error: no such thing", "missed"])

    def test_the_error_of_a_mean_is_that_of_a_mean(self):
        known_effects.use(self, s_run=0.1)
        measured = [made_up.make_cell(mechanism, 8, 8, threads=threads, time_ns=1e3 * ns)
                    for mechanism in ("soft", "mocha", "matcha", "memory")
                    for threads, ns in ((1, 100.0), (2, 1.0))]
        among = [{"mechanism": name} for name in ("soft", "mocha", "matcha", "memory")]
        target = {"measure": "mean", "cell": {"threads": 2}, "to": {"threads": 1},
                  "among": among}
        # Of four with a tenth each: 100 exp(2.228 * 0.1 / 2).
        self.assertTrue(self.row(target, measured)[1].startswith("100x [89, 112]"))

    def test_rounds_that_cannot_be_paired_are_an_error(self):
        target = {"measure": "ratio", "to": {"variant": "framework"}}
        for changes, message in (
            ({"samples_ns": [1000] * 4}, "has 6 samples, that of soft, framework has 4"),
            ({"processes": 2}, "has 1 processes, that of soft, framework has 2"),
        ):
            said = self.run_main(target, [cell(), cell(variant="framework", **changes)])
            self.assertIn(message, said)
            self.assertIn("rounds cannot be paired", said)

    def test_the_other_scope_stands_beside(self):
        measured = [*cells(mode="expect", scope="attention"),
                    *cells(5, mode="expect", scope="full")]
        target = {"cell": {**SOFT, "scope": "attention"}, "measure": "ratio",
                  "to": {"variant": "framework"}, "beside": {"scope": "full"}}
        fields = self.row(target, measured)
        self.assertEqual([fields[1], fields[3], fields[4]],
                         ["3.0x", "5.0x", "1.41 ns per element"])

    def test_the_other_scope_says_its_lengths_where_they_are_others(self):
        measured = cells(mode="expect", scope="attention")
        for variant, time_ns in (("exact", 1000), ("framework", 7000)):
            measured.append(made_up.make_cell(
                "soft", 8, 4, mode="expect", scope="full", variant=variant,
                time_ns=time_ns))
        target = {"cell": {"variant": "exact", "scope": "attention"},
                  "measure": "ratio", "to": {"variant": "framework"},
                  "beside": {"scope": "full"}}
        self.assertEqual(self.row(target, measured)[3], "7.0x at T = 8, U = 4")

    def test_growth_stands_beside_growth(self):
        measured = [cell(mode="expect", scope=scope, chunk_width=width,
                         samples_ns=[time_ns] * 6)
                    for scope, width, time_ns in (
                        ("attention", 4, 100), ("attention", 8, 200),
                        ("full", 4, 100), ("full", 8, 500))]
        target = {"cell": {"scope": "attention", "chunk_width": 8},
                  "measure": "growth", "to": {"chunk_width": 4},
                  "beside": {"scope": "full"}}
        fields = self.row(target, measured)
        self.assertEqual([fields[1], fields[3]], ["2.0x", "5.0x"])

    def test_the_text_of_a_target_names_axes_of_its_cell(self):
        target = {"measure": "ratio", "to": {"variant": "framework"}}
        said = self.run_main({**target, "work": "T = {memory_length}"}, cells())
        self.assertIn("| T = 100 | (framework) |", said)
        self.assertIn("a cell has no length",
                      self.run_main({**target, "work": "{length}"}, cells()))

    def test_the_other_program_is_said_with_its_precision_and_end(self):
        other = cell(variant="published_O3", precision="f64", end="stay_last")
        target = {"measure": "ratio", "cell": {"precision": "f32"}, "to": {
            "variant": "published_O3", "precision": "f64", "end": "stay_last"}}
        self.assertEqual(self.row(target, [cell(end="absorb"), other])[0],
                         "(`published_O3` (f64, stay_last))")

    def test_preparation_is_left_out_where_the_target_says_so(self):
        # 1000 or 2000 in turn, and the preparation of the same round.
        measured = [cell(prepare_ns=500, prepare_samples_ns=[500, 1500] * 3),
                    cell(variant="framework", prepare_ns=0)]
        target = {"measure": "ratio", "to": {"variant": "framework"},
                  "without_preparation": True}
        fields = self.row(target, measured)
        # 1000 / 500 and 2000 / 500 in turn.
        self.assertTrue(fields[1].startswith("2.8x ["), fields)
        self.assertEqual(fields[4], "1 ns per energy")
        measured[0]["prepare_samples_ns"] = [1000] * 6
        self.assertEqual(self.row(target, measured)[1], "preparation takes all of the time")
        measured[0]["prepare_samples_ns"] = []
        self.assertEqual(self.row(target, measured)[1],
                         "the result has no prepare_samples_ns")
        del target["without_preparation"]
        self.assertEqual(self.row(target, measured)[1], "1.0x")

    def test_preparation_is_of_every_process(self):
        measured = [cell(samples_ns=[1000.0] * 6, processes=6, prepare_ns=350,
                         prepare_samples_ns=[100] * 23)]
        self.assertIn("equally many of each of 6 processes",
                      self.run_main({"measure": "ns_per_entry"}, measured))

    def test_cells_of_two_points_are_not_paired(self):
        # Their rounds vary together, but were not the same: both errors of 0.2909 count.
        other = made_up.make_cell("soft", 200, 10, samples_ns=ROUNDS)
        target = {"measure": "growth", "to": {"memory_length": "greatest"}}
        self.assertEqual(self.row(target, [cell(), other])[:2],
                         ["(the time at the greatest T)", "1.0x [0.35, 2.9]"])

    def test_growth_is_ours_over_the_other(self):
        wide = cell(chunk_width=8, samples_ns=[3 * ns for ns in ROUNDS])
        target = {"cell": {"chunk_width": 8}, "measure": "growth",
                  "to": {"chunk_width": 4}, "at_most": 2}
        self.assertEqual(self.row(target, [cell(chunk_width=4), wide])[:3],
                         ["≤ 2x the time at w = 4", "3.0x", "missed"])

    def test_times_and_bytes(self):
        measured = [cell(samples_ns=[2000] * 6, peak_memory_bytes=10)]
        self.assertEqual(
            self.row({"measure": "ns_per_entry", "at_most": 4.1}, measured)[1:3],
            ["4 [4, 4]", "met"])
        measured.append(cell(variant="parallel", peak_memory_bytes=4))
        self.assertEqual(
            self.row({"measure": "peak_memory", "to": {"variant": "parallel"},
                      "at_most": 2.1}, measured)[1:3], ["2.5x", "missed"])

    def share(self, of, measured, precision="f32", threads=1, say=None):
        """The fields of a share of the bandwidth of a made-up machine: L1 of 4 KiB
        with 8 bytes/ns, L2 of 64 KiB with 4, DRAM with 1; copies half of that.
        """
        say = say or self.row
        levels = (("L1", 4096, 8e9), ("L2", 65536, 4e9), ("DRAM", None, 1e9))
        limits = made_up.limits(levels, precision, threads)
        return say(
            {"cell": {"variant": "exact"}, "measure": "bandwidth", "moves": of,
             "at_least": 0.6}, [measured], context={"limits": [limits]})

    def test_a_share_is_of_the_smallest_level_that_holds_what_is_read(self):
        # T d numbers of 4 bytes for each of 10 outputs, in 10240 ns.
        for length, share in ((16, "0.5 [0.5, 0.5] of L1 (4 KiB)"),
                              (17, "1.06 [1.06, 1.06] of L2 (4 KiB)"),
                              (256, "16 [16, 16] of L2 (64 KiB)"),
                              (512, "128 [128, 128] of DRAM (128 KiB)")):
            measured = made_up.make_cell("soft", length, 10, dim=64, time_ns=10240)
            self.assertEqual(self.share("memory", measured)[1], share)

    def test_a_share_counts_what_its_name_says(self):
        # K d twice for each of 10 outputs.
        measured = made_up.make_cell("memory", 1000, 10, num_contexts=4, dim=64,
                                     time_ns=5120)
        self.assertEqual(self.share("contexts", measured)[:3],
                         ["≥ 0.6 of reading 2 K d an output",
                          "0.5 [0.5, 0.5] of L1 (2 KiB)", "missed"])
        # U T read and U T written, by the copy bandwidth, which has both.
        measured = made_up.make_cell("monotonic", 256, 16, time_ns=16384)
        self.assertEqual(self.share("alpha", measured)[:3],
                         ["≥ 0.6 of copying p to alpha",
                          "1 [1, 1] of L2 (32 KiB)", "met"])
        measured = made_up.make_cell("monotonic", 256, 16, time_ns=16384,
                                     precision="f64")
        self.assertEqual(self.share("alpha", measured, "f64")[1],
                         "2 [2, 2] of L2 (64 KiB)")

    def test_the_error_of_a_bandwidth_is_in_a_share_of_it(self):
        measured = made_up.make_cell("soft", 16, 10, dim=64, time_ns=10240)
        quantity = {"kind": "bandwidth_share", "of": {"variant": "exact"}, "moves": "memory"}
        # Of two rates 1 and exp(0.02) the mean's error is 0.01, and t is 12.7062.
        for key, half in (("read", 0.127062), ("copy", 0)):
            document = made_up.make_document([measured])
            limits = made_up.limits((("L1", 4096, 8e9),))
            limits["levels"][0][f"{key}_samples"] = [8e9, 8e9 * math.exp(0.02)]
            document["context"]["limits"] = [limits]
            _, found = measures.measure(quantity, load.cells_of(document, "x"))
            self.assertAlmostEqual(found.span.low, 0.5 * math.exp(-half))
            self.assertAlmostEqual(found.span.high, 0.5 * math.exp(half))

    def test_a_share_wants_limits_of_its_precision_and_threads(self):
        measured = made_up.make_cell("soft", 16, 10, dim=64)
        for limits in ({"precision": "f64"}, {"threads": 2}):
            self.assertEqual(self.share("memory", measured, **limits)[1:3],
                             ["the result has no limits", "missed"])
        measured["batch"] = 2
        self.assertIn("batch is 2",
                      self.share("memory", measured, say=self.run_main))

    def test_what_was_not_measured_is_not_met(self):
        target = {"measure": "ratio", "to": {"variant": "framework"}, "at_least": 2}
        measured = cells()
        made_up.stop(measured[1], "error", "no such thing")
        self.assertEqual(self.row(target, measured)[1:3],
                         ["error: no such thing", "missed"])
        self.assertEqual(
            self.row({"measure": "bandwidth", "moves": "memory", "at_least": 0.1},
                     cells())[1:3], ["the result has no limits", "missed"])

    def test_rows_of_a_file_that_is_not_given_are_not_measured(self):
        target = {"measure": "ratio", "to": {"variant": "framework"}, "result": "y"}
        self.assertEqual(
            self.row({**target, "at_least": 2}, cells())[:3],
            ["≥ 2x framework", "not measured", "not measured"])
        self.assertEqual(self.row(target, cells())[:3],
                         ["(framework)", "not measured", "–"])

    def test_a_missing_cell_is_said_and_nothing_is_printed(self):
        target = {"measure": "ratio", "to": {"variant": "framework"}}
        self.assertIn("cell missing: ", self.run_main(target, [cell()]))
        self.assertIn("there 2 times: ", self.run_main(target, [cell(), *cells()]))

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


class LedgerTest(unittest.TestCase):
    def test_targets_are_judged_as_claims_are(self):
        document = Document("x", "x.json", made_up.make_document(cells(3)))
        target = {"work": "x", "result": "x", "cell": SOFT, "measure": "ratio",
                  "to": {"variant": "framework"}}
        for bound, said in (({"at_least": 2}, "holds"), ({"at_least": 4}, "not reproduced here"),
                            ({"at_least": 2.9}, "undecided")):
            (claim,) = ledger_of({**target, **bound})["claims"]
            claim = {**claim, "kind": "cost", "conditions": "ours"}
            made = claims.result([claim], {"x": document}, CONTEXT)
            (judged,) = made["claims"]
            self.assertEqual(judged["verdict"].partition(": ")[0], said)
            self.assertEqual(judged["evidence"], [
                {"measurement": "x", "file": "x.json", "point": made_up.POINT,
                 "place": "cells[0]"}])

    def test_a_target_needs_no_paper_and_a_claim_does(self):
        document = load.read_json(targets.TARGETS)
        validate(document, "claims_ledger")
        document["claims"][0].update(source="MAD 2.2")
        with self.assertRaises(jsonschema.ValidationError):
            validate(document, "claims_ledger")


class ExperimentsTest(unittest.TestCase):
    """The targets of experiments/peers/targets.json, and what is measured."""

    @classmethod
    def setUpClass(cls):
        listed = json.loads(subprocess.run(
            [PROGRAM, "list", "--json"], check=True, capture_output=True).stdout)
        cls.axes = listed["axes"]
        cls.declared = {m["name"]: m["axes"] for m in listed["mechanisms"]}
        folder = os.path.join(ROOT, "experiments")
        paths = [path for pattern in ("*.json", "peers/*.json")
                 for path in glob.glob(os.path.join(folder, pattern))
                 if path != targets.TARGETS]
        documents = {path: load.read_json(path) for path in paths}
        cls.paths = {document["name"]: path for path, document in documents.items()
                     if "name" in document}

    def cells(self, name, profile):
        """The cells of an experiment, made up, all axes crossed."""
        document = load.read_json(self.paths[name])
        changes = document["profiles"][profile] if profile else {}
        axes = {**document["axes"], **changes.get("axes", {})}
        crossed = []
        for alternative in changes.get("alternatives", document["alternatives"]):
            given = {key: value if isinstance(value, list) else [value]
                     for key, value in {**axes, **alternative}.items()}
            for values in itertools.product(*given.values()):
                crossed.append(self.cell(dict(zip(given, values))))
        return crossed

    def cell(self, given):
        mechanism = given.pop("mechanism")
        training = given.get("mode", "decode") != "decode"
        for axis in self.axes:
            default = axis["training_default" if training else "default"]
            if axis["declared"] and axis["name"] not in self.declared[mechanism]:
                given[axis["name"]] = None
            elif default.isdecimal():
                given.setdefault(axis["name"], int(default))
            else:
                given.setdefault(axis["name"], default)
        if given["output_length"] == "=T":
            given["output_length"] = given["memory_length"]
        return made_up.make_cell(mechanism, prepare_samples_ns=[0],
                                 peak_memory_bytes=1, **given)

    def compared(self, frame):
        """The cells as rows of a comparison."""
        rows = [{**row, "ratio": 1.0, "interval": [0.9, 1.1], "b_ns": 1.0}
                for row in frame.to_dict("records")]
        made = pandas.DataFrame(rows)
        made.attrs.update(frame.attrs)
        return made

    def test_the_axes_are_crossed_as_the_program_does(self):
        for quick in ([], ["--quick"]):
            shown = json.loads(subprocess.run(
                [PROGRAM, "run-sweep", self.paths["threads"], "--dry-run", "--json",
                 *quick], check=True, capture_output=True).stdout)
            self.assertEqual(len(self.cells("threads", "quick" if quick else None)),
                             shown["num_cells"])

    def test_letters_of_axes_are_those_of_the_program(self):
        self.assertEqual(
            settings.LETTERS,
            {axis["name"]: axis["letter"] for axis in self.axes if axis["letter"]})

    def test_every_target_finds_its_cells_in_its_experiment(self):
        wanted = targets.parts(ledger.read(targets.TARGETS))
        self.assertGreater(len(wanted), 20)
        for profile in (None, "quick"):
            frames = {}
            for target in wanted:
                name = target["quantity"]["from"]
                with self.subTest(target=target, profile=profile):
                    if name not in frames:
                        frames[name] = load.cells_of(made_up.make_document(
                            self.cells(name, profile)), name)
                        if name == "kernels_again":
                            frames[name] = self.compared(frames[name])
                    fields, _ = targets.row(target, frames[name])
                    self.assertNotIn("{", "".join(fields))
                    if profile is None:
                        self.assertNotIn("not measured", fields[2])


if __name__ == "__main__":
    unittest.main()
