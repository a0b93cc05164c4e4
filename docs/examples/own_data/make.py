#!/usr/bin/python3
"""Makes a folder of own data: utterances of the words "north", "east", "south" and "west",
of 2 to 4 each. A frame has 6 numbers; those of a word are the same each time but for noise,
a word lasts 3 to 6 frames, and silence of 1 to 3 frames is before each.

    docs/examples/own_data/make.py FOLDER [UTTERANCES]

makes 20 utterances, or as many as are asked for, of which a quarter is held out. Write a
program like this one for your corpus.
"""

import json
import os
import sys

import numpy

WORDS = ("north", "east", "south", "west")
FRAME_SIZE, FRAME_MS = 6, 10


def main(folder, utterances=20):
    random = numpy.random.RandomState(1)
    of_word = random.normal(size=(len(WORDS), FRAME_SIZE))
    os.makedirs(os.path.join(folder, "features"))
    lines = ["id\tsplit\ttarget\tends"]
    for number in range(utterances):
        name = f"utterance{number:04}"
        frames, target, ends = [], [], []
        for word in random.randint(len(WORDS), size=random.randint(2, 5)):
            frames += [numpy.zeros(FRAME_SIZE)] * random.randint(1, 4)
            frames += [of_word[word]] * random.randint(3, 7)
            target.append(WORDS[word])
            ends.append(str(len(frames)))
        noise = random.normal(scale=0.3, size=(len(frames), FRAME_SIZE))
        numpy.save(os.path.join(folder, "features", name + ".npy"),
                   (frames + noise).astype("float32"))
        split = "held_out" if number < utterances // 4 else "train"
        lines.append("\t".join((name, split, " ".join(target), " ".join(ends))))
    write(folder, "utterances.tsv", "\n".join(lines) + "\n")
    write(folder, "vocabulary.txt", "\n".join(WORDS) + "\n")
    write(folder, "about.json", json.dumps({
        "source": "docs/examples/own_data/make.py", "frame_ms": FRAME_MS}) + "\n")


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], *map(int, sys.argv[2:]))
