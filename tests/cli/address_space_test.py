"""Every command under a small address space (ulimit -v).

Guards against a process that never ends: OpenBLAS's threads, and its first
product, ask for their buffers until they get them, and exit() waits for them.
And against measuring the machine with more memory than a small sweep needs.
"""
import json
import os
import resource
import subprocess
import tempfile
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

    def test_a_small_sweep_has_room_for_what_measures_the_machine(self):
        # The program itself takes 400 MiB where it has threads of OpenBLAS.
        for mib in (700, 900, 1200):
            for l3_mib in (32, 260, 480):
                with self.subTest(mib=mib, l3_mib=l3_mib), tempfile.TemporaryDirectory() as folder:
                    os.environ["HWLOC_SYNTHETIC"] = (
                        f"l3:1(size={l3_mib << 20}) l2:1(size=2097152) l1d:1(size=49152) pu:2")
                    self.addCleanup(os.environ.pop, "HWLOC_SYNTHETIC", None)
                    # A thread of OpenBLAS takes address space for every core.
                    os.environ["OPENBLAS_NUM_THREADS"] = "1"
                    self.addCleanup(os.environ.pop, "OPENBLAS_NUM_THREADS", None)
                    output = os.path.join(folder, "r.json")
                    done = run(mib, "run-sweep", "--mechanism", "soft", "-T", "8",
                               "--repetitions", "2", "-o", output)
                    if "Sanitizer" in done.stderr:
                        self.skipTest("a sanitizer needs the address space")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    with open(output, encoding="utf-8") as file:
                        self.assertEqual(json.load(file)["cells"][0]["status"], "ok")


if __name__ == "__main__":
    unittest.main()
