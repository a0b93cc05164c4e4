// What training makes of a sequence, the gradients that it is given, and those
// that it makes.
#ifndef ATTNBENCH_MECHANISMS_GRADIENTS_H_
#define ATTNBENCH_MECHANISMS_GRADIENTS_H_

#include <map>
#include <span>
#include <string>

#include "mechanisms/common/array.h"
#include "mechanisms/common/named_views.h"
#include "mechanisms/costs.h"

namespace attnbench {

// What Expect makes of a sequence beside Sequence::contexts. A view without
// data is not wanted.
template <class Real>
struct Expectation {
  MatrixView<Real> attention = {};  // [U, T], the expected weight of each entry
  MatrixView<Real> selection = {};  // [U, T], alpha; of mechanisms that choose
  // [U, T], q, the mass that arrives at each entry (selection.h), which variant
  // `exact` of mechanisms that choose leaves behind. With data, Gradient reads
  // what Expect wrote there from the same inputs in place of making it again,
  // except under `restart`.
  MatrixView<Real> arrived = {};
  BandReport* band = nullptr;  // of variant `banded`, which writes it
};

// dL/d of what Expect makes; a view without data is zero.
template <class Real>
struct Cotangent {
  MatrixView<const Real> attention = {};  // [U, T]
  MatrixView<const Real> contexts = {};   // [U, d]
  MatrixView<const Real> selection = {};  // [U, T]; not of published variants
};

// Gradients of parameters by the names that ParameterSource has, and of the
// scalars "attention.r", "attention.g" and "chunk.g" [1, 1].
template <class Real>
class ParameterGradients {
 public:
  // The array of that name, zero when it is first asked for.
  MatrixView<Real> Matrix(const std::string& name, Index rows, Index cols) {
    Buffer<Real>& values = arrays_[name];
    if (values.empty()) values.resize(Size(rows * cols));
    ATTN_CHECK_EQ(static_cast<Index>(values.size()), rows * cols);
    return {values.data(), rows, cols};
  }
  const std::map<std::string, Buffer<Real>>& arrays() const { return arrays_; }

 private:
  std::map<std::string, Buffer<Real>> arrays_;
};

// A score e(i, j), 0-based.
struct ScorePlace {
  Index output = 0;
  Index entry = 0;
};

// Where Gradient writes dL/d of its inputs. A view without data, or a name that
// is left out, is not wanted.
template <class Real>
struct Gradients {
  // They go by the names of given scores, or of those that states give.
  NamedViews<Real> scores = {};
  // If there are any, a variant that takes a pass for each score (published
  // ones) makes the gradients of these scores alone; those of others are 0.
  std::span<const ScorePlace> only = {};
  MatrixView<Real> memory = {};                    // [T, d]
  MatrixView<Real> states = {};                    // [U, d]
  NamedViews<Real> further = {};                   // of SequenceInputs::further
  std::span<Real> start = {};                      // [T]; empty: not wanted
  ParameterGradients<Real>* parameters = nullptr;  // added to
};

// Writes zeros to all of `gradients` but scores, start and parameters. Gradient
// starts from them, and inputs that it does not read keep them.
template <class Real>
void ZeroInputGradients(const Gradients<Real>& gradients) {
  const auto zero = [](const MatrixView<Real>& view) {
    for (Index r = 0; view.data != nullptr && r < view.rows; ++r) {
      for (Real& value : view.Row(r)) value = 0;
    }
  };
  zero(gradients.memory);
  zero(gradients.states);
  for (const NamedView<Real>& one : gradients.further) zero(one.view);
}

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_GRADIENTS_H_
