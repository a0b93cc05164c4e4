#!/usr/bin/env python3
"""Tells how long the whole grids of all claims take, by what --dry-run says of each.

usage: estimate.py PROGRAM [EXPERIMENT...]
example: scripts/estimate.py build/release/attnbench mad_figure8

PROGRAM is attnbench; EXPERIMENTs are measured besides the claims. Run in the
repository's root: experiments/claims.json has the sweeps.
"""

import json
import subprocess
import sys


def main(program, *besides):
    with open("experiments/claims.json", encoding="utf-8") as file:
        measurements = json.load(file)["measurements"].values()
    asked = [(one["experiment"], one.get("full", {}))
             for one in measurements if one["kind"] == "sweep"]
    asked += [(name, {}) for name in besides]
    total_s = unknown = 0
    for name, changes in asked:
        path = f"experiments/{name}.json"
        # Only these options matter, as they are --dry-run's too.
        flags = [text for name, value in changes.items() if isinstance(value, int)
                 for text in (f"--{name}", str(value))]
        done = subprocess.run([program, "run-sweep", path, "--dry-run", "--json", *flags],
                              stdout=subprocess.PIPE, encoding="utf-8")
        if done.returncode != 0:
            sys.exit(done.returncode)  # the program has said why
        plan = json.loads(done.stdout)
        estimate_s = plan["estimated_s"]
        total_s += estimate_s
        unknown += plan["num_unknown"]
        print(f"  {name}: about {duration_text(estimate_s)}")
    others = sorted({one["kind"] for one in measurements} - {"sweep", "trained"})
    print(f"about {duration_text(total_s)} in all; {', '.join(others)} and pictures "
          "tell no time beforehand and come on top")
    if unknown:
        print(f"a guess for {unknown} cells that failed on a small point")


def duration_text(seconds):
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
