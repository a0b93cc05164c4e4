"""What the tests of pictures share: a folder of their own, and draw.py run in
it.
"""

import contextlib
import io
import json
import pathlib
import re
import tempfile
import unittest

from figures import draw

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMN_CM, PAGE_CM = 8.5, 17.5
SMALLEST_PT = 6


def printed_size(svg):
    """(width [cm], sizes of all letters [pt]) of a picture."""
    (width,) = re.findall(r'<svg [^>]*?\bwidth="([0-9.]+)pt"', svg)
    # matplotlib writes points as "px" of a picture whose unit is the point.
    return float(width) / 72 * 2.54, [
        float(size) for size in re.findall(r"font: [^;]*?([0-9.]+)px", svg)]


class PlotTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def write(self, document, name="result.json"):
        path = self.folder / name
        path.write_text(
            document if isinstance(document, str) else json.dumps(document)
        )
        return str(path)

    def run_draw(self, *arguments):
        """(exit code, stdout, stderr)."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = draw.main([*arguments, "-o", str(self.folder)])
            except SystemExit as stopped:
                code = stopped.code
        return code, out.getvalue(), err.getvalue()

    def draws(self, *arguments):
        code, out, err = self.run_draw(*arguments)
        self.assertEqual(code, 0, err)
        for path in self.folder.glob("*.svg"):
            self.prints(path)
        return out

    def prints(self, path):
        """Its picture is as wide as a column or the page, and its letters can be read."""
        width, sizes = printed_size(path.read_text(encoding="utf-8"))
        self.assertIn(round(width, 2), (COLUMN_CM, PAGE_CM), path)
        self.assertGreater(len(sizes), 5, path)
        self.assertGreaterEqual(min(sizes), SMALLEST_PT, path)

    def fails_with(self, arguments, *parts):
        """Exit 2, one line with all parts, and no picture."""
        code, out, err = self.run_draw(*arguments)
        self.assertEqual(code, 2)
        self.assertEqual(out, "")
        self.assertEqual(err.count("\n"), 1, err)
        for part in parts:
            self.assertIn(part, err)
        self.assertEqual(self.pictures(), [])

    def pictures(self):
        return sorted(
            p.name
            for p in self.folder.iterdir()
            if p.suffix != ".json"
        )

    def svg(self, name):
        png = self.folder / f"{name}.png"
        self.assertGreater(png.stat().st_size, 20_000)
        self.assertEqual(png.read_bytes()[:4], b"\x89PNG")
        # The words of the picture, wherever its lines break.
        svg = (self.folder / f"{name}.svg").read_text()
        return " ".join(re.sub("<[^>]*>", " ", svg).split())
