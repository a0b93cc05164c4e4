"""What no paper has and we found: the list of FINDINGS.md, each with its figure and the
command that measures it again.
"""

import os

from attnbench.analysis import ROOT, load, names, reads, trained, words
from figures import frontier, gains, policy
from pages import markdown, matcha_cost

BOUND = 1e-3  # of banded
F = 4  # of AlignAtt


def lines():
    found = (_whole_decoders(), _closed_forms(), _noise(), _gap(), _band(), _policy(), _matcha())
    return [
        "## What is new",
        "",
        *[f"- **{title}** {markdown.text(text)} ([figure](results/figures/{figure}.png); "
          f"`{again}`)" for title, text, figure, again in found],
        "",
    ]


def _whole_decoders():
    length, alone, whole = gains.ratios([load.load(result("claims", name))
                                         for name in ("figure3", "decoder")])
    label = "mocha, w = 4"
    return (
        "Most of the speed-up is lost in a whole decoder.",
        f"At T = U = {length} {names.label(label)} is {gains.speed_text(alone[label])} by "
        f"itself{_part_of_it(alone[label])}, and a decoder with it "
        f"{gains.speed_text(whole[label])}; a decoder without any attention is "
        f"{gains.speed_text(whole[gains.NOTHING])}.",
        "gains", "attnbench claims mocha-small mocha-upper-bound",
    )


def _part_of_it(cell):
    if not reads.is_marked(cell):
        return ""
    return f" (over {100 * reads.MOST_EMPTY:.0f} % of its outputs attend to nothing)"


def _closed_forms():
    """Of the recommended start, in f32, at the length that README names."""
    path, length = result("claims", "stability"), 1024
    losses = load.read(path, "stability")["losses"]
    lost = {row["preset"] or row["variant"]: row for row in losses
            if row["memory_length"] == length and row["precision"] == "f32"}
    told = ", ".join(f"{names.FORMS[form]}'s {100 * lost[form]['lost']:.1f} %"
                     for form in ("fsq", "tf"))
    return (
        "Toolkits' closed forms of alpha lose probability over long inputs.",
        f"At T = {length}, before training, {told} of an output's probability, ours "
        f"{100 * lost['exact']['lost']:.1f} % (worst of {lost['exact']['draws']} draws).",
        "stability", "attnbench stability",
    )


def _noise():
    runs = trained.Runs(load.read(result("training", "stretch"), "trained"))

    def errors(name):
        return " % and ".join(
            f"{runs.values(name, measure).mean():.2f}" for measure in
            ("expected", "threshold")) + f" % ({len(runs.seeds(name))} seeds)"

    return (
        "A model decodes worse than its training expects, and noise narrows that.",
        "On symbols held for frames hard monotonic attention errs by the expectation and "
        f"by the threshold in {errors('noise0')}, trained with noise in "
        f"{errors('noise1')}.",
        "hard_errors", "attnbench train experiments/training/stretch.json",
    )


def _gap():
    """Of random decoders whose energies are sharp, as those of trained ones are."""
    sharpness = 16
    path = result("gap")
    points = {point["feedback"]: point["mean"] for point in load.read(path, "gap")["points"]
              if point["sharpness"] == sharpness}
    open_loop, closed = points[min(points)], points[max(points)]
    return (
        "Training sees neither the contexts nor the outputs that decoding makes.",
        "Total variation from training to the sampled process, of random decoders at "
        f"sharpness {sharpness}: without feedback entries agree "
        f"({_estimate(open_loop['entries']['mean_field'])}, chance alone "
        f"{open_loop['entries']['mean_field']['floor']:.3f}), but the loss sees p(y) at the "
        f"mean context, and outputs differ by {_estimate(open_loop['outputs']['sampling'])}; "
        "with contexts fed back, the mean field takes them "
        f"{_estimate(closed['outputs']['mean_field'])} off. One state for each entry "
        f"(the lattice) leaves {_estimate(closed['outputs']['lattice'])}.",
        "gap", "attnbench gap --sharpness 16 --feedback 0,1",
    )


def _estimate(part):
    return f"{part['value']:.3f} [{part['low']:.3f}, {part['high']:.3f}]"


def _band():
    rows = {(row["mode"], row["workload"]): row
            for row in frontier.select(load.load(result("frontier")))
            if row["energy"] == "additive" and row["bound"] == BOUND}
    sharp, less = (rows["expect", f"symbols:{a}:{a}"] for a in (16, 8))
    gradient = rows["gradient", sharp["workload"]]
    return (
        "Training needs few of its energies, with a certificate of the error.",
        f"Variant banded of hard monotonic attention, T = {sharp['memory_length']}, U = "
        f"{sharp['output_length']}, additive energies, L1 error of every row of alpha at most "
        f"{BOUND:g}: where energies are 16 at what an output looks for and -16 elsewhere, "
        f"1/{1 / sharp['share']:.3g} of them, {words.span_text(sharp)} as fast as exact, with "
        f"gradients {words.span_text(gradient)}; at 8 and -8 1/{1 / less['share']:.3g} and "
        f"{words.span_text(less)}.",
        "frontier", "attnbench run-sweep experiments/frontier.json",
    )


def _policy():
    cells = load.load(result("alignatt"))
    length = max(cells["memory_length"])
    lines = policy.lines_of(cells[cells["memory_length"] == length], result("alignatt"))
    told = [one for line in lines.values() for one in line
            if one["f"] in (None, F) and not one["label"].startswith("matcha")]
    return (
        "Soft attention can stream, but reads every entry again.",
        f"Attention in a decoder at T = U = {length}, beside soft attention that waits: "
        + "; ".join(f"{names.label(one['label'])} {words.span_text(one)}, "
                    f"{one['lag']:.1f} entries late (DAL)" for one in told) + ".",
        "policy", "attnbench run-sweep experiments/alignatt.json",
    )


def _matcha():
    return (
        "MAtChA's expectation needs no arrays of T x T.",
        matcha_cost.comparison(load.load(result("matcha_algorithms"))),
        "matcha_algorithms", "attnbench run-sweep experiments/matcha_algorithms.json",
    )


def result(*parts):
    """The path of a committed result."""
    return os.path.join(ROOT, "results", *parts) + ".json"
