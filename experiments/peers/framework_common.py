"""What decoding and training with PyTorch share: tensors of a cell, energies."""

import torch

# Rows of tanh [T, d] that are made at once: all of them would leave the cache,
# and for long memories not fit.
BLOCK_ELEMENTS = 1 << 18


def tensor(array):
    return torch.from_numpy(array)


def batch_of(arrays):
    """[B, ...], or the one array alone, which spares every product a dimension."""
    tensors = [tensor(array) for array in arrays]
    return tensors[0] if len(tensors) == 1 else torch.stack(tensors)


def sequences_of(values, batch):
    """The inverse: what belongs to each sequence, as numpy arrays."""
    values = values.detach()
    return [values.numpy()] if batch == 1 else list(values.numpy())


class Additive:
    """v . tanh(W s + V h + b), the keys V h + b made once."""

    def __init__(self, parameters, role):
        self.W, self.V, self.b, self.v = (
            parameters[f"{role}.{name}"] for name in "WVbv"
        )
        # Drawn as [1, d].
        self.b, self.v = self.b.reshape(-1), self.v.reshape(-1)

    def keys(self, memory):
        return torch.nn.functional.linear(memory, self.V, self.b)

    def query(self, state):
        return torch.nn.functional.linear(state, self.W)

    def of_state(self, keys, query):
        """[..., T] of one state: keys [..., T, d], query [..., d]."""
        return torch.tanh(keys + query.unsqueeze(-2)) @ self.v

    def of_all(self, keys, queries, in_blocks):
        """[..., U, T]; with in_blocks never [U, T, d] at once."""
        keys = keys.unsqueeze(-3)
        size = queries.shape[-2]
        if in_blocks:
            size = max(1, BLOCK_ELEMENTS // max(1, keys.numel()))
        return torch.cat(
            [
                torch.tanh(keys + block.unsqueeze(-2)) @ self.v
                for block in queries.split(max(1, size), dim=-2)
            ],
            dim=-2,
        )
