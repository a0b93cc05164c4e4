"""The figures on the pages of papers: where the paper has them, what they show, and what
draw.py says of them.
"""

from dataclasses import dataclass

from figures import FIGURES, READERS, context_of, draw, fitting
from attnbench.analysis import load


@dataclass(frozen=True)
class Picture:
    figure: str  # its name in figures.FIGURES
    paper: str  # the paper's key
    where: str  # in the paper
    caption: str


PICTURES = (
    Picture(
        "hard_errors", "MAD", "decoding by the threshold, section 2.5",
        "The error by the threshold beside that of the expectation, trained with noise "
        "and without.",
    ),
    Picture(
        "learning_curves_noise", "MAD", "learning with noise, section 2.5",
        "The error over the steps of training, with noise and without.",
    ),
    Picture(
        "p_histogram", "MAD", "how near p is to 0 and 1, section 2.5",
        "The share of probabilities in steps of 0.05.",
    ),
    Picture(
        "trained_alignments", "MAD", "figure 4, section 4",
        "What models that are trained here attend to, on a small task that stands for "
        "speech; and what the threshold chooses.",
    ),
    Picture(
        "spoken_alignments", "MAD", "figure 4, section 4",
        "What models that are trained here attend to, in a sentence of a synthetic speaker whom "
        "they have not heard; what the threshold chooses; and where each phone truly ends. "
        "MoChA's figure 2 is of this kind, too.",
    ),
    Picture(
        "mad_figure8_builds", "MAD", "figure 8, appendix F",
        "Time of softmax attention over that of hard monotonic attention over T and U: as "
        "published, by the authors' program rebuilt without optimisation and with, by each "
        "Eigen, and by this project's kernels. The axis labels of the paper's plot are "
        "swapped.",
    ),
    Picture(
        "mocha_figure3", "MoChA", "figure 3, appendix B",
        "Time, and speed-up over soft attention, at T = U; hard monotonic attention, "
        "adaptive chunks and fixed-size memory stand beside what the paper has.",
    ),
    Picture(
        "learning_curves_reordering", "MoChA", "learning to reorder, section 3.2",
        "The error over the steps of training, on tasks that change the order of symbols.",
    ),
    Picture(
        "matcha_algorithms", "MoChA", "eqs 40 to 43, appendix C",
        "Time and bytes of each algorithm of MAtChA's expectation, and of its gradient, "
        "over T.",
    ),
    Picture(
        "britz_figure2", "Britz", "figure 2, section 3.2",
        "The position encoding L of eq 10, as the program multiplies scores by it.",
    ),
    Picture(
        "britz_table1", "Britz", "table 1 as a figure, section 4.1",
        "Time of a whole decoder over that of the same with full attention; hollow "
        "marks are the paper's. Monotonic attention and chunks are in no paper's table.",
    ),
    Picture(
        "context_errors", "Britz", "quality of table 1 as a figure, section 4.1",
        "The error on the copy task over the number of contexts K, for smaller models and "
        "shorter sequences than the paper's.",
    ),
    Picture(
        "learning_curves_contexts", "Britz", "figure 3, section 4.1",
        "The error on the copy task over the steps of training, by length and K.",
    ),
    Picture(
        "learning_curves_encodings", "Britz", "scorings and encodings, section 4.2.2",
        "The same with other scorings and position encodings.",
    ),
    Picture(
        "context_weights", "Britz", "figures 6 and 7, section 5",
        "What each context takes of the source, with the scorings and position encodings.",
    ),
)


@dataclass(frozen=True)
class Drawn:
    paths: list  # what it is drawn from
    data: list  # the same, read
    lines: list  # what draw.py says of it
    contexts: list  # of what depends on commit, machine and date


def drawn(paths):
    """figure -> Drawn, of those that the files give."""
    read = [(path, _read(path)) for path in paths]
    by_figure = {}
    for path, data in read:
        for name in fitting(data):
            by_figure.setdefault(name, []).append((path, data[FIGURES[name].reads]))
    return {
        picture.figure: _draw(picture.figure, by_figure[picture.figure])
        for picture in PICTURES
        if picture.figure in by_figure
    }


def _draw(name, found):
    """Draws one result, or all outputs of a command together."""
    draw_it, paths = FIGURES[name].draw, [path for path, _ in found]
    data = [of_file for _, of_file in found]
    if all(isinstance(of_file, list) for of_file in data):
        outputs = sum(data, [])
        contexts = [one["context"] for one in outputs
                    if FIGURES[name].reads in ("trained", "authors")]
        return Drawn(paths, outputs, draw_it(outputs)[1], contexts)
    if len(found) > 1:
        raise load.DataError(paths[1], f"is of figure {name}, as is {paths[0]}")
    return Drawn(paths, data, draw_it(data[0])[1], [context_of(data[0])])


def _read(path):
    """Its data by what Entry.reads calls them; none of a kind that no figure reads."""
    kind = load.read_json(path).get("kind")
    return draw.read([path]) if kind in (None, *READERS) else {}
