#include "mechanisms/monotonic/banded_training.h"

#include <algorithm>

#include "mechanisms/energy/energy.h"
#include "mechanisms/energy/energy_gradient.h"
#include "mechanisms/monotonic/banded_attention.h"
#include "mechanisms/monotonic/hard_expectation.h"
#include "mechanisms/training/attention_function.h"
#include "mechanisms/training/noise.h"

namespace attnbench {
namespace {

// Evaluates energies of a sequence, with noise where they are of the choice.
template <class Real>
class EnergySource final : public BandSource<Real> {
 public:
  EnergySource(const Config& config, const Sequence<Real>& sequence,
               std::span<const Real> states, Index outputs, EnergyRole role)
      : inputs_(sequence.inputs),
        noise_(role == EnergyRole::kAttention ? NoiseOf(config) : 0),
        energy_(MakeEnergy(config, inputs_, role, EnergyUse::kMany)) {
    if (noise_ != 0 && energy_->gives_probabilities()) {
      throw Unsupported("noise is added to energies, and p_choose was given");
    }
    energy_->Append(sequence.memory);
    energy_->SetStates(outputs, states);
  }

  bool gives_probabilities() const override {
    return energy_->gives_probabilities();
  }

  void Evaluate(Index i, Index first, Index count, Real* scores) override {
    if (i != output_) energy_->UseState(i, i);
    output_ = i;
    energy_->Evaluate(first, count, scores);
    for (Index n = 0; noise_ != 0 && n < count; ++n) {
      scores[n] += static_cast<Real>(
          noise_ * StandardNoise(inputs_.seed, inputs_.stream, i, first + n));
    }
  }

 private:
  const SequenceInputs<Real>& inputs_;
  const double noise_;
  const std::unique_ptr<Energy<Real>> energy_;
  Index output_ = -1;
};

template <class Real>
class BandedTrainer final : public SequenceTrainer<Real> {
 public:
  BandedTrainer(const Config& config, MakeChunkExpectation<Real> make_chunk)
      : config_(config),
        exact_(config, MakeHardExpectation<Real>(config, make_chunk)),
        attention_(config, make_chunk, config.Option<double>("bound")) {}

  void Expect(const Sequence<Real>& sequence,
              const Expectation<Real>& out) override {
    if (MakeBand(sequence, out)) return WriteOutputs(sequence, out);
    exact_.Expect(sequence, Dense(out));
    if (out.band != nullptr) *out.band = attention_.report();
  }

  void Gradient(const Sequence<Real>& sequence,
                const Cotangent<Real>& cotangent, const Expectation<Real>& out,
                const Gradients<Real>& gradients) override {
    if (!MakeBand(sequence, out)) {
      exact_.Gradient(sequence, cotangent, Dense(out), gradients);
      if (out.band != nullptr) *out.band = attention_.report();
      return;
    }
    WriteOutputs(sequence, out);
    MakeScoreGradients(sequence, cotangent, gradients.start);
    ZeroInputGradients(gradients);
    AddMemoryGradient(cotangent, gradients.memory);
    const auto given = [&](const InputSpec& input) {
      return gradients.scores.Find(input.name);
    };
    const BandRows& chosen = attention_.band().rows;
    WriteTable<Real>(
        chosen, attention_.d_scores(),
        given(probabilities_ ? kProbabilitiesInput : kEnergiesInput));
    const MatrixView<Real> d_chunk = given(kChunkEnergiesInput);
    if (attention_.has_chunks()) {
      WriteTable<Real>(attention_.rows(), attention_.d_chunk_energies(),
                       d_chunk);
    } else {
      ClearTable(d_chunk);
    }
    if (!sequence.inputs.scores.empty()) return;
    AddEnergies(sequence, EnergyRole::kAttention, chosen, attention_.d_scores(),
                gradients);
    if (attention_.has_chunks()) {
      AddEnergies(sequence, EnergyRole::kChunk, attention_.rows(),
                  attention_.d_chunk_energies(), gradients);
    }
  }

 private:
  // All energies are evaluated once more, and q of `exact` is nobody's.
  Expectation<Real> Dense(const Expectation<Real>& out) {
    const double all = static_cast<double>(U_) * static_cast<double>(T_);
    attention_.report().energies += all;
    if (attention_.has_chunks()) attention_.report().chunk_energies = all;
    return {.attention = out.attention, .selection = out.selection};
  }

  bool MakeBand(const Sequence<Real>& sequence, const Expectation<Real>& out) {
    const Lengths lengths = LengthsOf(sequence);
    T_ = lengths.T;
    U_ = lengths.U;
    const std::span<const Real> states = JoinStates(sequence, states_);
    EnergySource<Real> choice(config_, sequence, states, U_,
                              EnergyRole::kAttention);
    probabilities_ = choice.gives_probabilities();
    if (!attention_.Choose(U_, T_, sequence.inputs.start, choice)) return false;
    if (attention_.has_chunks()) {
      EnergySource<Real> chunk(config_, sequence, states, U_,
                               EnergyRole::kChunk);
      attention_.Weigh(chunk);
    }
    if (out.band != nullptr) *out.band = attention_.report();
    return true;
  }

  void WriteOutputs(const Sequence<Real>& sequence,
                    const Expectation<Real>& out) {
    const Band<Real>& band = attention_.band();
    WriteTable<Real>(band.rows, band.alpha, out.selection);
    WriteTable(attention_.rows(), attention_.attention(), out.attention);
    const MatrixView<Real>& contexts = sequence.contexts;
    const MatrixView<const Real>& h = sequence.memory;
    if (contexts.data == nullptr) return;
    ClearTable(contexts);
    if (h.data == nullptr) return;
    ForEachSegment([&](Index i, const BandSegment& part) {
      kernels_.add_rows(&attention_.attention()[part.at],
                        h.Row(part.begin).data(), h.row_stride,
                        part.end - part.begin, contexts.cols,
                        contexts.Row(i).data());
    });
  }

  template <class Use>
  void ForEachSegment(const Use& use) const {
    for (Index i = 0; i < U_; ++i) {
      for (const BandSegment& part : attention_.rows().Row(i)) use(i, part);
    }
  }

  // Makes d_attention_ of the entries of attention.
  void MakeAttentionCotangent(const Sequence<Real>& sequence,
                              const Cotangent<Real>& cotangent) {
    d_attention_.assign(attention_.attention().size(), 0);
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

  void MakeScoreGradients(const Sequence<Real>& sequence,
                          const Cotangent<Real>& cotangent,
                          std::span<Real> d_start) {
    MakeAttentionCotangent(sequence, cotangent);
    d_selection_.clear();
    for (Index i = 0; cotangent.selection.data != nullptr && i < U_; ++i) {
      const std::span<const Real> d = cotangent.selection.Row(i);
      for (const BandSegment& part : attention_.band().rows.Row(i)) {
        d_selection_.insert(d_selection_.end(), d.begin() + part.begin,
                            d.begin() + part.end);
      }
    }
    attention_.Backward(d_attention_, d_selection_, d_start);
  }

  // Adds attention^T dL/d contexts.
  void AddMemoryGradient(const Cotangent<Real>& cotangent,
                         const MatrixView<Real>& d_memory) const {
    if (d_memory.data == nullptr || cotangent.contexts.data == nullptr) return;
    ForEachSegment([&](Index i, const BandSegment& part) {
      const Real* const d = cotangent.contexts.Row(i).data();
      for (std::size_t n = 0; n < part.size(); ++n) {
        kernels_.add_rows(
            &attention_.attention()[part.at + n], d, d_memory.cols, 1,
            d_memory.cols,
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
  BandedAttention<Real> attention_;
  Index T_ = 0, U_ = 0;
  bool probabilities_ = false;
  Buffer<Real> d_attention_;  // in the order of attention_.rows()
  Buffer<Real> d_selection_;  // in that of the band
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
