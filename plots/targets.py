#!/usr/bin/env python3
"""Writes the table of targets; --help says how."""

import sys

from pages.targets import main

if __name__ == "__main__":
    sys.exit(main())
