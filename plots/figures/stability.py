"""How wrong are the published ways to compute training expectations and gradients?

There are three figures of one result of `attnbench stability`: the largest error over
the length of the memory for mechanisms without chunk energies (a column for each family
of p), the same for those with chunk energies (a column for each of their scales), and
the largest gradient over the outputs. Each has a row of panels for each precision, and
a line for each mechanism, variant and preset that the file has.
"""

import math

from matplotlib import ticker

from analysis import load, words
from figures import style, ticks

# Smaller errors are drawn here: exact zeros have no logarithm.
FLOOR = 1e-18
GRADIENT_FAMILIES = ("uniform", "recommended", "sharpness_4", "sharpness_16")
CHUNK_FAMILY = "uniform"
TITLES = {
    "uniform": "p uniform in (0, 1)",
    "recommended": "p = sigmoid(N(−4, 1))",
    "normal": "scores N(0, 1)",
}
# The looks of variants that are not exact; presets with the same constants
# share a hue. Exact lines have the look of their mechanism, as in every figure.
LOOKS = {
    "mad2017": ("#E69F00", "P", "-"),
    "tf": ("#8C6D31", "<", (0, (5, 1.5))),
    "nsp": ("#56B4E9", "X", "-"),
    "fsq": ("#5E3C99", ">", (0, (5, 1.5))),
    "fsq_op": ("#B2182B", "*", (0, (1.5, 1.5))),
    "nsp_no_denominator": ("#7F7F7F", "h", "-"),
    "denominator_one": ("#444444", "1", (0, (1.5, 1.5))),
    "jmin": ("#117733", "d", "-"),
    "mocha nested": ("#E69F00", "P", (0, (5, 1.5))),
    "mocha moving_sum": ("#B2182B", "X", "-"),
    "mocha clipped": ("#5E3C99", "*", "-"),
    "matcha nested": ("#56B4E9", "<", (0, (5, 1.5))),
    "matcha partial_sums": ("#7F7F7F", "h", (0, (1.5, 1.5))),
}

# preset -> whose constants it has; mechanisms/monotonic/README.md has the formulas.
OWNERS = {
    "mad2017": "of MAD",
    "tf": "of TensorFlow",
    "nsp": "of neural_sp",
    "nsp_no_denominator": "of neural_sp",
    "fsq": "of fairseq",
    "fsq_op": "of fairseq",
    "jmin": "of MoChA-pytorch",
    "denominator_one": "of MAD",
}


def has_errors(result):
    return bool((result["rows"]["chunk_energy_scale"].isna()).any())


def has_chunks(result):
    return bool((result["rows"]["chunk_energy_scale"].notna()).any())


def has_gradients(result):
    return not result["gradients"].empty


def draw(result):
    """Draws the error over T of everything without chunk energies, and tells the
    finding.
    """
    rows = result["rows"]
    rows = _longest(rows[rows["chunk_energy_scale"].isna()])
    families = [f for f in _families(rows) if _over_length(rows, f)]
    chosen = rows[rows["family"].isin(families)]
    figure = _error_figure(
        result,
        chosen,
        "family",
        [f for f in families if f != "normal"],
        _title,
        "p is drawn as each column says, memory (no p) from N(0, 1) scores.",
    )
    return figure, _finding(result)


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
    rows = result["gradients"]
    rows = rows[rows["chunk_energy_scale"].isna()]
    rows = rows[rows["memory_length"] == rows["memory_length"].max()]
    rows = rows[
        rows["mechanism"].isin(
            {m for m, v in zip(rows["mechanism"], rows["preset"]) if v}
        )
    ]
    families = [f for f in GRADIENT_FAMILIES if f in set(rows["family"])]
    precisions = sorted(set(rows["precision"]))
    names = _names(rows)
    figure, axes = style.new_figure(len(precisions), len(families))
    finite = rows["largest_gradient"].dropna()
    low, high = finite[finite > 0].min() / 2, finite.max() * 2
    for row, precision in enumerate(precisions):
        for column, family in enumerate(families):
            panel = axes[row, column]
            group = rows[
                (rows["precision"] == precision) & (rows["family"] == family)
            ]
            _draw_lines(
                panel, group, names, "output_length", "largest_gradient",
                (low, high),
            )
            panel.set_title(f"{_title(family)}, {precision}")
    _label(axes, "outputs U", "largest |dL/dp|")
    length = rows["memory_length"].iloc[0]
    _foot(
        figure,
        result,
        rows,
        names,
        "Largest element of the gradient of <cotangent, attention> with "
        f"respect to p, T = {length}, a fixed random cotangent in [−1, 1); by "
        "forward-mode differentiation of what was published.",
    )
    return figure, [_gradient_finding(rows)]


# ---- lines ------------------------------------------------------------------


def _name(row):
    if row["preset"]:
        return row["preset"]
    return f"{row['mechanism']} {row['variant']}"


def _names(rows):
    """Names the lines, in the file's order: name -> mechanism."""
    return {
        _name(row): (row["mechanism"], row["variant"])
        for row in rows.drop_duplicates(
            ["mechanism", "variant", "preset"]
        ).to_dict("records")
    }


def _look(name, names):
    mechanism, variant = names[name]
    if variant == "exact":
        look = style.line(mechanism, [m for m, _ in names.values()])
        return {**look, "linewidth": 1.8, "zorder": 3}
    if name in LOOKS:
        color, marker, dashes = LOOKS[name]
        width = 1.6 if dashes == "-" else 1.0
    else:  # a variant that this code does not know
        strangers = sorted(set(names) - set(LOOKS))
        rank = strangers.index(name)
        color, marker = style.FALLBACK[rank % len(style.FALLBACK)]
        dashes, width = style.LINE_STYLES[1 + rank % 3], 1.0
    return {
        "color": color,
        "marker": marker,
        "linestyle": dashes,
        "linewidth": width,
    }


def _draw_lines(axes, rows, names, x_key, y_key, limits):
    """Draws a line each; a number that is not finite is a cross at the upper edge."""
    low, high = limits
    lines = dict(list(rows.groupby(rows.apply(_name, axis=1))))
    for name in names:  # in their order: dashes over the solid line they hide
        if name not in lines:
            continue
        group = lines[name].sort_values(x_key)
        value = group[y_key].astype(float).clip(lower=low)
        look = _look(name, names)
        axes.plot(group[x_key], value, **look)
        lost = group[group["not_finite"] > 0][x_key]
        if lost.empty:  # an empty unclipped line would break the layout
            continue
        axes.plot(
            lost,
            [high] * len(lost),
            linestyle="none",
            marker="x",
            markersize=5,
            color=look["color"],
            clip_on=False,
            zorder=5,
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    ticks.log_ticks(axes.yaxis, low, high, _power(high / low > 1e12))
    places = sorted(set(rows[x_key]))
    axes.set_xticks(places[:: 2 if len(places) > 6 else 1])
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.grid(True)


def _power(sparse):
    """Labels the powers of ten, every third one if there are many."""

    def to_text(value, _=None):
        exponent = round(math.log10(value))
        if value < 2 * FLOOR:
            return "0"
        if sparse and exponent % 3:
            return ""
        return ticks.power_tick(value)

    return to_text


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
    names = _names(rows)
    figure, axes = style.new_figure(len(precisions), len(values))
    for row, precision in enumerate(precisions):
        for column, value in enumerate(values):
            panel = axes[row, column]
            here = (rows[key] == value) | (rows["family"] == "normal")
            group = rows[(rows["precision"] == precision) & here]
            _draw_lines(
                panel, group, names, "memory_length", "attention_error",
                (FLOOR, 3),
            )
            panel.set_title(f"{to_title(value)}, {precision}")
    _label(axes, "memory length T", "largest error of attention")
    _foot(
        figure,
        result,
        rows,
        names,
        "Largest |attention − exact|, exact in f64 on the same numbers (so "
        "that exact lines are 0 there), over outputs chained (U = T/4, at most "
        f"50), entries and {rows['draws'].max()} draws. {text}",
    )
    return figure


def _label(axes, x, y):
    """Names the axes at the edges of the figure: all panels have the same."""
    for panel in axes[-1]:
        panel.set_xlabel(x)
    for panel in axes[:, 0]:
        panel.set_ylabel(y)


def _foot(figure, result, rows, names, text):
    handles = [style.handle(name, _look(name, names)) for name in names]
    if (rows["not_finite"] > 0).any():
        look = {"linestyle": "none", "marker": "x", "color": "black"}
        handles.append(style.handle("not finite", look))
    style.add_foot(
        figure,
        f"{text} {words.context_text(result['context'])}",
        handles,
    )


# ---- findings ---------------------------------------------------------------


def _worst(rows, key):
    values = rows[key].dropna()
    return float(values.max()) if len(values) else math.nan


def _number(value):
    if value >= 0.01:
        return f"{value:.2g}" if value < 100 else f"{value:.0f}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _preset(name):
    return f"`{name}`, {OWNERS[name]},"


def _finding(result):
    """Gives the sentence of the README."""
    rows = result["rows"]
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
    least = min(
        _worst(group, "attention_error")
        for _, group in theirs.groupby("preset")
    )
    gradient = result["gradients"]
    gradient = gradient[gradient["mechanism"] == "monotonic"]
    sizes = [
        _number(_worst(g, "largest_gradient"))
        for g in (
            gradient[gradient["variant"] == "exact"],
            gradient[gradient["preset"].notna()],
        )
    ]
    sentence = (
        "Somewhere on this grid every published closed form of alpha, the "
        "probability that an output chooses an entry, is off "
        f"by {math.floor(100 * least) / 100:g} or more in one entry, and more precision does "
        f"not help ({_preset('tf')} in f64: {_number(_worst(tf, 'attention_error'))}, and "
        f"{100 * _worst(tf, 'mass_error'):.0f} % of an output's mass lost)"
    )
    if presets:
        sentence += f"; {' and '.join(map(_preset, presets))} also gives NaN"
    sentence += (
        f"; the largest gradient is {sizes[1]} where the exact one is "
        f"{sizes[0]}; `exact`, in f32, stays within "
        f"{_number(_worst(ours, 'attention_error'))}."
    )
    return [sentence]


def _chunk_finding(result):
    rows = result["rows"]
    rows = rows[rows["chunk_energy_scale"].notna()]
    parts = []
    for name, group in rows.groupby(rows.apply(_name, axis=1), sort=False):
        worst = _number(_worst(group[group["precision"] == "f32"],
                               "attention_error"))
        lost = (group["not_finite"] > 0).any()
        parts.append(f"{name} {worst}{' and NaN' if lost else ''}")
    return "largest error in f32: " + ", ".join(parts)


def _gradient_finding(rows):
    parts = []
    for name, group in rows.groupby(rows.apply(_name, axis=1), sort=False):
        parts.append(f"{name} {_number(_worst(group, 'largest_gradient'))}")
    return "largest |dL/dp|: " + ", ".join(parts)
