// alpha of the monotonic scan on a band of entries, with a certificate of what
// that leaves out, and backwards. Where p is sharp, nearly all of the mass of
// an output lies within a few entries, so energies are evaluated there alone:
// the work is that of the band, not of all U T pairs.
//
// A row of the recurrence (selection.h), next = A(start), is linear, A has no
// negative number, and its columns have a sum of at most 1: what starts at an
// entry is chosen at most once. The band changes it in two ways, both of which
// set mass to 0: c >= 0 that would start at entries that are left out, and
// m >= 0 that would pass the end of a segment. So
//
//   banded(i) = A(i) (banded(i-1) - c) - (what A(i) makes of m behind it)
//
// is at most alpha(i) = A(i) alpha(i-1) in every entry, by induction, and
//
//   |alpha(i) - banded(i)|_1 <= |alpha(i-1) - banded(i-1)|_1 + |c|_1 + m:
//
// the L1 error of a row is at most the mass that was cut up to it, BandReport::
// mass_cut, which the last row has the most of. It never exceeds `bound`:
// row i may cut (bound - cut so far) / (rows left), and each cut takes at most
// half of what the row has left, first of what starts on the left, then of what
// runs out to the right, or between segments.
//
// The gradient is that of this computation for the band as it is. It is not
// certified relative to the exact gradient: where p is saturated, that is tiny
// itself. But let D be the largest |dL/d alpha|, so that what follows from an
// entry that is chosen or passed is worth at most W = U D, of U rows. With
// dL/de = p (1 - p) q (G - V) of an energy, G and V being the worth of choosing
// and of passing it:
//
//   - q errs by at most `bound`, which p (1 - p) |G - V| <= W / 2 multiplies;
//   - p q times the chance that what is chosen here is cut later is at most
//     `bound`, and so is q times the chance that what is passed is: these
//     multiply the errors of G and V, which are at most W where that happens,
//
// so every dL/de errs by at most 1.5 bound U D. Nothing of the kind holds for
// dL/dp = q (G - V): what is nearly never chosen may be worth anything.
#ifndef ATTNBENCH_MECHANISMS_MONOTONIC_BANDED_SELECTION_H_
#define ATTNBENCH_MECHANISMS_MONOTONIC_BANDED_SELECTION_H_

#include <cstddef>
#include <span>

#include "mechanisms/kernels/kernels.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

inline constexpr const char* kBanded = "banded";
// Below this the rounding of q in f64 would be more than what is cut.
inline constexpr double kLeastBound = 1e-12;
// A band with more of the pairs than this is given up: a dense product, or
// kernels over whole rows, are faster then. Pairs of an output and an entry
// with a chunk energy are pairs of their own.
inline constexpr double kMostBandShare = 0.3;
// Energies that are evaluated together, and the least gap between segments.
inline constexpr Index kBandBlock = 8;

// The variant, and its option.
VariantSpec BandedVariant();
OptionSpec BoundOption();

// Entries [begin, end) of an output. What belongs to them stands in the arrays
// of a Band from `at` on.
struct BandSegment {
  Index begin = 0;
  Index end = 0;
  std::size_t at = 0;

  std::size_t size() const { return Size(end - begin); }
};

// Segments of outputs that follow one another, in rising order within each.
struct BandRows {
  Buffer<BandSegment> segments;
  Buffer<std::size_t> ends;  // [outputs], where the segments of each end

  Index count() const { return std::ssize(ends); }
  std::span<const BandSegment> Row(Index i) const {
    const std::size_t begin = i == 0 ? 0 : ends[Size(i - 1)];
    return std::span(segments).subspan(begin, ends[Size(i)] - begin);
  }
  // The numbers that belong to all segments.
  std::size_t size() const {
    return segments.empty() ? 0 : segments.back().at + segments.back().size();
  }
};

template <class Real>
struct Band {
  // Says that of U outputs and T entries all is to be evaluated.
  void GiveUp(Index U, Index T) {
    report.dense = true;
    report.reach = T;
    report.mass_cut.assign(Size(U), 0);
  }

  BandRows rows;
  Buffer<Real> p;
  Buffer<Carry<Real>> passed;   // 1 - p
  Buffer<Carry<Real>> arrived;  // q
  Buffer<Real> alpha;
  BandReport report;
};

// Scores of one role, entry by entry as the band wants them.
template <class Real>
class BandSource {
 public:
  virtual ~BandSource() = default;
  // Writes those of output i at `count` entries from `first` on. Outputs come
  // one after another.
  virtual void Evaluate(Index i, Index first, Index count, Real* scores) = 0;
  // Whether these are p, not energies.
  virtual bool gives_probabilities() const { return false; }
};

// One object serves one thread.
template <class Real>
class BandedSelection {
 public:
  // Throws Unsupported under `restart`, where every output depends on what
  // passed the last entry. A band with more than `most_share` of the pairs is
  // given up.
  BandedSelection(EndPolicy end, double bound,
                  double most_share = kMostBandShare);

  // Fills `band` for U outputs and T entries; `start` [T] is where the first
  // output begins, empty: at the first entry. False where it became too wide:
  // then the report says what was evaluated, and the rest means nothing.
  bool Forward(Index U, Index T, std::span<const Real> start,
               BandSource<Real>& source, Band<Real>& band);

  // From dL/d alpha, and with the q of Forward, writes dL/d scores of the
  // entries of the band, both in the order of its arrays, and unless it is
  // empty dL/d start [T].
  void Backward(const Band<Real>& band, std::span<const Carry<Real>> d_alpha,
                std::span<Real> d_scores, std::span<Real> d_start);

 private:
  // Where a row goes on, and the mass left out before.
  struct Cut {
    Index next;
    double mass;
  };

  void SetStart(Index T, std::span<const Real> start);
  Cut LeaveOut(Index first, double mass, double most);
  bool ScanRow(Index i, double budget, BandSource<Real>& source,
               Band<Real>& band);
  double ScanBlock(Index i, Index first, Index count, double q,
                   BandSource<Real>& source, Band<Real>& band);
  void TakeStarts(Index i, const Band<Real>& band);

  const EndPolicy end_;
  const double bound_;
  const double most_share_;
  bool probabilities_ = false;  // that the source gave
  Index T_ = 0;
  std::size_t most_ = 0;          // numbers of a band that is not too wide
  Buffer<Carry<Real>> start_;     // [T], of the row at hand
  Buffer<BandSegment> starts_;    // outside of which it is 0
  std::size_t at_ = 0;            // the first of them not passed
  Buffer<Carry<Real>> selected_;  // alpha of the row at hand before rounding
  Buffer<Carry<Real>> d_next_;    // [T]
};

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_MONOTONIC_BANDED_SELECTION_H_
