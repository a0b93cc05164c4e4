"""`attnbench train`: trains small models with any attention, and tells how well they decode."""


def main(arguments=None):
    raise NotImplementedError
