"""Guards against speed-ups of threads that are none: of cells that were not
timed in the same rounds, of other lengths, without a time on one thread; and
against a mechanism or a number of threads that is left out unsaid."""

import math
import statistics
import unittest

import known_effects
from made_up import make_cell, make_document, stop
from plot_case import ROOT, PlotTest

from attnbench.analysis import load
from figures import threads

# What the machine did in each round: a ratio of medians would be another.
ROUNDS = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
SPEEDUP = {1: 1.0, 2: 1.6, 4: 2.5, 8: 4.0}
PAIRS = (("decode", "full"), ("gradient", "attention"))


def cells(counts=(1, 2, 4)):
    made = []
    for mechanism in ("soft", "newcomer"):
        for mode, scope in PAIRS:
            length = 8 if scope == "full" else 32
            for count in counts:
                made.append(make_cell(
                    mechanism, length, length, mode=mode, scope=scope, threads=count,
                    batch=32, samples_ns=[800.0 * r / SPEEDUP[count] for r in ROUNDS],
                    limit={"working_set_bytes": length * 1024 // count}))
    made.append(make_cell("soft", 8, 8, variant="reference", time_ns=9e9))
    return made


class ThreadsFigure(PlotTest):
    def setUp(self):
        super().setUp()
        known_effects.use(self)

    def fails(self, made, *parts):
        path = self.write(make_document(made))
        self.fails_with(["--figure", "threads", path], *parts)

    def test_a_sweep_over_threads_gives_it_and_no_other(self):
        out = self.draws(self.write(make_document(cells())))
        self.assertEqual(self.pictures(), ["threads.png", "threads.svg"])
        for pair in PAIRS:
            for name in ("soft", "newcomer"):
                self.assertIn(f"  {', '.join(pair)}, 4 threads, {name}: 2.50x "
                              "[2.50, 2.50]\n", out)
        words = self.svg("threads")
        for text in ("decoding, scores computed", "gradient, scores given", "newcomer", "ideal",
                     "speed-up over one thread", "with its 95 % interval",
                     "T = 32, U = 32, one thread touches 32 to 32 KiB"):
            self.assertIn(text, words)

    def test_other_lengths_have_a_line_of_their_own(self):
        made = cells()
        made += [make_cell("soft", 4096, 1, threads=count, batch=32,
                           samples_ns=[100.0 * r / count for r in ROUNDS],
                           limit={"working_set_bytes": 4096 * 1024})
                 for count in (1, 2, 4)]
        out = self.draws(self.write(make_document(made)))
        self.assertIn("  decode, full, 4 threads, soft: 2.50x", out)
        self.assertIn("  decode, full, 4 threads, soft, T = 4096, U = 1: 4.00x", out)
        self.assertIn("T = 8, U = 8, one thread touches 8 to 8 KiB for a draw; "
                      "T = 4096, U = 1, one thread touches 4096 to 4096 KiB",
                      self.svg("threads"))
        figure, _ = threads.draw(load.cells_of(make_document(made), "r.json"))
        decoding = figure.axes[0].containers
        self.assertEqual([[round(y, 9) for y in c.lines[0].get_ydata()] for c in decoding],
                         [[1, 1.6, 2.5], [1, 2, 4], [1, 1.6, 2.5]])
        self.assertEqual(decoding[1].lines[0].get_fillstyle(), "none")

    def test_ratios_are_taken_round_by_round(self):
        made = cells()
        # Slow in other rounds than the cell on one thread: medians would agree.
        shifted = ROUNDS[1:] + ROUNDS[:1]
        made[1]["samples_ns"] = [800.0 * r / 1.6 for r in shifted]
        figure, _ = threads.draw(load.cells_of(make_document(made), "r.json"))
        expected = sorted(1.6 * a / b for a, b in zip(ROUNDS, shifted))
        soft = figure.axes[0].containers[0]
        value = math.sqrt(expected[3] * expected[4])
        self.assertAlmostEqual(soft.lines[0].get_ydata()[1], value)
        (_, low), (_, high) = soft.lines[2][0].get_segments()[1]
        self.assertAlmostEqual(value / low, high / value)
        self.assertGreater(high, 1.1 * value)

    def test_threads_that_were_skipped_everywhere_are_left_out_and_told(self):
        made = cells((1, 2, 4, 8))
        for cell in made:
            if cell["threads"] == 8:
                stop(cell, "skipped", "8 threads: this machine has 4 cores")
        out = self.draws(self.write(make_document(made)))
        self.assertIn("decode, full, 4 threads, soft: 2.50x", out)
        self.assertIn("8 threads: this machine has 4 cores", self.svg("threads"))

    def test_two_threads_make_no_curve(self):
        made = cells((1, 2))
        self.assertFalse(threads.has_data(load.cells_of(make_document(made), "r.json")))
        self.fails(made, "on more than 2 threads, the figure is drawn from 4 on")

    def test_what_is_missing_or_mixed_is_named(self):
        for count, text in ((1, "on 1 thread"), (2, "on 2 threads")):
            self.fails(
                [c for c in cells() if (c["mechanism"], c["mode"], c["threads"])
                 != ("newcomer", "gradient", count)],
                "cells missing: newcomer in mode gradient, scope attention, "
                "T = 32, U = 32, " + text)
        self.fails([c for c in cells() if (c["mechanism"], c["mode"])
                    != ("newcomer", "decode")], "newcomer in mode decode, scope full")
        self.fails(cells((1,)), "on more than 1 threads")
        self.fails(cells() + cells()[:1], "cell twice")
        made = cells()
        made[1]["memory_length"] = 16
        self.fails(made, "soft in mode decode, scope full, T = 16, U = 8, on 1 thread")
        made = cells()
        made[1]["num_contexts"] = 16
        self.fails(made, "num_contexts is None on 1 thread and 16 on 2")
        made = cells()
        made[2]["samples_ns"] = made[2]["samples_ns"][:-1]
        self.fails(made, "rounds cannot be paired")
        made = cells()
        made[0]["batch"] = 1
        self.fails(made, "mixed data: batch is 1, 32")
        self.fails([c for c in cells() if c["variant"] != "exact"], "variant exact")


class Docs(unittest.TestCase):
    def test_docs_say_in_two_sentences_what_two_threads_gave(self):
        path = ROOT / "results" / "threads.json"
        chosen = threads.select(load.load(str(path)))
        spans = {key: of[2] for key, of in threads.ratios_of(chosen).items()}
        values = [span["value"] for span in spans.values()]
        (dram,) = (span for key, span in spans.items() if key[0] == "soft"
                   and key[-1][0] == max(lengths[0] for *_, lengths in spans))
        text = " ".join((ROOT / "docs" / "speed.md").read_text(encoding="utf-8").split())
        self.assertIn(
            "On 2 cores a batch on two threads is "
            f"{min(values):.2f} to {max(values):.2f} times as fast as on one, in the median "
            f"{statistics.median(values):.2f}. Soft attention over a memory larger than a cache "
            "(T = 4096) is "
            f"{dram['value']:.2f} [{dram['low']:.2f}, {dram['high']:.2f}] times as fast.",
            text)


if __name__ == "__main__":
    unittest.main()
