// A random tanh decoder, which `attnbench gap` draws:
//
//   s_i = tanh(R W s_{i-1} + F C c_{i-1} + b_i)
//   e(i, j) = sharpness (Q s_i) . h_j / sqrt(d)
//   p(y | s, c) = softmax(kLogitScale (O s + P c))
//
// with R = recurrence and F = feedback. Elements of W, C, Q, O and P are
// uniform with variance 1 / columns, those of b and h have variance 1, so at
// sharpness 1 the energies' standard deviation is about 0.6.
#ifndef ATTNBENCH_HARNESS_GAP_RANDOM_DECODER_H_
#define ATTNBENCH_HARNESS_GAP_RANDOM_DECODER_H_

#include <cstdint>

#include "harness/gap/closed_loop.h"
#include "harness/gap/result.h"
#include "harness/inputs/drawn_parameters.h"

namespace attnbench {

// Logits have a standard deviation of about 2.5: outputs are as decided as
// those of a model that is half trained. With small logits the softmax is
// nearly linear, and no gap shows at the outputs.
inline constexpr double kLogitScale = 2;

struct RandomDecoderSpec {
  DecoderSizes sizes = {};
  double sharpness = 4;
  double feedback = 1;
  double recurrence = 1;
  std::uint64_t seed = 1;
};

class RandomDecoder final : public ClosedLoop {
 public:
  explicit RandomDecoder(const RandomDecoderSpec& spec);

  Index num_outputs() const override { return spec_.sizes.output_length; }
  MatrixView<const double> memory() const override { return memory_.view(); }
  Index state_size() const override { return spec_.sizes.dim; }
  Index vocabulary() const override { return spec_.sizes.vocabulary; }
  void FirstState(std::span<double> state) const override;
  void Advance(Index i, std::span<const double> context,
               std::span<double> state) const override;
  void Energies(std::span<const double> state,
                std::span<double> energies) const override;
  void Probabilities(std::span<const double> state,
                     std::span<const double> context,
                     std::span<double> p) const override;

 private:
  const RandomDecoderSpec spec_;
  const DrawnParameters<double> parameters_;
  const Table<double> memory_, inputs_;  // h [T, d], b [U, d]
  const MatrixView<const double> of_state_, of_context_, query_;  // W, C, Q
  const MatrixView<const double> output_of_state_, output_of_context_;  // O, P
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_GAP_RANDOM_DECODER_H_
