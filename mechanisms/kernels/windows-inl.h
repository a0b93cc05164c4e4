// MoChA's windows backwards, several rows at once, a row a lane: nothing moves
// between lanes, and the bits of a row do not depend on the rows beside it.
//
// A row is cut into blocks of the window's width w, so that each window is the
// end of one block and the beginning of the next: a sum that goes up a block
// meets one that went down the block before. That is three additions an entry
// whatever w is, and all terms are added, none subtracted.
// clang-format off
#if defined(ATTNBENCH_MECHANISMS_KERNELS_WINDOWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNBENCH_MECHANISMS_KERNELS_WINDOWS_INL_H_
#undef ATTNBENCH_MECHANISMS_KERNELS_WINDOWS_INL_H_
#else
#define ATTNBENCH_MECHANISMS_KERNELS_WINDOWS_INL_H_
#endif
// clang-format on

#include <algorithm>
#include <initializer_list>
#include <numbers>

#include "mechanisms/kernels/kernels.h"
#include "mechanisms/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnbench::HWY_NAMESPACE {
namespace {

using RowLanes = hn::ScalableTag<double>;  // a row a lane
template <class Real>
using RowLanesOf = hn::Rebind<Real, RowLanes>;
constexpr Index kRowLanes = kMaxLanes<RowLanes>;
static_assert(kRowLanes <= 8, "WindowsBackwardScratch counts eight");

// A step: the entries that lie in 128 bits, within which lanes move fast.
template <class Real>
constexpr Index kStep = 16 / sizeof(Real);

// The pointers of a group of rows. Lanes without a row repeat the last one.
template <class Real>
struct RowGroup {
  RowGroup(Real* first, Index stride, Index rows) : count(rows) {
    for (Index n = 0; n < kRowLanes; ++n) {
      row[n] = first + std::min(n, rows - 1) * stride;
    }
  }
  Index count;
  Real* row[kRowLanes];
};

#if HWY_TARGET != HWY_SCALAR
// Block b, of 128 bits, of the vector comes from entry k of rows[b kStep].
template <class D, class Real = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadBlocks(D d, const Real* const* rows, Index k) {
  if constexpr (kMaxLanes<D> <= kStep<Real>) {
    return hn::LoadU(d, rows[0] + k);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, LoadBlocks(half, rows + kMaxLanes<decltype(half)>, k),
                       LoadBlocks(half, rows, k));
  }
}

// Stores blocks the same way, but none of the rows from `count` on.
template <class D, class Real = hn::TFromD<D>>
HWY_INLINE void StoreBlocks(D d, hn::Vec<D> v, Real* const* rows, Index count,
                            Index k) {
  if constexpr (kMaxLanes<D> <= kStep<Real>) {
    if (count <= 0) return;
    hn::StoreU(v, d, rows[0] + k);
  } else {
    const hn::Half<D> half;
    constexpr int kHalf = kMaxLanes<decltype(half)>;
    StoreBlocks(half, hn::LowerHalf(half, v), rows, count, k);
    StoreBlocks(half, hn::UpperHalf(half, v), rows + kHalf, count - kHalf, k);
  }
}

// Calls use(k, v, w) with entries k and k + 1 of all rows at `at`, for the even
// k of a step.
template <class Real, class Use>
HWY_INLINE void LoadStep(const Real* const* rows, Index at, const Use& use) {
  const RowLanesOf<Real> d;
  if constexpr (kStep<Real> == 2) {
    auto v0 = LoadBlocks(d, rows, at), v1 = LoadBlocks(d, rows + 1, at);
    TransposeBlocks(d, v0, v1);
    use(0, v0, v1);
  } else if constexpr (kRowLanes == 2) {
    const hn::Twice<decltype(d)> block;
    const auto v0 = hn::LoadU(block, rows[0] + at);
    const auto v1 = hn::LoadU(block, rows[1] + at);
    const auto lower = hn::InterleaveLower(block, v0, v1);
    const auto upper = hn::InterleaveUpper(block, v0, v1);
    use(0, hn::LowerHalf(d, lower), hn::UpperHalf(d, lower));
    use(2, hn::LowerHalf(d, upper), hn::UpperHalf(d, upper));
  } else {
    auto v0 = LoadBlocks(d, rows, at), v1 = LoadBlocks(d, rows + 1, at);
    auto v2 = LoadBlocks(d, rows + 2, at), v3 = LoadBlocks(d, rows + 3, at);
    TransposeBlocks(d, v0, v1, v2, v3);
    use(0, v0, v1);
    use(2, v2, v3);
  }
}

// Stores a step of entries; column(k) gives entry k of all rows.
template <class Real, class Column>
HWY_INLINE void StoreStep(const Column& column, Real* const* rows, Index count,
                          Index at) {
  const RowLanesOf<Real> d;
  if constexpr (kStep<Real> == 2) {
    auto v0 = column(0), v1 = column(1);
    TransposeBlocks(d, v0, v1);
    StoreBlocks(d, v0, rows, count, at);
    StoreBlocks(d, v1, rows + 1, count - 1, at);
  } else if constexpr (kRowLanes == 2) {
    const hn::Twice<decltype(d)> block;
    const auto lower = hn::Combine(block, column(1), column(0));
    const auto upper = hn::Combine(block, column(3), column(2));
    StoreBlocks(block, hn::ConcatEven(block, upper, lower), rows, count, at);
    StoreBlocks(block, hn::ConcatOdd(block, upper, lower), rows + 1, count - 1,
                at);
  } else {
    auto v0 = column(0), v1 = column(1), v2 = column(2), v3 = column(3);
    TransposeBlocks(d, v0, v1, v2, v3);
    StoreBlocks(d, v0, rows, count, at);
    StoreBlocks(d, v1, rows + 1, count - 1, at);
    StoreBlocks(d, v2, rows + 2, count - 2, at);
    StoreBlocks(d, v3, rows + 3, count - 3, at);
  }
}

#else  // There is one lane, which nothing moves in.
template <class Real, class Use>
HWY_INLINE void LoadStep(const Real* const* rows, Index at, const Use& use) {
  const RowLanesOf<Real> d;
  for (Index k = 0; k < kStep<Real>; k += 2) {
    use(k, hn::LoadU(d, rows[0] + at + k), hn::LoadU(d, rows[0] + at + k + 1));
  }
}
template <class Real, class Column>
HWY_INLINE void StoreStep(const Column& column, Real* const* rows,
                          Index /*count*/, Index at) {
  const RowLanesOf<Real> d;
  for (Index k = 0; k < kStep<Real>; ++k) {
    Real* const to = rows[0] + at + k;
    hn::StoreU(column(k), d, to);
  }
}
#endif

// Copies of the last entries of a group's rows, a step with zeros after them.
template <class Real>
struct LastStep {
  template <class From>
  LastStep(const RowGroup<From>& from, Index at, Index entries) {
    for (Index n = 0; n < kRowLanes; ++n) {
      std::copy_n(from.row[n] + at, entries, step[n]);
      row[n] = step[n];
    }
  }
  Real step[kRowLanes][kStep<Real>] = {};
  Real* row[kRowLanes];
};

// Calls use(k, v, w) for the even k from 0 on, with entries first + k and the
// next of all rows, to the end of the step of the last of `count` entries.
template <class Real, class Use>
HWY_INLINE void LoadColumns(const RowGroup<const Real>& rows, Index first,
                            Index count, const Use& use) {
  Index k = 0;
  const auto from_k = [&](Index n, auto v, auto w)
                          HWY_ATTR { use(k + n, v, w); };
  for (; k + kStep<Real> <= count; k += kStep<Real>) {
    LoadStep(rows.row, first + k, from_k);
  }
  if (k == count) return;
  const LastStep<Real> last(rows, first + k, count - k);
  LoadStep<Real>(last.row, 0, from_k);
}

// Stores `count` entries of the rows from `first` on; column(k) gives
// entry first + k of all rows, with k up to the end of the last step.
template <class Real, class Column>
HWY_INLINE void StoreColumns(const Column& column, Index first, Index count,
                             const RowGroup<Real>& rows) {
  Index k = 0;
  const auto from_k = [&](Index n) HWY_ATTR { return column(k + n); };
  for (; k + kStep<Real> <= count; k += kStep<Real>) {
    StoreStep(from_k, rows.row, rows.count, first + k);
  }
  if (k == count) return;
  LastStep<Real> last(rows, first + k, count - k);
  StoreStep(from_k, last.row, rows.count, 0);
  for (Index n = 0; n < rows.count; ++n) {
    std::copy_n(last.step[n], count - k, rows.row[n] + first + k);
  }
}

// 1 / x. In f32, x and 1 / x are normal numbers of f32: their quotient is
// (1 - r) / x with |r| < 2^-22, and 1 / (1 - r) is 1 + r + r^2 but for r^3.
template <class Real>
HWY_INLINE hn::Vec<RowLanes> Inverse(hn::Vec<RowLanes> x) {
  const RowLanes d;
  const auto one = hn::Set(d, 1.0);
  if constexpr (sizeof(Real) == sizeof(double)) {
    return hn::Div(one, x);
  } else {
    const RowLanesOf<float> narrow;
    const auto y = hn::PromoteTo(
        d, hn::Div(hn::Set(narrow, 1.0F), hn::DemoteTo(narrow, x)));
    const auto r = hn::NegMulAdd(x, y, one);
    return hn::MulAdd(y, hn::MulAdd(r, r, r), y);
  }
}

HWY_INLINE hn::Vec<RowLanes> AsDoubles(hn::Vec<RowLanes> v) { return v; }
template <class Single>
HWY_INLINE hn::Vec<RowLanes> AsDoubles(Single v) {
  return hn::PromoteTo(RowLanes(), v);
}

// v in Real.
template <class Real>
HWY_INLINE hn::Vec<RowLanesOf<Real>> Rounded(hn::Vec<RowLanes> v) {
  if constexpr (sizeof(Real) == sizeof(double)) {
    return v;
  } else {
    return hn::DemoteTo(RowLanesOf<float>(), v);
  }
}

// Entry k of all rows of an array of the scratch.
HWY_INLINE hn::Vec<RowLanes> Entry(const double* from, Index k) {
  return hn::LoadU(RowLanes(), from + k * kRowLanes);
}
HWY_INLINE void SetEntry(hn::Vec<RowLanes> v, double* to, Index k) {
  hn::StoreU(v, RowLanes(), to + k * kRowLanes);
}

// exp(x) 2^-power, where `magic` is 1.5 2^52 - power, which leaves n - power in
// the last bits of a sum: 2^n exp(r) as in ModerateExp, but with the power of
// each lane, and 2^n by an addition to the exponent, which a NaN does not
// survive.
HWY_INLINE hn::Vec<RowLanes> ExpScaledBy(hn::Vec<RowLanes> x,
                                         hn::Vec<RowLanes> magic) {
  const RowLanes d;
  const hn::RebindToSigned<RowLanes> di;
  const auto shifted = hn::MulAdd(x, hn::Set(d, std::numbers::log2e), magic);
  const auto n = hn::Sub(shifted, magic);
  auto r = hn::NegMulAdd(n, hn::Set(d, 0x1.62e42feep-1), x);
  r = hn::NegMulAdd(n, hn::Set(d, 0x1.a39ef35793c76p-33), r);
  auto y = hn::Set(d, 2.51003767988125e-08);
  for (const double c :
       {2.762007713646922e-07, 2.7557268478279004e-06, 2.480152131972762e-05,
        0.00019841269863041851, 0.0013888888917198419, 0.008333333333330065,
        0.04166666666662416, 0.16666666666666669, 0.5, 1.0, 1.0}) {
    y = hn::MulAdd(y, r, hn::Set(d, c));
  }
  return hn::BitCast(d, hn::Add(hn::BitCast(di, y),
                                hn::ShiftLeft<52>(hn::BitCast(di, shifted))));
}

// How many entries are taken at a time, of windows narrower than the memory:
// whole blocks of `width` and, if that takes no more than 64, whole steps.
constexpr Index PieceOf(Index width) {
  Index piece = width;
  while (piece < 32 || (piece % 4 != 0 && piece < 64)) piece += width;
  return piece;
}

// Takes a group of rows backwards, in the letters of kernels.h, piece by piece:
// d_u of a block is known when the sums over the next one are.
template <class Real>
class GroupBackward {
 public:
  // `width` is at most `count`. Windows as wide as the memory all begin at its
  // first entry: there is one block, and none before it.
  GroupBackward(Index count, Index width, double* scratch)
      : count_(count),
        width_(width),
        is_whole_(width == count),
        piece_(is_whole_ ? count : PieceOf(width)),
        part_(((is_whole_ ? 0 : width) + piece_ + 2 * kRest) * kRowLanes),
        before_(scratch),
        // One block and the one before it change places, else both lie as in
        // the row.
        now_(scratch + (is_whole_         ? 0
                        : piece_ == width ? width + kRest
                                          : width) *
                           kRowLanes),
        weights_(scratch + (is_whole_ ? 2 : kParts) * part_),
        means_(weights_ + (piece_ + kRest) * kRowLanes) {}

  HWY_NOINLINE void Run(const RowGroup<const Real>& u, const int* powers,
                        const RowGroup<const Real>& alpha,
                        const RowGroup<const Real>& d_beta,
                        const RowGroup<Carry<Real>>& d_alpha,
                        const RowGroup<Real>& d_u) {
    HWY_ALIGN double magic[kRowLanes];
    for (Index n = 0; n < kRowLanes; ++n) {
      magic[n] = 0x1.8p52 - powers[std::min(n, u.count - 1)];
    }
    // Nothing lies before the first block.
    for (Index n = 0; n < kParts && !is_whole_; ++n) {
      std::fill_n(before_ + n * part_, width_ * kRowLanes, 0.0);
    }
    for (Index first = 0; first < count_; first += piece_) {
      const Index size = std::min(piece_, count_ - first);
      const bool is_last = first + size == count_;
      Load(u, hn::Load(RowLanes(), magic), alpha, d_beta, first, size);
      FetchPiece(u, first + size);
      FetchPiece(d_beta, first + size);
      FetchPiece(alpha, first + size);
      if (is_whole_) {
        MakeMeans<false>(size);
      } else {
        SumBehind(size);
        MakeMeans<true>(size);
      }
      StoreColumns([m = means_](Index k) HWY_ATTR { return Entry(m, k); },
                   first, size, d_alpha);
      SumWeights(size, is_last);
      if (!is_whole_) FinishBefore(size, is_last);
      Store(first, size, is_last, d_u);
    }
  }

 private:
  static constexpr Index kRest = 4;  // LoadColumns writes whole steps
  // What is kept of a piece and of the block before it, each `part_` numbers
  // behind the other: e, which d_u replaces; d; sums of e and of e d over what
  // lies behind an entry in its block; and sums from an entry on of the weights
  // alpha / D and of these times m.
  static constexpr Index kParts = 6;
  static constexpr Index kD = 1, kBehind = 2, kBehindD = 3, kFrom = 4,
                         kFromM = 5;

  // Fetches a piece before it is loaded: its rows lie further apart than
  // hardware looks ahead.
  HWY_INLINE void FetchPiece(const RowGroup<const Real>& rows, Index first) {
    constexpr Index kLine = 64 / sizeof(Real);
    const Index end = std::min(first + piece_, count_);
    for (Index n = 0; n < rows.count; ++n) {
      for (Index k = first; k < end; k += kLine) hwy::Prefetch(rows.row[n] + k);
    }
  }

  HWY_INLINE void Load(const RowGroup<const Real>& u, hn::Vec<RowLanes> magic,
                       const RowGroup<const Real>& alpha,
                       const RowGroup<const Real>& d_beta, Index first,
                       Index size) {
    double* const e = now_;
    double* const d = now_ + kD * part_;
    double* const weights = weights_;
    LoadColumns(u, first, size, [&](Index k, auto v, auto w) HWY_ATTR {
      SetEntry(ExpScaledBy(AsDoubles(v), magic), e, k);
      SetEntry(ExpScaledBy(AsDoubles(w), magic), e, k + 1);
    });
    LoadColumns(d_beta, first, size, [=](Index k, auto v, auto w) HWY_ATTR {
      SetEntry(AsDoubles(v), d, k);
      SetEntry(AsDoubles(w), d, k + 1);
    });
    LoadColumns(alpha, first, size, [=](Index k, auto v, auto w) HWY_ATTR {
      SetEntry(AsDoubles(v), weights, k);
      SetEntry(AsDoubles(w), weights, k + 1);
    });
  }

  // The entries of the last block of a piece.
  Index InLast(Index size) const { return (size - 1) % width_ + 1; }

  HWY_INLINE void SumBehind(Index size) {
    const double* const e = now_;
    const double* const d = now_ + kD * part_;
    double* const behind = now_ + kBehind * part_;
    double* const behind_d = now_ + kBehindD * part_;
    const auto zero = hn::Zero(RowLanes());
    auto sum = zero, sum_d = zero;
    for (Index k = size, left = InLast(size); k-- > 0;) {
      SetEntry(sum, behind, k);
      SetEntry(sum_d, behind_d, k);
      const auto e_k = Entry(e, k);
      sum = hn::Add(sum, e_k);
      sum_d = hn::MulAdd(e_k, Entry(d, k), sum_d);
      if (--left == 0) left = width_, sum = sum_d = zero;
    }
  }

  // Makes m, and of alpha the weights.
  template <bool HasBefore>
  HWY_INLINE void MakeMeans(Index size) {
    const double* const e = now_;
    const double* const d = now_ + kD * part_;
    const double* const behind = before_ + kBehind * part_;
    const double* const behind_d = before_ + kBehindD * part_;
    double* const weights = weights_;
    double* const means = means_;
    const auto zero = hn::Zero(RowLanes());
    auto sum = zero, sum_d = zero;
    for (Index k = 0, left = width_; k < size; ++k) {
      const auto e_k = Entry(e, k);
      sum = hn::Add(sum, e_k);
      sum_d = hn::MulAdd(e_k, Entry(d, k), sum_d);
      auto window = sum, window_d = sum_d;
      if constexpr (HasBefore) {
        window = hn::Add(window, Entry(behind, k));
        window_d = hn::Add(window_d, Entry(behind_d, k));
        if (--left == 0) left = width_, sum = sum_d = zero;
      }
      const auto inverse = Inverse<Real>(window);
      SetEntry(hn::Mul(window_d, inverse), means, k);
      SetEntry(hn::Mul(Entry(weights, k), inverse), weights, k);
    }
  }

  // Sums weights from each entry on, which is all that d_u of the last block
  // wants.
  HWY_INLINE void SumWeights(Index size, bool is_last) {
    const double* const weights = weights_;
    const double* const means = means_;
    double* const e = now_;
    double* const from = now_ + kFrom * part_;
    double* const from_m = now_ + kFromM * part_;
    const Index part = part_;
    const auto zero = hn::Zero(RowLanes());
    auto sum = zero, sum_m = zero;
    const auto add = [&](Index k) HWY_ATTR {
      const auto weight = Entry(weights, k);
      sum = hn::Add(sum, weight);
      sum_m = hn::MulAdd(weight, Entry(means, k), sum_m);
    };
    const Index last = size - InLast(size);
    Index k = size;
    if (is_last) {
      while (k > last) {
        add(--k);
        SetDU(e, part, k, sum, sum_m);
      }
      sum = sum_m = zero;
    }
    for (Index left = is_last ? width_ : size - last; k-- > 0;) {
      add(k);
      SetEntry(sum, from, k);
      SetEntry(sum_m, from_m, k);
      if (--left == 0) left = width_, sum = sum_m = zero;
    }
  }

  // Makes d_u of each block before another one, up to the last of the piece.
  HWY_INLINE void FinishBefore(Index size, bool is_last) {
    const double* const weights = weights_;
    const double* const means = means_;
    double* const e = before_;
    const Index part = part_;
    const auto zero = hn::Zero(RowLanes());
    auto sum = zero, sum_m = zero;
    const auto finish = [=](Index k, auto before, auto before_m) HWY_ATTR {
      SetDU(e, part, k, hn::Add(before, Entry(e + kFrom * part, k)),
            hn::Add(before_m, Entry(e + kFromM * part, k)));
    };
    Index k = 0;
    for (Index left = width_; k < size; ++k) {
      finish(k, sum, sum_m);
      const auto weight = Entry(weights, k);
      sum = hn::Add(sum, weight);
      sum_m = hn::MulAdd(weight, Entry(means, k), sum_m);
      if (--left == 0) left = width_, sum = sum_m = zero;
    }
    // The end of the memory cuts these windows.
    const Index end = is_last ? size - InLast(size) + width_ : size;
    for (; k < end; ++k) finish(k, sum, sum_m);
  }

  // d_u = e (d sum - sum_m), in the place of e. Both terms are rounded alike,
  // so that they cancel where m is d.
  static HWY_INLINE void SetDU(double* e, Index part, Index k,
                               hn::Vec<RowLanes> sum, hn::Vec<RowLanes> sum_m) {
    const auto minuend = hn::Mul(Entry(e + kD * part, k), sum);
    SetEntry(hn::Mul(Entry(e, k), hn::Sub(minuend, sum_m)), e, k);
  }

  // Hands out what is finished, and makes the last block the one before.
  HWY_INLINE void Store(Index first, Index size, bool is_last,
                        const RowGroup<Real>& d_u) {
    const auto store = [&](const double* from, Index to,
                           Index entries) HWY_ATTR {
      StoreColumns([=](Index k)
                       HWY_ATTR { return Rounded<Real>(Entry(from, k)); },
                   to, entries, d_u);
    };
    if (piece_ == width_) {
      if (first > 0) store(before_, first - width_, width_);
      if (is_last) store(now_, first, size);
      std::swap(now_, before_);
      return;
    }
    const Index begin = first == 0 ? width_ : 0;
    const Index end = is_last ? width_ + size : size;
    store(before_ + begin * kRowLanes, first + begin - width_, end - begin);
    for (Index n = 0; n < kParts && !is_last; ++n) {
      double* const part = before_ + n * part_;
      std::copy_n(part + size * kRowLanes, width_ * kRowLanes, part);
    }
  }

  const Index count_, width_;
  const bool is_whole_;
  const Index piece_, part_;
  double* before_;
  double* now_;
  double* const weights_;
  double* const means_;
};

template <class Real>
void WindowsBackward(const Real* u, Index u_stride, const int* powers,
                     const Real* alpha, Index alpha_stride, const Real* d_beta,
                     Index d_beta_stride, Index rows, Index count, Index width,
                     double* scratch, Carry<Real>* d_alpha,
                     Index d_alpha_stride, Real* d_u, Index d_u_stride) {
  if (count == 0) return;
  for (Index n = 0; n < rows; n += kRowLanes) {
    const Index group = std::min(kRowLanes, rows - n);
    GroupBackward<Real>(count, std::min(width, count), scratch)
        .Run({u + n * u_stride, u_stride, group}, powers + n,
             {alpha + n * alpha_stride, alpha_stride, group},
             {d_beta + n * d_beta_stride, d_beta_stride, group},
             {d_alpha + n * d_alpha_stride, d_alpha_stride, group},
             {d_u + n * d_u_stride, d_u_stride, group});
  }
}

}  // namespace
}  // namespace attnbench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
