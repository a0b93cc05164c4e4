// The recurrence of the monotonic scan, forwards and backwards, as a wave over
// rows. A row waits entry by entry for itself and for the row before it, so
// lanes are rows: each is a few entries behind the one above it, from which it
// takes where it starts, and begins the next row that is free as soon as its
// own ends. Blocks of four entries of each row are loaded and transposed.
//
// Lanes are f64 whatever the precision of the arrays: the rounding of 1 - p in
// f32 would take the same share of the mass at every entry of a long memory.
//
// Rejected: a prefix over the lanes of one row, and 16 rows, which take longer;
// lanes over sequences, whose rows meet in the same lines of the cache at
// lengths that are powers of two.
// clang-format off
#if defined(ATTNBENCH_MECHANISMS_KERNELS_SCAN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNBENCH_MECHANISMS_KERNELS_SCAN_INL_H_
#undef ATTNBENCH_MECHANISMS_KERNELS_SCAN_INL_H_
#else
#define ATTNBENCH_MECHANISMS_KERNELS_SCAN_INL_H_
#endif
// clang-format on

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mechanisms/kernels/flush_denormals.h"
#include "mechanisms/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnbench::HWY_NAMESPACE {
namespace {

// 1 - p; of p above a half it is in `complement`, if there is one, as the
// difference would be mostly the rounding of p.
template <class D>
HWY_INLINE hn::Vec<D> NotP(D d, hn::Vec<D> p) {
  return hn::Sub(hn::Set(d, 1.0), p);
}
template <class D>
HWY_INLINE hn::Vec<D> NotP(D d, hn::Vec<D> p, hn::Vec<D> complement) {
  return hn::IfThenElse(hn::Le(p, hn::Set(d, 0.5)), NotP(d, p), complement);
}

// Less mass than this rounds to 0 in Real, whatever p is, and goes no further.
// NaN is no less than anything.
template <class Real>
constexpr double kVanished = sizeof(Real) == sizeof(float) ? 7e-46 : 0;
template <class Real, class D>
HWY_INLINE hn::Vec<D> Kept(D d, hn::Vec<D> mass) {
  if constexpr (kVanished<Real> == 0) return mass;
  return hn::IfThenZeroElse(hn::Le(mass, hn::Set(d, kVanished<Real>)), mass);
}

// The entries of a block. What passes on is dropped, where it vanishes, only at
// the end of one.
constexpr Index kEntries = 4;

// The scans take one entry of one row by these, whether rows are lanes or one
// is alone, so its bits do not depend on how many there are.
//
// `passed` reaches an entry, where `start` is added. It becomes what passes on.
template <class D>
HWY_INLINE hn::Vec<D> Arrive(D /*d*/, hn::Vec<D> start, hn::Vec<D> not_p,
                             hn::Vec<D>& passed) {
  const auto q = hn::Add(passed, start);
  passed = hn::MulAdd(not_p, passed, hn::Mul(not_p, start));
  return q;
}
// dq(j+1) becomes dq(j); gives what it lacks of g.
template <class D>
HWY_INLINE hn::Vec<D> Return(D /*d*/, hn::Vec<D> g, hn::Vec<D> p,
                             hn::Vec<D> not_p, hn::Vec<D>& dq) {
  const auto more = hn::Sub(g, dq);
  dq = hn::MulAdd(not_p, dq, hn::Mul(p, g));
  return more;
}

// A table of rows, null if there is none.
template <class Number>
struct RowTable {
  Number* data;
  Index stride;
  Number* Row(Index i) const {
    return data == nullptr ? nullptr : data + i * stride;
  }
};

// A row alone is loaded and stored so many entries at a time by vectors; only
// its recurrence goes entry by entry.
constexpr Index kStretch = 32;
// g++ takes it for possible that an index is kStretch.
constexpr Index kRoom = kStretch + 8;

template <class D, class Real>
HWY_INLINE hn::Vec<D> LoadNotP(D d, hn::Vec<D> p, const Real* complement,
                               Index j, Index count) {
  if (complement == nullptr) return NotP(d, p);
  return NotP(d, p, LoadDoubles(d, complement + j, count));
}

// Where the entries of x that are not 0 begin and end, in whole vectors.
inline bool IsZero(const double* x, Index count) {
  const hn::ScalableTag<double> d;
  auto any = hn::Zero(d);
  for (Index j = 0; j < count; j += LanesOf(d)) {
    any = hn::Or(any, LoadDoubles(d, x + j, count - j));
  }
  return hn::AllTrue(d, hn::Eq(any, hn::Zero(d)));
}
inline Index NonzeroBegin(const double* x, Index count) {
  const Index lanes = LanesOf(hn::ScalableTag<double>());
  Index begin = 0;
  while (begin + lanes <= count && IsZero(x + begin, lanes)) begin += lanes;
  return begin;
}
inline Index NonzeroEnd(const double* x, Index count) {
  const Index lanes = LanesOf(hn::ScalableTag<double>());
  while (count >= lanes && IsZero(x + count - lanes, lanes)) count -= lanes;
  return count;
}

// The arrays of select_rows. `start` is that of the next row to be made.
template <class Real>
struct SelectArrays {
  RowTable<const Real> p, complement;
  double* start;
  Index rows, count;
  RowTable<Real> alpha, arrived;

  // Makes entries [j, end) of row i one by one. `passed` reaches j; nothing
  // starts from `last` on.
  void Make(Index i, Index j, Index end, Index last, double passed) const {
    const hn::ScalableTag<double> d;
    const hn::CappedTag<double, 1> one;
    const Index lanes = LanesOf(d);
    auto on = hn::Set(one, passed);
    for (Index size = 0; j < end; j += size) {
      if (j >= last && hn::GetLane(on) == 0) return FillZeros(i, j, end);
      size = std::min(kStretch - j % kEntries, end - j);
      HWY_ALIGN double of_p[kRoom], not_p[kRoom], from[kRoom], q[kRoom];
      for (Index k = 0; k < size; k += lanes) {
        const auto p0 = LoadDoubles(d, p.Row(i) + j + k, size - k);
        hn::Store(p0, d, of_p + k);
        hn::Store(LoadNotP(d, p0, complement.Row(i), j + k, size - k), d,
                  not_p + k);
        hn::Store(LoadDoubles(d, start + j + k, size - k), d, from + k);
      }
      for (Index k = 0; k < size; ++k) {
        const auto arrives =
            Arrive(one, hn::Load(one, from + k), hn::Load(one, not_p + k), on);
        hn::Store(arrives, one, q + k);
        const bool is_last = (j + k) % kEntries == kEntries - 1;
        if (is_last && hn::GetLane(on) <= kVanished<Real>) on = hn::Zero(one);
      }
      for (Index k = 0; k < size; k += lanes) {
        const auto arrives = hn::Load(d, q + k);
        const auto chosen = hn::Mul(hn::Load(d, of_p + k), arrives);
        StoreDoubles(d, chosen, size - k, alpha.Row(i) + j + k);
        StoreDoubles(d, Kept<Real>(d, chosen), size - k, start + j + k);
        if (arrived.data == nullptr) continue;
        StoreDoubles(d, arrives, size - k, arrived.Row(i) + j + k);
      }
    }
  }

  void FillZeros(Index i, Index j, Index end) const {
    std::fill(alpha.Row(i) + j, alpha.Row(i) + end, Real{0});
    if (arrived.data == nullptr) return;
    std::fill(arrived.Row(i) + j, arrived.Row(i) + end, Real{0});
  }
};

// The arrays of select_rows_backward. `d_start` is dL/d of where the row behind
// the next one to be made starts.
template <class Real>
struct SelectGradientArrays {
  RowTable<const Real> p, complement, arrived, d_alpha;
  RowTable<const double> d_more;
  RowTable<Real> d_p;
  double* d_start;
  Index rows, count;

  // Makes entries [begin, end) of row i one by one, from the last; dq is that
  // of entry `end`.
  void Make(Index i, Index begin, Index end, double dq) const {
    const hn::ScalableTag<double> d;
    const hn::CappedTag<double, 1> one;
    const Index lanes = LanesOf(d);
    auto after = hn::Set(one, dq);
    for (Index size = 0; end > begin; end -= size) {
      size = std::min(kStretch, end - begin);
      const Index j = end - size;
      HWY_ALIGN double of_p[kRoom], not_p[kRoom], g[kRoom], gain[kRoom];
      for (Index k = 0; k < size; k += lanes) {
        const auto p0 = LoadDoubles(d, p.Row(i) + j + k, size - k);
        hn::Store(p0, d, of_p + k);
        hn::Store(LoadNotP(d, p0, complement.Row(i), j + k, size - k), d,
                  not_p + k);
        hn::Store(Given(d, i, j + k, size - k), d, g + k);
      }
      for (Index k = size; k-- > 0;) {
        const auto more =
            Return(one, hn::Load(one, g + k), hn::Load(one, of_p + k),
                   hn::Load(one, not_p + k), after);
        hn::Store(more, one, gain + k);
        d_start[j + k] = hn::GetLane(after);
      }
      for (Index k = 0; k < size; k += lanes) {
        const auto q = LoadDoubles(d, arrived.Row(i) + j + k, size - k);
        StoreDoubles(d, hn::Mul(hn::Load(d, gain + k), q), size - k,
                     d_p.Row(i) + j + k);
      }
    }
  }

  // g of entries from j on.
  template <class D>
  HWY_INLINE hn::Vec<D> Given(D d, Index i, Index j, Index size) const {
    auto g = hn::Zero(d);
    if (d_alpha.data != nullptr) g = LoadDoubles(d, d_alpha.Row(i) + j, size);
    if (d_more.data != nullptr) {
      g = hn::Add(g, LoadDoubles(d, d_more.Row(i) + j, size));
    }
    return hn::Add(g, LoadDoubles(d, d_start + j, size));
  }
};

#if HWY_TARGET != HWY_SCALAR
// Four entries of several rows at a time: in registers as rows, where a vector
// has pieces of 16 or 32 bytes of some of the rows, or transposed, where vector
// k has entry k of each. f32 are widened to one vector of f64 or to two.
template <class Real>
struct RowTile {
  using D = hn::CappedTag<double, 8>;
  using V = hn::Vec<D>;
  static constexpr int kLanes = kMaxLanes<D>;
  static constexpr int kRows =
      sizeof(Real) == sizeof(double) ? kLanes : std::min(8, 2 * kLanes);
  static constexpr bool kTwo = kRows == 2 * kLanes;
  using N = hn::CappedTag<Real, kRows>;
  using NV = hn::Vec<N>;

  // Vector n begins with a piece of row RowOf(n), from entry EntryOf(n) on.
  static constexpr int kPiece =
      sizeof(Real) == sizeof(double) && kLanes == 2 ? 2 : 4;
  static constexpr int RowOf(int n) { return n % kPiece; }
  static constexpr int EntryOf(int n) { return n / kPiece * kPiece; }

  // Row r is at from + at[r].
  static HWY_INLINE void Load(const Real* from, const Index* at, NV& v0, NV& v1,
                              NV& v2, NV& v3) {
    const N n;
    v0 = LoadPieces<kRows>(n, from + EntryOf(0), at + RowOf(0));
    v1 = LoadPieces<kRows>(n, from + EntryOf(1), at + RowOf(1));
    v2 = LoadPieces<kRows>(n, from + EntryOf(2), at + RowOf(2));
    v3 = LoadPieces<kRows>(n, from + EntryOf(3), at + RowOf(3));
  }
  // Stores rows whose bit is set, all where All.
  template <bool All>
  static HWY_INLINE void Store(NV v0, NV v1, NV v2, NV v3, Real* to,
                               const Index* at, unsigned rows) {
    const N n;
    StorePieces<All, kRows>(n, v0, to + EntryOf(0), at + RowOf(0),
                            rows >> RowOf(0));
    StorePieces<All, kRows>(n, v1, to + EntryOf(1), at + RowOf(1),
                            rows >> RowOf(1));
    StorePieces<All, kRows>(n, v2, to + EntryOf(2), at + RowOf(2),
                            rows >> RowOf(2));
    StorePieces<All, kRows>(n, v3, to + EntryOf(3), at + RowOf(3),
                            rows >> RowOf(3));
  }

  // Transposed vectors that were stored one after another.
  static HWY_INLINE void Get(const Real* from, NV& v0, NV& v1, NV& v2, NV& v3) {
    const N n;
    v0 = hn::Load(n, from), v1 = hn::Load(n, from + kRows);
    v2 = hn::Load(n, from + 2 * kRows), v3 = hn::Load(n, from + 3 * kRows);
  }

  // This is its own inverse.
  static HWY_INLINE void Transpose(NV& v0, NV& v1, NV& v2, NV& v3) {
    const N n;
    if constexpr (kPiece == 2) {
      TransposeBlocks(n, v0, v1);
      TransposeBlocks(n, v2, v3);
    } else if constexpr (sizeof(Real) == sizeof(float)) {
      TransposeBlocks(n, v0, v1, v2, v3);
    } else {
      // Two entries of a row are in each block, and change places with those of
      // the row two further.
      TransposeBlocks(n, v0, v1);
      TransposeBlocks(n, v2, v3);
      const auto low01 = v0, high01 = v1, low23 = v2, high23 = v3;
      v0 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(low23), low01);
      v1 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(high23), high01);
      v2 = hn::OddEvenBlocks(low23, hn::SwapAdjacentBlocks(low01));
      v3 = hn::OddEvenBlocks(high23, hn::SwapAdjacentBlocks(high01));
    }
  }

  // The lower or the upper rows of a transposed vector.
  template <bool Upper>
  static HWY_INLINE V Widened(NV v) {
    if constexpr (sizeof(Real) == sizeof(double)) {
      return v;
    } else if constexpr (!kTwo) {
      return hn::PromoteTo(D(), v);
    } else if constexpr (Upper) {
      return hn::PromoteTo(D(), hn::UpperHalf(Part(), v));
    } else {
      return hn::PromoteTo(D(), hn::LowerHalf(Part(), v));
    }
  }
  static HWY_INLINE NV Narrowed(V lower, [[maybe_unused]] V upper) {
    if constexpr (sizeof(Real) == sizeof(double)) {
      return lower;
    } else if constexpr (!kTwo) {
      return hn::DemoteTo(N(), lower);
    } else {
      return hn::Combine(N(), hn::DemoteTo(Part(), upper),
                         hn::DemoteTo(Part(), lower));
    }
  }

  // Whether any of them exceeds a half. NaN does not, and hides none that does.
  static HWY_INLINE bool AnyAboveHalf(NV v0, NV v1, NV v2, NV v3) {
    const N n;
    const auto half = hn::Set(n, Real{0.5});
    const auto most =
        AtLeast(n, v3, AtLeast(n, v2, AtLeast(n, v1, AtLeast(n, v0, half))));
    return !hn::AllTrue(n, hn::Eq(most, half));
  }

 private:
  using Part = hn::Rebind<Real, D>;

  // The tags of halves do not know their lanes at every level.
  template <int Numbers, class T>
  static HWY_INLINE hn::Vec<T> LoadPieces(T t, const Real* from,
                                          const Index* at) {
    if constexpr (Numbers == kPiece) {
      return hn::LoadU(t, from + *at);
    } else {
      constexpr int kHalf = Numbers / 2;
      const hn::Half<T> half;
      return hn::Combine(t, LoadPieces<kHalf>(half, from, at + kHalf),
                         LoadPieces<kHalf>(half, from, at));
    }
  }
  template <bool All, int Numbers, class T>
  static HWY_INLINE void StorePieces(T t, hn::Vec<T> v, Real* to,
                                     const Index* at, unsigned rows) {
    if constexpr (Numbers == kPiece) {
      if (All || (rows & 1) != 0) hn::StoreU(v, t, to + *at);
    } else {
      constexpr int kHalf = Numbers / 2;
      const hn::Half<T> half;
      StorePieces<All, kHalf>(half, hn::LowerHalf(half, v), to, at, rows);
      StorePieces<All, kHalf>(half, hn::UpperHalf(half, v), to, at + kHalf,
                              rows >> kHalf);
    }
  }
};

// What the scans in both directions share: which lane has which row, and where.
// A turn is a row in the order of the scan, which backwards is from the last.
// The class Pass has
//   TakeBlock<All>(), which takes entries from j_ on of the row of each lane,
//     and stores rows whose bit is in active_, all where All,
//   Finish(row, passed), which takes the entries that fill no block,
//   FillZeros(row, from, to), forwards: what vanished mass leaves.
template <class Real, class Pass, bool Forward, int Arrays>
class Wave {
 protected:
  using T = RowTile<Real>;
  using D = typename T::D;
  using V = typename T::V;
  using N = typename T::N;
  using NV = typename T::NV;
  static constexpr int kLanes = T::kLanes;
  static constexpr int kRows = std::max(8, T::kRows);
  using Tables = std::array<RowTable<const Real>, Arrays>;

 public:
  // `start` is where the first turn starts; it is replaced by that of the turn
  // behind the last. A table without data is not fetched: it is not there, or
  // was just made and is in the cache.
  Wave(Index rows, Index count, double* start, const Tables& tables)
      : rows_(rows), count_(count), start_(start), tables_(tables) {}

  // Whether rows are long enough for each lane to begin its next one when it
  // has ended the one before, and as many as repay the lanes without any.
  static bool Fits(Index rows, Index count) {
    return rows >= 4 && count >= kEntries * kRows * LagOf(count);
  }

  // Takes turns from `first` on, where nothing starts before entry `begin`;
  // gives the first turn that is left, where the mass of those before it
  // vanished, else `rows`.
  Index Run(Index first, Index begin) {
    const Index blocks = count_ / kEntries, lag = LagOf(count_);
    const Index most_skipped = blocks - kRows * lag;
    Index skipped = std::min(begin / kEntries, most_skipped);
    active_ = 0;
    // Lanes whose row has not begun, or that have none, take entries in vain.
    for (int r = 0; r < kRows; ++r) {
      Place(r, std::min(first + r, rows_ - 1), skipped + (kRows - r) * lag);
    }
    const int last_lane = static_cast<int>((rows_ - 1 - first) % kRows);
    for (Index group = first;; group += kRows) {
      while (Forward && skipped < most_skipped &&
             IsZero(start_ + skipped * kEntries, kEntries)) {
        ++skipped;
      }
      for (int r = 0; r < kRows; ++r) {
        if ((active_ >> r & 1) != 0) {
          self().Finish(Row(group + r - kRows), passed_[r]);
          if (group + r - kRows == rows_ - 1) return rows_;
        }
        Begin(r, group + r, skipped);
        const int hands_on = rows_ - 1 <= group + r ? last_lane : kRows - 1;
        if (r < kRows - 1) {
          TakeBlocks(lag, hands_on, count_);
          continue;
        }
        const Index end = Forward ? NonzeroEnd(start_, count_) : count_;
        if (TakeBlocks(blocks - skipped - r * lag, hands_on, end)) continue;
        if constexpr (Forward) Vanish(group, hands_on);
        return std::min(group + kRows, rows_);
      }
    }
  }

 protected:
  // Entry k of the block that lane r had a lag ago is at handed()[k][r].
  using Block = double[kEntries][kRows];
  Block& handed() { return ring_[slot_]; }

  // What the rows from First on get of an entry from those above them: it is
  // in `handed` of each lane, and in `start` for the first.
  template <int First>
  static HWY_INLINE V Above(const double* handed, const double* start) {
    const D d;
    const double first = First == 0 ? *start : handed[First - 1 + (First == 0)];
    return MoveLanes<true, 1>(d, hn::Load(d, handed + First),
                              hn::Set(d, first));
  }

  // Calls take(given, c0, c1, c2, c3) with the complement, transposed, of a
  // block of p0 to p3, where one of them needs it; `at` are the places of rows.
  template <class Take>
  HWY_INLINE void WithComplement(const Real* complement, const Index* at, NV p0,
                                 NV p1, NV p2, NV p3, const Take& take) const {
    if (complement == nullptr || HWY_LIKELY(!T::AnyAboveHalf(p0, p1, p2, p3))) {
      return take(std::false_type(), p0, p1, p2, p3);
    }
    NV c0, c1, c2, c3;
    T::Load(complement + j_, at, c0, c1, c2, c3);
    T::Transpose(c0, c1, c2, c3);
    take(std::true_type(), c0, c1, c2, c3);
  }

  // The block of lane r in array n is at at_[n][r] + j_, that in start_ at
  // at_start_[r] + j_.
  Index at_[Arrays][kRows];
  Index at_start_[kRows];
  Index j_ = 0;
  HWY_ALIGN double passed_[kRows] = {};  // what reaches its block; backwards dq
  unsigned active_ = 0;
  const Index rows_, count_;
  double* const start_;
  const Tables tables_;

 private:
  // A load waits for a store right before it to the same address modulo 4 KiB,
  // in which long rows often are: these are further apart.
  static constexpr Index kMostLag = 2;
  static Index LagOf(Index count) {
    return count * static_cast<Index>(sizeof(Real)) > 2048 ? kMostLag : 1;
  }

  Pass& self() { return static_cast<Pass&>(*this); }
  Index Row(Index turn) const { return Forward ? turn : rows_ - 1 - turn; }

  // Has lane r take that block of that turn next.
  void Place(int r, Index turn, Index block) {
    const Index position =
        Forward ? block * kEntries : count_ - (block + 1) * kEntries;
    for (std::size_t n = 0; n < Arrays; ++n) {
      at_[n][r] = Row(turn) * tables_[n].stride + position - j_;
    }
    at_start_[r] = position - j_;
  }

  // Where there is no such turn, the lane goes through a row that it has had.
  void Begin(int r, Index turn, Index block) {
    const unsigned bit = 1U << r;
    if (turn < rows_) {
      Place(r, turn, block);
      active_ |= bit;
      if constexpr (Forward) self().FillZeros(turn, 0, block * kEntries);
    } else {
      Place(r, std::clamp<Index>(turn - kRows, 0, rows_ - 1), block);
      active_ &= ~bit;
    }
    // By a vector, as the next load of one would wait for a number.
    const D d;
    const int first = r / kLanes * kLanes;
    double* const passed = passed_ + first;
    const auto is_r = hn::Eq(hn::Iota(d, static_cast<double>(first)),
                             hn::Set(d, static_cast<double>(r)));
    hn::Store(hn::IfThenZeroElse(is_r, hn::Load(d, passed)), d, passed);
  }

  // Takes so many blocks of each lane. Returns false as soon as no lane has
  // mass left and nothing starts from `end` on.
  bool TakeBlocks(Index blocks, int hands_on, Index end) {
    const bool all = active_ == (1U << kRows) - 1 && hands_on == kRows - 1;
    return all ? TakeBlocksOf<true>(blocks, hands_on, end)
               : TakeBlocksOf<false>(blocks, hands_on, end);
  }
  template <bool All>
  HWY_NOINLINE bool TakeBlocksOf(Index blocks, int hands_on, Index end) {
    const Index lag = LagOf(count_);
    for (; blocks > 0; --blocks) {
      FetchAhead();
      self().template TakeBlock<All>();
      // The lane of the last row hands on, and the last lane while it still has
      // a row of the group before.
      HandOn<All>(hands_on);
      if (!All && hands_on != kRows - 1) HandOn<All>(kRows - 1);
      j_ += Forward ? kEntries : -kEntries;
      slot_ = slot_ + 1 == lag ? 0 : slot_ + 1;
      if (Forward && blocks % 8 == 0 && at_start_[0] + j_ >= end &&
          IsZero(passed_, kRows) &&
          IsZero(&ring_[0][0][0], kMostLag * kEntries * kRows) && blocks > 1) {
        return false;
      }
    }
    return true;
  }

  // Fetches what a lane takes kAhead entries later, of its next row where this
  // one ends: rows are more streams than hardware follows. A line has several
  // blocks, so each block fetches for a part of the lanes. What is outside of
  // an array is an address, not a pointer.
  HWY_INLINE void FetchAhead() {
    constexpr Index kLine = 64 / sizeof(Real), kAhead = 8 * kLine;
    constexpr Index kBlocks = kLine / kEntries, kSign = Forward ? 1 : -1;
    for (Index r = j_ / kEntries & (kBlocks - 1); r < kRows; r += kBlocks) {
      const Index column = at_start_[r] + j_ + kSign * kAhead;
      const bool is_next = column < 0 || column >= count_;
      for (std::size_t n = 0; n < Arrays; ++n) {
        const auto [data, stride] = tables_[n];
        if (data == nullptr) continue;
        const Index ahead = kAhead + (is_next ? kRows * stride - count_ : 0);
        const Index entry = at_[n][r] + j_ + kSign * ahead;
        // NOLINTNEXTLINE(performance-no-int-to-ptr): nothing is read there.
        hwy::Prefetch(reinterpret_cast<const Real*>(
            reinterpret_cast<std::uintptr_t>(data) +
            static_cast<std::uintptr_t>(entry) * sizeof(Real)));
      }
    }
  }

  template <bool All>
  HWY_INLINE void HandOn(int r) {
    if (!All && (active_ >> r & 1) == 0) return;
    double* const to = start_ + at_start_[r] + j_;
    for (Index k = 0; k < kEntries; ++k) to[k] = handed()[k][r];
  }

  void Vanish(Index group, int hands_on) {
    for (int r = 0; r < kRows; ++r) {
      if ((active_ >> r & 1) == 0) continue;
      self().FillZeros(group + r, at_start_[r] + j_, count_);
    }
    std::fill(start_ + at_start_[hands_on] + j_, start_ + count_, 0.0);
  }

  HWY_ALIGN Block ring_[kMostLag] = {};
  Index slot_ = 0;
};

// q and alpha of f32 that may be denormal are rounded without arithmetic on
// such numbers, with which CPUs are slow.
constexpr double kLeastNormal = 0x1p-126;

// Rounds so many x to f32.
template <int Count>
HWY_INLINE void RoundSmall(const double* x, float* to) {
  const hn::CappedTag<double, Count> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const hn::RebindToSigned<decltype(narrow)> bits;
  for (int n = 0; n < Count; n += kMaxLanes<decltype(d)>) {
    const auto exact = hn::Load(d, x + n);
    const auto is_small = hn::Lt(exact, hn::Set(d, kLeastNormal));
    // The last place of this sum is 2^-149, that of denormal f32, whose bits
    // are a count of it.
    const auto shift = hn::Set(d, 0x1.8p-97);
    const auto small =
        hn::IfThenElseZero(is_small, hn::Sub(hn::Add(exact, shift), shift));
    const auto count = hn::DemoteTo(bits, hn::Mul(small, hn::Set(d, 0x1p149)));
    const auto normal =
        hn::DemoteTo(narrow, hn::IfThenZeroElse(is_small, exact));
    hn::Store(hn::Or(normal, hn::BitCast(narrow, count)), narrow, to + n);
  }
}

// Makes rows together.
template <class Real>
class SelectWave : public Wave<Real, SelectWave<Real>, true, 4> {
  using Base = Wave<Real, SelectWave<Real>, true, 4>;
  friend Base;
  using Base::kLanes;
  using Base::kRows;
  using typename Base::D;
  using typename Base::N;
  using typename Base::NV;
  using typename Base::T;
  using typename Base::V;

 public:
  explicit SelectWave(const SelectArrays<Real>& arrays)
      : Base(arrays.rows, arrays.count, arrays.start,
             {{{arrays.p.data, arrays.p.stride},
               {nullptr, arrays.complement.stride},
               {arrays.alpha.data, arrays.alpha.stride},
               {arrays.arrived.data, arrays.arrived.stride}}}),
        arrays_(arrays) {}

 private:
  enum Array { kP, kComplement, kAlpha, kArrived };
  void Finish(Index row, double passed) const {
    const Index end = arrays_.count;
    arrays_.Make(row, end / kEntries * kEntries, end, end, passed);
  }
  void FillZeros(Index row, Index from, Index to) const {
    arrays_.FillZeros(row, from, to);
  }

  // From the last rows to the first: each takes what the one above it left at
  // the block before.
  template <bool All, int Unit = kRows / T::kRows - 1>
  HWY_INLINE void TakeBlock() {
    const D d;
    const Index j = this->j_;
    constexpr int r = Unit * T::kRows;
    double* const handed = this->handed()[0];
    const double* const start = this->start_ + this->at_start_[0] + j;
    NV p0, p1, p2, p3;
    T::Load(arrays_.p.data + j, this->at_[kP] + r, p0, p1, p2, p3);
    auto t0 = p0, t1 = p1, t2 = p2, t3 = p3;
    T::Transpose(t0, t1, t2, t3);
    V q0, q1, q2, q3, upper0, upper1, upper2, upper3;
    auto least = hn::Set(d, 1.0);  // of alpha and of what passes on
    const auto take = [&](auto given, NV c0, NV c1, NV c2, NV c3) HWY_ATTR {
      if constexpr (T::kTwo) {
        TakeEntries<r, true>(given, handed, start, t0, t1, t2, t3, c0, c1, c2,
                             c3, upper0, upper1, upper2, upper3, least);
      }
      TakeEntries<r, false>(given, handed, start, t0, t1, t2, t3, c0, c1, c2,
                            c3, q0, q1, q2, q3, least);
    };
    this->WithComplement(arrays_.complement.data, this->at_[kComplement] + r,
                         p0, p1, p2, p3, take);
    NV n0, n1, n2, n3, a0, a1, a2, a3;
    if (HWY_UNLIKELY(
            kIsSingle &&
            !hn::AllTrue(d, hn::Ge(least, hn::Set(d, kLeastNormal)))) &&
        AnySmall<r>(handed, q0, q1, q2, q3, upper0, upper1, upper2, upper3)) {
      Keep(q0, q1, q2, q3, q_);
      if constexpr (T::kTwo) {
        Keep(upper0, upper1, upper2, upper3, q_ + kLanes);
      }
      RoundSmallEntries(r);
      T::Get(rounded_q_, n0, n1, n2, n3);
      T::Get(rounded_alpha_, a0, a1, a2, a3);
    } else {
      n0 = T::Narrowed(q0, upper0), n1 = T::Narrowed(q1, upper1);
      n2 = T::Narrowed(q2, upper2), n3 = T::Narrowed(q3, upper3);
      a0 = Alpha(handed + r), a1 = Alpha(handed + kRows + r);
      a2 = Alpha(handed + 2 * kRows + r), a3 = Alpha(handed + 3 * kRows + r);
    }
    T::Transpose(n0, n1, n2, n3);
    T::Transpose(a0, a1, a2, a3);
    const unsigned rows = this->active_ >> r;
    T::template Store<All>(a0, a1, a2, a3, arrays_.alpha.data + j,
                           this->at_[kAlpha] + r, rows);
    if (arrays_.arrived.data != nullptr) {
      T::template Store<All>(n0, n1, n2, n3, arrays_.arrived.data + j,
                             this->at_[kArrived] + r, rows);
    }
    if constexpr (Unit > 0) TakeBlock<All, Unit - 1>();
  }

  // Takes one vector of rows, those from First on or the upper half of them.
  template <int First, bool Upper, class Given>
  HWY_INLINE void TakeEntries(Given given, double* handed, const double* start,
                              NV t0, NV t1, NV t2, NV t3, NV c0, NV c1, NV c2,
                              NV c3, V& q0, V& q1, V& q2, V& q3, V& least) {
    const D d;
    constexpr int r = First + (Upper ? kLanes : 0);
    auto passed = hn::Load(d, this->passed_ + r);
    TakeEntry<r, Upper>(given, handed + 0 * kRows, start + 0, t0, c0, passed,
                        q0, least);
    TakeEntry<r, Upper>(given, handed + 1 * kRows, start + 1, t1, c1, passed,
                        q1, least);
    TakeEntry<r, Upper>(given, handed + 2 * kRows, start + 2, t2, c2, passed,
                        q2, least);
    TakeEntry<r, Upper>(given, handed + 3 * kRows, start + 3, t3, c3, passed,
                        q3, least);
    least = hn::Min(passed, least);
    hn::Store(passed, d, this->passed_ + r);
  }
  template <int Row, bool Upper, class Given>
  HWY_INLINE void TakeEntry(Given /*given*/, double* handed,
                            const double* start, NV t, NV c, V& passed, V& q,
                            V& least) {
    const D d;
    const auto p = T::template Widened<Upper>(t);
    auto not_p = NotP(d, p);
    if constexpr (Given::value) {
      not_p = NotP(d, p, T::template Widened<Upper>(c));
    }
    q = Arrive(d, Base::template Above<Row>(handed, start), not_p, passed);
    const auto alpha = hn::Mul(p, q);
    hn::Store(alpha, d, handed + Row);
    least = hn::Min(alpha, least);
  }

  // Whether any alpha or mass that passes on, of the rows from First on, is
  // below the normal numbers although mass arrived: q is not 0.
  template <int First>
  HWY_INLINE bool AnySmall(const double* handed, V q0, V q1, V q2, V q3,
                           V upper0, V upper1, V upper2, V upper3) {
    const D d;
    auto any = hn::Zero(d);
    const auto look = [&](int r, V v0, V v1, V v2, V v3) HWY_ATTR {
      const auto add = [&](const double* mass, V q) HWY_ATTR {
        const auto is_small =
            hn::Lt(hn::Load(d, mass), hn::Set(d, kLeastNormal));
        any = hn::Or(any, hn::IfThenElseZero(is_small, q));
      };
      add(handed + 0 * kRows + r, v0);
      add(handed + 1 * kRows + r, v1);
      add(handed + 2 * kRows + r, v2);
      add(handed + 3 * kRows + r, v3);
      add(this->passed_ + r, v3);
    };
    look(First, q0, q1, q2, q3);
    if constexpr (T::kTwo) {
      look(First + kLanes, upper0, upper1, upper2, upper3);
    }
    return !hn::AllTrue(d, hn::Eq(any, hn::Zero(d)));
  }

  static HWY_INLINE void Keep(V v0, V v1, V v2, V v3, double* to) {
    const D d;
    hn::Store(v0, d, to), hn::Store(v1, d, to + T::kRows);
    hn::Store(v2, d, to + 2 * T::kRows), hn::Store(v3, d, to + 3 * T::kRows);
  }

  static HWY_INLINE NV Alpha(const double* from) {
    return T::Narrowed(hn::Load(D(), from),
                       hn::Load(D(), from + (T::kTwo ? kLanes : 0)));
  }

  // Rounds q_ and alpha of the rows from r on, and drops what vanishes.
  HWY_NOINLINE void RoundSmallEntries(int r) {
    if constexpr (kIsSingle) {
      for (int k = 0; k < kEntries; ++k) {
        double* const alpha = this->handed()[k] + r;
        RoundSmall<T::kRows>(q_ + k * T::kRows, rounded_q_ + k * T::kRows);
        RoundSmall<T::kRows>(alpha, rounded_alpha_ + k * T::kRows);
        Drop(alpha);
      }
      Drop(this->passed_ + r);
    }
  }
  static HWY_INLINE void Drop(double* mass) {
    const D d;
    for (int r = 0; r < T::kRows; r += kLanes) {
      hn::Store(Kept<Real>(d, hn::Load(d, mass + r)), d, mass + r);
    }
  }

  static constexpr bool kIsSingle = sizeof(Real) == sizeof(float);
  HWY_ALIGN double q_[kEntries * T::kRows];
  HWY_ALIGN Real rounded_q_[kEntries * T::kRows];
  HWY_ALIGN Real rounded_alpha_[kEntries * T::kRows];
  const SelectArrays<Real> arrays_;
};

// Takes rows together, backwards.
template <class Real>
class SelectGradientWave
    : public Wave<Real, SelectGradientWave<Real>, false, 5> {
  using Base = Wave<Real, SelectGradientWave<Real>, false, 5>;
  friend Base;
  using Base::kLanes;
  using Base::kRows;
  using typename Base::D;
  using typename Base::N;
  using typename Base::NV;
  using typename Base::T;
  using typename Base::V;
  using Wide = RowTile<double>;

 public:
  explicit SelectGradientWave(const SelectGradientArrays<Real>& arrays)
      : Base(arrays.rows, arrays.count, arrays.d_start,
             {{{arrays.p.data, arrays.p.stride},
               {nullptr, arrays.complement.stride},
               {arrays.arrived.data, arrays.arrived.stride},
               {arrays.d_alpha.data, arrays.d_alpha.stride},
               {arrays.d_p.data, arrays.d_p.stride}}}),
        arrays_(arrays) {}

 private:
  // The complement and d_more have the same stride.
  enum Array { kP, kContiguous, kArrived, kDAlpha, kDP };
  void Finish(Index row, double dq) const {
    arrays_.Make(row, 0, arrays_.count % kEntries, dq);
  }

  template <bool All, int Unit = kRows / T::kRows - 1>
  HWY_INLINE void TakeBlock() {
    const N n;
    const Index j = this->j_;
    constexpr int r = Unit * T::kRows;
    double* const handed = this->handed()[0];
    const double* const start = this->start_ + this->at_start_[0] + j;
    NV p0, p1, p2, p3;
    T::Load(arrays_.p.data + j, this->at_[kP] + r, p0, p1, p2, p3);
    auto t0 = p0, t1 = p1, t2 = p2, t3 = p3;
    T::Transpose(t0, t1, t2, t3);
    NV g0 = hn::Zero(n), g1 = g0, g2 = g0, g3 = g0;
    if (arrays_.d_alpha.data != nullptr) {
      T::Load(arrays_.d_alpha.data + j, this->at_[kDAlpha] + r, g0, g1, g2, g3);
      T::Transpose(g0, g1, g2, g3);
    }
    V m0, m1, m2, m3, upper0, upper1, upper2, upper3;
    const auto take = [&](auto given, NV c0, NV c1, NV c2, NV c3) HWY_ATTR {
      if constexpr (T::kTwo) {
        TakeEntries<r, true>(given, handed, start, t0, t1, t2, t3, c0, c1, c2,
                             c3, g0, g1, g2, g3, upper0, upper1, upper2,
                             upper3);
      }
      TakeEntries<r, false>(given, handed, start, t0, t1, t2, t3, c0, c1, c2,
                            c3, g0, g1, g2, g3, m0, m1, m2, m3);
    };
    this->WithComplement(arrays_.complement.data, this->at_[kContiguous] + r,
                         p0, p1, p2, p3, take);
    NV q0, q1, q2, q3;
    T::Load(arrays_.arrived.data + j, this->at_[kArrived] + r, q0, q1, q2, q3);
    T::Transpose(q0, q1, q2, q3);
    Multiply<false>(q0, q1, q2, q3, m0, m1, m2, m3);
    if constexpr (T::kTwo) {
      Multiply<true>(q0, q1, q2, q3, upper0, upper1, upper2, upper3);
    }
    auto d0 = T::Narrowed(m0, upper0), d1 = T::Narrowed(m1, upper1);
    auto d2 = T::Narrowed(m2, upper2), d3 = T::Narrowed(m3, upper3);
    T::Transpose(d0, d1, d2, d3);
    T::template Store<All>(d0, d1, d2, d3, arrays_.d_p.data + j,
                           this->at_[kDP] + r, this->active_ >> r);
    if constexpr (Unit > 0) TakeBlock<All, Unit - 1>();
  }

  // Takes one vector of rows, those from First on or the upper half of them.
  template <int First, bool Upper, class Given>
  HWY_INLINE void TakeEntries(Given given, double* handed, const double* start,
                              NV t0, NV t1, NV t2, NV t3, NV c0, NV c1, NV c2,
                              NV c3, NV g0, NV g1, NV g2, NV g3, V& m0, V& m1,
                              V& m2, V& m3) {
    const D d;
    constexpr int r = First + (Upper ? kLanes : 0);
    m0 = T::template Widened<Upper>(g0), m1 = T::template Widened<Upper>(g1);
    m2 = T::template Widened<Upper>(g2), m3 = T::template Widened<Upper>(g3);
    if (arrays_.d_more.data != nullptr) {
      V w0, w1, w2, w3;
      Wide::Load(arrays_.d_more.data + this->j_, this->at_[kContiguous] + r, w0,
                 w1, w2, w3);
      Wide::Transpose(w0, w1, w2, w3);
      m0 = hn::Add(m0, w0), m1 = hn::Add(m1, w1);
      m2 = hn::Add(m2, w2), m3 = hn::Add(m3, w3);
    }
    auto dq = hn::Load(d, this->passed_ + r);
    TakeEntry<r, Upper>(given, handed + 3 * kRows, start + 3, t3, c3, dq, m3);
    TakeEntry<r, Upper>(given, handed + 2 * kRows, start + 2, t2, c2, dq, m2);
    TakeEntry<r, Upper>(given, handed + kRows, start + 1, t1, c1, dq, m1);
    TakeEntry<r, Upper>(given, handed, start, t0, c0, dq, m0);
    hn::Store(dq, d, this->passed_ + r);
  }
  template <bool Upper>
  static HWY_INLINE void Multiply(NV q0, NV q1, NV q2, NV q3, V& m0, V& m1,
                                  V& m2, V& m3) {
    m0 = hn::Mul(m0, T::template Widened<Upper>(q0));
    m1 = hn::Mul(m1, T::template Widened<Upper>(q1));
    m2 = hn::Mul(m2, T::template Widened<Upper>(q2));
    m3 = hn::Mul(m3, T::template Widened<Upper>(q3));
  }

  // `more` is what is given of g; it becomes g - dq.
  template <int Row, bool Upper, class Given>
  HWY_INLINE void TakeEntry(Given /*given*/, double* handed,
                            const double* start, NV t, NV c, V& dq, V& more) {
    const D d;
    const auto p = T::template Widened<Upper>(t);
    auto not_p = NotP(d, p);
    if constexpr (Given::value) {
      not_p = NotP(d, p, T::template Widened<Upper>(c));
    }
    const auto g = hn::Add(more, Base::template Above<Row>(handed, start));
    more = Return(d, g, p, not_p, dq);
    hn::Store(dq, d, handed + Row);
  }

  const SelectGradientArrays<Real> arrays_;
};
#endif

template <class Real>
void SelectRows(const Real* p, Index p_stride, const Real* complement,
                double* start, Index rows, Index count, Real* alpha,
                Index alpha_stride, Real* arrived, Index arrived_stride) {
  const SelectArrays<Real> arrays = {
      {p, p_stride},         {complement, count},      start, rows, count,
      {alpha, alpha_stride}, {arrived, arrived_stride}};
  for (Index i = 0; i < rows;) {
    const Index end = NonzeroEnd(start, count);
    const Index begin = NonzeroBegin(start, end);
    if (IsZero(start + begin, end - begin)) {
      for (; i < rows; ++i) arrays.FillZeros(i, 0, count);
      return;
    }
#if HWY_TARGET != HWY_SCALAR
    using Together = SelectWave<Real>;
    if (Together::Fits(rows - i, count)) {
      i = Together(arrays).Run(i, begin);
      continue;
    }
#endif
    arrays.FillZeros(i, 0, begin);
    arrays.Make(i, begin, count, end, 0);
    ++i;
  }
}

template <class Real>
HWY_NOINLINE void TakeRowsBackward(const SelectGradientArrays<Real>& arrays) {
#if HWY_TARGET != HWY_SCALAR
  using Together = SelectGradientWave<Real>;
  if (Together::Fits(arrays.rows, arrays.count)) {
    Together(arrays).Run(0, 0);
    return;
  }
#endif
  for (Index i = arrays.rows; i-- > 0;) arrays.Make(i, 0, arrays.count, 0);
}

template <class Real>
void SelectRowsBackward(const Real* p, Index p_stride, const Real* complement,
                        const Real* arrived, Index arrived_stride,
                        const Real* d_alpha, Index d_alpha_stride,
                        const double* d_more, Index rows, Index count,
                        Real* d_p, Index d_p_stride, double* d_start) {
  const FlushDenormals flush;
  TakeRowsBackward<Real>({{p, p_stride},
                          {complement, count},
                          {arrived, arrived_stride},
                          {d_alpha, d_alpha_stride},
                          {d_more, count},
                          {d_p, d_p_stride},
                          d_start,
                          rows,
                          count});
}

}  // namespace
}  // namespace attnbench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
