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

// What all kernels make of arrays of n numbers. None is far from 1, and where
// many are summed they do not cancel.
template <class T>
struct KernelResults {
  KernelResults(const Kernels<T>& table, Index count)
      : kernels(table), n(count) {
    for (const T some : p) {
      complement.push_back(1 - some);
      passed.push_back(static_cast<double>(1 - some));
    }
    Energies();
    Elements();
    Scans();
    Windows();
    PairsOfSums();
    AdaptiveBlocks();
  }

  void Add(const char* kernel, std::initializer_list<Numbers<T>> written) {
    for (const Numbers<T>& numbers : written) {
      results.push_back({kernel, numbers});
    }
  }

  // What a kernel hands to the next row.
  Carry<T>* Carried(const Numbers<T>& numbers) {
    carried.assign(numbers.begin(), numbers.end());
    return carried.data();
  }
  Numbers<T> IsCarried() const {
    return Numbers<T>(carried.begin(), carried.end());
  }

  void Energies() {
    Numbers<T> energies(kRows);
    kernels.dot_rows(x.data(), rows.data(), n, kRows, n, energies.data());
    Add("dot_rows", {energies});
    kernels.additive_rows(x.data(), rows.data(), n, y.data(), kRows, n,
                          energies.data());
    Add("additive_rows", {energies});
    kernels.factored_additive_rows(x.data(), rows.data(), n, y.data(), kRows, n,
                                   energies.data());
    Add("factored_additive_rows", {energies});

    a = x, b = y, c = z;
    kernels.additive_backward(signs.data(), others.data(), weights[0], n,
                              a.data(), b.data(), c.data());
    Add("additive_backward", {a, b, c});
    many = rows;
    a = x, b = y;
    kernels.factored_additive_backward(x.data(), rows.data(), n, weights.data(),
                                       kRows, n, a.data(), many.data(),
                                       b.data());
    Add("factored_additive_backward", {a, b, many});
    a = x;
    kernels.add_rows(weights.data(), rows.data(), n, kRows, n, a.data());
    Add("add_rows", {a});
  }

  void Elements() {
    a = x;
    kernels.scale(weights[0], n, a.data());
    Add("scale", {a});
    kernels.add(signs.data(), x.data(), n, a.data());
    Add("add", {a});
    kernels.multiply(signs.data(), x.data(), n, a.data());
    Add("multiply", {a});
    Add("largest", {{kernels.largest(signs.data(), n)}});
    T smallest = 0, largest = 0;
    kernels.range(signs.data(), n, &smallest, &largest);
    Add("range", {{smallest, largest}});

    kernels.exp_twice(signs.data(), 1, n, a.data());
    Add("exp_twice", {a});
    const T sum = kernels.exp_sum(signs.data(), 2, n, a.data());
    Add("exp_sum", {a, {sum}});
    kernels.exp_scaled(signs.data(), n, 1, a.data());
    Add("exp_scaled", {a});
    kernels.softmax_backward(x.data(), y.data(), n, a.data());
    Add("softmax_backward", {a});
    kernels.sigmoid(signs.data(), n, a.data(), b.data());
    Add("sigmoid", {a, b});
  }

  void Scans() {
    Numbers<T> arrived = rows;
    const auto more = Some<T>(kRows * n, 11, 0.5, 2);
    const Numbers<Carry<T>> d_more(more.rbegin(), more.rend());
    for (const Numbers<T>& some : {Numbers<T>(), complement}) {
      const T* const of_p = some.empty() ? nullptr : some.data();
      kernels.select_rows(p.data(), n, of_p, Carried(x), kRows, n, many.data(),
                          n, arrived.data(), n);
      Add("select_rows", {many, arrived, IsCarried()});
      kernels.select_rows_backward(p.data(), n, of_p, rows.data(), n,
                                   more.data(), n, d_more.data(), kRows, n,
                                   many.data(), n, Carried(y));
      Add("select_rows_backward", {many, IsCarried()});
    }
  }

  void Windows() {
    for (const Index width : {3, 65}) {  // summed in two ways
      kernels.sums_from(x.data(), y.data(), n, width, scratch.data(), a.data());
      Add("sums_from", {a});
      kernels.ratios_up_to(x.data(), y.data(), n, width, scratch.data(),
                           a.data());
      Add("ratios_up_to", {a});
      Numbers<double> wide_scratch(
          static_cast<std::size_t>(WindowsBackwardScratch(width, n)));
      kernels.windows_backward(p.data(), n, kPowers, rows.data(), n, p.data(),
                               n, kRows, n, width, wide_scratch.data(),
                               Carried(rows), n, many.data(), n);
      Add("windows_backward", {IsCarried(), many});
    }
  }

  void PairsOfSums() {
    b = y;
    kernels.reciprocal_sums(x.data(), y.data(), n, z.data(), x.data(), n,
                            a.data(), b.data());
    Add("reciprocal_sums", {a, b});
    Numbers<T> sums(4);
    Numbers<T> columns[4] = {x, y, z, x};
    T* const of_columns[4] = {columns[0].data(), columns[1].data(),
                              columns[2].data(), columns[3].data()};
    kernels.reciprocal_moments(weights[0], weights[1], weights[2], x.data(),
                               y.data(), z.data(), n, sums.data(), of_columns);
    Add("reciprocal_moments",
        {sums, columns[0], columns[1], columns[2], columns[3]});
    // Eight octaves have too few numbers each for expansions, whose table takes
    // a hundred times as long to make as all of this.
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
    Add("cauchy_sums", {a, b});
    Numbers<T> row[4] = {x, y, z, x};
    T* const of_rows[4] = {row[0].data(), row[1].data(), row[2].data(),
                           row[3].data()};
    kernels.cauchy_moments(rising.data(), x.data(), y.data(), n, falling.data(),
                           z.data(), x.data(), n, of_rows, of_columns);
    Add("cauchy_moments", {row[0], row[1], row[2], row[3], columns[0],
                           columns[1], columns[2], columns[3]});
  }

  void AdaptiveBlocks() {
    a = z;
    kernels.adaptive_blocks(x.data(), y.data(), p.data(), passed.data(), n,
                            a.data());
    Add("adaptive_blocks", {a});
    Numbers<T> d = x;
    a = x, b = y, c = z;
    kernels.adaptive_blocks_backward(x.data(), z.data(), y.data(), p.data(),
                                     passed.data(), n, a.data(), b.data(),
                                     c.data(), d.data());
    Add("adaptive_blocks_backward", {a, b, c, d});
  }

  static constexpr Index kRows = 20;  // the scan takes eight or more at a time
  static constexpr int kPowers[kRows] = {1, 0, 1, 0, 1, 0};

  const Kernels<T>& kernels;
  const Index n;
  const Numbers<T> signs = Some<T>(n, 1, -2, 2), others = Some<T>(n, 2, -2, 2);
  const Numbers<T> x = Some<T>(n, 3, 0.5, 2), y = Some<T>(n, 4, 0.5, 2),
                   z = Some<T>(n, 5, 0.5, 2);
  const Numbers<T> rows = Some<T>(kRows * n, 6, 0.5, 2);
  const Numbers<T> p = Some<T>(kRows * n, 7, 0.1, 0.9);
  const Numbers<T> weights = Some<T>(kRows, 8, 0.5, 2);
  std::vector<Result<T>> results;
  Numbers<T> complement;
  Numbers<double> passed;
  Numbers<T> scratch = Numbers<T>(x.size() + 1);
  Numbers<T> a = x, b = y, c = z, many = rows;
  Numbers<Carry<T>> carried;
};

// The first kernel that is wrong; null if none is.
template <class Real>
const char* WrongKernel(const Kernels<Real>& kernels) {
  // The loosest of the bounds: the others hold too, for so few numbers.
  constexpr double kTolerance = kCauchySquareError<Real>;
  const Index N = kernels.lanes;
  for (const Index n : {Index{1}, std::max<Index>(1, N - 1), N, N + 1,
                        std::max<Index>(4 * N + 3, 67)}) {
    const auto found = KernelResults<Real>(kernels, n).results;
    const auto right =
        KernelResults<double>(ScalarKernels<double>(), n).results;
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
