// Hands a mechanism its parameters and remembers which it asked for.
#ifndef ATTNBENCH_HARNESS_INPUTS_ASKED_PARAMETERS_H_
#define ATTNBENCH_HARNESS_INPUTS_ASKED_PARAMETERS_H_

#include <map>
#include <string>

#include "mechanisms/mechanism.h"

namespace attnbench {

// This class is not thread-safe.
template <class Real>
class AskedParameters final : public ParameterSource<Real> {
 public:
  explicit AskedParameters(const ParameterSource<Real>& source)
      : source_(source) {}
  MatrixView<const Real> Matrix(std::string_view name, Index rows,
                                Index cols) const override {
    return asked_[std::string(name)] = source_.Matrix(name, rows, cols);
  }
  const std::map<std::string, MatrixView<const Real>>& asked() const {
    return asked_;
  }
  Index bytes() const {
    Index elements = 0;
    for (const auto& [name, view] : asked_) elements += view.rows * view.cols;
    return elements * static_cast<Index>(sizeof(Real));
  }

 private:
  const ParameterSource<Real>& source_;
  mutable std::map<std::string, MatrixView<const Real>> asked_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_INPUTS_ASKED_PARAMETERS_H_
