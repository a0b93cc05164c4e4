#include "mechanisms/mocha/window_expectation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>

#include "mechanisms/kernels/flush_denormals.h"
#include "mechanisms/kernels/kernels.h"

namespace attnbench::mocha {
namespace {

// Sums of terms c exp(x), each sum with a c of its own: sum n is
// scaled[n] exp(reference), where the reference is the largest of its terms; a
// term far below it vanishes, as it must. By default there are no terms.
//
// The usual reference, the maximum of the terms themselves, needs an exp for
// every addition. References here are multiples of ScaledExp::kStep, so that
// terms whose energies are not hundreds apart share one and simply add up.
template <class Number, std::size_t Count>
struct ScaledSums {
  Number reference = kNothing;
  std::array<Number, Count> scaled = {};

  void Add(ScaledSums other) {
    if (reference == kNothing) {
      *this = other;
      return;
    }
    if (reference != other.reference) {
      const Number largest = std::max(reference, other.reference);
      ReferTo(largest);
      other.ReferTo(largest);
    }
    for (std::size_t n = 0; n < Count; ++n) scaled[n] += other.scaled[n];
  }

 private:
  static constexpr Number kNothing = -std::numeric_limits<Number>::infinity();

  void ReferTo(Number larger) {
    const Number shrink = std::exp(reference - larger);
    for (Number& sum : scaled) sum *= shrink;
    reference = larger;
  }
};

// exp(u) as scale exp(reference), with the multiple of kStep next to u for a
// reference: u - reference is exact, and scale, within exp(+-128), and products
// of a few of them are far inside the range of f64.
template <class Number>
struct ScaledExp {
  static constexpr int kStep = 256;
  Number reference = 0;
  Number scale = 0;

  static ScaledExp Of(Number u) {
    const Number reference = kStep * std::nearbyint(u / kStep);
    return {reference, std::exp(u - reference)};
  }
  // exp(u + x) for a multiple x of kStep.
  Number Times(Number x) const {
    const Number gap = reference + x;
    return gap == 0 ? scale : scale * std::exp(gap);
  }
};

// Calls use(k, sum of term(l) over l = max(0, k-w+1)..k) for k = 0..length-1 in
// order; w <= length. The memory is cut into blocks of w: the window that ends
// at k is a suffix of one block and a prefix of the next. This takes three
// additions an entry; `suffixes` is scratch.
template <class Sums, class Term, class Use>
void ForEachWindow(std::size_t length, std::size_t w, const Term& term,
                   Buffer<Sums>& suffixes, const Use& use) {
  if (w < length) suffixes.resize(w);
  for (std::size_t first = 0; first < length; first += w) {
    const std::size_t end = std::min(first + w, length);
    Sums prefix;
    for (std::size_t k = first; k < end; ++k) {
      prefix.Add(term(k));
      Sums window = prefix;
      const std::size_t skipped = k - first + 1;  // of the block before
      if (first > 0 && skipped < w) window.Add(suffixes[skipped]);
      use(k, window);
    }
    if (end == length) break;  // no window needs the suffixes
    Sums suffix;
    for (std::size_t k = end; k-- > first;) {
      suffix.Add(term(k));
      suffixes[k - first] = suffix;
    }
  }
}

// Windows that begin at an entry are windows that end at it, counted from the
// end of the memory. `choices` holds the terms, and is what is left of alpha(k)
// without exp(u(j)).
template <class Sums, class Use>
void ForEachWindowFrom(std::size_t w, const Buffer<Sums>& choices,
                       Buffer<Sums>& suffixes, const Use& use) {
  const std::size_t last = choices.size() - 1;
  ForEachWindow(
      choices.size(), w, [&](std::size_t n) { return choices[last - n]; },
      suffixes,
      [&](std::size_t n, const Sums& window) { use(last - n, window); });
}

// Kernels compute the same formulas for rows of moderate energies: exp(u) is a
// normal number for all of them, and in units of the largest one so are sums,
// products and quotients. The unit is a power of two, which costs no rounding.
// This gives its exponent, or nothing for other rows.
template <class Real>
std::optional<int> UnitOfModerate(std::span<const Real> u) {
  constexpr bool kSingle = std::is_same_v<Real, float>;
  constexpr Real kLargest = kSingle ? 80 : 600;
  constexpr Real kRange = kSingle ? 60 : 400;
  Real smallest, largest;
  BestKernels<Real>().range(u.data(), static_cast<Index>(u.size()), &smallest,
                            &largest);
  if (!(largest <= kLargest && smallest >= -kLargest &&
        largest - smallest <= kRange)) {
    return std::nullopt;
  }
  // Of no entries the largest is minus infinity.
  return static_cast<int>(
      std::rint(std::max(largest, -kLargest) * std::numbers::log2e_v<Real>));
}

template <class Real>
class WindowExpectation final : public ChunkExpectation<Real> {
 public:
  explicit WindowExpectation(Index width) : width_(width) {}

  bool reads_selection_alone() const override { return true; }

  void Forward(const ChoiceRows<Real>& rows,
               const MatrixView<Real>& attention) override {
    ForEachRun(
        rows,
        [&](Index first, Index count) {
          for (Index n = first; n < first + count; ++n) {
            ModerateForward(rows.Row(n), units_[Size(n - first)],
                            attention.Row(n));
          }
        },
        [&](Index n) { ForwardRow(rows.Row(n), attention.Row(n)); });
  }
  void Backward(const ChoiceRows<Real>& rows,
                const MatrixView<const Real>& d_attention,
                const ChoiceRowsGradient<Real>& gradient) override {
    ForEachRun(
        rows,
        [&](Index first, Index count) {
          ModerateBackward(rows.Rows(first, count),
                           d_attention.Rows(first, count),
                           gradient.Rows(first, count));
        },
        [&](Index n) {
          BackwardRow(rows.Row(n), d_attention.Row(n), gradient.Row(n));
        });
  }

 private:
  using Number = Carry<Real>;

  // Calls moderate(first, count) for rows of moderate energies that follow one
  // another, with their units in units_, and other(n) for each row between.
  //
  // Where masses run out they are denormal numbers, on which CPUs are slow.
  // Moderate rows take these for 0.
  template <class Moderate, class Other>
  void ForEachRun(const ChoiceRows<Real>& rows, const Moderate& moderate,
                  const Other& other) {
    units_.clear();
    for (Index n = 0;; ++n) {
      const auto unit = n < rows.count()
                            ? UnitOfModerate(rows.chunk_energies.Row(n))
                            : std::nullopt;
      if (unit) {
        units_.push_back(*unit);
        continue;
      }
      if (!units_.empty()) {
        const FlushDenormals flush;
        const Index count = std::ssize(units_);
        moderate(n - count, count);
        units_.clear();
      }
      if (n == rows.count()) return;
      other(n);
    }
  }

  // With D(k) the sum of exp(u) over window k,
  //   beta(j) = exp(u(j)) sum over k = j..j+w-1 of alpha(k) / D(k).
  void ForwardRow(const ChoiceRow<Real>& row, std::span<Real> attention) {
    using Sums = ScaledSums<Number, 1>;
    const std::size_t w = Prepare(row.chunk_energies, weights_.choices);
    ForEachWindow(
        exp_u_.size(), w,
        [&](std::size_t j) {
          return Sums{exp_u_[j].reference, {exp_u_[j].scale}};
        },
        weights_.suffixes,
        [&](std::size_t k, const Sums& D) {
          weights_.choices[k] = {-D.reference,
                                 {row.selection[k] / D.scaled[0]}};
        });
    ForEachWindowFrom(w, weights_.choices, weights_.suffixes,
                      [&](std::size_t j, const Sums& sum) {
                        attention[j] = static_cast<Real>(
                            exp_u_[j].Times(sum.reference) * sum.scaled[0]);
                      });
  }

  // With d = dL/d beta and m(k) its mean over window k with the weights of the
  // softmax, sum over j of exp(u(j)) d(j) / D(k):
  //   dL/d alpha(k) = m(k)
  //   dL/d u(j) = exp(u(j)) sum over k = j..j+w-1 of
  //               alpha(k) / D(k) (d(j) - m(k)).
  void BackwardRow(const ChoiceRow<Real>& row,
                   std::span<const Real> d_attention,
                   const ChoiceRowGradient<Real>& gradient) {
    using Sums = ScaledSums<Number, 2>;  // the weights; times d or m
    const std::size_t w = Prepare(row.chunk_energies, means_.choices);
    ForEachWindow(
        exp_u_.size(), w,
        [&](std::size_t j) {
          const Number scale = exp_u_[j].scale;
          return Sums{exp_u_[j].reference, {scale, scale * d_attention[j]}};
        },
        means_.suffixes,
        [&](std::size_t k, const Sums& D) {
          const Number m = D.scaled[1] / D.scaled[0];
          const Number weight = row.selection[k] / D.scaled[0];
          means_.choices[k] = {-D.reference, {weight, weight * m}};
          gradient.selection[k] = m;
        });
    ForEachWindowFrom(w, means_.choices, means_.suffixes,
                      [&](std::size_t j, const Sums& sum) {
                        gradient.chunk_energies[j] = static_cast<Real>(
                            exp_u_[j].Times(sum.reference) *
                            (d_attention[j] * sum.scaled[0] - sum.scaled[1]));
                      });
  }

  void ModerateForward(const ChoiceRow<Real>& row, int unit,
                       std::span<Real> attention) {
    const std::size_t T = attention.size();
    scratch_.resize(3 * T + 1);
    Real* const e = scratch_.data();
    Real* const weights = e + T;
    Real* const further = weights + T;
    const Kernels<Real>& kernels = BestKernels<Real>();
    const auto count = static_cast<Index>(T);
    kernels.exp_scaled(row.chunk_energies.data(), count, unit, e);
    kernels.ratios_up_to(e, row.selection.data(), count, width_, further,
                         weights);
    kernels.sums_from(weights, e, count, width_, further, attention.data());
  }

  // All is in Number because d(j) - m(k) cancels.
  void ModerateBackward(const ChoiceRows<Real>& rows,
                        const MatrixView<const Real>& d_attention,
                        const ChoiceRowsGradient<Real>& gradient) {
    const MatrixView<const Real>& u = rows.chunk_energies;
    wide_scratch_.resize(Size(WindowsBackwardScratch(width_, u.cols)));
    BestKernels<Real>().windows_backward(
        u.data, u.row_stride, units_.data(), rows.selection.data,
        rows.selection.row_stride, d_attention.data, d_attention.row_stride,
        u.rows, u.cols, width_, wide_scratch_.data(), gradient.selection.data,
        gradient.selection.row_stride, gradient.chunk_energies.data,
        gradient.chunk_energies.row_stride);
  }

  template <std::size_t Count>
  struct Scratch {
    Buffer<ScaledSums<Number, Count>> choices;   // [T]
    Buffer<ScaledSums<Number, Count>> suffixes;  // [w] where w < T
  };

  // Sets exp_u_ and the size of `choices`; returns w, at most T.
  template <class Sums>
  std::size_t Prepare(std::span<const Real> u, Buffer<Sums>& choices) {
    exp_u_.resize(u.size());
    for (std::size_t j = 0; j < u.size(); ++j) {
      exp_u_[j] = ScaledExp<Number>::Of(u[j]);
    }
    choices.resize(u.size());
    return std::min(Size(width_), u.size());
  }

  const Index width_;
  Buffer<int> units_;            // of moderate rows
  Buffer<Real> scratch_;         // forward
  Buffer<double> wide_scratch_;  // and backward
  // They serve energies that are not moderate.
  Buffer<ScaledExp<Number>> exp_u_;  // [T]
  Scratch<1> weights_;               // of Forward
  Scratch<2> means_;                 // of Backward
};

}  // namespace

template <class Real>
std::unique_ptr<ChunkExpectation<Real>> MakeWindowExpectation(
    const Config& config) {
  if (config.Option<Index>("chunk_width") == 1) return nullptr;
  return std::make_unique<WindowExpectation<Real>>(
      config.Option<Index>("chunk_width"));
}

template std::unique_ptr<ChunkExpectation<float>> MakeWindowExpectation(
    const Config&);
template std::unique_ptr<ChunkExpectation<double>> MakeWindowExpectation(
    const Config&);

}  // namespace attnbench::mocha
