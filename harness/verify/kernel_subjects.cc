#include "harness/verify/kernel_subjects.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <numeric>

#include "harness/verify/kernel_comparison.h"

namespace attnbench::kernel_subjects {
namespace {

// ---- exponentials -----------------------------------------------------------

template <class Real>
KernelSubject<Real> ExpTwice() {
  return {.kernel = "exp_twice",
          .results = {{"exp(2 x)", "ULP"}},
          .sizes = {1, 5, 16, 67},
          .search_size = 16,
          .searched = 40'000,
          .ranges =
              [](Index n) {
                return std::vector{NumberRange{n, -2000, 2000, -3, 3}};
              },
          .cancel =
              [](auto& random, auto& in) {
                NearLogarithms(random, 0.5, kMostQuery<Real>, in[0]);
              },
          .repair = {},
          .measure =
              [](const auto& kernels, const auto& in, Errors& worst) {
                Array<Real> e = in[0];
                Array<Wide> exact = Widened(e);
                const Index count = std::ssize(e);
                kernels.exp_twice(e.data(), kMostQuery<Real>, count, e.data());
                ScalarKernels<Wide>().exp_twice(exact.data(), kMostQuery<Real>,
                                                count, exact.data());
                AddUlps(e, exact, kExpUlp, worst[0]);
              }};
}

template <class Real>
KernelSubject<Real> ExpScaled() {
  constexpr double kMost = kSingle<Real> ? 80 : 600;
  constexpr Real kExponent = std::numeric_limits<Real>::max_exponent - 3;
  return {.kernel = "exp_scaled",
          .results = {{"exp(x) 2^-power", "ULP"}},
          .sizes = {1, 5, 16, 67},
          .search_size = 16,
          .searched = 40'000,
          .ranges =
              [](Index n) {
                return std::vector{NumberRange{n, -kMost, kMost, -3, 3},
                                   NumberRange{1, -2000, 2000, -3, 3}};
              },
          .cancel = [](auto& random,
                       auto& in) { NearLogarithms(random, 1, kMost, in[0]); },
          .repair =
              [](auto& in) {
                // All results are normal numbers.
                const auto [low, high] = std::ranges::minmax(in[0]);
                const Real log2e = std::numbers::log2e_v<Real>;
                in[1][0] = std::clamp(std::round(in[1][0]),
                                      std::ceil(high * log2e - kExponent),
                                      std::floor(low * log2e + kExponent));
              },
          .measure =
              [](const auto& kernels, const auto& in, Errors& worst) {
                Array<Real> y = in[0];
                Array<Wide> exact = Widened(y);
                const auto power = static_cast<int>(in[1][0]);
                const Index count = std::ssize(y);
                kernels.exp_scaled(y.data(), count, power, y.data());
                ScalarKernels<Wide>().exp_scaled(exact.data(), count, power,
                                                 exact.data());
                AddUlps(y, exact, kExpUlp, worst[0]);
              }};
}

template <class Real>
KernelSubject<Real> ExpSum() {
  return {
      .kernel = "exp_sum",
      .results = {{"weights", "ULP beside the rounded difference"},
                  {"sum of the weights", "u of the sum"}},
      .sizes = {1, 5, 33, 500},
      .search_size = 33,
      .searched = 40'000,
      .ranges =
          [](Index n) {
            return std::vector{NumberRange{n, -1e4, 1e4, -5, 5},
                               NumberRange{1, -1e4, 1e4, -5, 5}};
          },
      .cancel = [](auto& random,
                   auto& in) { NearLogarithms(random, 1, 40, in[0]); },
      .repair =
          [](auto& in) {
            const Real most = std::ranges::max(in[0]);
            in[1][0] = std::clamp(in[1][0], most - 40, most + 200);
          },
      .measure =
          [](const auto& kernels, const auto& in, Errors& worst) {
            Array<Real> weights = in[0];
            const Index count = std::ssize(weights);
            Array<Wide> exact;
            for (const Real energy : in[0]) {
              const Real difference = energy - in[1][0];
              exact.push_back(difference);
            }
            const Real sum =
                kernels.exp_sum(in[0].data(), in[1][0], count, weights.data());
            ScalarKernels<Wide>().exp_sum(exact.data(), 0, count, exact.data());
            AddUlps(weights, exact, kExpUlp, worst[0]);
            const Wide all = SumOfMagnitudes(weights);
            worst[1].Add(sum - all, kUnit<Real> * all,
                         SumError(count, static_cast<double>(kernels.lanes)));
          }};
}

template <class Real>
KernelSubject<Real> Sigmoid() {
  constexpr double kMost = kSingle<Real> ? 3e38 : 1e308;
  return {.kernel = "sigmoid",
          .results = {{"y", "ULP"}, {"1 - y", "ULP"}},
          .sizes = {1, 5, 16, 67},
          .search_size = 16,
          .searched = 20'000,
          .ranges =
              [](Index n) {
                return std::vector{NumberRange{n, -kMost, kMost, -5, 5}};
              },
          .cancel =
              [](auto& random, auto& in) {
                NearLogarithms(random, 1, kSingle<Real> ? 87 : 700, in[0]);
              },
          .repair = {},
          .measure =
              [](const auto& kernels, const auto& in, Errors& worst) {
                Array<Real> y = in[0], complement = y;
                Array<Wide> exact = Widened(y), exact_complement = exact;
                const Index count = std::ssize(y);
                kernels.sigmoid(in[0].data(), count, y.data(),
                                complement.data());
                ScalarKernels<Wide>().sigmoid(Widened(in[0]).data(), count,
                                              exact.data(),
                                              exact_complement.data());
                AddUlps(y, exact, kSigmoidUlp, worst[0]);
                AddUlps(complement, exact_complement, kSigmoidUlp, worst[1]);
              }};
}

// ---- additive energies ------------------------------------------------------

template <class T>
Array<T> ExpOf(const Kernels<T>& kernels, Array<T> x, T limit) {
  kernels.exp_twice(x.data(), limit, std::ssize(x), x.data());
  return x;
}

// States and keys, and what `weights` has behind them.
template <class Real>
std::vector<NumberRange> FactoredRanges(Index dim, Index rows, Index weights) {
  constexpr double kKey = kMostKey<Real>;
  return {{dim, -2000, 2000, -3, 3},
          {rows * dim, -kKey, kKey, -3, 3},
          {weights, -1e3, 1e3, -1, 1}};
}

// Keys against states, and weights against each other.
template <class Real>
void CancelFactored(KernelRandom& random, KernelInput<Real>& in) {
  for (Real& x : in[0]) {
    x = static_cast<Real>(random.Uniform(-1, 1)) * kMostKey<Real>;
  }
  for (std::size_t n = 0; n < in[1].size(); ++n) {
    in[1][n] =
        static_cast<Real>(random.Uniform(-0.1, 0.1)) - in[0][n % in[0].size()];
  }
  AlternateSigns(random, in[2]);
}

template <class Real>
KernelSubject<Real> FactoredRows() {
  constexpr Index kRows = 3;
  return {
      .kernel = "factored_additive_rows",
      .results = {{"energies", "u sum |v|"}},
      .sizes = {1, 7, 16, 64, 300},
      .search_size = 64,
      .searched = 12'000,
      .ranges = [](Index dim) { return FactoredRanges<Real>(dim, kRows, dim); },
      .cancel = &CancelFactored<Real>,
      .repair = {},
      .measure =
          [=](const auto& kernels, const auto& in, Errors& worst) {
            const Index dim = std::ssize(in[0]);
            Array<Real> energies(kRows);
            Array<Wide> exact(kRows);
            kernels.factored_additive_rows(
                ExpOf(kernels, in[0], kMostQuery<Real>).data(),
                ExpOf(kernels, in[1], kMostKey<Real>).data(), dim, in[2].data(),
                kRows, dim, energies.data());
            ScalarKernels<Wide>().additive_rows(
                Widened(in[0]).data(), Widened(in[1]).data(), dim,
                Widened(in[2]).data(), kRows, dim, exact.data());
            const Array<Wide> all(kRows, SumOfMagnitudes(in[2]));
            AddShares(
                energies, exact, all, kUnit<Real>,
                FactoredRowsError(dim, static_cast<double>(kernels.lanes)),
                8 * static_cast<Wide>(dim) * kLeast<Real>, worst[0]);
          }};
}

// The gradients of the state, of keys and of v, each from 0.
template <class T>
struct FactoredGradient {
  FactoredGradient(const Kernels<T>& kernels, const Array<T>& query,
                   const Array<T>& rows, const Array<T>& weights, T most_query,
                   T most_key)
      : d_query(query.size()), d_v(query.size()), d_keys(rows.size()) {
    const Index dim = std::ssize(query);
    kernels.factored_additive_backward(
        ExpOf(kernels, query, most_query).data(),
        ExpOf(kernels, rows, most_key).data(), dim, weights.data(),
        std::ssize(weights), dim, d_query.data(), d_keys.data(), d_v.data());
  }
  Array<T> d_query, d_v, d_keys;
};

template <class Real>
KernelSubject<Real> FactoredBackward() {
  constexpr Index kRows = 8;
  return {.kernel = "factored_additive_backward",
          .results = {{"gradient of v, halved", "u sum |weight|"},
                      {"gradient of states, quartered", "u sum |weight|"},
                      {"gradient of keys, quartered", "u |weight|"}},
          .sizes = {1, 7, 16, 40},
          .search_size = 16,
          .searched = 18'000,
          .ranges =
              [](Index dim) { return FactoredRanges<Real>(dim, kRows, kRows); },
          .cancel = &CancelFactored<Real>,
          .repair = {},
          .measure =
              [](const auto& kernels, const auto& in, Errors& worst) {
                const FactoredGradient<Real> found(kernels, in[0], in[1], in[2],
                                                   kMostQuery<Real>,
                                                   kMostKey<Real>);
                const FactoredGradient<Wide> exact(
                    ScalarKernels<Wide>(), Widened(in[0]), Widened(in[1]),
                    Widened(in[2]), kMostQuery<Real>, kMostKey<Real>);
                const Wide floor = 8 * kRows * kLeast<Real>;
                const Array<Wide> all(in[0].size(), SumOfMagnitudes(in[2]));
                const double bound = FactoredBackwardError(kRows);
                AddShares(found.d_v, exact.d_v, all, kUnit<Real>, bound, floor,
                          worst[0]);
                AddShares(found.d_query, exact.d_query, all, kUnit<Real>, bound,
                          floor, worst[1]);
                for (std::size_t n = 0; n < in[1].size(); ++n) {
                  worst[2].Add(found.d_keys[n] - exact.d_keys[n],
                               kUnit<Real> * std::abs(static_cast<Wide>(
                                                 in[2][n / in[0].size()])),
                               FactoredBackwardError(0), floor);
                }
              }};
}

// ---- rows of attention ------------------------------------------------------

template <class Real>
double LanesOfDouble(const Kernels<Real>& kernels) {
  return std::max(1.0, static_cast<double>(kernels.lanes) *
                           static_cast<double>(sizeof(Real)) / sizeof(double));
}

template <class Real>
KernelSubject<Real> SoftmaxBackward() {
  return {
      .kernel = "softmax_backward",
      .results = {{"gradient of energies",
                   "u of the number + units of f64 of alpha sum |alpha d|"}},
      .sizes = {1, 7, 33, 500},
      .search_size = 33,
      .searched = 30'000,
      .ranges =
          [](Index n) {
            return std::vector{NumberRange{n, 0, 1},
                               NumberRange{n, -1e4, 1e4, -1, 1}};
          },
      .cancel =
          [](auto& random, auto& in) {
            for (Real& d : in[1]) {
              d = static_cast<Real>(1 + random.Uniform(-1e-6, 1e-6));
            }
          },
      .repair = {},
      .measure =
          [](const auto& kernels, const auto& in, Errors& worst) {
            const Index count = std::ssize(in[0]);
            Array<Real> found = in[0];
            Array<Wide> exact(found.size());
            kernels.softmax_backward(in[0].data(), in[1].data(), count,
                                     found.data());
            const auto wide = WidenedInput(in);
            ScalarKernels<Wide>().softmax_backward(
                wide[0].data(), wide[1].data(), count, exact.data());
            const auto dot = [&](auto&& of) {
              return std::inner_product(wide[0].begin(), wide[0].end(),
                                        wide[1].begin(), Wide{0}, std::plus{},
                                        of);
            };
            const Wide mean = dot(std::multiplies{}),
                       all =
                           dot([](Wide a, Wide d) { return std::abs(a * d); });
            const double lanes = LanesOfDouble(kernels);
            for (std::size_t j = 0; j < found.size(); ++j) {
              const Wide unit =
                  (kSingle<Real> ? kUnit<Real> * std::abs(exact[j]) : 0) +
                  kUnit<double> * wide[0][j] *
                      (SoftmaxBackwardError(count, lanes) * all +
                       2 * std::abs(wide[1][j] - mean));
              worst[0].Add(found[j] - exact[j], unit, 1,
                           static_cast<Wide>(count + 2) * kLeast<Real>);
            }
          }};
}

// `sums` calls a kernel of either precision. `further` is what the kernel does
// to a sum.
template <class Real, class Sums>
KernelSubject<Real> Windows(const std::string& kernel, double further,
                            const Sums& sums) {
  return {
      .kernel = kernel,
      .results = {{"windows of 64", "u of the sum"},
                  {"windows of 256", "u of the sum"}},
      .sizes = {1, 40, 150, 700},
      .search_size = 150,
      .searched = 12'000,
      .ranges =
          [=](Index n) {
            return std::vector{NumberRange{n, 0x1p-50, 0x1p50}};
          },
      // A difference of longer sums would cancel.
      .cancel = [](auto& random, auto& in) { Spread(random, -50, 50, in[0]); },
      .repair = {},
      .measure =
          [=](const auto& kernels, const auto& in, Errors& worst) {
            const Index count = std::ssize(in[0]);
            const Array<Wide> wide = Widened(in[0]);
            Array<Real> found = in[0], scratch(in[0].size() + 1);
            Array<Wide> exact = wide;
            for (const Index width : {64, 256}) {
              sums(kernels, in[0].data(), count, width, scratch.data(),
                   found.data());
              sums(ScalarKernels<Wide>(), wide.data(), count, width,
                   static_cast<Wide*>(nullptr), exact.data());
              AddShares(found, exact, exact, kUnit<Real>,
                        further + WindowError<Real>(
                                      std::min(width, count),
                                      static_cast<double>(kernels.lanes)),
                        0, worst[width == 64 ? 0 : 1]);
            }
          }};
}

// What is measured against the gradients with |d|, and |d| + m for d - m.
template <class Real>
KernelSubject<Real> WindowsBackward() {
  constexpr double kMost = kSingle<Real> ? 30 : 200;
  return {
      .kernel = "windows_backward",
      .results = {{"gradient of alpha", "units of f64 of the mean of |d|"},
                  {"gradient of chunk energies",
                   "u of the number + units of f64 of sums of |d| + its mean"}},
      .sizes = {1, 40, 150, 700},
      .search_size = 150,
      .searched = 3'000,
      .ranges =
          [](Index n) {
            return std::vector{NumberRange{n, -kMost, kMost, -3, 3},
                               NumberRange{n},
                               NumberRange{n, -1e4, 1e4, -1, 1}};
          },
      .cancel =
          [](auto& random, auto& in) {
            for (Real& d : in[2]) {
              d = static_cast<Real>(1 + random.Uniform(-1e-6, 1e-6));
            }
          },
      // Products with the smallest e are normal numbers.
      .repair =
          [](auto& in) {
            for (Real& d : in[2]) {
              if (std::abs(static_cast<Wide>(d)) < 1e-100L) d = 0;
            }
          },
      .measure =
          [](const auto& kernels, const auto& in, Errors& worst) {
            const std::size_t T = in[0].size();
            const auto count = static_cast<Index>(T);
            const auto wide = WidenedInput(in);
            const Kernels<Wide>& scalar = ScalarKernels<Wide>();
            const int power = static_cast<int>(
                std::rint(std::ranges::max(wide[0]) * std::numbers::log2e));
            // Weights underflow, and what they are multiplied with is up to
            // 1e4.
            const Wide floor =
                4e4L * static_cast<Wide>(count) * kLeast<double> + kLeast<Real>;
            Array<Wide> e(T), magnitudes = wide[2];
            scalar.exp_scaled(wide[0].data(), count, 0, e.data());
            for (Wide& d : magnitudes) d = std::abs(d);
            for (const Index width : {8, 256}) {
              Array<Carry<Real>> d_alpha(T);
              Array<Real> d_u(T);
              Array<double> scratch(Size(WindowsBackwardScratch(width, count)));
              kernels.windows_backward(in[0].data(), 0, &power, in[1].data(), 0,
                                       in[2].data(), 0, 1, count, width,
                                       scratch.data(), d_alpha.data(), 0,
                                       d_u.data(), 0);
              const auto gradient = [&](const Array<Wide>& d,
                                        Array<Wide>& means, Array<Wide>& of_u) {
                constexpr int kNoPower = 0;
                scalar.windows_backward(wide[0].data(), 0, &kNoPower,
                                        wide[1].data(), 0, d.data(), 0, 1,
                                        count, width, nullptr, means.data(), 0,
                                        of_u.data(), 0);
              };
              Array<Wide> exact_alpha(T), exact_u(T), means(T), of_u(T),
                  weights(T), beta(T);
              gradient(wide[2], exact_alpha, exact_u);
              gradient(magnitudes, means, of_u);
              scalar.ratios_up_to(e.data(), wide[1].data(), count, width,
                                  nullptr, weights.data());
              scalar.sums_from(weights.data(), e.data(), count, width, nullptr,
                               beta.data());
              const double bound = WindowsBackwardError(std::min(width, count));
              for (std::size_t j = 0; j < T; ++j) {
                const auto unit = [bound](Wide exact, Wide magnitude) {
                  return kUnit<Real> * std::abs(exact) +
                         bound * kUnit<double> * magnitude;
                };
                worst[0].Add(d_alpha[j] - exact_alpha[j],
                             kUnit<double> * means[j], bound + 1, floor);
                worst[1].Add(
                    d_u[j] - exact_u[j],
                    unit(exact_u[j], 2 * beta[j] * magnitudes[j] - of_u[j]), 1,
                    floor);
              }
            }
          }};
}

}  // namespace
}  // namespace attnbench::kernel_subjects

namespace attnbench {

void WorstError::Add(long double error_now, long double unit, double bound_now,
                     long double floor) {
  const long double beyond =
      std::abs(error_now) <= floor ? 0 : std::abs(error_now) - floor;
  WorstError now = {
      .error = beyond == 0 ? 0 : static_cast<double>(beyond / unit),
      .bound = bound_now};
  if (!std::isfinite(now.error)) {
    now.error = std::numeric_limits<double>::infinity();
  }
  now.ratio = now.error / bound_now;
  Add(now);
}

template <class Real>
std::vector<KernelSubject<Real>> KernelSubjects() {
  using namespace kernel_subjects;
  std::vector<KernelSubject<Real>> subjects = {
      ExpTwice<Real>(),
      FactoredRows<Real>(),
      FactoredBackward<Real>(),
      ExpSum<Real>(),
      ExpScaled<Real>(),
      SoftmaxBackward<Real>(),
      Sigmoid<Real>(),
      Windows<Real>("sums_from", 1,
                    [](const auto& kernels, const auto* x, Index count,
                       Index width, auto* scratch, auto* products) {
                      kernels.sums_from(x, x, count, width, scratch, products);
                    }),
      Windows<Real>("ratios_up_to", kRatioError,
                    [](const auto& kernels, const auto* x, Index count,
                       Index width, auto* scratch, auto* ratios) {
                      kernels.ratios_up_to(x, x, count, width, scratch, ratios);
                    }),
      WindowsBackward<Real>()};
  std::ranges::move(ScanSubjects<Real>(), std::back_inserter(subjects));
  std::ranges::move(PairSubjects<Real>(), std::back_inserter(subjects));
  return subjects;
}

template std::vector<KernelSubject<float>> KernelSubjects();
template std::vector<KernelSubject<double>> KernelSubjects();

}  // namespace attnbench
