"""Attention of a model that is trained: energies, expected weights and contexts of a batch, for
all outputs at once or one at a time, by the functions and modules of attnbench.torch.
"""
