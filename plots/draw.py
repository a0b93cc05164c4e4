#!/usr/bin/env python3
"""Draws figures from result files; --help says how."""

import sys

from analysis import command

if __name__ == "__main__":
    sys.exit(command.run("draw", "figures.draw"))
