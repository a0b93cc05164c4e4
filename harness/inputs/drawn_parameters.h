// Parameter arrays by name, drawn from Philox as a function of seed, name and
// element, and rounded to f32 so that both precisions have the same numbers.
#ifndef ATTNBENCH_HARNESS_INPUTS_DRAWN_PARAMETERS_H_
#define ATTNBENCH_HARNESS_INPUTS_DRAWN_PARAMETERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "harness/base/arrays.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

// The purpose (base/purposes.h) of an array, from its name alone.
std::uint32_t NamedPurpose(std::string_view name);

// Changes an array after it was drawn.
template <class Real>
using ParameterChange =
    std::function<void(std::string_view name, const MatrixView<Real>& matrix)>;

// Multiplies entries by `gain` and rounds them to f32 again.
template <class Real>
void Scale(double gain, const MatrixView<Real>& matrix) {
  for (Index r = 0; r < matrix.rows; ++r) {
    for (Real& value : matrix.Row(r)) {
      value = static_cast<float>(gain * static_cast<double>(value));
    }
  }
}

// Entries are uniform with variance 1 / cols; then `change`, if any, is called
// for the array. Thread-safe.
template <class Real>
class DrawnParameters final : public ParameterSource<Real> {
 public:
  explicit DrawnParameters(std::uint64_t seed,
                           ParameterChange<Real> change = nullptr,
                           ArrayGaps* gaps = nullptr)
      : seed_(seed), change_(std::move(change)), gaps_(gaps) {}

  // Throws std::bad_alloc for more than the machine has left.
  MatrixView<const Real> Matrix(std::string_view name, Index rows,
                                Index cols) const override;

 private:
  Array<Real> Make(std::string_view name, Index rows, Index cols) const;

  const std::uint64_t seed_;
  const ParameterChange<Real> change_;
  ArrayGaps* const gaps_;
  mutable std::mutex mutex_;
  mutable std::map<std::tuple<std::string, Index, Index>, Array<Real>> arrays_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_INPUTS_DRAWN_PARAMETERS_H_
