"""What decides a run (signatures; the implementation follows).

Settings has a field for each member of `settings` in training_experiment.schema.json
(task, least_symbols, ..., curve_held_out), with its default, and the properties below.
"""

import dataclasses


class Derived:
    """What follows from settings."""

    task_spec: "tasks.Task"
    directions: int       # 2 if bidirectional
    longest_source: int   # of sources of tokens, with END; 0: not known
    most_outputs: int     # decoding is cut off there
    source_size: int      # numbers of the encoder's inputs
    decoder_inputs: int   # numbers of the decoder's inputs
    attends: bool
    is_monotonic: bool
    has_chunks: bool


@dataclasses.dataclass(frozen=True)
class Run:
    name: str
    seed: int
    held_out_seed: int
    settings: "Settings"

    def document(self):
        """As it is in checkpoints and results."""
        raise NotImplementedError


def read_experiment(path):
    """The document of an experiment, checked; DataError."""
    raise NotImplementedError


def runs(experiment, path, quick=False, only=()):
    """The runs of an experiment in their order, list of Run; DataError."""
    raise NotImplementedError


def parameter_shapes(settings):
    """{name: shape}; a single number has the shape ()."""
    raise NotImplementedError


def first_parameters(settings, seed):
    """{name: f32 array} before training."""
    raise NotImplementedError
