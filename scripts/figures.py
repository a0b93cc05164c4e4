#!/usr/bin/env python3
"""Draws the committed figures again, from the committed results.

usage: figures.py [NAME...]   draws these of results/figures; without a name all of them
example: scripts/figures.py stability mocha_figure3

Each is written as PNG and SVG. Nothing is measured. It takes a minute or two.
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
_TRAINED = [f"training/{name}.json" for name in (
    "alignments", "copy", "fed", "g2p", "reorder", "reversal", "speech", "stretch")]
_EXPECTED = [f"expect_{name}.json" for name in ("matcha", "mocha", "monotonic")]
# Figure -> the files of results/ that it is drawn from.
SOURCES = {
    "aa": ["aa.json"],
    "britz_figure2": ["britz_figure2.json"],
    "britz_table1": ["claims/decoder.json"],
    "clip_errors": ["training/clipping.json"],
    "clip_gradient": ["clip_gradient.json"],
    "context_errors": _TRAINED,
    "context_weights": _TRAINED,
    "error_over_lateness": ["training/speech.json"],
    "frontier": ["frontier.json"],
    "gains": ["claims/figure3.json", "claims/decoder.json"],
    "gap": ["gap.json"],
    "growth": ["growth.json"],
    "hard_errors": _TRAINED,
    "lateness_histogram": ["training/speech.json"],
    "latency": ["latency_bias.json"],
    "learning_curves": _TRAINED,
    "learning_curves_contexts": _TRAINED,
    "learning_curves_encodings": _TRAINED,
    "learning_curves_noise": _TRAINED,
    "learning_curves_reordering": _TRAINED,
    "mad_figure8_builds": ["claims/authors.json", "claims/speedup.json"],
    "matcha_algorithms": ["matcha_algorithms.json"],
    "memory_share": ["latency_bias.json"],
    "mocha_figure3": ["claims/figure3.json"],
    "monotonic_algorithms": ["monotonic_algorithms.json"],
    "monte_carlo": _EXPECTED,
    "p_histogram": _TRAINED,
    "peers": ["peers_lengths.json"],
    "policy": ["alignatt.json"],
    "roofline": ["roofline.json"],
    "sharpness": _EXPECTED,
    "spoken_alignments": ["training/speech.json"],
    "stability": ["claims/stability.json"],
    "stability_chunks": ["claims/stability.json"],
    "stability_gradient": ["claims/stability.json"],
    "threads": ["threads_16.json"],
    "trained_alignments": _TRAINED,
}


def main(given):
    if "-h" in given or "--help" in given:
        print(__doc__.strip())
        return 0
    for name in given:
        if name not in SOURCES:
            print(f"figures.py: unknown figure '{name}'; known are {', '.join(SOURCES)}",
                  file=sys.stderr)
            return 2
    for name in given or SOURCES:
        files = [f"results/{file}" for file in SOURCES[name]]
        subprocess.run([sys.executable, "plots/draw.py", "--figure", name, *files,
                        "-o", "results/figures"], cwd=ROOT, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
