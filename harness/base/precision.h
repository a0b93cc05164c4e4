// How wide numbers are.
#ifndef ATTNBENCH_HARNESS_BASE_PRECISION_H_
#define ATTNBENCH_HARNESS_BASE_PRECISION_H_

#include "harness/base/names.h"

namespace attnbench {

enum class Precision { kF32, kF64 };

template <>
struct ValueNames<Precision> {
  static constexpr NamedValue<Precision> kAll[] = {{"f32", Precision::kF32},
                                                   {"f64", Precision::kF64}};
};

template <class Real>
constexpr Precision kPrecisionOf = sizeof(Real) == sizeof(float)
                                       ? Precision::kF32
                                       : Precision::kF64;

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_BASE_PRECISION_H_
