"""What a test needs that a place may lack: where ctest runs, all of it is there. A test without
it is skipped, and says so.
"""

import os
import signal
import unittest

import torch

MISSING = None if os.environ.get("ATTNBENCH_TORCH_LIBRARY") else (
    "ATTNBENCH_TORCH_LIBRARY does not name the native operators")
native = unittest.skipIf(MISSING, MISSING)
program = unittest.skipUnless(
    os.environ.get("ATTNBENCH"), "ATTNBENCH does not name the program")
DEVICE = torch.ones(1).device
# One that tensors are not on; meta has no numbers.
OTHER_DEVICE = "meta" if DEVICE.type == "cpu" else "cpu"
cpu = unittest.skipUnless(DEVICE.type == "cpu", "it is of the CPU alone")
two_devices = unittest.skipIf(DEVICE.type == "cpu", "there is no other device with numbers")


def gradients_after_fork(test):
    """From 2.0 on PyTorch may refuse every gradient in a process that was forked after one."""

    def run(self):
        torch.ones(1, requires_grad=True).sum().backward()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(60)
                torch.ones(1, requires_grad=True).sum().backward()
                os.write(write, b"1")
            finally:
                os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        with open(read, "rb") as said:
            if said.read() != b"1":
                self.skipTest("this PyTorch has no gradient in a process that was forked")
        test(self)

    return run
