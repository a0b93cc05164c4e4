"""Guards against a system that lacks something, told as something else or late: a clock
that is too coarse or goes back, no /proc, no room for one more process. Each ends in one
line with the reason, before anything is measured, and leaves no file.
"""

import os
import resource
import shutil
import subprocess
import unittest

from in_folder import InFolder

PROGRAM = os.environ["ATTNBENCH"]
ODD_SYSTEM = os.environ["ODD_SYSTEM"]
TINY = ["run-sweep", "--mechanism", "soft", "-T", "8", "-U", "2", "-d", "4",
        "--repetitions", "2", "-o", "r.json"]
NOBODY = 65534


class OddSystem(InFolder):
    def expect_refused(self, *words, arguments=TINY, before=(), lines=1, **keywords):
        done = subprocess.run([*before, PROGRAM, *arguments], cwd=self.folder, text=True,
                              capture_output=True, timeout=120, check=False, **keywords)
        self.assertEqual(done.returncode, 2, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(done.stderr.count("\n"), lines, done.stderr)
        self.assertNotIn("internal", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def odd(self, **variables):
        return {"env": {**os.environ, "LD_PRELOAD": ODD_SYSTEM, **variables}}

    def test_a_clock_that_cannot_time_anything_is_named_with_its_step(self):
        roofline = ["roofline", "--quick", "-j", "1", "-o", "r.json"]
        for step in ("10000", "100000", "1000000"):
            for arguments in (TINY, roofline):
                self.expect_refused("the steady clock (CLOCK_MONOTONIC): moves in steps of "
                                    f"{step} ns; those above 1000 ns", arguments=arguments,
                                    **self.odd(ODD_CLOCK_STEP_NS=step))

    def test_a_clock_that_goes_back_is_named(self):
        self.expect_refused("the steady clock (CLOCK_MONOTONIC): went back by",
                            **self.odd(ODD_CLOCK_BACK="1"))

    def test_a_clock_of_one_microsecond_gives_a_result_that_its_reader_takes(self):
        done = subprocess.run([PROGRAM, *TINY], cwd=self.folder, text=True, capture_output=True,
                              check=False, **self.odd(ODD_CLOCK_STEP_NS="1000"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("nan", done.stdout)
        subprocess.run([PROGRAM, "show", "r.json"], cwd=self.folder, check=True,
                       capture_output=True)

    def test_a_plan_needs_the_clock_only_where_it_measures(self):
        plan = ["run-sweep", "--mechanism", "soft", "-T", "8000", "--dry-run"]
        self.expect_refused("the steady clock", arguments=plan,
                            **self.odd(ODD_CLOCK_STEP_NS="10000"))
        subprocess.run([PROGRAM, *TINY, "--dry-run"], cwd=self.folder, check=True,
                       capture_output=True, **self.odd(ODD_CLOCK_STEP_NS="10000"))

    def test_each_first_step_of_a_worker_that_fails_is_named(self):
        for call in ("memfd_create", "pipe2", "socketpair"):
            self.expect_refused(f"could not be started: {call}: Too many open files",
                                lines=2, **self.odd(ODD_FAIL=call))
        self.expect_refused("could not be started: /proc/self/exe: Resource temporarily "
                            "unavailable (ulimit -u)", lines=2,
                            **self.odd(ODD_FAIL="posix_spawn"))

    def test_without_proc_it_says_so(self):
        hide = ["unshare", "--mount", "--map-root-user", "sh", "-c",
                'mount -t tmpfs none /proc && exec "$@"', "sh"]
        if subprocess.run([*hide, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("mounts cannot be changed here")
        self.expect_refused("/proc/self/exe: cannot be run", "mount /proc", before=hide)

    @unittest.skipIf(os.getuid() != 0, "root alone can become somebody else")
    def test_a_user_who_may_start_no_thread_is_told_so_and_not_that_he_interrupted(self):
        program = os.path.join(self.new_folder(), "attnbench")
        shutil.copy(PROGRAM, program)
        for path in (self.folder, os.path.dirname(program), os.environ["TMPDIR"]):
            os.chmod(path, 0o777)

        def become_nobody():
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
            os.setgid(NOBODY)
            os.setuid(NOBODY)

        done = subprocess.run([program, *TINY], cwd=self.folder, text=True, capture_output=True,
                              check=False, preexec_fn=become_nobody)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("(ulimit -u)", done.stderr.splitlines()[-1])
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
