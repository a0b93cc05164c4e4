"""Guards against a notebook that no longer runs, or shows what was true once:
python/example.ipynb is run by a kernel, as Jupyter does, and shows a frame or a figure
below each cell. With --store what it shows is written into it.
"""

import base64
import copy
import io
import json
import os
import re
import sys
import tempfile
import unittest
from unittest import mock

import attnbench
import nbformat
from documents import ROOT
from nbclient import NotebookClient
from PIL import Image

FOLDER = os.path.join(ROOT, "python")
NOTEBOOK = os.path.join(FOLDER, "example.ipynb")
TIME_LIMIT_S = 120
MOST_PICTURE_BYTES = 60_000


def run_headless(notebook):
    """Runs it in its folder, as Jupyter does, with its files in a temporary one. Gives the
    cells with code, which then have what they show and nothing of the run.
    """
    metadata = copy.deepcopy(notebook.metadata)
    with tempfile.TemporaryDirectory() as scratch:
        settings = {"PYTHONPATH": FOLDER, "PYTHONDONTWRITEBYTECODE": "1",
                    "IPYTHONDIR": scratch, "JUPYTER_RUNTIME_DIR": scratch,
                    # The debugger of the kernel would warn.
                    "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        with mock.patch.dict(os.environ, settings):
            NotebookClient(notebook, timeout=TIME_LIMIT_S, kernel_name="python3",
                           record_timing=False,
                           resources={"metadata": {"path": FOLDER}}).execute()
    notebook.metadata = metadata
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in cells:
        # matplotlib may say that it looks for fonts, once on a machine.
        cell.outputs = [output for output in cell.outputs if "data" in output]
    return cells


def texts_of(cell):
    """What a cell shows, but for pictures, whose letters depend on the machine."""
    return [{kind: text for kind, text in output["data"].items() if kind != "image/png"}
            for output in cell.outputs]


def store():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    for cell in run_headless(notebook):
        for output in cell.outputs:
            if "image/png" in output["data"]:
                output["data"]["image/png"] = smaller(output["data"]["image/png"])
    nbformat.write(notebook, NOTEBOOK)


def smaller(picture):
    """The same picture with a palette, in a third of the bytes."""
    made = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(picture))) as image:
        image.convert("RGB").quantize(64).save(made, "PNG", optimize=True)
    return base64.b64encode(made.getvalue()).decode()


class Notebook(unittest.TestCase):
    def test_every_cell_runs_and_shows_something(self):
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        nbformat.validate(notebook)
        stored = {cell.id: texts_of(cell) for cell in notebook.cells
                  if cell.cell_type == "code"}
        self.assert_pictures(notebook)
        cells = run_headless(notebook)
        self.assertEqual(stored, {cell.id: texts_of(cell) for cell in cells},
                         "store it again: /usr/bin/python3 tests/python/notebook_test.py --store")
        shown = {cell.id: [output["data"] for output in cell.outputs] for cell in cells}
        for name, outputs in shown.items():
            self.assertEqual(len(outputs), 1, (name, outputs))
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

    def assert_pictures(self, notebook):
        """Expects one, which is small, and no path of the machine that it was made on."""
        (figure,) = (cell for cell in notebook.cells if cell.id == "figure")
        (picture,) = (base64.b64decode(output["data"]["image/png"]) for output in figure.outputs)
        self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
        self.assertLess(len(picture), MOST_PICTURE_BYTES)
        self.assertNotIn(ROOT, nbformat.writes(notebook))


if __name__ == "__main__":
    if sys.argv[1:] == ["--store"]:
        store()
    else:
        unittest.main()
