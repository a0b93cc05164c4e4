#!/usr/bin/env python3
"""A peer in plain numpy, with the ways in which one goes wrong, for
tests/cli/peer_test.py.

    fake_peer.py [FAULT [CALL [MECHANISM]] | KEY=JSON]

Decodes soft attention under dot energies, and makes alpha of hard monotonic
attention by the recursion, which it says is an approximation. FAULT happens at
the first such CALL (default: time) for cells of MECHANISM (default: any); "hang"
only where FAKE_PEER_IS_WELL is not set. KEY=JSON changes what it says of itself,
or of its first variant.
"""

import json
import mmap
import os
import signal
import sys
import time

import numpy

ROOT = os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)
sys.path.insert(0, os.path.join(ROOT, "experiments", "peers"))

import protocol  # noqa: E402

FAULT, CALL, MECHANISM, *_ = [*sys.argv[1:], None, None, None]
CALL = CALL or "time"
PAGES = 100  # of a trial with fault "pages"


def variant(mechanism, modes, scopes, approximates):
    return {
        "mechanism": mechanism,
        "name": "framework",
        "help": "numpy",
        "modes": modes,
        "schedules": ["online"],
        "scopes": scopes,
        "energies": ["dot"],
        "precisions": ["f32", "f64"],
        "approximates": approximates,
    }


DESCRIPTION = {
    "protocol": 1,
    "name": "fake",
    "libraries": {"fake_numpy": numpy.__version__},
    "variants": [
        variant("soft", ["decode"], ["full"], False),
        variant("monotonic", ["expect", "gradient"], ["attention"], True),
    ],
}


class Work:
    warmed = 0

    def __init__(self, cell):
        self.cell = cell
        self.misbehaves = MECHANISM in (None, cell.axes["mechanism"])
        if cell.axes["batch"] == 13:
            raise protocol.Skipped("13 is unlucky")
        if cell.options.get("keys") == "on_demand":
            raise ValueError("'keys' is of no use")
        if self.misbehaves:
            misbehave("prepare")

    def before_timing(self):
        if FAULT == "warm" and self.warmed < 4:  # what is not timed may take long
            self.warmed += 1
            time.sleep(0.6)
        if self.misbehaves:
            misbehave("time")

    def run(self, draw):
        if FAULT == "pages":
            fresh = mmap.mmap(-1, PAGES * mmap.PAGESIZE)
            for page in range(PAGES):
                fresh[page * mmap.PAGESIZE] = 1
        make = soft if self.cell.axes["mode"] == "decode" else monotonic
        return [make(one) for one in self.cell.draws[draw]]

    def output(self, draw):
        made = self.run(draw)
        if FAULT == "wrong" and self.misbehaves:
            for arrays, _ in made:
                for array in arrays.values():
                    array[-1, -1] += 1e-2
        if FAULT == "shape" and self.misbehaves:
            made = [
                ({k: v[:, :-1] for k, v in arrays.items()}, positions)
                for arrays, positions in made
            ]
        return made


def soft(one):
    contexts = []
    for state in one.states[: one.outputs]:
        energies = one.memory @ state
        weights = numpy.exp(energies - energies.max())
        contexts.append(weights @ one.memory / weights.sum())
    shape = (one.outputs, one.memory.shape[1])
    made = numpy.array(contexts, one.memory.dtype).reshape(shape)
    return {"contexts": made}, None


def monotonic(one):
    p = one.given.get("p_choose")
    if p is None:
        p = 1 / (1 + numpy.exp(-one.given["energies"]))
    start = numpy.zeros_like(p[0])
    start[0] = 1
    alpha = numpy.zeros_like(p)
    for i, row in enumerate(p):
        arriving = 0
        for j, chosen in enumerate(row):
            arriving += start[j]
            alpha[i, j] = arriving * chosen
            arriving *= 1 - chosen
        start = alpha[i]
    made = {"attention": alpha}
    for name in one.wanted:
        if name.startswith("gradient of "):
            made[name] = numpy.zeros_like(p)
    return made, None


def misbehave(call):
    if call != CALL:
        return
    if FAULT == "die":
        sys.exit("fake peer: that was too much\n")
    if FAULT == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if FAULT == "hang" and "FAKE_PEER_IS_WELL" not in os.environ:
        time.sleep(1000)


def talk(say):
    """Describes itself rightly, and then says the same to everything."""
    sys.stdin.readline()
    print(json.dumps(DESCRIPTION), flush=True)
    for _ in sys.stdin:
        print(say, flush=True)


def main():
    with open("fake_peer.pids", "a", encoding="utf-8") as pids:
        pids.write(f"{os.getpid()}\n")
    misbehave("describe")
    if FAULT == "talk":
        return talk(CALL)
    if FAULT == "lie":  # in the wrong unit, as it were
        protocol._time = lambda *call: {"elapsed_ns": 10**15}
    if FAULT == "seconds":
        nanoseconds = protocol._time
        protocol._time = lambda *call: {"elapsed_ns": nanoseconds(*call)["elapsed_ns"] / 1e9}
    if FAULT == "no_faults":
        told = protocol._time
        protocol._time = lambda *call: {"elapsed_ns": told(*call)["elapsed_ns"]}
    first = DESCRIPTION["variants"][0]
    for key, value in [w.split("=") for w in sys.argv[1:] if "=" in w]:
        (first if key in first else DESCRIPTION)[key] = json.loads(value)
    return protocol.serve(DESCRIPTION, Work)


if __name__ == "__main__":
    sys.exit(main())
