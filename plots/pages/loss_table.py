"""Prints from which T on a closed form loses mass, from a result of `attnbench stability`.

examples:
  plots/losses.py stability.json
  plots/losses.py results/claims/stability.json --into docs/stability.md

What an output loses over a memory of T entries is the exact sum of its alpha over them
minus the sum that the closed form gives; its whole mass is 1. The table has the largest
loss of all outputs and draws. An output first loses 1 % over the shortest memory where
that is more than 0.01. A number that is not finite is NaN.

With --into the table also goes between the lines <!-- losses --> and <!-- /losses -->
of a file.
"""

from attnbench.analysis import command, load, names, words
from figures.stability import number
from pages import markdown, page

BEGIN, END = "<!-- losses -->\n", "<!-- /losses -->\n"


def table(document, path):
    losses = [row for row in document.get("losses", []) if row["precision"] == "f32"]
    if not losses:
        raise load.DataError(path, "losses missing: measure it again with this version")
    forms = {}
    for row in losses:
        forms.setdefault(row["preset"] or row["variant"], []).append(row)
    lengths = sorted({row["memory_length"] for row in losses})
    head = ["computed by", "preset", "1 % lost from T ="]
    head += [f"lost at {length}" for length in lengths]
    head.append(f"an entry is off at {lengths[0]}")
    lines = markdown.table(head, [_row(name, rows) for name, rows in forms.items()])
    return "\n".join([_title(losses[0], document["context"]), "", *lines, ""])


def _title(row, context):
    return (
        f"Largest share of its mass that an output loses: U = {row['output_length']}, "
        f"{row['draws']} draws, p = sigmoid(N(-4, 1)), f32. "
        + markdown.text(words.context_text(context))
    )


def _row(name, rows):
    rows = sorted(rows, key=lambda row: row["memory_length"])
    longest = rows[-1]
    first = longest["first_length"]
    cells = [
        {"exact": "attnbench", **names.FORMS}.get(name, f"`{name}`"),
        f"`{name}`",
        f"not up to {longest['memory_length']}" if first is None else str(first),
        *(_percent(row["lost"]) for row in rows),
    ]
    error = rows[0]["selection_error"]
    return [*cells, "NaN" if error is None else number(error, 1)]


def _percent(share):
    return "NaN" if share is None else f"{100 * share:.1f} %"


def main(arguments=None):
    parser = command.parser("losses.py", __doc__)
    parser.add_argument("file", metavar="RESULT")
    parser.add_argument("--into", metavar="FILE", help="e.g. docs/stability.md")
    options = parser.parse_args(arguments)

    def make():
        return table(load.read(options.file, "stability"), options.file)

    return page.print_into(parser.prog, make, options.into, BEGIN, END)
