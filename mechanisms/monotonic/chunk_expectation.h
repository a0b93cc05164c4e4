// This is how the distribution of the scan becomes attention: the one step of
// training in which monotonic, mocha and matcha differ, as ChunkRule is of
// decoding. Where there is none (monotonic, and mocha with w = 1) attention is
// selection.
#ifndef ATTNBENCH_MECHANISMS_MONOTONIC_CHUNK_EXPECTATION_H_
#define ATTNBENCH_MECHANISMS_MONOTONIC_CHUNK_EXPECTATION_H_

#include <memory>
#include <span>

#include "mechanisms/kernels/kernels.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

// One output; every array is [T].
template <class Number>
struct ChoiceRow {
  std::span<const Number> start;       // distribution of where the scan begins
  std::span<const Number> p;           // p_choose; 1 at the end of stay_last
  std::span<const Number> complement;  // 1 - p where that would be nothing but
                                       // the rounding of p; empty: 1 minus p
  std::span<const Number> selection;   // alpha
  std::span<const Number> chunk_energies;  // u

  // 1 - p(j), in Carry: a 1 - p that was rounded in f32 would lose the same
  // share at every entry of a long memory.
  Carry<Number> Passed(std::size_t j) const {
    const auto passed = 1 - static_cast<Carry<Number>>(p[j]);
    return complement.empty() || p[j] <= Number{0.5} ? passed : complement[j];
  }
};

// dL/d of a ChoiceRow. Where p moves, complement moves against it: `p` is the
// total derivative. `start` and `selection` go on to the outputs before.
template <class Number>
struct ChoiceRowGradient {
  std::span<Carry<Number>> start;      // added to
  std::span<Number> p;                 // added to
  std::span<Carry<Number>> selection;  // as in ChoiceRowsGradient
  std::span<Number> chunk_energies;    // written
};

// Rows of a table, which may have no data.
template <class Number>
MatrixView<Number> RowsOrNone(const MatrixView<Number>& table, Index first,
                              Index count) {
  return table.data == nullptr ? table : table.Rows(first, count);
}

// Outputs that follow one another; every table is [outputs, T].
template <class Number>
struct ChoiceRows {
  std::span<const Number> start;        // of the first output; the others start
                                        // where the one before chose
  MatrixView<const Number> p;           // as in ChoiceRow, and below
  MatrixView<const Number> complement;  // without data: 1 minus p
  MatrixView<const Number> selection;
  MatrixView<const Number> chunk_energies;  // without data where not used

  Index count() const { return selection.rows; }
  ChoiceRow<Number> Row(Index n) const {
    const auto row = [n](const MatrixView<const Number>& table) {
      return table.data == nullptr ? std::span<const Number>() : table.Row(n);
    };
    return {.start = n == 0 ? start : selection.Row(n - 1),
            .p = row(p),
            .complement = row(complement),
            .selection = selection.Row(n),
            .chunk_energies = row(chunk_energies)};
  }
  ChoiceRows Rows(Index first, Index rows) const {
    return {.start = first == 0 ? start : selection.Row(first - 1),
            .p = RowsOrNone(p, first, rows),
            .complement = RowsOrNone(complement, first, rows),
            .selection = RowsOrNone(selection, first, rows),
            .chunk_energies = RowsOrNone(chunk_energies, first, rows)};
  }
};

// dL/d of ChoiceRows. What has no data is not wanted.
template <class Number>
struct ChoiceRowsGradient {
  std::span<Carry<Number>> start;       // of the first output; added to
  MatrixView<Number> p;                 // added to
  MatrixView<Carry<Number>> selection;  // written by a step that reads the
                                        // selection alone, else added to, by
                                        // `start` of others too
  MatrixView<Number> chunk_energies;    // written

  ChoiceRowGradient<Number> Row(Index n) const {
    const auto row = [](const auto& table, Index r) {
      return table.data == nullptr ? decltype(table.Row(r))() : table.Row(r);
    };
    return {.start = n == 0 ? start : row(selection, n - 1),
            .p = row(p, n),
            .selection = row(selection, n),
            .chunk_energies = row(chunk_energies, n)};
  }
  ChoiceRowsGradient Rows(Index first, Index rows) const {
    return {.start = first == 0 ? start : selection.Row(first - 1),
            .p = RowsOrNone(p, first, rows),
            .selection = RowsOrNone(selection, first, rows),
            .chunk_energies = RowsOrNone(chunk_energies, first, rows)};
  }
};

// One object serves one thread: it may keep scratch between calls. What an
// output gets does not depend on the outputs beside it in a call.
template <class Number>
class ChunkExpectation {
 public:
  virtual ~ChunkExpectation() = default;
  // Whether attention follows from alpha and chunk energies alone: then start
  // and p are not looked at, nor their gradients.
  virtual bool reads_selection_alone() const = 0;
  // Writes attention [outputs, T].
  virtual void Forward(const ChoiceRows<Number>& rows,
                       const MatrixView<Number>& attention) = 0;
  // From dL/d attention [outputs, T], fills `gradient` as its fields say.
  virtual void Backward(const ChoiceRows<Number>& rows,
                        const MatrixView<const Number>& d_attention,
                        const ChoiceRowsGradient<Number>& gradient) = 0;
};

// Makes the step for one thread; null where attention is selection.
template <class Number>
using MakeChunkExpectation =
    std::unique_ptr<ChunkExpectation<Number>> (*)(const Config& config);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_MONOTONIC_CHUNK_EXPECTATION_H_
