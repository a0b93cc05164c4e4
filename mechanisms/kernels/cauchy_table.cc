#include "mechanisms/kernels/cauchy_table.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace attnbench {
namespace {

constexpr std::size_t kOrder = kCauchyOrder;
constexpr std::size_t kStride = kCauchyStride;
// Chebyshev nodes at which the kernel is taken: so many that what the expansion
// leaves out is all of its error.
constexpr std::size_t kNodes = 40;

// T_n at each node, times what makes coefficients of values there.
using Transform = std::array<std::array<double, kNodes>, kOrder>;

double Angle(std::size_t node) {
  return std::numbers::pi * (static_cast<double>(node) + 0.5) / kNodes;
}

Transform MakeTransform() {
  Transform made;
  for (std::size_t n = 0; n < kOrder; ++n) {
    for (std::size_t i = 0; i < kNodes; ++i) {
      made[n][i] = (n == 0 ? 1.0 : 2.0) / kNodes *
                   std::cos(static_cast<double>(n) * Angle(i));
    }
  }
  return made;
}

// Appends the coefficients of 1 / (x + y)^power for x in [1, 2] and y in
// 2^-distance [1, 2].
void Append(const Transform& transform, int distance, int power,
            std::vector<double>& table) {
  std::array<double, kNodes> at;  // nodes in [1, 2]
  for (std::size_t i = 0; i < kNodes; ++i) at[i] = (3 + std::cos(Angle(i))) / 2;
  std::array<std::array<double, kOrder>, kNodes> half;  // done for y
  for (std::size_t i = 0; i < kNodes; ++i) {
    for (std::size_t n = 0; n < kOrder; ++n) {
      half[i][n] = 0;
      for (std::size_t j = 0; j < kNodes; ++j) {
        const double r = 1 / (at[i] + std::ldexp(at[j], -distance));
        half[i][n] += transform[n][j] * (power == 1 ? r : r * r);
      }
    }
  }
  for (std::size_t m = 0; m < kOrder; ++m) {
    for (std::size_t n = 0; n < kStride; ++n) {
      double sum = 0;
      for (std::size_t i = 0; n < kOrder && i < kNodes; ++i) {
        sum += transform[m][i] * half[i][n];
      }
      table.push_back(sum);
    }
  }
}

std::vector<double> MakeTable(int power) {
  const Transform transform = MakeTransform();
  std::vector<double> table;
  for (int distance = 0; distance < kCauchyDistances; ++distance) {
    Append(transform, distance, power, table);
  }
  return table;
}

const double* At(const std::vector<double>& table, std::int64_t distance) {
  return table.data() + distance * kCauchyOrder * kCauchyStride;
}

}  // namespace

const double* CauchyTable(std::int64_t distance) {
  static const std::vector<double> table = MakeTable(1);
  return At(table, distance);
}

const double* SquaredCauchyTable(std::int64_t distance) {
  static const std::vector<double> table = MakeTable(2);
  return At(table, distance);
}

}  // namespace attnbench
