// A switch for kernels to which a number below the least normal one is nothing:
// CPUs are slow with such numbers.
#ifndef ATTNBENCH_MECHANISMS_KERNELS_FLUSH_DENORMALS_H_
#define ATTNBENCH_MECHANISMS_KERNELS_FLUSH_DENORMALS_H_

#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace attnbench {

// While one of these lives, the thread that made it takes denormal numbers, f32
// and f64, for zeros of their sign, and makes zeros of results that would be
// denormal. Its end, by an exception too, restores the mode that it found. On
// CPUs other than x86-64 and 64-bit Arm it does nothing.
//
// Compilers do not know that arithmetic depends on this mode, and may move some
// of it out of the scope. They do not move calls: the work belongs in a
// function that is not inlined (HWY_NOINLINE) and writes its results to memory.
class FlushDenormals {
 public:
  // The bits of the mode: FTZ and DAZ of MXCSR, FZ of FPCR.
#if defined(__x86_64__)
  static constexpr std::uint64_t kMode = 0x8040;
#elif defined(__aarch64__)
  static constexpr std::uint64_t kMode = std::uint64_t{1} << 24;
#else
  static constexpr std::uint64_t kMode = 0;
#endif

  FlushDenormals() : found_(Mode()) { SetMode(kMode); }
  ~FlushDenormals() { SetMode(found_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

  // Gives those of these bits that are set in this thread.
  static std::uint64_t Mode() { return Register() & kMode; }

 private:
  // The other bits of the register stay: those of rounding, and the flags of
  // what has happened.
  static void SetMode([[maybe_unused]] std::uint64_t mode) {
    [[maybe_unused]] const std::uint64_t all = (Register() & ~kMode) | mode;
#if defined(__x86_64__)
    _mm_setcsr(static_cast<unsigned>(all));
#elif defined(__aarch64__)
    asm volatile("msr fpcr, %0" : : "r"(all) : "memory");
#endif
  }

  static std::uint64_t Register() {
#if defined(__x86_64__)
    return _mm_getcsr();
#elif defined(__aarch64__)
    std::uint64_t all = 0;
    asm volatile("mrs %0, fpcr" : "=r"(all) : : "memory");
    return all;
#else
    return 0;
#endif
  }

  const std::uint64_t found_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_KERNELS_FLUSH_DENORMALS_H_
