"""A page of `attnbench report`, taken apart."""

import base64
import gzip
import html.parser
import json
import re

VOID = {"meta", "input", "br", "link", "img", "hr"}
IN_PLACE = re.compile('<script type="text/plain" class="packed">([^<]*)</script>')


def unpacked(packed):
    return gzip.decompress(base64.b64decode(packed)).decode()


def plain(markup):
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", markup)).split())


class Page(html.parser.HTMLParser):
    """Collects elements, ids, links and texts, with what the page's script unpacks where it
    is; refuses tags that do not match.
    """

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts, self.scripts = [], [], [], {}
        self.folds, self.folded = [], {}  # summaries of what is open; id -> its summary
        self.text = IN_PLACE.sub(lambda packed: unpacked(packed[1]), text)
        self.feed(self.text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        assert len(attributes) == len(attrs), (tag, attrs)
        self.elements.append((tag, attributes))
        if tag not in VOID:
            self.open.append((tag, attributes))
        if tag == "details":
            self.folds.append("")
        if "id" in attributes:
            self.folded[attributes["id"]] = "".join(self.folds)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        opened, _ = self.open.pop()
        assert opened == tag, f"</{tag}> ends <{opened}>"
        if tag == "details":
            self.folds.pop()

    def handle_data(self, data):
        tag, attributes = self.open[-1] if self.open else ("", {})
        if tag == "script" and "id" in attributes:
            # The parser may give long data in parts.
            before = self.scripts.get(attributes["id"], "")
            self.scripts[attributes["id"]] = before + data
        elif tag not in ("script", "style"):
            self.texts.append(data)
            if tag == "summary":
                self.folds[-1] += data

    def named(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def ids(self):
        return [a["id"] for _, a in self.elements if "id" in a]

    def words(self):
        return " ".join(" ".join(self.texts).split())

    def ledger(self):
        """Gives claim -> (what its first cell says, what the others say, its evidence)."""
        section = self.text.split('<section id="ledger"')[1].split("</section>")[0]
        found = {}
        for row in section.split("<tr><td><strong")[1:]:
            verdict, _, row = row.partition("</td>")
            shown, _, evidence = row.partition("<details>")
            name = plain(shown).split()[0]
            found[name] = plain(f"<strong{verdict}"), plain(shown), plain(evidence)
        return found

    def lines(self, number):
        return unpacked(self.scripts[f"packed-{number}"]).split("\n")

    def data(self, number):
        return json.loads(self.lines(number)[0])

    def records(self, number):
        return list(map(json.loads, self.lines(number)[1:]))

    def column(self, number, name):
        data = self.data(number)
        place = data["columns"].index(name)
        return [row[place] for row in data["rows"]]
