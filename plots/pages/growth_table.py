"""Prints two tables of a sweep over T, of how cost grows with the memory.

examples:
  plots/growth.py growth.json
  plots/growth.py results/growth.json --into docs/speed.md

With --into both also go between the lines <!-- growth table --> and
<!-- end of growth table --> of a file.

Exponents are slopes of log(count) over log(T): exact, as counts are. Times are
fitted, for each mechanism, mode and scope, by

  time = a + b energies + c chunk_energies + f flops_beyond

over all T (and w). Least squares of the relative error: each row is divided by its
time, so that the shortest memory counts as much as the longest. A term is in it only
if the counts tell it from those before it; flops_beyond, the flops beyond a fixed
number for each energy, only if energies do not describe them (pairs of entries of
matcha, the contexts of memory). Nothing forces a coefficient to be positive.

Intervals are 95 % ones: the fit is repeated on times that other runs might have found.
What the straight line itself misses is the largest residual.
"""

from attnbench.analysis import command, fits, growth, load, modes, words
from pages import markdown, page

EXPONENT_HEAD = ("mechanism", "mode, scope", "energies", "chunk energies", "flops")
TIME_HEAD = (
    "mechanism",
    "mode, scope",
    "a, ns",
    "b, ns an energy",
    "c, ns a chunk energy",
    "f, ns a flop",
    "largest residual",
    "notes",
)
BEGIN, END = "<!-- growth table -->\n", "<!-- end of growth table -->\n"


def tables(cells):
    """Gives both tables, in Markdown."""
    chosen = growth.select(cells)
    exponents, times = [], []
    for (name, mode, scope), group in modes.groups(chosen):
        for label, line in growth.lines(group):
            row = [markdown.text(label), f"{mode}, {scope}"]
            row += [
                exponent_text(
                    growth.exponent(line["memory_length"], fits.counts(line, of))
                )
                for of in growth.COUNTS
            ]
            exponents.append(row)
        found = growth.fit(group)
        terms = [
            term_text(found.terms.get(term))
            for term in ("constant", "energies", "chunk_energies", "flops_beyond")
        ]
        residual = f"{100 * found.largest_residual:+.0f} %, T = {found.largest_at}"
        times.append(
            [markdown.text(name), f"{mode}, {scope}", *terms, residual,
             markdown.text("; ".join(found.notes))]
        )
    lengths = sorted(set(chosen["memory_length"]))
    outputs = sorted(set(chosen["output_length"]))
    head = (
        f"T = {', '.join(map(str, lengths))}; "
        f"U = {', '.join(map(str, outputs))}; d = {chosen['dim'].iloc[0]}; "
        f"workload {chosen['workload'].iloc[0]}; "
        f"energy {', '.join(sorted(set(chosen['energy'].dropna()))) or markdown.NONE}. "
        + words.context_text(chosen.attrs["context"])
    )
    return "\n".join(
        [
            markdown.text(head),
            "",
            "Exponents of counts over all T (in parentheses the least and the "
            "greatest from one T to the next, where they differ):",
            "",
            *markdown.table(EXPONENT_HEAD, exponents),
            "",
            "Time, with 95 % intervals:",
            "",
            *markdown.table(TIME_HEAD, times),
            "",
        ]
    )


def exponent_text(found):
    """Writes '1.00', or '0.92 (0.73 to 0.99)' if it is not the same everywhere."""
    if found is None:
        return "–"
    low, high = min(found.steps), max(found.steps)
    text = growth.slope_text(found)
    if f"{low:.2f}" != f"{high:.2f}":
        text += f" ({low:.2f} to {high:.2f})"
    return text


def term_text(term):
    if term is None:
        return "–"
    # This writes three digits, and never an exponent.
    ns, low, high = (
        f"{float(f'{number:.3g}'):.9f}".rstrip("0").rstrip(".")
        for number in (term.ns, term.low, term.high)
    )
    return f"{ns} [{low}, {high}]"


def main(arguments=None):
    parser = command.parser("growth.py", __doc__)
    parser.add_argument("file", metavar="RESULT")
    parser.add_argument("--into", metavar="FILE", help="e.g. docs/speed.md")
    options = parser.parse_args(arguments)
    return page.print_into(
        parser.prog, lambda: tables(load.load(options.file)), options.into, BEGIN, END
    )
