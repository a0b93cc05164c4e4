"""What is left of the paper's advice against MAtChA for its cost: a note beside
the evidence, all numbers of which are from a result of figure matcha_algorithms.
"""

from attnbench.analysis import growth, series, words
from figures.algorithms import LONG, size_text

CLAIM = "matcha-memory"
FIGURE = "matcha_algorithms"
OURS, THEIRS, PAIRS = "exact", "partial_sums", "pairs"


def note(cells):
    """Gives the note as text; empty where ours and the paper's share no length."""
    expected, backward = _by_length(cells, "expect"), _by_length(cells, "gradient")
    beside = comparison(cells)
    if not beside:
        return ""
    sentences = [
        "The paper calls this a distinct disadvantage and recommends against MAtChA in "
        f"its current form. {beside}",
        *_growth(expected),
        *_longest(backward, "With its gradient, at"),
        "The paper's other reason, that MAtChA performs no better than MoChA, is claim "
        "matcha-no-better.",
    ]
    return " ".join(sentences)


def comparison(cells):
    """Sets ours beside the paper's, at the greatest T that both have; empty without one."""
    shared = {t: of_length for t, of_length in _by_length(cells, "expect").items()
              if {OURS, THEIRS} <= set(of_length)}
    if not shared:
        return ""
    last = max(shared)
    ours, theirs = shared[last][OURS], shared[last][THEIRS]
    return (f"Our variant {OURS} computes the same expectation another way: at T = {last}, "
            f"U = {ours['output_length']}, in {ours['precision']}, it takes "
            f"{size_text(ours['peak_memory_bytes'])} where eqs 40 to 43 take "
            f"{size_text(theirs['peak_memory_bytes'])} and {_ratio_text(theirs, ours)} its "
            "time.")


def _by_length(cells, mode):
    """T: variant: cell, of a mode, in the order of T."""
    cells = series.times(cells[(cells["status"] == "ok") & (cells["mode"] == mode)
                               & cells["peak_memory_bytes"].notna()])
    found = {}
    for cell in cells.sort_values("memory_length").to_dict("records"):
        found.setdefault(cell["memory_length"], {})[cell["variant"]] = cell
    return found


def _growth(expected):
    """Says how ours grows over long memories, and what it then takes."""
    long = {t: of_length[OURS] for t, of_length in expected.items()
            if OURS in of_length and t >= LONG}
    if len(long) < 2:
        return []
    found = growth.exponent(list(long), [cell["value"] for cell in long.values()])
    return [
        f"From T = {min(long)} to {max(long)} its time grows with T to the power of "
        f"{growth.slope_text(found)}.",
        *_longest(expected, "At"),
    ]


def _longest(by_length, where):
    """Says what the greatest T takes that was measured pair by pair, too."""
    lengths = [t for t, of_length in by_length.items()
               if {OURS, PAIRS} <= set(of_length)]
    if not lengths:
        return []
    ours, pairs = (by_length[max(lengths)][name] for name in (OURS, PAIRS))
    return [
        f"{where} T = {max(lengths)}, it takes {words.time_text(ours['value'])} and "
        f"{size_text(ours['peak_memory_bytes'])}; all pairs of start and choice, in "
        f"O(T^2), take {_ratio_text(pairs, ours)} that time."
    ]


def _ratio_text(above, below):
    return words.span_text(vars(series.ratio(above, below).at().exp()))
