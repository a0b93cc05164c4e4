// The kernels of the monotonic scan and of windows, forwards and backwards.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "mechanisms/kernels/errors/subjects.h"

namespace attnbench::kernel_errors {
namespace {

// ---- windows ----------------------------------------------------------------

// Numbers and their factors, and the width of the windows. `sums` is a kernel,
// `further` what it does to a sum.
template <class Real>
Subject<Real> Windows(const std::string& kernel, double further,
                      const auto& sums) {
  const auto run = [=]<class T>(Call<T>& call) {
    const Index count = call.Length(0);
    const auto width = static_cast<Index>(call.In(2)[0]);
    T* const scratch = call.Scratch(std::min(width, count) + 1);
    sums(call.kernels, call.In(0), call.In(1), count, width, scratch,
         call.Out(count));
  };
  const auto compare = [=](const Made& made, auto& worst) {
    const auto width =
        std::min(static_cast<Index>(made.in[2][0]), std::ssize(made.in[0]));
    AddShares(made.found[0], made.exact[0], made.exact[0], kUnit<Real>,
              further + WindowError<Real>(width, made.lanes), kLeast<Real>,
              worst[0]);
  };
  return {
      .kernel = kernel,
      .results = {{"sums", "u of the sum"}},
      .ranges =
          [](Index n) {
            const auto most = static_cast<double>(n);
            return Ranges{{n, 0x1p-50, 0x1p50},
                          {n, 0x1p-50, 0x1p50},
                          {1, 1, most, 1, most}};
          },
      // A difference of longer sums would cancel.
      .cancel = [](auto& random, auto& in) { Spread(random, -50, 50, in[0]); },
      .repair = [](auto& in) { in[2][0] = std::round(in[2][0]); },
      .measure = Measure<Real>(1, run, compare)};
}

// What is measured against the gradients with |d|, and |d| + m for d - m.
template <class Real>
void CompareWindowsBackward(const Made& made, std::vector<WorstError>& worst) {
  const Array<Wide>& energies = made.in[0];
  const std::size_t T = energies.size();
  const auto count = static_cast<Index>(T);
  const auto width = static_cast<Index>(made.in[3][0]);
  const Kernels<Wide>& scalar = ScalarKernels<Wide>();
  // Weights underflow, and what they are multiplied with is up to 1e4.
  const Wide floor =
      4e4L * static_cast<Wide>(count) * kLeast<double> + kLeast<Real>;
  Arrays<Wide> of_magnitudes = made.in;
  of_magnitudes[2] = Magnitudes(of_magnitudes[2]);
  const Array<Wide>& magnitudes = of_magnitudes[2];
  const Arrays<Wide> all = made.reference(of_magnitudes);
  Array<Wide> e(T), weights(T), beta(T);
  scalar.exp_scaled(energies.data(), count, 0, e.data());
  scalar.ratios_up_to(e.data(), made.in[1].data(), count, width, nullptr,
                      weights.data());
  scalar.sums_from(weights.data(), e.data(), count, width, nullptr,
                   beta.data());
  const double bound = WindowsBackwardError(std::min(width, count));
  for (std::size_t j = 0; j < T; ++j) {
    worst[0].Add(made.found[0][j] - made.exact[0][j], kUnit<double> * all[0][j],
                 bound + 1, floor);
    worst[1].Add(
        made.found[1][j] - made.exact[1][j],
        kUnit<Real> * std::abs(made.exact[1][j]) +
            bound * kUnit<double> * (2 * beta[j] * magnitudes[j] - all[1][j]),
        1, floor);
  }
}

template <class Real>
Subject<Real> WindowsBackward() {
  constexpr double kMost = kSingle<Real> ? 30 : 200;
  const auto run = []<class T>(Call<T>& call) {
    const Index count = call.Length(0);
    const auto width = static_cast<Index>(call.In(3)[0]);
    const T most = *std::max_element(call.In(0), call.In(0) + count);
    const int power =
        std::is_same_v<T, Wide>
            ? 0
            : static_cast<int>(
                  std::rint(static_cast<double>(most) * std::numbers::log2e));
    Carry<T>* const d_alpha = call.template Out<Carry<T>>(count);
    call.kernels.windows_backward(
        call.In(0), 0, &power, call.In(1), 0, call.In(2), 0, 1, count, width,
        call.template Scratch<double>(WindowsBackwardScratch(width, count)),
        d_alpha, 0, call.Out(count), 0);
  };
  return {
      .kernel = "windows_backward",
      .results = {{"gradient of alpha", "units of f64 of the mean of |d|"},
                  {"gradient of chunk energies",
                   "u of the number + units of f64 of sums of |d| + its mean"}},
      .ranges =
          [](Index n) {
            const auto most = static_cast<double>(n);
            return Ranges{{n, -kMost, kMost, -3, 3},
                          {n},
                          {n, -1e4, 1e4, -1, 1},
                          {1, 1, most, 1, most}};
          },
      .cancel = [](auto& random, auto& in) { NearOne(random, in[2]); },
      // Products with the smallest e are normal numbers.
      .repair =
          [](auto& in) {
            for (Real& d : in[2]) {
              if (std::abs(static_cast<Wide>(d)) < 1e-100L) d = 0;
            }
            in[3][0] = std::round(in[3][0]);
          },
      .measure = Measure<Real>(2, run, &CompareWindowsBackward<Real>)};
}

// ---- the scan ---------------------------------------------------------------

constexpr Index kRows = 5;

// p, its complement and the start, and whether the complement is given.
template <class Real>
Subject<Real> SelectRows() {
  const auto run = []<class T>(Call<T>& call) {
    const Index count = call.Length(2), size = call.Length(0);
    Carry<T>* const start = call.template Scratch<Carry<T>>(count);
    std::copy_n(call.In(2), count, start);
    T* const alpha = call.Out(size);
    call.kernels.select_rows(call.In(0), count,
                             call.In(3)[0] > T(0.5) ? call.In(1) : nullptr,
                             start, count == 0 ? 0 : size / count, count, alpha,
                             count, call.Out(size), count);
  };
  const auto compare = [](const Made& made, auto& worst) {
    const Index count = std::ssize(made.in[2]);
    for (std::size_t n = 0; n < made.in[0].size(); ++n) {
      const auto row = static_cast<Index>(n) / count + 1;
      const double bound = 1 + SelectError(row, count) * kUnitOfDouble<Real>;
      const Wide floor =
          static_cast<Wide>(8 * row * (count + 1)) * kLeast<Real>;
      for (const std::size_t r : {0U, 1U}) {
        const Wide exact = made.exact[r][n];
        worst[r].Add(made.found[r][n] - exact, kUnit<Real> * exact, bound,
                     floor);
      }
    }
  };
  const auto cancel = [](auto& random, auto& in) {
    for (std::size_t n = 0; n < in[0].size(); ++n) {
      const double passed = std::exp2(random.Uniform(-30, 0));
      in[0][n] = static_cast<Real>(1 - passed);
      in[1][n] = static_cast<Real>(passed);
    }
  };
  return {
      .kernel = "select_rows",
      .results = {{"alpha", "u of the number"}, {"arrived", "u of the number"}},
      .ranges =
          [](Index n) {
            return Ranges{{kRows * n}, {kRows * n, 0, 0.5, 0, 0.5}, {n}, {1}};
          },
      .cancel = cancel,
      .measure = Measure<Real>(2, run, compare)};
}

// Magnitudes are those of the row behind, M, and with |d_alpha| of this one.
template <class Real>
void CompareSelectBackward(const Made& made, std::vector<WorstError>& worst) {
  const std::size_t size = made.in[0].size(), count = size / kRows;
  Arrays<Wide> of_magnitudes = made.in;
  of_magnitudes[3] = Magnitudes(of_magnitudes[3]);
  const Array<Wide> M = made.reference(of_magnitudes)[1];
  for (std::size_t k = 0; k < size; ++k) {
    const auto rows = kRows - static_cast<Index>(k / count);
    const double bound = SelectError(rows, static_cast<Index>(count));
    // Denormal numbers are taken for nothing.
    const Wide floor = static_cast<Wide>(1e5 * static_cast<double>(rows) *
                                         static_cast<double>(count)) *
                       std::numeric_limits<Real>::min();
    const bool is_last_row = k + count >= size;
    const bool is_last_entry = k % count == count - 1;
    const Wide G = of_magnitudes[3][k] + (is_last_row ? 0 : M[k + count]);
    const Wide terms = made.in[2][k] * (G + (is_last_entry ? 0 : M[k + 1]));
    worst[0].Add(
        made.found[0][k] - made.exact[0][k],
        (kSingle<Real> ? kUnit<Real> : 0) * std::abs(made.exact[0][k]) +
            (bound + 2) * kUnit<double> * terms,
        1, floor);
    worst[1].Add(made.found[1][k] - made.exact[1][k], kUnit<double> * M[k],
                 bound, floor);
  }
}

// p, its complement, q and d_alpha, and whether the complement is given. Rows
// go back one by one, so that each shows its gradient of the start.
template <class Real>
Subject<Real> SelectBackward() {
  const auto run = []<class T>(Call<T>& call) {
    const Index size = call.Length(0), count = size / kRows;
    T* const d_p = call.Out(size);
    Carry<T>* const d_start = call.template Out<Carry<T>>(size);
    for (Index at = size - count; at >= 0; at -= count) {
      if (at + count < size) {
        std::copy_n(d_start + at + count, count, d_start + at);
      }
      call.kernels.select_rows_backward(
          call.In(0) + at, count,
          call.In(4)[0] > T(0.5) ? call.In(1) + at : nullptr, call.In(2) + at,
          count, call.In(3) + at, count, nullptr, 1, count, d_p + at, count,
          d_start + at);
    }
  };
  return {.kernel = "select_rows_backward",
          .results = {{"gradient of p",
                       "u of the number + units of f64 of its terms"},
                      {"gradient of start", "units of f64 of its terms"}},
          .ranges =
              [](Index n) {
                return Ranges{{kRows * n},
                              {kRows * n, 0, 0.5, 0, 0.5},
                              {kRows * n},
                              {kRows * n, -1e4, 1e4, -1, 1},
                              {1}};
              },
          // What a choice is worth is nearly what passing on is.
          .cancel = [](auto& random, auto& in) { NearOne(random, in[3]); },
          .measure = Measure<Real>(2, run, &CompareSelectBackward<Real>)};
}

}  // namespace

template <class Real>
std::vector<Subject<Real>> ScanSubjects() {
  const auto sums = [](const auto& kernels, auto... arguments) {
    kernels.sums_from(arguments...);
  };
  const auto ratios = [](const auto& kernels, auto... arguments) {
    kernels.ratios_up_to(arguments...);
  };
  return {Windows<Real>("sums_from", 1, sums),
          Windows<Real>("ratios_up_to", kRatioError, ratios),
          WindowsBackward<Real>(), SelectRows<Real>(), SelectBackward<Real>()};
}

template std::vector<Subject<float>> ScanSubjects();
template std::vector<Subject<double>> ScanSubjects();

}  // namespace attnbench::kernel_errors
