// Runs Expect and Gradient over tables of scores and keeps what they wrote.
#ifndef ATTNBENCH_TESTS_SUPPORT_TRAINING_H_
#define ATTNBENCH_TESTS_SUPPORT_TRAINING_H_

#include <limits>
#include <string>
#include <vector>

#include "mechanisms/train.h"
#include "tests/support/given_inputs.h"

namespace attnbench::testing {

// A table of one output.
template <class Numbers>
auto RowView(Numbers& numbers) {
  return MatrixView(numbers.data(), 1, static_cast<Index>(numbers.size()));
}

// An array of its own, which is NaN before it is written.
template <class Real>
class OwnTable {
 public:
  OwnTable() = default;
  OwnTable(Index rows, Index cols)
      : rows_(rows),
        cols_(cols),
        values_(Size(rows * cols), std::numeric_limits<Real>::quiet_NaN()) {}
  explicit OwnTable(const Rows& rows)
      : OwnTable(static_cast<Index>(rows.size()),
                 rows.empty() ? 0 : static_cast<Index>(rows[0].size())) {
    for (Index i = 0; i < rows_; ++i) {
      for (Index j = 0; j < cols_; ++j) {
        view()(i, j) = static_cast<Real>(rows[Size(i)][Size(j)]);
      }
    }
  }
  MatrixView<Real> view() { return {values_.data(), rows_, cols_}; }
  MatrixView<const Real> view() const { return {values_.data(), rows_, cols_}; }
  Real operator()(Index i, Index j) const { return view()(i, j); }
  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  const std::vector<Real>& values() const { return values_; }

 private:
  Index rows_ = 0, cols_ = 0;
  std::vector<Real> values_;
};

// The results of training one sequence.
template <class Real>
struct Trained {
  OwnTable<Real> attention, selection, contexts;
  OwnTable<Real> d_choice, d_chunk_energies;  // of p_choose or of energies
};

// Makes the expectation, and the gradient if there is a cotangent [U, T] of
// attention, from given p_choose or energies, and chunk energies; contexts too
// if rows.memory is there.
template <class Real>
Trained<Real> Train(const std::string& mechanism, Config config,
                    const GivenRows& rows, const Rows& cotangent = {},
                    std::uint64_t seed = 0) {
  const Mechanism<Real>& by_name = *FindMechanism<Real>(mechanism);
  const OwnTable<Real> p(rows.p_choose), e(rows.energies),
      u(rows.chunk_energies), h(rows.memory), d_attention(cotangent);
  const bool has_p = p.rows() > 0;
  const Index U = has_p ? p.rows() : e.rows();
  const Index T = has_p ? p.cols() : e.cols();
  Trained<Real> made{OwnTable<Real>(U, T), OwnTable<Real>(U, T),
                     OwnTable<Real>(U, h.cols()), OwnTable<Real>(U, T),
                     OwnTable<Real>(U, T)};
  Sequence<Real> sequence;
  sequence.inputs.scores.Set("p_choose", p.view());
  sequence.inputs.scores.Set("energies", e.view());
  sequence.inputs.scores.Set("chunk_energies", u.view());
  sequence.inputs.seed = seed;
  if (h.rows() > 0) {
    config.dim = h.cols();
    sequence.memory = h.view();
    sequence.contexts = made.contexts.view();
  }
  const Expectation<Real> out{made.attention.view(), made.selection.view()};
  if (cotangent.empty()) {
    by_name.Expect(config, sequence, out);
    return made;
  }
  Gradients<Real> gradients;
  gradients.scores.Set(has_p ? "p_choose" : "energies", made.d_choice.view());
  gradients.scores.Set("chunk_energies", made.d_chunk_energies.view());
  by_name.Gradient(config, sequence, {.attention = d_attention.view()}, out,
                   gradients);
  return made;
}

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_TRAINING_H_
