"""Guards against lengths at which a made-up machine would not be faster: its
coefficients must come back and give the crossings that follow from them, never
must be never, and a file that cannot tell them must not give a table."""

import contextlib
import io
import itertools
import math
import re
import unittest

import numpy
from made_up import make_decoder_cell, make_document, reads, stop
from made_up_crossover import A, ENERGY, OUTPUT, SCAN, cells, monotonic, soft
from plot_case import PlotTest

from attnbench.analysis import beam_cells, crossover, load
from pages import crossover_table

def frame(made):
    return load.cells_of(make_document(made), "r.json")


def models(made):
    chosen = crossover.select(frame(made))
    return {name: crossover.fit(group)
            for name, group in chosen.groupby("mechanism")}


BEAMS = (1, 4)
SOURCES = {8: [1, 7, 0], 32: [5, 27, 0], 64: [20, 44, 0], 128: [32, 96, 0],
           200: [50, 150, 0]}


def chosen_entries(share, length):
    """Of outputs 1 to `length`: the first entry after s (i - 1/2) - 1."""
    return [next(t for t in range(length) if t > share * (i - 0.5) - 1)
            for i in range(1, length + 1)]


def beam_counts(mechanism, share, length, beam, width=None):
    """(outputs, energies, chunk energies) of one source, one hypothesis at first."""
    outputs = 1 + length * beam
    if length == 0 or mechanism == "soft":
        return outputs, length * outputs, 0
    entries = chosen_entries(share, length)
    windows = [min(width or 0, t + 1) for t in (0, *entries)]
    return (outputs, outputs + beam * entries[-1],
            windows[0] + beam * sum(windows[1:]))


def beam_document(coefficients, shares=(1,), dims=(64,), width=8):
    """A result of whole decoders, mechanism -> (ns a source, an output, an energy, a
    chunk energy) at d = 64; in proportion to d.
    """
    made = []
    for number, (length, beam, share, dim) in enumerate(
            itertools.product(SOURCES, BEAMS, shares, dims)):
        sources = SOURCES[length]
        for mechanism, (source, output, energy, *chunk) in coefficients.items():
            chunk_width = width if mechanism == "mocha" else None
            outputs, energies, chunks = map(sum, zip(*(
                beam_counts(mechanism, share, n, beam, chunk_width) for n in sources)))
            ns = dim / 64 * (source * len(sources) + output * outputs
                             + energy * energies + sum(chunk) * chunks)
            cell = make_decoder_cell(
                mechanism, length, beam, dim=dim, chunk_width=chunk_width,
                workload=f"copy:{share:g}", samples_ns=[2 * ns] * 9,
                energy="additive", point=f"{number:016x}")
            cell["decoder"].update(
                source_lengths=sources, attention_median_ns=ns,
                attention_samples_ns=[ns * (1 + 1e-9 * r) for r in range(-4, 5)],
                reads=reads(share, 0.0, energies / outputs))
            made.append(cell)
    return make_document(made)


def least_length(is_faster):
    return next(t for t in range(1, 10**6) if is_faster(t))


class Models(unittest.TestCase):
    def test_coefficients_come_back(self):
        found = models(cells())
        self.assertEqual(found["soft"].names[-1], "energies")
        by_name = dict(zip(found["soft"].names, found["soft"].coefficients[0]))
        self.assertAlmostEqual(by_name["energies"], ENERGY, places=6)
        self.assertAlmostEqual(by_name["constant"], A, places=3)
        by_name = dict(zip(found["monotonic"].names,
                           found["monotonic"].coefficients[0]))
        self.assertAlmostEqual(by_name["energies"], SCAN, places=6)
        self.assertAlmostEqual(by_name["outputs"], OUTPUT, places=6)
        for model in found.values():
            self.assertLess(abs(model.largest_residual), 1e-6)

    def test_what_a_model_misses_is_told(self):
        made = cells(soft)
        for cell in made[:2]:  # half as long again as the rest says
            cell["samples_ns"] = [1.5 * ns for ns in cell["samples_ns"]]
            cell["median_ns"] *= 1.5
        model = models(made)["soft"]
        times = [c["median_ns"] for c in made]
        fitted = [model.coefficients[0] @ [
            {"constant": 1, "outputs": c["output_length"],
             "entries": c["memory_length"],
             "energies": c["operations"]["energies"]}[n] for n in model.names]
            for c in made]
        misses = [f / t - 1 for f, t in zip(fitted, times)]
        self.assertAlmostEqual(model.largest_residual, max(misses, key=abs))
        self.assertAlmostEqual(model.typical_residual,
                               math.sqrt(sum(m * m for m in misses) / len(misses)))
        self.assertGreater(model.typical_residual, 0.05)

    def test_rounds_that_are_far_apart_are_fitted(self):
        made = cells(monotonic, soft)
        for cell in made:
            cell["samples_ns"] = [cell["samples_ns"][0] * factor for factor in (1e-6, 1e6)]
        for _, model in models(made).items():
            self.assertTrue(numpy.isfinite(model.coefficients).all())

    def test_a_cost_below_zero_is_left_out(self):
        made = cells(soft)
        for cell in made:  # a time that falls with U: no such cost exists
            cell["samples_ns"] = [cell["samples_ns"][r] - 3.0 * cell["output_length"]
                                  for r in range(10)]
            cell["median_ns"] = float(numpy.median(cell["samples_ns"]))
        model = models(made)["soft"]
        self.assertTrue((model.coefficients[0] >= 0).all())
        self.assertNotIn("outputs", model.names)

    def test_counts_are_those_of_a_share_of_the_memory(self):
        model = models(cells())["mocha"]
        counts = crossover.counts_at(model, "mocha", 1000, 50, 0.5)
        self.assertEqual((counts["energies"], counts["chunk_energies"]), (550, 200))
        # A window is no longer than the memory.
        self.assertEqual(
            crossover.counts_at(model, "mocha", 3, 50, 0.5)["chunk_energies"], 150)
        adaptive = crossover.Model((), None, 0, 0, True, math.inf)
        self.assertEqual(crossover.counts_at(
            adaptive, "matcha", 1000, 50, 0.5)["chunk_energies"], 550)
        self.assertEqual(crossover.counts_at(
            model, "soft", 1000, 50, 0.5)["energies"], 50000)


class Crossings(unittest.TestCase):
    def crossing(self, outputs, share, speedup):
        found = models(cells())
        return crossover.crossovers(
            crossover.times_at(found["soft"], "soft", outputs, share),
            crossover.times_at(found["monotonic"], "monotonic", outputs, share),
            speedup)[0]

    def test_are_where_the_times_cross(self):
        for share in (0.0, 0.5, 1.0):
            for speedup in crossover.SPEEDUPS:
                expected = least_length(
                    lambda t: A + ENERGY * t * t >= (1 - 1e-9) * speedup
                    * (A + OUTPUT * t + SCAN * (share * t + t)))
                # Lengths are tried 1 percent apart.
                found = self.crossing(None, share, speedup)
                self.assertTrue(expected <= found <= math.ceil(1.011 * expected),
                                (share, speedup, expected, found))

    def test_a_speed_up_that_is_never_reached_is_never(self):
        # With U = 8 soft takes 80 ns an entry, a scan of everything 20.
        self.assertTrue(math.isinf(self.crossing(8, 1.0, 10)))
        self.assertFalse(math.isinf(self.crossing(8, 1.0, 2)))

    def test_a_mechanism_that_is_always_faster_is_so_from_the_first_entry(self):
        found = models(cells())
        soft_model = found["soft"]
        draws = len(soft_model.coefficients)
        cheap = crossover.Model(
            ("constant",), numpy.full((draws, 1), 1e-9), 0, 0, False, 1.0)
        crossing = crossover.crossovers(
            crossover.times_at(soft_model, "soft", None, 1.0),
            crossover.times_at(cheap, "mocha", None, 1.0), 10)
        self.assertEqual(set(crossing), {1.0})


class Table(PlotTest):
    def printed(self, *arguments):
        out = io.StringIO()
        err = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = crossover_table.main(list(arguments))
        return code, out.getvalue(), err.getvalue()

    def test_has_a_line_for_each_mechanism_size_and_share(self):
        made = cells() + [dict(c, dim=64) for c in cells()]
        page = self.folder / "page.md"
        page.write_text("a\n" + crossover_table.BEGIN + "old\n" + crossover_table.END + "b\n")
        code, out, _ = self.printed(self.write(make_document(made)), "--into",
                                    str(page), "--shares", "0.5,1")
        self.assertEqual(code, 0)
        rows = [line for line in out.splitlines() if line.startswith("| m")][1:]
        self.assertEqual(len(rows), 2 * (2 + 2 + 1))
        self.assertTrue(any(r.startswith("| mocha, w = 4 | 64 | – | 50 % |")
                            for r in rows))
        self.assertTrue(any(r.startswith("| memory, K = 32 | 256 | – | all |")
                            for r in rows))
        self.assertIn("U = T", out)
        self.assertEqual(page.read_text(),
                         "a\n" + crossover_table.BEGIN + out + crossover_table.END + "b\n")

    def test_its_head_names_energy_and_machine_first_and_counts_outputs_without_a_context(
            self):
        made = cells()
        first = self.printed(self.write(make_document(made)))[1].splitlines()[0]
        self.assertRegex(first, "^Attention alone, energy dot, on An Invented Processor "
                                "3000 @ 2.50GHz, AVX2: ")
        self.assertNotIn("have no context", first)
        scans = [cell for cell in made if cell["mechanism"] in ("monotonic", "mocha")]
        for cell, share in zip(scans, (0.96, 0.94, 0.0)):
            cell["numerics"] = {**cell["numerics"],
                                "attention_mass": share * cell["output_length"]}
        self.assertIn(f"In 2 of the {len(scans)} cells of scans over 5 % of the outputs have "
                      "no context", self.printed(self.write(make_document(made)))[1])

    def test_marks_what_was_not_measured_and_what_never_happens(self):
        path = self.write(make_document(cells()))
        out = self.printed(path, "--outputs", "8", "--shares", "1")[1]
        row = next(r for r in out.splitlines() if r.startswith("| monotonic"))
        self.assertIn("| never |", row)
        out = self.printed(path, "--shares", "1")[1]
        row = next(r for r in out.splitlines() if r.startswith("| memory"))
        self.assertRegex(row.split("|")[7], r"^ \d+†")

    def test_what_cannot_be_told_is_refused(self):
        def refused(made, *parts):
            code, out, err = self.printed(self.write(make_document(made)))
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
            for part in parts:
                self.assertIn(part, err)
        refused(cells(monotonic), "mechanism soft")
        refused([c for c in cells() if c["memory_length"] == 16], "memory_length")
        refused([c for c in cells() if c["output_length"] == 8], "output_length")
        refused([dict(c, mode="expect") for c in cells()], "mode decode")
        few = [dict(c, samples_ns=c["samples_ns"][:1]) for c in cells()]
        refused(few, "one round")
        lone = [c for c in cells() if c["mechanism"] != "mocha"
                or (c["memory_length"], c["workload"]) == (16, "uniform")]
        refused(lone, "2 cells of mocha")

    def test_beams_have_a_table_of_their_own(self):
        sweep = self.write(make_document(cells()))
        costs = {"soft": (300.0, 10.0, 40.0), "monotonic": (300.0, 900.0, 50.0),
                 "mocha": (300.0, 500.0, 50.0, 70.0)}
        made = beam_document(costs, shares=(0.25, 1), dims=(64, 8))
        for cell in made["cells"]:  # to tell one d from the other
            if cell["mechanism"] == "soft" and cell["dim"] == 8:
                own = cell["decoder"]
                own["attention_median_ns"] *= 3
                own["attention_samples_ns"] = [
                    3 * ns for ns in own["attention_samples_ns"]]
        beams = self.write(made, "beams.json")
        code, out, err = self.printed(sweep, beams, "--shares", "0,0.5,1")
        self.assertNotIn("Left out", out)
        self.assertEqual(code, 0, err)
        self.assertEqual(out.count("| mechanism | d | beam |"), 2)
        self.assertTrue(out.startswith(self.printed(sweep, "--shares", "0,0.5,1")[1]))
        self.assertIn("T from 1 to 150, scans of 25 % and 100 % of the memory)", out)
        for name, dim, beam, share in itertools.product(
                ("monotonic", "mocha"), (64, 8), BEAMS, (0.5, 1)):
            label, width = ("mocha, w = 8", 8) if name == "mocha" else (name, None)
            row = next(r for r in out.splitlines() if r.startswith(
                f"| {label} | {dim} | {beam} | {100 * share:g} % |"))
            source, output, energy, *chunk = costs[name]

            def is_faster(t, *of):
                beam, share, times = of
                outputs, energies, _ = beam_counts("soft", share, t, beam)
                soft_ns = times * (300 + 10 * outputs + 40 * energies)
                outputs, energies, chunks = beam_counts(name, share, t, beam, width)
                return soft_ns >= (1 - 1e-6) * 2 * (
                    source + output * outputs + energy * energies + sum(chunk) * chunks)
            found = int(row.split("|")[6].split("[")[0])
            expected = least_length(
                lambda t: is_faster(t, beam, share, 3 if dim == 8 else 1))
            self.assertTrue(expected <= found <= math.ceil(1.011 * expected),
                            (name, dim, beam, share, expected, found))

    def test_scans_of_one_share_of_the_memory_tell_of_no_other(self):
        costs = {"soft": (300.0, 10.0, 40.0), "monotonic": (300.0, 900.0, 50.0)}
        for shares, texts in (((1,), ["100 %"]), ((0.5,), ["50 %"]),
                              ((0.99, 1), ["99 %", "100 %"])):
            out = self.printed(self.write(beam_document(costs, shares=shares)))[1]
            told = [r.split("|")[4].strip() for r in out.splitlines()
                    if r.startswith("| monotonic")]
            self.assertEqual(told, texts * len(BEAMS))

    def test_windows_end_at_the_entries_that_are_planted(self):
        def of(width, share, length, beam):
            return beam_cells.chunk_energies(width, share, length, beam)
        self.assertEqual(of(4, 1, 0, 5), 0)
        # Outputs choose entries 0; 0, 1, 2, 3, 4.
        self.assertEqual(of(3, 1, 5, 1), 1 + (1 + 2 + 3 + 3 + 3))
        self.assertEqual(of(3, 1, 5, 2), 1 + 2 * (1 + 2 + 3 + 3 + 3))
        # ... and 0; 0, 0, 1, 1, 2.
        self.assertEqual(of(2, 0.5, 5, 1), 1 + (1 + 1 + 2 + 2 + 2))
        self.assertEqual(of(2, 0.5, 10**6, 1), 1 + (1 + 1 + 2 * (10**6 - 2)))
        self.assertEqual(of(8, 0, 10**7, 3), 1 + 3 * 10**7)
        self.assertEqual(of(None, 1, 10, 3), 0)
        for share, length in itertools.product((1, 1 / 2, 1 / 3, 0.1), (1, 2, 7, 60)):
            self.assertEqual(
                of(5, share, length, 4), beam_counts("mocha", share, length, 4, 5)[2])

    def test_two_shares_are_no_more_lengths(self):
        costs = {"soft": (300.0, 10.0, 40.0), "monotonic": (300.0, 900.0, 50.0)}
        made = beam_document(costs, shares=(0.25, 1))
        made["cells"] = [c for c in made["cells"] if c["memory_length"] in (8, 32, 200)]
        code, out, err = self.printed(self.write(made))
        self.assertEqual((code, out), (2, ""))
        self.assertIn("3 cells of soft cannot tell 3", err)

    def test_a_scan_that_did_not_go_as_planted_is_left_out_and_told(self):
        costs = {"soft": (300.0, 10.0, 40.0), "monotonic": (300.0, 900.0, 50.0),
                 "matcha": (300.0, 900.0, 50.0)}
        made = beam_document(costs)
        for cell in made["cells"]:
            if (cell["mechanism"], cell["memory_length"]) == ("matcha", 8):
                own = cell["decoder"]
                own["reads"]["energies_per_output"] *= 0.8 if cell["beam"] == 1 else 1.2
                own["attention_median_ns"] *= 1e-3
        code, out, err = self.printed(self.write(made))
        self.assertEqual(code, 0, err)
        self.assertIn("Left out: matcha, d = 64, L = 8, beam 1: its scan did not go as "
                      "planted; matcha, d = 64, L = 8, beam 4: its scan did not", out)
        rows = [r for r in out.splitlines() if r.startswith("| matcha | 64 | 1 | 100 %")]
        self.assertEqual(len(rows), 1)
        self.assertIn("| 0 %, ", rows[0].replace("-0 %", "0 %"))

    def test_energies_that_are_hardly_other_than_wanted_are_told_apart(self):
        made = beam_document({"soft": (300.0, 10.0, 40.0), "monotonic": (300.0, 900.0, 50.0)})
        cell = next(c for c in made["cells"] if c["mechanism"] == "soft")
        cell["decoder"]["reads"]["energies_per_output"] *= 1 + 1e-8
        code, _, err = self.printed(self.write(made))
        self.assertEqual(code, 2)
        found, wanted = re.search(r"(\S+) energies, (\S+) are those of a beam", err).groups()
        self.assertAlmostEqual(float(found) / float(wanted) - 1, 1e-8, 12)

    def test_a_cell_of_a_decoder_that_failed_is_left_out_and_told(self):
        costs = {"soft": (300.0, 10.0, 40.0), "monotonic": (300.0, 900.0, 50.0)}
        made = beam_document(costs)
        failed = next(c for c in made["cells"] if c["mechanism"] == "monotonic")
        stop(failed, "invalid", "odd")
        code, out, err = self.printed(self.write(made))
        self.assertEqual(code, 0, err)
        self.assertIn(f"Left out: monotonic, d = 64, L = {failed['memory_length']}, beam "
                      f"{failed['beam']}: invalid.", out)

    def test_beams_that_cannot_be_counted_are_refused(self):
        costs = {"soft": (300.0, 10.0, 40.0), "monotonic": (300.0, 900.0, 50.0)}

        def refused(change, *parts, options=()):
            made = beam_document(costs)
            change(made)
            code, out, err = self.printed(self.write(made), *options)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
            for part in parts:
                self.assertIn(part, err)

        def only(test):
            return lambda made: made.update(cells=list(filter(test, made["cells"])))
        refused(lambda made: None, "--outputs", "whole decoders",
                options=("--outputs", "64"))
        for option, number in (("--outputs", "²"), ("--outputs", "1_0"), ("--shares", "1_0"),
                               ("--shares", " 1"), ("--shares", "nan")):
            refused(lambda made: None, f"{option}: '{number}' is n", options=(option, number))
        refused(only(lambda c: c["mechanism"] != "soft" or c["beam"] == 4),
                "mechanism soft, d = 64, beam 1")
        refused(only(lambda c: c["mechanism"] == "none"), "cells")
        refused(lambda made: made["cells"].append(cells(soft)[0]), "mixed data")

        def own(index, **changes):
            return lambda made: made["cells"][index]["decoder"].update(changes)
        refused(own(0, reads=reads(1, 0, 1)), "cells[0]", "vocabulary smaller")
        refused(own(1, reads=None), "cells[1]", "energies_per_output is missing")
        refused(own(0, source_lengths=[0, 0]), "cells[0]", "no source has entries")
        refused(own(1, attention_samples_ns=[]), "cells[1]", "attention_samples_ns")
        refused(lambda made: made["cells"][1].update(chunk_width="inf"),
                "cells[1]", "without an end")

        def one_round(made):
            made["cells"][0]["samples_ns"] = [1.0]
            own(0, attention_samples_ns=[1.0])(made)
        refused(one_round, "one round")

    def test_only_a_result_of_its_experiments_goes_into_reports(self):
        def is_one(command):
            return crossover.is_of_its_experiments({"context": {"command": command}})
        self.assertTrue(is_one("build/release/run-sweep experiments/crossover.json -o a"))
        self.assertTrue(is_one("attnbench run-sweep crossover_beam.json --quick"))
        self.assertFalse(is_one("run-sweep experiments/growth.json -o a.json"))
        self.assertFalse(is_one("run-sweep -T 4"))
        self.assertFalse(crossover.is_of_its_experiments({}))

    def test_wrong_options_are_named(self):
        path = self.write(make_document(cells()))
        for option, value in (("--outputs", "many"), ("--outputs", "0"),
                              ("--shares", "2"), ("--shares", "a")):
            code, out, err = self.printed(path, option, value)
            self.assertEqual((code, out), (2, ""))
            self.assertIn(option, err)


if __name__ == "__main__":
    unittest.main()
