// Refuses flags with which a compiler may compute other numbers than those that
// are written: comparisons with NaN and infinity vanish, sums change their
// order, divisions become products. The files of kernels include it, and
// cmake/compiler_flags.cmake compiles it before anything else, as such flags
// are those of a whole build. clang has macros for two of them only; that file
// knows the others by their names.
#ifndef ATTNBENCH_MECHANISMS_COMMON_ARITHMETIC_H_
#define ATTNBENCH_MECHANISMS_COMMON_ARITHMETIC_H_

#include <cfloat>

#if defined(__FAST_MATH__)
#error "-ffast-math (or what implies it, as -Ofast does) changes numbers"
#elif defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "-ffinite-math-only changes numbers"
#elif defined(__ASSOCIATIVE_MATH__)
#error "-fassociative-math or -funsafe-math-optimizations changes numbers"
#elif defined(__RECIPROCAL_MATH__)
#error "-freciprocal-math changes numbers"
#elif defined(__NO_SIGNED_ZEROS__)
#error "-fno-signed-zeros changes numbers"
#elif defined(__GCC_IEC_559) && __GCC_IEC_559 == 0
#error "a flag changes numbers, such as -fsingle-precision-constant"
#endif

static_assert(FLT_EVAL_METHOD != 1 && FLT_EVAL_METHOD != 2,
              "-mfpmath=387 changes numbers");
// References compute in `long double`.
static_assert(LDBL_MANT_DIG > DBL_MANT_DIG, "-mlong-double-64 changes numbers");

#endif  // ATTNBENCH_MECHANISMS_COMMON_ARITHMETIC_H_
