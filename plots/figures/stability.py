"""How wrong are the published ways to compute training expectations and gradients?

There are three figures of one result of `attnbench stability`: the largest error over
the length of the memory for mechanisms without chunk energies (a row of maps for each
family of p), the same for those with chunk energies (a row for each of their scales), and
the largest gradient over the outputs. A map has a row for each mechanism, variant and
preset that the file has, and the number in each cell, as lines would cover each other:
many variants have the same errors.
"""

import math

import numpy
from matplotlib import colormaps, colors

from analysis import load, words
from figures import heat_maps, style, ticks

# What is not finite is black.
COLOR_MAP = colormaps["YlOrRd"].with_extremes(over="#000000")
# Smaller errors are as pale: all that rounding does.
ERRORS = colors.LogNorm(1e-8, 1)
CELL_IN, ROW_IN = 0.34, 0.18
GRADIENT_FAMILIES = ("uniform", "recommended", "sharpness_4", "sharpness_16")
CHUNK_FAMILY = "uniform"
TITLES = {
    "uniform": "p uniform in (0, 1)",
    "recommended": "p = sigmoid(N(−4, 1))",
    "normal": "scores N(0, 1)",
}

# Preset or variant -> the toolkit or paper that it stands for, and the version or file;
# mechanisms/monotonic/README.md has the formulas.
SOURCES = {
    "mad2017": ("MAD", "appendix G and `example_decoder.py`"),
    "tf": ("TensorFlow", "`contrib.seq2seq` of 1.x; Addons, lingvo"),
    "nsp": ("neural_sp", "`mocha/hma_train.py`"),
    "nsp_no_denominator": ("neural_sp", "`mocha/hma_train.py` with `no_denom`"),
    "fsq": ("fairseq 0.10", "in Python (`monotonic_multihead_attention.py`)"),
    "fsq_op": ("fairseq 0.12", "compiled operator (`alignment_train_cpu.cpp`)"),
    "jmin": ("MoChA-pytorch", "`attention.py`"),
    "denominator_one": ("MAD", "appendix G, a denominator of 1"),
    "triangular": ("EMMA", "without a denominator"),
    "exact": ("attnbench", "`exact`"),
}


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
    """Draws the largest gradient over U."""
    rows = _drawn_gradients(result)
    maps = {
        _title(family): rows[rows["family"] == family]
        for family in GRADIENT_FAMILIES
        if family in set(rows["family"])
    }
    sizes = rows["largest_gradient"].dropna()
    norm = heat_maps.log_norm(list(sizes[sizes > 0]) or [1.0])
    figure = _figure(
        result,
        rows,
        maps,
        ("output_length", "outputs U"),
        ("largest_gradient", "largest |dL/dp|", norm),
        "Largest element of the gradient of <cotangent, attention> with respect to p, "
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
    return row["preset"] or f"{row['mechanism']} {row['variant']}"


def _names(rows):
    """Names the rows of a map: exact ones, then the others in the file's order."""
    every = rows.drop_duplicates(["mechanism", "variant", "preset"]).to_dict("records")
    every.sort(key=lambda row: row["variant"] != "exact")
    return [_name(row) for row in every]


def _figure(result, rows, maps, along, measured, text):
    """Draws `maps`, title -> rows, with a column for each precision. `along` is (key,
    text) of the lengths, `measured` (key, text, norm) of the numbers.
    """
    precisions = sorted(set(rows["precision"]))
    names, lengths = _names(rows), sorted(set(rows[along[0]]))
    # Names and the scale take two inches.
    width = max(1.8, CELL_IN * len(lengths)) + 2 / len(precisions)
    height = 0.45 + ROW_IN * len(names)
    figure, grid = style.new_figure(len(maps), len(precisions), width, height)
    for of_map, (title, group) in zip(grid, maps.items()):
        for panel, precision in zip(of_map, precisions):
            here = group[group["precision"] == precision]
            mesh = _draw_map(panel, here, names, lengths, along[0], measured)
            panel.set_title(f"{title}, {precision}")
            panel.set_yticks([])
        of_map[0].set_yticks(range(len(names)), names)
    for panel in grid[-1]:
        panel.set_xlabel(along[1])
    _, label, norm = measured
    to_text = ticks.power_tick if norm is ERRORS else "{x:g}"
    heat_maps.color_bar(figure, mesh, grid, label, to_text)
    notes = ""
    if (rows["not_finite"] > 0).any():
        notes += " NaN: some numbers are not finite."
    if sum(map(len, maps.values())) < len(names) * len(lengths) * grid.size:
        notes += " Grey: not measured."
    style.add_foot(figure, f"{text}{notes} {words.context_text(result['context'])}")
    return figure


def _draw_map(panel, rows, names, lengths, along, measured):
    key, _, norm = measured
    values = numpy.full((len(names), len(lengths)), math.nan)
    for row in rows.to_dict("records"):
        x, y = lengths.index(row[along]), names.index(_name(row))
        if row["not_finite"] > 0:
            value, text = 10 * norm.vmax, "NaN"
        else:
            value, text = min(max(row[key], norm.vmin), norm.vmax), _cell_text(row[key])
        values[y, x] = value
        panel.text(x, y, text, color=heat_maps.ink(COLOR_MAP(norm(value))),
                   fontsize=style.SMALLEST_PT, ha="center", va="center")
    panel.set_facecolor(style.MISSING)
    edges = (numpy.arange(count + 1) - 0.5 for count in (len(lengths), len(names)))
    mesh = panel.pcolormesh(
        *edges, values, norm=norm, cmap=COLOR_MAP, edgecolor="white", linewidth=0.3)
    panel.set_ylim(len(names) - 0.5, -0.5)
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
    maps = {
        to_title(value): rows[(rows[key] == value) | (rows["family"] == "normal")]
        for value in values
    }
    return _figure(
        result,
        rows,
        maps,
        ("memory_length", "memory length T"),
        ("attention_error", "largest error of attention", ERRORS),
        "Largest |attention − exact|, exact in f64 on the same numbers (so that exact "
        f"rows are 0 there), over outputs chained (U = T/4, at most 50), entries and "
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


def _preset(name):
    return f"`{name}`, of {SOURCES[name][0]}," if name in SOURCES else f"`{name}`"


def _finding(result):
    """Gives the sentences of the README, of what this figure and that of gradients draw."""
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
            f" More precision does not help: {_preset('tf')} in f64 is off by "
            f"{number(_worst(tf, 'attention_error'))}."
        )
    if presets:
        sentence += f" {' and '.join(map(_preset, presets))} also gives NaN."
    sentence += (
        f" `exact`, in f32, stays within {number(_worst(ours, 'attention_error'))}."
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
        f"`{worst['preset']}`, where the exact one is "
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
    return "largest error in f32: " + ", ".join(parts)


def _gradient_finding(rows):
    parts = []
    for name, group in rows.groupby(rows.apply(_name, axis=1), sort=False):
        parts.append(f"{name} {number(_worst(group, 'largest_gradient'))}")
    return "largest |dL/dp|: " + ", ".join(parts)
