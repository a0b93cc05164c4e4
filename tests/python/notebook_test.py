"""Guards against a notebook that no longer runs: python/example.ipynb is run by a kernel,
as Jupyter does, and shows a frame or a figure below each cell.
"""

import base64
import json
import os
import re
import tempfile
import unittest
from unittest import mock

import attnbench
import nbformat
from documents import ROOT
from nbclient import NotebookClient

FOLDER = os.path.join(ROOT, "python")
TIME_LIMIT_S = 120


class Notebook(unittest.TestCase):
    def test_every_cell_runs_and_shows_something(self):
        notebook = nbformat.read(os.path.join(FOLDER, "example.ipynb"), as_version=4)
        nbformat.validate(notebook)
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        self.assertFalse(any(cell.outputs for cell in cells), "has outputs: clear them")
        self.run_headless(notebook)
        # matplotlib may say that it looks for fonts, once on a machine.
        shown = {cell.id: [output["data"] for output in cell.outputs if "data" in output]
                 for cell in cells}
        for name, outputs in shown.items():
            self.assertEqual(len(outputs), 1, (name, outputs))
        picture = base64.b64decode(shown["figure"][0]["image/png"])
        self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
        self.assertIn("text/html", shown["load"][0])
        faster = attnbench.speedups(os.path.join(ROOT, "results", "claims", "figure3.json"))
        at_100 = faster[faster["memory_length"] == 100]
        for speedup in at_100["speedup"].round(2):
            self.assertIn(f"{speedup:.2f}", shown["speedups"][0]["text/plain"])
        counted = shown["claims"][0]["text/plain"]
        self.assertIn("holds", counted)
        with open(os.path.join(ROOT, "results", "claims.json"), encoding="utf-8") as file:
            count = len(json.load(file)["claims"])
        self.assertEqual(sum(map(int, re.findall(r" (\d+)$", counted, re.MULTILINE))), count)

    def run_headless(self, notebook):
        """Runs it in its folder, as Jupyter does, with its files in a temporary one."""
        with tempfile.TemporaryDirectory() as scratch:
            settings = {"PYTHONPATH": FOLDER, "PYTHONDONTWRITEBYTECODE": "1",
                        "IPYTHONDIR": scratch, "JUPYTER_RUNTIME_DIR": scratch,
                        # The debugger of the kernel would warn.
                        "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
            with mock.patch.dict(os.environ, settings):
                NotebookClient(notebook, timeout=TIME_LIMIT_S, kernel_name="python3",
                               resources={"metadata": {"path": FOLDER}}).execute()


if __name__ == "__main__":
    unittest.main()
