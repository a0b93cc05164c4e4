"""Which parts has the gap between training and decoding?

Above, the total variation of each output, a panel for each sharpness at the largest
feedback; below, its mean over outputs, over sharpness, a panel for each feedback. The last
panel below has the entries, whose only part beside noise and threshold is the mean field.
"""

from attnbench.analysis import words
from figures import style, ticks

MOST_PANELS = 4  # beside each other
# part: (label, colour, marker), from training to decoding.
PARTS = {
    "removed_noise": ("removed noise", "#E69F00", "v"),
    "mean_field": ("mean field", "#0072B2", "o"),
    "sampling": ("sampling", "#D55E00", "s"),
    "threshold": ("threshold", "#000000", "^"),
    "lattice": ("lattice to sampled", "#009E73", "D"),
}
FLOOR = {"color": "#909090", "linestyle": (0, (1.5, 1.5)), "linewidth": 0.9}


def has_data(result):
    return bool(result["points"])


def draw(result):
    points = result["points"]
    feedbacks = _shown(points, "feedback", MOST_PANELS - 1)
    sharp = _shown(points, "sharpness", MOST_PANELS)
    figure, axes = style.new_figure(
        2, max(len(sharp), len(feedbacks) + 1), panel_height=1.7, width=style.PAGE_IN)
    for panel in axes.flat:
        panel.set_visible(False)
    for panel, sharpness in zip(axes[0], sharp):
        found = _of(points, sharpness=sharpness, feedback=feedbacks[-1])
        if not found:
            continue
        rows = found[-1]["rows"]
        # Bars of twenty outputs would hide one another.
        _draw_parts(panel, range(1, len(rows) + 1), [row["outputs"] for row in rows], bars=False)
        panel.set_title(f"sharpness {sharpness:g}, feedback {feedbacks[-1]:g}")
        panel.set_xlabel("output")
    for panel, feedback in zip(axes[1], feedbacks):
        line = _of(points, feedback=feedback)
        _draw_parts(panel, [point["sharpness"] for point in line],
                    [point["mean"]["outputs"] for point in line])
        panel.set_title(f"feedback {feedback:g}")
        _sharpness_axis(panel, points)
    ends = _draw_entries(axes[1][len(feedbacks)], points, feedbacks)
    for row in axes:
        row[0].set_ylabel("total variation of outputs")
        top = max((panel.get_ylim()[1] for panel in row if panel.get_visible()), default=1)
        for panel in row:
            panel.set_ylim(0, top or 1)
    style.label_ends(axes[1][len(feedbacks)], ends)
    handles = [style.handle(label, _look(part)) for part, (label, _, _) in PARTS.items()]
    handles.append(style.handle("floor: sampling error alone", FLOOR))
    style.add_foot(figure, _caption(result), handles)
    return figure, [_headline(point) for point in _of(points, feedback=feedbacks[-1])]


def _shown(points, name, most):
    """The values of a list, or so many of them, the first and the last among them."""
    values = sorted({point[name] for point in points})
    if len(values) <= most:
        return values
    return [values[place * (len(values) - 1) // (most - 1)] for place in range(most)]


def _of(points, **values):
    """The points with these values, by sharpness."""
    return sorted((point for point in points
                   if all(point[name] == value for name, value in values.items())),
                  key=lambda point: point["sharpness"])


def _look(part):
    _, color, marker = PARTS[part]
    return {"color": color, "marker": marker, "markersize": 2.5}


def _draw_estimates(panel, x, estimates, look, bars=True):
    if not bars:
        panel.plot(x, [one["value"] for one in estimates], **look)
        return
    # No schema can say that an interval holds its value.
    style.draw_spans(panel, x, [one["value"] for one in estimates],
                     [min(one["low"], one["value"]) for one in estimates],
                     [max(one["high"], one["value"]) for one in estimates], look)


def _draw_parts(panel, x, rows, bars=True):
    panel.set_visible(True)
    for part in PARTS:
        _draw_estimates(panel, x, [row[part] for row in rows], _look(part), bars)
    floors = [max(row[part]["floor"] for part in PARTS) for row in rows]
    panel.plot(x, floors, **FLOOR)
    panel.grid(True)


def _draw_entries(panel, points, feedbacks):
    """Gives the ends of the lines, as style.label_ends takes them."""
    panel.set_visible(True)
    ends = []
    for rank, feedback in enumerate(feedbacks):
        line = _of(points, feedback=feedback)
        look = {**_look("mean_field"), "linestyle": style.LINE_STYLES[rank]}
        estimates = [point["mean"]["entries"]["mean_field"] for point in line]
        sharp = [point["sharpness"] for point in line]
        _draw_estimates(panel, sharp, estimates, look)
        ends.append((estimates[-1]["value"], f"{feedback:g}", look["color"]))
    panel.set_title("entries, by feedback")
    panel.grid(True)
    _sharpness_axis(panel, points)
    return ends


def _sharpness_axis(panel, points):
    sharp = [point["sharpness"] for point in points]
    panel.set_xlabel("sharpness")
    if min(sharp) > 0:
        panel.set_xscale("log")
        ticks.log_ticks(panel.xaxis, min(sharp), max(sharp), lambda x, _: f"{x:g}")


def _headline(point):
    outputs = point["mean"]["outputs"]
    parts = ", ".join(f"{PARTS[part][0]} {outputs[part]['value']:.3f}" for part in PARTS)
    return (f"sharpness {point['sharpness']:g}, feedback {point['feedback']:g}: total "
            f"{outputs['total']['value']:.3f}; {parts}")


def _caption(result):
    settings = result["settings"]
    return (
        "Total variation between consecutive processes of the chain from training to "
        "decoding: the expectation with noise on energies "
        f"(N(0, {settings['noise']:g}²)), without (removed noise), with the sampled "
        "process's mean state and context (mean field), the mean of p(y | context) over "
        "its paths (sampling), the threshold's output (threshold). Below: means over "
        f"{settings['output_length']} outputs; on the right the mean field of entries. "
        f"Random tanh decoders ({settings['decoders']}), T = {settings['memory_length']}, "
        f"d = {settings['dim']}, {settings['paths']} paths each; bars: 95 % intervals over "
        "decoders. " + words.context_text(result["context"]))
