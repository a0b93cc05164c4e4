"""Prints what the members of a cell of a sweep mean, from results/schema/sweep.schema.json.

example:
  plots/members.py --into docs/results.md

With --into the table also goes between the lines <!-- members --> and <!-- /members -->
of a file.
"""

from attnbench.analysis import command, load
from pages import markdown, page

BEGIN, END = "<!-- members -->\n", "<!-- /members -->\n"


def table():
    # Descriptions are Markdown.
    rows = [[f"`{name}`", member["description"]]
            for name, member in load.CELL["properties"].items() if name in load.OUTCOMES]
    return "\n".join([*markdown.table(["member of a cell", "meaning"], rows), ""])


def main(arguments=None):
    parser = command.parser("members.py", __doc__)
    parser.add_argument("--into", metavar="FILE", help="e.g. docs/results.md")
    options = parser.parse_args(arguments)
    return page.print_into(parser.prog, table, options.into, BEGIN, END)
