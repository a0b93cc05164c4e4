#!/usr/bin/env python3
"""Writes the page of `attnbench report`; --help says how."""

import sys

from analysis import command

if __name__ == "__main__":
    sys.exit(command.run("report", "pages.report"))
