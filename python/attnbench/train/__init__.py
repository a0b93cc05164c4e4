"""Training in Python: models of an experiment, with any attention between them."""
