"""Draws figures from result files.

`attnbench draw` runs this file; it can be run by itself too.

examples:
  attnbench draw result.json -o figures       every figure the file is meant for
  attnbench draw --figure mad_figure8 result.json
  attnbench draw --figure alignments soft.json mocha.json

Each figure becomes NAME.png and NAME.svg; their paths are printed, and below them the
numbers that the figure shows first. Wrong input gives one line on stderr, exit code 2,
and no picture.
"""

import os
import sys

from attnbench.analysis import command, load, printed, words
from attnbench.analysis.command import UsageError
from figures import FIGURES, READERS, context_of, data_of, fitting, gains, style

# Figures of these say themselves what is missing.
SAY_MORE = ("sweep", "decoder", "expect", "attention", "compare")


def main(arguments=None):
    options = parse(arguments)
    if options.list:
        for name, entry in FIGURES.items():
            print(f"{name}: {entry.needs} ({entry.reads})")
        return 0
    said = []
    try:
        for name, (figure, lines) in draw_all(options).items():
            said += style.save(figure, options.output, name)
            said += [f"  {line}" for line in lines]
    except (load.DataError, UsageError) as error:
        return command.fail(error)
    except OSError as error:
        return command.fail(f"{options.output}: cannot be written: {error.strerror}")
    # All lines are written at once, for a reader that takes only the first.
    sys.stdout.write(command.printable("\n".join([*said, ""])))
    return 0


def parse(arguments):
    parser = command.parser("attnbench draw", __doc__)
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument(
        "--figure", metavar="NAME", help="only this one, e.g. mocha_figure3"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        default=".",
        help="an existing folder for the pictures (default: here)",
    )
    parser.add_argument(
        "--list", action="store_true", help="the figures and what they need"
    )
    return parser.parse_args(arguments)


def draw_all(options):
    """Name -> (figure, headlines), all drawn before the first is written."""
    if options.figure is not None and options.figure not in FIGURES:
        raise UsageError(f"--figure: {unknown_figure(options.figure)}")
    if not options.files:
        raise UsageError(
            "no file given; a result of run-sweep, stability, gap, train, advise or "
            "diagnose, what compare --json printed, or outputs of decode or expect"
        )
    if not os.path.isdir(options.output):
        raise UsageError(f"-o {options.output}: no such folder")
    return draw_files(options.files, options.figure)


def draw_files(paths, name=None):
    """The same of these files; without a name all figures that fit."""
    data = read(paths)
    if name is not None:
        names, wanted = [name], FIGURES[name]
        fits = wanted.reads in data and (
            wanted.reads in SAY_MORE or wanted.has_data(data[wanted.reads]))
        if not fits:
            raise load.DataError(
                paths[0], f"is of {', '.join(data)}, figure {name} needs {wanted.needs}"
            )
    else:
        names = fitting(data)
    if not names:
        raise load.DataError(
            paths[0], "fits no figure; `attnbench draw --list` says what each needs"
        )
    drawn = {name: FIGURES[name].draw(data[FIGURES[name].reads]) for name in names}
    reasons = invalid_reasons(data)
    if not reasons:
        return drawn
    told = f"INVALID: {'; '.join(reasons)}"
    for figure, _ in drawn.values():
        style.mark_invalid(figure)
    return {name: (figure, [told, *lines]) for name, (figure, lines) in drawn.items()}


def invalid_reasons(data):
    contexts = []
    for part in data.values():
        if isinstance(part, list):
            contexts += [context for context in map(context_of, part) if context]
        else:
            contexts.append(context_of(part))
    reasons = [words.invalid_reasons(context) for context in contexts]
    return list(dict.fromkeys(sum(reasons, [])))


def unknown_figure(given):
    return command.unknown("figure", given, FIGURES) + "; `attnbench draw --list` names all"


def read(paths):
    """Gives what the files hold, by the name of Entry.reads."""
    # A name that is not UTF-8 cannot be drawn.
    documents = [(load.read_json(path), command.printable(str(path))) for path in paths]
    if all("steps" in document for document, _ in documents):
        return {"decode": [printed.steps_of(*item) for item in documents]}
    if all("latency" in document for document, _ in documents):
        return {"expect": [printed.expect_of(*item) for item in documents]}
    if all(document.get("kind") == "trained" for document, _ in documents):
        return {"trained": [one for item in documents for one in _trained(*item)]}
    kinds = sorted(str(document.get("kind")) for document, _ in documents)
    if kinds == ["authors", "sweep"]:
        return {"authors": [part for item in documents for part in _authors(*item)]}
    if kinds == ["sweep", "sweep"]:
        for item in documents:
            load.require_kind(*item, "sweep")
        parts = gains.parts_of(*(data_of(*item) for item in documents))
        if parts is not None:
            return {"gains": parts}
    if len(documents) > 1:
        raise load.DataError(
            f"{len(paths)} files",
            "one result of a sweep at a time (`attnbench merge` makes one of several), or "
            "outputs of decode or expect, or results of train only, or one of authors/measure.py "
            "and one of a sweep",
        )
    if printed.has_attention(documents[0][0]):
        return {"attention": [printed.attention_of(*documents[0])]}
    load.require_kind(*documents[0], *READERS)
    return data_of(*documents[0])


def _authors(document, path):
    load.require_kind(document, path, "authors", "sweep")
    parts = data_of(document, path).get("authors")
    if parts is None:
        raise load.DataError(path, "is of another grid than figure 8 of MAD")
    return parts


def _trained(document, path):
    load.require_kind(document, path, "trained")
    return data_of(document, path)["trained"]
