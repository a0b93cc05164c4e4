"""Guards against coefficients that are not those of the data: a, b and c that a
made-up machine has must come back, within intervals that hold them as often as
they say; what counts cannot tell must be told; and a file that does not span two
decades, or lacks a cell, must not give a table."""

import contextlib
import io
import random
import unittest

import known_effects
import numpy
from made_up import make_cell, make_document, stop
from plot_case import PlotTest

from attnbench.analysis import growth, intervals, load
from pages import growth_table

LENGTHS = (16, 50, 160, 500, 1600)
U = 16
A, B, C, F = 900.0, 25.0, 40.0, 0.125  # ns


def sweep_cell(mechanism, t, energies, chunk_energies, flops, **changes):
    """A cell whose time is A + B energies + C chunk energies + F beyond."""
    beyond = changes.pop("beyond", 0)
    rng = changes.pop("rng", None)
    time_ns = A + B * energies + C * chunk_energies + F * beyond
    noise = [rng.gauss(0, 0.05) if rng else 0 for _ in range(10)]
    samples = [time_ns * (1 + share) for share in noise]
    return make_cell(
        mechanism, t, U, samples_ns=samples, median_ns=float(numpy.median(samples)),
        operations={"energies": energies, "chunk_energies": chunk_energies,
                    "flops": flops}, **changes)


def soft(t, **changes):
    return sweep_cell("soft", t, t * U, 0, 517 * t * U, **changes)


def monotonic(t, **changes):
    energies = t + U - 1
    return sweep_cell("monotonic", t, energies, 0, 513 * energies, **changes)


def mocha(t, w, **changes):
    energies, chunk = t + U - 1, U * min(w, t)
    return sweep_cell("mocha", t, energies, chunk, 513 * energies + 1030 * chunk,
                      chunk_width=w, **changes)


def matcha(t, **changes):
    pairs = U * t * (t + 1) / 2
    return sweep_cell("matcha", t, t * U, t * U, 10 * t * U + 6 * pairs,
                      beyond=6 * pairs - 6 * U * t * 8.5, **changes)


def memory(t, **changes):
    flops = 16000.0 * t + 100000
    return sweep_cell("memory", t, 0, 0, flops, beyond=flops, num_contexts=32,
                      **changes)


def cells(**changes):
    made = [make(t, **changes) for t in LENGTHS
            for make in (soft, monotonic, matcha, memory)]
    made += [mocha(t, w, **changes) for t in LENGTHS for w in (2, 8)]
    return made


def fits(made):
    chosen = growth.select(load.cells_of(make_document(made), "r.json"))
    return {key: growth.fit(group) for key, group in growth.modes.groups(chosen)}


class Exponents(unittest.TestCase):
    def test_powers_are_exact(self):
        t = numpy.array(LENGTHS)
        for power in (0, 1, 2):
            found = growth.exponent(t[::-1], (3.0 * t**power)[::-1])
            self.assertAlmostEqual(found.overall, power, places=12)
            numpy.testing.assert_allclose(found.steps, [power] * 4, atol=1e-12)

    def test_a_constant_beside_t_shows_step_by_step(self):
        found = growth.exponent((1, 10, 100), (1 + 9, 10 + 9, 100 + 9))
        self.assertAlmostEqual(found.steps[0], numpy.log10(1.9))
        self.assertAlmostEqual(found.steps[1], numpy.log10(109 / 19))
        self.assertAlmostEqual(found.overall, sum(found.steps) / 2)

    def test_what_is_zero_somewhere_has_none(self):
        self.assertIsNone(growth.exponent((1, 10), (0, 5)))


class Fits(unittest.TestCase):
    def test_known_coefficients_come_back(self):
        known_effects.use(self)
        found = fits(cells())
        expected = {
            "soft": {"constant": A, "energies": B},
            "monotonic": {"constant": A, "energies": B},
            "mocha": {"constant": A, "energies": B, "chunk_energies": C},
            # One chunk energy for each energy: their prices add up.
            "matcha": {"constant": A, "energies": B + C, "flops_beyond": F},
            "memory": {"constant": A, "flops_beyond": F},
        }
        for (name, _, _), fit in found.items():
            self.assertEqual({key: round(term.ns, 6) for key, term in fit.terms.items()},
                             expected[name], name)
            for term in fit.terms.values():
                self.assertAlmostEqual(term.low, term.ns, 5)
                self.assertAlmostEqual(term.high, term.ns, 5)
            self.assertAlmostEqual(fit.largest_residual, 0)
        self.assertEqual(len(found), len(expected))

    def test_coefficients_are_times_and_move_with_the_machine(self):
        known_effects.use(self)
        intervals.EFFECTS["time"] = {**intervals.EFFECTS["time"], "s_run": 0.1}
        (fit,) = fits([soft(t) for t in LENGTHS]).values()
        for term in fit.terms.values():  # t with 10 degrees is 2.228
            self.assertAlmostEqual(term.high / term.ns, numpy.exp(0.2228), delta=0.03)
            self.assertAlmostEqual(term.low / term.ns, numpy.exp(-0.2228), delta=0.03)

    def test_what_counts_cannot_tell_is_told(self):
        notes = {name: fit.notes for (name, _, _), fit in fits(cells()).items()}
        self.assertEqual(notes["soft"], ("no chunk energies",))
        self.assertEqual(notes["mocha"], ())
        self.assertEqual(notes["matcha"], (
            "chunk energies are a multiple of energies: no c",
            "f: of flops beyond 61 for each energy"))
        self.assertEqual(notes["memory"], (
            "no energies", "no chunk energies", "f: of all flops"))
        # One w: chunk energies are the same for every T.
        (fit,) = fits([mocha(t, 2) for t in LENGTHS]).values()
        self.assertEqual(fit.notes, ("chunk energies do not depend on T: no c",))
        self.assertAlmostEqual(fit.terms["constant"].ns, A + C * 2 * U)

    def test_a_negative_coefficient_is_reported(self):
        made = [soft(t) for t in LENGTHS]
        for cell in made:
            cell["median_ns"] -= 2 * A
            cell["samples_ns"] = [cell["median_ns"]] * 10
        (fit,) = fits(made).values()
        self.assertAlmostEqual(fit.terms["constant"].ns, -A)

    def test_every_length_counts_as_much_and_the_worst_is_named(self):
        made = [soft(t) for t in LENGTHS]
        for cell in made[2:3]:
            cell["median_ns"] *= 2
            cell["samples_ns"] = [cell["median_ns"]] * 10
        (fit,) = fits(made).values()
        self.assertEqual(fit.largest_at, LENGTHS[2])
        self.assertLess(fit.largest_residual, -0.3)
        # The outlier at T = 160 must not be paid for at T = 16 alone.
        measured = [cell["median_ns"] for cell in made]
        others = [abs(f / m - 1) for f, m in zip(fit.fitted_ns, measured)]
        self.assertLess(max(others[:2] + others[3:]), 0.35)

    def test_intervals_hold_the_truth_about_as_often_as_they_say(self):
        known_effects.use(self)
        rng = random.Random(5)
        held, asked = 0, 0
        for _ in range(30):
            found = fits([mocha(t, w, rng=rng) for t in LENGTHS for w in (2, 8)])
            (fit,) = found.values()
            for name, truth in (("constant", A), ("energies", B), ("chunk_energies", C)):
                term = fit.terms[name]
                self.assertLess(term.low, term.high)
                held += term.low <= truth <= term.high
                asked += 1
        self.assertGreater(held / asked, 0.85)
        self.assertLess(held / asked, 1)  # or they would be of no use


class Tables(PlotTest):
    def table(self, made):
        """(exit code, stdout, stderr) of growth.py."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = growth_table.main([self.write(make_document(made))])
        return code, out.getvalue(), err.getvalue()

    def fails(self, made, *parts):
        code, out, err = self.table(made)
        self.assertEqual((code, out), (2, ""))
        self.assertEqual(err.count("\n"), 1, err)
        for part in parts:
            self.assertIn(part, err)

    def test_both_tables_have_every_mechanism(self):
        known_effects.use(self)
        code, out, err = self.table(cells())
        self.assertEqual(code, 0, err)
        for row in (
            "| soft | decode, full | 1.00 | – | 1.00 |\n",
            "| mocha, w = 2 | decode, full | 0.87 (0.65 to 0.98) | 0.00 | ",
            "| matcha | decode, full | 1.00 | 1.00 | ",
            "| soft | decode, full | 900 [900, 900] | 25 [25, 25] | – | – | ",
            "| mocha | decode, full | 900 [900, 900] | 25 [25, 25] | 40 [40, 40] | – | ",
            "| memory | decode, full | 900 [900, 900] | – | – | 0.125 [0.125, 0.125] | ",
        ):
            self.assertIn(row, out)
        self.assertIn("T = 16, 50, 160, 500, 1600; U = 16; d = 256; workload uniform; energy dot. "
                      "Commit 0123456789", out)

    def test_the_figure_shows_exponents_and_lines(self):
        out = self.draws("--figure", "growth", self.write(make_document(cells())))
        self.assertIn("  decode, full, soft: 1.00, ", out)
        words = self.svg("growth")
        for text in ("decoding, scores computed", "MoChA, w = 8", "time per step, ns", "exact counts"):
            self.assertIn(text, words)

    def test_it_is_drawn_unasked_where_t_spans_two_decades(self):
        self.draws(self.write(make_document(cells())))
        self.assertIn("growth.png", self.pictures())

    def test_less_than_two_decades_are_refused(self):
        self.fails([soft(t) for t in LENGTHS[:-1] + (1599,)],
                   "soft: T from 16 to 1599 is less than 2 decades")
        self.fails_with(["--figure", "growth",
                         self.write(make_document([soft(t) for t in LENGTHS[1:]]))],
                        "less than 2 decades")

    def test_what_is_missing_is_named(self):
        self.fails([c for c in cells() if (c["mechanism"], c["memory_length"],
                                           c["chunk_width"]) != ("mocha", 160, 8)],
                   "cells missing: memory_length = 160, chunk_width = 8", "mocha in mode")
        made = cells()
        stop(made[0], "skipped", "no such thing")
        self.fails(made, "cells missing: memory_length = 16", "soft in mode decode")
        self.fails(cells() + [soft(t, mode="expect") for t in LENGTHS],
                   "cells missing: monotonic in mode expect, scope full")
        made = cells()
        stop(made[3], "error", "it broke")
        self.fails(made, "is error: it broke")
        made = cells()
        del made[3]["operations"]["flops"]
        self.fails(made, "cells[3].operations: flops is missing")
        made = cells()
        made[0]["samples_ns"] = made[0]["samples_ns"][:1]
        self.fails(made, "has one round, which has no interval")
        self.fails([soft(16), soft(1600)], "2 cells of soft cannot tell 2 coefficients")
        self.fails(cells() + [soft(16)], "there 2 times")
        self.fails([c for c in cells() if c["variant"] != "exact"] +
                   [make_cell("soft", 16, 16, variant="reference")], "variant exact")

    def test_wrong_usage_ends_with_2(self):
        with contextlib.redirect_stderr(io.StringIO()) as err:
            with self.assertRaises(SystemExit) as stopped:
                growth_table.main([])
        self.assertEqual(stopped.exception.code, 2)
        self.assertIn("RESULT", err.getvalue())

    def test_a_page_gets_both_tables_between_its_two_lines(self):
        page = self.folder / "page.md"
        result = self.write(make_document(cells()))
        page.write_text(f"a\n{growth_table.BEGIN}old\n{growth_table.END}b\n")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(growth_table.main([result, "--into", str(page)]), 0)
        self.assertIn("| soft | decode, full |", out.getvalue())
        self.assertEqual(page.read_text(),
                         f"a\n{growth_table.BEGIN}{out.getvalue()}{growth_table.END}b\n")


if __name__ == "__main__":
    unittest.main()
