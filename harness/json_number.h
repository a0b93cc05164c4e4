// Numbers in our documents: JSON has neither infinity nor NaN.
#ifndef ATTNBENCH_HARNESS_JSON_NUMBER_H_
#define ATTNBENCH_HARNESS_JSON_NUMBER_H_

#include <cmath>

#include "harness/axes.h"

namespace attnbench {

// For readers to whom anything that is not finite is no number.
inline Json NumberOrNull(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

// For those who tell them apart: "nan", "inf" or "-inf".
inline Json NumberOrName(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_JSON_NUMBER_H_
