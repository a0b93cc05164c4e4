#!/usr/bin/env python3
"""Writes REPRODUCTION.md; --help says how."""

import sys

from pages.reproduction import main

if __name__ == "__main__":
    sys.exit(main())
