// Parameter arrays by name, drawn from Philox as a function of seed, name and
// element, and rounded to f32 so that both precisions have the same numbers.
#ifndef ATTNBENCH_HARNESS_DRAWN_PARAMETERS_H_
#define ATTNBENCH_HARNESS_DRAWN_PARAMETERS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "harness/arrays.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

// What the entries of an array are multiplied by; null: 1.
using ParameterGain = double (*)(std::string_view name, Index cols);

// Entries are uniform with variance 1 / cols, times the gain's square.
// Thread-safe.
template <class Real>
class DrawnParameters final : public ParameterSource<Real> {
 public:
  explicit DrawnParameters(std::uint64_t seed, ParameterGain gain = nullptr)
      : seed_(seed), gain_(gain) {}

  // Throws std::bad_alloc for more than the machine has left.
  MatrixView<const Real> Matrix(std::string_view name, Index rows,
                                Index cols) const override;

 private:
  Array<Real> Make(std::string_view name, Index rows, Index cols) const;

  const std::uint64_t seed_;
  const ParameterGain gain_;
  mutable std::mutex mutex_;
  mutable std::map<std::tuple<std::string, Index, Index>, Array<Real>> arrays_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_DRAWN_PARAMETERS_H_
