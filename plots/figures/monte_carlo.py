"""How far are means of sampled paths from what is expected?

There is a line for each output of `attnbench expect --latency-samples N`: the root mean
square error of the average proportion (AP) over batches of 1, 4, 16, ... paths, against
the exact one. Independent paths lose it as one over the root of their number (slope
-1/2 of the logarithms); a bias would stay.
"""

import numpy

from attnbench.analysis import growth, load
from figures import style, ticks

IDEAL = {"color": "#909090", "linestyle": (0, (5, 1.5)), "linewidth": 0.8}


def has_data(outputs):
    return all("sampled" in output["latency"] for output in outputs)


def draw(outputs):
    for output in outputs:
        if "sampled" not in output["latency"]:
            raise load.DataError(
                output["path"], "latency.sampled is missing (--latency-samples N)"
            )
    figure, axes = style.new_figure(1, 1)
    panel = axes[0, 0]
    looks = style.line_of_each([output["mechanism"] for output in outputs])
    handles, said = [], []
    for output, label, look in zip(outputs, style.output_labels(outputs), looks):
        errors = output["latency"]["sampled"]["ap_errors"]
        paths = numpy.array([error["paths"] for error in errors], dtype=float)
        rms = numpy.array([error["rms"] for error in errors])
        panel.plot(paths, rms, **look)
        panel.plot(paths, rms[0] / numpy.sqrt(paths), zorder=1, **IDEAL)
        slope = growth.slope_text(growth.exponent(paths, rms))
        handles.append(style.handle(f"{label}, slope {slope}", look))
        said.append(_headline(label, slope, output))
    handles.append(style.handle("slope -1/2: chance alone", IDEAL))
    panel.set_xscale("log")
    panel.set_yscale("log")
    for axis in (panel.xaxis, panel.yaxis):
        low, high = axis.get_view_interval()
        ticks.log_ticks(axis, low, high, lambda value, _: f"{value:g}")
    panel.grid(True)
    panel.set_xlabel("sampled paths")
    panel.set_ylabel("error of the mean (AP)")
    style.add_foot(figure, _caption(outputs), handles)
    return figure, said


def _headline(label, slope, output):
    latency = output["latency"]
    sampled = latency["sampled"]
    proportion = sampled["ap"]
    off = (proportion["mean"] - latency["ap"]) / proportion["standard_error"]
    return (
        f"{label}: slope {slope}; {sampled['paths']} paths: AP "
        f"{proportion['mean']:.6f}, {off:+.2f} standard errors from the exact "
        f"{latency['ap']:.6f}"
    )


def _caption(outputs):
    batches = min(
        error["batches"]
        for output in outputs
        for error in output["latency"]["sampled"]["ap_errors"]
    )
    return (
        "Root mean square error of the average proportion AP (the share of the "
        "memory that an output waits for) over means of so many sampled paths, "
        "against the exact expectation; every point is of at least "
        f"{batches} disjoint batches. Slopes are of the logarithms."
    )
