"""The registry of figures: name -> what draws it and what it needs.

To add one: a module beside this file, and a row here. `draw` gets what `data_of` makes
of a document (else a list, of steps or of outputs of `expect`) and returns the figure
and its headline lines; `has_data` says whether a file is meant for it.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

# Pictures are the same on every machine, whatever is set there for other programs.
os.environ["MPLBACKEND"] = "Agg"
# The folder may hold a matplotlibrc; one that was removed has no path to return to.
_folder = os.open(".", os.O_PATH)
os.chdir(os.path.dirname(__file__))
import matplotlib
os.fchdir(_folder)
os.close(_folder)
matplotlib.rcdefaults()

from attnbench.analysis import load, trained, workloads
from figures import (
    aa,
    advice,
    algorithms,
    alignments,
    britz_figure2,
    britz_table1,
    clipping,
    compare,
    diagnosis,
    figure8_builds,
    frontier,
    gains,
    gap,
    growth,
    lateness,
    latency,
    learning_curves,
    mad_figure8,
    memory_share,
    mocha_figure3,
    monte_carlo,
    peers,
    policy,
    roofline,
    sharpness,
    spoken,
    stability,
    threads,
    times,
    trained_attention,
    trained_errors,
)


# Kind of a document -> what makes of (checked document, path) the data of its figures.
READERS = {
    "sweep": load.cells_of,
    "stability": load.stability_of,
    "compare": load.compare_of,
    "aa": lambda document, path: {"path": str(path), **document},
    "advice": lambda document, path: {"path": str(path), **document},
    "diagnosis": lambda document, path: {"path": str(path), **document},
    "gap": lambda document, path: {"path": str(path), **document},
    "trained": lambda document, path: [trained.trained_of(document, path)],
    "clip_gradient": lambda document, path: {"path": str(path), **document},
    "authors": lambda document, path: [figure8_builds.part_of(document, path)],
}


@dataclass(frozen=True)
class Entry:
    draw: Callable
    has_data: Callable
    # A kind of READERS, "decoder" (the cells of whole decoders in a sweep; "sweep": all
    # others) or "attention" (what `expect` printed): one document; "gains": two sweeps; or
    # "decode", "expect", "trained" or "authors" (also a sweep on the same grid): any
    # number of documents
    reads: str
    needs: str  # in words, for --list and for errors
    title: Callable | None = None  # of the data; without it a figure is known by its name


FIGURES = {
    "mad_figure8": Entry(
        mad_figure8.draw,
        mad_figure8.has_data,
        "sweep",
        "soft and monotonic on a grid of T and U",
    ),
    "mad_figure8_times": Entry(
        mad_figure8.draw_times,
        mad_figure8.has_times,
        "sweep",
        "soft and monotonic, variant exact, on a grid of T and U",
    ),
    "mad_figure8_builds": Entry(
        figure8_builds.draw,
        figure8_builds.has_data,
        "authors",
        "a result of experiments/authors/measure.py, one of run-sweep mad_figure8, or both",
    ),
    "britz_figure2": Entry(
        britz_figure2.draw,
        britz_figure2.has_data,
        "attention",
        "what `attnbench expect experiments/cases/britz_figure2.json` printed",
    ),
    "mocha_figure3": Entry(
        mocha_figure3.draw,
        mocha_figure3.has_data,
        "sweep",
        "soft and at least one more mechanism, all at T = U",
    ),
    "peers": Entry(
        peers.draw,
        peers.has_data,
        "sweep",
        "variants exact and framework (run-sweep --peer) over lengths T",
    ),
    "roofline": Entry(
        roofline.draw,
        roofline.has_data,
        "sweep",
        "cells of variant exact, and the machine's limits",
    ),
    "threads": Entry(
        threads.draw,
        threads.has_data,
        "sweep",
        "cells of variant exact on one thread and on more",
    ),
    "growth": Entry(
        growth.draw,
        growth.has_data,
        "sweep",
        "cells of variant exact over two decades of T",
    ),
    "frontier": Entry(
        frontier.draw,
        frontier.has_data,
        "sweep",
        "variants banded, of several bounds, and exact of one mechanism in training",
    ),
    "latency": Entry(
        latency.draw,
        latency.has_data,
        "sweep",
        "a mechanism that decodes online, under several workloads bias:R",
    ),
    "memory_share": Entry(
        memory_share.draw,
        memory_share.has_data,
        "sweep",
        "the same beside soft, of one T and one U",
    ),
    "monotonic_algorithms": Entry(
        partial(algorithms.draw, algorithms.MONOTONIC),
        partial(algorithms.has_data, algorithms.MONOTONIC),
        "sweep",
        "variants of monotonic in mode expect, with their bytes, over lengths T",
    ),
    "matcha_algorithms": Entry(
        partial(algorithms.draw, algorithms.MATCHA),
        partial(algorithms.has_data, algorithms.MATCHA),
        "sweep",
        "variants of matcha in mode expect, with their bytes, over lengths T",
    ),
    "stability": Entry(
        stability.draw,
        stability.has_errors,
        "stability",
        "a result of `attnbench stability`",
    ),
    "stability_chunks": Entry(
        stability.draw_chunks,
        stability.has_chunks,
        "stability",
        "a result of `attnbench stability` with chunk energies",
    ),
    "stability_gradient": Entry(
        stability.draw_gradient,
        stability.has_gradients,
        "stability",
        "gradients of a result of `attnbench stability`",
    ),
    "compare": Entry(
        compare.draw,
        compare.has_data,
        "compare",
        "what `attnbench compare A B --json` printed",
    ),
    "diagnosis": Entry(
        diagnosis.draw,
        diagnosis.has_data,
        "diagnosis",
        "a result of `attnbench diagnose`",
    ),
    "gap": Entry(
        gap.draw,
        gap.has_data,
        "gap",
        "a result of `attnbench gap` of random decoders",
    ),
    "advice": Entry(
        advice.draw, advice.has_data, "advice", "a result of `attnbench advise`"
    ),
    "aa": Entry(aa.draw, aa.has_data, "aa", "what `scripts/aa.py judge` wrote"),
    "britz_table1": Entry(
        britz_table1.draw,
        britz_table1.has_data,
        "decoder",
        "whole decoders (scope decoder) of one model over lengths, soft among them",
    ),
    "policy": Entry(
        policy.draw,
        policy.has_data,
        "decoder",
        "whole decoders of one model with AlignAtt (option policy), soft among them",
    ),
    "gains": Entry(
        gains.draw,
        gains.has_data,
        "gains",
        "a sweep of attention alone at T = U and one of whole decoders, both with soft",
    ),
    "monte_carlo": Entry(
        monte_carlo.draw,
        monte_carlo.has_data,
        "expect",
        "outputs of `attnbench expect CASE --latency-samples N`",
    ),
    "sharpness": Entry(
        sharpness.draw,
        sharpness.has_data,
        "expect",
        "outputs of `attnbench expect CASE --sharpness LIST`",
    ),
    "alignments": Entry(
        alignments.draw,
        alignments.has_data,
        "decode",
        "outputs of `attnbench decode` for one sequence, a file a mechanism",
    ),
    **{
        name: Entry(
            partial(learning_curves.draw, question),
            partial(learning_curves.has_data, question),
            "trained",
            f"results of `attnbench train` with curves that {answer}",
        )
        for name, question, answer in (
            ("learning_curves_noise", "noise", "differ in the noise"),
            ("learning_curves_reordering", "reordering", "are of reordering or reversal"),
            ("learning_curves_contexts", "contexts", "differ in the number of contexts"),
            ("learning_curves_encodings", "encodings",
             "are of other scorings or position encodings"),
            ("learning_curves", "mechanisms", "are none of these"),
        )
    },
    "hard_errors": Entry(
        trained_errors.draw_noise,
        trained_errors.has_noise,
        "trained",
        "mechanisms that choose, trained with several settings of the noise",
    ),
    "clip_errors": Entry(
        clipping.draw_errors,
        clipping.has_errors,
        "trained",
        "hard monotonic attention, trained with several clips of the denominator",
    ),
    "clip_gradient": Entry(
        clipping.draw_gradient,
        clipping.has_gradient,
        "clip_gradient",
        "what experiments/training/clip_gradient.py wrote",
    ),
    "context_errors": Entry(
        trained_errors.draw_contexts,
        trained_errors.has_contexts,
        "trained",
        "alternatives K<K>_L<L> of memory",
    ),
    "trained_alignments": Entry(
        trained_attention.draw_alignments,
        trained_attention.has_alignments,
        "trained",
        "runs with an example, but no frames with ends, of which those of the most "
        "mechanisms on one sequence are shown",
    ),
    "context_weights": Entry(
        trained_attention.draw_contexts,
        trained_attention.has_contexts,
        "trained",
        "runs of memory with an example, of which the most of one shape are shown",
    ),
    "p_histogram": Entry(
        trained_attention.draw_p,
        trained_attention.has_p,
        "trained",
        "runs of mechanisms that choose with a histogram of p",
    ),
    "error_over_lateness": Entry(
        lateness.draw_errors,
        lateness.has_errors,
        "trained",
        "runs on own data whose symbols have ends",
    ),
    "lateness_histogram": Entry(
        lateness.draw_histogram,
        lateness.has_histogram,
        "trained",
        "the same, with how late each symbol is",
    ),
    "spoken_alignments": Entry(
        spoken.draw_alignments,
        spoken.has_alignments,
        "trained",
        "the same, with an example that has frames, of which those of the most mechanisms on "
        "one source are shown",
    ),
    "instructions": Entry(
        times.draw_instructions, times.has_instructions, "sweep",
        "cells of run-sweep --measure instructions", times.title_of_instructions
    ),
    "times": Entry(
        times.draw, times.has_data, "sweep", "any cell with a time", times.title
    ),
    "decoder_times": Entry(
        times.draw, times.has_data, "decoder", "any whole decoder with a time", times.title
    ),
}
# Entry.reads -> the figure of what no other figure is meant for.
CHARTS = {"sweep": "times", "decoder": "decoder_times"}


def data_of(document, path):
    """The data of a checked document by what Entry.reads calls them."""
    kind = document["kind"]
    data = READERS[kind](document, path)
    if kind != "sweep":
        return {kind: data}
    is_whole = data["scope"] == load.DECODER
    # A sweep of several scopes skips what only whole decoders have.
    is_copy = [workloads.number_of(one, "copy") is not None for one in data["workload"]]
    is_left_out = (data["status"] == "skipped") & (
        (data["mechanism"] == "none") | is_copy)
    parts = {"sweep": data[~is_whole & ~is_left_out], "decoder": data[is_whole]}
    found = {reads: cells for reads, cells in parts.items() if not cells.empty}
    ours = figure8_builds.part_of_sweep(data[~is_whole])
    return found if ours is None else {**found, "authors": [ours]}


def fitting(data):
    """The names of the figures that such data are meant for."""
    meant = [
        name
        for name, entry in FIGURES.items()
        if entry.reads in data and entry.has_data(data[entry.reads])
    ]
    charts = CHARTS.values()
    shown = {FIGURES[name].reads for name in meant if name not in charts}
    return [
        name for name in meant if name not in charts or FIGURES[name].reads not in shown
    ]


def context_of(part):
    """That of what one figure reads; None of what decode and expect print."""
    return (part if isinstance(part, dict) else part.attrs).get("context")
