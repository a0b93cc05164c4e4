#include "mechanisms/monotonic/banded_training.h"

#include <algorithm>

#include "mechanisms/energy/energy.h"
#include "mechanisms/energy/energy_gradient.h"
#include "mechanisms/monotonic/hard_expectation.h"
#include "mechanisms/training/attention_function.h"
#include "mechanisms/training/noise.h"

namespace attnbench {
namespace {

// Evaluates energies of the choice, adds noise, and makes p.
template <class Real>
class EnergySource final : public BandSource<Real> {
 public:
  EnergySource(const Config& config, const Sequence<Real>& sequence,
               std::span<const Real> states, Index outputs)
      : inputs_(sequence.inputs),
        noise_(NoiseOf(config)),
        energy_(MakeEnergy(config, inputs_, EnergyRole::kAttention,
                           EnergyUse::kMany)) {
    if (noise_ != 0 && energy_->gives_probabilities()) {
      throw Unsupported("noise is added to energies, and p_choose was given");
    }
    energy_->Append(sequence.memory);
    energy_->SetStates(outputs, states);
  }

  bool gives_probabilities() const { return energy_->gives_probabilities(); }

  void Evaluate(Index i, Index first, Index count, Real* p,
                Carry<Real>* passed) override {
    if (i != output_) energy_->UseState(i, i);
    output_ = i;
    energy_->Evaluate(first, count, p);
    if (energy_->gives_probabilities()) {
      std::transform(p, p + count, passed,
                     [](Real x) { return 1 - static_cast<Carry<Real>>(x); });
      return;
    }
    for (Index n = 0; noise_ != 0 && n < count; ++n) {
      p[n] += static_cast<Real>(
          noise_ * StandardNoise(inputs_.seed, inputs_.stream, i, first + n));
    }
    Real complement[kBandBlock];
    ATTN_CHECK_LE(count, kBandBlock);
    BestKernels<Real>().sigmoid(p, count, p, complement);
    for (Index n = 0; n < count; ++n) {
      passed[n] = p[n] <= Real{0.5} ? 1 - static_cast<Carry<Real>>(p[n])
                                    : static_cast<Carry<Real>>(complement[n]);
    }
  }

 private:
  const SequenceInputs<Real>& inputs_;
  const double noise_;
  const std::unique_ptr<Energy<Real>> energy_;
  Index output_ = -1;
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
  void Forward(const Sequence<Real>& sequence, std::span<const Real> states,
               const Band<Real>& band) {
    u_.resize(rows_.size());
    beta_.resize(rows_.size());
    chosen_.assign(rows_.size(), 0);
    ForEachPart(band.rows,
                [&](std::size_t to, std::size_t from, std::size_t size) {
                  std::copy_n(&band.alpha[from], size, &chosen_[to]);
                });
    const auto energy = MakeEnergy(config_, sequence.inputs, EnergyRole::kChunk,
                                   EnergyUse::kMany);
    energy->Append(sequence.memory);
    energy->SetStates(rows_.count(), states);
    for (Index i = 0; i < rows_.count(); ++i) {
      if (!rows_.Row(i).empty()) energy->UseState(i, i);
      for (const BandSegment& part : rows_.Row(i)) {
        energy->Evaluate(part.begin, part.end - part.begin, &u_[part.at]);
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

template <class Real>
class BandedTrainer final : public SequenceTrainer<Real> {
 public:
  BandedTrainer(const Config& config, MakeChunkExpectation<Real> make_chunk)
      : config_(config),
        exact_(config, MakeHardExpectation<Real>(config, make_chunk)),
        chunks_(config, make_chunk),
        selection_(config.end, config.Option<double>("bound")) {}

  void Expect(const Sequence<Real>& sequence,
              const Expectation<Real>& out) override {
    if (MakeBand(sequence, out)) return WriteOutputs(sequence, out);
    exact_.Expect(sequence, Dense(out));
    if (out.band != nullptr) *out.band = band_.report;
  }

  void Gradient(const Sequence<Real>& sequence,
                const Cotangent<Real>& cotangent, const Expectation<Real>& out,
                const Gradients<Real>& gradients) override {
    if (!MakeBand(sequence, out)) {
      exact_.Gradient(sequence, cotangent, Dense(out), gradients);
      if (out.band != nullptr) *out.band = band_.report;
      return;
    }
    WriteOutputs(sequence, out);
    MakeScoreGradients(sequence, cotangent, gradients.start);
    ZeroInputGradients(gradients);
    AddMemoryGradient(cotangent, gradients.memory);
    const auto given = [&](const InputSpec& input) {
      return gradients.scores.Find(input.name);
    };
    WriteTable<Real>(
        band_.rows, d_choice_,
        given(probabilities_ ? kProbabilitiesInput : kEnergiesInput));
    const MatrixView<Real> d_chunk = given(kChunkEnergiesInput);
    if (chunks_.exist()) {
      WriteTable<Real>(chunks_.rows(), chunks_.d_energies(), d_chunk);
    } else {
      ClearTable(d_chunk);
    }
    if (!sequence.inputs.scores.empty()) return;
    AddEnergies(sequence, EnergyRole::kAttention, band_.rows, d_choice_,
                gradients);
    if (chunks_.exist()) {
      AddEnergies(sequence, EnergyRole::kChunk, chunks_.rows(),
                  chunks_.d_energies(), gradients);
    }
  }

 private:
  // Entries of attention: of the band, or of the chunks.
  const BandRows& attention_rows() const {
    return chunks_.exist() ? chunks_.rows() : band_.rows;
  }
  std::span<const Real> attention() const {
    if (chunks_.exist()) return chunks_.attention();
    return band_.alpha;
  }

  // All energies are evaluated once more, and q of `exact` is nobody's.
  Expectation<Real> Dense(const Expectation<Real>& out) {
    const double all = static_cast<double>(U_) * static_cast<double>(T_);
    band_.report.energies += all;
    if (chunks_.exist()) band_.report.chunk_energies = all;
    return {.attention = out.attention, .selection = out.selection};
  }

  bool MakeBand(const Sequence<Real>& sequence, const Expectation<Real>& out) {
    const Lengths lengths = LengthsOf(sequence);
    T_ = lengths.T;
    U_ = lengths.U;
    const std::span<const Real> states = JoinStates(sequence, states_);
    EnergySource<Real> source(config_, sequence, states, U_);
    probabilities_ = source.gives_probabilities();
    if (!selection_.Forward(U_, T_, sequence.inputs.start, source, band_)) {
      return false;
    }
    if (chunks_.exist()) {
      chunks_.FindRows(band_.rows);
      const auto chunk_energies = static_cast<double>(chunks_.rows().size());
      const double all = 2 * static_cast<double>(U_) * static_cast<double>(T_);
      if (band_.report.energies + chunk_energies > kMostBandShare * all) {
        band_.GiveUp(U_, T_);
        return false;
      }
      chunks_.Forward(sequence, states, band_);
      band_.report.chunk_energies = chunk_energies;
    }
    if (out.band != nullptr) *out.band = band_.report;
    return true;
  }

  void WriteOutputs(const Sequence<Real>& sequence,
                    const Expectation<Real>& out) {
    WriteTable<Real>(band_.rows, band_.alpha, out.selection);
    WriteTable<Real>(attention_rows(), attention(), out.attention);
    const MatrixView<Real>& contexts = sequence.contexts;
    const MatrixView<const Real>& h = sequence.memory;
    if (contexts.data == nullptr) return;
    ClearTable(contexts);
    if (h.data == nullptr) return;
    ForEachSegment([&](Index i, const BandSegment& part) {
      kernels_.add_rows(&attention()[part.at], h.Row(part.begin).data(),
                        h.row_stride, part.end - part.begin, contexts.cols,
                        contexts.Row(i).data());
    });
  }

  template <class Use>
  void ForEachSegment(const Use& use) const {
    for (Index i = 0; i < U_; ++i) {
      for (const BandSegment& part : attention_rows().Row(i)) use(i, part);
    }
  }

  // Makes d_attention_ of the entries of attention.
  void MakeAttentionCotangent(const Sequence<Real>& sequence,
                              const Cotangent<Real>& cotangent) {
    d_attention_.assign(attention().size(), 0);
    const MatrixView<const Real>& h = sequence.memory;
    ForEachSegment([&](Index i, const BandSegment& part) {
      if (cotangent.contexts.data != nullptr) {
        kernels_.dot_rows(cotangent.contexts.Row(i).data(),
                          h.Row(part.begin).data(), h.row_stride,
                          part.end - part.begin, h.cols,
                          &d_attention_[part.at]);
      }
      if (cotangent.attention.data != nullptr) {
        kernels_.add(&d_attention_[part.at],
                     &cotangent.attention.Row(i)[Size(part.begin)],
                     part.end - part.begin, &d_attention_[part.at]);
      }
    });
  }

  // Makes d_choice_, dL/d of p or of energies on the band, and d_u_.
  void MakeScoreGradients(const Sequence<Real>& sequence,
                          const Cotangent<Real>& cotangent,
                          std::span<Real> d_start) {
    MakeAttentionCotangent(sequence, cotangent);
    d_alpha_.assign(band_.alpha.size(), 0);
    if (chunks_.exist()) {
      chunks_.Backward(band_, d_attention_, d_alpha_);
    } else {
      std::ranges::copy(d_attention_, d_alpha_.begin());
    }
    if (cotangent.selection.data != nullptr) {
      for (Index i = 0; i < U_; ++i) {
        const std::span<const Real> d = cotangent.selection.Row(i);
        for (const BandSegment& part : band_.rows.Row(i)) {
          for (std::size_t n = 0; n < part.size(); ++n) {
            d_alpha_[part.at + n] += d[Size(part.begin) + n];
          }
        }
      }
    }
    d_choice_.resize(d_alpha_.size());
    selection_.Backward(band_, d_alpha_, d_choice_, d_start);
    if (probabilities_) return;
    for (std::size_t n = 0; n < d_choice_.size(); ++n) {
      d_choice_[n] *= band_.p[n] * static_cast<Real>(band_.passed[n]);
    }
  }

  // Adds attention^T dL/d contexts.
  void AddMemoryGradient(const Cotangent<Real>& cotangent,
                         const MatrixView<Real>& d_memory) const {
    if (d_memory.data == nullptr || cotangent.contexts.data == nullptr) return;
    ForEachSegment([&](Index i, const BandSegment& part) {
      const Real* const d = cotangent.contexts.Row(i).data();
      for (std::size_t n = 0; n < part.size(); ++n) {
        kernels_.add_rows(
            &attention()[part.at + n], d, d_memory.cols, 1, d_memory.cols,
            d_memory.Row(part.begin + static_cast<Index>(n)).data());
      }
    });
  }

  // The gradients of energies take a table, where they pass over zeros.
  void AddEnergies(const Sequence<Real>& sequence, EnergyRole role,
                   const BandRows& rows, std::span<const Real> d_energies,
                   const Gradients<Real>& gradients) {
    table_.resize(Size(U_ * T_));
    const MatrixView<Real> table(table_.data(), U_, T_);
    WriteTable<Real>(rows, d_energies, table);
    AddEnergyGradient(config_, sequence, role, MatrixView<const Real>(table),
                      gradients);
  }

  const Config& config_;
  const Kernels<Real>& kernels_ = BestKernels<Real>();
  FunctionTrainer<Real> exact_;  // where the band is too wide
  BandedChunks<Real> chunks_;
  BandedSelection<Real> selection_;
  Index T_ = 0, U_ = 0;
  bool probabilities_ = false;
  Band<Real> band_;
  Buffer<Real> d_attention_;  // in the order of attention_rows
  Buffer<Real> d_choice_;     // in that of the band
  Buffer<Carry<Real>> d_alpha_;
  UnsetBuffer<Real> table_;
  Buffer<Real> states_;  // without their padding
};

}  // namespace

template <class Real>
std::unique_ptr<SequenceTrainer<Real>> MakeBandedTrainer(
    const Config& config, MakeChunkExpectation<Real> make_chunk) {
  return std::make_unique<BandedTrainer<Real>>(config, make_chunk);
}

template std::unique_ptr<SequenceTrainer<float>> MakeBandedTrainer(
    const Config&, MakeChunkExpectation<float>);
template std::unique_ptr<SequenceTrainer<double>> MakeBandedTrainer(
    const Config&, MakeChunkExpectation<double>);

}  // namespace attnbench
