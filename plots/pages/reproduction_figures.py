"""The figures of REPRODUCTION.md: whose they are, what they show, and what draw.py
says of them.
"""

from dataclasses import dataclass

from figures import FIGURES, READERS, context_of, draw, fitting
from analysis import load, words


@dataclass(frozen=True)
class Picture:
    figure: str  # its name in figures.FIGURES
    paper: str  # the paper's key; "": no paper has it
    title: str
    caption: str


PICTURES = (
    Picture(
        "mad_figure8_builds", "MAD", "Figure 8, appendix F",
        "Time of softmax attention over that of hard monotonic attention over T and U: as "
        "published, by the authors' program rebuilt without optimisation and with, by each "
        "Eigen, and by this project's kernels. The axis labels of the paper's plot are "
        "swapped.",
    ),
    Picture(
        "trained_alignments", "MAD", "Figure 4",
        "What models that are trained here attend to, on a small task that stands for "
        "speech; and what the threshold chooses.",
    ),
    Picture(
        "hard_errors", "MAD", "Section 2.5",
        "The error by the threshold beside that of the expectation, trained with noise "
        "and without.",
    ),
    Picture(
        "p_histogram", "MAD", "Section 2.5",
        "How near to 0 and 1 the probabilities are.",
    ),
    Picture(
        "mocha_figure3", "MoChA", "Figure 3, appendix B",
        "Time, and speed-up over soft attention, at T = U; hard monotonic attention, "
        "adaptive chunks and fixed-size memory stand beside what the paper has.",
    ),
    Picture(
        "britz_figure2", "Britz", "Figure 2, section 3.2",
        "The position encoding L of eq 10, as the program multiplies scores by it.",
    ),
    Picture(
        "britz_table1", "Britz", "Table 1 as a figure",
        "Time of a whole decoder over that of the same with full attention; hollow "
        "marks are the paper's. Monotonic attention and chunks are in no paper's table.",
    ),
    Picture(
        "context_errors", "Britz", "The quality of table 1 as a figure",
        "The error on the copy task over the number of contexts K, for smaller models and "
        "shorter sequences than the paper's.",
    ),
    Picture(
        "context_weights", "Britz", "Figures 6 and 7",
        "What each context takes of the source, with the scorings and position encodings.",
    ),
    Picture(
        "learning_curves_noise", "", "Learning curves: noise",
        "The error over the steps of training with noise and without.",
    ),
    Picture(
        "learning_curves_reordering", "", "Learning curves: reordering",
        "The same for tasks that change the order of symbols.",
    ),
    Picture(
        "learning_curves_contexts", "", "Learning curves: K and length",
        "The same for the copy task (also figure 3 of Britz).",
    ),
    Picture(
        "learning_curves_encodings", "", "Learning curves: scorings and encodings",
        "The same for other scorings and position encodings of Britz.",
    ),
    Picture(
        "learning_curves", "", "Learning curves: further models",
        "The same for what none of these shows.",
    ),
    Picture(
        "stability", "", "Errors of published closed forms",
        "Largest error of alpha over T, and the mass that an output loses, by toolkit, "
        "precision and family of p.",
    ),
    Picture(
        "stability_chunks", "", "Errors with chunk energies",
        "Largest error of published algorithms of the chunks, by the size of their "
        "energies.",
    ),
    Picture(
        "stability_gradient", "", "Gradients of published closed forms",
        "Largest error of the gradient over U: where training would go wrong.",
    ),
    Picture(
        "monte_carlo", "", "Sampling against the exact expectation",
        "Error of means of sampled paths over their number: slope -1/2 is chance.",
    ),
    Picture(
        "sharpness", "", "What trains against what decodes",
        "Distance of expected and decoded attention as the choice gets sharper.",
    ),
    Picture(
        "monotonic_algorithms", "", "Algorithms for monotonic attention",
        "Time and bytes of each algorithm of monotonic attention's expectation over T.",
    ),
    Picture(
        "matcha_algorithms", "", "Algorithms for adaptive chunks",
        "Time and bytes of each algorithm of MAtChA's expectation, and of its gradient, "
        "over T.",
    ),
    Picture(
        "latency", "", "How late outputs come",
        "AP, AL and DAL of monotonic attention and chunks against the bias r.",
    ),
    Picture(
        "memory_share", "", "Speed-up where more of the memory is read",
        "The papers' benchmarks are at the left edge, where little of it is.",
    ),
)


@dataclass(frozen=True)
class Drawn:
    paths: list  # what it is drawn from
    lines: list  # what draw.py says of it
    context: str  # commit, machine and date; empty for what does not depend on them


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
    if all(isinstance(data, list) for _, data in found):
        outputs = [output for _, data in found for output in data]
        is_trained = FIGURES[name].reads in ("trained", "authors")
        return Drawn(paths, draw_it(outputs)[1],
                     words.contexts_text(outputs) if is_trained else "")
    if len(found) > 1:
        raise load.DataError(paths[1], f"is of figure {name}, as is {paths[0]}")
    data = found[0][1]
    return Drawn(paths, draw_it(data)[1], words.context_text(context_of(data)))


def _read(path):
    """Its data by what Entry.reads calls them; none of a kind that no figure reads."""
    kind = load.read_json(path).get("kind")
    return draw.read([path]) if kind in (None, *READERS) else {}
