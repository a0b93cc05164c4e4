#!/usr/bin/env python3
"""Prints what trained models do; --help says how."""

import os
import sys

# PYTHONSAFEPATH leaves this folder out.
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from analysis import start

if __name__ == "__main__":
    sys.exit(start.run("trained.py", "pages.trained_table"))
