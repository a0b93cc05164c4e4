#include "harness/verify/kernel_subjects.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "mechanisms/kernels/error_bounds.h"
#include "mechanisms/kernels/scalar_kernels.h"

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

namespace {

using Wide = long double;
template <class T>
using Array = std::vector<T>;
using Errors = std::vector<WorstError>;
template <class Real>
constexpr bool kSingle = sizeof(Real) == sizeof(float);
template <class Real>
constexpr Wide kUnit = std::numeric_limits<Real>::epsilon() / 2;
template <class Real>
constexpr Wide kLeast = std::numeric_limits<Real>::denorm_min();

Array<Wide> Widened(const auto& array) { return {array.begin(), array.end()}; }

Array<Wide> Magnitudes(Array<Wide> array) {
  for (Wide& value : array) value = std::abs(value);
  return array;
}

Wide SumOfMagnitudes(const auto& array) {
  Wide sum = 0;
  for (const auto value : array) sum += std::abs(static_cast<Wide>(value));
  return sum;
}

// The unit in the last place; below the normal numbers, the least of these.
template <class Real>
Wide UlpOf(Wide exact) {
  const auto rounded = static_cast<Real>(exact);
  const Real next =
      std::nextafter(rounded, std::numeric_limits<Real>::infinity());
  return std::abs(exact) < std::numeric_limits<Real>::min()
             ? std::numeric_limits<Real>::min()
             : static_cast<Wide>(next) - rounded;
}

template <class Real>
void AddUlps(const Array<Real>& found, const Array<Wide>& exact, double bound,
             WorstError& worst) {
  for (std::size_t n = 0; n < found.size(); ++n) {
    worst.Add(found[n] - exact[n], UlpOf<Real>(exact[n]), bound);
  }
}

// The unit is `share` of `magnitudes`.
template <class Real>
void AddShares(const Array<Real>& found, const Array<Wide>& exact,
               const Array<Wide>& magnitudes, Wide share, double bound,
               Wide floor, WorstError& worst) {
  for (std::size_t n = 0; n < found.size(); ++n) {
    worst.Add(found[n] - exact[n], share * magnitudes[n], bound, floor);
  }
}

// ---- inputs that cancel -----------------------------------------------------

// Neighbours of opposite signs, whose sum is a few roundings.
template <class Real>
void AlternateSigns(KernelRandom& random, Array<Real>& values) {
  for (std::size_t n = 1; n < values.size(); n += 2) {
    values[n] =
        -values[n - 1] * (1 + static_cast<Real>(random.Uniform(-1e-6, 1e-6)));
  }
}

// Close to multiples of log(2) / 2, times `factor`: exp subtracts them.
template <class Real>
void NearLogarithms(KernelRandom& random, double factor, double most,
                    Array<Real>& values) {
  for (Real& value : values) {
    const double half = factor * std::numbers::ln2 / 2;
    value = static_cast<Real>(std::round(random.Uniform(-most, most) / half) *
                                  half +
                              random.Uniform(-1e-6, 1e-6));
  }
}

template <class Real>
void Spread(KernelRandom& random, double low, double high,
            Array<Real>& values) {
  for (Real& value : values) {
    value = static_cast<Real>(std::exp2(random.Uniform(low, high)));
  }
}

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
          [](const auto& kernels, const auto& in, Errors& worst) {
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

// ---- sums over pairs --------------------------------------------------------

// Of reciprocal_sums and cauchy_sums: x and a, then y and b.
template <class T, class Kernel>
std::array<Array<T>, 2> SumsOfPairs(const Kernel& kernel,
                                    const KernelInput<T>& in) {
  std::array<Array<T>, 2> sums = {Array<T>(in[0].size()),
                                  Array<T>(in[2].size())};
  kernel(in[0].data(), in[1].data(), std::ssize(in[0]), in[2].data(),
         in[3].data(), std::ssize(in[2]), sums[0].data(), sums[1].data());
  return sums;
}

KernelInput<Wide> WidenedInput(const auto& in) {
  KernelInput<Wide> wide;
  for (const auto& array : in) wide.push_back(Widened(array));
  return wide;
}
KernelInput<Wide> MagnitudesOf(KernelInput<Wide> in) {
  for (Array<Wide>& array : in) array = Magnitudes(array);
  return in;
}

// The numbers of each side, then `weights` arrays of weights of it.
std::vector<NumberRange> PairRanges(Index rows, Index count, int weights,
                                    double least, double greatest, bool rises) {
  std::vector<NumberRange> ranges;
  for (const Index size : {rows, count}) {
    ranges.push_back({size, least, greatest, 0.01, 30, rises});
    for (int n = 0; n < weights; ++n) ranges.push_back({size, -1, 1, -1, 1});
  }
  return ranges;
}

template <class Real>
KernelSubject<Real> ReciprocalSums() {
  const double least = kSingle<Real> ? 0x1p-100 : 0x1p-900;
  const double greatest = kSingle<Real> ? 0x1p124 : 0x1p1000;
  return {.kernel = "reciprocal_sums",
          .results = {{"row sums", "u of the sum of magnitudes"},
                      {"column sums", "u of the sum of magnitudes"}},
          .sizes = {1, 6, 37, 300},
          .search_size = 37,
          .searched = 16'000,
          .ranges =
              [=](Index n) {
                return PairRanges(std::min(n, Index{6}), n, 1, least, greatest,
                                  false);
              },
          .cancel =
              [](auto& random, auto& in) {
                AlternateSigns(random, in[1]);
                AlternateSigns(random, in[3]);
              },
          .repair = {},
          .measure =
              [](const auto& kernels, const auto& in, Errors& worst) {
                const auto found = SumsOfPairs(kernels.reciprocal_sums, in);
                const auto& reference = ScalarKernels<Wide>().reciprocal_sums;
                const auto wide = WidenedInput(in);
                const auto exact = SumsOfPairs(reference, wide),
                           all = SumsOfPairs(reference, MagnitudesOf(wide));
                const Index rows = std::ssize(in[0]), count = std::ssize(in[2]);
                const auto N = static_cast<double>(kernels.lanes);
                const double bounds[2] = {ReciprocalRowError(count, N),
                                          ReciprocalColumnError(rows)};
                for (std::size_t s = 0; s < 2; ++s) {
                  AddShares(found[s], exact[s], all[s], kUnit<Real>, bounds[s],
                            static_cast<Wide>(rows + count) * kLeast<Real>,
                            worst[s]);
                }
              }};
}

template <class Real>
std::vector<NumberRange> CauchyRanges(Index size, int weights) {
  const double squares = weights == 2 ? 0x1p50 : 0x1p60;
  const double most = kSingle<Real> ? squares : 0x1p450;
  return PairRanges(size, std::min(size, Index{200}), weights, 1 / most, most,
                    true);
}

// Moments of weights below the normal numbers lose what these lack.
template <class Real>
KernelInput<Wide> CauchyMagnitudes(const KernelInput<Wide>& in) {
  KernelInput<Wide> all = MagnitudesOf(in);
  for (Array<Wide>& array : all) {
    for (Wide& value : array) {
      value = std::max<Wide>(value, std::numeric_limits<Real>::min());
    }
  }
  return all;
}

// Each sum has a term for every number, of as many products as an expansion.
template <class Real>
Wide CauchyFloor(const KernelInput<Real>& in) {
  const auto numbers = in.front().size() + in.back().size();
  return 100 * static_cast<Wide>(numbers) * kLeast<Real>;
}

template <class Real>
KernelSubject<Real> CauchySums() {
  return {.kernel = "cauchy_sums",
          .results = {{"row sums", "share of the sum of magnitudes"},
                      {"column sums", "share of the sum of magnitudes"}},
          .sizes = {1, 48, 300, 4000},
          .search_size = 48,
          .searched = 16'000,
          .ranges = [](Index n) { return CauchyRanges<Real>(n, 1); },
          .cancel =
              [](auto& random, auto& in) {
                AlternateSigns(random, in[1]);
                AlternateSigns(random, in[3]);
              },
          .repair = {},
          .measure =
              [](const auto& kernels, const auto& in, Errors& worst) {
                const auto found = SumsOfPairs(kernels.cauchy_sums, in);
                const auto& reference = ScalarKernels<Wide>().cauchy_sums;
                const auto wide = WidenedInput(in);
                const auto exact = SumsOfPairs(reference, wide),
                           all = SumsOfPairs(reference,
                                             CauchyMagnitudes<Real>(wide));
                for (std::size_t s = 0; s < 2; ++s) {
                  AddShares(found[s], exact[s], all[s], 1, kCauchyError<Real>,
                            CauchyFloor(in), worst[s]);
                }
              }};
}

template <class T>
struct Moments {
  Moments(const Kernels<T>& kernels, const KernelInput<T>& in)
      : rows(4, Array<T>(in[0].size())), columns(4, Array<T>(in[3].size())) {
    T *of_rows[4], *of_columns[4];
    for (std::size_t n = 0; n < 4; ++n) {
      of_rows[n] = rows[n].data();
      of_columns[n] = columns[n].data();
    }
    kernels.cauchy_moments(in[0].data(), in[1].data(), in[2].data(),
                           std::ssize(in[0]), in[3].data(), in[4].data(),
                           in[5].data(), std::ssize(in[3]), of_rows,
                           of_columns);
  }
  std::vector<Array<T>> rows, columns;
};

template <class Real>
KernelSubject<Real> CauchyMoments() {
  return {.kernel = "cauchy_moments",
          .results = {{"sums", "share of the sum of magnitudes"},
                      {"sums with squares", "share of the sum of magnitudes"}},
          .sizes = {1, 48, 300, 2000},
          .search_size = 48,
          .searched = 6'000,
          .ranges = [](Index n) { return CauchyRanges<Real>(n, 2); },
          .cancel =
              [](auto& random, auto& in) {
                for (const std::size_t n : {1, 2, 4, 5}) {
                  AlternateSigns(random, in[n]);
                }
              },
          .repair = {},
          .measure =
              [](const auto& kernels, const auto& in, Errors& worst) {
                const auto wide = WidenedInput(in);
                const Moments<Real> found(kernels, in);
                const Moments<Wide> exact(ScalarKernels<Wide>(), wide),
                    all(ScalarKernels<Wide>(), CauchyMagnitudes<Real>(wide));
                for (std::size_t n = 0; n < 4; ++n) {
                  const double bound =
                      n < 2 ? kCauchyError<Real> : kCauchySquareError<Real>;
                  AddShares(found.rows[n], exact.rows[n], all.rows[n], 1, bound,
                            CauchyFloor(in), worst[n / 2]);
                  AddShares(found.columns[n], exact.columns[n], all.columns[n],
                            1, bound, CauchyFloor(in), worst[n / 2]);
                }
              }};
}

// ---- MAtChA's short blocks --------------------------------------------------

// e, start and p, with `more` behind them.
template <class Real>
std::vector<NumberRange> AdaptiveRanges(Index n) {
  const double least = kSingle<Real> ? 0x1p-60 : 0x1p-450;
  return {{n, least, 1, 0.01, 1}, {n, 0, 1}, {n, 0, 1}, {n, -1, 1, -1, 1}};
}

// Of p next to 1 little passes; chunk energies lie far apart.
template <class Real>
void CancelAdaptive(KernelRandom& random, KernelInput<Real>& in) {
  Spread(random, -40, 0, in[0]);
  for (Real& p : in[2]) {
    p = 1 - static_cast<Real>(std::exp2(random.Uniform(-20, 0)));
  }
  AlternateSigns(random, in[3]);
}

Array<double> PassedOf(const auto& p) {
  Array<double> passed;
  for (const auto one : p) passed.push_back(1 - static_cast<double>(one));
  return passed;
}

// What an underflow in f64 may add, after `divisions` by sums of e.
template <class Real>
Wide AdaptiveFloor(const Array<Real>& e, int divisions) {
  const Wide least = std::ranges::min(e);
  return 8 * kLeast<Real> +
         500 * kLeast<double> / (divisions == 1 ? least : least * least);
}

template <class Real>
KernelSubject<Real> AdaptiveBlocks() {
  return {.kernel = "adaptive_blocks",
          .results = {{"beta", "u of the number"}},
          .sizes = {1, 7, 16, 40, 130},
          .search_size = 40,
          .searched = 16'000,
          .ranges = &AdaptiveRanges<Real>,
          .cancel = &CancelAdaptive<Real>,
          .repair = {},
          .measure = [](const auto& kernels, const auto& in, Errors& worst) {
            const Index count = std::ssize(in[0]);
            const Array<double> passed = PassedOf(in[2]);
            Array<Real> beta(in[0].size());
            Array<Wide> exact(beta.size());
            kernels.adaptive_blocks(in[0].data(), in[1].data(), in[2].data(),
                                    passed.data(), count, beta.data());
            const auto wide = WidenedInput(in);
            ScalarKernels<Wide>().adaptive_blocks(
                wide[0].data(), wide[1].data(), wide[2].data(), passed.data(),
                count, exact.data());
            AddShares(beta, exact, exact, kUnit<Real>,
                      1 + kAdaptiveError * kUnitOfDouble<Real>,
                      AdaptiveFloor(in[0], 1), worst[0]);
          }};
}

// The gradients of e, weighted, start and p.
template <class T>
std::array<Array<T>, 4> AdaptiveGradients(const Kernels<T>& kernels,
                                          const KernelInput<T>& in,
                                          const Array<double>& passed) {
  std::array<Array<T>, 4> made;
  made.fill(Array<T>(in[0].size()));
  kernels.adaptive_blocks_backward(
      in[0].data(), in[3].data(), in[1].data(), in[2].data(), passed.data(),
      std::ssize(in[0]), made[0].data(), made[1].data(), made[2].data(),
      made[3].data());
  return made;
}

// The same with all terms added. That of p is A - B with B in proportion to p.
std::array<Array<Wide>, 4> AdaptiveMagnitudes(KernelInput<Wide> in,
                                              const Array<double>& passed) {
  in[3] = Magnitudes(in[3]);
  auto all = AdaptiveGradients(ScalarKernels<Wide>(), in, passed);
  std::ranges::fill(in[2], 0);
  const auto first = AdaptiveGradients(ScalarKernels<Wide>(), in, passed);
  for (std::size_t n = 0; n < all[3].size(); ++n) {
    all[3][n] = 2 * first[3][n] - all[3][n];
  }
  all[0] = Magnitudes(all[0]);
  return all;
}

template <class Real>
KernelSubject<Real> AdaptiveBlocksBackward() {
  const std::string unit = "u of the number + 120 units of f64 of its terms";
  return {.kernel = "adaptive_blocks_backward",
          .results = {{"gradient of e", unit},
                      {"gradient of weighted", unit},
                      {"gradient of start", unit},
                      {"gradient of p", unit}},
          .sizes = {1, 7, 16, 40, 130},
          .search_size = 16,
          .searched = 16'000,
          .ranges = &AdaptiveRanges<Real>,
          .cancel = &CancelAdaptive<Real>,
          .repair = {},
          .measure = [](const auto& kernels, const auto& in, Errors& worst) {
            const Array<double> passed = PassedOf(in[2]);
            const auto wide = WidenedInput(in);
            const auto found = AdaptiveGradients(kernels, in, passed);
            const auto exact =
                AdaptiveGradients(ScalarKernels<Wide>(), wide, passed);
            const auto all = AdaptiveMagnitudes(wide, passed);
            for (std::size_t s = 0; s < 4; ++s) {
              for (std::size_t n = 0; n < passed.size(); ++n) {
                const Wide unit_now =
                    (kSingle<Real> ? kUnit<Real> * std::abs(exact[s][n]) : 0) +
                    kAdaptiveBackwardError * kUnit<double> * all[s][n];
                worst[s].Add(found[s][n] - exact[s][n], unit_now, 1,
                             AdaptiveFloor(in[0], 2));
              }
            }
          }};
}

// ---- rows of attention ------------------------------------------------------

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
            const double lanes = std::max(
                1.0, static_cast<double>(kernels.lanes) *
                         static_cast<double>(sizeof(Real)) / sizeof(double));
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

template <class Real>
KernelSubject<Real> SelectRows() {
  constexpr Index kRows = 5;
  return {
      .kernel = "select_rows",
      .results = {{"alpha", "u of the number and row"},
                  {"arrived", "u of the number and row"}},
      .sizes = {1, 7, 33, 300},
      .search_size = 33,
      .searched = 12'000,
      // The last number says whether the complement is given.
      .ranges =
          [](Index n) {
            return std::vector{NumberRange{kRows * n},
                               NumberRange{kRows * n, 0, 0.5, 0, 0.5},
                               NumberRange{n}, NumberRange{1}};
          },
      .cancel =
          [](auto& random, auto& in) {
            for (std::size_t n = 0; n < in[0].size(); ++n) {
              const double passed = std::exp2(random.Uniform(-30, 0));
              in[0][n] = static_cast<Real>(1 - passed);
              in[1][n] = static_cast<Real>(passed);
            }
          },
      .repair = {},
      .measure =
          [](const auto& kernels, const auto& in, Errors& worst) {
            const Index count = std::ssize(in[2]);
            const bool given = in[3][0] > Real(0.5);
            Array<Real> alpha = in[0], arrived = alpha;
            const auto wide = WidenedInput(in);
            Array<Wide> exact = wide[0], exact_arrived = exact;
            kernels.select_rows(in[0].data(), count,
                                given ? in[1].data() : nullptr, in[2].data(),
                                kRows, count, alpha.data(), count,
                                arrived.data());
            ScalarKernels<Wide>().select_rows(
                wide[0].data(), count, given ? wide[1].data() : nullptr,
                wide[2].data(), kRows, count, exact.data(), count,
                exact_arrived.data());
            const double bound = 2 + SelectError(count) * kUnitOfDouble<Real>;
            for (std::size_t n = 0; n < alpha.size(); ++n) {
              // Every row starts with what the ones above have lost.
              const Wide row = static_cast<Wide>(n / in[2].size() + 1);
              const Wide floor =
                  8 * row * static_cast<Wide>(count + 1) * kLeast<Real>;
              worst[0].Add(alpha[n] - exact[n], row * kUnit<Real> * exact[n],
                           bound, floor);
              worst[1].Add(arrived[n] - exact_arrived[n],
                           row * kUnit<Real> * exact_arrived[n], bound, floor);
            }
          }};
}

// `sums` calls a kernel of either precision. `further` is what the kernel does
// to a sum.
template <class Real, class Sums>
KernelSubject<Real> Windows(const std::string& kernel, double least,
                            double greatest, double further, const Sums& sums) {
  return {
      .kernel = kernel,
      .results = {{"windows of 64", "u of the sum"},
                  {"windows of 256", "u of the sum"}},
      .sizes = {1, 40, 150, 700},
      .search_size = 150,
      .searched = 12'000,
      .ranges =
          [=](Index n) {
            return std::vector{NumberRange{n, least, greatest}};
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

}  // namespace

template <class Real>
std::vector<KernelSubject<Real>> KernelSubjects() {
  return {ExpTwice<Real>(),
          FactoredRows<Real>(),
          FactoredBackward<Real>(),
          ExpSum<Real>(),
          ExpScaled<Real>(),
          SoftmaxBackward<Real>(),
          Sigmoid<Real>(),
          SelectRows<Real>(),
          Windows<Real>("sums_up_to", 0, kSingle<Real> ? 0x1p100 : 0x1p900, 0,
                        [](const auto& kernels, const auto* x, Index count,
                           Index width, auto* scratch, auto* sums) {
                          kernels.sums_up_to(x, nullptr, count, width, scratch,
                                             sums);
                        }),
          Windows<Real>("sums_from", 0, kSingle<Real> ? 0x1p100 : 0x1p900, 0,
                        [](const auto& kernels, const auto* x, Index count,
                           Index width, auto* scratch, auto* sums) {
                          kernels.sums_from(x, nullptr, count, width, scratch,
                                            sums);
                        }),
          Windows<Real>("ratios_up_to", 0x1p-50, 0x1p50, kRatioError,
                        [](const auto& kernels, const auto* x, Index count,
                           Index width, auto* scratch, auto* ratios) {
                          std::vector inverses(x, x + count);
                          kernels.ratios_up_to(x, x, count, width, scratch,
                                               inverses.data(), ratios);
                        }),
          ReciprocalSums<Real>(),
          CauchySums<Real>(),
          CauchyMoments<Real>(),
          AdaptiveBlocks<Real>(),
          AdaptiveBlocksBackward<Real>()};
}

template std::vector<KernelSubject<float>> KernelSubjects();
template std::vector<KernelSubject<double>> KernelSubjects();

}  // namespace attnbench
