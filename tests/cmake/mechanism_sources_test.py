"""Guards against a line of the registry without its files, which CMake told as three errors
about targets of ours.
"""

import os
import subprocess
import unittest

from documents import ROOT
from in_folder import InFolder


class MechanismSources(InFolder):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("mechanisms/runmean"))
        self.write("CMakeLists.txt",
                   "cmake_minimum_required(VERSION 3.25)\nproject(some NONE)\n"
                   f"include({ROOT}/cmake/mechanism_sources.cmake)\n"
                   'message(STATUS "${mechanism_sources} ${reference_sources}")\n')
        self.write("mechanisms/registry.cc",
                   "#define ALL(MECHANISM) \\\n  MECHANISM(runmean)\n")

    def write(self, name, text=""):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def configure(self):
        done = subprocess.run(["cmake", "-S", self.folder, "-B", self.path("build"), "-G", "Ninja"],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, " ".join(done.stderr.split())

    def test_the_file_that_is_missing_is_named_with_its_line_of_the_registry(self):
        for name in ("runmean.cc", "runmean_reference.cc"):
            status, _, said = self.configure()
            self.assertEqual(status, 1)
            self.assertEqual(said.count("CMake Error"), 1, said)
            self.assertIn("mechanisms/registry.cc lists runmean, but "
                          f"mechanisms/runmean/{name} is missing: was the copied file renamed?",
                          said)
            self.write("mechanisms/runmean/" + name)
        status, shown, said = self.configure()
        self.assertEqual((status, said), (0, ""))
        self.assertIn("mechanisms/runmean/runmean.cc mechanisms/runmean/runmean_reference.cc",
                      shown)


if __name__ == "__main__":
    unittest.main()
