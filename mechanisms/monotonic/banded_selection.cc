#include "mechanisms/monotonic/banded_selection.h"

#include <algorithm>

namespace attnbench {

VariantSpec BandedVariant() {
  return {.name = kBanded,
          .help =
              "alpha on a band of entries that cuts at most option bound "
              "of the mass: energies are evaluated there alone",
          .bound = "bound"};
}

OptionSpec BoundOption() {
  return {.name = "bound",
          .default_value = 1e-3,
          .least = kLeastBound,
          .greatest = 1,
          .variant = kBanded,
          .help = "the L1 error that every row of alpha may have"};
}

template <class Real>
BandedSelection<Real>::BandedSelection(EndPolicy end, double bound,
                                       double most_share)
    : end_(end), bound_(bound), most_share_(most_share) {
  ATTN_CHECK(bound >= kLeastBound && bound <= 1);
  ATTN_CHECK(most_share >= 0 && most_share <= 1);
  if (end == EndPolicy::kRestart) {
    throw Unsupported(
        "variant banded cannot restart: every output would depend on what "
        "passed the last entry");
  }
}

template <class Real>
bool BandedSelection<Real>::Forward(Index U, Index T,
                                    std::span<const Real> start,
                                    BandSource<Real>& source,
                                    Band<Real>& band) {
  band.rows.segments.clear();
  band.rows.ends.clear();
  for (auto* array : {&band.p, &band.alpha}) array->clear();
  for (auto* array : {&band.passed, &band.arrived}) array->clear();
  band.report = {};
  T_ = T;
  most_ = static_cast<std::size_t>(most_share_ * static_cast<double>(T) *
                                   static_cast<double>(U));
  probabilities_ = source.gives_probabilities();
  SetStart(T, start);
  double cut = 0;
  for (Index i = 0; i < U; ++i) {
    const double budget = (bound_ - cut) / static_cast<double>(U - i);
    const bool fits = ScanRow(i, budget, source, band);
    band.report.energies = static_cast<double>(band.p.size());
    if (!fits) {
      band.GiveUp(U, T);
      return false;
    }
    cut += band.report.mass_cut.back();
    band.report.mass_cut.back() = cut;
    TakeStarts(i, band);
  }
  return true;
}

template <class Real>
void BandedSelection<Real>::SetStart(Index T, std::span<const Real> start) {
  start_.assign(Size(T), 0);
  starts_.clear();
  if (T == 0) return;
  if (start.empty()) {
    start_[0] = 1;
    starts_.push_back({0, 1, 0});
  } else {
    std::ranges::copy(start, start_.begin());
    starts_.push_back({0, T, 0});
  }
}

// Passes entries from `first` on while what starts there, and `mass`, have a
// sum of at most `most`.
template <class Real>
typename BandedSelection<Real>::Cut BandedSelection<Real>::LeaveOut(
    Index first, double mass, double most) {
  while (at_ < starts_.size() && starts_[at_].end <= first) ++at_;
  for (std::size_t n = at_; n < starts_.size(); ++n) {
    const BandSegment& part = starts_[n];
    for (Index j = std::max(first, part.begin); j < part.end; ++j) {
      const double with = mass + static_cast<double>(start_[Size(j)]);
      if (with > most) return {j, mass};
      mass = with;
    }
  }
  return {T_, mass};
}

// Adds a row to the band, and the mass that it cuts to the report.
template <class Real>
bool BandedSelection<Real>::ScanRow(Index i, double budget,
                                    BandSource<Real>& source,
                                    Band<Real>& band) {
  double left = budget;
  double q = 0;
  bool is_open = false;  // whether the scan is within a segment
  at_ = 0;
  Index j = 0;
  while (j < T_) {
    const Cut cut = LeaveOut(j, q, left / 2);
    // A gap that is not worth it keeps its budget for the end of the row.
    const bool ends = q <= left / 2 && (!is_open || cut.next >= T_ ||
                                        cut.next - j >= kBandBlock);
    if (ends) {
      left -= cut.mass;
      q = 0;
      j = cut.next;
      is_open = false;
      if (j >= T_) break;
    }
    if (!is_open) band.rows.segments.push_back({j, j, band.p.size()});
    is_open = true;
    const Index count = std::min(kBandBlock, T_ - j);
    if (band.p.size() + Size(count) > most_) return false;
    q = ScanBlock(i, j, count, q, source, band);
    j += count;
    band.rows.segments.back().end = j;
    band.report.reach = std::max(band.report.reach, j);
  }
  band.rows.ends.push_back(band.rows.segments.size());
  band.report.mass_cut.push_back(budget - left);
  return true;
}

// Adds entries to the band; `q` passed the one before, and what passes the last
// is returned.
template <class Real>
double BandedSelection<Real>::ScanBlock(Index i, Index first, Index count,
                                        double q, BandSource<Real>& source,
                                        Band<Real>& band) {
  const std::size_t at = band.p.size();
  const std::size_t size = at + Size(count);
  band.p.resize(size);
  band.alpha.resize(size);
  band.passed.resize(size);
  band.arrived.resize(size);
  selected_.resize(size);
  source.Evaluate(i, first, count, &band.p[at]);
  if (!probabilities_) {
    Real complement[kBandBlock];
    ATTN_CHECK_LE(count, kBandBlock);
    BestKernels<Real>().sigmoid(&band.p[at], count, &band.p[at], complement);
    std::copy_n(complement, count, &band.passed[at]);
  }
  for (std::size_t n = at; n < size; ++n) {
    if (probabilities_ || band.p[n] <= Real{0.5}) {
      band.passed[n] = 1 - static_cast<Carry<Real>>(band.p[n]);
    }
  }
  if (end_ == EndPolicy::kStayLast && first + count == T_) {
    band.p.back() = 1;
    band.passed.back() = 0;
  }
  Carry<Real> mass = static_cast<Carry<Real>>(q);
  for (std::size_t n = at; n < size; ++n) {
    mass += start_[Size(first) + n - at];
    band.arrived[n] = mass;
    selected_[n] = static_cast<Carry<Real>>(band.p[n]) * mass;
    band.alpha[n] = static_cast<Real>(selected_[n]);
    mass *= band.passed[n];
  }
  return static_cast<double>(mass);
}

// The next row starts where this one chose.
template <class Real>
void BandedSelection<Real>::TakeStarts(Index i, const Band<Real>& band) {
  for (const BandSegment& part : starts_) {
    std::fill(start_.begin() + part.begin, start_.begin() + part.end, 0);
  }
  const std::span<const BandSegment> row = band.rows.Row(i);
  starts_.assign(row.begin(), row.end());
  for (const BandSegment& part : row) {
    std::copy_n(&selected_[part.at], part.size(), &start_[Size(part.begin)]);
  }
}

template <class Real>
void BandedSelection<Real>::Backward(const Band<Real>& band,
                                     std::span<const Carry<Real>> d_alpha,
                                     std::span<Real> d_scores,
                                     std::span<Real> d_start) {
  d_next_.assign(Size(T_), 0);
  std::span<const BandSegment> next;
  for (Index i = band.rows.count(); i-- > 0;) {
    const std::span<const BandSegment> row = band.rows.Row(i);
    // The derivatives of two rows stand in one array: those of the next are
    // read before this one's are written, and what it does not write is 0.
    selected_.resize(band.p.size());
    for (const BandSegment& part : row) {
      for (std::size_t n = 0; n < part.size(); ++n) {
        selected_[part.at + n] =
            d_alpha[part.at + n] + d_next_[Size(part.begin) + n];
      }
    }
    for (const BandSegment& part : next) {
      std::fill_n(d_next_.begin() + part.begin, part.size(), 0);
    }
    for (const BandSegment& part : row) {
      Carry<Real> dq = 0;  // what passes the end of a segment is cut
      for (std::size_t n = part.size(); n-- > 0;) {
        const std::size_t at = part.at + n;
        d_scores[at] =
            static_cast<Real>(band.arrived[at] * (selected_[at] - dq));
        if (!probabilities_) {
          d_scores[at] *= band.p[at] * static_cast<Real>(band.passed[at]);
        }
        dq = static_cast<Carry<Real>>(band.p[at]) * selected_[at] +
             band.passed[at] * dq;
        d_next_[Size(part.begin) + n] = dq;
      }
      // Under `stay_last` the last p is no variable.
      if (end_ == EndPolicy::kStayLast && part.end == T_) {
        d_scores[part.at + part.size() - 1] = 0;
      }
    }
    next = row;
  }
  std::ranges::transform(
      d_next_.begin(), d_next_.begin() + std::ssize(d_start), d_start.begin(),
      [](Carry<Real> value) { return static_cast<Real>(value); });
}

template class BandedSelection<float>;
template class BandedSelection<double>;

}  // namespace attnbench
