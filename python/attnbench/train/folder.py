"""A user's own data as a task: a folder with

    vocabulary.txt         a symbol of targets a line
    utterances.tsv         the names of its columns, then an utterance a line, between tabs:
                           id, split (train or held_out), target (symbols between blanks);
                           optional: source (symbols), ends or ends_seconds (a number for each
                           symbol of the target: where it ends in the source), speaker
    features/ID.npy        floats [frames, dims], where there is no column source
    source_vocabulary.txt  a symbol of sources a line, where there is one
    about.json             optional: source (a text: origin, version, licence), frame_ms

docs/own_data.md has an example. What is wrong is a DataError with file and line.
"""

import functools
import io
import os
import zlib

import numpy

from attnbench.analysis import load
from attnbench.train import folder_tables, philox, tasks

TASK = "folder"  # in settings
MOST_DIMS, MOST_ENTRIES = 4096, 1_000_000  # that settings may have
# A recording has no window that goes over its end, so its last symbol may end behind the last
# frame.
MOST_FRAMES_BEHIND = 3
SIDE_BY_SIDE = 16  # utterances of training


class Folder:
    """Tables are read at once, features when they are asked for: they may be more than fits
    into memory.
    """

    def __init__(self, path):
        self.tables = folder_tables.Tables(path)
        self.of_split = {
            split: [one for one in self.tables.utterances if one.split == split]
            for split in (tasks.TRAINING, tasks.HELD_OUT)}

    @functools.cached_property
    def facts(self):
        """`data_facts` of settings. Reads all features and checks them."""
        tables = self.tables
        facts = {"vocabulary": len(tables.vocabulary), **tables.about}
        crc, lengths = zlib.crc32(tables.bytes), []
        if tables.source_vocabulary:
            facts["source_vocabulary"] = len(tables.source_vocabulary)
        for one in tables.utterances:
            if one.source is not None:
                length = len(one.source)
            else:
                data = self._bytes(one)
                crc = zlib.crc32(data, crc)
                length, dims = self._frames(one, data).shape
                if dims != facts.setdefault("frame_size", dims):
                    self._fail(one, f"has frames of {dims} numbers; those before have "
                                    f"{facts['frame_size']}")
            if length > MOST_ENTRIES:
                tables.fail(one.line, f"the source has {length} entries; at most {MOST_ENTRIES} "
                                      "are taken")
            lengths.append(length)
            self._check_ends(one, length)
        return {**facts, "hash": f"{crc:08x}", "longest_source": max(lengths)}

    def _check_ends(self, one, length):
        most = length
        if one.source is not None:
            most -= 1  # END
        elif "frame_ms" in self.tables.about:
            most += MOST_FRAMES_BEHIND
        if one.ends is not None and one.ends[-1] > most:
            self.tables.fail(one.line, f"the last end is {one.ends[-1]:g} entries from the begin "
                                       f"of the source, which has {length}")

    def examples(self, which, seed, first, count):
        """The examples first .. first + count - 1 of a set. Held-out ones are in the order of
        the table, fewer if it has no more. Training goes through all of its utterances, in an
        order that seed and epoch draw, before it begins again. Where they have frames, those
        of about as many symbols are side by side, SIDE_BY_SIDE of them at a time, so that a
        batch has little padding.
        """
        utterances = self.of_split[which]
        if which == tasks.HELD_OUT:
            return list(map(self._example, utterances[first:first + count]))
        places = (divmod(n, len(utterances)) for n in range(first, first + count))
        return [self._example(utterances[_order(self, seed, epoch)[place]])
                for epoch, place in places]

    def _example(self, one):
        source = one.source
        if source is None:
            source = self._frames(one, self._bytes(one))
        ends = None if one.ends is None else numpy.minimum(one.ends, len(source))
        return tasks.Example(source, one.target, ends, one.speaker)

    def _bytes(self, one):
        path = os.path.join(self.tables.folder, "features", one.id + ".npy")
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            return self._fail(one, f"cannot be read: {error.strerror}")

    def _frames(self, one, data):
        """f32 [frames, dims] of the bytes of a file."""
        stream = io.BytesIO(data)
        try:
            frames = numpy.load(stream, allow_pickle=False)
        except Exception as error:  # a damaged header makes numpy raise one of a dozen kinds
            self._fail(one, f"is no array of numpy (numpy.save): {error}")
        # The program decodes with no others.
        if not (isinstance(frames, numpy.ndarray) and frames.dtype.kind == "f"
                and frames.dtype.itemsize <= 8):
            self._fail(one, "is no array of floats; expected what numpy.save makes of float32")
        if stream.read(1):
            self._fail(one, "is no array of numpy (numpy.save) alone: more bytes follow")
        if frames.ndim != 2 or not frames.size or frames.shape[1] > MOST_DIMS:
            self._fail(one, f"has the shape {list(frames.shape)}; expected [frames, dims], "
                            f"with 1 to {MOST_DIMS} dims")
        with numpy.errstate(over="ignore"):
            frames = frames.astype(numpy.float32)
        if not numpy.isfinite(frames).all():
            frame, number = numpy.argwhere(~numpy.isfinite(frames))[0]
            self._fail(one, f"is not finite in float32, at number {number + 1} of frame "
                            f"{frame + 1}")
        return frames

    def _fail(self, one, what):
        self.tables.fail(one.line, f"features/{one.id}.npy {what}")


@functools.lru_cache(maxsize=8)
def opened(path):
    """The folder, read once."""
    return Folder(path)


@functools.lru_cache(maxsize=4)
def _order(folder, seed, epoch):
    """The places of utterances of training in the order of an epoch."""
    utterances = folder.of_split[tasks.TRAINING]
    count = len(utterances)
    drawn = philox.words(seed, philox.TRAINING_SET, epoch, numpy.arange(count))
    order = numpy.lexsort((drawn[1], drawn[0]))
    if utterances[0].source is not None:
        return order
    lengths = numpy.array([len(one.target) for one in utterances])
    by_length = order[lengths[order].argsort(kind="stable")]
    # Groups are counted over all epochs, as batches are. The first and the last may be in two
    # epochs and stay where they are; the others change places.
    groups = (epoch * count + numpy.arange(count)) // SIDE_BY_SIDE
    groups -= groups[0]
    keys = drawn[2, :groups[-1] + 1].astype(numpy.int64)
    keys[0], keys[-1] = -1, 2**32
    return by_length[keys[groups].argsort(kind="stable")]


# Settings that follow from the folder, or mean nothing for it.
_NOT_FOR_FOLDERS = ("least_symbols", "most_symbols", "frame_noise", "data_facts")


def with_facts(settings, where):
    """The settings (a dict) of an experiment that has task "folder", with what follows from the
    folder. Without `held_out` all held-out utterances are taken.
    """
    for key in _NOT_FOR_FOLDERS:
        if key in settings:
            raise load.DataError(f"{where}.{key}", "is not for task folder, whose data say it")
    if "data" not in settings:
        raise load.DataError(f"{where}.data", "is missing; expected the folder of the data")
    folder = opened(settings["data"])
    lengths = [len(one.target) - 1 for one in folder.tables.utterances]
    there = len(folder.of_split[tasks.HELD_OUT])
    for key in ("held_out", "curve_held_out"):
        if settings.get(key, 1) > there:
            raise load.DataError(f"{where}.{key}", f"is {settings[key]}; {settings['data']} has "
                                                   f"{there} held-out utterances")
    return {"held_out": there, "curve_held_out": min(there, 256), **settings,
            "data_facts": folder.facts,
            "least_symbols": min(lengths), "most_symbols": max(lengths)}
