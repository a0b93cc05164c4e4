"""Guards against a wrong command line that is taken, or not explained, or leaves a file:
each row of refusals.txt gives exit code 2, one line on stderr with all of its words,
nothing on stdout, and no file.
"""

import concurrent.futures
import os
import pathlib
import shlex
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["ATTNBENCH"]
TABLE = pathlib.Path(__file__).with_name("refusals.txt")
ROOT = shlex.quote(str(TABLE.parents[2]))


def rows():
    """Gives (arguments, words) for each command of each row."""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        command, *said = line.split(" | ")
        commands, *others = shlex.split(command.replace("@", ROOT)) or [""]
        for name in commands.split(","):
            yield [*filter(None, [name]), *others], said


def refused(arguments):
    """Gives (exit code, stdout, stderr, files that are left)."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True,
                              text=True, timeout=120, check=False)
        return done.returncode, done.stdout, done.stderr, os.listdir(folder)


class Refusals(unittest.TestCase):
    def test_each_is_one_line_that_says_why_and_leaves_nothing(self):
        table = list(rows())
        self.assertGreater(len(table), 200)
        self.assertTrue(all(any(said) for _, said in table))
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            answers = list(threads.map(refused, (arguments for arguments, _ in table)))
        for (arguments, said), (code, out, error, left) in zip(table, answers):
            with self.subTest(shlex.join(arguments)):
                self.assertEqual((code, out, left), (2, "", []), error)
                self.assertRegex(error, r"\Aattnbench: .*\n\Z")
                for words in said:
                    self.assertIn(words, error)


if __name__ == "__main__":
    unittest.main()
