"""Guards against a wrong input that is not noticed, is noticed late, or leaves
half a result behind: every class of it must give exit code 2, one line on
stderr that names the place, nothing on stdout and no file."""

import json
import os
import re
import resource
import subprocess
import unittest

import jsonschema

from documents import strict
from in_folder import InFolder

PROGRAM = os.environ["ATTNBENCH"]
TINY = ["-T", "3", "-U", "2", "-d", "4", "--repetitions", "2"]


def run(*arguments, folder, **keywords):
    return subprocess.run(
        [PROGRAM, *arguments],
        cwd=folder,
        capture_output=True,
        timeout=120,
        check=False,
        **keywords,
    )


class CommandTest(InFolder):
    def run_here(self, *arguments, **keywords):
        return run(*arguments, folder=self.folder, **keywords)

    def expect_refused(self, arguments, *messages, files=(), **keywords):
        """Expects exit code 2, one line with all of `messages`, which it gives, and no
        file but `files`.
        """
        with self.subTest(arguments=arguments):
            done = self.run_here(*arguments, **keywords)
            error = done.stderr.decode()
            self.assertEqual(done.returncode, 2, error)
            self.assertEqual(done.stdout, b"")
            self.assertEqual(error.count("\n"), 1, error)
            self.assertTrue(error.startswith("attnbench: "), error)
            for message in messages:
                self.assertIn(message, error)
            self.assertEqual(sorted(os.listdir(self.folder)), sorted(files))
            return error

    def sweep(self, *arguments, **keywords):
        return self.run_here(
            "run-sweep", *TINY, "-o", "r.json", *arguments, **keywords
        )

    def read(self, name="r.json"):
        with open(self.path(name), encoding="utf-8") as file:
            return strict(file.read())


class WrongInput(CommandTest):
    def test_a_message_repeats_no_more_than_a_line_of_what_was_given(self):
        long = "\u20ac" * 10_000
        self.write("key.json", json.dumps({"kind": "sweep", "schema_version": 1, long: 1}))
        self.write("value.json", json.dumps({"kind": long}))
        self.write("e.json", json.dumps({"name": "e", "axes": {"mode": long}}))
        for arguments in (
            [long], ["--" + long], ["list", long], ["list", "--schema=" + long],
            ["show", long], ["show", "key.json"], ["show", "value.json"],
            ["run-sweep", "e.json", "-o", "r.json"],
            *(["run-sweep", *TINY, option, long, "-o", "r.json"] for option in (
                "--seed", "--shard", "--mechanism", "--option", "--workload",
                "--trials", "--cell-limit", "--peer")),
            ["run-sweep", *TINY, "--option", "threshold=" + long, "-o", "r.json"],
            ["run-sweep", *TINY, "--workload", "file:" + long, "-o", "r.json"],
            ["run-sweep", "-T", long, "-o", "r.json"],
            ["run-sweep", "-T", f"1:{long}:1", "-o", "r.json"],
            ["run-sweep", *TINY, "-o", long], ["compare", "a", "b", "--level", long],
            ["expect", long], ["decode", long], ["draw", long], ["report", long, "-o", "x"],
        ):
            error = self.expect_refused(arguments, " characters)...",
                                        files=["e.json", "key.json", "value.json"])
            self.assertLess(len(error), 1000, arguments[:3])
            self.assertNotIn("\ufffd", error)

    def test_a_folder_of_experiments_may_have_anything_in_it(self):
        os.mkdir(self.path("experiments"))
        os.symlink("l.json", self.path("experiments/l.json"))
        os.mkdir(self.path("experiments/folder.json"))
        self.write("experiments/mine.json", "{}")
        done = self.run_here("list", "--json")
        self.assertEqual(json.loads(done.stdout)["experiments"], ["mine"])
        with open(os.fsencode(self.path("experiments/")) + b"a\xff.json", "w"):
            pass
        for arguments in (["list"], ["list", "--json"]):
            self.expect_refused(
                arguments, "is not UTF-8 text", files=["experiments"]
            )

    def test_text_that_would_break_the_line_or_the_json(self):
        self.expect_refused(
            ["run-sweep", "--energy", "a\nb\x1b[1m", "-o", "r"], "unknown energy"
        )
        self.expect_refused(
            ["run-sweep", "--workload", b"file:\xff", "-o", "r"], "not UTF-8"
        )

    def test_a_file_that_is_there_stays(self):
        self.write("old.json", "kept")
        self.expect_refused(
            ["run-sweep", *TINY, "-o", "old.json"],
            "old.json: is there already; --force",
            files=["old.json"],
        )
        with open(self.path("old.json"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "kept")

    def test_a_full_disk(self):
        def limit():
            # This is less than the first line of any journal and more than
            # clang's OpenMP runtime shares.
            resource.setrlimit(resource.RLIMIT_FSIZE, (1280, 1280))

        done = self.sweep(preexec_fn=limit)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(b"r.json.journal: cannot be written", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [PROGRAM, "list", "--schema"],
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(b"standard output", done.stderr)


class Sweep(CommandTest):
    def schema(self):
        done = self.run_here("list", "--schema")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_tiny_sweep_of_everything_gives_a_valid_result(self):
        done = self.sweep("--seed", "5")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = self.read()
        jsonschema.Draft7Validator.check_schema(self.schema())
        jsonschema.Draft7Validator(self.schema()).validate(document)
        self.assertEqual(os.listdir(self.folder), ["r.json"])
        self.assertEqual(document["context"]["seed"], 5)
        self.assertIn("run-sweep -T 3 -U 2", document["context"]["command"])
        listed = json.loads(self.run_here("list", "--json").stdout)
        self.assertEqual(
            [cell["mechanism"] for cell in document["cells"]],
            [mechanism["name"] for mechanism in listed["mechanisms"]],
        )
        for cell in document["cells"]:
            self.assertEqual(cell["status"], "ok", cell["message"])
            self.assertEqual(len(cell["samples_ns"]), 2)
        self.assertIn(b"[1/1] T=3 U=2 d=4 B=1 workload=uniform", done.stderr)
        self.assertNotIn(b"\r", done.stderr)

    def test_options_and_lists_are_crossed(self):
        done = self.sweep(
            "--mechanism", "soft,mocha", "-w", "2,inf", "-j", "1,2",
            "--option", "threshold=0.25,0.75", "--workload", "uniform,planted",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        cells = self.read()["cells"]
        self.assertEqual(len(cells), 2 * (2 + 2 * 2 * 2))
        keys = {
            json.dumps([cell[key] for key in ("mechanism", "chunk_width",
                                              "threads", "workload",
                                              "options")], sort_keys=True)
            for cell in cells
        }
        self.assertEqual(len(keys), len(cells))
        jsonschema.Draft7Validator(self.schema()).validate(self.read())

    def test_threads_beyond_the_cores_are_skipped(self):
        done = self.sweep("--mechanism", "soft", "-j", "1,1024")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = self.read()
        cores = document["context"]["cores"]
        self.assertEqual(
            [(cell["threads"], cell["status"]) for cell in document["cells"]],
            [(1, "ok"), (1024, "ok" if cores >= 1024 else "skipped")],
        )
        if cores < 1024:
            self.assertIn(f"this machine has {cores} core",
                          document["cells"][1]["message"])
            self.assertEqual(
                [one["threads"] for one in document["context"]["limits"]], [1])

    def test_what_cannot_be_done_is_skipped_and_the_rest_goes_on(self):
        done = self.sweep(
            "--mechanism", "soft,monotonic", "--schedule", "teacher_forced"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        document = self.read()
        jsonschema.Draft7Validator(self.schema()).validate(document)
        self.assertEqual(
            [cell["status"] for cell in document["cells"]], ["ok", "skipped"]
        )
        self.assertIn("teacher_forced", document["cells"][1]["message"])

    def test_every_mechanism_decodes_and_trains_in_every_scope(self):
        done = self.sweep(
            "--mode", "decode,expect,gradient", "--scope", "full,attention"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        document = self.read()
        jsonschema.Draft7Validator(self.schema()).validate(document)
        ways = {}
        for cell in document["cells"]:
            way = (cell["mode"], cell["scope"])
            decoded_apart = way == ("decode", "attention")
            self.assertEqual(
                cell["status"], "skipped" if decoded_apart else "ok",
                (cell["mechanism"], way, cell["message"]),
            )
            ways.setdefault(way, []).append(cell["mechanism"])
        self.assertEqual(len(ways), 6)
        for mechanisms in ways.values():
            self.assertGreaterEqual(len(mechanisms), 5)

    def test_a_cell_without_memory_fails_and_the_rest_goes_on(self):
        done = self.run_here(
            "run-sweep", "--mechanism", "soft", "-T", "1000000000000,3", "-U",
            "2", "-d", "4", "--repetitions", "2", "-o", "r.json",
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        document = self.read()
        jsonschema.Draft7Validator(self.schema()).validate(document)
        statuses = [cell["status"] for cell in document["cells"]]
        self.assertEqual(statuses, ["error", "ok"])
        self.assertIn(b"cells failed; the first: soft: ", done.stderr)

    def test_a_terminal_gets_a_bar_that_is_redrawn_in_place(self):
        reader, writer = os.openpty()
        self.addCleanup(os.close, reader)
        done = subprocess.run(
            [PROGRAM, "run-sweep", *TINY, "-o", "r.json"],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=writer,
            check=False,
        )
        os.close(writer)
        self.assertEqual(done.returncode, 0)
        shown = os.read(reader, 1 << 16).decode()
        self.assertIn("100 %  [1/1]", shown)
        self.assertEqual(shown.count("\n"), 1)
        for drawn in shown.split("\r"):
            self.assertLess(len(drawn), 80)

    def test_force_replaces_a_result(self):
        self.write("r.json", "old")
        self.assertEqual(self.sweep("--mechanism", "soft").returncode, 2)
        done = self.sweep("--mechanism", "soft", "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read()["kind"], "sweep")

    def test_the_command_line_replaces_an_experiment(self):
        self.write(
            "e.json",
            json.dumps(
                {
                    "name": "e",
                    "axes": {"memory_length": [5, 6], "dim": 4},
                    "alternatives": [
                        {"mechanism": "soft"},
                        {"mechanism": "mocha", "chunk_width": [2, 3]},
                    ],
                    "profiles": {"quick": {"axes": {"memory_length": 5}}},
                }
            ),
        )
        for arguments, points, cells in [
            ([], 2, 6),
            (["--quick"], 1, 3),
            (["-T", "1,2,3"], 3, 9),
            (["-w", "8"], 2, 4),
            (["--mechanism", "mocha,memory"], 2, 6),
        ]:
            done = self.run_here(
                "run-sweep", "e.json", *arguments, "--dry-run", "--json"
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            shown = json.loads(done.stdout)
            self.assertEqual(
                (shown["num_points"], shown["num_cells"]), (points, cells)
            )
        self.assertEqual(os.listdir(self.folder), ["e.json"])

    def test_a_dry_run_shows_points_and_measures_nothing(self):
        done = self.run_here("run-sweep", "-T", "10:30:10", "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.decode().splitlines()
        self.assertEqual(len(lines), 4)
        self.assertIn("3 points", lines[0])
        self.assertIn("T=10 U=10 d=256", lines[1])
        self.assertEqual(os.listdir(self.folder), [])

    def test_the_program_is_run_sweep_under_that_name(self):
        link = self.path("run-sweep")
        os.symlink(os.path.abspath(PROGRAM), link)
        done = subprocess.run(
            [link, "-T", "4", "--dry-run"], capture_output=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"T=4 U=4", done.stdout)


class Listing(CommandTest):
    def test_help_is_good_and_gives_an_example_for_every_option(self):
        def help_of(*arguments):
            done = self.run_here(*arguments)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(done.stderr, b"")
            return done.stdout.decode()

        listed = help_of("-h").partition("Subcommands:\n")[2]
        commands = re.findall(r"^  (\S+)", listed, re.MULTILINE)
        self.assertGreaterEqual(len(commands), 6)
        for command in commands:
            lines = help_of(command, "--help").partition("Options:\n")[2]
            # An option begins two columns in; deeper lines are its text.
            options = re.split(r"^  (?=-)", lines, flags=re.MULTILINE)[1:]
            self.assertIn("-h,--help", options[0])
            self.assertGreater(len(options), 0 if command == "help" else 1)
            for option in options[1:]:
                self.assertIn("e.g. ", option, command)
        text = help_of("run-sweep", "--help")
        axes = json.loads(self.run_here("list", "--json").stdout)["axes"]
        for axis in axes:
            self.assertIn("--" + axis["name"].replace("_", "-"), text)
        self.assertGreaterEqual(text.count("e.g."), len(axes) + 10)
        for wrong in ("x", ""):
            self.assertEqual(help_of("run-sweep", "--trials", wrong, "--help"), text)
            self.assertEqual(help_of("--help", "run-sweep", "--trials", wrong), text)

    def test_an_option_of_a_mechanism_is_listed_with_what_is_allowed(self):
        text = self.run_here("list").stdout.decode()
        for option, allowed in (("threshold=0.5", "(a number from 0 to 1)"),
                                ("max_length=0", "(a whole number from 0 to "),
                                ("strict=false", "(true or false)")):
            self.assertRegex(text, f"--option {option}  .*{re.escape(allowed)}")

    def test_every_format_names_every_axis(self):
        axes = json.loads(self.run_here("list", "--json").stdout)["axes"]
        self.assertGreaterEqual(len(axes), 15)
        for arguments in ([], ["--markdown"], ["--schema"]):
            text = self.run_here("list", *arguments).stdout.decode()
            for axis in axes:
                self.assertIn(axis["name"], text)

    CASE = (
        '{"mechanism": "mocha", "inputs": {"p_choose": [[0.1, 0.9, 0.2]],'
        ' "chunk_energies": [[1, 2, 3]], "memory": [[1, 2], [3, 4], [5, 6]]}}'
    )

    def test_a_case_file_says_its_lengths_itself(self):
        self.write("case.json", self.CASE)
        done = self.run_here(
            "run-sweep", "--mechanism", "mocha", "--repetitions", "2",
            "--workload", "file:case.json", "-o", "r.json",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        (cell,) = self.read()["cells"]
        self.assertEqual(cell["status"], "ok")
        lengths = [cell[k] for k in ("memory_length", "output_length", "dim")]
        self.assertEqual(lengths, [3, 1, 2])

    def test_a_sweep_that_measures_nothing_is_no_success(self):
        self.write("case.json", self.CASE)
        done = self.run_here(
            "run-sweep", "--mechanism", "mocha", "-T", "9",
            "--workload", "file:case.json", "-o", "r.json",
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"every cell was skipped", done.stderr)
        self.assertIn(b"T = 3", done.stderr)

    def test_experiments_are_those_of_the_folder(self):
        os.mkdir(self.path("experiments"))
        self.write("experiments/b.json", "{}")
        self.write("experiments/a.json", "{}")
        self.write("experiments/claims.json", "{}")
        self.write("experiments/notes.txt", "")
        listed = json.loads(self.run_here("list", "--json").stdout)
        self.assertEqual(listed["experiments"], ["a", "b"])


if __name__ == "__main__":
    unittest.main()
