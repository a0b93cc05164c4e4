#!/usr/bin/env python3
"""Makes a folder of data (docs/own_data.md) out of what Debian packages hold.

    /usr/bin/python3 experiments/training/corpora.py g2p
    /usr/bin/python3 experiments/training/corpora.py speech -j 2

g2p         words, and the phones that they are read as: of festlex-cmu
speech      log-mel frames of short sentences, their phones, and when each of them ends:
            sentences of wordnet-base, spoken by four speakers of flite. One of them is only in
            held-out utterances; a speaker of training speaks the same sentences

The default folders, build/corpora/g2p and build/corpora/speech-SPEAKER, are those that
experiments/training/*.json name. Equal requests make equal folders, with equal versions of the
packages. A folder that is there stays.
"""

import concurrent.futures
import contextlib
import fcntl
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import measured
from attnbench.analysis import start
with start.imports("corpora.py"):
    import numpy

    import spoken
    from attnbench.analysis import command, load, whole_file

LEXICON = "/usr/share/festival/dicts/cmu/cmudict-0.4.out"
# A word of small letters, its part of speech, and syllables of phones with their stress.
ENTRY = re.compile(r'\("([a-z]+)" \S+ \((.*)\)\)')
MOST_HELD_OUT_WORDS = 2000
GLOSSES = "/usr/share/wordnet/data.noun"
# Longer sentences would cost more than they teach: a step of training takes as long as its
# longest sentence.
SENTENCE = re.compile(r"(?=.{10,28}$)[a-z]+( [a-z]+)+")
UTTERANCES = 6000
LEAST_UTTERANCES, TELL_EVERY = 3, 500
# The versions that the committed results are of.
TESTED = {"festlex-cmu": "2.4-2", "flite": "2.2-5", "wordnet-base": "1:3.0-37"}
GREATEST_SEED = 2**32 - 1
MOST_JOBS = 1024
INTERRUPTED = 130


def main(arguments=None):
    options = parse(arguments)
    try:
        options.seed = command.whole_number("--seed", options.seed, 0, GREATEST_SEED)
        options.jobs = command.whole_number("--jobs", options.jobs, 1, MOST_JOBS)
        corpus = MAKERS[options.corpus](options)
        if is_there(options.output, corpus.about["source"]):
            return 0
        with new_folder(options.output) as folder:
            columns, rows = corpus.rows(folder)
            write_tables(folder, corpus.about, columns, rows)
        print(f"{options.output}: {command.counted(len(rows), 'utterance')}", file=sys.stderr)
    except (load.DataError, command.UsageError) as error:
        return command.fail(error, "corpora.py")
    except OSError as error:
        return command.fail(f"{options.output}: cannot be made: {error.strerror}", "corpora.py")
    except KeyboardInterrupt:
        command.fail("interrupted; nothing is kept", "corpora.py")
        return INTERRUPTED
    return 0


def parse(arguments):
    parser = command.parser("corpora.py", __doc__)
    parser.add_argument("corpus", choices=MAKERS)
    parser.add_argument("--seed", metavar="N", default="1", help="default: 1")
    parser.add_argument("--utterances", metavar="N", help=(
        f"in training and held out; default: all words, {UTTERANCES} of speech"))
    parser.add_argument("--held-out-speaker", metavar="NAME", default=spoken.SPEAKERS[-1], help=(
        f"{', '.join(spoken.SPEAKERS)}; default: {spoken.SPEAKERS[-1]}"))
    parser.add_argument("-j", "--jobs", metavar="N", default="1", help="default: 1")
    parser.add_argument("-o", "--output", metavar="FOLDER")
    return parser.parse_args(arguments)


class G2p:
    """Letters as the source, phones without stress as the target. Of several readings of a
    spelling the first one counts.
    """

    def __init__(self, options):
        version = version_of("festlex-cmu", LEXICON)
        read = {}
        with open(LEXICON, encoding="latin-1") as file:
            for entry in filter(None, map(ENTRY.fullmatch, file.read().splitlines())):
                read.setdefault(entry[1], re.findall("[a-z]+", entry[2]))
        words = sorted(word for word in read if read[word])
        count = utterances(options, len(words), len(words))
        self.words = drawn(words, count, options.seed)
        self.read = read
        options.output = options.output or os.path.join("build", "corpora", "g2p")
        self.about = {"source": (
            f"{count} words of the CMU dictionary as Festival has it (Debian's festlex-cmu "
            f"{version}; free to use, copy and change), drawn with seed {options.seed}")}

    def rows(self, folder):
        held_out = min(MOST_HELD_OUT_WORDS, len(self.words) // 10 or 1)
        return ("id", "split", "source", "target"), [
            (word, "held_out" if n < held_out else "train", " ".join(word),
             " ".join(self.read[word]))
            for n, word in enumerate(self.words)]


class Speech:
    """Sentences spoken by three speakers in training, at speeds of their own. Each held-out
    sentence is spoken by the held-out speaker and by one of training, so that the two can be
    compared.
    """

    def __init__(self, options):
        wordnet = version_of("wordnet-base", GLOSSES)
        flite = version_of("flite", spoken.FLITE)
        strange = options.held_out_speaker
        if strange not in spoken.SPEAKERS:
            raise command.UsageError("--held-out-speaker: " + command.unknown(
                "speaker", strange, spoken.SPEAKERS))
        spoken.check_voices()
        with open(GLOSSES, encoding="latin-1") as file:
            glosses = {line.partition("| ")[2].partition(";")[0].strip() for line in file}
        sentences = sorted(filter(SENTENCE.fullmatch, glosses))
        count = utterances(options, UTTERANCES, len(sentences))
        pairs = count // 20 or 1
        heard = [one for one in spoken.SPEAKERS if one != strange]
        self.asked = []  # id, sentence, speaker, split
        for n, sentence in enumerate(drawn(sentences, count - pairs, options.seed)):
            speakers = [heard[n % len(heard)]]
            split = "train"
            if n < pairs:
                speakers.append(strange)
                split = "held_out"
            self.asked += [(f"{n:04}-{one}", sentence, one, split) for one in speakers]
        self.seed, self.jobs = options.seed, options.jobs
        options.output = options.output or os.path.join("build", "corpora", f"speech-{strange}")
        self.about = {"frame_ms": spoken.FRAME_MS, "source": (
            f"{count} utterances of sentences of WordNet's glosses (Debian's wordnet-base "
            f"{wordnet}, WordNet licence), spoken by {', '.join(heard)}, and {strange} held out, "
            f"of flite (Debian's flite {flite}, free to use, copy and change) in pink noise at "
            f"{spoken.SNR_DB} dB, drawn with seed {options.seed}")}

    def rows(self, folder):
        with tempfile.TemporaryDirectory() as sounds:
            made = list(self._spoken(sounds))
        in_training = numpy.concatenate([
            one.frames for one, asked in zip(made, self.asked) if asked[3] == "train"])
        mean, deviation = in_training.mean(0), in_training.std(0)
        os.mkdir(os.path.join(folder, "features"))
        rows = []
        for one, (name, _, speaker, split) in zip(made, self.asked):
            entries = spoken.entries((one.frames - mean) / deviation)
            numpy.save(os.path.join(folder, "features", f"{name}.npy"),
                       entries.astype(numpy.float16))
            rows.append((name, split, speaker, " ".join(one.phones),
                         " ".join(f"{end:.4f}" for end in one.ends)))
        return ("id", "split", "speaker", "target", "ends_seconds"), rows

    def _spoken(self, sounds):
        def speak(number):
            name, sentence, speaker, split = self.asked[number]
            return spoken.spoken(
                sentence, speaker, split == "train",
                numpy.random.RandomState([self.seed, number]),
                os.path.join(sounds, f"{name}.wav"))

        # Threads will do: most of the time is in flite's own processes.
        pool = concurrent.futures.ThreadPoolExecutor(self.jobs)
        try:
            for number, one in enumerate(pool.map(speak, range(len(self.asked))), 1):
                if number % TELL_EVERY == 0:
                    print(f"{number} of {len(self.asked)} utterances are spoken",
                          file=sys.stderr, flush=True)
                yield one
        finally:  # an interrupt does not wait for those that were not begun
            pool.shutdown(cancel_futures=True)


MAKERS = {"g2p": G2p, "speech": Speech}


def version_of(package, path):
    """The version of a Debian package, of which the file is."""
    if not os.path.exists(path):
        raise command.UsageError(
            f"{path}: is not there; it is of Debian's package {package}: apt-get install "
            f"{package}")
    asked = ["dpkg-query", "-W", "-f", "${Version}", package]
    try:
        version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        version = "of unknown version"
    if version != TESTED[package]:
        command.fail(f"{package} is {version}; this project's results are of "
                     f"{TESTED[package]}, so yours may differ", "corpora.py")
    return version


def utterances(options, default, most):
    if options.utterances is None:
        return min(default, most)
    return command.whole_number("--utterances", options.utterances, LEAST_UTTERANCES, most)


def drawn(items, count, seed):
    return [items[n] for n in numpy.random.RandomState(seed).permutation(len(items))[:count]]


def is_there(folder, source):
    """Whether the folder holds this data. UsageError if something else is there."""
    if not os.path.lexists(folder):
        return False
    about = os.path.join(folder, "about.json")
    there = load.read_json(about).get("source") if os.path.exists(about) else "something else"
    if there != source:
        raise command.UsageError(f"{folder}: holds {there}; asked for are {source}. Remove it, or "
                                 "name another folder (-o)")
    print(f"{folder}: is there already", file=sys.stderr)
    return True


@contextlib.contextmanager
def new_folder(path):
    """Gives a folder that becomes `path` where nothing raises. Removes those that a killed
    program left; the lock tells them from one that is being made.
    """
    path = os.path.abspath(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    for left in glob.glob(glob.escape(path + whole_file.UNFINISHED) + "*"):
        with contextlib.suppress(BlockingIOError), locked(left):
            shutil.rmtree(left)
    folder = tempfile.mkdtemp(
        prefix=os.path.basename(path) + whole_file.UNFINISHED, dir=os.path.dirname(path))
    with locked(folder):
        try:
            yield folder
            os.chmod(folder, 0o755)  # mkdtemp's 0700 would keep others from reading it
            os.rename(folder, path)
        except BaseException:
            shutil.rmtree(folder)
            raise


@contextlib.contextmanager
def locked(folder):
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def write_tables(folder, about, columns, rows):
    write_lines(folder, "utterances.tsv", ["\t".join(row) for row in (columns, *rows)])
    for column, name in (("target", "vocabulary.txt"), ("source", "source_vocabulary.txt")):
        if column in columns:
            place = columns.index(column)
            write_lines(folder, name, sorted(
                {symbol for row in rows for symbol in row[place].split(" ")}))
    write_lines(folder, "about.json", [json.dumps(about)])


def write_lines(folder, name, lines):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
