"""Guards against a figure that sets an attention beside another decoder than its own,
turns a ratio round, or takes a decoder that attended to nothing for a fast one."""

import unittest

import made_up
from plot_case import PlotTest

# How many times as fast as soft attention.
ALONE = {"soft": 1, "monotonic": 20, "mocha": 5}
WHOLE = {"soft": 1, "monotonic": 1.3, "mocha": 1.0, "none": 1.6}
WIDTH = {"mocha": 4}


def attention(lengths=(50, 100)):
    return [made_up.make_cell(name, length, length, time_ns=1000 / times,
                              chunk_width=WIDTH.get(name))
            for length in lengths for name, times in ALONE.items()]


def decoders(lengths=(100, 200), beams=(10, 1)):
    # A greedy decoder gains nothing here, so that the beam shows.
    return [made_up.make_decoder_cell(name, length, beam,
                                      1 / times if beam > 1 else 1.0,
                                      chunk_width=WIDTH.get(name))
            for length in lengths for beam in beams for name, times in WHOLE.items()]


class Gains(PlotTest):
    def files(self, alone=None, whole=None):
        return [self.write(made_up.make_document(alone or attention()), "alone.json"),
                self.write(made_up.make_document(whole or decoders()), "whole.json")]

    def test_each_mechanism_stands_beside_a_decoder_with_it_at_the_longest_common_length(self):
        printed = self.draws(*self.files())
        self.assertRegex(printed, r"T = U = 100, monotonic: 20 times as fast \[.*\] alone, "
                                  r"1\.3 times as fast \[.*\] in a whole decoder")
        self.assertRegex(printed, r"MoChA, w = 4: 5\.0 times as fast \[.*\] alone, "
                                  r"1\.0 times as fast \[.*\] in a whole decoder")
        self.assertRegex(printed, r"no attention: 1\.6 times as fast \[.*\] in a whole decoder")
        self.assertIn("times as fast as with soft attention", self.svg("gains"))

    def test_the_order_of_the_files_does_not_matter(self):
        files = self.files()
        self.assertEqual(self.draws(*files), self.draws(*files[::-1]))

    def test_a_length_with_another_number_of_outputs_is_none_of_both(self):
        alone = attention(lengths=(50,))
        for cell in attention(lengths=(100,)):
            alone.append({**cell, "output_length": 20})
        printed = self.draws(*self.files(alone=alone, whole=decoders(lengths=(50, 100))))
        self.assertIn("T = U = 50, ", printed)

    def test_a_decoder_that_read_nothing_is_left_out(self):
        whole = decoders()
        for cell in whole:
            if cell["mechanism"] == "monotonic":
                cell["decoder"]["reads"] = made_up.reads(0.1, 0.5)
        printed = self.draws(*self.files(whole=whole))
        self.assertNotIn("monotonic", printed)
        self.assertIn("MoChA", printed)

    def test_outputs_without_a_context_are_said(self):
        alone = attention()
        for cell in alone:
            if cell["mechanism"] != "soft":
                cell["numerics"] = {**cell["numerics"],
                                    "attention_mass": 0.9 * cell["output_length"]}
        self.assertIn("attends to nothing", self.draws(*self.files(alone=alone)))

    def test_results_with_nothing_in_common_are_refused(self):
        self.fails_with(self.files(whole=decoders(lengths=(200,))),
                        "whole.json: has no length of", "alone.json")
        self.fails_with(
            self.files(whole=[cell for cell in decoders()
                              if cell["mechanism"] in ("soft", "none")]),
            "whole.json: has no mechanism of")
        alone, _ = self.files()
        self.fails_with([alone, alone], "one result of a sweep at a time")


if __name__ == "__main__":
    unittest.main()
