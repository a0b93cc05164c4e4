"""How far is training from decoding, as the choice gets sharper?

There is a line for each output of `attnbench expect --sharpness LIST`: the distance
between expected and decoded attention and, where a memory was given, contexts, over the
factor that the energies of the choice are multiplied with. Where every p is 0 or 1
there is none (MAD 2.5).
"""

from attnbench.analysis import load
from figures import style, ticks

DISTANCES = {
    "attention_distance": "distance of the attention",
    "context_distance": "distance of the contexts",
}


def has_data(outputs):
    return all("sharpness" in output for output in outputs)


def draw(outputs):
    for output in outputs:
        if "sharpness" not in output:
            raise load.DataError(
                output["path"], "sharpness is missing (--sharpness LIST)"
            )
    drawn = [key for key in DISTANCES if any(_line(o, key) for o in outputs)]
    figure, axes = style.new_figure(1, len(drawn), width=style.COLUMN_IN)
    looks = style.line_of_each([output["mechanism"] for output in outputs])
    handles, said = [], []
    for output, label, look in zip(outputs, style.output_labels(outputs), looks):
        for panel, key in zip(axes[0], drawn):
            if line := _line(output, key):
                panel.plot(*zip(*line), **look)
        handles.append(style.handle(label, look))
        said.append(_headline(label, output))
    for panel, key in zip(axes[0], drawn):
        _set_axes(panel, DISTANCES[key], outputs)
    style.add_foot(figure, _CAPTION, handles)
    return figure, said


def _line(output, key):
    """Gives (sharpness, distance), by sharpness; empty without a memory."""
    return sorted(
        (point["sharpness"], point[key])
        for point in output["sharpness"]
        if point[key] is not None
    )


def _set_axes(panel, what, outputs):
    panel.set_xscale("log")
    panel.set_ylim(bottom=0)
    panel.grid(True)
    panel.set_xlabel("sharpness s")
    panel.set_ylabel(what)
    sharp = [p["sharpness"] for o in outputs for p in o["sharpness"]]
    ticks.log_ticks(panel.xaxis, min(sharp), max(sharp), lambda x, _: f"{x:g}")


def _headline(label, output):
    line = _line(output, "attention_distance")
    texts = [f"{distance:.3g} at s = {s:g}" for s, distance in (line[0], line[-1])]
    return f"{label}: distance of the attention {texts[0]}, {texts[1]}"


_CAPTION = (
    "The training expectation against what is decoded (p at least 1/2), with the "
    "energies of the choice multiplied by s. Attention: mean total variation over "
    "outputs, 0 to 1, missing weight included. Contexts: root mean square distance, "
    "as a share of the root mean square length of the memory's rows."
)
