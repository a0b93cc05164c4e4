"""Figure 8 of MAD (appendix F): how much faster is hard monotonic attention?

Heat maps over memory length T and output length U of soft attention's time
over that of hard monotonic attention, one for each workload and build of ours, since
the published 4x to 40x depends on both. The program that the authors built is in
figure mad_figure8_builds. The axis labels of the authors' plot are swapped (its rows
are T); here they are right.
"""

import itertools

from matplotlib import colors

from figures import heat_maps, style, ticks
from attnbench.analysis import names, pairing, published, series, settings, words

MECHANISMS = ["soft", "monotonic"]
FREE = ["memory_length", "output_length", "workload", "variant"]
BUILDS = {
    "exact": "optimised",
    # On Eigen as the authors' program is, but with entries as columns.
    "published_O3": "columns, -O3",
    "published_O0": "columns, -O0",
}
STATEMENT = "mad-figure-8"  # of results/published/mad.json
# Ratios of each colour: yellow below the 4x of the paper's text, blue from there to its
# 40x, violet above; always darker, for print in grey.
BANDS = (1, 2, 4, 10, 20, 40, 100)
COLORS = colors.ListedColormap(
    ["#FFFBE0", "#FFF0A8", "#FFE070", "#B5D3EA", "#6FAEDB", "#2B7BBA", "#8A2C8F", "#3F0D52"])
NORM = colors.BoundaryNorm(BANDS, COLORS.N, extend="both")
AXES_NOTE = (
    "x: memory length T, y: output length U (in the authors' figure 8 the "
    "two axis labels are swapped)."
)


def has_data(cells):
    ours = cells[cells["mechanism"].isin(MECHANISMS)]
    return set(MECHANISMS) <= set(ours["mechanism"]) and all(
        (ours.groupby(by)[of].nunique() > 1).any()
        for by, of in (
            ("memory_length", "output_length"),
            ("output_length", "memory_length"),
        )
    )


def has_times(cells):
    return has_data(cells) and "exact" in set(cells["variant"])


def _select(cells):
    chosen = settings.select(cells, MECHANISMS, FREE)
    for (_, _), group in chosen.groupby(["workload", "variant"]):
        keys = {
            "workload": group["workload"].unique(),
            "variant": group["variant"].unique(),
            "mechanism": MECHANISMS,
            "memory_length": sorted(set(chosen["memory_length"])),
            "output_length": sorted(set(chosen["output_length"])),
        }
        settings.require_cells(group, keys, cells.attrs["path"])
    return chosen


def _panels(of_rows, of_columns, cells, path):
    """Gives a figure, its panels by (row, column), and whether cells have room for numbers.
    As many panels stand side by side as a page has room for.
    """
    room = heat_maps.columns_with_room(cells)
    columns = max(1, min(room, len(of_columns)))
    keys = list(itertools.product(of_rows, of_columns))
    figure, axes = heat_maps.heat_map_figure(-(-len(keys) // columns), columns, cells, path)
    for panel in axes.flat[len(keys):]:
        panel.set_axis_off()
    return figure, axes, dict(zip(keys, axes.flat)), room > 0


def _panel(axes, rows, title, to_text):
    if rows.empty:
        heat_maps.no_panel(axes, title)
        return None
    return heat_maps.heat_map(axes, rows, NORM, to_text, title, COLORS)


def draw(cells):
    """Draws the speed-ups: gives the figure, and a headline for each panel."""
    chosen = _select(cells)
    ratios = pairing.speedups(chosen)
    workloads = sorted(set(ratios["workload"]), reverse=True)
    variants = sorted(set(ratios["variant"]), key=_place_of_build)
    figure, axes, panels, has_room = _panels(
        workloads, variants, ratios, cells.attrs["path"])
    papers = published.statement(published.paper("mad"), STATEMENT)
    lines, shares, mesh = [], [], None
    for (workload, variant), panel in panels.items():
        rows = ratios[(ratios["workload"] == workload) & (ratios["variant"] == variant)]
        title = f"{workload}, {BUILDS.get(variant, variant)}"
        mesh = _panel(panel, rows, title, words.ratio_cell if has_room else None) or mesh
        lines += _headline(rows, title)
        shares += _share_headline(rows, title, papers)
    color_bar(figure, mesh, axes)
    style.add_foot(
        figure,
        words.caption(
            chosen,
            "Speed-up of hard monotonic over soft attention (time of soft / "
            f"time of monotonic), decoding{', above its interval' if has_room else ''}; {AXES_NOTE} "
            "Columns: a plain program on Eigen in which an entry is a column. The paper "
            f"prints no numbers in its figure; its text says about {_range_text(papers)}.",
            ratios,
        ),
    )
    return figure, lines + shares


def color_bar(figure, mesh, axes):
    """Draws the scale, and says what its colours mean."""
    papers = published.statement(published.paper("mad"), STATEMENT)
    heat_maps.color_bar(
        figure, mesh, axes,
        f"soft / monotonic (blue: the paper's {_range_text(papers)})",
        ticks.ratio_tick,
    )


def _range_text(papers):
    return f"{papers['least']:g}x to {papers['greatest']:g}x"


def _share_headline(rows, title, papers):
    """Says how much of the grid is where the paper says that all of it is."""
    values = rows["value"].dropna()
    if values.empty:
        return []
    inside = values.between(papers["least"], papers["greatest"]).sum()
    return [
        f"{title}: {inside} of {len(values)} from {_range_text(papers)}, where the "
        "paper's text has all"
    ]


def _place_of_build(variant):
    order = list(BUILDS)
    place = order.index(variant) if variant in order else len(order)
    return place, variant


def _headline(rows, title):
    measured = rows.dropna(subset=["value"]).sort_values("value")
    if measured.empty:
        return []
    ends = [
        f"{name} {words.span_text(cell)} at T = {cell['memory_length']}, "
        f"U = {cell['output_length']}"
        for name, cell in (
            ("min", measured.iloc[0]),
            ("max", measured.iloc[-1]),
        )
    ]
    median = words.ratio_text(measured["value"].median())
    return [f"{title}: soft / monotonic {ends[0]}, median {median}x, {ends[1]}"]


def draw_times(cells):
    """Gives the times of the optimised build, soft beside monotonic."""
    chosen = series.times(_select(settings.exact(cells)))
    workloads = sorted(set(chosen["workload"]), reverse=True)
    norm = heat_maps.log_norm(chosen["value"])
    figure, axes, panels, has_room = _panels(
        workloads, MECHANISMS, chosen, cells.attrs["path"])
    lines = []
    for (workload, mechanism), panel in panels.items():
        rows = chosen[(chosen["workload"] == workload) & (chosen["mechanism"] == mechanism)]
        title = f"{workload}, {names.mechanism(mechanism)}"
        mesh = heat_maps.heat_map(
            panel, rows, norm, _time_in_cell if has_room else None, title)
        if rows["value"].notna().any():
            lines.append(
                f"{title}: {words.time_text(rows['value'].min())} to "
                f"{words.time_text(rows['value'].max())}"
            )
    heat_maps.color_bar(
        figure,
        mesh,
        axes,
        "time of all U outputs",
        ticks.time_tick,
    )
    style.add_foot(
        figure,
        words.caption(
            chosen,
            f"Time to decode all U outputs, optimised build; {AXES_NOTE}",
        ),
    )
    return figure, lines


def _time_in_cell(cell):
    return words.time_text(cell["value"]).replace(" ", "\n")
