"""How does the time grow with the memory?

There is a panel for each mode and scope: time over T with its interval, and the line
that growth.fit puts through it. The legend has two exponents of T: of flops, exact, and
of the time.
"""

from analysis import fits, growth, load, modes, series, words
from figures import panels, style, ticks

# The part of a panel's height, above the data, that a line of the legend takes.
LEGEND_SHARE = 0.09


def has_data(cells):
    """Whether growth.select takes it: most sweeps are shorter."""
    try:
        growth.select(cells)
    except load.DataError:
        return False
    return True


def draw(cells):
    chosen = series.times(growth.select(cells))
    figure, by_pair = panels.new_figure(chosen)
    names = modes.mechanisms(chosen)
    said = []
    for (name, mode, scope), group in modes.groups(chosen):
        group = group.assign(fitted=growth.fit(group).fitted_ns)
        every = list(growth.lines(group))
        for rank, (label, line) in enumerate(every):
            look = style.line(name, names, rank, len(every))
            of_time = growth.exponent(line["memory_length"], line["value"])
            of_flops = growth.exponent(
                line["memory_length"], fits.counts(line, "flops")
            )
            text = (
                f"{label}: {growth.slope_text(of_flops)}, "
                f"{growth.slope_text(of_time)}"
            )
            _draw_line(by_pair[mode, scope], line, look, text)
            said.append(f"{mode}, {scope}, {text}")
    for axes in by_pair.values():
        _set_axes(axes, sorted(set(chosen["memory_length"])))
    style.add_foot(figure, words.caption(chosen, _text(chosen)))
    return figure, said


def _draw_line(axes, line, look, text):
    style.draw_line(axes, line, {**look, "linestyle": "none"})
    axes.plot(line["memory_length"], line["fitted"], color=look["color"], linewidth=0.8,
              linestyle=look["linestyle"])
    axes.add_line(style.handle(text, look))


def _set_axes(axes, lengths):
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(True)
    axes.set_xlabel("memory length T")
    axes.set_ylabel("time")
    axes.set_xticks(lengths, lengths)
    axes.minorticks_off()
    entries = sum(not line.get_label().startswith("_") for line in axes.lines)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** (LEGEND_SHARE * entries))
    ticks.log_ticks(axes.yaxis, *axes.get_ylim(), ticks.time_tick)
    axes.legend(loc="upper left", frameon=False, handlelength=2.2,
                labelspacing=0.25, borderaxespad=0.2)


def _text(chosen):
    outputs = ", ".join(map(str, sorted(set(chosen["output_length"]))))
    return (
        f"Time of all U = {outputs} outputs, with its interval, and what is "
        "fitted to it from exact counts (lines; plots/growth.py has the "
        "coefficients). In the legends: exponent of T of flops, exact, and of "
        "the time, both over all T."
    )
