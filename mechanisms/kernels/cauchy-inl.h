// Sums over all pairs of 1 / (x + y) in near-linear time. Each side is in
// order, so its octaves, the numbers between two powers of two, are runs of it.
// What a run of many numbers gives to others depends on few moments of it: sums
// of its weights times Chebyshev polynomials. Two runs meet by a table of these
// (cauchy_table.h), a run and a few numbers by
//
//   1 / (c + h (a + t)) = (2 / (h root)) (1/2 + sum over n >= 1 of r^n T_n(t)),
//   root = sqrt(a^2 - 1), r = -1 / (a + root),
//
// and few numbers by each of their pairs. With positive weights no sum cancels.
// clang-format off
#if defined(ATTNBENCH_MECHANISMS_KERNELS_CAUCHY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNBENCH_MECHANISMS_KERNELS_CAUCHY_INL_H_
#undef ATTNBENCH_MECHANISMS_KERNELS_CAUCHY_INL_H_
#else
#define ATTNBENCH_MECHANISMS_KERNELS_CAUCHY_INL_H_
#endif
// clang-format on

#include <algorithm>
#include <cmath>

#include "mechanisms/kernels/cauchy_table.h"
#include "mechanisms/kernels/kernels.h"
#include "mechanisms/kernels/lanes-inl.h"
#include "mechanisms/kernels/sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnbench::HWY_NAMESPACE {
namespace {

// Octaves of one side that have moments; further ones are taken by their pairs.
constexpr int kMostOctaves = 64;
// So many terms a lane are summed in Real, longer sums in f64.
constexpr Index kShortSum = 64;

// One weight a number and the powers 1, or two weights and the powers 1 and 2.
template <class Real, int Weights>
struct CauchyKind {
  static constexpr int kPowers = Weights;
  static constexpr int kSums = Weights * kPowers;
  // Terms that have the digits of Real.
  static constexpr int kOrder =
      kPowers == 2 ? kCauchyMomentTerms<Real> : kCauchyTerms<Real>;
  static_assert(kOrder <= kCauchyOrder);
  // Fewer numbers than this cost less one by one.
  static constexpr Index kLeastOfOctave = 2 * kOrder;
};

// A stretch of one side: an octave with moments, or numbers without.
struct CauchyRun {
  Index begin, end;
  int exponent;  // numbers are in 2^exponent [1, 2), if it is an octave
  int octave;    // the number of it, or -1
};

template <class Real, int Weights>
struct CauchySide {
  using Kind = CauchyKind<Real, Weights>;

  const Real* x;
  Index count;
  const Real* weights[Weights];
  Real* sums[Kind::kSums];  // of the other side's weights, power by power

  CauchyRun runs[2 * kMostOctaves + 1];
  int num_runs = 0, num_octaves = 0;
  HWY_ALIGN double moments[kMostOctaves][Weights][kCauchyStride];
  HWY_ALIGN double coefficients[kMostOctaves][Kind::kSums][kCauchyStride];
};

// Makes the runs.
template <class Side>
void CutIntoOctaves(Side& side) {
  const auto* const x = side.x;
  const bool rises = side.count > 0 && x[side.count - 1] > x[0];
  for (Index begin = 0; begin < side.count;) {
    const int exponent = std::ilogb(x[begin]);
    const auto least = std::ldexp(1.0, exponent);
    const auto* const end = std::partition_point(
        x + begin, x + side.count,
        [=](auto value) { return rises ? value < 2 * least : value >= least; });
    // Weights of a group that holds NaN are NaN, too, wherever it is cut.
    CauchyRun run = {begin, std::max<Index>(end - x, begin + 1), exponent, -1};
    const bool is_octave = run.end - run.begin > Side::Kind::kLeastOfOctave &&
                           side.num_octaves < kMostOctaves;
    CauchyRun* const last =
        side.num_runs > 0 ? &side.runs[side.num_runs - 1] : nullptr;
    if (is_octave) {
      run.octave = side.num_octaves++;
      side.runs[side.num_runs++] = run;
    } else if (last != nullptr && last->octave < 0) {
      last->end = run.end;
    } else {
      side.runs[side.num_runs++] = run;
    }
    begin = run.end;
  }
}

// With t = x scale - 3: moments(n) = sum of w T_n(t).
template <int Order, class Real>
void ChebyshevMoments(const Real* x, const Real* w, Index count, Real scale,
                      double* moments) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  const auto factor = hn::Set(d, 2 * scale), shift = hn::Set(d, Real{-6});
  HWY_ALIGN Real sums[Order * hn::MaxLanes(hn::ScalableTag<Real>())];
  Index k = 0;
  while (k < count) {
    std::fill_n(sums, Order * lanes, Real{0});
    const Index end = std::min(count, k + kShortSum * lanes);
    // Four vectors at a time, because each waits for the term before.
    for (; k < end; k += 4 * lanes) {
      const auto load = [&](const Real* from, Index n) HWY_ATTR {
        const Index left = end - k - n * lanes;
        if (left >= lanes) return hn::LoadU(d, from + k + n * lanes);
        return left <= 0 ? hn::Zero(d)
                         : LoadTail(d, from + k + n * lanes, left);
      };
      // Terms w T_n follow the recurrence of T_n: 2 t u1 - u0.
      auto u0 = load(w, 0), v0 = load(w, 1), y0 = load(w, 2), z0 = load(w, 3);
      const auto ut = hn::MulAdd(load(x, 0), factor, shift),
                 vt = hn::MulAdd(load(x, 1), factor, shift),
                 yt = hn::MulAdd(load(x, 2), factor, shift),
                 zt = hn::MulAdd(load(x, 3), factor, shift);
      const auto half = hn::Set(d, Real(0.5));
      auto u1 = hn::Mul(hn::Mul(ut, half), u0),
           v1 = hn::Mul(hn::Mul(vt, half), v0),
           y1 = hn::Mul(hn::Mul(yt, half), y0),
           z1 = hn::Mul(hn::Mul(zt, half), z0);
      for (int n = 0; n < Order; ++n) {
        Real* const at = sums + n * lanes;
        const auto sum = hn::Add(hn::Add(u0, v0), hn::Add(y0, z0));
        hn::Store(hn::Add(hn::Load(d, at), sum), d, at);
        const auto u2 = hn::MulSub(ut, u1, u0), v2 = hn::MulSub(vt, v1, v0),
                   y2 = hn::MulSub(yt, y1, y0), z2 = hn::MulSub(zt, z1, z0);
        u0 = u1, v0 = v1, y0 = y1, z0 = z1;
        u1 = u2, v1 = v2, y1 = y2, z1 = z2;
      }
    }
    k = end;
    for (int n = 0; n < Order; ++n) {
      moments[n] += static_cast<double>(
          hn::GetLane(hn::SumOfLanes(d, hn::Load(d, sums + n * lanes))));
    }
  }
}

// sums(k) += sum over n of c(n) T_n(t(k)), by Clenshaw's recurrence.
template <int Order, class Real>
void AddChebyshev(const Real* x, Index count, Real scale,
                  const double* coefficients, Real* sums) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  const auto factor = hn::Set(d, 2 * scale), shift = hn::Set(d, Real{-6});
  Real c[Order];
  for (int n = 0; n < Order; ++n) c[n] = static_cast<Real>(coefficients[n]);
  const auto half = hn::Set(d, Real(0.5));
  Index k = 0;
  for (; k + 4 * lanes <= count; k += 4 * lanes) {
    const auto t = [&](Index n) HWY_ATTR {
      return hn::MulAdd(hn::LoadU(d, x + k + n * lanes), factor, shift);
    };
    const auto ut = t(0), vt = t(1), yt = t(2), zt = t(3);
    auto u1 = hn::Set(d, c[Order - 1]), v1 = u1, y1 = u1, z1 = u1;
    auto u2 = hn::Zero(d), v2 = u2, y2 = u2, z2 = u2;
    for (int n = Order - 1; n-- > 1;) {
      const auto cn = hn::Set(d, c[n]);
      const auto u0 = hn::MulAdd(ut, u1, hn::Sub(cn, u2)),
                 v0 = hn::MulAdd(vt, v1, hn::Sub(cn, v2)),
                 y0 = hn::MulAdd(yt, y1, hn::Sub(cn, y2)),
                 z0 = hn::MulAdd(zt, z1, hn::Sub(cn, z2));
      u2 = u1, v2 = v1, y2 = y1, z2 = z1;
      u1 = u0, v1 = v0, y1 = y0, z1 = z0;
    }
    const auto c0 = hn::Set(d, c[0]);
    const auto add = [&](auto t2, auto b1, auto b2, Index n) HWY_ATTR {
      const auto value = hn::MulAdd(hn::Mul(t2, half), b1, hn::Sub(c0, b2));
      Real* const at = sums + k + n * lanes;
      hn::StoreU(hn::Add(hn::LoadU(d, at), value), d, at);
    };
    add(ut, u1, u2, 0);
    add(vt, v1, v2, 1);
    add(yt, y1, y2, 2);
    add(zt, z1, z2, 3);
  }
  for (; k < count; k += lanes) {
    const Index size = std::min(lanes, count - k);
    const auto load = [&](const Real* from) HWY_ATTR {
      return size == lanes ? hn::LoadU(d, from + k)
                           : LoadTail(d, from + k, size);
    };
    const auto t2 = hn::MulAdd(load(x), factor, shift);
    auto b1 = hn::Set(d, c[Order - 1]), b2 = hn::Zero(d);
    for (int n = Order - 1; n-- > 1;) {
      const auto b0 = hn::MulAdd(t2, b1, hn::Sub(hn::Set(d, c[n]), b2));
      b2 = b1;
      b1 = b0;
    }
    const auto value =
        hn::MulAdd(hn::Mul(t2, half), b1, hn::Sub(hn::Set(d, c[0]), b2));
    const auto sum = hn::Add(load(sums), value);
    if (size == lanes) {
      hn::StoreU(sum, d, sums + k);
    } else {
      StoreTail(d, sum, sums + k, size);
    }
  }
}

// Two octaves, the greater one first: adds to the coefficients of each what the
// moments of the other give.
inline void Meet(const double* table, double unit, int order,
                 const double* moments, double* coefficients,
                 const double* lesser_moments, double* lesser_coefficients) {
  const hn::ScalableTag<double> d;
  const Index lanes = LanesOf(d);
  for (int m = 0; m < order; ++m) {
    const double* const row = table + m * kCauchyStride;
    const auto weight = hn::Set(d, unit * moments[m]);
    auto sum = hn::Zero(d);
    for (Index n = 0; n < order; n += lanes) {
      const auto c = hn::LoadU(d, row + n);
      sum = hn::MulAdd(c, hn::LoadU(d, lesser_moments + n), sum);
      double* const at = lesser_coefficients + n;
      hn::StoreU(hn::MulAdd(c, weight, hn::LoadU(d, at)), d, at);
    }
    coefficients[m] += unit * hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

template <class Side>
void MeetOctaves(Side& x, const CauchyRun& run, Side& y,
                 const CauchyRun& other) {
  if (run.exponent < other.exponent) return MeetOctaves(y, other, x, run);
  using Kind = typename Side::Kind;
  const Index distance =
      std::min<Index>(run.exponent - other.exponent, kCauchyDistances - 1);
  for (int power = 0; power < Kind::kPowers; ++power) {
    const double* const table =
        power == 0 ? CauchyTable(distance) : SquaredCauchyTable(distance);
    const double unit = std::ldexp(1.0, -(power + 1) * run.exponent);
    for (int w = 0; w < Kind::kPowers; ++w) {
      const int sum = power * Kind::kPowers + w;
      Meet(table, unit, Kind::kOrder, x.moments[run.octave][w],
           x.coefficients[run.octave][sum], y.moments[other.octave][w],
           y.coefficients[other.octave][sum]);
    }
  }
}

// Numbers of one side and an octave of the other.
template <class Real, int Weights>
void MeetPoints(CauchySide<Real, Weights>& x, const CauchyRun& points,
                CauchySide<Real, Weights>& y, const CauchyRun& octave) {
  using Kind = CauchyKind<Real, Weights>;
  constexpr int kOrder = Kind::kOrder;
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  const auto one = hn::Set(d, Real{1}), half = hn::Set(d, Real(0.5));
  const auto scale =
      hn::Set(d, static_cast<Real>(std::ldexp(1.0, 1 - octave.exponent)));
  Real m[Weights][kOrder];
  for (int w = 0; w < Weights; ++w) {
    for (int n = 0; n < kOrder; ++n) {
      m[w][n] = static_cast<Real>(y.moments[octave.octave][w][n]);
    }
  }
  HWY_ALIGN Real
      sums[Kind::kSums * kOrder * hn::MaxLanes(hn::ScalableTag<Real>())];
  Index k = points.begin;
  while (k < points.end) {
    std::fill_n(sums, Kind::kSums * kOrder * lanes, Real{0});
    const Index end = std::min(points.end, k + kShortSum * lanes);
    for (; k < end; k += lanes) {
      const Index size = std::min(lanes, end - k);
      const auto load = [&](const Real* from, Real fill) HWY_ATTR {
        return size == lanes ? hn::LoadU(d, from + k)
                             : LoadTailOr(d, from + k, size, fill);
      };
      const auto a = hn::MulAdd(load(x.x, Real{1}), scale, hn::Set(d, Real{3}));
      const auto inverse = hn::Div(one, a);
      const auto root = hn::Mul(
          a, hn::Sqrt(hn::Mul(hn::Sub(one, inverse), hn::Add(one, inverse))));
      const auto r = hn::Neg(hn::Div(one, hn::Add(a, root)));
      const auto unit = hn::Div(hn::Add(scale, scale), root);
      // Of the square: its terms have factors a / root + n.
      const auto ratio = hn::Div(a, root);
      const auto square_unit = hn::Mul(unit, hn::Div(scale, root));
      for (int w = 0; w < Weights; ++w) {
        auto sum = hn::Set(d, m[w][kOrder - 1]);
        auto slope = hn::Set(d, (kOrder - 1) * m[w][kOrder - 1]);
        for (int n = kOrder - 1; n-- > 1;) {
          sum = hn::MulAdd(sum, r, hn::Set(d, m[w][n]));
          slope =
              hn::MulAdd(slope, r, hn::Set(d, static_cast<Real>(n) * m[w][n]));
        }
        sum = hn::MulAdd(sum, r, hn::Set(d, m[w][0] / 2));
        const auto add = [&](Real* to, auto value) HWY_ATTR {
          const auto all = hn::Add(load(to, Real{0}), value);
          if (size == lanes) {
            hn::StoreU(all, d, to + k);
          } else {
            StoreTail(d, all, to + k, size);
          }
        };
        add(x.sums[w], hn::Mul(unit, sum));
        auto term = hn::Mul(unit, load(x.weights[w], Real{0}));
        Real* at = sums + w * kOrder * lanes;
        hn::Store(hn::MulAdd(term, half, hn::Load(d, at)), d, at);
        for (int n = 1; n < kOrder; ++n) {
          term = hn::Mul(term, r);
          at += lanes;
          hn::Store(hn::Add(hn::Load(d, at), term), d, at);
        }
        if constexpr (Kind::kPowers == 2) {
          slope = hn::Mul(slope, r);
          add(x.sums[Weights + w],
              hn::Mul(square_unit, hn::MulAdd(ratio, sum, slope)));
          term = hn::Mul(square_unit, load(x.weights[w], Real{0}));
          at = sums + (Weights + w) * kOrder * lanes;
          hn::Store(hn::MulAdd(hn::Mul(term, ratio), half, hn::Load(d, at)), d,
                    at);
          auto factor = ratio;
          for (int n = 1; n < kOrder; ++n) {
            term = hn::Mul(term, r);
            factor = hn::Add(factor, one);
            at += lanes;
            hn::Store(hn::MulAdd(term, factor, hn::Load(d, at)), d, at);
          }
        }
      }
    }
    k = end;
    for (int s = 0; s < Kind::kSums; ++s) {
      for (int n = 0; n < kOrder; ++n) {
        y.coefficients[octave.octave][s][n] += static_cast<double>(hn::GetLane(
            hn::SumOfLanes(d, hn::Load(d, sums + (s * kOrder + n) * lanes))));
      }
    }
  }
}

// Numbers against numbers, in pieces: the rounding of sums over thousands of
// numbers in Real would show.
constexpr Index kPairRows = 64, kPairColumns = 256;

// Calls meet(k, number of rows, l, number of columns) for each piece.
template <class Function>
void ForPieces(const CauchyRun& run, const CauchyRun& other,
               const Function& meet) {
  for (Index k = run.begin; k < run.end; k += kPairRows) {
    for (Index l = other.begin; l < other.end; l += kPairColumns) {
      meet(k, std::min(kPairRows, run.end - k), l,
           std::min(kPairColumns, other.end - l));
    }
  }
}

template <class Real>
void MeetPairs(CauchySide<Real, 1>& x, const CauchyRun& run,
               CauchySide<Real, 1>& y, const CauchyRun& other) {
  Real rows[kPairRows], columns[kPairColumns];
  ForPieces(run, other, [&](Index k, Index num_rows, Index l, Index count) {
    std::fill_n(columns, count, Real{0});
    ReciprocalSums(x.x + k, x.weights[0] + k, num_rows, y.x + l,
                   y.weights[0] + l, count, rows, columns);
    Add(x.sums[0] + k, rows, num_rows, x.sums[0] + k);
    Add(y.sums[0] + l, columns, count, y.sums[0] + l);
  });
}
template <class Real>
void MeetPairs(CauchySide<Real, 2>& x, const CauchyRun& run,
               CauchySide<Real, 2>& y, const CauchyRun& other) {
  Real of_columns[4][kPairColumns];
  Real* const columns[4] = {of_columns[0], of_columns[1], of_columns[2],
                            of_columns[3]};
  ForPieces(run, other, [&](Index k, Index num_rows, Index l, Index count) {
    for (Real* column : columns) std::fill_n(column, count, Real{0});
    for (Index end = k + num_rows; k < end; ++k) {
      Real row[4];
      ReciprocalMoments(x.x[k], x.weights[0][k], x.weights[1][k], y.x + l,
                        y.weights[0] + l, y.weights[1] + l, count, row,
                        columns);
      for (int s = 0; s < 4; ++s) x.sums[s][k] += row[s];
    }
    for (int s = 0; s < 4; ++s) {
      Add(y.sums[s] + l, columns[s], count, y.sums[s] + l);
    }
  });
}

template <class Real>
Real ScaleOf(const CauchyRun& run) {
  return static_cast<Real>(std::ldexp(1.0, 1 - run.exponent));
}

template <class Real, int Weights>
void PrepareSide(CauchySide<Real, Weights>& side) {
  using Kind = CauchyKind<Real, Weights>;
  for (Real* sums : side.sums) std::fill_n(sums, side.count, Real{0});
  CutIntoOctaves(side);
  for (int n = 0; n < side.num_runs; ++n) {
    const CauchyRun& run = side.runs[n];
    if (run.octave < 0) continue;
    for (auto& coefficients : side.coefficients[run.octave]) {
      std::fill_n(coefficients, kCauchyStride, 0.0);
    }
    for (int w = 0; w < Weights; ++w) {
      double* const moments = side.moments[run.octave][w];
      std::fill_n(moments, kCauchyStride, 0.0);
      ChebyshevMoments<Kind::kOrder>(
          side.x + run.begin, side.weights[w] + run.begin, run.end - run.begin,
          ScaleOf<Real>(run), moments);
    }
  }
}

template <class Real, int Weights>
void FinishSide(CauchySide<Real, Weights>& side) {
  using Kind = CauchyKind<Real, Weights>;
  for (int n = 0; n < side.num_runs; ++n) {
    const CauchyRun& run = side.runs[n];
    if (run.octave < 0) continue;
    for (int s = 0; s < Kind::kSums; ++s) {
      AddChebyshev<Kind::kOrder>(
          side.x + run.begin, run.end - run.begin, ScaleOf<Real>(run),
          side.coefficients[run.octave][s], side.sums[s] + run.begin);
    }
  }
}

template <class Side>
void MeetSides(Side& x, Side& y) {
  PrepareSide(x);
  PrepareSide(y);
  for (int m = 0; m < x.num_runs; ++m) {
    for (int n = 0; n < y.num_runs; ++n) {
      const CauchyRun &run = x.runs[m], &other = y.runs[n];
      if (run.octave >= 0 && other.octave >= 0) {
        MeetOctaves(x, run, y, other);
      } else if (other.octave >= 0) {
        MeetPoints(x, run, y, other);
      } else if (run.octave >= 0) {
        MeetPoints(y, other, x, run);
      } else {
        MeetPairs(x, run, y, other);
      }
    }
  }
  FinishSide(x);
  FinishSide(y);
}

template <class Real>
void CauchySums(const Real* x, const Real* a, Index rows, const Real* y,
                const Real* b, Index count, Real* row_sums, Real* column_sums) {
  CauchySide<Real, 1> left, right;
  left.x = x, left.count = rows, left.weights[0] = a, left.sums[0] = row_sums;
  right.x = y, right.count = count, right.weights[0] = b;
  right.sums[0] = column_sums;
  MeetSides(left, right);
}

template <class Real>
void CauchyMoments(const Real* x, const Real* a, const Real* a2, Index rows,
                   const Real* y, const Real* b, const Real* b2, Index count,
                   Real* const row_sums[4], Real* const column_sums[4]) {
  CauchySide<Real, 2> left, right;
  left.x = x, left.count = rows, left.weights[0] = a, left.weights[1] = a2;
  right.x = y, right.count = count, right.weights[0] = b, right.weights[1] = b2;
  std::copy_n(row_sums, 4, left.sums);
  std::copy_n(column_sums, 4, right.sums);
  MeetSides(left, right);
}

}  // namespace
}  // namespace attnbench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
