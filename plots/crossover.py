#!/usr/bin/env python3
"""Prints from which T on mechanisms are faster than soft attention; --help says how."""

import sys

from pages.crossover_table import main

if __name__ == "__main__":
    sys.exit(main())
