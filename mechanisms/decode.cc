#include "mechanisms/decode.h"

#include "mechanisms/common/parallel.h"

namespace attnbench {

template <class Real>
void DecodeBatch(const Mechanism<Real>& mechanism, const Config& config,
                 std::span<const Sequence<Real>> batch, int threads) {
  ParallelFor(static_cast<Index>(batch.size()), threads, [&](Index b) {
    DecodeSequence(mechanism, config, batch[Size(b)],
                   [](Index, const StepResult<Real>&) {});
  });
}

template void DecodeBatch(const Mechanism<float>&, const Config&,
                          std::span<const Sequence<float>>, int);
template void DecodeBatch(const Mechanism<double>&, const Config&,
                          std::span<const Sequence<double>>, int);

}  // namespace attnbench
