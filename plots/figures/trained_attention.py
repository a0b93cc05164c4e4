"""What trained models attend to: the weights of one held-out sequence, what the contexts
of memory hold of it, and how near p is to 0 and 1.
"""

import numpy
from matplotlib import colors

from attnbench.analysis import names, trained, words
from figures import alignments, histograms, spoken, style, ticks, trained_errors

COLUMNS = 3
LEAST_SHARE = 1e-4  # that is shown
# Settings that decide what the held-out sequences are.
OF_SEQUENCE = ("task", "least_symbols", "most_symbols", "frame_noise")


def has_alignments(documents):
    return bool(_examples(documents, "attention", lambda run: run["settings"]["mechanism"]))


def draw_alignments(documents):
    shown = _examples(documents, "attention", lambda run: run["settings"]["mechanism"])
    return _draw(documents, shown, "attention", "output i", _ALIGNMENTS)


def has_contexts(documents):
    return bool(_examples(documents, "contexts", lambda run: run["name"]))


def draw_contexts(documents):
    shown = _examples(documents, "contexts", lambda run: run["name"])
    return _draw(documents, shown, "contexts", "context k", _CONTEXTS)


def _examples(documents, member, kind):
    """The runs with an example of one sequence, of one shape: those of the most kinds.
    spoken.py draws attention beside the truth.
    """
    groups = {}
    for place, document in enumerate(documents):
        for run in document["runs"]:
            example = run.get("example", {})
            table = example.get(member)
            if table and not (member == "attention" and spoken.has_truth(example)):
                key = (place, *(run["settings"][one] for one in OF_SEQUENCE), len(table))
                groups.setdefault(key, []).append(run)
    return max(groups.values(), key=lambda runs: len(set(map(kind, runs))), default=[])


def _draw(documents, runs, member, rows_of, caption):
    tables = [numpy.array(run["example"][member]) for run in runs]
    num_rows, length = tables[0].shape
    # The square root keeps small weights visible.
    norm = colors.PowerNorm(0.5, 0, max(1.0, max(table.max() for table in tables)))
    columns = min(COLUMNS, len(runs))
    figure, grid = style.new_figure(
        -(-len(runs) // columns), columns,
        panel_height=min(4.0, max(1.5, 0.6 + 0.11 * num_rows)))
    of = next(document for document in documents if runs[0] in document["runs"])
    named = names.runs({run["name"]: run["settings"] for run in runs})
    common = ""
    if member == "contexts":
        common, named = names.apart(named)
    said = []
    for panel, run, table in zip(grid.flat, runs, tables):
        image = alignments.draw_weights(panel, table, norm)
        panel.set_title(_title(run, member, named))
        panel.set_ylabel(rows_of)
        if member == "attention":
            chosen = alignments.positions(run["example"])
            alignments.draw_choices(panel, chosen, length)
            said.append(_attention_said(named[run["name"]], table, chosen))
        else:
            said.append(_title(run, member, named).replace("\n", ": "))
    for panel in grid.flat[len(runs):]:
        panel.set_axis_off()
    bar = figure.colorbar(image, ax=grid, pad=0.02, aspect=30)
    bar.set_label("weight")
    what = ", ".join(filter(None, (trained_errors.task(of), common)))
    caption = f"Trained: {what}. " + caption
    handles = alignments.choice_handles() if member == "attention" else []
    style.add_foot(figure, caption + words.contexts_text([of]), handles)
    return figure, said


def _title(run, member, named):
    spread = run["result"].get("context_spread")
    if member == "attention" or spread is None:
        return named[run["name"]]
    return f"{named[run['name']]}\nspread {spread:.2f}"


def _attention_said(name, table, chosen):
    largest = f"largest weight of an output {table.max(axis=1).mean():.2f} on average"
    if not chosen:
        return f"{name}: {largest}"
    return f"{name}: {len(chosen) - chosen.count(None)} of {len(table)} outputs choose an entry, {largest}"


_ALIGNMENTS = (
    "One held-out sequence, given its symbols. Shade: expected weight of an entry "
    "(square-root scale). The threshold chooses. "
)
_CONTEXTS = (
    "The scorings are those of encoder, then decoder, softmax where nothing is said; "
    "plain: nothing else, and no position encoding. What each context takes of the entries of one held-out sequence, alpha of Britz eq 5 "
    "(square-root scale). Spread: standard deviation of a context's places over that of a "
    "uniform one, over all held-out sequences. "
)


# ---- how near p is to 0 and 1 ---------------------------------------------------


def has_p(documents):
    return bool(_with_p(documents))


def draw_p(documents):
    shown = _with_p(documents)
    columns = min(2, len(shown))
    figure, grid = style.new_figure(-(-len(shown) // columns), columns, 2.5)
    said = []
    for panel, (document, by_name) in zip(grid.flat, shown):
        said += _draw_p(figure, panel, document, by_name)
    for panel in grid.flat[len(shown):]:
        panel.set_axis_off()
    style.add_foot(figure, _P + words.contexts_text([one for one, _ in shown]))
    return figure, said


def _with_p(documents):
    """[(document, {alternative: shares [seed, bin]})]"""
    found = [(document, histograms.shares(document, "p_histogram")) for document in documents]
    return [one for one in found if one[1]]


def _draw_p(figure, panel, document, by_name):
    edges = numpy.linspace(0, 1, trained.BINS["p_histogram"] + 1)
    found = histograms.draw(figure, panel, document, by_name, edges)
    panel.set_yscale("log")
    panel.set_ylim(LEAST_SHARE, 1)
    ticks.log_ticks(panel.yaxis, LEAST_SHARE, 1, lambda share, _: f"{100 * share:g} %")
    panel.set_xlabel("p")
    panel.set_ylabel("share in steps of 0.05")
    panel.set_title(trained_errors.task(document))
    return [f"{trained_errors.task(document)}, {label}: {100 * mean[0]:.0f} % of p below 0.05, "
            f"{100 * mean[-1]:.0f} % above 0.95" for label, mean in found]


_P = (
    "How often the probability p of choosing is how large, each p weighted by the "
    "probability that an output comes to its entry; the mean over seeds. The "
    "threshold takes p of 1/2 and more for 1. "
)
