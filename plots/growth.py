#!/usr/bin/env python3
"""Prints how cost grows with the memory; --help says how."""

import sys

from pages.growth_table import main

if __name__ == "__main__":
    sys.exit(main())
