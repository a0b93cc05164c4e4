"""What `attnbench diagnose` found: the largest error of each published variant, and the
mass that each output loses to it.
"""

import numpy

from attnbench.analysis import names, words
from figures import style, ticks

FLOOR = 1e-9  # where an error of 0 is drawn


def has_data(diagnosis):
    return any(_shown(mechanism) for mechanism in diagnosis["mechanisms"])


def draw(diagnosis):
    mechanisms = [one for one in diagnosis["mechanisms"] if _shown(one)]
    rows = max(len(_shown(one)) for one in mechanisms)
    figure, grid = style.new_figure(
        len(mechanisms), 2, panel_height=0.8 + 0.2 * rows
    )
    lines = []
    for (errors, masses), mechanism in zip(grid, mechanisms):
        shown, of = _shown(mechanism), names.mechanism(mechanism["mechanism"])
        _draw_errors(errors, mechanism, diagnosis["tolerance"])
        _draw_masses(masses, shown)
        errors.set_title(f"{of}: largest error of attention")
        masses.set_title(f"{of}: mass lost")
        wrong = [_name(mechanism, one) for one in shown if one["first_wrong"]]
        lines.append(f"{mechanism['mechanism']}: wrong by more than "
                     f"{diagnosis['tolerance']:g}: {'; '.join(wrong) or 'none'}")
    style.add_foot(figure, _caption(diagnosis), [])
    return figure, lines


def _shown(mechanism):
    return [one for one in mechanism["variants"] if one["outputs"]]


def _name(mechanism, one):
    return names.form(mechanism["mechanism"], one["variant"], one["preset"])


def _draw_errors(panel, mechanism, tolerance):
    shown = _shown(mechanism)
    places = numpy.arange(len(shown))
    for place, one in zip(places, shown):
        if one["not_finite"] or one["attention_error"] is None:
            panel.text(FLOOR, place, " not finite", va="center", fontsize=style.SMALLEST_PT)
            continue
        color = "#D55E00" if one["first_wrong"] else "#0072B2"
        panel.barh(place, max(one["attention_error"], FLOOR), height=0.6, color=color,
                   left=0)
    panel.axvline(tolerance, color="#000000", linewidth=0.8)
    panel.set_xscale("log")
    panel.set_xlim(FLOOR, 2)
    ticks.log_ticks(panel.xaxis, FLOOR, 2, ticks.power_tick)
    panel.set_yticks(places, [_name(mechanism, one) for one in shown])
    panel.set_ylim(len(shown) - 0.5, -0.5)
    panel.set_xlabel("|attention - exact|")
    panel.grid(True, axis="x")


def _draw_masses(panel, shown):
    """A row for each variant, as in the panel beside it, a column for each output."""
    length = max(len(one["mass_errors"]) for one in shown)
    masses = numpy.full((len(shown), length), numpy.nan)
    for row, one in zip(masses, shown):
        row[: len(one["mass_errors"])] = [
            numpy.nan if mass is None else abs(mass) for mass in one["mass_errors"]
        ]
    panel.set_facecolor(style.MISSING)
    image = panel.imshow(numpy.ma.masked_invalid(masses), aspect="auto", interpolation="nearest", cmap="cividis",
                         vmin=0, vmax=1, extent=(0.5, length + 0.5, len(shown) - 0.5, -0.5))
    panel.set_yticks([])
    panel.set_xlabel("output")
    panel.figure.colorbar(image, ax=panel)


def _caption(diagnosis):
    sequences = diagnosis["sequences"]
    return (
        f"{sequences} sequence{'s' if sequences > 1 else ''} of {diagnosis['output_length']} "
        f"outputs and {diagnosis['memory_length']} entries, {diagnosis['source']}, "
        f"{diagnosis['precision']} against the exact expectation in f64. Line: "
        f"{diagnosis['tolerance']:g}; orange: an error, or a loss of mass, above it; right: the largest |sum over the memory - exact| of an "
        "output in any sequence; grey: not measured, or not finite. "
        + _mass_text(diagnosis.get("mass"))
        + words.context_text(diagnosis["context"])
    )


def _mass_text(mass):
    """Says what the exact sums are; results of older programs lack them."""
    if mass is None:
        return ""
    return (f"An output's exact attention sums to {mass['least']:.3g} to "
            f"{mass['greatest']:.3g}; below 1 is right, as the rest chooses no entry. ")
