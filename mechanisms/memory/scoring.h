// score of Britz eqs 5 and 7: softmax or the logistic sigmoid of K scores, and
// its gradient.
#ifndef ATTNBENCH_MECHANISMS_MEMORY_SCORING_H_
#define ATTNBENCH_MECHANISMS_MEMORY_SCORING_H_

#include <string>

#include "mechanisms/common/array.h"
#include "mechanisms/kernels/kernels.h"

namespace attnbench::memory {

template <class Real>
class Scoring {
 public:
  explicit Scoring(const std::string& name)
      : kernels_(BestKernels<Real>()), sigmoid_(name == "sigmoid") {}

  // y = score(x); `y` may be `x`.
  void operator()(Index count, const Real* x, Real* y) const {
    if (sigmoid_) {
      kernels_.sigmoid(x, count, y, nullptr);
      return;
    }
    const Real sum = kernels_.exp_sum(x, kernels_.largest(x, count), count, y);
    kernels_.scale(1 / sum, count, y);
  }

  // Goes from dL/dy, y = score(x), to dL/dx, in place:
  // y_k (dy_k - sum over l of y_l dy_l), or dy_k y_k (1 - y_k).
  void Back(Index count, const Real* y, Real* gradient) const {
    if (sigmoid_) {
      for (Index k = 0; k < count; ++k) gradient[k] *= y[k] * (1 - y[k]);
      return;
    }
    kernels_.softmax_backward(y, gradient, count, gradient);
  }

 private:
  const Kernels<Real>& kernels_;
  const bool sigmoid_;
};

}  // namespace attnbench::memory

#endif  // ATTNBENCH_MECHANISMS_MEMORY_SCORING_H_
