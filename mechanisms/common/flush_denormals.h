// On x86, denormal numbers count as 0 while an object of this lives, in its
// thread; elsewhere it does nothing.
//
// Far from where a scan is, alpha and its gradients fall below the least normal
// number. Many x86 CPUs make products with such numbers in microcode, which
// slows matrix products of whole arrays of them. What is lost is less than the
// least normal number times the other factor.
#ifndef ATTNBENCH_MECHANISMS_COMMON_FLUSH_DENORMALS_H_
#define ATTNBENCH_MECHANISMS_COMMON_FLUSH_DENORMALS_H_

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace attnbench {

class FlushDenormals {
 public:
#ifdef __SSE__
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kBits); }
  ~FlushDenormals() { _mm_setcsr(before_); }
#else
  FlushDenormals() {}
  ~FlushDenormals() {}
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#ifdef __SSE__
  // Results that are denormal, and arguments.
  static constexpr unsigned kBits = 0x8000 | 0x0040;
  const unsigned before_;
#endif
};

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_COMMON_FLUSH_DENORMALS_H_
