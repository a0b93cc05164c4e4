"""Guards against a mechanism that can be added only in this tree: docs/examples/wait_k is
built against an installation, and must be listed, verified, swept and checked as any other,
and be in the operators' library where there is one.
"""

import json
import os
import shutil
import subprocess
import sys
import unittest

import attnbench
from documents import ROOT
from in_folder import InFolder

BUILD = os.path.dirname(os.path.abspath(os.environ["ATTNBENCH"]))
VERSION = attnbench.__version__
GRID = ("--mechanism", "soft,wait_k", "-T", "12", "-d", "8", "--repetitions", "3")


class OutOfTree(InFolder):
    def setUp(self):
        super().setUp()
        for component in ("Unspecified", "development"):
            subprocess.run(["cmake", "--install", BUILD, "--prefix", self.path("usr"),
                            "--component", component], check=True, capture_output=True)

    def change(self, name, old, new):
        with open(self.path(f"source/{name}"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count(old), 1)
        with open(self.path(f"source/{name}"), "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))

    def configure(self, version=VERSION):
        shutil.copytree(f"{ROOT}/docs/examples/wait_k", self.path("source"))
        self.change("CMakeLists.txt", VERSION, version)
        return subprocess.run(
            ["cmake", "-S", self.path("source"), "-B", self.path("build"), "-G", "Ninja",
             "-D", "CMAKE_PREFIX_PATH=" + self.path("usr")],
            capture_output=True, text=True, check=False)

    def build(self, *options):
        built = subprocess.run(["cmake", "--build", self.path("build"), *options],
                               capture_output=True, text=True, check=False)
        self.assertEqual(built.returncode, 0, built.stdout)

    def run_here(self, *arguments, status=0):
        done = subprocess.run([self.path("build/bin/attnbench-wait_k"), *arguments],
                              cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_the_example_is_a_mechanism_as_any_other(self):
        configured = self.configure()
        self.assertEqual(configured.returncode, 0, configured.stderr)
        self.build()

        (wait_k,) = (one for one in json.loads(self.run_here("list", "--json"))["mechanisms"]
                     if one["name"] == "wait_k")
        self.assertEqual({use["name"] for use in wait_k["uses"] if use["lacks"]}, set())
        self.assertIn("all passed", self.run_here(
            "verify", "--quick", "--mechanism", "wait_k", "--trials", "1000"))
        self.run_here("run-sweep", *GRID, "--option", "wait=1:5:2,=T", "-o", "r.json")
        with open(self.path("r.json"), encoding="utf-8") as file:
            cells = [one for one in json.load(file)["cells"] if one["mechanism"] == "wait_k"]
        self.assertEqual([(one["status"], one["options"]["wait"]) for one in cells],
                         [("ok", wait) for wait in (1, 3, 5, 12)])
        self.run_here("check", "r.json", "--baseline", "r.json")
        self.run_here("run-sweep", "--mechanism", "wait_k", "-T", "12", "-d", "8",
                      "--repetitions", "2", "--measure", "instructions", "-o", "c.json")
        self.assertIn("instructions: 0 of 1 count regressed",
                      self.run_here("check", "c.json", "--baseline", "c.json"))
        # Python is found in the installation.
        self.run_here("report", "r.json", "-o", "r.html")

        library = self.path("build/libattnbench_torch-wait_k.so")
        if os.environ.get("ATTNBENCH_TORCH_IS_BUILT"):
            subprocess.run(
                [sys.executable, "-c", "import torch, attnbench.torch as at\n"
                 "e = torch.zeros(1, 1, 2, 4)\n"
                 "print(at.energy_attention('wait_k', e, options={'wait': 1}))"],
                check=True, env={**os.environ, "ATTNBENCH_TORCH_LIBRARY": library})
            with open(library, "rb") as file:
                content = file.read()
            with open(library, "wb") as file:
                file.write(content.replace(f"of attnbench {VERSION} for".encode(),
                                           b"of attnbench 8.8.8 for"))
            done = subprocess.run(
                [sys.executable, "-c", "from attnbench.torch import library; library.load()"],
                check=False, capture_output=True, text=True,
                env={**os.environ, "ATTNBENCH_TORCH_LIBRARY": library})
            self.assertEqual(
                done.stderr.splitlines()[-1], f"ImportError: {library} is of attnbench 8.8.8, "
                f"but this package is of {VERSION}")

        # With all entries at once it gives what it gave before.
        self.change("wait_k.cc", "memory_.all().rows < wait_ + output_ && !closed_",
                    "memory_.all().rows < 1 && !closed_")
        self.build("--target", "attnbench-wait_k")
        self.assertIn(
            "output 1 of draw 0, sequence 1, made when it had asked for 1 of 12 entries: end 1, "
            "reference 3", self.run_here("run-sweep", *GRID, "-o", "early.json", status=1))

    def test_another_version_is_refused_when_it_is_configured(self):
        configured = self.configure("0.0.9")
        self.assertNotEqual(configured.returncode, 0)
        said = " ".join(configured.stderr.split())
        self.assertIn('compatible with requested version "0.0.9"', said)
        self.assertIn(f"version: {VERSION}", said)


if __name__ == "__main__":
    unittest.main()
