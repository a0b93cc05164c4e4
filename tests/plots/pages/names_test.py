"""Guards against a name from a result that Markdown or matplotlib reads as something else
than itself: 250 of them, read back by a parser of Markdown and of SVG.
"""

import re
import unittest
import urllib.parse
import xml.etree.ElementTree

import markdown_it

from figures import style
from hostile import NAMES
from pages import markdown, page
from plot_case import PlotTest

COMMONMARK = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])


class Names(PlotTest):
    def test_markdown_gives_every_name_back(self):
        lines = markdown.table(("name", "link"), [
            [markdown.text(name), markdown.link("a", name.strip() or "a")] for name in NAMES])
        cells = [token for token in COMMONMARK.parse("\n".join(lines))
                 if token.type == "inline"][2:]
        self.assertNotIn("$", "".join(lines), "GitHub reads a formula")
        for name, text, link in zip(NAMES, cells[::2], cells[1::2], strict=True):
            self.assertEqual(" ".join(name.split()),
                             " ".join("".join(one.content for one in text.children).split()))
            self.assertLessEqual({one.type for one in text.children}, {"text"}, name)
            opened, _, _ = link.children
            self.assertEqual(urllib.parse.unquote(opened.attrs["href"]), name.strip() or "a")

    def test_a_paragraph_gives_every_name_back(self):
        for name in (*NAMES, "# a", "1. a", "12) a", "- a", "+ a", "=== a", "1.5 a"):
            if name.strip():
                words = " ".join(name.split())
                opened, inline, _ = COMMONMARK.parse(markdown.paragraph(words))
                self.assertEqual(opened.type, "paragraph_open", name)
                self.assertEqual("".join(one.content for one in inline.children), words)

    def test_a_page_shows_what_a_command_printed(self):
        printed = "\n".join(NAMES).replace("\r", "") + "\n```\n````x\n"
        (block,) = [token for token in COMMONMARK.parse("".join(page.block("b", printed)))
                    if token.type == "fence"]
        self.assertEqual(block.content, printed)

    def test_figures_give_every_name_back(self):
        figure, _ = style.new_figure(1, 1)
        style.add_foot(figure, "caption", [style.handle(name, {}) for name in NAMES])
        with self.assertWarns(UserWarning):  # fonts lack some characters
            style.save(figure, self.folder, "names")
        tree = xml.etree.ElementTree.parse(self.folder / "names.svg")
        texts = ["".join(one.itertext()) for one in tree.iter("{http://www.w3.org/2000/svg}text")]
        for name in NAMES:
            for line in name.split("\n"):
                shown = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]", "\ufffd", line)
                if line.strip():
                    # XML has one kind of line's end.
                    self.assertIn(shown.replace("\r", "\n"), texts)


if __name__ == "__main__":
    unittest.main()
