"""From which length on is a mechanism faster than soft attention? Prints a table.

examples:
  plots/crossover.py crossover.json
  plots/crossover.py crossover.json crossover_beam.json --shares 1 --into docs/latency.md
  plots/crossover.py crossover.json --outputs 64 --shares 0.1,1

With --into the table also goes between the lines <!-- crossover table --> and
<!-- end of crossover table --> of a file.

The table has, for each mechanism, size d, beam and share of the memory that the scan
passes, the least T at which soft attention takes 1, 2 and 10 times as long. Attention
that is measured alone has no beam: one sequence of states. With beams, greedy decoding
(1) among them, there is a table of its own for each result of whole decoders (scope
decoder), of the time of their attention. Times are those of a model, fitted for each
mechanism, d and beam to every cell of the file by

  time = a + u U + t T + b energies + c chunk_energies

with the exact counts of the cells: least squares of the relative error, terms in
this order, each only where the counts tell it from those before it. A term whose
coefficient comes out below zero costs nothing that can be seen and is left out.
For other lengths the counts follow from T, U and the share s:

  soft                 energies = T U
  a scan               energies = s T + U (entries passed, and one choice an output)
  ... and chunks of w  chunk_energies = min(w, T) U
  ... and adaptive     chunk_energies = s T + U
  memory               none: its cost is in U and T

With a beam of B there are 1 + T B outputs, of all hypotheses over T + 1 steps: soft
attention takes T energies for each, a scan one for each and s (T - 1/2), rounded down,
for each hypothesis, MoChA the windows before the entries that it chooses. Where all
scans of a result pass (nearly) one share of the memory, nothing tells what an entry
costs from what an output does, and the table has the shares that were measured.

A model is no measurement: what it misses of the cells that it was fitted to is
told, and a T outside their lengths is marked. Intervals are 95 % ones: the fit is
repeated on times that other runs might have found.
"""

import math
import re

from attnbench.analysis import (
    command,
    crossover,
    intervals,
    load,
    modes,
    pairing,
    reads,
    settings,
    words,
)
from pages import markdown, page

SHARES = "0.1,0.5,1"
BEGIN, END = "<!-- crossover table -->\n", "<!-- end of crossover table -->\n"
COLUMNS = (
    "mechanism",
    "d",
    "beam",
    "share of the memory",
    *(f"{n}x from T =" for n in crossover.SPEEDUPS),
    "the model misses: rms, most",
)


def table(chosen, outputs=None, shares=(0.1, 0.5, 1.0)):
    """The table of what `read` gave, in Markdown."""
    rows = [[markdown.text(label), *rest]
            for label, *rest in table_rows(chosen, outputs, shares)]
    return markdown.page(
        [markdown.text(head(chosen, outputs)), "", *markdown.table(COLUMNS, rows)])


def table_rows(chosen, outputs=None, shares=(0.1, 0.5, 1.0)):
    """Its texts, as many as COLUMNS in each row."""
    lines = []
    for dim in sorted(set(chosen["dim"])):
        of_dim = chosen[chosen["dim"] == dim]
        for beam in dict.fromkeys(of_dim["beam"]):
            at = of_dim if beam is None else of_dim[of_dim["beam"] == beam]
            lines += _rows(at, dim, beam, outputs, shares)
    return lines


def _rows(cells, dim, beam, outputs, shares):
    """The rows of one d and beam."""
    lines = []
    of_soft = cells[cells["mechanism"] == pairing.BASELINE]
    if of_soft.empty:
        at = f"d = {dim}" + ("" if beam is None else f", beam {beam}")
        raise load.DataError(
            cells.attrs["path"], f"cells missing: mechanism {pairing.BASELINE}, {at}"
        )
    soft = crossover.fit(of_soft)
    soft_times = crossover.times_at(soft, pairing.BASELINE, outputs, 1)
    for name in modes.mechanisms(cells):
        if name == pairing.BASELINE:
            continue
        group = cells[cells["mechanism"] == name]
        labels = [settings.label(cell) for cell in group.to_dict("records")]
        for label in dict.fromkeys(labels):
            rows = group[[one == label for one in labels]]
            model = crossover.fit(rows)
            measured = _range(rows)
            scans = rows["end"].notna().all()
            told = shares
            if beam is not None and not model.tells_energies:
                told = sorted(set(rows["memory_share"]))
            for share in told if scans else (None,):
                times = crossover.times_at(model, name, outputs, share or 0)
                found = [
                    crossover.crossovers(soft_times, times, n)
                    for n in crossover.SPEEDUPS
                ]
                lines.append(
                    [
                        label,
                        str(dim),
                        markdown.NONE if beam is None else str(beam),
                        "all" if share is None else f"{100 * share:g} %",
                        *(_length_text(f, measured) for f in found),
                        f"{_miss_text(model)} (soft {_miss_text(soft)})",
                    ]
                )
    return lines


def _range(rows):
    return rows["shortest"].min(), rows["longest"].max()


def _length_text(found, measured):
    """'40 [36, 44]', with a mark where that was not measured."""
    value, *drawn = found
    if math.isinf(value):
        return "never"
    low, high = intervals.of_draws(drawn)
    mark = "" if measured[0] <= value <= measured[1] else "†"
    if value == low == high:
        return f"{_whole(value)}{mark}"
    return f"{_whole(value)}{mark} [{_whole(low)}, {_whole(high)}]"


def _miss_text(model):
    return (
        f"{100 * model.typical_residual:.0f} %, {100 * model.largest_residual:+.0f} %"
    )


def _whole(length):
    if math.isinf(length):
        return "never"
    # Lengths are tried 1 percent apart.
    digits = max(0, len(str(int(length))) - 3)
    return str(int(round(length, -digits)))


def head(chosen, outputs=None):
    """What the table is of: the machine and the energy first."""
    first, last = _range(chosen)
    measured = (
        f"{_set(chosen, ('energy',))}, on {words.machine_text(chosen.attrs['context'])}"
    )
    if chosen["beam"].iloc[0] is None:
        axes = ("batch", "threads", "precision")
        of_outputs = sorted(set(chosen["output_length"]))
        text = (
            f"Attention alone, {measured}: decoding one sequence at a time, "
            f"{'U = T' if outputs is None else f'U = {outputs}'}; {_set(chosen, axes)}; "
            "no beam."
        )
        scans = chosen[chosen["end"].notna()]
        marked = sum(map(reads.is_marked, scans.to_dict("records")))
        if marked:
            text += (
                f" In {marked} of the {len(scans)} cells of scans over "
                f"{100 * reads.MOST_EMPTY:.0f} % of the outputs have no context: the "
                "model knows that they cost no energies, not that they read no entry."
            )
        cells = (
            f"workloads {', '.join(sorted(set(chosen['workload'])))}, T from {first} to "
            f"{last}, U from {of_outputs[0]} to {of_outputs[-1]}"
        )
    else:
        text = (
            f"Attention of whole decoders by itself, {measured}: a source at a time, "
            "greedy (beam 1) and with a beam, T + 1 outputs."
        )
        if chosen.attrs["left_out"]:
            text += (
                " Left out: "
                f"{'; '.join(chosen.attrs['left_out'])}."
            )
        passed = sorted(set(chosen["memory_share"]))
        cells = (
            f"T from {first} to {last}, scans of "
            f"{' and '.join(f'{100 * share:g} %' for share in passed)} of the memory"
        )
    return (
        f"{text} The smallest T at which soft attention is 1, 2 or 10 times slower, by a "
        f"model fitted on exact counts ({cells}), with its 95 % interval. †: outside "
        f"these T; never: not up to T = {crossover.MOST}. "
        + words.context_text(chosen.attrs["context"])
    )


def _set(chosen, axes):
    return ", ".join(f"{axis} {chosen[axis].dropna().iloc[0]}" for axis in axes)


# ---- command line -----------------------------------------------------------


def parse(arguments):
    parser = command.parser("crossover.py", __doc__)
    parser.add_argument(
        "files", metavar="RESULT", nargs="+", help="of run-sweep"
    )
    parser.add_argument("--into", metavar="FILE", help="e.g. docs/latency.md")
    parser.add_argument(
        "--outputs", metavar="U", default="=T",
        help="a number, or =T (default, and all that a beam has)",
    )
    parser.add_argument(
        "--shares",
        metavar="LIST",
        default=SHARES,
        help=f"shares of the memory that is read, default {SHARES}",
    )
    return parser.parse_args(arguments)


def _outputs(text):
    if text == "=T":
        return None
    if re.fullmatch("[0-9]+", text) and int(text) > 0:
        return int(text)
    raise load.DataError("--outputs", f"'{text}' is neither a number above 0 nor =T")


def _shares(text):
    shares = []
    for part in text.split(","):
        shares.append(command.number(part))
        if not 0 <= shares[-1] <= 1:
            raise load.DataError("--shares", f"'{part}' is not a number from 0 to 1")
    return shares


def main(arguments=None):
    options = parse(arguments)
    return page.print_into(
        "crossover.py", lambda: _tables(options), options.into, BEGIN, END
    )


def _tables(options):
    outputs, shares = _outputs(options.outputs), _shares(options.shares)
    results = [crossover.read(path) for path in options.files]
    for cells in results:
        if outputs is not None and cells["beam"].iloc[0] is not None:
            raise load.DataError(
                "--outputs",
                f"{cells.attrs['path']} is of whole decoders, where U follows T: "
                "leave it out",
            )
    return "\n".join(table(cells, outputs, shares) for cells in results)
