#include "mechanisms/train.h"

#include "mechanisms/common/parallel.h"

namespace attnbench {

template <class Real>
void TrainBatch(const Mechanism<Real>& mechanism, const Config& config,
                std::span<const TrainingSequence<Real>> batch, int threads) {
  const bool with_gradient = config.mode == Mode::kGradient;
  ParallelForWith(
      std::ssize(batch), threads, [&] { return mechanism.MakeTrainer(config); },
      [&](Index b, const std::unique_ptr<SequenceTrainer<Real>>& trainer) {
        const TrainingSequence<Real>& one = batch[Size(b)];
        if (with_gradient) {
          trainer->Gradient(one.sequence, one.cotangent, one.expectation,
                            one.gradients);
        } else {
          trainer->Expect(one.sequence, one.expectation);
        }
      });
}

template void TrainBatch(const Mechanism<float>&, const Config&,
                         std::span<const TrainingSequence<float>>, int);
template void TrainBatch(const Mechanism<double>&, const Config&,
                         std::span<const TrainingSequence<double>>, int);

}  // namespace attnbench
