"""Guards against results that take a page fault for every 4 KiB, and against a pool of their
memory that hands out the same memory twice, keeps more than its limit, grows, or stops where
threads, forks or tensors outlive what it expects.
"""

import os
import random
import resource
import signal
import subprocess
import sys
import threading
import unittest

import torch

import attnbench.torch as at

MIB = 1 << 20
VARIABLE = "ATTNBENCH_TORCH_POOL_MIB"
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage"
BEGINNING = """
import os, resource, torch
from attnbench.torch import monotonic_attention, release
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
def alpha(mib):
    return monotonic_attention(p=torch.full((1, 1, mib, 1 << 18), 0.5))
"""


def made_of(number, columns):
    """A graph [1, 1, 1, columns] whose numbers and gradient say from what it was made."""
    p = torch.full((1, 1, 1, columns), number, dtype=torch.double, requires_grad=True)
    return p, at.monotonic_attention(p=p)


def is_whole(graph, number):
    """Whether the graph and, made now, its gradient are those of the number."""
    p, alpha = graph
    columns = alpha.size(3)
    expected = number * (1 - number) ** torch.arange(columns, dtype=torch.double)
    alpha.sum().backward()
    return (torch.allclose(alpha.detach().flatten(), expected, atol=1e-12)
            and torch.allclose(p.grad, torch.full_like(p, (1 - number) ** (columns - 1))))


def keep_and_drop(graphs, steps, seed):
    """Keeps so many graphs, of sizes and in an order by chance; says whether all were whole."""
    chance, alive, whole = random.Random(seed), [], True
    for _ in range(steps):
        number = chance.uniform(0.01, 0.1)
        alive.append((made_of(number, chance.choice((1, 40, 50, 64, 700))), number))
        if len(alive) > graphs:
            place = chance.randrange(len(alive))
            alive[place], alive[-1] = alive[-1], alive[place]
            whole = is_whole(*alive.pop()) and whole
    chance.shuffle(alive)
    while alive:
        whole = is_whole(*alive.pop()) and whole
    return whole


@torch.jit.script
def ten_thousand_results(p: torch.Tensor):
    """Makes and drops them without Python's lock, so that threads are at it all the time."""
    for _ in range(10000):
        p = torch.ops.attnbench.monotonic_attention(p, True)
    return p


def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


class PoolTest(unittest.TestCase):
    def run_python(self, code, **environment):
        # Else malloc keeps large freed arrays, which would be counted as the pool's.
        environment["MALLOC_MMAP_THRESHOLD_"] = "65536"
        return subprocess.run([sys.executable, "-c", BEGINNING + code], text=True, check=False,
                              capture_output=True, env={**os.environ, **environment})

    def test_training_steps_take_no_page_faults(self):
        e, u, d = (torch.randn(1, 8, 256, 1024) for _ in range(3))
        keys, v = torch.randn(1, 8, 1024, 16), torch.randn(16)
        queries = torch.randn(1, 8, 256, 16)
        e, u, queries = (x.requires_grad_() for x in (e - 2.7, u, queries))
        for function in (lambda: at.monotonic_attention(energies=e),
                         lambda: at.mocha_attention(u, 8, energies=e)[0],
                         lambda: at.additive_energies(queries, keys, v),
                         lambda: at.memory_attention(keys, queries),
                         lambda: at.monotonic_attention(energies=e.half())):
            for step in range(25):
                if step == 5:
                    before = faults()
                e.grad = u.grad = queries.grad = None
                alpha = function()
                if alpha.dtype == torch.float:
                    alpha.backward(d)
                del alpha
            # A table has 2,048 pages of 4 KiB, or 4 of 2 MiB.
            self.assertLess(faults() - before, 40)

    def test_memory_of_a_result_that_is_gone_is_taken_again(self):
        p = torch.full((1, 1, 30, 1000), 0.5)
        place = at.monotonic_attention(p=p).data_ptr()
        self.assertEqual(at.monotonic_attention(p=p[:, :, 1:]).data_ptr(), place)

    def test_ten_thousand_graphs_that_are_alive_at_once_share_no_memory(self):
        self.assertTrue(keep_and_drop(graphs=10000, steps=12000, seed=1))

    def test_threads_share_no_memory(self):
        whole = []
        threads = [threading.Thread(
            target=lambda seed: whole.append(keep_and_drop(30, 300, seed)), args=(seed,))
            for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(whole, [True] * 4)

    def test_a_child_of_a_fork_can_use_the_pool_whatever_other_threads_do(self):
        # What first calls make, under locks of PyTorch, is no part of the pool.
        for _ in range(3):
            ten_thousand_results(torch.full((1, 1, 1, 1), 0.5))
        at.release()
        ends = threading.Event()

        def work():
            while not ends.is_set():
                ten_thousand_results(torch.full((1, 1, 1, 1), 0.5))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(60):
                child = os.fork()
                if child == 0:
                    signal.alarm(20)
                    torch.set_num_threads(1)
                    with torch.no_grad():
                        alpha = at.monotonic_attention(p=torch.full((1, 1, 1, 3), 0.5))
                    at.release()
                    os._exit(0 if alpha[0, 0, 0, 2] == 0.125 else 1)
                self.assertEqual(os.waitpid(child, 0)[1], 0)
        finally:
            ends.set()
            for thread in threads:
                thread.join()

    def test_release_gives_back_what_no_tensor_uses_and_leaves_the_rest(self):
        graph = made_of(0.05, 100)
        done = self.run_python(
            "kept = alpha(8)\n"
            "before = resident()\n"
            "many = [alpha(8) for _ in range(4)]; del many\n"
            "held = resident()\n"
            "release()\n"
            "print((held - before) >> 20, (resident() - before) >> 20,"
            " float(kept[0, 0, 0, 2]))\n")
        held, released, number = done.stdout.split()
        self.assertGreaterEqual(int(held), 30, done.stderr)
        self.assertLessEqual(int(released), 2)
        self.assertEqual(float(number), 0.125)
        at.release()
        self.assertTrue(is_whole(graph, 0.05))

    def test_what_is_kept_makes_room_for_results_of_another_size(self):
        done = self.run_python(
            "torch.set_num_threads(1)\n"
            "kept = [alpha(16) for _ in range(12)]\n"
            "p = torch.full((1, 1, 1, 400_000), 0.5)\n"
            "monotonic_attention(p=p)\n"
            "del kept\n"
            "pages = int(open('/proc/self/statm').read().split()[0])\n"
            "most = pages * resource.getpagesize() + (20 << 20)\n"
            "resource.setrlimit(resource.RLIMIT_AS, (most, -1))\n"
            "print(len([monotonic_attention(p=p) for _ in range(80)]))\n")
        self.assertEqual(done.stdout, "80\n", done.stderr)

    def test_the_pool_keeps_no_more_than_its_limit(self):
        code = ("alpha(1); release()\n"
                "before = resident()\n"
                "many = [alpha(mib) for mib in (4, 5, 6, 7, 8)]; del many\n"
                "print((resident() - before) >> 20)\n")
        for limit, least, most in (("16", 8, 18), ("256", 29, 50), ("", 29, 50)):
            done = self.run_python(code, **{VARIABLE: limit})
            self.assertIn(int(done.stdout), range(least, most + 1), (limit, done.stderr))

    def test_with_a_limit_of_zero_results_have_memory_of_pytorch(self):
        # That has a header before it.
        done = self.run_python("print(alpha(4).data_ptr() % (2 << 20))", **{VARIABLE: "0"})
        self.assertGreater(int(done.stdout), 0, done.stderr)

    def test_a_limit_that_is_none_is_refused_by_name(self):
        for limit in ("x", "-1", "1.5", "1048577", "9" * 99):
            done = self.run_python("alpha(1)", **{VARIABLE: limit})
            self.assertEqual(done.stderr.splitlines()[-1],
                             f"ValueError: {VARIABLE} must be a whole number of MiB from 0 to "
                             f"1048576, but is {limit[:40]}")

    def test_tensors_and_graphs_may_outlive_the_interpreter(self):
        done = self.run_python("torch.kept = alpha(4)\n"
                               "p = torch.full((1, 1, 1, 3), 0.5, requires_grad=True)\n"
                               "torch.graph = monotonic_attention(p=p)\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_memory_does_not_grow_over_a_thousand_steps_of_any_shape(self):
        done = self.run_python(
            "import random\n"
            "chance = random.Random(1)\n"
            "def step():\n"
            "    shape = 4, 1, chance.randint(1, 32), chance.randint(1, 128)\n"
            "    e = torch.randn(shape, requires_grad=True)\n"
            "    monotonic_attention(energies=e).square().sum().backward()\n"
            "for _ in range(300): step()\n"
            "before = resident()\n"
            "for _ in range(1000): step()\n"
            "print(resident() - before)\n")
        self.assertLess(int(done.stdout), 4 * MIB, done.stderr)

    def test_a_result_can_be_resized_and_keeps_its_numbers(self):
        alpha = at.monotonic_attention(p=torch.full((1, 1, 1, 3), 0.5))
        alpha.resize_(1, 1, 1000, 1000)
        self.assertEqual(alpha.flatten()[:3].tolist(), [0.5, 0.25, 0.125])

    def test_the_profiler_sees_the_memory_of_results(self):
        p = torch.full((1, 1, 30, 1000), 0.5)
        with torch.profiler.profile(profile_memory=True) as profile:
            at.monotonic_attention(p=p)
        [event] = [one for one in profile.key_averages()
                   if one.key == "attnbench::monotonic_attention"]
        self.assertEqual(event.self_cpu_memory_usage, 4 * 30 * 1000)

    @unittest.skipUnless(os.path.isdir(HUGE_PAGES), f"the system has no {HUGE_PAGES}")
    def test_large_results_ask_for_huge_pages(self):
        place = at.monotonic_attention(p=torch.full((1, 1, 3, 1 << 18), 0.5)).data_ptr()
        self.assertEqual(place % (2 * MIB), 0)
        flags = None
        with open("/proc/self/smaps", encoding="utf-8") as file:
            for line in file:
                first, _, last = line.split(" ")[0].partition("-")
                if last:
                    is_here = int(first, 16) <= place < int(last, 16)
                elif line.startswith("VmFlags:") and is_here:
                    flags = line.split()
        self.assertIn("hg", flags)


if __name__ == "__main__":
    unittest.main()
