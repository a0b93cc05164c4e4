#!/usr/bin/env python3
"""Puts what a command printed into a page; --help says how."""

import sys

from pages.page import main

if __name__ == "__main__":
    sys.exit(main())
