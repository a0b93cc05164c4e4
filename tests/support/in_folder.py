"""A test with a folder of its own and another one for temporary files; both are removed
at its end.
"""

import os
import tempfile
import unittest
import unittest.mock


class InFolder(unittest.TestCase):
    def setUp(self):
        self.folder = self.new_folder()
        changed = unittest.mock.patch.dict(os.environ, TMPDIR=self.new_folder())
        changed.start()
        self.addCleanup(changed.stop)

    def new_folder(self):
        # Markdown escapes a final _, which random names have now and then.
        holder = tempfile.TemporaryDirectory(suffix="_")
        self.addCleanup(holder.cleanup)
        return holder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def text(self, name):
        """What a file has, with the ends of its lines as they are."""
        with open(self.path(name), encoding="utf-8", newline="") as file:
            return file.read()

    def write(self, name, text):
        with open(self.path(name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode("utf-8"))
