#!/usr/bin/env python3
"""Judges what `attnbench claims` measured; --help says how."""

import sys

from analysis import command

if __name__ == "__main__":
    sys.exit(command.run("claims", "analysis.judge.claims"))
