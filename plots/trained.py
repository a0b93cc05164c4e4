#!/usr/bin/env python3
"""Prints what trained models do; --help says how."""

import sys

from pages.trained_table import main

if __name__ == "__main__":
    sys.exit(main())
