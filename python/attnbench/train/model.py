"""The model that is trained: an encoder of one LSTM in one or both directions, a decoder of one
LSTM, and any attention between them.

    encoder  h_t = [embedding of x_t, if embedding_in_memory; outputs of the LSTMs], or frames in
             place of embeddings
    decoder  s_i = LSTM([embedding of y_(i-1); c_(i-1) if input_feeding])
    output   logits_i = W_o tanh(W_m [s_i; c_i] + b_m) + b_o; without attention W_o s_i + b_o

An energy reads s_i: with input feeding it knows the last context, as in MAD. Without, states follow
from the symbols alone, and one call makes the attention of all outputs.
"""

import math
from typing import NamedTuple, Optional

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from attnbench.train import attention, tasks
from attnbench.train.lstm import Lstm
from attnbench.train.parameters import parameter_shapes

NO_TARGET = -100  # what cross_entropy leaves out

# The names that parameters have in checkpoints, and here.
NAMES = {
    "source_embedding": "source_embedding.weight",
    "forward.W": "forwards.W", "forward.b": "forwards.b",
    "backward.W": "backwards.W", "backward.b": "backwards.b",
    "target_embedding": "target_embedding.weight",
    "decoder.W": "decoder.W", "decoder.b": "decoder.b",
    **{
        f"{name}.{letter}": f"attention.{energy}.{own}"
        for name, energy in (("attention", "energy"), ("chunk", "chunk_energy"))
        for letter, own in (("W", "query.weight"), ("V", "key.weight"), ("b", "key.bias"),
                            ("v", "v"), ("g", "g"), ("r", "r"))
    },
    "memory.encoder": "attention.encoder.weight", "memory.decoder": "attention.decoder.weight",
    "mix.W": "mix.weight", "mix.b": "mix.bias",
    "output.W": "output.weight", "output.b": "output.bias",
}


class Batch(NamedTuple):
    """Examples side by side, padded; steps come first, as an LSTM goes through them."""

    source: Tensor  # [T, B] symbols, or [T, B, n] frames
    lengths: Tensor  # [B], of the sources
    previous: Tensor  # [U, B], the symbol before each output
    targets: Tensor  # [U, B], NO_TARGET behind the end symbol


def batch_of(examples, device="cpu"):
    sources = [torch.from_numpy(one.source) for one in examples]
    targets = pad_sequence(
        [torch.from_numpy(one.target) for one in examples], padding_value=NO_TARGET)
    previous = torch.full_like(targets, tasks.START)
    previous[1:] = targets[:-1].where(targets[:-1] != NO_TARGET, previous[1:])
    lengths = torch.tensor([len(source) for source in sources])
    made = (pad_sequence(sources), lengths, previous, targets)
    return Batch(*(tensor.to(device) for tensor in made))


class State(NamedTuple):
    """What decoding goes on from."""

    output: Tensor  # [B, d], of the LSTM
    cell: Tensor  # [B, d]
    context: Optional[Tensor] = None  # [B, d], the last one; only with input feeding
    attention: Optional[Tensor] = None


class Encoding(NamedTuple):
    prepared: Optional[attention.Prepared]  # None without attention
    first: State


class Decoded(NamedTuple):
    logits: Tensor  # [U, B, V]
    attended: Optional[attention.Attended]  # of all outputs; None without attention
    last: State


class Model(nn.Module):
    def __init__(self, settings, device="cpu"):
        super().__init__()
        self.settings = settings
        shapes = parameter_shapes(settings)
        vocabulary = shapes["output.b"][0]
        d, n = settings.dim, settings.source_size
        self.source_embedding = None
        if "source_embedding" in shapes:
            self.source_embedding = nn.Embedding(*shapes["source_embedding"])
        self.forwards = Lstm(n, settings.encoder_units)
        self.backwards = Lstm(n, settings.encoder_units) if settings.bidirectional else None
        self.target_embedding = nn.Embedding(vocabulary, settings.embedding)
        self.decoder = Lstm(settings.decoder_inputs, d)
        self.attention = attention.make(settings, device)
        self.mix = None if self.attention is None else nn.Linear(2 * d, d)
        self.output = nn.Linear(d, vocabulary)
        self.to(device)

    def by_name(self):
        """Gives the parameters by the names that checkpoints have."""
        own = dict(self.named_parameters())
        return {name: own[path] for name, path in NAMES.items() if path in own}

    def encode(self, batch):
        inputs = batch.source
        if self.source_embedding is not None:
            inputs = self.source_embedding(inputs)
        T, B = inputs.shape[:2]
        zero = inputs.new_zeros(B, self.settings.encoder_units)
        h, c = self.forwards(inputs, zero, zero)
        outputs, ends = [h], [(h, c)]
        if self.backwards is not None:
            # Each sequence from its own end on; the padding stays where it is.
            t = torch.arange(T, device=inputs.device).unsqueeze(1)
            places = batch.lengths - 1 - t
            places = places.where(places >= 0, t)
            h, c = self.backwards(_taken(inputs, places), zero, zero)
            outputs.append(_taken(h, places))
            ends.append((h, c))
        if self.settings.embedding_in_memory:
            outputs.insert(0, inputs)
        if self.settings.starts_from_encoder:
            last = (batch.lengths - 1).unsqueeze(0)
            output, cell = (
                torch.cat([_taken(states, last)[0] for states in of_both], 1)
                for of_both in zip(*ends))
        else:
            output = cell = inputs.new_zeros(B, self.settings.dim)
        context = torch.zeros_like(output)
        prepared = None
        if self.attention is not None:
            memory = torch.cat(outputs, 2).transpose(0, 1).contiguous()
            prepared = self.attention.prepare(memory, batch.lengths)
        return Encoding(prepared, State(output, cell, context))

    def decode(self, encoding, state, symbols, noise=None, choose=None, wants_weights=False):
        """Gives Decoded of U outputs. Each reads the symbol before it, a row of `symbols` [U, B].
        The last arguments are those of `attend` (attention.make).
        """
        inputs = self.target_embedding(symbols)
        if not self.settings.input_feeding:
            states, attended, state = self._decode(
                encoding, state, inputs, noise, choose, wants_weights)
            return Decoded(self._logits(states, attended), attended, state)
        steps = []
        for i, embedded in enumerate(inputs):
            fed = torch.cat([embedded, state.context], 1).unsqueeze(0)
            of_step = None if noise is None else noise[:, :, i:i + 1]
            *step, state = self._decode(encoding, state, fed, of_step, choose, wants_weights)
            steps.append(step)
        states, attended = zip(*steps)
        states, attended = torch.cat(states), _joined(attended)
        return Decoded(self._logits(states, attended), attended, state)

    def _decode(self, encoding, state, inputs, *options):
        """Gives states [U, B, d], Attended and the last State, of all inputs in one call."""
        h, c = self.decoder(inputs, state.output, state.cell)
        if self.attention is None:
            return h, None, State(h[-1], c[-1])
        attended = self.attention.attend(
            h.transpose(0, 1), encoding.prepared, state.attention, *options)
        return h, attended, State(h[-1], c[-1], attended.contexts[:, -1], attended.state)

    def _logits(self, states, attended):
        if attended is not None:
            contexts = attended.contexts.transpose(0, 1)
            states = self.mix(torch.cat([states, contexts], 2)).tanh()
        return self.output(states)

    @torch.no_grad()
    def decode_greedily(self, encoding, choose=None):
        """Reads its own outputs, each the symbol of the largest logit, until all sequences have
        ended or have `most_outputs`. Gives a list of symbols for each, without the end symbol.
        """
        state = encoding.first
        symbols = torch.full((1, len(state.output)), tasks.START, device=state.output.device)
        outputs = []
        has_ended = torch.zeros_like(symbols, dtype=torch.bool)
        for _ in range(self.settings.most_outputs):
            decoded = self.decode(encoding, state, symbols, choose=choose)
            state, symbols = decoded.last, decoded.logits.argmax(2)
            outputs.append(symbols)
            has_ended |= symbols == tasks.END
            if has_ended.all():
                break
        return _without_end(torch.cat(outputs).t())

    @torch.no_grad()
    def decode_by_beam(self, encoding, width, choose=None):
        """The same of the `width` most probable outputs so far, of whom it gives the most probable
        in the end. Probabilities are not divided by lengths.
        """
        B, device = len(encoding.first.output), encoding.first.output.device
        first = torch.arange(B, device=device).unsqueeze(1) * width  # its beam's first row
        encoding = _rows(encoding, first.div(width).expand(-1, width).flatten().long())
        state = encoding.first
        # A beam starts from one output; the others are worse than any.
        log_p = torch.full((B, width), -math.inf, device=device)
        log_p[:, 0] = 0
        symbols = torch.full((1, B * width), tasks.START, device=device)
        outputs = torch.empty(B * width, 0, dtype=torch.long, device=device)
        has_ended = torch.zeros(B * width, dtype=torch.bool, device=device)
        for _ in range(self.settings.most_outputs):
            decoded = self.decode(encoding, state, symbols, choose=choose)
            of_symbols = decoded.logits[0].log_softmax(1)
            of_symbols[has_ended] = -math.inf  # another END is sure
            of_symbols[has_ended, tasks.END] = 0
            V = of_symbols.size(1)
            log_p, best = (log_p.unsqueeze(2) + of_symbols.view(B, width, V)).flatten(1).topk(width)
            parents = (first + best.div(V, rounding_mode="floor")).flatten()
            symbols = (best % V).flatten()
            outputs = torch.cat([outputs[parents], symbols.unsqueeze(1)], 1)
            has_ended = has_ended[parents] | (symbols == tasks.END)
            if has_ended.all():
                break
            state, symbols = _rows(decoded.last, parents), symbols.unsqueeze(0)
        return _without_end(outputs[first.flatten()])


def _without_end(outputs):
    """A list of the symbols of each row, up to END."""
    rows = outputs.tolist()
    return [row[:row.index(tasks.END)] if tasks.END in row else row for row in rows]


def _rows(value, rows):
    """Takes rows of every tensor in a tuple of tuples and tensors."""
    if isinstance(value, Tensor):
        return value.index_select(0, rows)
    return None if value is None else type(value)(*(_rows(one, rows) for one in value))


def _taken(x, places):
    """Gives x[places[t, b], b] of x [T, B, n] for each t and b."""
    return x.gather(0, places.unsqueeze(2).expand(-1, -1, x.size(2)))


def _joined(steps):
    """Gives the Attended of all outputs of one for each."""
    contexts, *tables = zip(*(one[:4] for one in steps))
    tables = [None if table[0] is None else torch.cat(table, 2) for table in tables]
    return attention.Attended(torch.cat(contexts, 1), *tables)
