// Decodes a sequence as an encoder makes its memory: an entry comes once the
// decoder asks for it.
#ifndef ATTNBENCH_HARNESS_INPUTS_ON_DEMAND_H_
#define ATTNBENCH_HARNESS_INPUTS_ON_DEMAND_H_

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/base/arrays.h"
#include "harness/inputs/declared_inputs.h"
#include "harness/machine/environment.h"
#include "mechanisms/decode.h"
#include "mechanisms/follow.h"

namespace attnbench {

// What a decoder has asked for when it makes an output.
struct Asked {
  Index num_entries = 0;
  bool is_closed = false;  // it has asked for the end, too
};

// What there is of a sequence: NaN stand for the entries that are still to
// come, and for what scores and further inputs say of them.
template <class Real>
class ArrivingSequence {
 public:
  explicit ArrivingSequence(const Sequence<Real>& whole) : sequence_(whole) {
    sequence_.memory = Hide(whole.memory, "Td");
    HideAll(whole.inputs.scores, sequence_.inputs.scores);
    HideAll(whole.inputs.further, sequence_.inputs.further);
    // Only the size of given scores and further inputs still tells T.
    sequence_.inputs.expected_length = 0;
  }

  const Sequence<Real>& sequence() const { return sequence_; }
  Index num_entries() const { return num_entries_; }
  bool IsWhole() const { return num_entries_ == sequence_.memory.rows; }

  // The next entry [1, d], which is there from now on.
  MatrixView<const Real> Next() {
    const Index j = num_entries_++;
    for (Part& part : parts_) {
      const MatrixView<Real> seen = part.seen.view();
      if (part.row_is_entry) {
        std::ranges::copy(part.whole.Row(j), seen.Row(j).begin());
      } else {
        for (Index i = 0; i < seen.rows; ++i) seen(i, j) = part.whole(i, j);
      }
    }
    return sequence_.memory.Rows(j, 1);
  }

 private:
  struct Part {
    MatrixView<const Real> whole;
    Table<Real> seen;
    bool row_is_entry = true;  // else a column is
  };

  // `shape` as InputSpec has it.
  MatrixView<const Real> Hide(const MatrixView<const Real>& whole,
                              std::string_view shape) {
    if (shape.find('T') == std::string_view::npos) return whole;
    CheckFits(Times(Times(whole.rows, whole.cols), sizeof(Real)));
    Part& part = parts_.emplace_back(
        Part{whole, Table<Real>(whole.rows, whole.cols), shape[0] == 'T'});
    std::ranges::fill(part.seen.values, std::numeric_limits<Real>::quiet_NaN());
    return part.seen.view();
  }

  void HideAll(const NamedViews<const Real>& whole,
               NamedViews<const Real>& seen) {
    for (const auto& [name, view] : whole) {
      seen.Set(name, Hide(view, FindInput(name)->shape));
    }
  }

  Sequence<Real> sequence_;
  std::vector<Part> parts_;
  Index num_entries_ = 0;
};

// Makes the contexts of a sequence with a decoder that gets an entry, and at
// last the end of the memory, each time it asks. on_step(i, result, asked)
// says whether to make more outputs. Throws as DecodeWith does.
template <class Real, class OnStep>
void DecodeOnDemand(const Mechanism<Real>& mechanism, const Config& config,
                    const Sequence<Real>& whole, std::span<const Index> follow,
                    const OnStep& on_step) {
  ArrivingSequence<Real> arriving(whole);
  const Sequence<Real>& sequence = arriving.sequence();
  const auto decoder = mechanism.MakeDecoder(config, sequence.inputs);
  Follow(*decoder, follow);
  bool is_closed = false;
  for (Index i = 0; i < sequence.contexts.rows; ++i) {
    const auto state = sequence.states.data == nullptr ? std::span<const Real>()
                                                       : sequence.states.Row(i);
    const std::span<Real> context = sequence.contexts.Row(i);
    const StepResult<Real> step =
        StepOnDemand<Real>(*decoder, state, context, is_closed,
                           [&]() -> std::optional<MatrixView<const Real>> {
                             if (arriving.IsWhole()) return std::nullopt;
                             return arriving.Next();
                           });
    if (!on_step(i, step, Asked{arriving.num_entries(), is_closed})) return;
  }
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_INPUTS_ON_DEMAND_H_
