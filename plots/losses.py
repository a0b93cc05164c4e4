#!/usr/bin/env python3
"""Prints from which T on closed forms lose mass; --help says how."""

import sys

from pages.loss_table import main

if __name__ == "__main__":
    sys.exit(main())
