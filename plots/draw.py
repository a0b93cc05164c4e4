#!/usr/bin/env python3
"""Draws figures from result files; --help says how."""

import sys

from figures.draw import main

if __name__ == "__main__":
    sys.exit(main())
