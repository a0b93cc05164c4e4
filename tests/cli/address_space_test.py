"""Every command under a small address space (ulimit -v).

Guards against a process that never ends: OpenBLAS's threads, and its first
product, ask for their buffers until they get them, and exit() waits for them.
"""
import os
import resource
import subprocess
import unittest

ATTNBENCH = os.environ["ATTNBENCH"]


def run(mib, *arguments):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))
    return subprocess.run([ATTNBENCH, *arguments], capture_output=True,
                          text=True, timeout=120, preexec_fn=limit,
                          check=False)


class AddressSpaceTest(unittest.TestCase):
    def test_every_command_ends_with_a_message_or_its_output(self):
        for mib in (100, 176, 240, 300, 400):
            for arguments in (["--help"], ["list"],
                              ["decode", "tests/golden/mocha-plain.json"]):
                with self.subTest(mib=mib, arguments=arguments):
                    done = run(mib, *arguments)
                    if "Sanitizer" in done.stderr:
                        self.skipTest("a sanitizer needs the address space")
                    self.assertIn(done.returncode, range(5), done.stderr)
                    if done.returncode != 0:
                        self.assertIn("attnbench: ", done.stderr)
                    self.assertTrue(done.stdout or done.stderr)

    def test_too_small_a_space_is_named(self):
        done = run(176, "list")
        if "Sanitizer" in done.stderr:
            self.skipTest("a sanitizer needs the address space")
        self.assertIn("raise ulimit -v", done.stderr)
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
