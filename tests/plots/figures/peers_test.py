"""Guards against a figure of peers that compares the wrong cells, or the wrong way
round."""

import unittest

import known_effects
import made_up
from attnbench.analysis import load, reads
from figures import FIGURES, peers


class PeersFigureTest(unittest.TestCase):
    def setUp(self):
        known_effects.use(self)

    def frame(self, changed=()):
        measured = []
        for mode in ("decode", "expect"):
            for length in (10, 100, 1000):
                for variant, time_ns in (("exact", 100), ("framework", 3 * length)):
                    measured.append(made_up.make_cell(
                        "soft", length, 8, mode=mode, variant=variant,
                        time_ns=float(time_ns)))
        for index, changes in dict(changed).items():
            if "status" in changes:
                made_up.stop(measured[index], **changes)
            measured[index].update(changes)
        return load.cells_of(made_up.make_document(measured), "made-up.json")

    def test_a_line_is_their_time_over_ours(self):
        figure, lines = FIGURES["peers"].draw(self.frame())
        self.assertEqual(lines, [
            f"{mode}, full, T = 1000: framework / soft 30x [30, 30]"
            for mode in ("decode", "expect")])
        values = list(figure.axes[0].lines[0].get_ydata())
        self.assertEqual([round(value, 9) for value in values], [0.3, 3, 30])

    def test_a_speed_up_is_marked_by_the_outputs_that_ours_lost(self):
        scan = {"mechanism": "monotonic", "end": "absorb"}
        changed = {index: scan for index in range(6)}
        changed[4] = {**scan, "numerics": {**made_up.PARTS["numerics"], "attention_mass": 4.0}}
        changed[5] = {**scan, "numerics": None}
        figure, lines = FIGURES["peers"].draw(self.frame(changed))
        self.assertEqual([line for line in lines if "monotonic" in line],
                         ["decode, full, T = 1000: framework / monotonic 30x [30, 30] *"])
        self.assertEqual(lines[-1], reads.NOTE)
        self.assertEqual([mark.xy[0] for mark in figure.axes[0].texts], [1000])

    def test_scopes_have_panels_of_their_own(self):
        changed = {index: {"scope": "attention"} for index in range(6, 12)}
        for index in range(7, 12, 2):
            changed[index]["samples_ns"] = [500.0] * made_up.ROUNDS
        figure, lines = FIGURES["peers"].draw(self.frame(changed))
        self.assertEqual([axes.get_title() for axes in figure.axes if axes.axison],
                         ["decoding, scores computed", "expectation, scores given"])
        self.assertEqual(lines[1], "expect, attention, T = 1000: framework / soft "
                                   "5.0x [5.0, 5.0]")

    def test_only_a_file_with_both_is_meant_for_it(self):
        self.assertTrue(peers.has_data(self.frame()))
        ours = self.frame()
        self.assertFalse(peers.has_data(ours[ours["variant"] == "exact"]))

    def test_what_cannot_be_compared_is_refused(self):
        for changed, message in [
            ({0: {"memory_length": 11}}, "cells missing: exact beside"),
            ({1: {"samples_ns": [1.0] * 3}}, "rounds cannot be paired"),
            ({1: {"status": "invalid", "message": "wrong"}}, "is invalid: wrong"),
            ({0: {"scope": "attention"}}, "cells missing: exact beside"),
            ({0: {"schedule": "teacher_forced"}}, "mixed data: schedule of mode decode"),
        ]:
            with self.assertRaisesRegex(load.DataError, message):
                peers.draw(self.frame(changed))


if __name__ == "__main__":
    unittest.main()
