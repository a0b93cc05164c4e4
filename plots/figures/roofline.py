"""How near to the limits of the machine is each mechanism?

There is a panel for each mode and scope, in a row for each precision: it shows what the
cells of variant exact reach, in flops a second, over their flops for each byte. The
lines are the limits that the same run measured: the bandwidth of every level of the
memory, and the peak.
"""

import numpy

from attnbench.analysis import fits, load, measures, modes, settings, words
from figures import panels, style, ticks

# The nearest level comes first.
LEVEL_LOOKS = [
    ("#b0b0b0", "-"),
    ("#909090", (0, (5, 1.5))),
    ("#707070", (0, (1.5, 1.5))),
    ("#505050", (0, (5, 1.5, 1, 1.5))),
]
PEAK_LOOK = ("#303030", "-")
# Points of one mechanism grow with T.
SMALLEST_MARKER, LARGEST_MARKER = 2.5, 6
FREE = (*modes.FREE, "precision")


def has_data(cells):
    """Whether the file is meant for this figure: most have one mode only."""
    chosen = cells[cells["variant"] == "exact"]
    return (
        bool(cells.attrs["context"]["limits"])
        and chosen["mode"].nunique() > 1
        and chosen["threads"].nunique() == 1
    )


def draw(cells):
    chosen = settings.select(settings.exact(cells), free=FREE)
    drawn = _with_rates(chosen[chosen["status"] == "ok"])
    machines = {
        precision: _machine(cells, precision, drawn["threads"].iloc[0])
        for precision in sorted(set(drawn["precision"]))
    }
    columns = modes.pairs(drawn)
    figure, axes = style.new_figure(len(machines), len(columns))
    limits = _axis_limits(drawn, machines.values())
    for row, (precision, machine) in enumerate(machines.items()):
        for column, (mode, scope) in enumerate(columns):
            panel = axes[row, column]
            group = drawn[
                (drawn["precision"] == precision)
                & (drawn["mode"] == mode)
                & (drawn["scope"] == scope)
            ]
            _draw_machine(panel, machine, mode, limits)
            _draw_points(panel, group, drawn)
            _set_axes(panel, limits)
            panel.set_title(
                f"{panels.title(mode, scope)}"
                + (f", {precision}" if len(machines) > 1 else ""))
    for panel in axes[-1]:
        panel.set_xlabel("flops for each byte")
    for panel in axes[:, 0]:
        panel.set_ylabel("GFLOP/s")
    style.add_foot(
        figure,
        words.caption(chosen, _text(drawn)),
        _handles(drawn, machines.values()),
    )
    return figure, _headlines(drawn)


# ---- data -------------------------------------------------------------------


def _with_rates(cells):
    """Gives the cells with `intensity` [flop/byte] and `rate` [flop/s]."""
    flops = _operations(cells, "flops")
    return cells.assign(
        intensity=flops / _operations(cells, "bytes"),
        rate=flops / cells["median_ns"] * 1e9,
    )


def _operations(cells, name):
    numbers = fits.counts(cells, name)
    for index, number in zip(cells.index, numbers):
        if number <= 0:
            raise load.DataError(
                f"{cells.attrs['path']}: cells[{index}]",
                f"operations.{name} is {number:g}, it must be above 0",
            )
    return numbers


def _machine(cells, precision, threads):
    """Gives the limits that were measured for these cells."""
    limits = measures.limits_of(cells, precision, threads)
    if limits is None:
        raise load.DataError(
            f"{cells.attrs['path']}: context.limits",
            f"has none of precision {precision} and threads {threads}",
        )
    if not limits["levels"]:
        raise load.DataError(
            f"{cells.attrs['path']}: context.limits",
            f"that of precision {precision} and threads {threads} has no level of memory")
    return limits


def _bandwidth(level, mode):
    return level[f"{'read' if mode == 'decode' else 'copy'}_bytes_per_s"]


# ---- drawing ----------------------------------------------------------------


def _axis_limits(cells, machines):
    """Gives (low, high) of x and of y, for all points and the bends of the roofs."""
    peak = max(machine["peak_flops_per_s"] for machine in machines)
    ridge = max(
        machine["peak_flops_per_s"] / level["copy_bytes_per_s"]
        for machine in machines
        for level in machine["levels"]
    )
    return (
        (cells["intensity"].min() / 2, 2 * max(cells["intensity"].max(), ridge)),
        (cells["rate"].min() / 2, 2 * max(cells["rate"].max(), peak)),
    )


def _draw_machine(axes, machine, mode, limits):
    (low, high), _ = limits
    peak = machine["peak_flops_per_s"]
    ridges = []
    for rank, level in enumerate(machine["levels"]):
        bandwidth = _bandwidth(level, mode)
        ridge = peak / bandwidth
        ridges.append(ridge)
        color, dashes = LEVEL_LOOKS[rank % len(LEVEL_LOOKS)]
        axes.plot(
            [low, ridge], [low * bandwidth, peak], color=color,
            linestyle=dashes, linewidth=1, zorder=1,
        )
    axes.plot(
        [min(ridges, default=low), high], [peak, peak], color=PEAK_LOOK[0],
        linestyle=PEAK_LOOK[1], linewidth=1, zorder=1,
    )


def _draw_points(axes, group, drawn):
    """Draws a thin line for each setting through its points, the marker growing with T.
    """
    lengths = sorted(set(drawn["memory_length"]))
    sizes = numpy.linspace(SMALLEST_MARKER, LARGEST_MARKER, len(lengths))
    if len(lengths) == 1:
        sizes = [style.RC["lines.markersize"]]
    for (name, rank, count), cells in _settings(group, drawn):
        look = style.line(name, set(drawn["mechanism"]), rank, count)
        # Larger markers come first, or they would hide the smaller ones.
        cells = cells.sort_values("memory_length", ascending=False)
        axes.plot(
            cells["intensity"], cells["rate"], color=look["color"],
            linewidth=0.5, zorder=2,
        )
        del look["linestyle"]
        for cell in cells.to_dict("records"):
            axes.plot(
                cell["intensity"],
                cell["rate"],
                linestyle="none",
                markersize=sizes[lengths.index(cell["memory_length"])],
                markeredgecolor="white",
                markeredgewidth=0.4,
                zorder=3,
                **look,
            )


def _settings(group, drawn):
    """Gives ((mechanism, rank, count), cells) of every setting: w = 2, w = 4 ..."""
    labels = drawn.apply(settings.label, axis=1)
    for name in modes.mechanisms(drawn):
        named = list(dict.fromkeys(labels[drawn["mechanism"] == name]))
        for rank, setting in enumerate(named):
            cells = group[(labels == setting).reindex(group.index)]
            if not cells.empty:
                yield (name, rank, len(named)), cells


def _set_axes(axes, limits):
    (left, right), (bottom, top) = limits
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    ticks.log_ticks(axes.xaxis, left, right, lambda x, _: f"{x:g}")
    ticks.log_ticks(axes.yaxis, bottom, top, lambda y, _: f"{y / 1e9:g}")
    axes.grid(True)


def _handles(drawn, machines):
    names = []
    for machine in machines:
        names += [level["name"] for level in machine["levels"]]
    handles = [
        style.handle(settings.label(cells.iloc[0]),
                     {**style.line(name, set(drawn["mechanism"]), rank, count),
                      "linestyle": "none"})
        for (name, rank, count), cells in _settings(drawn, drawn)
    ]
    of_machine = {name: LEVEL_LOOKS[rank % len(LEVEL_LOOKS)]
                  for rank, name in enumerate(dict.fromkeys(names))}
    for name, (color, dashes) in {**of_machine, "peak": PEAK_LOOK}.items():
        look = {"color": color, "linestyle": dashes, "linewidth": 1}
        handles.append(style.handle(name, look))
    return handles


# ---- words ------------------------------------------------------------------


def _text(drawn):
    lengths = sorted(set(drawn["memory_length"]))
    outputs = sorted(set(drawn["output_length"]))
    return (
        f"T = {', '.join(map(str, lengths))} (larger markers: longer), "
        f"U = {', '.join(map(str, outputs))}. Flops and bytes are exact counts. "
        "Lines: what this machine reads (decode), or copies (expect, gradient), "
        "in each level of its memory, and its peak; the best of several rounds "
        "of the same run."
    )


def _headlines(drawn):
    """Tells each mechanism of every mode at its longest memory."""
    lines = []
    for mode, scope in modes.pairs(drawn):
        group = drawn[(drawn["mode"] == mode) & (drawn["scope"] == scope)]
        for _, cells in _settings(group, drawn):
            longest = cells["memory_length"].max()
            for cell in cells[cells["memory_length"] == longest].to_dict(
                "records"
            ):
                if not cell["limit"]:
                    continue
                lines.append(
                    f"{mode}, {scope}, {cell['precision']}, "
                    f"{settings.label(cell)}, T = {longest}: "
                    f"{_fraction(cell['limit'])} of {cell['limit']['bound']}"
                )
    return lines


def _fraction(limit):
    """'0.51', or '0.51 [0.48, 0.53]' where the result knows the interval."""
    interval = limit.get("fraction_interval")
    if not interval:
        return f"{limit['fraction']:.2g}"
    return f"{limit['fraction']:.2g} [{interval[0]:.2g}, {interval[1]:.2g}]"
