#include "harness/inputs/drawn_parameters.h"

#include <cmath>

#include "harness/base/hash.h"
#include "harness/base/purposes.h"
#include "harness/machine/environment.h"

namespace attnbench {

std::uint32_t NamedPurpose(std::string_view name) {
  Fnv1a hash;
  hash.Add(name);
  return static_cast<std::uint32_t>(hash.hash()) | kFirstNamedPurpose;
}

template <class Real>
MatrixView<const Real> DrawnParameters<Real>::Matrix(std::string_view name,
                                                     Index rows,
                                                     Index cols) const {
  const std::lock_guard lock(mutex_);
  const auto key = std::tuple(std::string(name), rows, cols);
  auto found = arrays_.find(key);
  if (found == arrays_.end()) {
    found = arrays_.emplace(key, Make(name, rows, cols)).first;
  }
  return {found->second.data(), rows, cols};
}

template <class Real>
Array<Real> DrawnParameters<Real>::Make(std::string_view name, Index rows,
                                        Index cols) const {
  const Index count = Times(rows, cols);
  CheckFits(Times(count, sizeof(Real)));
  const double scale = std::sqrt(3.0 / static_cast<double>(cols));
  Array<Real> array(gaps_);
  Fill(seed_, NamedPurpose(name), 0, count, array);
  for (Real& value : array) {
    value = static_cast<float>(scale * static_cast<double>(value));
  }
  if (change_) change_(name, {array.data(), rows, cols});
  return array;
}

template class DrawnParameters<float>;
template class DrawnParameters<double>;

}  // namespace attnbench
