// Chebyshev expansions of 1 / (x + y) and of its square over two octaves, which
// the kernels of far pairs use (kernels.h, cauchy_sums). The kernel 1 / (x + y)
// of a Cauchy matrix is smooth where x and y are positive: over octaves a
// polynomial of 18 terms has 13 digits of it, one of 22 has 14 of its square.
#ifndef ATTNBENCH_MECHANISMS_KERNELS_CAUCHY_TABLE_H_
#define ATTNBENCH_MECHANISMS_KERNELS_CAUCHY_TABLE_H_

#include <cstdint>

namespace attnbench {

// Terms of an expansion in each variable.
inline constexpr std::int64_t kCauchyOrder = 22;
// Numbers of a row of the table; those behind the order are 0.
inline constexpr std::int64_t kCauchyStride = 24;
// From this distance of octaves on the lesser of x and y is nothing beside the
// other.
inline constexpr std::int64_t kCauchyDistances = 65;

// With x = 2^e (3 + s) / 2, y = 2^(e - d) (3 + t) / 2 and s, t in [-1, 1]:
//   1 / (x + y)   = 2^-e    sum over m, n of C[m][n] T_m(s) T_n(t)
//   1 / (x + y)^2 = 2^(-2e) sum over m, n of C2[m][n] T_m(s) T_n(t)
// up to 4e-17 and 2e-15 of it, at the ends of octaves. Both are
// [kCauchyOrder][kCauchyStride], for d from 0 to kCauchyDistances - 1. They are
// made at the first call.
const double* CauchyTable(std::int64_t distance);
const double* SquaredCauchyTable(std::int64_t distance);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_KERNELS_CAUCHY_TABLE_H_
