// A trained model over one held-out sequence, as a closed loop: each output
// follows the target's symbol before it, so only contexts are fed back.
#ifndef ATTNBENCH_HARNESS_GAP_TRAINED_LOOP_H_
#define ATTNBENCH_HARNESS_GAP_TRAINED_LOOP_H_

#include "harness/gap/closed_loop.h"
#include "harness/training/trained_decoder.h"

namespace attnbench {

// A state is the LSTM's output and cell, side by side. The model computes in
// f32, as it was trained; what follows from its energies is in double. Decoder
// and example outlive it. It serves one thread.
class TrainedLoop final : public ClosedLoop {
 public:
  TrainedLoop(TrainedDecoder& decoder, const Example& example);

  Index num_outputs() const override { return forced_.num_outputs(); }
  MatrixView<const double> memory() const override { return memory_.view(); }
  Index state_size() const override { return 2 * memory_.cols; }
  Index vocabulary() const override { return forced_.vocabulary(); }
  void FirstState(std::span<double> state) const override;
  void Advance(Index i, std::span<const double> context,
               std::span<double> state) const override;
  void Energies(std::span<const double> state,
                std::span<double> energies) const override;
  void Probabilities(std::span<const double> state,
                     std::span<const double> context,
                     std::span<double> p) const override;

 private:
  const TrainedDecoder::Forced forced_;
  Table<double> memory_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_GAP_TRAINED_LOOP_H_
