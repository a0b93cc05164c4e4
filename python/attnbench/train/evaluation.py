"""How well a model decodes the held-out sequences of its run (`result` and `curve` of
results/schema/trained.schema.json).
"""


def evaluate(model, run, count):
    """Gives what `result` of a run has, of the first `count` held-out sequences: a dict of
    soft_error, hard_error, loss, selected_mass, discrete_share, and of some mechanisms
    p_histogram or context_spread.
    """
    raise NotImplementedError


def example(model, run):
    """Gives what `example` of a run has: a dict of attention, choices and contexts."""
    raise NotImplementedError
