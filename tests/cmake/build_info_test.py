"""Guards against results that name a commit or flags other than those that made the
program: git's answer for another repository, edits that git was told not to see, flags
of another configuration or without those that CMake adds.
"""

import json
import os
import re
import subprocess
import unittest
import unittest.mock

from documents import ROOT
from in_folder import InFolder

COMMAND = ('ccache /usr/bin/c++ -DHWY_SHARED_DEFINE -DCMAKE_INTDIR=\\"Release\\" -I/a -isystem '
           '/b -DTEXT="a b" -O3 -Wall -Wl,-O1 -Werror -fdiagnostics-color=always -flto=auto '
           '-std=c++20 -o CMakeFiles/attnbench_kernels.dir/kernels.cc.o -c /a/kernels.cc')


class BuildInfoTest(InFolder):
    def setUp(self):
        super().setUp()
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith("GIT_") and not name.endswith("FLAGS")}
        # Settings of who runs this test do not count.
        clean.update(HOME=self.new_folder(), GIT_CONFIG_NOSYSTEM="1")
        changed = unittest.mock.patch.dict(os.environ, clean, clear=True)
        changed.start()
        self.addCleanup(changed.stop)

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def git(self, folder, *words):
        return subprocess.run(
            ["git", "-C", self.path(folder), "-c", "user.name=a", "-c", "user.email=a@b",
             *words], check=True, capture_output=True, text=True).stdout.strip()

    def repository(self, folder="sources", **files):
        """Makes a repository of one commit, which it gives."""
        for name, text in {"code.cc": "1", "page.md": "1", "results/a.json": "1",
                           "results/effects.json": "1"}.items():
            self.write(f"{folder}/{name}", text)
        self.git(folder, "init", "--quiet")
        self.git(folder, "add", ".")
        self.git(folder, "commit", "--quiet", "--message=one " + folder)
        return self.git(folder, "rev-parse", "HEAD")

    def run_script(self, folder="sources", command=COMMAND):
        self.write("compile_commands.json", json.dumps(
            [{"directory": "/a", "command": text, "file": "/a/kernels.cc"}
             for text in ("c++ -O0 -o CMakeFiles/attnbench_other.dir/a.o -c /a/a.cc", command)],
            indent=0))
        return subprocess.run(
            ["cmake", f"-DSOURCE_DIR={self.path(folder)}", f"-DOUTPUT={self.path('info.h')}",
             f"-DCOMMANDS={self.path('compile_commands.json')}", "-DOBJECTS=attnbench_kernels.dir",
             "-DCOMPILER=/usr/bin/c++", "-DBUILD_TYPE=Release", "-DVERSION=1",
             "-DLIBRARIES=eigen= fmt=9", "-P", os.path.join(ROOT, "cmake/build_info.cmake")],
            capture_output=True, text=True, check=False)

    def facts(self, path):
        with open(path, encoding="utf-8") as file:
            return dict(re.findall(r"^#define ATTNBENCH_(\w+) (.*)$", file.read(), re.MULTILINE))

    def state(self, folder="sources"):
        """Gives commit and "yes", "no" or "unknown", and what the script said."""
        done = self.run_script(folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        facts = self.facts(self.path("info.h"))
        return (facts["COMMIT"].strip('"'), facts["DIRTY"].strip('"')), done.stderr


class Commit(BuildInfoTest):
    def test_edited_is_what_differs_from_the_commit_and_is_built(self):
        commit = self.repository()
        self.assertEqual(self.state(), ((commit, "no"), ""))
        for name, edited in (("page.md", "no"), ("results/a.json", "no"), ("more.cc", "yes"),
                             ("code.cc", "yes"), ("results/effects.json", "yes")):
            with self.subTest(name):
                self.write(f"sources/{name}", "2")
                self.assertEqual(self.state(), ((commit, edited), ""))
                self.git("sources", "reset", "--quiet", "--hard")
                self.git("sources", "clean", "--quiet", "--force")

    def test_an_archive_inside_another_repository_has_no_commit(self):
        self.repository("other")
        self.write("other/sources/code.cc", "1")
        for ignored in ("", "/sources\n"):
            with self.subTest(ignored=ignored):
                self.write("other/.gitignore", ignored)
                state, said = self.state("other/sources")
                self.assertEqual(state, ("unknown", "unknown"))
                self.assertIn(f"of another repository, {self.path('other')}", said)

    def test_variables_of_a_hook_name_no_other_repository(self):
        commit = self.repository()
        self.repository("other")
        hook = {"GIT_DIR": self.path("other/.git"), "GIT_WORK_TREE": self.path("other"),
                "GIT_INDEX_FILE": self.path("other/.git/index"), "GIT_LITERAL_PATHSPECS": "1"}
        self.write("sources/page.md", "2")
        with unittest.mock.patch.dict(os.environ, hook):
            self.assertEqual(self.state(), ((commit, "no"), ""))

    def test_files_that_git_was_told_not_to_look_at_are_looked_at(self):
        for flag in ("--assume-unchanged", "--skip-worktree"):
            with self.subTest(flag):
                self.folder = self.new_folder()
                commit = self.repository()
                self.git("sources", "update-index", flag, "code.cc")
                self.assertEqual(self.state(), ((commit, "no"), ""))
                self.write("sources/code.cc", "2")
                self.assertEqual(self.git("sources", "status", "--porcelain"), "")
                self.assertEqual(self.state(), ((commit, "yes"), ""))

    def test_a_setting_does_not_hide_files_that_are_new(self):
        commit = self.repository()
        self.git("sources", "config", "status.showUntrackedFiles", "no")
        self.write("sources/more.cc", "1")
        self.assertEqual(self.git("sources", "status", "--porcelain"), "")
        self.assertEqual(self.state(), ((commit, "yes"), ""))

    def test_nothing_in_the_repository_is_written_or_run(self):
        self.repository()
        touch = self.write("touch", f"#!/bin/sh\ntouch {self.path('ran')}\n")
        os.chmod(touch, 0o755)
        self.git("sources", "config", "core.splitIndex", "true")
        self.git("sources", "config", "core.fsmonitor", touch)
        self.git("sources", "config", "core.hooksPath", self.path("hooks"))
        os.mkdir(self.path("hooks"))
        os.symlink(touch, self.path("hooks/post-index-change"))
        os.utime(self.path("sources/code.cc"), (1, 1))  # git status would note this
        before = self.bytes_of("sources/.git")
        self.state()
        self.assertEqual(self.bytes_of("sources/.git"), before)
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assertEqual(os.listdir(os.environ["TMPDIR"]), [])

    def bytes_of(self, folder):
        found = {}
        for place, _, names in os.walk(self.path(folder)):
            for name in names:
                with open(os.path.join(place, name), "rb") as file:
                    found[os.path.join(place, name)] = file.read()
        return found

    def test_the_reason_of_git_is_told(self):
        self.write("sources/code.cc", "1")
        state, said = self.state()
        self.assertEqual(state, ("unknown", "unknown"))
        # Temporary files may lie in a build folder, and so in a repository.
        self.assertRegex(said, "not a git repository|of another repository")
        self.repository()
        words = "fatal: detected dubious ownership; git config --global --add safe.directory /a"
        os.chmod(self.write("bin/git", f"#!/bin/sh\necho '{words}' >&2\nexit 128\n"), 0o755)
        with unittest.mock.patch.dict(os.environ, PATH=f"{self.path('bin')}:{os.environ['PATH']}"):
            state, said = self.state()
        self.assertEqual(state, ("unknown", "unknown"))
        self.assertIn(words, " ".join(said.split()))

    def test_settings_in_variables_may_say_that_a_folder_is_safe(self):
        commit = self.repository()
        kept = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
                "GIT_CONFIG_VALUE_0": "*"}
        real = subprocess.run(["sh", "-c", "command -v git"], capture_output=True, text=True,
                              check=True).stdout.strip()
        os.chmod(self.write("bin/git", '#!/bin/sh\n[ "$GIT_CONFIG_VALUE_0" = "*" ] || exit 128\n'
                            f'exec {real} "$@"\n'), 0o755)
        path = f"{self.path('bin')}:{os.environ['PATH']}"
        with unittest.mock.patch.dict(os.environ, kept, PATH=path):
            self.assertEqual(self.state(), ((commit, "no"), ""))

    def test_scripts_of_experiments_have_the_same_commit(self):
        code = ("import measured; context = measured.context('a', [], {});"
                "print(context['commit'], context['dirty'])")
        other = self.repository("other")
        with unittest.mock.patch.dict(os.environ, GIT_DIR=self.path("other/.git"),
                                      PYTHONPATH=os.path.join(ROOT, "experiments")):
            done = subprocess.run(["/usr/bin/python3", "-c", code], capture_output=True, text=True,
                                  check=True)
        os.environ.pop("GIT_DIR", None)
        told = subprocess.run(["sh", os.path.join(ROOT, "cmake/commit.sh"), ROOT], check=True,
                              capture_output=True, text=True).stdout.split()
        self.assertNotIn(other, done.stdout)
        self.assertEqual(done.stdout.split(),
                         [told[0], {"yes": "True", "no": "False"}.get(told[1], "None")])


class Flags(BuildInfoTest):
    def test_flags_are_those_of_the_command_without_paths_and_warnings(self):
        self.run_script()
        facts = self.facts(self.path("info.h"))
        self.assertEqual(facts["FLAGS"], 'R"flags(-DHWY_SHARED_DEFINE "-DTEXT=a b" -O3 -Wl,-O1 '
                                         '-flto=auto -std=c++20)flags"')
        self.assertEqual(facts["LIBRARIES"].strip(), '{"eigen", "unknown"}, {"fmt", "9"},')

    def test_a_build_without_objects_of_kernels_is_refused(self):
        done = self.run_script(command="c++ -O0 -o CMakeFiles/a.dir/a.o -c /a/a.cc")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("has no object of attnbench_kernels.dir", " ".join(done.stderr.split()))

    def test_each_configuration_has_its_own(self):
        build = self.path("build")
        subprocess.run(
            ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja Multi-Config",
             "-DATTNBENCH_TESTS=OFF", "-DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON",
             "-DCMAKE_CONFIGURATION_TYPES=Debug;Release", "-DCMAKE_CXX_FLAGS=-DOF_THE_USER",
             "-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON", "-DCMAKE_POSITION_INDEPENDENT_CODE=ON"],
            check=True, capture_output=True)
        for configuration, flags in (("Debug", "-g"), ("Release", "-O3 -DNDEBUG")):
            with self.subTest(configuration):
                subprocess.run(["cmake", "--build", build, "--config", configuration, "--target",
                                "attnbench_build_info"], check=True, capture_output=True)
                facts = self.facts(os.path.join(build, "generated", configuration, "build_info.h"))
                self.assertEqual(facts["BUILD_TYPE"], f'"{configuration}"')
                self.assertRegex(facts["FLAGS"], f"-DOF_THE_USER {flags} -flto.* -fPIC ")
                self.assertIn("-ffp-contract=off -std=c++20", facts["FLAGS"])
                # The link lies beside the program.
                commands = subprocess.run(
                    ["ninja", "-C", build, "-f", f"build-{configuration}.ninja", "-t", "commands",
                     f"{configuration}/attnbench"], check=True, capture_output=True, text=True)
                self.assertRegex(commands.stdout, f"cd {build}/{configuration} && "
                                                  r"\S+ -E create_symlink attnbench run-sweep")


if __name__ == "__main__":
    unittest.main()
