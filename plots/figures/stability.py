"""How wrong are the published ways to compute training expectations and gradients?

There are three figures of one result of `attnbench stability`: the largest error over
the length of the memory for mechanisms without chunk energies (a row of maps for each
family of p), the same for those with chunk energies (a row for each of their scales), and
the largest error of the gradient over the outputs. A map has a row for each mechanism,
variant and preset that the file has, and the number in each cell, as lines would cover
each other: many variants have the same errors.
"""

import math

import numpy
import pandas
from matplotlib import colormaps, colors, patches

from attnbench.analysis import load, names, words
from figures import heat_maps, style, ticks

COLOR_MAP = colormaps["YlOrRd"]
LEAST = 1e-8  # smaller errors are as pale: all that rounding does
ERRORS = colors.LogNorm(LEAST, 1)
ROW_IN = 0.14
MOST_LENGTHS = 5  # of a map, whose numbers need the room
NOT_FINITE = {"facecolor": "white", "edgecolor": "#999999", "hatch": "////", "linewidth": 0}
GRADIENT_FAMILIES = ("uniform", "recommended", "sharpness_4", "sharpness_16")
CHUNK_FAMILY = "uniform"
TITLES = {
    "uniform": "p uniform in (0, 1)",
    "recommended": "p = sigmoid(N(−4, 1))",
    "normal": "scores N(0, 1)",
}
LOST = "f32"  # the precision of the maps of mass


def has_errors(result):
    return bool((result["rows"]["chunk_energy_scale"].isna()).any())


def has_chunks(result):
    return bool((result["rows"]["chunk_energy_scale"].notna()).any())


def has_gradients(result):
    return not _drawn_gradients(result).empty


def draw(result):
    """Draws the error over T of everything without chunk energies, and tells the
    finding.
    """
    chosen = _drawn_errors(result)
    families = [f for f in _families(chosen) if f != "normal"]
    if not families:
        raise load.DataError(
            result["path"], "rows missing: a family of p over two lengths of the memory"
        )
    said = _finding(result)
    figure = _error_figure(
        result,
        chosen,
        "family",
        families,
        _title,
        "p is drawn as each title says, memory (no p) from N(0, 1) scores.",
    )
    return figure, said


def draw_chunks(result):
    """Draws the same of mechanisms with chunk energies, over their scale."""
    rows = result["rows"]
    rows = _longest(rows[rows["chunk_energy_scale"].notna()])
    family = CHUNK_FAMILY
    if family not in set(rows["family"]):
        family = rows["family"].iloc[0]
    chosen = rows[rows["family"] == family]
    figure = _error_figure(
        result,
        chosen,
        "chunk_energy_scale",
        sorted(set(chosen["chunk_energy_scale"])),
        lambda scale: f"chunk energies N(0, {scale:g}²)",
        f"{_title(family)}; chunk width 4.",
    )
    return figure, [_chunk_finding(result)]


def draw_gradient(result):
    """Draws the largest error of the gradient over U, a row for each precision."""
    rows = _drawn_gradients(result)
    families = [f for f in GRADIENT_FAMILIES if f in set(rows["family"])]
    maps = [
        [(f"{_title(family)}, {precision}", "gradient_error",
          rows[(rows["family"] == family) & (rows["precision"] == precision)])
         for family in families]
        for precision in sorted(set(rows["precision"]))
    ]
    largest = _worst(rows, "gradient_error")
    norm = colors.LogNorm(LEAST, max(1, largest) if math.isfinite(largest) else 1)
    figure = _figure(
        result,
        rows,
        maps,
        ("output_length", "outputs U"),
        ("largest error of dL/dp", norm),
        "Largest |dL/dp − exact| for L = <cotangent, attention>, "
        f"T = {rows['memory_length'].iloc[0]}, a fixed random cotangent in [−1, 1); by "
        "forward-mode differentiation of what was published.",
    )
    return figure, [_gradient_finding(rows)]


def _drawn_errors(result):
    rows = result["rows"]
    rows = _longest(rows[rows["chunk_energy_scale"].isna()])
    families = [f for f in _families(rows) if _over_length(rows, f)]
    return rows[rows["family"].isin(families)]


def _drawn_gradients(result):
    rows = result["gradients"]
    rows = rows[rows["chunk_energy_scale"].isna()]
    rows = rows[rows["memory_length"] == rows["memory_length"].max()]
    with_presets = set(rows["mechanism"][rows["preset"].notna()])
    return rows[
        rows["mechanism"].isin(with_presets) & rows["family"].isin(GRADIENT_FAMILIES)
    ]


# ---- maps -------------------------------------------------------------------


def _name(row):
    return names.form(row["mechanism"], row["variant"], row["preset"])


def _names(rows):
    """Names the rows of a map: exact ones, then the others in the file's order."""
    every = rows.drop_duplicates(["mechanism", "variant", "preset"]).to_dict("records")
    every.sort(key=lambda row: row["variant"] != "exact")
    return [_name(row) for row in every]


def _figure(result, rows, maps, along, measured, text):
    """Draws `maps`, lines of (title, key of the number, rows). `along` is (key, text) of
    the lengths, `measured` (text, norm) of the numbers.
    """
    of_rows, lengths = _names(rows), _thinned(sorted(set(rows[along[0]])))
    height = 0.35 + ROW_IN * len(of_rows)
    figure, grid = style.new_figure(
        len(maps), max(map(len, maps)), height, style.PAGE_IN)
    label, norm = measured
    for line, of_line in zip(grid, maps):
        for panel, (title, key, here) in zip(line, of_line):
            mesh = _draw_map(panel, here, of_rows, lengths, (along[0], key), norm)
            panel.set_title(title)
            panel.set_yticks([])
        line[0].set_yticks(range(len(of_rows)), of_rows)
    for panel in grid[-1]:
        panel.set_xlabel(along[1])
    heat_maps.color_bar(figure, mesh, grid, label, ticks.power_tick)
    handles = []
    if (rows["not_finite"] > 0).any():
        handles.append(patches.Patch(label="NaN: some numbers are not finite", **NOT_FINITE))
    if _measured(maps, along[0], lengths) < len(of_rows) * len(lengths) * grid.size:
        handles.append(patches.Patch(label="not measured", facecolor=style.MISSING))
    style.add_foot(figure, f"{text} {words.context_text(result['context'])}", handles)
    return figure


def _thinned(lengths):
    """Keeps the longest of a few lengths as far apart as the others."""
    return lengths[::-(-(-len(lengths) // MOST_LENGTHS))][::-1]


def _measured(maps, key, lengths):
    return sum(int(rows[key].isin(lengths).sum()) for line in maps for _, _, rows in line)


def _draw_map(panel, rows, of_rows, lengths, keys, norm):
    along, key = keys
    values = numpy.full((len(of_rows), len(lengths)), math.nan)
    panel.set_facecolor(style.MISSING)
    for row in rows[rows[along].isin(lengths)].to_dict("records"):
        x, y = lengths.index(row[along]), of_rows.index(_name(row))
        if row["not_finite"] > 0 or pandas.isna(row[key]):
            panel.add_patch(patches.Rectangle((x - 0.5, y - 0.5), 1, 1, **NOT_FINITE))
            text, ink = "NaN", "black"
        else:
            values[y, x] = min(max(row[key], norm.vmin), norm.vmax)
            text, ink = _cell_text(row[key]), heat_maps.ink(COLOR_MAP(norm(values[y, x])))
        panel.text(x, y, text, color=ink, fontsize=style.SMALLEST_PT, ha="center",
                   va="center", fontweight="bold" if text == "NaN" else "normal")
    edges = (numpy.arange(count + 1) - 0.5 for count in (len(lengths), len(of_rows)))
    mesh = panel.pcolormesh(
        *edges, values, norm=norm, cmap=COLOR_MAP, edgecolor="white", linewidth=0.3)
    panel.set_ylim(len(of_rows) - 0.5, -0.5)
    panel.set_xticks(range(len(lengths)), lengths)
    panel.tick_params(length=0)
    return mesh


def _cell_text(value):
    """Writes '0.48', '4e-4' or '640': there is room for five characters."""
    return "0" if value == 0 else number(value, 2 if value >= 0.1 else 1)


# ---- panels -----------------------------------------------------------------


def _families(rows):
    return list(dict.fromkeys(rows["family"]))


def _title(family):
    if family in TITLES:
        return TITLES[family]
    if family.startswith("sharpness_"):
        sharpness = family.removeprefix("sharpness_")
        return f"p = sigmoid({'' if sharpness == '1' else sharpness + ' '}N)"
    return family


def _longest(rows):
    """Keeps, for every length, the rows with the most outputs."""
    most = rows.groupby(["mechanism", "family", "memory_length"])[
        "output_length"
    ].transform("max")
    return rows[rows["output_length"] == most]


def _over_length(rows, family):
    return rows[rows["family"] == family]["memory_length"].nunique() > 1


def _error_figure(result, rows, key, values, to_title, text):
    precisions = sorted(set(rows["precision"]))
    maps = []
    for value in values:
        here = rows[(rows[key] == value) | (rows["family"] == "normal")]
        of = {precision: here[here["precision"] == precision] for precision in precisions}
        maps.append([
            *((f"{to_title(value)}, {precision}", "attention_error", of[precision])
              for precision in precisions),
            *((f"mass lost, {precision}", "mass_error", of[precision])
              for precision in precisions if precision == LOST),
        ])
    return _figure(
        result,
        rows,
        maps,
        ("memory_length", "memory length T"),
        ("largest error of attention, or of its mass", ERRORS),
        "Left: largest |attention − exact|, exact in f64 on the same numbers (so that our "
        "rows are 0 there). Mass lost: largest |sum of an output's attention − the exact "
        "sum|, which is at most 1. Over outputs chained (U = T/4, at most 50), entries and "
        f"{rows['draws'].max()} draws. {text}",
    )


# ---- findings ---------------------------------------------------------------


def _worst(rows, key):
    values = rows[key].dropna()
    return float(values.max()) if len(values) else math.nan


def number(value, digits=2):
    if math.isnan(value):
        return "NaN"
    if value >= 0.01:
        return f"{value:.{digits}g}" if value < 100 else f"{value:.0f}"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _of_preset(name):
    return names.form("monotonic", "parallel", name)


def _finding(result):
    """Gives the sentences of docs/stability.md, of what this figure and that of gradients draw."""
    rows = _drawn_errors(result)
    rows = rows[(rows["mechanism"] == "monotonic")]
    ours = rows[(rows["variant"] == "exact") & (rows["precision"] == "f32")]
    theirs = rows[rows["preset"].notna()]
    if ours.empty or theirs.empty:
        raise load.DataError(
            result["path"], "rows missing: monotonic, exact and with presets"
        )
    tf = theirs[(theirs["preset"] == "tf") & (theirs["precision"] == "f64")]
    lost = theirs[theirs["not_finite"] > 0]
    presets = sorted(set(lost["preset"]))
    errors = [_worst(group, "attention_error") for _, group in theirs.groupby("preset")]
    known = [error for error in errors if not math.isnan(error)]
    if not known:
        raise load.DataError(
            result["path"], "rows missing: a preset of monotonic whose error is finite"
        )
    sentence = (
        "Over the lengths and probabilities of the figure, every published closed form "
        "of alpha, the probability that an output chooses an entry, is off "
        f"by {math.floor(100 * min(known)) / 100:g} or more in some entry."
    )
    if tf["attention_error"].notna().any():
        sentence += (
            f" More precision does not help: {_of_preset('tf')}'s in f64 is off by "
            f"{number(_worst(tf, 'attention_error'))}."
        )
    if presets:
        sentence += f" {' and '.join(map(_of_preset, presets))} also gives NaN."
    sentence += (
        f" Ours, in f32, stays within {number(_worst(ours, 'attention_error'))}."
        + _gradient_sentence(_drawn_gradients(result))
    )
    return [sentence]


def _gradient_sentence(rows):
    """Tells the largest gradient, and the exact one on the same numbers."""
    rows = rows[rows["mechanism"] == "monotonic"]
    theirs = rows[rows["preset"].notna()].dropna(subset=["largest_gradient"])
    if theirs.empty:
        return ""
    worst = theirs.loc[theirs["largest_gradient"].idxmax()]
    same = ["family", "memory_length", "output_length", "precision"]
    exact = rows[(rows["variant"] == "exact") & (rows[same] == worst[same]).all(axis=1)]
    return (
        f" The largest gradient is {number(worst['largest_gradient'])}, by "
        f"{_of_preset(worst['preset'])}, where the exact one is "
        f"{number(_worst(exact, 'largest_gradient'))}."
    )


def _chunk_finding(result):
    rows = result["rows"]
    rows = rows[rows["chunk_energy_scale"].notna()]
    parts = []
    for name, group in rows.groupby(rows.apply(_name, axis=1), sort=False):
        worst = number(_worst(group[group["precision"] == "f32"],
                               "attention_error"))
        lost = (group["not_finite"] > 0).any()
        parts.append(f"{name} {worst}{' and NaN' if lost else ''}")
    return "largest error in f32: " + "; ".join(parts)


def _gradient_finding(rows):
    parts = []
    for name, group in rows.groupby(rows.apply(_name, axis=1), sort=False):
        lost = " and NaN" if (group["not_finite"] > 0).any() else ""
        parts.append(f"{name} {number(_worst(group, 'gradient_error'))}{lost}")
    return "largest error of dL/dp: " + "; ".join(parts)
