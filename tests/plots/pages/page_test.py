"""Guards against a page, or a picture, that is half written, and against one that
quotes a command which printed nothing."""

import contextlib
import io
import os
import pathlib
import stat
import tempfile
import unittest
from unittest import mock

from attnbench.analysis import whole_file
from pages import page


class Folder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.path = self.folder / "page.md"

    def assert_alone(self):
        """Nothing half written lies about."""
        self.assertEqual(os.listdir(self.folder), ["page.md"])


class PageTest(Folder):
    def put(self, printed, text="a\n<!-- x -->\nold\n<!-- /x -->\nb\n"):
        """(exit code, stderr, the page) of `printed` into the page `text`."""
        self.path.write_text(text)
        error = io.StringIO()
        with mock.patch("sys.stdin", io.StringIO(printed)), \
                contextlib.redirect_stderr(error):
            code = page.main([str(self.path), "x"])
        self.assert_alone()
        return code, error.getvalue(), self.path.read_text()

    def test_what_was_printed_is_a_block_of_code_between_the_lines(self):
        self.assertEqual(self.put("one\ntwo\n"), (
            0, "", "a\n<!-- x -->\n```\none\ntwo\n```\n<!-- /x -->\nb\n"))

    def test_a_page_stays_as_it_is_where_something_is_wrong(self):
        good = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n"
        for printed, text, message in (
            ("", good, "has no line: did the command fail?"),
            ("one\n", "no lines\n", "must have the lines <!-- x --> and <!-- /x -->"),
            ("one\n", good + good, "must have the lines"),
        ):
            code, error, after = self.put(printed, text)
            self.assertEqual((code, after), (2, text))
            self.assertIn(message, error)
            self.assertEqual(error.count("\n"), 1)


class WholeFileTest(Folder):
    def test_others_may_read_what_was_written(self):
        before = os.umask(0o022)
        self.addCleanup(os.umask, before)
        whole_file.write(self.path, b"new")
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o644)

    def test_a_failure_leaves_what_was_there(self):
        self.path.write_bytes(b"old")
        with self.assertRaises(FileExistsError):
            whole_file.write(self.path, b"new", may_replace=False)
        with mock.patch("os.fsync", side_effect=OSError("no space")), \
                self.assertRaises(OSError):
            whole_file.write(self.path, b"new")
        self.assertEqual(self.path.read_bytes(), b"old")
        self.assert_alone()

    def test_what_is_no_file_of_its_own_is_not_written(self):
        os.mkfifo(self.folder / "fifo")
        for name, why in (("-", "is no file"), ("/dev/null", "not a file that can be"),
                          (str(self.folder / "fifo"), "not a file that can be"),
                          (str(self.folder), "not a file that can be")):
            with self.assertRaisesRegex(OSError, why):
                whole_file.write(name, b"new")
        self.path.write_text("old")
        self.assertIn("is read by", whole_file.refusal(self.path, [self.path]))
        with open(self.path, "a", encoding="utf-8") as printed, \
                mock.patch("os.fstat", lambda _: os.stat(printed.name)):
            self.assertIn("is where this command prints", whole_file.refusal(self.path))
        os.unlink(self.folder / "fifo")
        self.assert_alone()
        self.assertFalse(os.path.exists("-"))

    def test_a_link_is_followed(self):
        link = self.folder / "link"
        self.path.write_bytes(b"old")
        link.symlink_to(self.path.name)
        whole_file.write(link, b"new")
        self.assertTrue(link.is_symlink())
        self.assertEqual(self.path.read_bytes(), b"new")


if __name__ == "__main__":
    unittest.main()
