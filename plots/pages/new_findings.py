"""What no paper has and we found: the list of FINDINGS.md, each with its figure, the page
that defines its terms, and the command that measures it again. What is of a result that is
not valid says so.
"""

from typing import NamedTuple

from attnbench.analysis import load, names, reads, trained, words
from figures import frontier, gains, policy
from pages import markdown, matcha_cost

BOUND = 1e-3  # of banded
F = 4  # of AlignAtt


class Finding(NamedTuple):
    title: str
    text: str
    figure: str
    again: str
    contexts: list  # of the results that it is of
    page: str = None  # that defines its terms


def lines():
    found = (_whole_decoders(), _closed_forms(), _noise(), _gap(), _band(), _policy(), _matcha())
    return ["## What is new", "", *map(line, found), ""]


def line(one):
    text = markdown.text(words.invalid_text(*one.contexts) + one.text)
    terms = f", [terms](docs/{one.page}.md)" if one.page else ""
    return (f"- **{one.title}** {text} ([figure](results/figures/{one.figure}.png){terms}; "
            f"`attnbench {one.again}`)")


def _whole_decoders():
    results = [load.load(load.committed("claims", name)) for name in ("figure3", "decoder")]
    length, alone, whole = gains.ratios(results)
    label = "mocha, w = 4"
    return Finding(
        "Most of the speed-up is lost in a whole decoder.",
        f"At T = U = {length} {names.label(label)} is {gains.speed_text(alone[label])} by "
        f"itself{_part_of_it(alone[label])}, and a decoder with it "
        f"{gains.speed_text(whole[label])}; a decoder without any attention is "
        f"{gains.speed_text(whole[gains.NOTHING])}.",
        "gains", "claims mocha-small mocha-upper-bound",
        [cells.attrs["context"] for cells in results],
    )


def _part_of_it(cell):
    if not reads.is_marked(cell):
        return ""
    return f" (over {100 * reads.MOST_EMPTY:.0f} % of its outputs attend to nothing)"


def _closed_forms():
    """Of the recommended start, in f32, at the length that README names."""
    document, length = load.read(load.committed("claims", "stability"), "stability"), 1024
    lost = {row["preset"] or row["variant"]: row for row in document["losses"]
            if row["memory_length"] == length and row["precision"] == "f32"}
    fairseq, tensorflow, ours = (f"{100 * lost[form]['lost']:.1f} %"
                                 for form in ("fsq", "tf", "exact"))
    return Finding(
        "Toolkits' closed forms of alpha lose probability over long inputs.",
        f"At T = {length}, before training, fairseq's loses up to {fairseq} of one output's "
        f"probability, TensorFlow's {tensorflow}, ours {ours} (worst of "
        f"{lost['exact']['draws']} draws).",
        "stability", "stability", [document["context"]],
    )


def _noise():
    document = load.read(load.committed("training", "stretch"), "trained")
    runs = trained.Runs(document)

    def errors(name, of="", by=""):
        expected, decoded = (f"{runs.values(name, measure).mean():.2f} %"
                             for measure in ("expected", "threshold"))
        return f"{expected}{of} and {decoded}{by} ({len(runs.seeds(name))} seeds)"

    return Finding(
        "A model decodes worse than its training expects; noise in training narrows the gap.",
        "On a synthetic task hard monotonic attention gets "
        + errors("noise0", " of symbols wrong by the expectation", " when it decodes")
        + f"; trained with noise, {errors('noise1')}.",
        "hard_errors", "train experiments/training/stretch.json",
        [document["context"]],
    )


def _gap():
    """Of random decoders whose energies are sharp, and of one small trained model."""
    sharpness = 16
    document = load.read(load.committed("gap"), "gap")
    model = load.read(load.committed("gap_model"), "model_gap")
    trained_parts = model["gap"]["outputs"]
    numbers = document["settings"]
    points = {point["feedback"]: point["mean"] for point in document["points"]
              if point["sharpness"] == sharpness}
    open_loop, closed = points[min(points)], points[max(points)]
    entries = open_loop["entries"]["mean_field"]
    return Finding(
        "Where contexts are fed back, exact alpha is a mean field; and the loss sees one mean "
        "context even where they are not.",
        "Total variation from training to the sampled process, of random decoders at "
        f"sharpness {sharpness}: without feedback entries agree ({_estimate(entries)}, chance "
        f"alone {entries['floor']:.3f}), but as the loss sees p(y) at the mean context outputs "
        f"differ by {_estimate(open_loop['outputs']['sampling'])}; with contexts fed back, the "
        f"mean field adds {_estimate(closed['outputs']['mean_field'])}, and one state for each "
        f"entry (the lattice) leaves {_estimate(closed['outputs']['lattice'])}. A small trained "
        f"model has {_estimate(trained_parts['sampling'])} of the first and "
        f"{_estimate(trained_parts['mean_field'])} of the second.",
        "gap", f"gap --sharpness {sharpness} --feedback 0,1 --decoders {numbers['decoders']} "
        f"--paths {numbers['paths']}", [document["context"], model["context"]], "gap",
    )


def _estimate(part):
    return f"{part['value']:.3f} [{part['low']:.3f}, {part['high']:.3f}]"


def _band():
    cells = load.load(load.committed("frontier"))
    rows = {(row["mode"], row["workload"]): row for row in frontier.select(cells)
            if row["energy"] == "additive" and row["bound"] == BOUND}
    sharp, less = (rows["expect", f"symbols:{a}:{a}"] for a in (16, 8))
    gradient = rows["gradient", sharp["workload"]]
    return Finding(
        "Training needs few of its energies, with a certificate of the error.",
        f"Variant banded of hard monotonic attention, T = {sharp['memory_length']}, U = "
        f"{sharp['output_length']}, d = {sharp['dim']}, additive energies, L1 error of every "
        f"row of alpha at most {BOUND:g}: where energies are 16 at what an output looks for "
        f"and -16 elsewhere, 1/{1 / sharp['share']:.3g} of them, {words.span_text(sharp)} as "
        f"fast as exact, with gradients {words.span_text(gradient)}; with energies 8 and -8: "
        f"1/{1 / less['share']:.3g} of them, {words.span_text(less)}.",
        "frontier", "run-sweep experiments/frontier.json", [cells.attrs["context"]], "banded",
    )


def _policy():
    cells = load.load(load.committed("alignatt"))
    length = max(cells["memory_length"])
    lines = policy.lines_of(cells[cells["memory_length"] == length], cells.attrs["path"])
    told = {line: next(one for one in points if one["f"] in (None, F))
            for line, points in lines.items() if line != "matcha"}
    return Finding(
        "Soft attention can stream, but reads every entry again.",
        f"Attention in a decoder at T = U = {length}, beside soft attention that waits, with "
        "random weights whose largest energies pass the memory evenly: "
        + "; ".join(f"{names.label(line)}{'' if one['f'] is None else f' (f = {F})'}: "
                    f"{words.span_text(one)}, {one['lag']:.1f} entries late (DAL)"
                    for line, one in told.items()) + ".",
        "policy", "run-sweep experiments/alignatt.json", [cells.attrs["context"]], "latency",
    )


def _matcha():
    cells = load.load(load.committed("matcha_algorithms"))
    return Finding(
        "MAtChA's expectation needs no arrays of T x T.", matcha_cost.comparison(cells),
        "matcha_algorithms", "run-sweep experiments/matcha_algorithms.json",
        [cells.attrs["context"]],
    )
