// An array that shows a read or write beyond it.
#ifndef ATTNBENCH_MECHANISMS_KERNELS_ERRORS_GUARDED_ARRAY_H_
#define ATTNBENCH_MECHANISMS_KERNELS_ERRORS_GUARDED_ARRAY_H_

#include "mechanisms/common/array.h"

namespace attnbench {

// It starts one element off a cache line, with a guard on either side: NaN
// around inputs turns a read past the end into a NaN, and a number around
// outputs shows a write past it.
template <class Real>
class GuardedArray {
 public:
  GuardedArray(Index size, Real guard)
      : guard_(guard), size_(size), all_(Size(size + 2 * kGuard), guard) {}
  Real* data() { return all_.data() + kGuard; }
  const Real* data() const { return all_.data() + kGuard; }
  Real& operator[](Index n) { return data()[n]; }
  Real operator[](Index n) const { return data()[n]; }
  Index size() const { return size_; }
  bool GuardsIntact() const {
    for (Index n = 0; n < kGuard; ++n) {
      if (Differs(all_[Size(n)]) || Differs(data()[size_ + n])) return false;
    }
    return true;
  }

 private:
  static constexpr Index kGuard = 17;  // a cache line of f32, and one more
  bool Differs(Real value) const {
    const bool both_are_nan = value != value && guard_ != guard_;
    return value != guard_ && !both_are_nan;
  }
  Real guard_;
  Index size_;
  Buffer<Real> all_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_KERNELS_ERRORS_GUARDED_ARRAY_H_
