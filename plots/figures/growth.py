"""How does the time grow with the memory?

There is a panel for each mode and scope: time of a step over T with its interval, and
the line that growth.fit puts through it. Beside a line are two exponents of T: of flops,
exact, and of the time.
"""

from attnbench.analysis import fits, growth, load, modes, series, words
from figures import panels, style, ticks


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
    said, looks, ends = [], {}, {pair: [] for pair in by_pair}
    for (name, mode, scope), group in modes.groups(chosen):
        group = group.assign(fitted=growth.fit(group).fitted_ns)
        every = list(growth.lines(group))
        for rank, (label, line) in enumerate(every):
            look = style.line(name, names, rank, len(every))
            looks.setdefault(label, look)
            of_time = growth.exponent(line["memory_length"], line["value"])
            of_flops = growth.exponent(
                line["memory_length"], fits.counts(line, "flops")
            )
            text = f"{growth.slope_text(of_flops)}, {growth.slope_text(of_time)}"
            last = _draw_line(by_pair[mode, scope], line, look)
            ends[mode, scope].append((last, text, look["color"]))
            said.append(f"{mode}, {scope}, {label}: {text}")
    for pair, axes in by_pair.items():
        _set_axes(axes, sorted(set(chosen["memory_length"])))
        style.label_ends(axes, ends[pair])
    handles = [style.handle(*one) for one in looks.items()]
    style.add_foot(figure, words.caption(chosen, _text(chosen)), handles)
    return figure, said


def _draw_line(axes, line, look):
    """Draws times of a step and what is fitted to them; gives the last time."""
    steps = line["output_length"].astype(float)
    of_step = line.assign(**{
        key: line[key] / steps for key in ("value", "low", "high", "fitted")})
    style.draw_line(axes, of_step, {**look, "linestyle": "none"})
    axes.plot(of_step["memory_length"], of_step["fitted"], color=look["color"],
              linewidth=0.8, linestyle=look["linestyle"])
    return of_step["value"].iloc[-1]


def _set_axes(axes, lengths):
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(True)
    axes.set_xlabel("memory length T")
    axes.set_ylabel("time per step, ns")
    axes.set_xticks(lengths, lengths)
    axes.minorticks_off()
    limits = axes.get_ylim()
    ticks.log_ticks(axes.yaxis, *limits, ticks.number_tick(*limits))


def _text(chosen):
    outputs = ", ".join(map(str, sorted(set(chosen["output_length"]))))
    return (
        f"Markers: time of one of U = {outputs} outputs, with its interval. Lines: what is "
        "fitted to the times from exact counts (plots/growth.py has the coefficients); "
        "where a marker is off its line, counts alone do not explain the time, as where "
        "arrays no longer fit a cache. Beside a line: exponent of T of flops, exact, and "
        "of the time, both over all T."
    )
