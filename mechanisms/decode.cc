#include "mechanisms/decode.h"

#include <algorithm>
#include <exception>

namespace attnbench {

template <class Real>
void DecodeBatch(const Mechanism<Real>& mechanism, const Config& config,
                 std::span<const Sequence<Real>> batch, int threads) {
  const auto ignore_step = [](Index, const StepResult<Real>&) {};
  if (threads == 1 || batch.size() == 1) {  // no team: entering one costs time
    for (const Sequence<Real>& sequence : batch) {
      DecodeSequence(mechanism, config, sequence, ignore_step);
    }
    return;
  }
  // More threads than sequences would only be started to wait.
  threads = std::min(threads, static_cast<int>(batch.size()));
  std::exception_ptr failure;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::size_t b = 0; b < batch.size(); ++b) {
    try {
      DecodeSequence(mechanism, config, batch[b], ignore_step);
    } catch (...) {
#pragma omp critical(attnbench_decode_failure)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

template void DecodeBatch(const Mechanism<float>&, const Config&,
                          std::span<const Sequence<float>>, int);
template void DecodeBatch(const Mechanism<double>&, const Config&,
                          std::span<const Sequence<double>>, int);

}  // namespace attnbench
