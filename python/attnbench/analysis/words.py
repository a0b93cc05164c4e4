"""Words for figures, tables and pages: captions, and numbers in few characters."""

import math
import re

import numpy

from attnbench.analysis import names, reads


# HTML and XML have no place for these; a file may (JSON's \u0000, halves of a pair).
_NOT_MARKUP = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def clean(markup):
    """Puts a mark in the place of what HTML and SVG cannot hold."""
    return _NOT_MARKUP.sub("\ufffd", markup)


def caption(cells, text, ratios=None):
    """Says what is drawn, what was set, how it was measured, where and when."""
    parts = [text]
    if ratios is not None:
        parts.append(_interval_text(ratios))
        parts += [f"{note}." for note in reads.notes(ratios)]
    skipped = int((cells["status"] == "skipped").sum())
    if skipped:
        first = cells[cells["status"] == "skipped"]["message"].iloc[0]
        parts.append(
            f"Skipped (hatched, or left out of a line): {skipped} of "
            f"{len(cells)} cells, the first: {first}."
        )
    parts.append(_settings_text(cells))
    parts.append(context_text(cells.attrs["context"]))
    return " ".join(parts)


def _interval_text(ratios):
    measured = ratios[ratios["value"].notna()]
    if numpy.isinf(measured["high"].astype(float)).all():
        return "No interval: of a single round, or wider than numbers reach."
    return "Speed-up: of times of the same rounds; its 95 % interval."


def _settings_text(cells):
    inputs = sorted(set(cells["workload"]), key=_place_of_workload)
    parts = ["Workload " + ", ".join(inputs)]
    for axis in ("dim", "batch", "threads", "precision", "energy", "end"):
        if axis not in cells:
            continue
        builds = {}
        for variant, group in cells.groupby("variant"):
            values = [str(v) for v in sorted(set(group[axis].dropna()))]
            if values:
                builds.setdefault(", ".join(values), []).append(variant)
        for value, variants in builds.items():
            of = ", ".join(names.BUILDS.get(one, one) for one in variants)
            suffix = f" ({of})" if len(builds) > 1 else ""
            parts.append(f"{axis} {value}{suffix}")
    return "; ".join(parts) + "."


def _place_of_workload(workload):
    """Orders them by name, and those of a number from early choices (8) to late (-8)."""
    name, _, number = workload.partition(":")
    try:
        return name, -float(number or 0), workload
    except ValueError:
        return name, 0, workload


def machine_text(context):
    """Writes 'AMD EPYC, x86_64, AVX2': machines of one name can have different SIMD levels.
    What ran no kernels has no level, and older results have no architecture.
    """
    names = (context["cpu"], context.get("architecture"), context.get("simd"))
    return ", ".join(filter(None, names))


def context_text(context):
    """Names commit, machine and date of a run, and says whether it may be trusted."""
    text, warnings = run_text(context), len(context["warnings"])
    if warnings:
        text += f" The result carries {warnings} warning{'s'[warnings == 1:]}."
    return text


def run_text(context):
    """The same without its warnings, for a page that has them in one place."""
    tree = {
        True: " with uncommitted changes",
        False: "",
        None: " (uncommitted changes: unknown)",
    }[context["dirty"]]
    text = (
        f"Commit {context['commit'][:10]}{tree}; {machine_text(context)}; "
        f"{context['date']}."
    )
    return invalid_text(context) + text


def contexts_text(documents):
    """The same of several documents, each text once."""
    return " ".join(dict.fromkeys(context_text(one["context"]) for one in documents))


def invalid_reasons(context):
    """Says why no time of the run means anything; empty for a valid one."""
    if context["valid"]:
        return []
    return context["invalid_reasons"] or ["no reason is given"]


def invalid_text(*contexts):
    """Says why what follows, which is of these, does not count; nothing of valid ones."""
    reasons = dict.fromkeys(sum(map(invalid_reasons, contexts), []))
    return f"INVALID: {'; '.join(reasons)}. " if reasons else ""


def validity_text(context):
    """Says 'valid, 2 warnings', or why it is not valid."""
    reasons = invalid_reasons(context)
    if reasons:
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        return f"INVALID: {reasons[0]}{more}"
    warnings = len(context["warnings"])
    return "valid" + (f", {warnings} warning{'s'[warnings == 1:]}" if warnings else "")


def framework_text(context):
    """Gives the versions that a peer told of its framework; empty without one."""
    return ", ".join(
        f"{name} {version}"
        for name, version in context.get("libraries", {}).items()
        if name.startswith("torch")
    )


def ratio_cell(cell):
    """Writes the number of a heat map's cell, with its mark, above its interval."""
    text = ratio_text(cell["value"]) + reads.mark(cell)
    if math.isinf(cell["high"]):
        return text
    # The 0 of 0.85 is left out, so that the longest interval fits its cell.
    ends = [ratio_text(cell[k]).removeprefix("0") for k in ("low", "high")]
    return f"{text}\n{ends[0]}–{ends[1]}"


def span_text(cell):
    """Writes a speed-up with its interval, and the mark of its cell: '4.0x [3.8, 4.1] *'.
    """
    if math.isnan(cell["value"]):
        return "skipped"
    if math.isinf(cell["high"]):
        return f"{ratio_text(cell['value'])}x, no interval{reads.mark(cell)}"
    value, low, high = (ratio_text(cell[k]) for k in ("value", "low", "high"))
    return f"{value}x [{low}, {high}]{reads.mark(cell)}"


def ratio_text(value):
    """Writes a speed-up in about three characters: 0.85, 4.0, 37, 1e+08, 1e-05."""
    if value >= 1e6 or 0 < value < 0.005:
        return f"{value:.0e}"
    digits = 0 if value >= 9.95 else 1 if value >= 0.995 else 2
    return f"{value:.{digits}f}"


def time_text(ns):
    """Writes a time in three digits and its unit: '850 ns', '12.3 µs'."""
    size, unit = time_unit(ns)
    if ns / size >= 1e6 or 0 < ns / size < 0.005:
        return f"{ns / size:.3g} {unit}"
    digits = 0 if ns / size >= 99.95 else 1 if ns / size >= 9.995 else 2
    return f"{ns / size:.{digits}f} {unit}"


def time_unit(ns):
    # 999.6 ns would be written 1000 ns.
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= 0.9995 * size:
            return size, unit
    return 1, "ns"
