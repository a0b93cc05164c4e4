// Fixed-size memory attention (Britz et al. 2017, section 3): while encoding,
// K context vectors are made; each output mixes them.
//
//   alpha_t = score(W_alpha h_t)            in R^K, per entry         (eq 5)
//   C_k     = sum over t of alpha_tk h_t    K contexts of size d      (eq 4)
//   beta_i  = score(W_beta s_i)             in R^K, per output        (eq 7)
//   c_i     = sum over k of beta_ik C_k                               (eq 6)
//
// score is softmax over K or the logistic sigmoid, chosen for each side (3).
// memory [T, d], states [U, d], contexts [U, d]; K d (2 T + 2 U) multiply-adds,
// and an output costs the same whatever T is. Nothing can be emitted before the
// memory is complete.
//
// Position encodings (3.2): L_kt = (1 - k/K)(1 - t/S) + (k/K)(t/S), eq 10, with
// k = 1..K, t = 1..T and S = max_length (0: T). Placed inside, score(W h_t o
// L_t), eq 9, or outside, score(W h_t) o L_t, as the text of 3.2 says.
// `renormalized`: row k of L sums to 1 over the T entries; `renormalized_mean`:
// its mean is 1.
//
// Scores may be given: encoder_scores [T, K], decoder_scores [U, K].
#ifndef ATTNBENCH_MECHANISMS_MEMORY_MEMORY_H_
#define ATTNBENCH_MECHANISMS_MEMORY_MEMORY_H_

#include <memory>
#include <optional>

#include "mechanisms/mechanism.h"

namespace attnbench::memory {

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism();

// The oracle: eqs 4 to 10 in scalar loops and a wider type.
template <class Real>
std::unique_ptr<Decoder<Real>> MakeReference(
    const Config& config, const SequenceInputs<Real>& inputs);

inline Index NumContexts(const Config& config) {
  return config.Option<Index>("num_contexts");
}

// W_alpha [K, d] and W_beta [K, d].
inline constexpr char kEncoderParameter[] = "memory.encoder";
inline constexpr char kDecoderParameter[] = "memory.decoder";

// S of eq 10 for a memory of T entries: max_length, or T where that is 0.
// Throws Unsupported where it is given and less than T.
Index PositionScale(Index max_length, Index memory_length);

// The scores that can be given: W_alpha h [T, K] and W_beta s [U, K].
inline constexpr char kEncoderScores[] = "encoder_scores";
inline constexpr char kDecoderScores[] = "decoder_scores";
template <class Real>
struct GivenScores {
  MatrixView<const Real> encoder;
  MatrixView<const Real> decoder;
};
// Gives none where no scores were given. Throws Unsupported where others were
// given, or one of the two alone. Checks that they have K columns.
template <class Real>
std::optional<GivenScores<Real>> FindGiven(const SequenceInputs<Real>& inputs,
                                           Index num_contexts);

}  // namespace attnbench::memory

#endif  // ATTNBENCH_MECHANISMS_MEMORY_MEMORY_H_
