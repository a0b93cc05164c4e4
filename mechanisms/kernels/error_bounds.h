// The largest errors that kernels.h promises, as numbers: tests and the program
// kernel_errors take them from here. They count roundings one by one and
// hold for any input, except those that say that they were measured. N is
// Kernels::lanes; in units of u = half the machine epsilon of Real, unless the
// name ends in Ulp or the comment names another unit.
#ifndef ATTNBENCH_MECHANISMS_KERNELS_ERROR_BOUNDS_H_
#define ATTNBENCH_MECHANISMS_KERNELS_ERROR_BOUNDS_H_

#include <cmath>
#include <cstdint>
#include <limits>

namespace attnbench {

// The reduced argument, the polynomial and the last sum of exp make 1.9 u; the
// sigmoid adds a sum and a quotient.
inline constexpr double kExpUlp = 3;
inline constexpr double kSigmoidUlp = 4;

// Measured: over every f32, and in f64 over the arguments of
// tests/mechanisms/kernels/element_kernels_test.cc.
inline constexpr double kTanhUlp = 4;

// A unit of f64 in units of Real.
template <class Real>
inline constexpr double kUnitOfDouble =
    std::numeric_limits<double>::epsilon() /
    static_cast<double>(std::numeric_limits<Real>::epsilon());

// Of sum |query row|: four partial sums of N lanes, the sum over all of these,
// a tail and the product.
inline double DotError(std::int64_t dim, double N) {
  return static_cast<double>(dim) / (4 * N) + std::log2(4 * N) + 3;
}

// Of the weight and of the sum: two products, and the addition.
inline constexpr double kAdditiveBackwardError = 3;

// Of a sum over lanes, beside the errors of its terms.
inline double SumError(std::int64_t count, double N) {
  return static_cast<double>(count) / N + std::log2(N) + 1;
}

// Of sum |v|: twice the sum of quotients errs by 10, the two exp in it, and by
// its additions; then there are the sum of v and a difference.
inline double FactoredRowsError(std::int64_t dim, double N) {
  return 2 * static_cast<double>(dim) / N + 3 * std::log2(N) + 14;
}

// Of the sum of |weights|, over `count` pairs; the pair by itself is at most 5.
inline double FactoredBackwardError(std::int64_t count) {
  return static_cast<double>(count) + 5;
}

// In units of f64, of m in softmax_backward; N counts doubles.
inline double SoftmaxBackwardError(std::int64_t count, double N) {
  return static_cast<double>(count) / (4 * N) + std::log2(N) + 4;
}

// Of row `rows` of a scan, in units of f64. What the kernels sum are paths: a
// product of p where a row chooses and of 1 - p where it passes on, and
// backwards of one derivative. A path never goes back, so however many rows it
// has, it passes less than `count` entries, each for three roundings: of 1 - p,
// of its product, and of a sum. A row adds up to four: a product with p, and
// three sums, of where it starts or of derivatives. The bound allows ten.
inline double SelectError(std::int64_t rows, std::int64_t count) {
  return 3 * static_cast<double>(count) + 10 * static_cast<double>(rows);
}

// Of the gradient by p of all rows, in units of f64 of q (G + M), in the
// letters of select_rows_backward, beside two roundings to Real: d_p = q (g -
// dq) has q from the rows before, g and dq from those behind, a difference and
// a product. It grows with the rows by 20 units, which is 2^-24.7 of one of
// f32.
inline double SelectGradientError(std::int64_t rows, std::int64_t count) {
  return 2 * SelectError(rows, count) + 2;
}

// Narrow windows are up to 15 sums one upon another.
template <class Real>
double WindowError(std::int64_t width, double N) {
  return 20 + static_cast<double>(width) / N * kUnitOfDouble<Real>;
}

// What ratios_up_to adds to that: a reciprocal, and a product with it.
inline constexpr double kRatioError = 3;

// In units of f64, of windows of no more than `width` entries: exponentials err
// by 6 and a sum by `width`. Two sums of exponentials, an inverse and a product
// make a mean; with the weight, which errs like it, it is summed once more.
inline double WindowsBackwardError(std::int64_t width) {
  return 4 * static_cast<double>(width) + 40;
}

// In f32, of a reciprocal: x86 guesses it to 1.5 2^-12, the square of which is
// 2.25 u, and Newton's step rounds three times.
inline constexpr double kReciprocalError = 6;

// Of the sums of magnitudes of reciprocal_sums: x + y, a reciprocal and its
// product with the weight, then additions.
inline constexpr double kReciprocalTermError = kReciprocalError + 2;
inline double ReciprocalRowError(std::int64_t count, double N) {
  return kReciprocalTermError + SumError(count, N);
}
inline double ReciprocalColumnError(std::int64_t rows) {
  return kReciprocalTermError + 1 + static_cast<double>(rows);
}

// Measured, as shares of the sums of magnitudes of cauchy_sums and, of squares,
// cauchy_moments: at least twice the worst that searches found, longer ones
// than those of results/kernel_errors.txt. The expansions leave out up to
// 3.1e-7 in f32 and 4.5e-14 in f64, where numbers lie at the ends of octaves,
// and sums of up to 64 terms a lane are in Real.
template <class Real>
inline constexpr double kCauchyError = sizeof(Real) == sizeof(float) ? 5e-6
                                                                     : 1e-13;
template <class Real>
inline constexpr double kCauchySquareError = sizeof(Real) == sizeof(float)
                                                 ? 6e-6
                                                 : 1e-13;

// In units of f64. Forwards: the mass and the sum of e to an entry are up to 15
// roundings each, G two more, and sums over l and k 31. Backwards a mean has
// 32, what a scan from k is worth 48 more, and the sums over k and l the rest.
inline constexpr double kAdaptiveError = 64;
inline constexpr double kAdaptiveBackwardError = 120;

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_KERNELS_ERROR_BOUNDS_H_
