"""What a clipped denominator does to a trained model: its errors over the clip, and the
gradient that the clip adds at entries that are behind.
"""

import numpy

from attnbench.analysis import names, words
from attnbench.analysis.trained import Runs
from figures import style, trained_errors

EXACT = "#0072B2"
# Light to dark with the clip.
CLIPPED = ("#E69F00", "#D55E00", "#B2182B", "#7F0000", "#000000")
REFERENCE = {"color": "#909090", "linestyle": (0, (4, 2)), "linewidth": 0.9}


def said(clip):
    return "divides by 1" if clip == 1 else f"clip {clip:.0e}"


# ---- errors -------------------------------------------------------------------


def has_errors(documents):
    return any(_lines(document) for document in documents)


def _lines(document):
    """Gives (least, most symbols) -> [(clip or None if exact, alternative)], of an experiment
    that varies the clip.
    """
    runs, lines = Runs(document), {}
    for name in runs.names:
        settings = runs.settings(name)
        is_of_all_steps = settings.get("clip_until", 1) == 1
        if (settings["mechanism"] != "monotonic" or not settings.get("noise")
                or not is_of_all_steps or runs.values(name, "threshold") is None):
            continue
        clip = settings.get("clip", 1e-10) if settings.get("alpha") == "clipped" else None
        length = (settings["least_symbols"], settings["most_symbols"])
        lines.setdefault(length, {}).setdefault(clip, name)
    lines = {length: sorted(line.items(), key=lambda one: one[0] or 0)
             for length, line in lines.items()}
    clips = {clip for line in lines.values() for clip, _ in line}
    return lines if len(clips - {None}) > 1 else {}


def draw_errors(documents):
    shown = [(document, _lines(document)) for document in documents]
    shown = [(document, lines) for document, lines in shown if lines]
    figure, grid = style.new_figure(1, len(shown), panel_height=2.3)
    headlines, handles = [], {}
    for panel, (document, lines) in zip(grid[0], shown):
        headlines += _draw_errors(panel, document, lines, handles)
    style.add_foot(
        figure, _ERRORS + words.contexts_text([document for document, _ in shown]),
        handles.values())
    return figure, headlines


def _draw_errors(panel, document, lines, handles):
    runs, headlines = Runs(document), []
    clips = sorted({clip for line in lines.values() for clip, _ in line}, key=lambda one: one or 0)
    for rank, ((least, most), line) in enumerate(lines.items()):
        for measure, fill in (("threshold", "full"), ("expected", "none")):
            look = {"color": style.look("monotonic", [])[0], "marker": "os^D"[rank % 4],
                    "fillstyle": fill, "linestyle": style.LINE_STYLES[rank % 4],
                    "linewidth": 0.9}
            values = [runs.values(name, measure) for _, name in line]
            places = [clips.index(clip) for clip, _ in line]
            for place, of_seeds in zip(places, values):
                panel.plot([place] * len(of_seeds), of_seeds, color=look["color"], marker="_",
                           linestyle="none", markersize=5, markeredgewidth=0.5, alpha=0.6)
            means = [of_seeds.mean() for of_seeds in values]
            panel.plot(places, means, **look)
            how = {"threshold": "threshold", "expected": "expectation"}[measure]
            label = f"{how}, {least} to {most} symbols"
            handles[label] = style.handle(label, look)
            parts = [f"{'exact' if clip is None else said(clip)} {mean:.2f} %"
                     for (clip, _), mean in zip(line, means)]
            headlines.append(f"by the {label}: {', '.join(parts)}")
    for name in runs.names:
        settings = runs.settings(name)
        if settings.get("alpha") != "clipped" and settings.get("noise") == 0:
            panel.axhline(runs.values(name, "threshold").mean(), **REFERENCE)
            label = "threshold, exact, trained without noise"
            handles[label] = style.handle(label, REFERENCE)
            break
    trained_errors.set_errors(panel.yaxis)
    panel.set_ylim(0, 1.3 * max(1, *(runs.values(name, "threshold").max()
                                     for line in lines.values() for _, name in line)))
    panel.set_xticks(range(len(clips)), ["exact" if clip is None else f"{clip:.0e}" if clip < 1
                                         else f"{clip:g}" for clip in clips])
    panel.grid(True, axis="y")
    panel.set_xlabel("least denominator of the closed form in training")
    panel.set_ylabel("error, %")
    panel.set_title(names.of_experiment(names.task(document["runs"][0]["settings"]), document))
    return headlines


_ERRORS = (
    "Token error rate of hard monotonic attention, trained with noise 1 and by the exact expectation or by "
    "a closed form with a clipped denominator, on held-out sequences. Marks: the mean over "
    "seeds; dashes: each seed. "
)


# ---- the gradient -------------------------------------------------------------


def has_gradient(result):
    return any(row["clip"] is not None for row in result["rows"])


def draw_gradient(result):
    rows = result["rows"]
    clips = sorted({row["clip"] for row in rows if row["clip"] is not None})
    lines = {None: [row for row in rows if row["form"] == "exact"],
             **{clip: [row for row in rows if row["clip"] == clip] for clip in clips}}
    figure, grid = style.new_figure(1, 2, panel_height=2.1)
    handles, headlines = [], []
    for rank, (clip, line) in enumerate(lines.items()):
        look = ({"color": EXACT, "marker": "o"} if clip is None else
                {"color": CLIPPED[(rank - 1) % len(CLIPPED)], "marker": "sv^Dx"[(rank - 1) % 5]})
        label = "exact" if clip is None else said(clip)
        handles.append(style.handle(label, look))
        energies = [row["energy"] for row in line]
        for panel, member in zip(grid[0], ("gradient_behind", "cosine")):
            values = [numpy.nan if row[member] is None else row[member] for row in line]
            panel.plot(energies, values, **look)
        if line:
            last = line[-1]
            headlines.append(
                f"{label}, energy {last['energy']:g}: gradient at an entry behind "
                f"{_number(last['gradient_behind'])}, the whole gradient "
                f"{_number(last['size_over_exact'])} times as long, cosine "
                f"{_number(last['cosine'])}")
    for panel, title in zip(grid[0], ("gradient at an entry behind", "cosine with the exact gradient")):
        panel.set_title(title)
        panel.set_xlabel("energy of the entries behind")
        panel.set_ylim(-0.08, 1.08)
        panel.grid(True)
    style.add_foot(figure, _caption(result), handles)
    return figure, headlines


def _number(value):
    return "not finite" if value is None else f"{value:.2f}"


def _caption(result):
    return (
        f"Loss -log alpha of entry {result['target']}; the output before has chosen entry "
        f"{result['start']} of {result['memory_length']}. The {len(result['behind'])} entries "
        f"behind are never read again, so the exact gradient of their energies is 0; p of an "
        f"energy of 4 is 0.982. All other energies are {result['energy_others']:g}, the "
        f"target's is {result['energy_target']:g}. {words.context_text(result['context'])}"
    )
