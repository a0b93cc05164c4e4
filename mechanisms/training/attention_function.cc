#include "mechanisms/training/attention_function.h"

#include <algorithm>

#include "mechanisms/common/eigen_views.h"
#include "mechanisms/energy/energy.h"
#include "mechanisms/energy/energy_gradient.h"
#include "mechanisms/training/noise.h"

namespace attnbench {
namespace {

// A table that is somebody else's, or made here.
template <class Number>
class Table {
 public:
  MatrixView<Number> Make(Index rows, Index cols) {
    MakeUnset(rows, cols);
    std::ranges::fill(values_, Number{0});
    return view_;
  }
  // Makes one that somebody else will write.
  MatrixView<Number> MakeUnset(Index rows, Index cols) {
    values_.resize(Size(rows * cols));
    view_ = {values_.data(), rows, cols};
    return view_;
  }
  // Takes `wanted` where it has data, else makes a table, to be written.
  MatrixView<Number> MakeUnless(const MatrixView<Number>& wanted, Index rows,
                                Index cols) {
    if (wanted.data == nullptr) return MakeUnset(rows, cols);
    ATTN_CHECK_EQ(wanted.rows, rows);
    ATTN_CHECK_EQ(wanted.cols, cols);
    return view_ = wanted;
  }
  const MatrixView<Number>& view() const { return view_; }

 private:
  UnsetBuffer<Number> values_;
  MatrixView<Number> view_;
};

template <class From, class To>
void CopyTable(const MatrixView<From>& from, const MatrixView<To>& to) {
  if (to.data == nullptr || from.data == nullptr) return;
  for (Index i = 0; i < to.rows; ++i) {
    std::transform(from.Row(i).begin(), from.Row(i).end(), to.Row(i).begin(),
                   [](From value) { return static_cast<To>(value); });
  }
}

template <class Number>
void FillTable(const MatrixView<Number>& table, Number value) {
  for (Index i = 0; table.data != nullptr && i < table.rows; ++i) {
    std::ranges::fill(table.Row(i), value);
  }
}

// Training of one sequence in Number: Real for the fast algorithms, Wider<Real>
// for the reference.
template <class Real, class Number>
class Training {
  static constexpr bool kIsReference = !std::is_same_v<Real, Number>;

 public:
  Training(AttentionFunction<Number>& function, const Config& config,
           const Sequence<Real>& sequence)
      : function_(function),
        config_(config),
        sequence_(sequence),
        T_(LengthsOf(sequence).T),
        U_(LengthsOf(sequence).U) {
    ATTN_CHECK(sequence.memory.data == nullptr || sequence.memory.rows == T_);
    MakeScores();
  }

  void Expect(const Expectation<Real>& out) {
    const Expectation<Number> made = MakeOutputs(out, true);
    function_.Forward(scores_, made);
    Finish(out);
  }

  void Gradient(const Cotangent<Real>& cotangent, const Expectation<Real>& out,
                const Gradients<Real>& gradients) {
    const Expectation<Number> made =
        MakeOutputs(out, sequence_.contexts.data != nullptr ||
                             gradients.memory.data != nullptr);
    const ScoreGradients<Number> d_scores = MakeScoreGradients(gradients);
    function_.Gradient(scores_,
                       {.attention = AttentionCotangent(cotangent),
                        .contexts = {},
                        .selection = SelectionCotangent(cotangent)},
                       made, d_scores);
    Finish(out);
    if constexpr (kIsReference) {
      CopyTable(MatrixView<const Number>(d_scores.choice),
                ChoiceView(gradients));
      CopyTable(MatrixView<const Number>(d_scores.chunk_energies),
                ChunkView(gradients));
      std::ranges::transform(
          d_start_, gradients.start.begin(),
          [](Number value) { return static_cast<Real>(value); });
    }
    ZeroInputGradients(gradients);
    SetMemoryGradient(cotangent, gradients.memory);
    if (!sequence_.inputs.scores.empty()) return;
    AddGradientOfEnergies(EnergyRole::kAttention, d_scores.choice, gradients);
    if (function_.has_chunk_energies()) {
      AddGradientOfEnergies(EnergyRole::kChunk, d_scores.chunk_energies,
                            gradients);
    }
  }

 private:
  void MakeScores() {
    scores_.probabilities =
        !sequence_.inputs.scores.empty() &&
        FindGivenScore(sequence_.inputs, EnergyRole::kAttention).probabilities;
    scores_.choice = MakeScore(EnergyRole::kAttention, choice_);
    start_.assign(sequence_.inputs.start.begin(), sequence_.inputs.start.end());
    ATTN_CHECK(start_.empty() || std::ssize(start_) == T_);
    scores_.start = start_;
    scores_.threads = sequence_.threads;
    AddNoise();
    if (function_.has_chunk_energies()) {
      scores_.chunk_energies = MakeScore(EnergyRole::kChunk, chunk_);
    }
  }

  MatrixView<const Number> MakeScore(EnergyRole role, Table<Number>& table) {
    if constexpr (kIsReference) {
      return MakeReferenceScore(role, table.Make(U_, T_));
    } else {
      if (!sequence_.inputs.scores.empty()) {
        return FindGivenScore(sequence_.inputs, role).table.Rows(0, U_);
      }
      const MatrixView<Number> energies = table.MakeUnset(U_, T_);
      const auto energy =
          MakeEnergy(config_, sequence_.inputs, role, EnergyUse::kMany);
      energy->Append(sequence_.memory);
      if (T_ > 0) energy->EvaluateAll(JoinStates(sequence_, states_), energies);
      return energies;
    }
  }

  MatrixView<const Number> MakeReferenceScore(EnergyRole role,
                                              const MatrixView<Number>& table) {
    const ReferenceEnergy<Real> a(config_, sequence_.inputs, role);
    const auto row = [](const MatrixView<const Real>& rows, Index n) {
      return rows.data == nullptr ? std::span<const Real>() : rows.Row(n);
    };
    for (Index i = 0; i < U_; ++i) {
      const std::span<const Real> state = row(sequence_.states, i);
      for (Index j = 0; j < T_; ++j) {
        table(i, j) = a(i, j, state, row(sequence_.memory, j)).value;
      }
    }
    return table;
  }

  void AddNoise() {
    const double deviation = NoiseOf(config_);
    if (deviation == 0) return;
    if (scores_.probabilities) {
      throw Unsupported("noise is added to energies, and p_choose was given");
    }
    if (choice_.view().data == nullptr) {
      const MatrixView<const Number> given = scores_.choice;
      CopyTable(given, choice_.MakeUnset(U_, T_));
    }
    const SequenceInputs<Real>& inputs = sequence_.inputs;
    for (Index i = 0; i < U_; ++i) {
      for (Index j = 0; j < T_; ++j) {
        choice_.view()(i, j) += static_cast<Number>(
            deviation * StandardNoise(inputs.seed, inputs.stream, i, j));
      }
    }
    scores_.choice = choice_.view();
  }

  Expectation<Number> MakeOutputs(const Expectation<Real>& out,
                                  bool wants_attention) {
    Expectation<Number> made;
    if constexpr (kIsReference) {
      made.attention = attention_.Make(U_, T_);
      if (out.selection.data != nullptr) {
        made.selection = selection_.Make(U_, T_);
      }
    } else {
      if (wants_attention || out.attention.data != nullptr) {
        made.attention = attention_.MakeUnless(out.attention, U_, T_);
      }
      made.selection = out.selection;
      made.arrived = out.arrived;
    }
    return made;
  }

  // Writes what of `out` is not written yet, and the contexts.
  void Finish(const Expectation<Real>& out) {
    if constexpr (kIsReference) {
      CopyTable(MatrixView<const Number>(attention_.view()), out.attention);
      CopyTable(MatrixView<const Number>(selection_.view()), out.selection);
    }
    const MatrixView<Real>& contexts = sequence_.contexts;
    if (contexts.data == nullptr) return;
    const MatrixView<const Real>& h = sequence_.memory;
    FillTable(contexts, Real{0});
    if (h.data == nullptr || T_ == 0) return;
    if constexpr (kIsReference) {
      for (Index i = 0; i < U_; ++i) {
        for (Index k = 0; k < contexts.cols; ++k) {
          Number c = 0;
          for (Index j = 0; j < T_; ++j) c += attention_.view()(i, j) * h(j, k);
          contexts(i, k) = static_cast<Real>(c);
        }
      }
    } else {
      Map(contexts).noalias() = Map(attention_.view()) * Map(h);
    }
  }

  // dL/d attention: given, or from dL/d contexts.
  MatrixView<const Number> AttentionCotangent(
      const Cotangent<Real>& cotangent) {
    const bool from_contexts = cotangent.contexts.data != nullptr;
    if constexpr (!kIsReference) {
      if (!from_contexts && cotangent.attention.data != nullptr) {
        return cotangent.attention.Rows(0, U_);
      }
    }
    const MatrixView<Number> d_attention = from_contexts && !kIsReference
                                               ? d_attention_.MakeUnset(U_, T_)
                                               : d_attention_.Make(U_, T_);
    const MatrixView<const Real>& h = sequence_.memory;
    if (from_contexts && T_ > 0) {
      ATTN_CHECK(h.data != nullptr);
      if constexpr (kIsReference) {
        for (Index i = 0; i < U_; ++i) {
          for (Index j = 0; j < T_; ++j) {
            for (Index k = 0; k < h.cols; ++k) {
              d_attention(i, j) +=
                  static_cast<Number>(cotangent.contexts(i, k)) * h(j, k);
            }
          }
        }
      } else {
        Map(d_attention).noalias() =
            Map(cotangent.contexts.Rows(0, U_)) * Map(h).transpose();
      }
    }
    if (cotangent.attention.data != nullptr) {
      for (Index i = 0; i < U_; ++i) {
        for (Index j = 0; j < T_; ++j) {
          d_attention(i, j) += cotangent.attention(i, j);
        }
      }
    }
    return d_attention;
  }

  MatrixView<const Number> SelectionCotangent(
      const Cotangent<Real>& cotangent) {
    const MatrixView<const Real>& given = cotangent.selection;
    if constexpr (kIsReference) {
      if (given.data == nullptr) return {};
      CopyTable(given, d_selection_.MakeUnset(U_, T_));
      return d_selection_.view();
    } else {
      return given;
    }
  }

  MatrixView<Real> ChoiceView(const Gradients<Real>& gradients) const {
    return gradients.scores.Find(
        scores_.probabilities ? kProbabilitiesInput.name : kEnergiesInput.name);
  }
  static MatrixView<Real> ChunkView(const Gradients<Real>& gradients) {
    return gradients.scores.Find(kChunkEnergiesInput.name);
  }

  ScoreGradients<Number> MakeScoreGradients(const Gradients<Real>& gradients) {
    ScoreGradients<Number> made;
    made.only = gradients.only;
    ATTN_CHECK(gradients.start.empty() || std::ssize(gradients.start) == T_);
    if constexpr (kIsReference) {
      d_start_.resize(gradients.start.size());
      made.start = d_start_;
      made.choice = d_choice_.Make(U_, T_);
      if (function_.has_chunk_energies()) {
        made.chunk_energies = d_chunk_.Make(U_, T_);
      }
    } else {
      made.start = gradients.start;
      made.choice = d_choice_.MakeUnless(ChoiceView(gradients), U_, T_);
      if (function_.has_chunk_energies()) {
        made.chunk_energies = d_chunk_.MakeUnless(ChunkView(gradients), U_, T_);
      }
    }
    // Gradients of memory and states read all scores, a variant writes these.
    if (!gradients.only.empty()) {
      FillTable(made.choice, Number{0});
      FillTable(made.chunk_energies, Number{0});
    }
    if (!function_.has_chunk_energies()) {
      FillTable(ChunkView(gradients), Real{0});
    }
    return made;
  }

  // Writes the part of contexts in dL/d memory: attention^T dL/d contexts.
  void SetMemoryGradient(const Cotangent<Real>& cotangent,
                         const MatrixView<Real>& d_memory) {
    if (d_memory.data == nullptr || cotangent.contexts.data == nullptr) return;
    if constexpr (kIsReference) {
      for (Index j = 0; j < T_; ++j) {
        for (Index k = 0; k < d_memory.cols; ++k) {
          Number sum = 0;
          for (Index i = 0; i < U_; ++i) {
            sum += attention_.view()(i, j) * cotangent.contexts(i, k);
          }
          d_memory(j, k) = static_cast<Real>(sum);
        }
      }
    } else {
      Map(d_memory).noalias() = Map(attention_.view()).transpose() *
                                Map(cotangent.contexts.Rows(0, U_));
    }
  }

  void AddGradientOfEnergies(EnergyRole role,
                             const MatrixView<const Number>& d_energies,
                             const Gradients<Real>& gradients) {
    if constexpr (kIsReference) {
      AddReferenceEnergyGradient(config_, sequence_, role, d_energies,
                                 gradients);
    } else {
      AddEnergyGradient(config_, sequence_, role, d_energies, gradients);
    }
  }

  AttentionFunction<Number>& function_;
  const Config& config_;
  const Sequence<Real>& sequence_;
  const Index T_;
  const Index U_;
  ScoreTables<Number> scores_;
  Table<Number> choice_, chunk_;  // what of the scores is made here
  Table<Number> attention_, selection_;
  Table<Number> d_attention_, d_selection_, d_choice_, d_chunk_;
  Buffer<Number> start_, d_start_;
  Buffer<Real> states_;  // without their padding
};

}  // namespace

template <class Real>
Lengths LengthsOf(const Sequence<Real>& sequence) {
  if (sequence.inputs.scores.empty()) {
    return {sequence.memory.rows, sequence.states.rows};
  }
  const MatrixView<const Real> scores =
      FindGivenScore(sequence.inputs, EnergyRole::kAttention).table;
  // A gate may ask for the first outputs only.
  const Index U =
      sequence.contexts.data != nullptr ? sequence.contexts.rows : scores.rows;
  ATTN_CHECK_LE(U, scores.rows);
  return {scores.cols, U};
}

template <class Real>
std::span<const Real> JoinStates(const Sequence<Real>& sequence,
                                 Buffer<Real>& joined) {
  const MatrixView<const Real>& rows = sequence.states;
  if (rows.row_stride == rows.cols) {
    return {rows.data, Size(rows.rows * rows.cols)};
  }
  joined.clear();
  for (Index i = 0; i < rows.rows; ++i) {
    joined.insert(joined.end(), rows.Row(i).begin(), rows.Row(i).end());
  }
  return joined;
}

template <class Real>
void ExpectByFunction(AttentionFunction<Real>& function, const Config& config,
                      const Sequence<Real>& sequence,
                      const Expectation<Real>& out) {
  Training<Real, Real>(function, config, sequence).Expect(out);
}

template <class Real>
void GradientByFunction(AttentionFunction<Real>& function, const Config& config,
                        const Sequence<Real>& sequence,
                        const Cotangent<Real>& cotangent,
                        const Expectation<Real>& out,
                        const Gradients<Real>& gradients) {
  Training<Real, Real>(function, config, sequence)
      .Gradient(cotangent, out, gradients);
}

template <class Real>
void ExpectByReference(AttentionFunction<Wider<Real>>& function,
                       const Config& config, const Sequence<Real>& sequence,
                       const Expectation<Real>& out) {
  Training<Real, Wider<Real>>(function, config, sequence).Expect(out);
}

template <class Real>
void GradientByReference(AttentionFunction<Wider<Real>>& function,
                         const Config& config, const Sequence<Real>& sequence,
                         const Cotangent<Real>& cotangent,
                         const Expectation<Real>& out,
                         const Gradients<Real>& gradients) {
  Training<Real, Wider<Real>>(function, config, sequence)
      .Gradient(cotangent, out, gradients);
}

template <class Real>
void FunctionTrainer<Real>::Expect(const Sequence<Real>& sequence,
                                   const Expectation<Real>& out) {
  ExpectByFunction(*function_, config_, sequence, out);
}

template <class Real>
void FunctionTrainer<Real>::Gradient(const Sequence<Real>& sequence,
                                     const Cotangent<Real>& cotangent,
                                     const Expectation<Real>& out,
                                     const Gradients<Real>& gradients) {
  GradientByFunction(*function_, config_, sequence, cotangent, out, gradients);
}

template class FunctionTrainer<float>;
template class FunctionTrainer<double>;

#define ATTNBENCH_INSTANTIATE(Real, Wide)                                  \
  template Lengths LengthsOf(const Sequence<Real>&);                       \
  template std::span<const Real> JoinStates(const Sequence<Real>&,         \
                                            Buffer<Real>&);                \
  template void ExpectByFunction(AttentionFunction<Real>&, const Config&,  \
                                 const Sequence<Real>&,                    \
                                 const Expectation<Real>&);                \
  template void GradientByFunction(                                        \
      AttentionFunction<Real>&, const Config&, const Sequence<Real>&,      \
      const Cotangent<Real>&, const Expectation<Real>&,                    \
      const Gradients<Real>&);                                             \
  template void ExpectByReference(AttentionFunction<Wide>&, const Config&, \
                                  const Sequence<Real>&,                   \
                                  const Expectation<Real>&);               \
  template void GradientByReference(                                       \
      AttentionFunction<Wide>&, const Config&, const Sequence<Real>&,      \
      const Cotangent<Real>&, const Expectation<Real>&,                    \
      const Gradients<Real>&);
ATTNBENCH_INSTANTIATE(float, double)
ATTNBENCH_INSTANTIATE(double, long double)

}  // namespace attnbench
