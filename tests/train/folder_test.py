"""Guards against a user's data that are read as something else than they are: what is wrong
has to be told by file and line before anything is trained.
"""

import json
import os
import sys
import unittest

import numpy

from attnbench.analysis import load
from attnbench.train import folder, settings, tasks
from documents import ROOT
from in_folder import InFolder

sys.path.insert(0, os.path.join(ROOT, "docs", "examples", "own_data"))

import make  # noqa: E402, in a folder that the line before names


def rows(table):
    """Those of the utterances."""
    return [line.split("\t") for line in table.split("\n")[1:-1]]


class FolderTest(InFolder):
    def setUp(self):
        super().setUp()
        make.main(self.folder)

    def read(self):
        return folder.Folder(self.folder)

    def refused(self, place, *parts):
        with self.assertRaises(load.DataError) as caught:
            self.read().facts
        text = str(caught.exception)
        self.assertTrue(text.startswith(f"{self.path(place)}: "), text)
        for part in parts:
            self.assertIn(part, text)

    def refused_text(self, name, change, line, *parts):
        """Refused with a changed text, which is put back."""
        before = self.text(name)
        self.write(name, change(before))
        with self.subTest(parts=parts):
            self.refused(f"{name}:{line}", *parts)
        self.write(name, before)

    def refused_row(self, line, *parts, **cells):
        """Refused with some cells of a line of the table changed."""
        def change(text):
            lines = [one.split("\t") for one in text.split("\n")]
            for name, cell in cells.items():
                lines[line - 1][lines[0].index(name)] = cell
            return "\n".join(map("\t".join, lines))
        self.refused_text("utterances.tsv", change, line, *parts)

    def refused_features(self, array, *parts):
        numpy.save(self.path("features/utterance0002.npy"), array)
        with self.subTest(parts=parts):
            self.refused("utterances.tsv:4", "features/utterance0002.npy ", *parts)


class Read(FolderTest):
    def test_held_out_utterances_come_in_the_order_of_the_table(self):
        data = self.read()
        self.assertEqual(data.facts, {
            "hash": data.facts["hash"], "vocabulary": 6, "frame_size": 6, "frame_ms": 10,
            "longest_source": max(
                len(one.source) for which, count in ((tasks.TRAINING, 15), (tasks.HELD_OUT, 5))
                for one in data.examples(which, 1, 0, count)),
            "source": "docs/examples/own_data/make.py"})
        made = data.examples(tasks.HELD_OUT, 7, 1, 4)
        there = rows(self.text("utterances.tsv"))[1:5]
        for one, (name, _, target, ends) in zip(made, there, strict=True):
            numpy.testing.assert_array_equal(
                one.source, numpy.load(self.path(f"features/{name}.npy")))
            self.assertEqual(one.source.dtype, numpy.float32)
            self.assertEqual(one.target.tolist(),
                             [2 + make.WORDS.index(word) for word in target.split()] + [1])
            self.assertEqual(one.ends.tolist(), list(map(float, ends.split())))

    def test_an_epoch_has_each_utterance_once_in_an_order_of_seed_and_epoch(self):
        data = self.read()

        def epoch(number, seed=1):
            return [one.source.tobytes()
                    for one in data.examples(tasks.TRAINING, seed, 15 * number, 15)]
        first = epoch(0)
        self.assertEqual(len(set(first)), 15)
        self.assertEqual(first, epoch(0))
        for other in (epoch(1), epoch(0, seed=2)):
            self.assertEqual(set(other), set(first))
            self.assertNotEqual(other, first)
        self.assertEqual(first[10:] + epoch(1)[:3], [
            one.source.tobytes() for one in data.examples(tasks.TRAINING, 1, 10, 8)])
        pairs = {numpy.load(self.path(f"features/{name}.npy")).tobytes(): target.split(" ")
                 for name, _, target, _ in rows(self.text("utterances.tsv"))}
        for one in data.examples(tasks.TRAINING, 1, 0, 15):
            self.assertEqual([2 + make.WORDS.index(word)
                              for word in pairs[one.source.tobytes()]], one.target.tolist()[:-1])
        self.assertFalse(set(first) & {
            one.source.tobytes() for one in data.examples(tasks.HELD_OUT, 1, 0, 5)})

    def test_utterances_of_about_as_many_symbols_are_trained_side_by_side(self):
        counts = [1 + n % 10 for n in range(100)]
        for n, _ in enumerate(counts):
            numpy.save(self.path(f"features/{n}.npy"), numpy.full((10, 6), n, "float32"))
        table = ["id\tsplit\ttarget", "utterance0001\theld_out\tnorth", *(
            f"{n}\ttrain\t{' '.join(['north'] * count)}" for n, count in enumerate(counts))]
        self.write("utterances.tsv", "\n".join(table) + "\n")
        data = self.read()

        def group(number):
            return data.examples(tasks.TRAINING, 1, 16 * number, 16)
        # Groups 6 and 12 are of two epochs.
        for epoch, numbers in enumerate((range(6), range(7, 12), range(13, 18))):
            lengths = [[len(one.target) for one in group(number)] for number in numbers]
            self.assertLessEqual(max(max(one) - min(one) for one in lengths), 2)
            of_epoch = data.examples(tasks.TRAINING, 1, 100 * epoch, 100)
            self.assertEqual(sorted(one.source[0, 0] for one in of_epoch), list(range(100)))
            # Short ones do not all come first.
            means = list(map(numpy.mean, lengths))
            self.assertNotEqual(means, sorted(means))

    def test_every_file_that_is_read_counts_in_the_hash(self):
        before = self.read().facts["hash"]
        numpy.save(self.path("features/utterance0019.npy"), numpy.ones((30, 6), "float32"))
        hashes = {before, self.read().facts["hash"]}
        for name, old, new in (("vocabulary.txt", "west", "west\nup"),
                               ("about.json", "10", "20"),
                               ("utterances.tsv", "utterance0019\ttrain\t",
                                "utterance0019\ttrain\tnorth ")):
            self.write(name, self.text(name).replace(old, new))
            if name == "utterances.tsv":
                self.write(name, self.text(name).replace(
                    self.text(name).split("\t")[-1], "1 " + self.text(name).split("\t")[-1]))
            hashes.add(self.read().facts["hash"])
        self.assertEqual(len(hashes), 5)

    def test_sources_are_tokens_where_there_is_a_column_of_them(self):
        self.write("source_vocabulary.txt", "x\r\ny\r\n")
        self.write("utterances.tsv", "\ufeffid\tsource\ttarget\tsplit\tends\r\n"
                   "a\tx\tnorth\ttrain\t\r\nb\ty x y\teast west\theld_out\t2 3\r\n")
        data = self.read()
        self.assertEqual((data.facts["source_vocabulary"], data.facts.get("frame_size")),
                         (4, None))
        (one,) = data.examples(tasks.HELD_OUT, 1, 0, 1)
        self.assertEqual((one.source.tolist(), one.target.tolist(), one.ends.tolist()),
                         ([3, 2, 3, 1], [3, 5, 1], [2, 3]))
        self.assertIsNone(data.examples(tasks.TRAINING, 1, 0, 1)[0].ends)

    def test_ends_in_seconds_become_frames_and_the_last_may_be_cut(self):
        name = "features/utterance0000.npy"
        frames = numpy.load(self.path(name))
        table = self.text("utterances.tsv").replace("\tends", "\tends_seconds")
        first, *rest = table.split("\n")
        ends = rest[0].split("\t")[-1].split(" ")
        seconds = [f"{int(end) / 100}" for end in ends]
        for behind, accepted in ((2.5, True), (3.5, False)):
            seconds[-1] = f"{(len(frames) + behind) / 100}"
            rest[0] = "\t".join(rest[0].split("\t")[:3] + [" ".join(seconds)])
            others = [line.rsplit("\t", 1)[0] + "\t" for line in rest[1:] if line]
            self.write("utterances.tsv", "\n".join([first, rest[0], *others]))
            if not accepted:
                self.refused("utterances.tsv:2", f"which has {len(frames)}")
                continue
            data = self.read()
            self.assertTrue(data.facts)
            (one,) = data.examples(tasks.HELD_OUT, 1, 0, 1)
            numpy.testing.assert_allclose(
                one.ends, [*map(float, ends[:-1]), len(frames)], rtol=1e-12)


class Refused(FolderTest):
    def test_a_folder_or_a_table_that_is_not_there(self):
        with self.assertRaisesRegex(load.DataError, "none: is no folder, as seen from"):
            folder.Folder(self.path("none"))
        for name in ("vocabulary.txt", "utterances.tsv"):
            os.rename(self.path(name), self.path("kept"))
            self.refused(name, "cannot be read: No such file")
            os.rename(self.path("kept"), self.path(name))

    def test_a_vocabulary_that_is_none(self):
        for change, line, *parts in (
                (lambda text: text + "east\n", 5, "'east' is there twice, first in line 2"),
                (lambda text: "<s>\n" + text, 1, "'<s>' is the program's own"),
                (lambda text: text.replace("east", "</s>"), 2, "'</s>' is the program's own"),
                (lambda text: text + "\n", 5, "'' is no symbol"),
                (lambda text: text.replace("east", "far east"), 2, "'far east' is no symbol"),
                (lambda text: text.encode().replace(b"south", b"\xff"), 3, "is not UTF-8"),
                (lambda text: "\n".join(map(str, range(99_999))), 99_999, "99998")):
            self.refused_text("vocabulary.txt", change, line, *parts)

    def test_columns_that_are_none(self):
        for old, new, *parts in (
                ("id\t", "", "has no column id"),
                ("\tends", "\tend", "unknown column 'end'; did you mean 'ends'?"),
                ("\tends", "\tends\tid", "column id is there twice"),
                ("\tends", "\tends\tends_seconds", "expected one of them")):
            self.refused_text("utterances.tsv", lambda text, old=old, new=new:
                              text.replace(old, new, 1), 1, *parts)
        os.remove(self.path("about.json"))
        self.refused_text("utterances.tsv", lambda text: text.replace("ends", "ends_seconds"),
                          1, "frame_ms", "about.json")

    def test_lines_that_are_no_utterance(self):
        self.refused_row(3, "the split is 'test'; expected train or held_out", split="test")
        self.refused_row(4, "the id is '../a'", id="../a")
        self.refused_row(4, "the id is ''", id="")
        self.refused_row(9, "the id 'utterance0000' is there twice, first in line 2",
                         id="utterance0000")
        self.refused_row(5, "the target is empty", target="")
        self.refused_row(5, "the target has 'up', which is not in the vocabulary",
                         target="north up")
        self.refused_row(5, "the target has ''", target="north  east")
        self.refused_row(5, "the target has '<s>'", target="<s>")
        self.refused_row(5, "at most 10000", target=" ".join(["east"] * 10_001), ends="")
        self.refused_row(6, "has 5 columns; line 1 names 4", target="east\twest")
        self.refused_text("utterances.tsv", lambda text: text + "\n", 22, "has 1 column;")
        self.refused_text("utterances.tsv", lambda text: text.encode() + b"\xe9", 22,
                          "is not UTF-8")

    def test_a_split_without_utterances(self):
        for split, other in (("train", "held_out"), ("held_out", "train")):
            self.refused_text(
                "utterances.tsv",
                lambda text, split=split, other=other:
                    text.replace(f"\t{split}\t", f"\t{other}\t"),
                21, f"has the split {split}")

    def test_ends_that_are_none(self):
        self.refused_row(2, "has 1 end, and the target 2 symbols", target="east west",
                         ends="5")
        self.refused_row(2, "an end, 4, is before the one that it follows, 5",
                         target="east west", ends="5 4")
        self.refused_row(2, "'x' is no end", target="east", ends="x")
        self.refused_row(2, "'0' is no end", target="east", ends="0")
        os.remove(self.path("about.json"))
        frames = len(numpy.load(self.path("features/utterance0000.npy")))
        self.refused_row(2, f"the last end is {frames + 1} entries", f"which has {frames}",
                         target="east", ends=str(frames + 1))

    def test_features_that_are_none(self):
        good = numpy.load(self.path("features/utterance0002.npy"))
        self.refused_features(good[:, :5], "has frames of 5 numbers; those before have 6")
        self.refused_features(good[0], "has the shape [6]; expected [frames, dims]")
        self.refused_features(good[:0], "has the shape [0, 6]")
        self.refused_features(good.astype("int16"), "is no array of floats")
        self.refused_features(numpy.array([{}]), "is no array of numpy")
        for wrong in (numpy.nan, 1e39):
            bad = good.astype("float64")
            bad[3, 1] = wrong
            self.refused_features(bad, "is not finite in float32, at number 2 of frame 4")
        self.refused_features(good.astype("longdouble"), "is no array of floats")
        numpy.save(self.path("good.npy"), good)
        with open(self.path("good.npy"), "rb") as file:
            whole = file.read()
        for data in (b"", b"\x93NUMPY\x01\x00v\x00{", b"text", b"PK\3\4", whole + b"\0",
                     whole.replace(b"(", b"(999999999999,"), whole.replace(b"}", b" ")):
            self.write("features/utterance0002.npy", data)
            with self.subTest(data=data[:80]):
                self.refused("utterances.tsv:4", "features/utterance0002.npy is no array of numpy")
        # Results may have no more: --resume would refuse them.
        numpy.save(self.path("features/utterance0002.npy"), numpy.zeros((10**6 + 1, 6), "float16"))
        self.refused("utterances.tsv:4", "the source has 1000001 entries; at most 1000000")
        os.remove(self.path("features/utterance0002.npy"))
        self.refused("utterances.tsv:4",
                     "features/utterance0002.npy cannot be read: No such file")

    def test_what_is_said_about_the_data(self):
        for about, place, *parts in (
                ({"frame": 10}, "about.json", "did you mean 'frame_ms'"),
                ({"frame_ms": 0}, "about.json: frame_ms", "above 0"),
                ({"frame_ms": True}, "about.json: frame_ms", "above 0"),
                ({"source": 1}, "about.json: source", "is no text")):
            self.write("about.json", json.dumps(about))
            with self.subTest(parts=parts):
                self.refused(place, *parts)


class WithFacts(FolderTest):
    def with_facts(self, **more):
        return folder.with_facts({"task": "folder", "data": self.folder, **more}, "x.json: s")

    def test_what_follows_from_the_data_is_added(self):
        lengths = [len(line.split("\t")[2].split())
                   for line in self.text("utterances.tsv").split("\n")[1:-1]]
        self.assertEqual(self.with_facts(dim=8), {
            "task": "folder", "data": self.folder, "dim": 8, "held_out": 5,
            "curve_held_out": 5, "least_symbols": min(lengths), "most_symbols": max(lengths),
            "data_facts": self.read().facts})
        self.assertEqual(self.with_facts(held_out=3)["held_out"], 3)

    def test_settings_that_do_not_fit_the_data_are_refused(self):
        for wrong, *parts in (
                ({"held_out": 6}, "x.json: s.held_out: is 6; ", "has 5 held-out utterances"),
                ({"curve_held_out": 6}, "x.json: s.curve_held_out: is 6; "),
                ({"most_symbols": 3}, "x.json: s.most_symbols: is not for task folder"),
                ({"data_facts": {}}, "x.json: s.data_facts: is not for task folder")):
            with self.assertRaises(load.DataError) as caught:
                self.with_facts(**wrong)
            for part in parts:
                self.assertIn(part, str(caught.exception))
        with self.assertRaisesRegex(load.DataError, "x.json: s.data: is missing"):
            folder.with_facts({"task": "folder"}, "x.json: s")

    def test_a_batch_that_the_data_make_too_large_is_refused(self):
        facts = {"hash": "a", "vocabulary": 99, "frame_size": 4096, "longest_source": 4000}
        for most_symbols, batch, part in (
                (500, 17, "is 17: with these data attention has up to 17 x 501 x 4000 weights"),
                (50, 66, "is 66: gates, frames or logits are up to 1081344000 numbers")):
            made = settings.Settings(task="folder", data="d", data_facts=facts, batch=batch,
                                     most_symbols=most_symbols)
            with self.assertRaises(load.DataError) as caught:
                settings.check(made, "x.json: s")
            self.assertIn(f"x.json: s.batch: {part}", str(caught.exception))

    def test_seeds_take_turns_with_folders(self):
        other = self.path("other")
        os.mkdir(other)
        make.main(other)
        experiment = {"name": "x", "seed": 4, "folders": [self.folder, other],
                      "settings": {"task": "folder"},
                      "alternatives": [{"name": "a", "seeds": 3}, {"name": "b"}]}
        runs = settings.runs(experiment, "x.json")
        self.assertEqual([(run.name, run.seed, run.settings.data) for run in runs], [
            ("a", 4, self.folder), ("b", 4, self.folder), ("a", 5, other), ("a", 6, self.folder)])
        experiment["settings"]["data"] = other
        with self.assertRaisesRegex(load.DataError, "settings.data: is given, and so are folders"):
            settings.runs(experiment, "x.json")

    def test_other_tasks_have_no_data(self):
        experiment = {"name": "x", "alternatives": [
            {"name": "a", "settings": {"task": "copy", "data": self.folder}}]}
        with self.assertRaisesRegex(
                load.DataError, r"settings.data: is for task folder; the task is copy"):
            settings.runs(experiment, "x.json")


if __name__ == "__main__":
    unittest.main()
