#!/usr/bin/env python3
"""Prints which number of a trained model tells what decoding loses; --help says how."""

import os
import sys

# PYTHONSAFEPATH leaves this folder out.
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "python")]
from attnbench.analysis import start

if __name__ == "__main__":
    sys.exit(start.run("predictors.py", "pages.predictors"))
