// Attention on a band: alpha (banded_selection.h), and where attention is not
// alpha itself, attention on the chunks that end in the band. Scores come from
// a BandSource each. Arrays have the order of BandRows; who calls makes tables,
// contexts and gradients of parameters of them.
#ifndef ATTNBENCH_MECHANISMS_MONOTONIC_BANDED_ATTENTION_H_
#define ATTNBENCH_MECHANISMS_MONOTONIC_BANDED_ATTENTION_H_

#include <algorithm>
#include <memory>
#include <span>
#include <type_traits>

#include "mechanisms/monotonic/banded_selection.h"
#include "mechanisms/monotonic/chunk_expectation.h"

namespace attnbench {

// What follows from alpha on a band where attention is not alpha itself:
// attention on the chunks that end in it, and back.
template <class Real>
class BandedChunks {
 public:
  BandedChunks(const Config& config, MakeChunkExpectation<Real> make_chunk)
      : config_(config),
        chunk_(make_chunk == nullptr ? nullptr : make_chunk(config)) {}

  bool exist() const { return chunk_ != nullptr; }
  const BandRows& rows() const { return rows_; }
  // In the order of `rows`.
  std::span<const Real> attention() const { return beta_; }
  std::span<const Real> d_energies() const { return d_u_; }

  // The entries of chunks that end in the band: [begin - w + 1, end) of each
  // segment, joined where they meet, and all that lie in one are one chunk step
  // of a shorter memory. Windows of its first entries are cut, but nothing was
  // chosen there.
  void FindRows(const BandRows& band) {
    const Index width = config_.Option<Index>("chunk_width");
    rows_.segments.clear();
    rows_.ends.clear();
    std::size_t at = 0;
    for (Index i = 0; i < band.count(); ++i) {
      const std::size_t of_row = rows_.segments.size();
      for (const BandSegment& part : band.Row(i)) {
        const Index begin = part.begin < width ? 0 : part.begin - width + 1;
        const bool joins = rows_.segments.size() > of_row &&
                           begin <= rows_.segments.back().end;
        if (!joins) rows_.segments.push_back({begin, begin, at});
        BandSegment& last = rows_.segments.back();
        last.end = part.end;
        at = last.at + last.size();
      }
      rows_.ends.push_back(rows_.segments.size());
    }
  }

  // Follows FindRows.
  void Forward(const Band<Real>& band, BandSource<Real>& energies) {
    u_.resize(rows_.size());
    beta_.resize(rows_.size());
    chosen_.assign(rows_.size(), 0);
    ForEachPart(band.rows,
                [&](std::size_t to, std::size_t from, std::size_t size) {
                  std::copy_n(&band.alpha[from], size, &chosen_[to]);
                });
    for (Index i = 0; i < rows_.count(); ++i) {
      for (const BandSegment& part : rows_.Row(i)) {
        energies.Evaluate(i, part.begin, part.end - part.begin, &u_[part.at]);
        chunk_->Forward(Choices(part), Part(beta_, part));
      }
    }
  }

  // From dL/d attention writes dL/d alpha of the band, and d_energies.
  void Backward(const Band<Real>& band, std::span<const Real> d_attention,
                std::span<Carry<Real>> d_alpha) {
    d_chosen_.resize(rows_.size());
    d_u_.resize(rows_.size());
    for (const BandSegment& part : rows_.segments) {
      chunk_->Backward(Choices(part), Part(d_attention, part),
                       {.start = {},
                        .p = {},
                        .selection = Part(d_chosen_, part),
                        .chunk_energies = Part(d_u_, part)});
    }
    ForEachPart(band.rows,
                [&](std::size_t to, std::size_t from, std::size_t size) {
                  std::copy_n(&d_chosen_[to], size, &d_alpha[from]);
                });
  }

 private:
  // Calls use(to, from, size) for every segment of the band, with where its
  // entries stand in the arrays of chunks, and in those of the band.
  template <class Use>
  void ForEachPart(const BandRows& band, const Use& use) const {
    for (Index i = 0; i < band.count(); ++i) {
      auto chunk = rows_.Row(i).begin();
      for (const BandSegment& part : band.Row(i)) {
        while (chunk->end < part.end) ++chunk;
        use(chunk->at + Size(part.begin - chunk->begin), part.at, part.size());
      }
    }
  }

  template <class Number, class Values>
  static MatrixView<Number> View(Values& values, const BandSegment& part) {
    return {&values[part.at], 1, part.end - part.begin};
  }
  template <class Values>
  static auto Part(Values& values, const BandSegment& part) {
    return View<std::remove_reference_t<decltype(values[0])>>(values, part);
  }
  ChoiceRows<Real> Choices(const BandSegment& part) const {
    return {.start = {},
            .p = {},
            .complement = {},
            .selection = Part(chosen_, part),
            .chunk_energies = Part(u_, part)};
  }

  const Config& config_;
  const std::unique_ptr<ChunkExpectation<Real>> chunk_;
  BandRows rows_;
  Buffer<Real> chosen_, u_, beta_;  // alpha, energies and attention there
  Buffer<Real> d_u_;
  Buffer<Carry<Real>> d_chosen_;
};

// One object serves one thread, and one sequence at a time.
template <class Real>
class BandedAttention {
 public:
  // `config` outlives this. `make_chunk` makes a step that reads the selection
  // alone and whose chunks end at the choice with at most option chunk_width
  // entries; null, or if it makes null for `config`: attention is alpha.
  BandedAttention(const Config& config, MakeChunkExpectation<Real> make_chunk,
                  double bound, double most_share = kMostBandShare)
      : chunks_(config, make_chunk),
        selection_(config.end, bound, most_share),
        most_share_(most_share) {}

  bool has_chunks() const { return chunks_.exist(); }

  // Makes alpha, and rows(). False where the band is too wide: then the report
  // says what was evaluated, and the rest means nothing. Where there are chunks
  // Weigh follows.
  bool Choose(Index U, Index T, std::span<const Real> start,
              BandSource<Real>& source) {
    if (!selection_.Forward(U, T, start, source, band_)) return false;
    if (!has_chunks()) return true;
    chunks_.FindRows(band_.rows);
    const auto chunk_energies = static_cast<double>(chunks_.rows().size());
    const double all = 2 * static_cast<double>(U) * static_cast<double>(T);
    if (band_.report.energies + chunk_energies > most_share_ * all) {
      band_.GiveUp(U, T);
      return false;
    }
    band_.report.chunk_energies = chunk_energies;
    return true;
  }
  void Weigh(BandSource<Real>& chunk_energies) {
    chunks_.Forward(band_, chunk_energies);
  }

  BandReport& report() { return band_.report; }
  const Band<Real>& band() const { return band_; }
  // The rows that `attention` has.
  const BandRows& rows() const {
    return has_chunks() ? chunks_.rows() : band_.rows;
  }
  std::span<const Real> attention() const {
    if (has_chunks()) return chunks_.attention();
    return band_.alpha;
  }

  // From dL/d attention, and dL/d alpha (empty: 0), makes d_scores() and
  // d_chunk_energies(). Writes dL/d start [T] unless it is empty.
  void Backward(std::span<const Real> d_attention,
                std::span<const Real> d_selection, std::span<Real> d_start) {
    d_alpha_.assign(band_.alpha.size(), 0);
    if (has_chunks()) {
      chunks_.Backward(band_, d_attention, d_alpha_);
    } else {
      std::ranges::copy(d_attention, d_alpha_.begin());
    }
    for (std::size_t n = 0; n < d_selection.size(); ++n) {
      d_alpha_[n] += d_selection[n];
    }
    d_scores_.resize(d_alpha_.size());
    selection_.Backward(band_, d_alpha_, d_scores_, d_start);
  }
  std::span<const Real> d_scores() const { return d_scores_; }  // of the band
  std::span<const Real> d_chunk_energies() const {
    return chunks_.d_energies();
  }

 private:
  BandedChunks<Real> chunks_;
  BandedSelection<Real> selection_;
  const double most_share_;
  Band<Real> band_;
  Buffer<Real> d_scores_;
  Buffer<Carry<Real>> d_alpha_;
};

template <class Real>
void ClearTable(const MatrixView<Real>& table) {
  for (Index i = 0; table.data != nullptr && i < table.rows; ++i) {
    std::ranges::fill(table.Row(i), Real{0});
  }
}

// Writes what a band has to a table that is zero elsewhere.
template <class Real>
void WriteTable(const BandRows& rows, std::span<const Real> values,
                const MatrixView<Real>& table) {
  if (table.data == nullptr) return;
  ClearTable(table);
  for (Index i = 0; i < rows.count(); ++i) {
    for (const BandSegment& part : rows.Row(i)) {
      std::copy_n(&values[part.at], part.size(),
                  table.Row(i).begin() + part.begin);
    }
  }
}

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_MONOTONIC_BANDED_ATTENTION_H_
