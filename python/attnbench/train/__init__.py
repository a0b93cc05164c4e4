"""Training of models in Python."""
