"""A process that trains runs, one after the other, on one core.

Its standard input has a line of JSON for each run, its standard output one for each
message: {"kind": "ready" | "step" | "trained" | "stopped" | "refused" | "failed", ...}.
"""


def main():
    raise NotImplementedError
