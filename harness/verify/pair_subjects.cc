// The kernels of pairs of numbers: sums over them, and MAtChA's short blocks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "harness/verify/kernel_comparison.h"
#include "harness/verify/kernel_subjects.h"

namespace attnbench::kernel_subjects {
namespace {

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
void CancelWeights(KernelRandom& random, KernelInput<Real>& in) {
  AlternateSigns(random, in[1]);
  AlternateSigns(random, in[3]);
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
          .cancel = &CancelWeights<Real>,
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
          .cancel = &CancelWeights<Real>,
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
                for (const std::size_t n : {1U, 2U, 4U, 5U}) {
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
  const std::string unit =
      fmt::format("u of the number + {:g} units of f64 of its terms",
                  kAdaptiveBackwardError);
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

}  // namespace

template <class Real>
std::vector<KernelSubject<Real>> PairSubjects() {
  return {ReciprocalSums<Real>(), CauchySums<Real>(), CauchyMoments<Real>(),
          AdaptiveBlocks<Real>(), AdaptiveBlocksBackward<Real>()};
}

template std::vector<KernelSubject<float>> PairSubjects();
template std::vector<KernelSubject<double>> PairSubjects();

}  // namespace attnbench::kernel_subjects
