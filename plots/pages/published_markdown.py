"""The papers' tables and statements in Markdown, ours beside them where they were
measured.

A decoder's time is compared as a ratio to full attention's: the paper's seconds are
those of another machine.
"""

import math

from attnbench.analysis import whole_decoders, words
from attnbench.analysis.pairing import BASELINE
from pages import markdown

# id of a published table -> the model of the decoders that have the same rows, as
# whole_decoders.MODEL has it, their lengths, and the experiment that measures them
MEASURED = {
    "britz-table-1": ((256, "copy:1", 20, 2, "timed"), {20, 50, 100, 200}, "britz_table1"),
    "britz-table-3": ((512, "copy:1", 16000, 2, "timed"), {70}, "britz_table3"),
}
ROW = ("length", "mechanism", "num_contexts")
TIME = "time_s"


def is_measured(model, lengths):
    """Whether whole decoders of the model and these lengths are a published table's."""
    return any(model == one and set(lengths) <= of_table
               for one, of_table, _ in MEASURED.values())


def table(about, decoders, ours):
    """Lines of one published table; `decoders` are the cells of whole decoders by
    model, `ours` have the texts of further columns by their heads.
    """
    where = about["where"]
    lines = [f"{markdown.text(where[0].upper() + where[1:])}: "
             f"{markdown.text(about['what'])}.", ""]
    model, _, experiment = MEASURED.get(about["id"], (None, None, None))
    if model in decoders:
        cells = decoders[model]
        measured = markdown.text(words.run_text(cells.attrs["context"]))
        lines += [*_beside(about, cells), "", f"Measured here: {measured}", ""]
    else:
        lines += [*_papers_table(about, ours), ""]
        if experiment:
            lines += [f"Not measured in this run: {experiment}.", ""]
    return lines + [_instead(about), ""]


def statements(said, verdicts):
    """Lines of the table of what a paper says in its text; `verdicts` have a text for
    each id of a claim.
    """
    rows = [
        [
            markdown.text(statement["where"]),
            markdown.text(statement["what"]),
            _numbers(statement),
            "; ".join(verdicts[claim] for claim in statement["claims"]),
        ]
        for statement in said
    ]
    return markdown.table(("where", "what", "the paper", "here"), rows)


def corpora(papers):
    """Lines of the table of what is not free, the tables that need it, and what
    stands in for them.
    """
    needed = {}
    for paper in papers:
        for about in paper["tables"]:
            for corpus in about["corpora"]:
                entry = needed.setdefault(corpus["name"], (corpus["access"], []))
                entry[1].append(f"{paper['paper']['key']} {about['where']}")
    rows = [
        [markdown.text(name), markdown.text(access), markdown.text("; ".join(tables))]
        for name, (access, tables) in needed.items()
    ]
    return markdown.table(("corpus", "why it is not here", "needed by"), rows)


def _numbers(statement):
    about = "about " if statement["approximate"] else ""
    numbers = ", ".join(
        f"{markdown.text(name.replace('_', ' '))} {value:g}"
        for name, value in statement["numbers"].items()
    )
    unit = f" ({statement['unit']})" if statement["unit"] else ""
    return f"{about}{numbers}{unit}"


def _instead(about):
    needs = ", ".join(corpus["name"] for corpus in about["corpora"])
    needs = f"Needs {needs}, which is not free. " if needs else ""
    return f"{markdown.text(needs)}Here: {markdown.text(about['instead'])}."


def _papers_table(about, ours):
    columns = about["columns"]
    head = [_heading(name, column) for name, column in columns.items()]
    rows = [[_cell(about, row, name) for name in columns] for row in about["rows"]]
    for heading, texts in ours.items():
        head.append(markdown.text(heading))
        rows = [[*row, markdown.text(text)] for row, text in zip(rows, texts)]
    return markdown.table(head, rows)


def _cell(about, row, name):
    """The number has as many decimals as its column: 18.00 is 18.0 in JSON."""
    value = row[name]
    if not isinstance(value, float):
        return markdown.text(value)
    column = (other[name] for other in about["rows"])
    digits = max(len(repr(v).partition(".")[2]) for v in column if v is not None)
    return f"{value:.{digits}f}"


def _heading(name, column):
    unit = f" ({column['unit']})" if column["unit"] in ("percent", "seconds") else ""
    return markdown.text(name.replace("_", " ") + unit)


def _beside(about, decoders):
    """Rows of the paper, then ours that it does not have."""
    columns = [name for name in ROW if name in about["columns"]]
    others = [name for name in about["columns"] if name not in (*ROW, TIME)]
    compared = [name for name in columns if name == "length"]  # rows of one model
    full = {
        _key(row, compared): row[TIME]
        for row in about["rows"]
        if row["mechanism"] == BASELINE
    }
    beams = sorted(set(decoders["beam"]), reverse=True)
    ours = _by_row(whole_decoders.with_ratios(decoders), columns)
    rows = []
    for row in about["rows"]:
        cells = ours.pop((*_key(row, columns), None), {})
        rows.append([
            *(_cell(about, row, name) for name in (*columns, *others, TIME)),
            f"{row[TIME] / full[_key(row, compared)]:.3f}",
            *(_ratio_text(cells.get(beam)) for beam in beams),
        ])
    for (*key, width), cells in ours.items():
        names = [markdown.text(value) for value in key]
        if width is not None:
            names[columns.index("mechanism")] += f", w = {width}"
        rows.append([
            *names,
            *[markdown.NONE] * (len(others) + 2),
            *(_ratio_text(cells.get(beam)) for beam in beams),
        ])
    head = [
        *(_heading(name, about["columns"][name]) for name in (*columns, *others)),
        "the paper (seconds)",
        "the paper over its full attention",
        *(f"here over full attention, {f'beam {beam}' if beam > 1 else 'greedy'}"
          for beam in beams),
    ]
    return markdown.table(head, rows)


def _by_row(cells, columns):
    """What names a row, and w -> the cells of each beam."""
    rows = {}
    for cell in cells:
        key = _key({**cell, "length": cell["memory_length"]}, columns)
        row = rows.setdefault((*key, cell["chunk_width"]), {})
        row[cell["beam"]] = cell
    return rows


def _key(row, columns):
    return tuple(row.get(name) for name in columns)


def _ratio_text(cell):
    if cell is None:
        return markdown.NONE
    if cell["mechanism"] == BASELINE and cell["status"] == "ok":
        return "1"
    ratio = cell["ratio"]
    if ratio is None:
        return ("no time of full attention" if cell["status"] == "ok"
                else markdown.text(f"{cell['status']}: {cell['message']}"))
    text = f"{ratio.value:.3f}"
    if math.isfinite(ratio.high):  # not of a single round
        text += f" \\[{ratio.low:.3f}, {ratio.high:.3f}\\]"
    reads = whole_decoders.reads_text(cell)
    return f"{text} ({reads})" if reads else text
