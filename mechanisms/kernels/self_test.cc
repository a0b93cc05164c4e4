#include "mechanisms/kernels/self_test.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <stdexcept>

#include "mechanisms/kernels/error_bounds.h"
#include "mechanisms/kernels/scalar_kernels.h"

namespace attnbench {
namespace {

using Index = std::int64_t;

template <class T>
using Numbers = std::vector<T>;

// What a kernel wrote.
template <class T>
struct Result {
  const char* kernel;
  Numbers<T> numbers;
};

// Gives `count` numbers from low to high in no order, which are the same in
// every precision.
template <class T>
Numbers<T> Some(Index count, int which, double low, double high) {
  Numbers<T> numbers;
  for (Index k = 0; k < count; ++k) {
    const double turns =
        0.6180339887 * static_cast<double>(k + 1) + 0.3247179572 * which;
    numbers.push_back(
        static_cast<float>(low + (high - low) * (turns - std::floor(turns))));
  }
  return numbers;
}

// Gives what all kernels make of arrays of n numbers. None is far from 1, and
// where many are summed they do not cancel.
template <class T>
std::vector<Result<T>> ResultsOf(const Kernels<T>& kernels, Index n) {
  constexpr Index kRows = 20;  // the scan takes eight or more at a time
  const auto signs = Some<T>(n, 1, -2, 2), others = Some<T>(n, 2, -2, 2);
  const auto x = Some<T>(n, 3, 0.5, 2), y = Some<T>(n, 4, 0.5, 2),
             z = Some<T>(n, 5, 0.5, 2);
  const auto rows = Some<T>(kRows * n, 6, 0.5, 2);
  const auto p = Some<T>(kRows * n, 7, 0.1, 0.9);
  const auto weights = Some<T>(kRows, 8, 0.5, 2);
  Numbers<T> complement;
  Numbers<double> passed;
  for (const T some : p) {
    complement.push_back(1 - some);
    passed.push_back(static_cast<double>(1 - some));
  }
  Numbers<T> scratch(x.size() + 1);
  constexpr int powers[kRows] = {1, 0, 1, 0, 1, 0};

  std::vector<Result<T>> results;
  const auto add = [&](const char* kernel,
                       std::initializer_list<Numbers<T>> written) {
    for (const Numbers<T>& numbers : written) {
      results.push_back({kernel, numbers});
    }
  };

  // What a kernel hands to the next row.
  Numbers<Carry<T>> carried;
  const auto carry = [&](const Numbers<T>& numbers) {
    carried.assign(numbers.begin(), numbers.end());
    return carried.data();
  };
  const auto is_carried = [&] {
    return Numbers<T>(carried.begin(), carried.end());
  };

  Numbers<T> energies(kRows);
  kernels.dot_rows(x.data(), rows.data(), n, kRows, n, energies.data());
  add("dot_rows", {energies});
  kernels.additive_rows(x.data(), rows.data(), n, y.data(), kRows, n,
                        energies.data());
  add("additive_rows", {energies});
  kernels.factored_additive_rows(x.data(), rows.data(), n, y.data(), kRows, n,
                                 energies.data());
  add("factored_additive_rows", {energies});

  Numbers<T> a = x, b = y, c = z;
  kernels.additive_backward(signs.data(), others.data(), weights[0], n,
                            a.data(), b.data(), c.data());
  add("additive_backward", {a, b, c});
  Numbers<T> many = rows;
  a = x, b = y;
  kernels.factored_additive_backward(x.data(), rows.data(), n, weights.data(),
                                     kRows, n, a.data(), many.data(), b.data());
  add("factored_additive_backward", {a, b, many});
  a = x;
  kernels.add_rows(weights.data(), rows.data(), n, kRows, n, a.data());
  add("add_rows", {a});

  a = x;
  kernels.scale(weights[0], n, a.data());
  add("scale", {a});
  kernels.add(signs.data(), x.data(), n, a.data());
  add("add", {a});
  kernels.multiply(signs.data(), x.data(), n, a.data());
  add("multiply", {a});
  add("largest", {{kernels.largest(signs.data(), n)}});
  T smallest = 0, largest = 0;
  kernels.range(signs.data(), n, &smallest, &largest);
  add("range", {{smallest, largest}});

  kernels.exp_twice(signs.data(), 1, n, a.data());
  add("exp_twice", {a});
  const T sum = kernels.exp_sum(signs.data(), 2, n, a.data());
  add("exp_sum", {a, {sum}});
  kernels.exp_scaled(signs.data(), n, 1, a.data());
  add("exp_scaled", {a});
  kernels.softmax_backward(x.data(), y.data(), n, a.data());
  add("softmax_backward", {a});
  kernels.sigmoid(signs.data(), n, a.data(), b.data());
  add("sigmoid", {a, b});

  Numbers<T> arrived = rows;
  const auto more = Some<T>(kRows * n, 11, 0.5, 2);
  const Numbers<Carry<T>> d_more(more.rbegin(), more.rend());
  for (const Numbers<T>& some : {Numbers<T>(), complement}) {
    const T* const of_p = some.empty() ? nullptr : some.data();
    kernels.select_rows(p.data(), n, of_p, carry(x), kRows, n, many.data(), n,
                        arrived.data(), n);
    add("select_rows", {many, arrived, is_carried()});
    kernels.select_rows_backward(p.data(), n, of_p, rows.data(), n, more.data(),
                                 n, d_more.data(), kRows, n, many.data(), n,
                                 carry(y));
    add("select_rows_backward", {many, is_carried()});
  }
  for (const Index width : {3, 65}) {  // summed in two ways
    kernels.sums_from(x.data(), y.data(), n, width, scratch.data(), a.data());
    add("sums_from", {a});
    kernels.ratios_up_to(x.data(), y.data(), n, width, scratch.data(),
                         a.data());
    add("ratios_up_to", {a});
    Numbers<double> wide_scratch(
        static_cast<std::size_t>(WindowsBackwardScratch(width, n)));
    kernels.windows_backward(p.data(), n, powers, rows.data(), n, p.data(), n,
                             kRows, n, width, wide_scratch.data(), carry(rows),
                             n, many.data(), n);
    add("windows_backward", {is_carried(), many});
  }

  b = y;
  kernels.reciprocal_sums(x.data(), y.data(), n, z.data(), x.data(), n,
                          a.data(), b.data());
  add("reciprocal_sums", {a, b});
  Numbers<T> sums(4);
  Numbers<T> columns[4] = {x, y, z, x};
  T* const of_columns[4] = {columns[0].data(), columns[1].data(),
                            columns[2].data(), columns[3].data()};
  kernels.reciprocal_moments(weights[0], weights[1], weights[2], x.data(),
                             y.data(), z.data(), n, sums.data(), of_columns);
  add("reciprocal_moments",
      {sums, columns[0], columns[1], columns[2], columns[3]});
  // Eight octaves have too few numbers each for expansions, whose table takes a
  // hundred times as long to make as all of this.
  auto rising = Some<T>(n, 9, -4, 4), falling = Some<T>(n, 10, -4, 4);
  for (Numbers<T>* const side : {&rising, &falling}) {
    for (T& exponent : *side) {
      exponent = static_cast<float>(std::exp2(static_cast<double>(exponent)));
    }
  }
  std::ranges::sort(rising);
  std::ranges::sort(falling, std::greater());
  kernels.cauchy_sums(rising.data(), x.data(), n, falling.data(), z.data(), n,
                      a.data(), b.data());
  add("cauchy_sums", {a, b});
  Numbers<T> row[4] = {x, y, z, x};
  T* const of_rows[4] = {row[0].data(), row[1].data(), row[2].data(),
                         row[3].data()};
  kernels.cauchy_moments(rising.data(), x.data(), y.data(), n, falling.data(),
                         z.data(), x.data(), n, of_rows, of_columns);
  add("cauchy_moments", {row[0], row[1], row[2], row[3], columns[0], columns[1],
                         columns[2], columns[3]});

  a = z;
  kernels.adaptive_blocks(x.data(), y.data(), p.data(), passed.data(), n,
                          a.data());
  add("adaptive_blocks", {a});
  Numbers<T> d = x;
  a = x, b = y, c = z;
  kernels.adaptive_blocks_backward(x.data(), z.data(), y.data(), p.data(),
                                   passed.data(), n, a.data(), b.data(),
                                   c.data(), d.data());
  add("adaptive_blocks_backward", {a, b, c, d});
  return results;
}

// The first kernel that is wrong; null if none is.
template <class Real>
const char* WrongKernel(const Kernels<Real>& kernels) {
  // The loosest of the bounds: the others hold too, for so few numbers.
  constexpr double kTolerance = kCauchySquareError<Real>;
  const Index N = kernels.lanes;
  for (const Index n : {Index{1}, std::max<Index>(1, N - 1), N, N + 1,
                        std::max<Index>(4 * N + 3, 67)}) {
    const auto found = ResultsOf(kernels, n);
    const auto right = ResultsOf(ScalarKernels<double>(), n);
    for (std::size_t r = 0; r < found.size(); ++r) {
      double most = 1;
      for (const double x : right[r].numbers)
        most = std::max(most, std::abs(x));
      for (std::size_t k = 0; k < found[r].numbers.size(); ++k) {
        const double error = std::abs(static_cast<double>(found[r].numbers[k]) -
                                      right[r].numbers[k]);
        if (!(error <= kTolerance * most)) return found[r].kernel;
      }
    }
  }
  return nullptr;
}

}  // namespace

template <class Real>
void CheckKernels(const Kernels<Real>& kernels, const std::string& level) {
  const char* const wrong = WrongKernel(kernels);
  if (wrong == nullptr) return;
  throw std::runtime_error("SIMD level " + level + ": kernel " + wrong +
                           " gives wrong numbers on this CPU, in " +
                           (sizeof(Real) == sizeof(float) ? "f32" : "f64"));
}

void CheckBestKernels() {
  [[maybe_unused]] static const bool are_right = [] {
    CheckKernels(BestKernels<float>(), SimdName());
    CheckKernels(BestKernels<double>(), SimdName());
    return true;
  }();
}

template void CheckKernels(const Kernels<float>&, const std::string&);
template void CheckKernels(const Kernels<double>&, const std::string&);

}  // namespace attnbench
