"""What no paper has and we found: the list of FINDINGS.md, each with its figure and the
command that measures it again.
"""

import os

from attnbench.analysis import ROOT, load, names, reads, trained
from figures import gains
from pages import markdown, matcha_cost


def lines():
    found = (_whole_decoders(), _closed_forms(), _noise(), _matcha())
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


def _matcha():
    return (
        "MAtChA's expectation needs no arrays of T x T.",
        matcha_cost.comparison(load.load(result("matcha_algorithms"))),
        "matcha_algorithms", "attnbench run-sweep experiments/matcha_algorithms.json",
    )


def result(*parts):
    """The path of a committed result."""
    return os.path.join(ROOT, "results", *parts) + ".json"
