// The kernels of one row of numbers: exponentials, additive energies, softmax.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "mechanisms/kernels/errors/subjects.h"

namespace attnbench::kernel_errors {
namespace {

// ---- exponentials -----------------------------------------------------------

// Close to multiples of log(2) / 2, times `factor`: exp subtracts them.
template <class Real>
void NearLogarithms(Random& random, double factor, double most,
                    Array<Real>& values) {
  for (Real& value : values) {
    const double half = factor * std::numbers::ln2 / 2;
    value = static_cast<Real>(std::round(random.Uniform(-most, most) / half) *
                                  half +
                              random.Uniform(-1e-6, 1e-6));
  }
}

// All results, in units of the last place.
template <class Real>
auto CompareUlps(double bound) {
  return [=](const Made& made, auto& worst) {
    for (std::size_t r = 0; r < worst.size(); ++r) {
      AddUlps<Real>(made.found[r], made.exact[r], bound, worst[r]);
    }
  };
}
template <class Real>
Subject<Real> ExpTwice() {
  const auto run = []<class T>(Call<T>& call) {
    const Index count = call.Length(0);
    call.kernels.exp_twice(call.In(0), kMostQuery<Real>, count,
                           call.Out(count));
  };
  return {.kernel = "exp_twice",
          .results = {{"exp(2 x)", "ULP"}},
          .ranges =
              [](Index n) {
                return Ranges{{n, -2000, 2000, -3, 3}};
              },
          .cancel =
              [](auto& random, auto& in) {
                NearLogarithms(random, 0.5, kMostQuery<Real>, in[0]);
              },
          .measure = Measure<Real>(1, run, CompareUlps<Real>(kExpUlp))};
}

template <class Real>
Subject<Real> ExpScaled() {
  constexpr double kMost = kSingle<Real> ? 80 : 600;
  const auto run = []<class T>(Call<T>& call) {
    const Index count = call.Length(0);
    call.kernels.exp_scaled(call.In(0), count, static_cast<int>(call.In(1)[0]),
                            call.Out(count));
  };
  // All results are normal numbers.
  const auto repair = [](auto& in) {
    constexpr Real kExponent = std::numeric_limits<Real>::max_exponent - 3;
    const auto [low, high] = std::ranges::minmax(in[0]);
    const Real log2e = std::numbers::log2e_v<Real>;
    in[1][0] =
        std::clamp(std::round(in[1][0]), std::ceil(high * log2e - kExponent),
                   std::floor(low * log2e + kExponent));
  };
  return {
      .kernel = "exp_scaled",
      .results = {{"exp(x) 2^-power", "ULP"}},
      .ranges =
          [](Index n) {
            return Ranges{{n, -kMost, kMost, -3, 3}, {1, -2000, 2000, -3, 3}};
          },
      .cancel = [](auto& random,
                   auto& in) { NearLogarithms(random, 1, kMost, in[0]); },
      .repair = repair,
      .measure = Measure<Real>(1, run, CompareUlps<Real>(kExpUlp))};
}

template <class Real>
Subject<Real> ExpSum() {
  const auto run = []<class T>(Call<T>& call) {
    const Index count = call.Length(0);
    T* const weights = call.Out(count);
    call.Out(1)[0] =
        call.kernels.exp_sum(call.In(0), call.In(1)[0], count, weights);
  };
  const auto compare = [](const Made& made, auto& worst) {
    // The exponential is of the difference as it is rounded.
    Array<Wide> differences;
    for (const Wide energy : made.in[0]) {
      const Real difference =
          static_cast<Real>(energy) - static_cast<Real>(made.in[1][0]);
      differences.push_back(difference);
    }
    const Array<Wide>& weights = made.found[0];
    AddUlps<Real>(weights, made.reference({differences, {0}})[0], kExpUlp,
                  worst[0]);
    const Wide all = SumOfMagnitudes(weights);
    worst[1].Add(made.found[1][0] - all, kUnit<Real> * all,
                 SumError(std::ssize(weights), made.lanes));
  };
  const auto repair = [](auto& in) {
    const Real most = std::ranges::max(in[0]);
    in[1][0] = std::clamp(in[1][0], most - 40, most + 200);
  };
  return {.kernel = "exp_sum",
          .results = {{"weights", "ULP beside the rounded difference"},
                      {"sum of the weights", "u of the sum"}},
          .ranges =
              [](Index n) {
                return Ranges{{n, -1e4, 1e4, -5, 5}, {1, -1e4, 1e4, -5, 5}};
              },
          .cancel = [](auto& random,
                       auto& in) { NearLogarithms(random, 1, 40, in[0]); },
          .repair = repair,
          .measure = Measure<Real>(2, run, compare)};
}

template <class Real>
Subject<Real> Sigmoid() {
  constexpr double kMost = kSingle<Real> ? 3e38 : 1e308;
  const auto run = []<class T>(Call<T>& call) {
    const Index count = call.Length(0);
    T* const y = call.Out(count);
    call.kernels.sigmoid(call.In(0), count, y, call.Out(count));
  };
  return {.kernel = "sigmoid",
          .results = {{"y", "ULP"}, {"1 - y", "ULP"}},
          .ranges =
              [](Index n) {
                return Ranges{{n, -kMost, kMost, -5, 5}};
              },
          .cancel =
              [](auto& random, auto& in) {
                NearLogarithms(random, 1, kSingle<Real> ? 87 : 700, in[0]);
              },
          .measure = Measure<Real>(2, run, CompareUlps<Real>(kSigmoidUlp))};
}

// ---- additive energies ------------------------------------------------------

// States and keys, and what `weights` has behind them.
template <class Real>
Ranges FactoredRanges(Index dim, Index rows, Index weights) {
  constexpr double kKey = kMostKey<Real>;
  return {{dim, -2000, 2000, -3, 3},
          {rows * dim, -kKey, kKey, -3, 3},
          {weights, -1e3, 1e3, -1, 1}};
}

// Keys against states, and weights against each other.
template <class Real>
void CancelFactored(Random& random, Arrays<Real>& in) {
  for (Real& x : in[0]) {
    x = static_cast<Real>(random.Uniform(-1, 1)) * kMostKey<Real>;
  }
  for (std::size_t n = 0; n < in[1].size(); ++n) {
    in[1][n] =
        static_cast<Real>(random.Uniform(-0.1, 0.1)) - in[0][n % in[0].size()];
  }
  AlternateSigns(random, in[2]);
}

// Rows as factors, with NaN between them.
template <class T>
const T* ExpOfRows(Call<T>& call, std::size_t input, T limit, Index rows,
                   Index dim, Index stride) {
  T* const e = call.Scratch(rows * stride);
  for (Index j = 0; j < rows; ++j) {
    call.kernels.exp_twice(call.In(input) + j * dim, limit, dim,
                           e + j * stride);
  }
  return e;
}

template <class Real>
Subject<Real> FactoredRows() {
  constexpr Index kRows = 3;
  const auto run = []<class T>(Call<T>& call) {
    const Index dim = call.Length(0), stride = dim + 3;
    T* const energies = call.Out(kRows);
    if constexpr (std::is_same_v<T, Wide>) {
      call.kernels.additive_rows(call.In(0), call.In(1), dim, call.In(2), kRows,
                                 dim, energies);
    } else {
      call.kernels.factored_additive_rows(
          ExpOfRows(call, 0, kMostQuery<T>, 1, dim, dim),
          ExpOfRows(call, 1, kMostKey<T>, kRows, dim, stride), stride,
          call.In(2), kRows, dim, energies);
    }
  };
  const auto compare = [](const Made& made, auto& worst) {
    const Index dim = std::ssize(made.in[0]);
    AddShares(made.found[0], made.exact[0],
              Array<Wide>(kRows, SumOfMagnitudes(made.in[2])), kUnit<Real>,
              FactoredRowsError(dim, made.lanes),
              8 * static_cast<Wide>(dim) * kLeast<Real>, worst[0]);
  };
  return {
      .kernel = "factored_additive_rows",
      .results = {{"energies", "u sum |v|"}},
      .ranges = [](Index dim) { return FactoredRanges<Real>(dim, kRows, dim); },
      .cancel = &CancelFactored<Real>,
      .measure = Measure<Real>(1, run, compare)};
}

// The gradients of v, of states and of keys, each from 0.
template <class Real>
Subject<Real> FactoredBackward() {
  constexpr Index kRows = 8;
  const auto run = []<class T>(Call<T>& call) {
    const Index dim = call.Length(0);
    T* const d_v = call.Out(dim);
    T* const d_query = call.Out(dim);
    call.kernels.factored_additive_backward(
        ExpOfRows<T>(call, 0, kMostQuery<Real>, 1, dim, dim),
        ExpOfRows<T>(call, 1, kMostKey<Real>, kRows, dim, dim), dim, call.In(2),
        kRows, dim, d_query, call.Out(kRows * dim), d_v);
  };
  const auto compare = [](const Made& made, auto& worst) {
    const Array<Wide>& weights = made.in[2];
    const Wide floor = 8 * kRows * kLeast<Real>;
    const std::size_t dim = made.in[0].size();
    const Array<Wide> all(dim, SumOfMagnitudes(weights));
    Array<Wide> of_keys;
    for (const Wide weight : weights) {
      of_keys.insert(of_keys.end(), dim, std::abs(weight));
    }
    for (const std::size_t r : {0U, 1U, 2U}) {
      AddShares(made.found[r], made.exact[r], r < 2 ? all : of_keys,
                kUnit<Real>, FactoredBackwardError(r < 2 ? kRows : 0), floor,
                worst[r]);
    }
  };
  return {.kernel = "factored_additive_backward",
          .results = {{"gradient of v, halved", "u sum |weight|"},
                      {"gradient of states, quartered", "u sum |weight|"},
                      {"gradient of keys, quartered", "u |weight|"}},
          .ranges =
              [](Index dim) { return FactoredRanges<Real>(dim, kRows, kRows); },
          .cancel = &CancelFactored<Real>,
          .measure = Measure<Real>(3, run, compare)};
}

// ---- softmax ----------------------------------------------------------------

template <class Real>
Subject<Real> SoftmaxBackward() {
  const auto run = []<class T>(Call<T>& call) {
    const Index count = call.Length(0);
    call.kernels.softmax_backward(call.In(0), call.In(1), count,
                                  call.Out(count));
  };
  const auto compare = [](const Made& made, auto& worst) {
    const Array<Wide>&alpha = made.in[0], &d = made.in[1];
    Wide mean = 0, all = 0;
    for (std::size_t j = 0; j < d.size(); ++j) {
      mean += alpha[j] * d[j];
      all += std::abs(alpha[j] * d[j]);
    }
    const double lanes_of_double =
        std::max(1.0, made.lanes * sizeof(Real) / sizeof(double));
    const Index count = std::ssize(d);
    for (std::size_t j = 0; j < d.size(); ++j) {
      // The difference, the product and its rounding err by a unit each.
      const Wide unit =
          (kSingle<Real> ? kUnit<Real> * std::abs(made.exact[0][j]) : 0) +
          kUnit<double> * alpha[j] *
              (SoftmaxBackwardError(count, lanes_of_double) * all +
               2 * std::abs(d[j] - mean));
      worst[0].Add(made.found[0][j] - made.exact[0][j], unit, 1,
                   static_cast<Wide>(count + 2) * kLeast<Real>);
    }
  };
  return {.kernel = "softmax_backward",
          .results = {{"gradient of energies",
                       "u of the number + units of f64 of alpha sum "
                       "|alpha d|"}},
          .ranges =
              [](Index n) {
                return Ranges{{n, 0, 1}, {n, -1e4, 1e4, -1, 1}};
              },
          .cancel = [](auto& random, auto& in) { NearOne(random, in[1]); },
          .measure = Measure<Real>(1, run, compare)};
}

}  // namespace

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
std::vector<Subject<Real>> ElementSubjects() {
  return {ExpTwice<Real>(), FactoredRows<Real>(), FactoredBackward<Real>(),
          ExpSum<Real>(),   ExpScaled<Real>(),    SoftmaxBackward<Real>(),
          Sigmoid<Real>()};
}

template <class Real>
std::vector<Subject<Real>> AllSubjects() {
  std::vector<Subject<Real>> subjects = ElementSubjects<Real>();
  std::ranges::move(ScanSubjects<Real>(), std::back_inserter(subjects));
  std::ranges::move(PairSubjects<Real>(), std::back_inserter(subjects));
  return subjects;
}

template std::vector<Subject<float>> ElementSubjects();
template std::vector<Subject<double>> ElementSubjects();
template std::vector<Subject<float>> AllSubjects();
template std::vector<Subject<double>> AllSubjects();

}  // namespace attnbench::kernel_errors
