"""Fixed-size memory attention (Britz et al. 2017), with parameters."""

from typing import Optional, Tuple

import torch
from torch import Tensor, nn

from attnbench.torch import arguments, functions


class FixedMemoryAttention(nn.Module):
    """Attention to K contexts that are made while encoding (Britz eqs 4 to 10):

        alpha_t = score(W_alpha h_t),  C = sum over t of alpha_t h_t,  c_i = score(W_beta s_i) C

    Parameters: encoder.weight W_alpha [H * K, m], decoder.weight W_beta [H * K, q]. Options of
    scores and position encodings are those of functions.memory_attention. Half and bfloat16 are
    computed in f32.
    """

    def __init__(
        self,
        query_size: int,
        memory_size: int,
        num_contexts: int = 32,
        heads: int = 1,
        *,
        encoder_scoring: str = "softmax",
        decoder_scoring: str = "softmax",
        position_encoding: str = "none",
        place: str = "inside",
        max_length: int = 0,
    ):
        super().__init__()
        self.num_contexts = num_contexts
        self.heads = heads
        self.encoder_scoring = encoder_scoring
        self.decoder_scoring = decoder_scoring
        self.position_encoding = position_encoding
        self.place = place
        self.max_length = max_length
        self.encoder = arguments.Linear(memory_size, heads * num_contexts, bias=False)
        self.decoder = arguments.Linear(query_size, heads * num_contexts, bias=False)

    def forward(self, states: Tensor, memory: Tensor, lengths: Optional[Tensor] = None) -> Tensor:
        """Gives contexts [B, U, H * m] from states [B, U, q] and memory [B, T, m], in
        O(K m (T + U)).
        """
        encoder_scores, lengths = self._encoder_scores(memory, lengths)
        decoder_scores = self._decoder_scores(states, memory)
        contexts = self._mix(memory, encoder_scores, decoder_scores, lengths, self.decoder_scoring)
        return contexts.transpose(1, 2).flatten(2)

    def weights(self, states: Tensor, memory: Tensor, lengths: Optional[Tensor] = None) -> Tensor:
        """Gives the weights [B, H, U, T] that the entries have in forward's contexts."""
        encoder_scores, lengths = self._encoder_scores(memory, lengths)
        return functions.memory_attention(
            encoder_scores,
            self._decoder_scores(states, memory),
            lengths=lengths,
            encoder_scoring=self.encoder_scoring,
            decoder_scoring=self.decoder_scoring,
            position_encoding=self.position_encoding,
            place=self.place,
            max_length=self.max_length,
        )

    def encode(self, memory: Tensor, lengths: Optional[Tensor] = None) -> Tensor:
        """Gives the K contexts C [B, H, K, m] of a complete memory, for step."""
        K = self.num_contexts
        encoder_scores, lengths = self._encoder_scores(memory, lengths)
        # Scores so far apart that each of K outputs has one context with the weight 1.
        choices = 1e4 * torch.eye(K, device=memory.device).to(memory.dtype)
        choices = choices.expand(memory.size(0), self.heads, K, K)
        return self._mix(memory, encoder_scores, choices, lengths, "softmax")

    def step(self, state: Tensor, encoded: Tensor) -> Tensor:
        """Gives contexts [B, H * m] of one output, in O(K m), from states [B, q] and `encoded`
        of encode.
        """
        arguments.check_rows("state", state, self.decoder.in_features, self.decoder.weight, 2)
        arguments.check_floating("encoded", encoded, "[B, H, K, m]", 4)
        arguments.check_type("encoded", encoded, self.decoder.weight)
        arguments.check_batch("state", state, encoded.size(0), "encoded")
        made = [self.heads, self.num_contexts, self.encoder.in_features]
        if list(encoded.shape[1:]) != made:
            raise ValueError(
                f"encoded must be [B, H, K, m] with [H, K, m] = {made}, but its shape is"
                f" {list(encoded.shape)}")
        scores = arguments.exact(self._decoder_scores(state.unsqueeze(1), encoded))
        beta = scores.softmax(3) if self.decoder_scoring == "softmax" else scores.sigmoid()
        # No product of matrices: under autocast that would be of 16 bits.
        contexts = (beta.transpose(2, 3) * arguments.exact(encoded)).sum(2)
        return arguments.in_type_of(encoded, contexts.flatten(1))

    def _mix(
        self,
        memory: Tensor,
        encoder_scores: Tensor,
        decoder_scores: Tensor,
        lengths: Optional[Tensor],
        decoder_scoring: str,
    ) -> Tensor:
        return functions.memory_contexts(
            encoder_scores,
            decoder_scores,
            memory.unsqueeze(1).expand(-1, self.heads, -1, -1),
            lengths=lengths,
            encoder_scoring=self.encoder_scoring,
            decoder_scoring=decoder_scoring,
            position_encoding=self.position_encoding,
            place=self.place,
            max_length=self.max_length,
        )

    def _encoder_scores(
        self, memory: Tensor, lengths: Optional[Tensor]
    ) -> Tuple[Tensor, Optional[Tensor]]:
        """Gives the scores, and the lengths where memory is."""
        arguments.check_rows("memory", memory, self.encoder.in_features, self.encoder.weight)
        if lengths is not None:
            lengths = arguments.take_lengths("lengths", lengths, memory, memory.size(1))
        return self._by_head(self.encoder(memory), memory), lengths

    def _decoder_scores(self, states: Tensor, memory: Tensor) -> Tensor:
        arguments.check_rows("states", states, self.decoder.in_features, self.decoder.weight)
        arguments.check_batch("states", states, memory.size(0), "memory")
        return self._by_head(self.decoder(states), memory)

    def _by_head(self, rows: Tensor, memory: Tensor) -> Tensor:
        rows = rows.to(memory.dtype)  # under autocast the linear layers give another
        K = self.num_contexts
        return rows.view(rows.size(0), rows.size(1), self.heads, K).transpose(1, 2)
