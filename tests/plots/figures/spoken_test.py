"""Guards against pictures of own data with true ends that are of the wrong speakers, that have
times of another unit, or ends and choices one entry beside their place, or that leave out what
chooses nothing.
"""

import unittest

import numpy
from made_up import make_trained, make_trained_run
from plot_case import PlotTest

from figures import lateness, spoken, trained_attention

FACTS = {"hash": "0123abcd", "vocabulary": 5, "frame_size": 6, "longest_source": 4, "frame_ms": 30}
ENDS = [1.5, 3.0]


def speaker(name, in_training, error, late, hard=None):
    return {"speaker": name, "in_training": in_training, "soft_error": error / 100,
            "hard_error": None if hard is None else hard / 100, "lateness": late}


def shares(at, of_rest=0.2):
    """`of_rest` in the last of 21 bins, the rest in bin `at`."""
    found = [0.0] * 21
    found[at] += 1 - of_rest
    found[-1] += of_rest
    return found


def utterance(choices=(), frames=None, ends=ENDS):
    """Three outputs over four entries, of two frames of three numbers each."""
    if frames is None:
        frames = [[0, 5, 9, 1, 5, 9], [0, 5, 9, 0, 5, 8], [1, 4, 9, 0, 5, 9], [0, 5, 9, 0, 6, 9]]
    return {"attention": [[0.25] * 4] * 3, "speaker": "new", "choices": list(choices), "contexts": [],
            "symbols": ["ah", "b"], "ends": list(ends), "frames": frames}


def run(name, seed, hard, late, at=10, example=None, **settings):
    """Its errors and lateness are of "new"; those of "known" and of both differ from them."""
    of_known = None if hard is None else hard / 2
    return make_trained_run(
        name, seed, 40.0, None if hard is None else 0.7 * hard, example=example, task="folder",
        data="data/spoken", data_facts=FACTS, more={
            "lateness": late + 3, "lateness_histogram": shares(at),
            "speakers": [speaker("known", True, 20.0, late + 6, of_known),
                         speaker("new", False, 50.0, late, hard)]}, **settings)


def document():
    return make_trained("spoken", [
        run("soft", 1, None, 30.0, at=20, example=utterance(), mechanism="soft"),
        run("monotonic", 1, 60.0, 1.0, at=9, example=utterance([0, 2, 4])),
        run("monotonic", 2, 70.0, 2.0, at=11, example=utterance([0, 0, 0])),
        run("mocha_w2", 1, 55.0, 4.0, mechanism="mocha", chunk_width=2,
            example=utterance([1, 4, 4])),
        run("mocha_w8", 1, 52.0, 3.0, mechanism="mocha", chunk_width=8,
            example=utterance([0, 0, 0])),
        run("other", 1, 52.0, 3.0, mechanism="matcha", example=utterance([0, 1, 2], ends=(1, 2))),
    ])


def points(panel):
    """{size of the mark: [(x, y)]}"""
    found = {}
    for line in panel.lines:
        found.setdefault(line.get_markersize(), []).extend(
            zip(line.get_xdata().tolist(), line.get_ydata().tolist()))
    return found


class Spoken(PlotTest):
    def test_the_picture_of_errors_is_made_and_says_what_it_shows(self):
        out = self.draws("--figure", "error_over_lateness", self.write(document()))
        for said in ("soft (n = 1): 50.00 % of error, 900.0 ms late",
                     "monotonic (n = 2): 65.00 % of error, 45.0 ms late",
                     "MoChA, w = 2 (n = 1): 55.00 % of error, 120.0 ms late"):
            self.assertIn(said, out)
        svg = self.svg("error_over_lateness")
        for word in ("monotonic (n = 2)", "MoChA, w = 8 (n = 1)", "waits for all", "left the better",
                     "(here new)"):
            self.assertIn(word, svg)

    def test_each_seed_has_a_mark_and_their_mean_a_larger_one(self):
        figure, _ = lateness.draw_errors([document()])
        (panel,) = figure.axes
        small, large = (points(panel)[size] for size in sorted(points(panel)))
        self.assertEqual([[round(number, 6) for number in point] for point in small[:3]],
                         [[900, 50], [30, 60], [60, 70]])
        self.assertEqual([round(number, 6) for number in large[1]], [45, 65])
        self.assertEqual((len(small), len(large)), (6, 5))

    def test_in_a_mean_each_folder_counts_the_same(self):
        made = document()
        # Two seeds of monotonic attention, 60 and 70 % of error, and one of another folder.
        other = run("monotonic", 3, 90.0, 5.0)
        other["settings"]["data"] = "another"
        made["runs"].append(other)
        _, said = lateness.draw_errors([made])
        self.assertIn("monotonic (n = 3): 77.50 % of error, 97.5 ms late", "\n".join(said))

    def test_without_a_new_speaker_errors_are_of_all_that_is_held_out(self):
        whole = run("monotonic", 1, 60.0, 1.0)
        for one in whole["result"]["speakers"]:
            one["in_training"] = True
        self.assertEqual([round(number, 6) for number in lateness.late_and_error(whole)], [4, 42])
        del whole["result"]["speakers"], whole["result"]["lateness"]
        self.assertIsNone(lateness.late_and_error(whole))

    def test_a_run_that_diverged_is_counted_in_the_legend(self):
        made = document()
        made["runs"][2].update(status="diverged", result=None)
        _, said = lateness.draw_errors([made])
        self.assertIn("monotonic (n = 1, 1 diverged): 60.00 %", said[1])

    def test_lateness_is_in_entries_where_a_run_has_no_time_of_a_frame(self):
        made = document()
        made["runs"][0]["settings"]["data_facts"] = {**FACTS}
        del made["runs"][0]["settings"]["data_facts"]["frame_ms"]
        figure, said = lateness.draw_errors([made])
        self.assertIn("30.0 entries late", said[0])
        self.assertEqual(figure.axes[0].get_xlabel(), "mean lateness, entries")

    def test_a_histogram_is_the_mean_over_seeds_in_milliseconds(self):
        figure, _ = lateness.draw_histogram([document()])
        panels = {panel.get_title(): panel for panel in figure.axes if panel.patches}
        self.assertEqual(list(panels), ["soft", "monotonic", "MoChA", "MAtChA"])
        (steps,) = panels["monotonic"].patches
        values, edges, _ = steps.get_data()
        numpy.testing.assert_allclose(values[[9, 10, 11, 20]], [0.4, 0, 0.4, 0.2])
        # Entry 0 is the middle of its bin.
        numpy.testing.assert_allclose(edges[[0, 10, 11, 21]], [-315, -15, 15, 315])
        self.assertEqual(len(panels["MoChA"].patches), 2)
        self.assertEqual([label.get_text() for label in panels["soft"].get_xticklabels()],
                         ["-300\nor earlier", "-150", "0", "150", "300\nor later"])

    def test_the_picture_of_the_histogram_is_made(self):
        out = self.draws("--figure", "lateness_histogram", self.write(document()))
        self.assertIn("soft (n = 1): 0.0 % of symbols 300 ms early or earlier, "
                      "100.0 % 300 ms late or later", out)
        self.assertIn("or earlier", self.svg("lateness_histogram"))

    def test_alignments_are_of_one_utterance_and_the_first_of_each_mechanism(self):
        path = self.write(document())
        out = self.draws("--figure", "spoken_alignments", path)
        self.assertEqual([line.strip() for line in out.splitlines() if line.startswith("  ")], [
            "soft: chooses nothing",
            # (1 - 1.5 + 3 - 3) / 2 entries of 30 ms, then (2 - 1.5 + 4 - 3) / 2.
            "monotonic: 7.5 ms before the true ends on average",
            "MoChA, w = 2: 22.5 ms after the true ends on average"])
        for word in ("ah", "time, ms", "the true end of the output's symbol", "2 in an entry"):
            self.assertIn(word, self.svg("spoken_alignments"))
        self.assertLess((self.folder / "spoken_alignments.svg").stat().st_size, 300_000)

    def test_an_example_with_its_truth_is_not_drawn_without_it(self):
        made = document()
        self.assertFalse(trained_attention.has_alignments([made]))
        del made["runs"][0]["example"]["ends"]
        self.assertTrue(trained_attention.has_alignments([made]))

    def test_the_caption_says_who_speaks_and_whether_training_has_heard_them(self):
        made = document()
        for speaker_of, said in (("new", "source of speaker new whom training has not heard, given"),
                                 ("known", "source of speaker known, given"), (None, "source, given")):
            for one in made["runs"]:
                one["example"]["speaker"] = speaker_of
            figure, _ = spoken.draw_alignments([made])
            self.assertIn(said, figure.texts[-1].get_text().replace("\n", " "))

    def test_ends_and_choices_stand_at_their_entries(self):
        figure, _ = spoken.draw_alignments([document()])
        top, soft, monotonic = figure.axes[:3]
        # Entry j lies from j - 1/2 to j + 1/2.
        (truth,) = soft.collections
        self.assertEqual([segment.tolist() for segment in truth.get_segments()],
                         [[[2.0, 0.5], [2.0, 1.5]], [[3.5, 1.5], [3.5, 2.5]]])
        for panel in (top, soft):
            self.assertEqual([line.get_xdata()[0] for line in panel.lines[:2]], [2.0, 3.5])
        self.assertEqual([list(zip(line.get_xdata(), line.get_ydata()))
                          for line in monotonic.lines[2:]], [[(1, 1), (3, 2)], [(5, 3)]])
        self.assertEqual([(text.get_text(), text.xy[0]) for text in top.texts],
                         [("ah", 1.25), ("b", 2.75)])
        ticks = dict(zip((label.get_text() for label in figure.axes[3].get_xticklabels()),
                         figure.axes[3].get_xticks()))
        self.assertEqual((ticks["0"], ticks["60"]), (0.5, 2.5))

    def test_frames_that_are_side_by_side_stand_one_after_the_other(self):
        figure, _ = spoken.draw_alignments([document()])
        (image,) = figure.axes[0].images
        self.assertEqual(image.get_array()[:, :3].tolist(), [[0, 1, 0], [5, 5, 5], [9, 9, 9]])
        noise = numpy.random.default_rng(1).normal(size=(40, 6))
        self.assertEqual(spoken.stacked_in(noise), 1)

    def test_an_example_that_does_not_fit_together_is_refused_by_name(self):
        for change, *parts in (
                ({"frames": [[1, 2], [1]] * 2}, "frames has rows that are not equally long"),
                ({"frames": [[1, 2]] * 3}, "frames has 3 rows, attention 4 columns"),
                ({"ends": [1]}, "ends has 1 number, it must be one for each of the 2 symbols")):
            made = document()
            made["runs"][1]["example"].update(change)
            self.fails_with(["--figure", "spoken_alignments", self.write(made)],
                            "result.json: runs[1].example", *parts)

    def test_a_histogram_of_other_bins_is_refused_by_name(self):
        made = document()
        made["runs"][1]["result"]["lateness_histogram"].pop()
        self.fails_with(["--figure", "lateness_histogram", self.write(made)],
                        "runs[1].result: lateness_histogram has 20 bins, it must be 21")

    def test_a_result_without_ends_is_for_none_of_these_figures(self):
        made = document()
        for one in made["runs"]:
            for member in ("lateness", "lateness_histogram", "speakers"):
                del one["result"][member]
            for member in ("ends", "symbols"):
                one["example"].pop(member)
        for name in ("error_over_lateness", "lateness_histogram", "spoken_alignments"):
            self.fails_with(["--figure", name, self.write(made)], name)


if __name__ == "__main__":
    unittest.main()
