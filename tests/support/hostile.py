"""Texts that mean something to another program, as names in results may: to a shell, Slurm,
printf, make, a pattern, TeX, HTML, XML, Markdown, CSV, JSON, a terminal, or a font.
"""

import re

_PARTS = [
    # printf, strftime and Slurm; str.format and fmt; a shell; make and ninja
    "%j", "%%", "%s", "%Y-%m-%d", "{}", "{0}", "{name}", "$HOME", "$(touch hit)", "${x}",
    "`touch hit`", ";", "'", '"', "$'x'", "!x", "$(MAKE)", "$$", "-", "--help", "=1+1", "@x",
    # patterns and pointers
    "*", "?.json", "[ab]", "{a,b}", "^a$", "(a", "a)+", "\\1", "\\", "\\|", "\\*", "~", "~0~1",
    # HTML, XML, SVG
    "&", "&amp;", "&#36;", "<b>", "</script>", "<!--", "-->", "]]>", "url(#a)",
    "'DejaVu Sans'", 'xlink:href="#a"', ' id="a"', ' name="b"',
    # Markdown and TeX
    "|", "**b**", "_b_", "_", "__", "~~b~~", "$x^2$", "#", "# h", "1. x", "+ x", "> q", "```",
    "[a](b)", "![a](b)", "[a][b]", "<a@b.cd>",
    # CSV and JSON
    ",", "a,\"b\"", "\t", "null", "1e9", "NaN", "\\n", "\\u0041",
    # lines and terminals
    "a\r\nb", "a\nb", "\x07", "\x1b[31m", "\x7f", "\x9b2J", "\u2028", "\u202e", "\ufeff",
    "\ufffe", "\uffff", "é", "e\u0301", "日本", "😀",
]
NAMES = list(dict.fromkeys(
    name for part in _PARTS for name in (part, f"a{part}b", part + part)))


def without_controls(name, keeps_lines=False):
    """As the program prints what is no document: '?' for a control character."""
    kept = "\t\n" if keeps_lines else ""
    return "".join("?" if re.match("[\x00-\x1f\x7f-\x9f]", one) and one not in kept else one
                   for one in name)


def file_names():
    """Names of files in which all parts are that a file's name can have."""
    names, name = [], ""
    for part in _PARTS:
        if "/" in part:
            continue
        if len((name + part).encode()) > 120:
            names.append(name)
            name = ""
        name += part
    return [*names, name]
