#include "mechanisms/train.h"

#include "mechanisms/common/parallel.h"

namespace attnbench {

template <class Real>
void TrainBatch(const Mechanism<Real>& mechanism, const Config& config,
                std::span<const TrainingSequence<Real>> batch, int threads) {
  const bool with_gradient = config.mode == "gradient";
  ParallelFor(static_cast<Index>(batch.size()), threads, [&](Index b) {
    const TrainingSequence<Real>& one = batch[Size(b)];
    if (with_gradient) {
      mechanism.Gradient(config, one.sequence, one.cotangent, one.expectation,
                         one.gradients);
    } else {
      mechanism.Expect(config, one.sequence, one.expectation);
    }
  });
}

template void TrainBatch(const Mechanism<float>&, const Config&,
                         std::span<const TrainingSequence<float>>, int);
template void TrainBatch(const Mechanism<double>&, const Config&,
                         std::span<const TrainingSequence<double>>, int);

}  // namespace attnbench
