// The kernels of pairs of numbers: sums over them, and MAtChA's short blocks.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "mechanisms/kernels/errors/subjects.h"

namespace attnbench::kernel_errors {
namespace {

// ---- sums over pairs --------------------------------------------------------

// Numbers of each side, then `weights` arrays of weights of it.
Ranges PairRanges(Index rows, Index count, int weights, double least,
                  double greatest, bool rises) {
  Ranges ranges;
  for (const Index size : {rows, count}) {
    ranges.push_back({size, least, greatest, 0.01, 30, rises});
    for (int n = 0; n < weights; ++n) ranges.push_back({size, -1, 1, -1, 1});
  }
  return ranges;
}

template <class Real>
Ranges CauchyRanges(Index size, int weights) {
  const double squares = weights == 2 ? 0x1p50 : 0x1p60;
  const double most = kSingle<Real> ? squares : 0x1p450;
  return PairRanges(size, std::min(size, Index{200}), weights, 1 / most, most,
                    true);
}

// Weights of each side against each other.
template <class Real>
void CancelWeights(Random& random, Arrays<Real>& in) {
  const std::size_t side = in.size() / 2;
  for (std::size_t n = 0; n < in.size(); ++n) {
    if (n % side != 0) AlternateSigns(random, in[n]);
  }
}

template <class Real>
Subject<Real> ReciprocalSums() {
  const double least = kSingle<Real> ? 0x1p-100 : 0x1p-900;
  const double greatest = kSingle<Real> ? 0x1p124 : 0x1p1000;
  const auto run = []<class T>(Call<T>& call) {
    const Index rows = call.Length(0), count = call.Length(2);
    T* const row_sums = call.Out(rows);
    call.kernels.reciprocal_sums(call.In(0), call.In(1), rows, call.In(2),
                                 call.In(3), count, row_sums, call.Out(count));
  };
  const auto compare = [](const Made& made, auto& worst) {
    const Index rows = std::ssize(made.in[0]), count = std::ssize(made.in[2]);
    Arrays<Wide> in = made.in;
    for (Array<Wide>& array : in) array = Magnitudes(array);
    const Arrays<Wide> all = made.reference(in);
    const double bounds[2] = {ReciprocalRowError(count, made.lanes),
                              ReciprocalColumnError(rows)};
    for (std::size_t r = 0; r < 2; ++r) {
      AddShares(made.found[r], made.exact[r], all[r], kUnit<Real>, bounds[r],
                static_cast<Wide>(rows + count) * kLeast<Real>, worst[r]);
    }
  };
  return {.kernel = "reciprocal_sums",
          .results = {{"row sums", "u of the sum of magnitudes"},
                      {"column sums", "u of the sum of magnitudes"}},
          .ranges =
              [=](Index n) {
                return PairRanges(std::min(n, Index{6}), n, 1, least, greatest,
                                  false);
              },
          .cancel = &CancelWeights<Real>,
          .measure = Measure<Real>(2, run, compare)};
}

// The last two of four moments have squares. Each sum has a term for every
// number, of as many products as an expansion. Moments of weights below the
// normal numbers lose what these lack.
template <class Real>
void CompareCauchy(const Made& made, std::vector<WorstError>& worst) {
  Arrays<Wide> in = made.in;
  for (Array<Wide>& array : in) {
    for (Wide& value : array) {
      value = std::max<Wide>(std::abs(value), std::numeric_limits<Real>::min());
    }
  }
  const Arrays<Wide> all = made.reference(in);
  const auto numbers = in.front().size() + in.back().size();
  const Wide floor = 100 * static_cast<Wide>(numbers) * kLeast<Real>;
  const bool has_squares = made.found.size() > 2;
  for (std::size_t n = 0; n < made.found.size(); ++n) {
    const bool is_square = has_squares && n % 4 >= 2;
    AddShares(made.found[n], made.exact[n], all[n], 1,
              is_square ? kCauchySquareError<Real> : kCauchyError<Real>, floor,
              worst[has_squares ? n % 4 / 2 : n]);
  }
}

template <class Real>
Subject<Real> CauchySums() {
  const auto run = []<class T>(Call<T>& call) {
    const Index rows = call.Length(0), count = call.Length(2);
    T* const row_sums = call.Out(rows);
    call.kernels.cauchy_sums(call.In(0), call.In(1), rows, call.In(2),
                             call.In(3), count, row_sums, call.Out(count));
  };
  return {.kernel = "cauchy_sums",
          .results = {{"row sums", "share of the sum of magnitudes"},
                      {"column sums", "share of the sum of magnitudes"}},
          .ranges = [](Index n) { return CauchyRanges<Real>(n, 1); },
          .cancel = &CancelWeights<Real>,
          .measure = Measure<Real>(2, run, &CompareCauchy<Real>)};
}

template <class Real>
Subject<Real> CauchyMoments() {
  const auto run = []<class T>(Call<T>& call) {
    const Index rows = call.Length(0), count = call.Length(3);
    T *of_rows[4], *of_columns[4];
    for (T*& sums : of_rows) sums = call.Out(rows);
    for (T*& sums : of_columns) sums = call.Out(count);
    call.kernels.cauchy_moments(call.In(0), call.In(1), call.In(2), rows,
                                call.In(3), call.In(4), call.In(5), count,
                                of_rows, of_columns);
  };
  return {.kernel = "cauchy_moments",
          .results = {{"sums", "share of the sum of magnitudes"},
                      {"sums with squares", "share of the sum of magnitudes"}},
          .ranges = [](Index n) { return CauchyRanges<Real>(n, 2); },
          .cancel = &CancelWeights<Real>,
          .measure = Measure<Real>(2, run, &CompareCauchy<Real>)};
}

// ---- MAtChA's short blocks --------------------------------------------------

// e, start, p, `weighted`, and the p whose complements pass: the same.
template <class Real>
Ranges AdaptiveRanges(Index n) {
  const double least = kSingle<Real> ? 0x1p-60 : 0x1p-450;
  return {{n, least, 1, 0.01, 1}, {n, 0, 1}, {n, 0, 1}, {n, -1, 1, -1, 1}, {n}};
}

template <class Real>
void PassAsChosen(Arrays<Real>& in) {
  in[4] = in[2];
}

// Little passes an entry with p next to 1; chunk energies lie far apart.
template <class Real>
void CancelAdaptive(Random& random, Arrays<Real>& in) {
  Spread(random, -40, 0, in[0]);
  for (Real& p : in[2]) {
    p = 1 - static_cast<Real>(std::exp2(random.Uniform(-20, 0)));
  }
  AlternateSigns(random, in[3]);
}

// In f64 for the loops, too.
template <class T>
const double* PassedOf(Call<T>& call) {
  const Index count = call.Length(4);
  double* const passed = call.template Scratch<double>(count);
  for (Index n = 0; n < count; ++n) {
    passed[n] = 1 - static_cast<double>(call.In(4)[n]);
  }
  return passed;
}

// What an underflow in f64 may add, after divisions by sums of e.
template <class Real>
Wide AdaptiveFloor(const Array<Wide>& e, int divisions) {
  Wide least = 1;
  for (const Wide value : e) least = std::min(least, value);
  return 8 * kLeast<Real> + 500 * kLeast<double> / std::pow(least, divisions);
}

template <class Real>
Subject<Real> AdaptiveBlocks() {
  const auto run = []<class T>(Call<T>& call) {
    const Index count = call.Length(0);
    call.kernels.adaptive_blocks(call.In(0), call.In(1), call.In(2),
                                 PassedOf(call), count, call.Out(count));
  };
  const auto compare = [](const Made& made, auto& worst) {
    // All terms are positive and summed in f64; one rounding is Real's.
    AddShares(made.found[0], made.exact[0], made.exact[0], kUnit<Real>,
              1 + kAdaptiveError * kUnitOfDouble<Real>,
              AdaptiveFloor<Real>(made.in[0], 1), worst[0]);
  };
  return {.kernel = "adaptive_blocks",
          .results = {{"beta", "u of the number"}},
          .ranges = &AdaptiveRanges<Real>,
          .cancel = &CancelAdaptive<Real>,
          .repair = &PassAsChosen<Real>,
          .measure = Measure<Real>(1, run, compare)};
}

// The terms added. That of p is A - B with B in proportion to p.
template <class Real>
void CompareAdaptiveBackward(const Made& made, std::vector<WorstError>& worst) {
  Arrays<Wide> in = made.in;
  in[3] = Magnitudes(in[3]);
  Arrays<Wide> all = made.reference(in);
  std::ranges::fill(in[2], 0);
  const Array<Wide> first = made.reference(in)[3];
  for (std::size_t n = 0; n < first.size(); ++n) {
    all[3][n] = 2 * first[n] - all[3][n];
  }
  const Wide floor = AdaptiveFloor<Real>(made.in[0], 2);
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t n = 0; n < first.size(); ++n) {
      const Wide exact = made.exact[r][n];
      worst[r].Add(
          made.found[r][n] - exact,
          (kSingle<Real> ? kUnit<Real> * std::abs(exact) : 0) +
              kAdaptiveBackwardError * kUnit<double> * std::abs(all[r][n]),
          1, floor);
    }
  }
}

// The gradients of e, weighted, start and p.
template <class Real>
Subject<Real> AdaptiveBlocksBackward() {
  const auto run = []<class T>(Call<T>& call) {
    const Index count = call.Length(0);
    T* const d_e = call.Out(count);
    T* const d_weighted = call.Out(count);
    T* const d_start = call.Out(count);
    call.kernels.adaptive_blocks_backward(
        call.In(0), call.In(3), call.In(1), call.In(2), PassedOf(call), count,
        d_e, d_weighted, d_start, call.Out(count));
  };
  const std::string unit =
      "u of the number + " +
      std::to_string(static_cast<int>(kAdaptiveBackwardError)) +
      " units of f64 of its terms";
  return {.kernel = "adaptive_blocks_backward",
          .results = {{"gradient of e", unit},
                      {"gradient of weighted", unit},
                      {"gradient of start", unit},
                      {"gradient of p", unit}},
          .ranges = &AdaptiveRanges<Real>,
          .cancel = &CancelAdaptive<Real>,
          .repair = &PassAsChosen<Real>,
          .measure = Measure<Real>(4, run, &CompareAdaptiveBackward<Real>)};
}

}  // namespace

template <class Real>
std::vector<Subject<Real>> PairSubjects() {
  return {ReciprocalSums<Real>(), CauchySums<Real>(), CauchyMoments<Real>(),
          AdaptiveBlocks<Real>(), AdaptiveBlocksBackward<Real>()};
}

template std::vector<Subject<float>> PairSubjects();
template std::vector<Subject<double>> PairSubjects();

}  // namespace attnbench::kernel_errors
