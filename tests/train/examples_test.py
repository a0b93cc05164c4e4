"""Guards against a trainer that learns from other examples, noise or first parameters than
the program draws: its models would be judged on what they were trained on, and runs with
one seed would not pair. drawn.json was printed by the program, and its test reads it, too.
"""

import unittest
from unittest import mock

import numpy
from documents import read

from attnbench.train import parameters, philox, settings, tasks

DRAWN = read("tests", "train", "drawn.json")
SETS = {"training": tasks.TRAINING, "held_out": tasks.HELD_OUT}


def digest(arrays):
    """FNV-1a of the bytes, as tests/support/digest.h has it."""
    value = 0xCBF29CE484222325
    for byte in b"".join(array.tobytes() for array in arrays):
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def as_program(symbols):
    return symbols.astype(numpy.int32)


class ExamplesTest(unittest.TestCase):
    def test_words_are_the_published_ones(self):
        # Random123's kat_vectors: key and counter all ones, and the digits of pi.
        ones = philox.words(2**64 - 1, 2**32 - 1, 2**32 - 1, -1)
        self.assertEqual([f"{word:x}" for word in ones.tolist()],
                         ["408f276d", "41c83b0e", "a20bc7c6", "6d5451fd"])
        pi = philox.words(0x299F31D0A4093822, 0x03707344, 0x13198A2E,
                          numpy.array([[0x85A308D3243F6A88 - 2**64, 0]]))
        self.assertEqual([f"{word:x}" for word in pi[:, 0, 0].tolist()],
                         ["d16cfe09", "94fdcceb", "5001e420", "24126ea1"])

    def test_examples_are_those_of_the_program(self):
        for one in DRAWN["examples"]:
            with self.subTest(one["settings"], set=one["set"]):
                task = settings.Settings(**one["settings"]).task_spec
                made = tasks.examples(task, SETS[one["set"]], one["seed"], one["first"],
                                      one["count"])
                first, arrays = made[0], []
                self.assertEqual(len(first.source), one["length"])
                self.assertEqual(first.target.tolist(), one["target"])
                if not task.has_frames:
                    self.assertEqual(first.source.tolist(), one["tokens"])
                for example in made:
                    source = example.source
                    arrays += [source if task.has_frames else as_program(source),
                               as_program(example.target)]
                self.assertEqual(digest(arrays), one["digest"])

    def test_an_example_is_the_same_whichever_are_asked_for_with_it(self):
        for name in tasks.TASKS:
            task = tasks.Task(name)
            for first in (0, 509):  # over the end of what is drawn together
                for n, one in enumerate(tasks.examples(task, tasks.TRAINING, 1, first, 5)):
                    alone, = tasks.examples(task, tasks.TRAINING, 1, first + n, 1)
                    numpy.testing.assert_array_equal(alone.source, one.source)
                    numpy.testing.assert_array_equal(alone.target, one.target)

    def test_noise_is_that_of_the_program(self):
        for one in DRAWN["noise"]:
            with self.subTest(one):
                made = tasks.standard_noise(one["seed"], [7, one["stream"]], one["outputs"],
                                            one["entries"], one["deviation"])[1]
                self.assertEqual(made[0, 0], one["first"])
                self.assertEqual(digest([made]), one["digest"])

    def test_first_parameters_are_those_of_the_program(self):
        for one in DRAWN["parameters"]:
            with self.subTest(one["settings"]):
                made = parameters.first_parameters(
                    settings.Settings(**one["settings"]), one["seed"])
                digests = {name: digest([values]) for name, values in made.items()}
                self.assertEqual(digests, one["digests"])

    def test_numbers_that_libm_computes_are_those_that_numpy_computes(self):
        task = tasks.Task("stretch", frame_noise=0.3)
        expected, = tasks.examples(task, tasks.HELD_OUT, 1, 0, 1)
        with mock.patch.object(philox, "NEAR", 1):  # so that all are computed by libm
            made, = tasks.examples(task, tasks.HELD_OUT, 1, 0, 1)
        numpy.testing.assert_array_equal(made.source, expected.source)

    def test_a_set_has_symbols_if_one_of_its_targets_has(self):
        task = tasks.Task("copy", 0, 1)
        lengths = [len(one.target) for one in tasks.examples(task, tasks.HELD_OUT, 3, 0, 20)]
        first = lengths.index(2)
        self.assertGreater(first, 0)
        self.assertFalse(tasks.has_symbols(task, tasks.HELD_OUT, 3, first))
        self.assertTrue(tasks.has_symbols(task, tasks.HELD_OUT, 3, first + 1))

    def test_edit_distance_counts_insertions_removals_and_replacements(self):
        for other, distance in (([2, 3, 4], 0), ([], 3), ([2, 9, 4], 1), ([3, 4], 1),
                                ([3, 4, 2], 2), ([4, 3, 2], 2), ([9, 2, 3, 4, 9], 2)):
            self.assertEqual(tasks.edit_distance([2, 3, 4], other), distance)
            self.assertEqual(tasks.edit_distance(other, [2, 3, 4]), distance)


if __name__ == "__main__":
    unittest.main()
