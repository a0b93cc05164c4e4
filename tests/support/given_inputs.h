// Sequences whose scores are written down by hand, or come from a case file,
// instead of following from states.
#ifndef ATTNBENCH_TESTS_SUPPORT_GIVEN_INPUTS_H_
#define ATTNBENCH_TESTS_SUPPORT_GIVEN_INPUTS_H_

#include <vector>

#include "mechanisms/decode.h"
#include "tests/support/drawn_inputs.h"

namespace attnbench::testing {

using Rows = std::vector<std::vector<double>>;

// The rows of a case file; an empty array was not given.
struct GivenRows {
  Rows p_choose = {};
  Rows energies = {};
  Rows chunk_energies = {};
  Rows encoder_scores = {};
  Rows decoder_scores = {};
  // If it is empty, the identity [T, T] stands for it, so that a context is its
  // weights.
  Rows memory = {};
};

// One sequence over such rows, with T and U from the tables.
template <class Real>
class GivenInputs {
 public:
  explicit GivenInputs(const GivenRows& rows)
      : p_choose_(rows.p_choose),
        energies_(rows.energies),
        chunk_energies_(rows.chunk_energies),
        encoder_scores_(rows.encoder_scores),
        decoder_scores_(rows.decoder_scores),
        memory_(rows.memory.empty() ? Identity(LengthOf(rows)) : rows.memory),
        contexts_(Rows(NumOutputs(rows),
                       std::vector<double>(Size(memory_.view().cols), -7))) {}
  GivenInputs(const GivenInputs&) = delete;
  GivenInputs& operator=(const GivenInputs&) = delete;

  Index T() const { return memory_.view().rows; }
  Index U() const { return contexts_.view().rows; }
  Index dim() const { return memory_.view().cols; }
  Real context(Index i, Index k) const { return contexts_.view()(i, k); }

  Sequence<Real> View() {
    Sequence<Real> sequence;
    NamedViews<const Real>& scores = sequence.inputs.scores;
    scores.Set("p_choose", p_choose_.view());
    scores.Set("energies", energies_.view());
    scores.Set("chunk_energies", chunk_energies_.view());
    scores.Set("encoder_scores", encoder_scores_.view());
    scores.Set("decoder_scores", decoder_scores_.view());
    sequence.memory = memory_.view();
    sequence.contexts = contexts_.writable();
    return sequence;
  }

 private:
  class Table {
   public:
    explicit Table(const Rows& rows)
        : rows_(static_cast<Index>(rows.size())),
          cols_(rows.empty() ? 0 : static_cast<Index>(rows[0].size())) {
      for (const std::vector<double>& row : rows) {
        for (const double value : row) {
          values_.push_back(static_cast<Real>(value));
        }
      }
    }
    MatrixView<const Real> view() const {
      return {values_.empty() ? nullptr : values_.data(), rows_, cols_};
    }
    MatrixView<Real> writable() { return {values_.data(), rows_, cols_}; }

   private:
    Index rows_, cols_;
    std::vector<Real> values_;
  };

  static Rows Identity(std::size_t length) {
    Rows rows(length, std::vector<double>(length, 0));
    for (std::size_t j = 0; j < length; ++j) rows[j][j] = 1;
    return rows;
  }
  static std::size_t LengthOf(const GivenRows& rows) {
    if (!rows.p_choose.empty()) return rows.p_choose[0].size();
    if (!rows.energies.empty()) return rows.energies[0].size();
    return rows.encoder_scores.size();
  }
  static std::size_t NumOutputs(const GivenRows& rows) {
    if (!rows.p_choose.empty()) return rows.p_choose.size();
    if (!rows.energies.empty()) return rows.energies.size();
    return rows.decoder_scores.size();
  }

  const Table p_choose_, energies_, chunk_energies_;
  const Table encoder_scores_, decoder_scores_;
  const Table memory_;
  Table contexts_;
};

// The weights of every output over all T entries.
template <class Real>
Rows DenseWeights(const std::vector<KeptStep<Real>>& steps, Index T) {
  Rows dense;
  for (const KeptStep<Real>& step : steps) {
    std::vector<double>& row = dense.emplace_back(Size(T), 0);
    for (Index j = step.begin; j < step.end; ++j) {
      row[Size(j)] = static_cast<double>(step.weights.at(Size(j - step.begin)));
    }
  }
  return dense;
}

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_GIVEN_INPUTS_H_
