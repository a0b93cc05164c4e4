"""Guards against a build without root, or a .deb, that lacks what the others have: the lists
of vcpkg.json and of the .deb say what CMake looks for and what scripts/setup.sh installs.
"""

import json
import re
import unittest

from documents import ROOT

# What CMake looks for -> the package of vcpkg; None comes with the compiler or CMake.
PORTS = {
    "Boost": "boost-math", "CLI11": "cli11", "Eigen3": "eigen3", "GTest": "gtest",
    "HWLOC": "hwloc", "LIBZIP": "libzip", "OPENBLAS": "openblas", "OpenMP": None, "PYTHON": None,
    "PkgConfig": None, "RANDOM123": "random123", "VALIJSON": "valijson",
    "benchmark": "benchmark", "fmt": "fmt", "hwy": "highway",
    "nlohmann_json": "nlohmann-json", "rapidcheck": "rapidcheck",
}
# The .deb does not need these.
OF_TESTS = {"python3-ipykernel", "python3-markdown-it", "python3-nbclient", "python3-pip",
            "python3-setuptools", "python3-venv", "python3-wheel"}


def read(name):
    with open(f"{ROOT}/{name}", encoding="utf-8") as file:
        return file.read()


def ports(*files):
    found = re.findall(r"^(?:find_(?:package|path|program)|pkg_check_modules)\((\w+)",
                       "".join(read(file) for file in files), re.MULTILINE)
    names = [PORTS[re.sub(r"_INCLUDE_DIR$", "", name)] for name in found]
    return sorted(name for name in names if name)


class ManifestTest(unittest.TestCase):
    def test_vcpkg_installs_what_cmake_looks_for(self):
        manifest = json.loads(read("vcpkg.json"))
        self.assertEqual(sorted(manifest["dependencies"]),
                         ports("CMakeLists.txt", "cmake/dependencies.cmake"))
        self.assertEqual(manifest["features"]["tests"]["dependencies"],
                         ports("tests/CMakeLists.txt"))

    def test_the_versions_are_one(self):
        (version,) = re.findall(r"^project\(attnbench VERSION (\S+)", read("CMakeLists.txt"),
                                re.MULTILINE)
        self.assertEqual(json.loads(read("vcpkg.json"))["version-string"], version)
        self.assertIn(f'\n__version__ = "{version}"', read("python/attnbench/__init__.py"))
        self.assertIn(f"find_package(attnbench {version} REQUIRED)",
                      read("docs/examples/wait_k/CMakeLists.txt"))

    def test_the_deb_needs_the_python_that_setup_installs(self):
        (line,) = re.findall(r'^  "(python3,.*)"\)$', read("CMakeLists.txt"), re.MULTILINE)
        (packages,) = re.findall(r"^packages=\((.*?)^\)", read("scripts/setup.sh"),
                                 re.MULTILINE | re.DOTALL)
        installed = {name for name in packages.split() if name.startswith("python3")}
        self.assertEqual(set(line.split(", ")), installed - OF_TESTS)


if __name__ == "__main__":
    unittest.main()
