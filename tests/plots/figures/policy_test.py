"""Guards against a picture of AlignAtt that takes it for soft attention, leaves out one
of its f, or measures it against something else."""

import unittest

import made_up
from plot_case import PlotTest


def latency(dal):
    return {"ap": 0.5, "al": dal, "laal": dal, "dal": dal}


def cells(length=100, beam=1):
    soft = made_up.make_decoder_cell("soft", length, beam, 1.0, latency=None)
    monotonic = made_up.make_decoder_cell(
        "monotonic", length, beam, 0.25, latency=latency(1.0))
    policies = [made_up.make_decoder_cell(
        "soft", length, beam, 0.5, latency=latency(float(f + 1)),
        options={"keys": "precomputed", "policy": "alignatt", "f": f}) for f in (1, 8)]
    # Of one point it is no matter which cell comes first.
    return [*policies, soft, monotonic]


class PolicyFigure(PlotTest):
    def draws_policy(self, made):
        return self.draws("--figure", "policy", self.write(made_up.make_document(made)))

    def test_every_f_is_a_point_against_soft_attention(self):
        out = self.draws_policy(cells() + cells(400))
        for length in (100, 400):
            self.assertRegex(out, rf"(?m)^  T = {length}, AlignAtt, f = 1 to 8: 2.0x as fast as "
                             r"soft attention, 2.0 to 9.0 entries late \(DAL\), AP 0.50$")
            self.assertRegex(out, rf"(?m)^  T = {length}, monotonic: 4.0x \[[^]]*\] as fast as "
                             r"soft attention, 1.0 entries late \(DAL\), AP 0.50$")
        self.assertNotIn("soft: ", out)
        # Of all figures it is the only one that fits.
        self.draws(self.write(made_up.make_document(cells() + cells(400))))
        self.assertEqual(sorted(path.stem for path in self.folder.glob("*.png")), ["policy"])
        svg = (self.folder / "policy.svg").read_text(encoding="utf-8")
        self.assertIn("AlignAtt", svg)

    def test_a_single_f_has_its_interval(self):
        out = self.draws_policy(cells()[1:])
        self.assertIn("T = 100, AlignAtt, f = 8: 2.0x [", out)

    def test_what_it_needs_is_told(self):
        def fails(made, message):
            self.fails_with(["--figure", "policy",
                             self.write(made_up.make_document(made))], message)

        fails(cells()[2:], "cells missing: alignatt")
        fails(cells()[:2] + cells()[3:], "0 cells of soft that are ok")
        fails(cells() + cells(beam=4), "cells of several beams")
        stopped = cells()
        made_up.stop(stopped[2], "timeout", "too slow")
        fails(stopped, "0 cells of soft that are ok")


if __name__ == "__main__":
    unittest.main()
