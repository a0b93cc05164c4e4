"""How far apart do two runs, or two builds, of one program time the same rows?

There is a line for pairs of runs and one for pairs of relinks: the share of rows (times
over that of the first cell of their point) whose two values are at most so far apart, in
half widths of the 95 % interval of their difference. If the rule of intervals knows what
runs and builds do, 95 % of rows are within one.
"""

import numpy

from figures import style

LOOKS = {
    "runs": ("two runs of one program", {"color": "#0072B2", "linestyle": "-"}),
    "relinks": ("runs of two relinks", {"color": "#D55E00", "linestyle": "--"}),
}
REACH = 3.0


def has_data(study):
    return bool(study["pairs"])


def draw(study):
    figure, grid = style.new_figure(1, 1)
    axes, handles = grid[0, 0], []
    axes.axvline(1, color="#000000", linewidth=0.6)
    axes.axhline(0.95, color="#000000", linewidth=0.6, linestyle=":")
    for of, (label, look) in LOOKS.items():
        distances = sorted(
            distance for pair in study["pairs"] if pair["of"] == of
            for distance in pair["distances"]
        )
        shares = numpy.arange(1, len(distances) + 1) / len(distances)
        axes.step(distances, shares, where="post", **look)
        handles.append(style.handle(label, look))
    axes.set_xlim(0, REACH)
    axes.set_ylim(0, 1)
    axes.grid(True)
    axes.set_xlabel("distance in half widths of the 95 % interval")
    axes.set_ylabel("share of rows")
    style.add_foot(figure, _CAPTION, handles)
    headlines = [_headline(share) for share in study["shares"]]
    searches = study["planted"]["searches"]
    for design in dict.fromkeys((one["processes"], one["rounds"]) for one in searches):
        headlines.append(_found(study["planted"]["mechanism"], *design, [
            one for one in searches if (one["processes"], one["rounds"]) == design]))
    return figure, headlines


def _headline(share):
    low, mean, high = (100 * share[key] for key in ("low", "share", "high"))
    rule = {"compare": "attnbench compare", "table": "the rule of tables"}[share["by"]]
    return (
        f"{share['pairs']} pairs of {share['of']}: {rule} calls {mean:.2g} % "
        f"[{low:.2g}, {high:.2g}] of rows different; {share['pairs_called']} pairs have any"
    )


def _found(mechanism, processes, rounds, searches):
    found = sum(one["verdict"] == "SLOWER" and one["valid"] for one in searches)
    slower = 100 * (numpy.median([one["ratio"] for one in searches]) - 1)
    minutes = max(one["minutes"] for one in searches)
    others = sum(one["others_different"] for one in searches)
    rows = sum(one["rows"] - 1 for one in searches)
    return (
        f"{mechanism} made {slower:.1f} % slower: compare --programs with {processes} "
        f"processes of {rounds} rounds takes at most {minutes:.1f} min and finds it in "
        f"{found} of {len(searches)} runs; it calls {others} of {rows} other rows different"
    )


_CAPTION = (
    "Nothing differs but the moment, or where the linker put the code. The effects of "
    "runs and builds in the intervals come from other runs. Dotted: 95 %."
)
