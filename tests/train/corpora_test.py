"""Guards against data of words and speech that are not what their packages hold, against ends
of phones that are not where the sound ends, and against folders that are half made.
"""

import contextlib
import fcntl
import filecmp
import glob
import io
import os
import resource
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

import numpy

from attnbench.analysis import ROOT
from attnbench.train import folder, tasks
from in_folder import InFolder

PROGRAM = os.path.join(ROOT, "experiments", "training", "corpora.py")
sys.path.insert(0, os.path.dirname(PROGRAM))

import corpora  # noqa: E402, in a folder that the line before names
import spoken  # noqa: E402


class CorporaTest(InFolder):
    def make(self, corpus, name="made", *more):
        """Makes a folder, and gives its utterances, and what was told."""
        code, told = self.run_here(corpus, "-o", self.path(name), *more)
        self.assertEqual(code, 0, told)
        return self.read(name), told

    def run_here(self, *arguments):
        with contextlib.redirect_stderr(io.StringIO()) as told:
            code = corpora.main(arguments)
        return code, told.getvalue()

    def read(self, name):
        """The rows of the table, as the reader of own data and as texts; it reads all."""
        self.data = folder.Folder(self.path(name))
        self.facts = self.data.facts
        with open(self.path(name) + "/utterances.tsv", encoding="utf-8") as file:
            columns, *rows = [line.rstrip("\n").split("\t") for line in file]
        return [dict(zip(columns, row)) for row in rows]

    def refused(self, arguments, *parts):
        """In one line, which has the parts, and leaves nothing."""
        code, told = self.run_here(*arguments, "-o", self.path("made"))
        self.assertEqual(code, 2, told)
        self.assertEqual(told.count("\n"), 1, told)
        for part in parts:
            self.assertIn(part, told)
        self.assertEqual(os.listdir(self.folder), [])

    def program(self, *arguments, **more):
        run = subprocess.Popen(
            [sys.executable, PROGRAM, *arguments, "-o", self.path("made")],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **more)
        self.addCleanup(run.kill)
        return run

    def assert_equal_folders(self, one, other):
        files = sorted(glob.glob("**", root_dir=self.path(one), recursive=True))
        self.assertEqual(files, sorted(glob.glob("**", root_dir=self.path(other), recursive=True)))
        for name in files:
            pair = [os.path.join(self.path(folder), name) for folder in (one, other)]
            if os.path.isfile(pair[0]):
                self.assertTrue(filecmp.cmp(*pair, shallow=False), name)


class G2pTest(CorporaTest):
    def lexicon(self, *entries):
        path = os.path.join(self.new_folder(), "lexicon")
        with open(path, "w", encoding="latin-1") as file:
            file.write("MNCL\n" + "".join(entry + "\n" for entry in entries))
        return mock.patch.object(corpora, "LEXICON", path)

    def test_a_word_has_its_first_reading_without_stress(self):
        with self.lexicon('("read" vbp (((r iy d) 1)))', '("read" vbd (((r eh d) 1)))',
                          '("kitchen" n (((k ih) 1) ((ch ax n) 0)))',
                          '("Agha" n (((aa) 1) ((g ax) 0)))', '("o\'clock" n (((ow) 1)))',
                          '("sea" n (((s iy) 1)))'):
            rows = self.make("g2p")[0]
        self.assertEqual({row["source"]: row["target"] for row in rows}, {
            "r e a d": "r iy d", "k i t c h e n": "k ih ch ax n", "s e a": "s iy"})
        self.assertEqual([row["split"] for row in rows], ["held_out", "train", "train"])

    def test_the_lexicon_of_the_package_is_read(self):
        rows, told = self.make("g2p")
        self.assertEqual(told, f"{self.path('made')}: 105538 utterances\n")
        self.assertEqual(self.facts["source_vocabulary"], 26 + 2)
        self.assertEqual(self.facts["vocabulary"], 40 + 2)
        self.assertEqual(len(self.data.of_split[tasks.HELD_OUT]), 2000)
        self.assertRegex(self.facts["source"], r"festlex-cmu 2\.4-2; .* seed 1$")
        self.assertIn(("a t t e n t i o n", "ax t eh n sh ax n"),
                      [(row["source"], row["target"]) for row in rows])

    def test_another_seed_holds_out_other_words(self):
        held_out = []
        for seed in ("0", "1", str(2**32 - 1)):
            rows = self.make("g2p", seed, "--seed", seed, "--utterances", "100")[0]
            held_out.append({row["id"] for row in rows if row["split"] == "held_out"})
        self.assertEqual([len(words) for words in held_out], [10] * 3)
        self.assertFalse(set.intersection(*held_out))

    def test_a_folder_that_is_there_stays_unless_it_holds_something_else(self):
        asked = ("g2p", "-o", self.path("made"), "--utterances", "10")
        self.run_here(*asked)
        before = os.stat(self.path("made"))
        code, told = self.run_here(*asked)
        self.assertEqual((code, told), (0, f"{self.path('made')}: is there already\n"))
        self.assertTrue(os.path.samestat(before, os.stat(self.path("made"))))
        for other in (("g2p", "--seed", "2"), ("speech",)):
            code, told = self.run_here(*other, "-o", self.path("made"), "--utterances", "10")
            self.assertEqual(code, 2)
            self.assertRegex(told, r"made: holds 10 words .* seed 1; asked for are .*-o\)\n$")
        os.remove(self.path("made/about.json"))
        self.assertIn("made: holds something else", self.run_here(*asked)[1])

    def test_what_cannot_be_asked_for_is_told(self):
        for option, value, part in (
                ("--seed", "-1", "'-1' is no whole number from 0 to 4294967295"),
                ("--seed", "4294967296", "'4294967296' is no whole number"),
                ("--seed", "now", "'now' is no whole number"),
                ("--utterances", "2", "'2' is no whole number from 3 to 105538"),
                ("--utterances", "105539", "'105539' is no whole number"),
                ("--jobs", "0", "'0' is no whole number from 1 to 1024")):
            self.refused(("g2p", f"{option}={value}"), f"corpora.py: {option}: {part}")
        with mock.patch.object(corpora, "LEXICON", "/not/there"):
            self.refused(("g2p",), "/not/there: is not there; it is of Debian's package "
                         "festlex-cmu: apt-get install festlex-cmu")

    def test_another_version_is_told_and_is_in_the_result(self):
        with mock.patch.dict(corpora.TESTED, {"festlex-cmu": "1.0"}):
            told = self.make("g2p", "made", "--utterances", "10")[1]
        self.assertIn("corpora.py: festlex-cmu is 2.4-2; this project's results are of 1.0, so "
                      "yours may differ\n", told)
        self.assertIn("festlex-cmu 2.4-2", self.facts["source"])

    def test_nothing_is_left_where_the_disk_is_full(self):
        run = self.program("g2p", preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (100_000, 100_000)))
        told = run.communicate(timeout=60)[1]
        self.assertEqual(run.returncode, 2, told)
        self.assertEqual(told, f"corpora.py: {self.path('made')}: cannot be made: File too "
                               "large\n")
        self.assertEqual(os.listdir(self.folder), [])


class SpeechTest(CorporaTest):
    def test_two_speakers_speak_the_held_out_sentences_and_one_is_strange(self):
        rows = self.make("speech", "made", "--utterances", "40", "--held-out-speaker", "awb")[0]
        held_out = [row for row in rows if row["split"] == "held_out"]
        self.assertEqual([row["speaker"] for row in held_out], ["kal16", "awb", "slt", "awb"])
        self.assertEqual(held_out[0]["id"], "0000-kal16")
        for n in (0, 2):
            # What they say may differ by a phone or two.
            self.assertLess(2 * tasks.edit_distance(
                held_out[n]["target"].split(), held_out[n + 1]["target"].split()),
                len(held_out[n]["target"].split()))
        in_training = [row["speaker"] for row in rows if row["split"] == "train"]
        self.assertEqual({one: in_training.count(one) for one in in_training},
                         {"kal16": 12, "rms": 12, "slt": 12})
        self.assertNotIn("pau", " ".join(row["target"] for row in rows).split())
        self.assertEqual(self.facts["frame_size"], 120)
        self.assertEqual(self.facts["frame_ms"], 30)
        self.assertRegex(self.facts["source"], "wordnet-base 1:3.0-37.* flite 2.2-5")

    def test_phones_end_where_the_sound_ends(self):
        with mock.patch.object(spoken, "SNR_DB", 60):
            rows = self.make("speech", "made", "--utterances", "24", "-j", "2")[0]
        frames = [self.frames(row) for row in rows]
        in_training = numpy.concatenate([
            one for one, row in zip(frames, rows) if row["split"] == "train"])
        self.assertLess(abs(in_training.mean()), 0.01)
        self.assertLess(abs(in_training.std() - 1), 0.02)
        for row, of_row in zip(rows, frames):
            ends = [float(end) / 0.03 for end in row["ends_seconds"].split()]
            loudness = of_row.mean(1)
            loud = numpy.nonzero(loudness > loudness.min() + 0.3)[0]
            with self.subTest(row["id"]):
                self.assertLess(ends[-1], len(of_row))
                if row["speaker"] in ("awb", "kal16"):  # the pauses of others are not silent
                    self.assertLess(abs(loud[-1] + 1 - ends[-1]), 2.5)

    def frames(self, row):
        made = numpy.load(self.path(f"made/features/{row['id']}.npy"))
        self.assertEqual(made.dtype, numpy.float16)
        return made.astype(numpy.float32)

    def test_the_same_request_makes_the_same_folder(self):
        for name, *more in (("one",), ("two", "-j", "3"), ("other", "--seed", "2")):
            self.make("speech", name, "--utterances", "6", *more)
        self.assert_equal_folders("one", "two")
        targets = [[row["target"] for row in self.read(name)] for name in ("one", "other")]
        self.assertNotEqual(*targets)

    def test_log_mel_is_as_its_formula_says(self):
        samples = numpy.random.RandomState(1).normal(size=1200) * 1000
        made = spoken.log_mel(samples)
        self.assertEqual(made.shape, (6, 40))
        n, k = numpy.arange(400), numpy.arange(257)
        hann = 0.5 - 0.5 * numpy.cos(2 * numpy.pi * n / 399)
        spectrum = numpy.exp(-2j * numpy.pi * numpy.outer(k, n) / 512) @ (
            hann * samples[320:720])
        edges = 700 * (10 ** (numpy.linspace(0, 2595 * numpy.log10(1 + 8000 / 700), 42) / 2595)
                       - 1)
        for m in range(40):
            triangle = numpy.interp(k * 16000 / 512, edges[m:m + 3], [0, 1, 0])
            expected = numpy.log(1 + triangle @ abs(spectrum) ** 2)
            self.assertAlmostEqual(made[2, m], expected, places=4)

    def test_noise_is_as_loud_as_stated_and_falls_with_frequency(self):
        samples = 1000 * numpy.sin(numpy.arange(16000))
        noise = spoken.in_noise(samples, numpy.random.RandomState(1)) - samples
        self.assertAlmostEqual(20 * numpy.log10(samples.std() / noise.std()), 15, places=6)
        power = abs(numpy.fft.rfft(noise)) ** 2
        self.assertAlmostEqual(power[100:200].mean() / power[1000:2000].mean(), 10, delta=2)

    def test_a_speaker_that_is_not_there_is_told(self):
        self.refused(("speech", "--held-out-speaker", "stl"), "--held-out-speaker: unknown "
                     "speaker 'stl'; did you mean 'slt'?")
        flite = os.path.join(self.new_folder(), "flite")
        with mock.patch.object(spoken, "FLITE", flite):
            self.refused(("speech",), "apt-get install flite")
            for text, *parts in (
                    ("echo Voices available: kal awb_time kal16 awb rms",
                     "lists kal, awb_time, kal16, awb, rms, not 'slt'"),
                    ("echo broken >&2; exit 3", "exit code 3", "broken"),
                    # The file is empty, or cut off in its header or after it.
                    *(("[ $1 = -lv ] && echo Voices available: kal16 awb rms slt && exit; "
                       f"echo a:9.5; head -c {size} {self.empty_sound()} > $7",
                       "made 0 s of sound", "is the disk of") for size in (0, 20, 44))):
                with open(flite, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\n{text}\n")
                os.chmod(flite, 0o755)
                self.refused(("speech", "--utterances", "6"), *parts)

    def empty_sound(self):
        path = os.path.join(self.new_folder(), "empty.wav")
        with spoken.wave.open(path, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(16000)
        return path

    def test_an_interrupted_synthesis_leaves_nothing(self):
        run = self.begun()
        run.send_signal(signal.SIGINT)
        told = run.communicate(timeout=60)[1]
        self.assertEqual(run.returncode, 130, told)
        self.assertEqual(told, "corpora.py: interrupted; nothing is kept\n")
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_a_killed_synthesis_left_goes_and_is_not_used(self):
        run = self.begun()
        run.kill()
        run.communicate(timeout=60)
        self.assertEqual(len(os.listdir(self.folder)), 1)
        in_work = self.path("made.unfinished-other")
        os.mkdir(in_work)
        descriptor = os.open(in_work, os.O_RDONLY)
        self.addCleanup(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # as another program holds it
        self.make("speech", "made", "--utterances", "3")
        self.assertEqual(sorted(os.listdir(self.folder)), ["made", "made.unfinished-other"])

    def begun(self):
        """A program that is speaking."""
        run = self.program("speech")
        while not glob.glob(os.environ["TMPDIR"] + "/*/*.wav"):
            self.assertIsNone(run.poll())
            time.sleep(0.01)
        return run


if __name__ == "__main__":
    unittest.main()
