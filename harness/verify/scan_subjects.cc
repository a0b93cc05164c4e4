// The kernels of the monotonic scan, forwards and backwards.
#include <cmath>
#include <limits>

#include "harness/verify/kernel_comparison.h"
#include "harness/verify/kernel_subjects.h"

namespace attnbench::kernel_subjects {
namespace {

template <class Real>
KernelSubject<Real> SelectRows() {
  constexpr Index kRows = 5;
  return {
      .kernel = "select_rows",
      .results = {{"alpha", "u of the number"}, {"arrived", "u of the number"}},
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
            Array<Wide> exact = wide[0], exact_arrived = exact, from = wide[2];
            Array<Carry<Real>> start(in[2].begin(), in[2].end());
            kernels.select_rows(in[0].data(), count,
                                given ? in[1].data() : nullptr, start.data(),
                                kRows, count, alpha.data(), count,
                                arrived.data(), count);
            ScalarKernels<Wide>().select_rows(
                wide[0].data(), count, given ? wide[1].data() : nullptr,
                from.data(), kRows, count, exact.data(), count,
                exact_arrived.data(), count);
            for (std::size_t n = 0; n < alpha.size(); ++n) {
              const auto row = static_cast<Index>(n / in[2].size() + 1);
              const double bound =
                  1 + SelectError(row, count) * kUnitOfDouble<Real>;
              const Wide floor =
                  static_cast<Wide>(8 * row * (count + 1)) * kLeast<Real>;
              worst[0].Add(alpha[n] - exact[n], kUnit<Real> * exact[n], bound,
                           floor);
              worst[1].Add(arrived[n] - exact_arrived[n],
                           kUnit<Real> * exact_arrived[n], bound, floor);
            }
          }};
}

template <class Real>
KernelSubject<Real> SelectBackward() {
  constexpr Index kRows = 5;
  return {.kernel = "select_rows_backward",
          .results = {{"gradient of p",
                       "u of the number + units of f64 of its terms"},
                      {"gradient of start", "units of f64 of its terms"}},
          .sizes = {1, 7, 33, 300},
          .search_size = 33,
          .searched = 12'000,
          // p, its complement, q and d_alpha. The last number says whether the
          // complement is given.
          .ranges =
              [](Index n) {
                return std::vector{NumberRange{kRows * n},
                                   NumberRange{kRows * n, 0, 0.5, 0, 0.5},
                                   NumberRange{kRows * n},
                                   NumberRange{kRows * n, -1e4, 1e4, -1, 1},
                                   NumberRange{1}};
              },
          // What a choice is worth is nearly what passing on is.
          .cancel =
              [](auto& random, auto& in) {
                for (Real& d : in[3]) {
                  d = static_cast<Real>(1 + random.Uniform(-1e-6, 1e-6));
                }
              },
          .repair = {},
          .measure =
              [](const auto& kernels, const auto& in, Errors& worst) {
                const auto count = std::ssize(in[0]) / kRows;
                const bool given = in[4][0] > Real(0.5);
                const auto wide = WidenedInput(in);
                Array<Carry<Real>> d_start(Size(count));
                Array<Wide> exact_start(Size(count)), M = exact_start,
                                                      exact_p = M, unused = M;
                Array<Real> d_p(Size(count));
                // Takes row `at` / count of arrays of either kind.
                const auto back = [&](const auto& table, const auto& arrays,
                                      Index at, const auto& d_alpha, auto& p,
                                      auto& start) {
                  table.select_rows_backward(
                      arrays[0].data() + at, count,
                      given ? arrays[1].data() + at : nullptr,
                      arrays[2].data() + at, count, d_alpha.data() + at, count,
                      nullptr, 1, count, p.data(), count, start.data());
                };
                const Array<Wide> magnitudes = Magnitudes(wide[3]);
                for (Index n = 1; n <= kRows; ++n) {
                  const Index at = (kRows - n) * count;
                  const Array<Wide> behind = M;
                  back(kernels, in, at, in[3], d_p, d_start);
                  back(ScalarKernels<Wide>(), wide, at, wide[3], exact_p,
                       exact_start);
                  back(ScalarKernels<Wide>(), wide, at, magnitudes, unused, M);
                  const double bound = SelectError(n, count);
                  // Denormal numbers are taken for nothing.
                  const Wide floor =
                      static_cast<Wide>(1e5 * static_cast<double>(n * count)) *
                      std::numeric_limits<Real>::min();
                  for (Index j = 0; j < count; ++j) {
                    const auto k = Size(j);
                    const Wide G = magnitudes[Size(at) + k] + behind[k];
                    const Wide terms = wide[2][Size(at) + k] *
                                       (G + (j + 1 < count ? M[k + 1] : 0));
                    worst[0].Add(d_p[k] - exact_p[k],
                                 (kSingle<Real> ? kUnit<Real> : 0) *
                                         std::abs(exact_p[k]) +
                                     (bound + 2) * kUnit<double> * terms,
                                 1, floor);
                    worst[1].Add(d_start[k] - exact_start[k],
                                 kUnit<double> * M[k], bound, floor);
                  }
                }
              }};
}

}  // namespace

template <class Real>
std::vector<KernelSubject<Real>> ScanSubjects() {
  return {SelectRows<Real>(), SelectBackward<Real>()};
}

template std::vector<KernelSubject<float>> ScanSubjects();
template std::vector<KernelSubject<double>> ScanSubjects();

}  // namespace attnbench::kernel_subjects
