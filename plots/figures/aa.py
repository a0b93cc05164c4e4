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
    return figure, [*headlines, _planted(study["planted"])]


def _headline(share):
    low, mean, high = (100 * share[key] for key in ("low", "share", "high"))
    rule = {"compare": "attnbench compare", "table": "the rule of tables"}[share["by"]]
    return (
        f"{share['pairs']} pairs of {share['of']}: {rule} calls {mean:.2g} % "
        f"[{low:.2g}, {high:.2g}] of rows different"
    )


def _planted(planted):
    searches = planted["searches"]
    found = sum(search["verdict"] == "SLOWER" for search in searches)
    ratios = [search["ratio"] for search in searches]
    others = sum(search["others_different"] for search in searches)
    rows = sum(search["rows"] - 1 for search in searches)
    return (
        f"{planted['mechanism']} made {100 * (numpy.median(ratios) - 1):.1f} % slower: found "
        f"in {found} of {len(searches)} comparisons of two programs of at most "
        f"{max(search['minutes'] for search in searches):.1f} minutes; of the others {others} "
        f"of {rows} rows called different"
    )


_CAPTION = (
    "Nothing differs but the moment, or where the linker put the code. The effects of "
    "runs and builds in the intervals come from other runs. Dotted: 95 %."
)
