"""What figures of speed share: choosing cells, pairing rounds, heat maps.

Speed-ups are paired: the cells of a point are timed one after the other in
every round, so sample r of both saw the same machine, and the median of the
ratios per round is free of what the machine did between rounds. The interval
comes from order statistics of those ratios: it assumes no distribution, needs
no random numbers, and its coverage is known exactly.
"""

import itertools
import math

import matplotlib
import numpy
import pandas
from matplotlib import colors, ticker

import load
import style

BASELINE = "soft"
POINT = ["workload", "memory_length", "output_length"]
COLOR_MAP = "viridis"
MOST_IN_HEAT_MAP = 64  # rows or columns whose numbers can be read


# ---- choosing cells ---------------------------------------------------------


def select(cells, mechanisms=None, free=()):
    """The cells of these mechanisms (default: all), fit to be drawn.

    Checks that every cell is ok or skipped, and that all agree on everything
    that was set, but for the mechanism and the axes in `free`.
    """
    path = cells.attrs["path"]
    if mechanisms is not None:
        for name in mechanisms:
            if name not in set(cells["mechanism"]):
                raise load.DataError(path, f"cells missing: mechanism {name}")
        cells = cells[cells["mechanism"].isin(mechanisms)]
    for cell in cells.to_dict("records"):
        if cell["status"] not in ("ok", "skipped"):
            raise load.DataError(
                path,
                f"cell {describe(cell)} is {cell['status']}: {cell['message']}",
            )
    if (cells["status"] == "skipped").all():
        raise load.DataError(
            path, f"every cell is skipped: {cells['message'].iloc[0]}"
        )
    _require_one_setting(cells, free)
    return cells


def _require_one_setting(cells, free):
    """Of each axis one value; of options one per mechanism, and per build."""
    fixed = set(cells.columns) - {*load.OUTCOMES, "mechanism", *free}
    # The published builds are double precision and end as their authors' do:
    # builds are drawn apart, so they may differ.
    apart = ["variant"] if "variant" in free else []
    for axis in sorted(fixed):
        by = [*apart, "mechanism"] if axis == "options" else apart
        found = {}
        for setting in zip(cells[axis], *(cells[key] for key in by)):
            if setting[0] is not None:
                found.setdefault(setting[1:], set()).add(setting[0])
        for values in found.values():
            if len(values) > 1:
                values = sorted(values, key=str)
                raise load.DataError(
                    cells.attrs["path"],
                    f"mixed data: {axis} is {', '.join(map(str, values))}; "
                    "the figure needs one",
                )


def describe(cell):
    """A cell in words: 'mocha, w = 4, exact, uniform, T = 10, U = 20'."""
    return (
        f"{label(cell)}, {cell['variant']}, {cell['workload']}, "
        f"T = {cell['memory_length']}, U = {cell['output_length']}"
    )


def label(cell):
    """The mechanism with the settings that tell its lines apart."""
    text = cell["mechanism"]
    for key, letter in (("chunk_width", "w"), ("num_contexts", "K")):
        if cell[key] is not None:
            text += f", {letter} = {cell[key]}"
    return text


def require_cells(cells, keys, path):
    """Each combination of the values of `keys` (axis: values) exactly once."""
    counts = cells.groupby(list(keys)).size()
    for values in itertools.product(*keys.values()):
        found = counts.get(values if len(values) > 1 else values[0], 0)
        if found != 1:
            place = ", ".join(f"{k} = {v}" for k, v in zip(keys, values))
            what = "missing" if found == 0 else f"there {found} times"
            raise load.DataError(path, f"cells {what}: {place}")


# ---- pairing ----------------------------------------------------------------


def median_interval(values, level=0.95):
    """(median, low, high, coverage) by order statistics.

    The k-th smallest and k-th largest of n values enclose the true median
    unless fewer than k of them fall on one side of it: coverage is
    1 - 2 P(Binomial(n, 1/2) < k). The largest k that reaches `level`; the whole
    range, with its lower coverage, where there are too few values.
    """
    ordered = numpy.sort(numpy.asarray(values, dtype=float))
    n = len(ordered)
    missed, k = 2 * 0.5**n, 1
    while 2 * k < n:
        more = missed + 2 * math.comb(n, k) / 2**n
        if more > 1 - level:
            break
        missed, k = more, k + 1
    return (
        float(numpy.median(ordered)),
        float(ordered[k - 1]),
        float(ordered[n - k]),
        max(0.0, 1 - missed),
    )


def observations(samples, cell):
    """What an interval is over, of something for each sample of the cell.

    The rounds of its process; where several processes measured, the median of
    each: what differs from process to process is the same in all its rounds.
    """
    samples = numpy.asarray(samples, dtype=float)
    processes = cell.get("processes") or 1
    if processes == 1:
        return samples
    return numpy.median(samples.reshape(processes, -1), axis=1)


def speedups(cells):
    """One row for each cell that is not soft attention's: soft over it.

    Adds `value`, `low`, `high`, `coverage`, `rounds` to the cell's columns;
    value is NaN where either of the two was skipped.
    """
    path = cells.attrs["path"]
    keys = [*POINT, "variant"]
    is_soft = cells["mechanism"] == BASELINE
    baseline = {}
    for cell in cells[is_soft].to_dict("records"):
        key = tuple(cell[k] for k in keys)
        if key in baseline:
            raise load.DataError(path, f"cell twice: {describe(cell)}")
        baseline[key] = cell
    rows = []
    level = joint_level(cells[~is_soft])
    for cell in cells[~is_soft].to_dict("records"):
        soft = baseline.get(tuple(cell[k] for k in keys))
        if soft is None:
            raise load.DataError(
                path, f"cells missing: {BASELINE} beside {describe(cell)}"
            )
        rows.append({**cell, **ratio(soft, cell, path, level)})
    if not rows:
        raise load.DataError(path, f"cells missing: all are {BASELINE}'s")
    ratios = pandas.DataFrame(rows)
    if ratios["value"].isna().all():
        why = cells[cells["status"] == "skipped"]["message"].iloc[0]
        raise load.DataError(
            path, f"no two cells to compare, one is always skipped: {why}"
        )
    return ratios


def ratio(base, cell, path, level=0.95):
    """`base` over `cell`, two cells of one point, round by round.

    `rounds` is the number of observations.
    """
    if "skipped" in (base["status"], cell["status"]):
        return {
            "value": math.nan,
            "low": math.nan,
            "high": math.nan,
            "coverage": math.nan,
            "rounds": 0,
        }
    above, below = base["samples_ns"], cell["samples_ns"]
    if len(above) != len(below):
        raise load.DataError(
            path,
            f"cell {describe(cell)} has {len(below)} samples, "
            f"{base['mechanism']} has {len(above)}: rounds cannot be paired",
        )
    ratios = observations(numpy.divide(above, below), cell)
    value, low, high, coverage = median_interval(ratios, level)
    return {
        "value": value,
        "low": low,
        "high": high,
        "coverage": coverage,
        "rounds": len(ratios),
    }


def joint_level(cells, level=0.95):
    """The level of each interval at which all of them together have `level`.

    Bonferroni's, over the cells that were measured: of hundreds of intervals
    at 95 percent each, many would miss.
    """
    return 1 - (1 - level) / max(1, int((cells["status"] == "ok").sum()))


def coverage_text(ratios):
    """'coverage 99.9 % each, 97 % or more all 24 together' of records."""
    missed = [1 - ratio["coverage"] for ratio in ratios]
    each = f"coverage {100 * (1 - max(missed)):.4g} %"
    if len(missed) == 1:
        return each
    together = max(0, 1 - sum(missed))
    return (
        f"{each} each, {100 * together:.3g} % or more all {len(missed)} together"
    )


def times(cells):
    """The cells with `value`, `low`, `high`: the result's own, in ns."""
    spans = [span or (math.nan, math.nan) for span in cells["interval_ns"]]
    return cells.assign(
        value=cells["median_ns"],
        low=[span[0] for span in spans],
        high=[span[1] for span in spans],
    )


# ---- words ------------------------------------------------------------------


def caption(cells, text, ratios=None):
    """What is drawn, what was set, how it was measured, where and when."""
    parts = [text]
    if ratios is not None:
        parts.append(_interval_text(ratios))
    skipped = int((cells["status"] == "skipped").sum())
    if skipped:
        first = cells[cells["status"] == "skipped"]["message"].iloc[0]
        parts.append(
            f"Skipped (hatched, or left out of a line): {skipped} of "
            f"{len(cells)} cells, the first: {first}."
        )
    parts.append(_settings_text(cells))
    parts.append(context_text(cells.attrs["context"]))
    return " ".join(parts)


def _interval_text(ratios):
    measured = ratios[ratios["rounds"] > 0]
    rounds = sorted(set(measured["rounds"]))
    of = "rounds"
    if "processes" in measured and (measured["processes"].fillna(1) > 1).all():
        of = "processes"
    if rounds[0] == 1:
        return "A single round: no interval."
    return (
        "Speed-up: median of the ratios per round; its interval: order "
        f"statistics of {rounds[0]}{f' to {rounds[-1]}' * (len(rounds) > 1)} "
        f"{of}, {coverage_text(measured.to_dict('records'))}."
    )


def _settings_text(cells):
    parts = ["Workload " + ", ".join(sorted(set(cells["workload"])))]
    for axis in ("dim", "batch", "threads", "precision", "energy", "end"):
        if axis not in cells:
            continue
        builds = {}
        for variant, group in cells.groupby("variant"):
            values = [str(v) for v in sorted(set(group[axis].dropna()))]
            if values:
                builds.setdefault(", ".join(values), []).append(variant)
        for value, variants in builds.items():
            suffix = f" ({', '.join(variants)})" if len(builds) > 1 else ""
            parts.append(f"{axis} {value}{suffix}")
    return "; ".join(parts) + "."


def context_text(context):
    """Commit, machine and date of a run, and whether it may be trusted."""
    tree = {
        True: " with uncommitted changes",
        False: "",
        None: " (uncommitted changes: unknown)",
    }[context["dirty"]]
    text = (
        f"Commit {context['commit'][:10]}{tree}; {context['cpu']}; "
        f"{context['date']}."
    )
    warnings = context["warnings"]
    reasons = invalid_reasons(context)
    if reasons:
        text = f"INVALID: {'; '.join(reasons)}. {text}"
    if warnings:
        plural = "s" if len(warnings) > 1 else ""
        text += f" The result carries {len(warnings)} warning{plural}."
    return text


def invalid_reasons(context):
    """Why no time of the run means anything; empty for a valid one."""
    if context["valid"]:
        return []
    return context.get("invalid_reasons") or ["no reason is given"]


def framework_text(context):
    """The versions that a peer told of its framework; empty without one."""
    return ", ".join(
        f"{name} {version}"
        for name, version in context.get("libraries", {}).items()
        if name.startswith("torch")
    )


def ratio_cell(cell):
    """The number of a heat map's cell above its interval."""
    text = ratio_text(cell["value"])
    if cell["low"] == cell["high"]:
        return text
    # Without the 0 of 0.85 the longest interval still fits its cell.
    ends = [ratio_text(cell[k]).removeprefix("0") for k in ("low", "high")]
    return f"{text}\n{ends[0]}–{ends[1]}"


def span_text(cell):
    """A speed-up and its interval: '4.0x [3.8, 4.1]'."""
    if math.isnan(cell["value"]):
        return "skipped"
    value, low, high = (ratio_text(cell[k]) for k in ("value", "low", "high"))
    return f"{value}x [{low}, {high}]"


def ratio_text(value):
    """A speed-up in about three characters: 0.85, 4.0, 37."""
    digits = 0 if value >= 9.95 else 1 if value >= 0.995 else 2
    return f"{value:.{digits}f}"


def time_text(ns):
    """A time in three digits and its unit: '850 ns', '12.3 µs'."""
    size, unit = _unit(ns)
    digits = 0 if ns / size >= 99.95 else 1 if ns / size >= 9.995 else 2
    return f"{ns / size:.{digits}f} {unit}"


def time_tick(ns, _=None):
    """The same for the round numbers at an axis: '10 µs'."""
    size, unit = _unit(ns)
    return f"{ns / size:.3g} {unit}"


def ratio_tick(value, _=None):
    # Of three digits 1000 would be 1e+03.
    return f"{value:.3g}x" if value < 1000 else f"{value:.0f}x"


def _unit(ns):
    # 999.6 ns would be written 1000 ns.
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= 0.9995 * size:
            return size, unit
    return 1, "ns"


def log_ticks(axis, low, high, to_text):
    """Readable ticks on a logarithmic axis, however little it spans."""
    if high / low < 4:
        axis.set_major_locator(ticker.MaxNLocator(5))
    else:
        subs = (1.0,) if high / low > 1e3 else (1.0, 2.0, 5.0)
        axis.set_major_locator(ticker.LogLocator(subs=subs, numticks=20))
    axis.set_major_formatter(to_text)
    axis.set_minor_locator(ticker.NullLocator())


# ---- lines over T -----------------------------------------------------------


def draw_line(axes, line, look):
    """`value` over memory_length with its interval, of rows in its order."""
    # Rows without a value stay in and interrupt the line.
    x = line["memory_length"].to_numpy(dtype=float)
    value, low, high = (
        line[key].to_numpy(dtype=float) for key in ("value", "low", "high")
    )
    axes.errorbar(
        x,
        value,
        (value - low, high - value),
        capsize=1.5,
        elinewidth=0.7,
        **look,
    )


# ---- heat maps over T and U -------------------------------------------------


def log_norm(values, include_one=False):
    """One logarithmic colour scale for all panels of a figure."""
    known = [v for v in values if not math.isnan(v)]
    low, high = min(known), max(known)
    if include_one:
        low, high = min(low, 1.0), max(high, 1.0)
    if high / low < 1.2:  # a scale needs two ends
        low, high = low / 1.1, high * 1.1
    return colors.LogNorm(low, high)


def heat_map_figure(panel_rows, panel_columns, cells, path):
    """A figure whose heat maps' cells hold two lines of text readably."""
    for axis in ("memory_length", "output_length"):
        number = cells[axis].nunique()
        if number > MOST_IN_HEAT_MAP:
            raise load.DataError(
                path,
                f"{number} values of {axis}, a heat map has room for "
                f"{MOST_IN_HEAT_MAP}",
            )
    width = 0.7 + 0.43 * cells["memory_length"].nunique()
    height = 0.6 + 0.34 * cells["output_length"].nunique()
    return style.new_figure(
        panel_rows,
        panel_columns,
        max(style.PANEL_WIDTH_IN, width),
        max(style.PANEL_HEIGHT_IN, height),
    )


def heat_map(axes, rows, norm, to_text, title):
    """One panel: x is memory_length, y output_length, each cell its number.

    `rows` has memory_length, output_length, value and what `to_text`, which
    gets a row, wants. Cells without a value are hatched.
    """
    lengths = sorted(set(rows["memory_length"]))
    outputs = sorted(set(rows["output_length"]))
    color_map = matplotlib.colormaps[COLOR_MAP]
    image = rows.pivot(
        index="output_length", columns="memory_length", values="value"
    ).loc[outputs, lengths]
    axes.set_facecolor(style.MISSING)
    mesh = axes.imshow(
        image.to_numpy(dtype=float),
        norm=norm,
        cmap=color_map,
        origin="lower",
        aspect="auto",
    )
    for cell in rows.to_dict("records"):
        x = lengths.index(cell["memory_length"])
        y = outputs.index(cell["output_length"])
        _write_cell(axes, x, y, cell, color_map(norm(cell["value"])), to_text)
    axes.set_xticks(range(len(lengths)), lengths)
    axes.set_yticks(range(len(outputs)), outputs)
    axes.tick_params(length=0)
    axes.set_xlabel("memory length T")
    axes.set_ylabel("output length U")
    axes.set_title(title)
    return mesh


def _write_cell(axes, x, y, cell, color, to_text):
    if math.isnan(cell["value"]):
        axes.fill(
            [x - 0.5, x + 0.5, x + 0.5, x - 0.5],
            [y - 0.5, y - 0.5, y + 0.5, y + 0.5],
            facecolor=style.MISSING,
            edgecolor="#999999",
            hatch="////",
            linewidth=0,
        )
        return
    # Whichever of white and black contrasts more: they are equal at a relative
    # luminance of 0.18 (WCAG 2); 2.2 stands for the transfer curve of sRGB.
    luminance = numpy.dot((0.2126, 0.7152, 0.0722), numpy.power(color[:3], 2.2))
    ink = "white" if luminance < 0.18 else "black"
    axes.text(
        x,
        y,
        to_text(cell),
        color=ink,
        fontsize=style.SMALLEST_PT,
        ha="center",
        va="center",
        linespacing=1.0,
    )


def no_panel(axes, title):
    """A combination that the file does not have."""
    axes.set_title(title)
    axes.set_axis_off()
    axes.text(
        0.5,
        0.5,
        "not in this file",
        transform=axes.transAxes,
        ha="center",
        va="center",
        color="#666666",
    )


def color_bar(figure, mesh, all_axes, text, to_text):
    """The colour scale, beside all panels."""
    bar = figure.colorbar(mesh, ax=all_axes, pad=0.02, aspect=30)
    log_ticks(bar.ax.yaxis, mesh.norm.vmin, mesh.norm.vmax, to_text)
    bar.set_label(text)
