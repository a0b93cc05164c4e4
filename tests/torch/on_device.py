"""Runs the tests of attnbench.torch's portable path on a device, with the tensors there:

    PYTHONPATH=python:tests/support python3 tests/torch/on_device.py DEVICE [TEST...] [--json FILE] [--commit COMMIT]

DEVICE is as torch has it, such as cuda or cpu. TEST is as unittest has it, such as
operators_test or operators_test.OperatorsTest; none: those of FILES. It prints each failure, each
skip with its reason, the versions, and counts last; exit 1 if a test failed.

Random numbers are those of the CPU, so that tests see the same on every device. What the library
itself makes without saying where would be on the CPU, whatever its arguments are: here it is on
meta, which has no numbers, so that its test fails. A function of docs/operators.md makes that on
the CPU, as it does for its reader.
"""

import argparse
import json
import os
import platform
import sys
import time
import unittest

os.environ["ATTNBENCH_TORCH_BACKEND"] = "portable"
os.environ.pop("ATTNBENCH_TORCH_LIBRARY", None)

import torch
from torch.overrides import TorchFunctionMode

import attnbench.torch

FILES = ("errors", "latency", "modules", "toolkits", "operators", "portable", "check", "online",
         "banded", "compile")
LEFT_OUT = {"dispatch": "of the native operators", "energy_attention": "of the native operators",
            "package": "of pip", "peers": "of the program's peers",
            "pool": "of the native operators",
            "replacement": "of a committed experiment"}
MADE = {torch.tensor, torch.as_tensor, torch.zeros, torch.ones, torch.full, torch.empty, torch.eye,
        torch.arange, torch.linspace, torch.rand, torch.randn, torch.randint, torch.randperm}
DRAWN_IN_PLACE = {torch.Tensor.uniform_, torch.Tensor.normal_}
OF_TORCH, OF_THE_LIBRARY = (os.path.dirname(module.__file__) + os.sep
                            for module in (torch, attnbench.torch))


class OnDevice(TorchFunctionMode):
    def __init__(self, device):
        super().__init__()
        self.device = device

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is torch.Tensor.numpy:
            return args[0].cpu().numpy()
        if function in DRAWN_IN_PLACE and not args[0].is_meta:
            drawn = function(torch.empty_like(args[0], device="cpu"), *args[1:], **kwargs)
            return args[0].copy_(drawn)
        if function not in MADE or kwargs.get("device") is not None:
            return function(*args, **kwargs)
        has_gradient = kwargs.pop("requires_grad", False)
        made = function(*args, **{**kwargs, "device": "cpu"}).to(self.place())
        return made.requires_grad_() if has_gradient else made

    def place(self):
        """Where what is made belongs; a new module's parameters are where its caller wants."""
        frame = sys._getframe(2)
        while frame and frame.f_code.co_filename.startswith(OF_TORCH):
            frame = frame.f_back
        made_in = frame.f_code if frame else sys._getframe().f_code
        if made_in.co_name not in ("__init__", "<module>"):
            if made_in.co_filename.startswith(OF_THE_LIBRARY):
                return "meta"
            if made_in.co_filename == "docs/operators.md":
                return "cpu"
        return self.device


def versions(device):
    made = {"python": platform.python_version(), "torch": torch.__version__,
            "cuda": torch.version.cuda, "device": device, "name": platform.machine()}
    if torch.device(device).type == "cuda":
        made["name"] = torch.cuda.get_device_name(device)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("device")
    parser.add_argument("tests", nargs="*", default=[f"{name}_test" for name in FILES])
    parser.add_argument("--json")
    parser.add_argument("--commit", help="of the code, which may stand there without its history")
    arguments = parser.parse_args()
    report = {"commit": arguments.commit, **versions(arguments.device), "tests": {}, "failures": {}, "skips": {}}
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    for name in arguments.tests:
        began = time.monotonic()
        with OnDevice(arguments.device):
            tests = unittest.defaultTestLoader.loadTestsFromName(name)
            result = unittest.TextTestRunner(sys.stdout, verbosity=1).run(tests)
        report["tests"][name] = {"ran": result.testsRun,
                                 "seconds": round(time.monotonic() - began, 1)}
        print(name, report["tests"][name], flush=True)
        report["failures"].update(
            (test.id(), text) for test, text in result.failures + result.errors)
        report["skips"].update((test.id(), reason) for test, reason in result.skipped)
        if arguments.json:
            with open(arguments.json, "w", encoding="utf-8") as file:
                json.dump(report, file, indent=1)
                file.write("\n")
    for name, reason in LEFT_OUT.items():
        print(f"left out {name}_test: it is {reason}")
    for test, reason in report["skips"].items():
        print(f"skipped {test}: {reason}")
    for test in report["failures"]:
        print(f"FAILED {test}")
    print(*(f"{key} {report[key]}" for key in versions(arguments.device)), sep=", ")
    ran = sum(one["ran"] for one in report["tests"].values())
    print(f"{ran} tests: {len(report['failures'])} failed, {len(report['skips'])} skipped")
    return 1 if report["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
