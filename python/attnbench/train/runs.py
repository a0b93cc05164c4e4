"""All runs of an experiment, side by side in worker processes of one core each."""


class Interrupted(Exception):
    """A signal has asked to end; what is done is in the result and the checkpoints."""


def train(runs, options, result, progress):
    """Trains `runs`, settings.Run each, and adds them to the document `result`, which has
    everything else, and is written to `options.output` after each of them.

    Raises load.DataError if the output is there and may not be replaced, holds runs of
    another experiment or build, or if a checkpoint is damaged or of another run.
    """
    raise NotImplementedError
