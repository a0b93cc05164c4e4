"""Reads the tables of a folder of own data (folder.py): all but the features. What is wrong
is a DataError with file and line.
"""

import dataclasses
import os
import re
from typing import Optional

import numpy

from attnbench.analysis import command, input_file, load
from attnbench.train import tasks

COLUMNS = ("id", "split", "target", "source", "ends", "ends_seconds", "speaker")
SPLITS = {"train": tasks.TRAINING, "held_out": tasks.HELD_OUT}
SPECIAL = {"<s>": tasks.START, "</s>": tasks.END}
NAME = r"[\w.-]{1,64}"  # of a speaker
MOST_SYMBOLS, MOST_TARGET = 100_000, 10_000


@dataclasses.dataclass(frozen=True, eq=False)
class Utterance:
    line: int  # of utterances.tsv
    id: str
    split: int  # one of SPLITS' values
    target: numpy.ndarray  # int64, with END
    source: Optional[numpy.ndarray]  # int64, with END; None: it has features
    ends: Optional[numpy.ndarray]  # of each symbol of the target, in entries of the source
    speaker: Optional[str]


class Tables:
    def __init__(self, folder):
        if not os.path.isdir(folder):
            raise load.DataError(folder, "is no folder, as seen from the working folder, "
                                         f"{os.getcwd()}; docs/own_data.md says what is in one")
        self.folder = folder
        self.bytes = b""  # of all that is read
        self.vocabulary = self._vocabulary("vocabulary.txt")  # the number of each symbol
        self.about = self._about()
        self.path = os.path.join(folder, "utterances.tsv")
        header, *lines = self._lines("utterances.tsv")
        names = header.split("\t")
        self._check_columns(names)
        self.source_vocabulary = (
            self._vocabulary("source_vocabulary.txt") if "source" in names else None)
        self.utterances = [self._utterance(number, names, line.split("\t"))
                           for number, line in enumerate(lines, 2)]
        self._check_ids()
        for name, split in SPLITS.items():
            if all(one.split != split for one in self.utterances):
                self.fail(len(lines) + 1, f"no line up to here has the split {name}; both "
                                          "are needed")

    def fail(self, line, what):
        raise load.DataError(f"{self.path}:{line}", what)

    def _read(self, path):
        try:
            data = input_file.read(path)
        except input_file.Unreadable as error:
            raise load.DataError(path, f"cannot be read: {error}") from error
        self.bytes += data
        return data

    def _lines(self, name):
        """The lines of a text, without their ends."""
        path = os.path.join(self.folder, name)
        data = self._read(path).removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n")
        lines = []
        for number, line in enumerate(data.split(b"\n"), 1):
            try:
                lines.append(line.removesuffix(b"\r").decode("utf-8"))
            except UnicodeDecodeError as error:
                raise load.DataError(f"{path}:{number}", "is not UTF-8") from error
        return lines

    def _vocabulary(self, name):
        numbers = dict(SPECIAL)
        for line, symbol in enumerate(self._lines(name), 1):
            where = f"{os.path.join(self.folder, name)}:{line}"
            if not symbol or set(symbol) & set(" \t"):
                raise load.DataError(where, f"'{symbol}' is no symbol; expected one in each "
                                            "line, without blanks and tabs")
            if symbol in SPECIAL:
                raise load.DataError(where, f"'{symbol}' is the program's own; leave it out")
            if symbol in numbers:
                raise load.DataError(where, f"'{symbol}' is there twice, first in line "
                                            f"{numbers[symbol] - tasks.FIRST + 1}")
            numbers[symbol] = len(numbers)
            if len(numbers) > MOST_SYMBOLS:
                raise load.DataError(where, f"more symbols than {MOST_SYMBOLS - len(SPECIAL)}")
        return numbers

    def _about(self):
        path = os.path.join(self.folder, "about.json")
        if not os.path.exists(path):
            return {}
        about = load.read_json(path)
        self._read(path)
        for key, value in about.items():
            if key not in ("source", "frame_ms"):
                raise load.DataError(path, command.unknown("key", key, ["source", "frame_ms"]))
            if key == "source" and not isinstance(value, str):
                raise load.DataError(f"{path}: source", "is no text")
            if key == "frame_ms" and not (type(value) in (int, float) and value > 0):
                raise load.DataError(f"{path}: frame_ms", "is no number above 0")
        return about

    def _check_columns(self, names):
        for name in names:
            if name not in COLUMNS:
                self.fail(1, command.unknown("column", name, COLUMNS))
            if names.count(name) > 1:
                self.fail(1, f"column {name} is there twice")
        for name in ("id", "split", "target"):
            if name not in names:
                self.fail(1, f"has no column {name}; expected the names of columns, between "
                             "tabs")
        if {"ends", "ends_seconds"} <= set(names):
            self.fail(1, "has ends and ends_seconds; expected one of them")
        if "ends_seconds" in names and "frame_ms" not in self.about:
            self.fail(1, "ends_seconds needs frame_ms, the time of a frame, in "
                         f"{os.path.join(self.folder, 'about.json')}")

    def _utterance(self, line, names, cells):
        if len(cells) != len(names):
            self.fail(line, f"has {command.counted(len(cells), 'column')}; line 1 names "
                            f"{len(names)}")
        row = dict(zip(names, cells))
        name, split = row["id"], row["split"]
        if not name or name[0] == "." or not name.isprintable() or set(name) & set("/\\: "):
            self.fail(line, f"the id is '{name}'; expected the name of a file, without /, \\, "
                            ": and blanks, that begins with no .")
        if split not in SPLITS:
            self.fail(line, f"the split is '{split}'; expected {' or '.join(SPLITS)}")
        target = self._symbols(line, "target", row["target"], self.vocabulary)
        if len(target) > MOST_TARGET + 1:
            self.fail(line, f"the target has {len(target) - 1} symbols; at most {MOST_TARGET} "
                            "are taken")
        source = self.source_vocabulary and self._symbols(
            line, "source", row["source"], self.source_vocabulary)
        return Utterance(line, name, SPLITS[split], target, source,
                         self._ends(line, row, len(target) - 1), self._speaker(line, row))

    def _speaker(self, line, row):
        speaker = row.get("speaker")
        if speaker is not None and not re.fullmatch(NAME, speaker):
            self.fail(line, f"the speaker is '{speaker}'; expected 1 to 64 letters, digits, _, "
                            ". and -")
        return speaker

    def _symbols(self, line, column, text, vocabulary):
        symbols = text.split(" ")
        for symbol in symbols:
            if not text:
                self.fail(line, f"the {column} is empty")
            if symbol not in vocabulary or symbol in SPECIAL:
                self.fail(line, f"the {column} has '{symbol}', which is not in the vocabulary; "
                                "symbols stand between single blanks")
        return numpy.array([*map(vocabulary.get, symbols), tasks.END])

    def _ends(self, line, row, symbols):
        texts = row.get("ends", row.get("ends_seconds", "")).split(" ")
        if texts == [""]:
            return None
        ends = list(map(command.number, texts))
        for n, end in enumerate(ends):
            if not end > 0:
                self.fail(line, f"'{texts[n]}' is no end; expected numbers above 0, between "
                                "blanks")
            if n and end < ends[n - 1]:
                self.fail(line, f"an end, {texts[n]}, is before the one that it follows, "
                                f"{texts[n - 1]}")
        if len(ends) != symbols:
            self.fail(line, f"has {command.counted(len(ends), 'end')}, and the target "
                            f"{command.counted(symbols, 'symbol')}")
        scale = 1000 / self.about["frame_ms"] if "ends_seconds" in row else 1
        return scale * numpy.array(ends)

    def _check_ids(self):
        lines = {}
        for one in self.utterances:
            if lines.setdefault(one.id, one.line) != one.line:
                self.fail(one.line, f"the id '{one.id}' is there twice, first in line "
                                    f"{lines[one.id]}")
