// What training has in common in every mechanism whose attention follows from
// [U, T] tables of scores (soft, monotonic, mocha, matcha): energies from
// states, pre-sigmoid noise, contexts from attention, and all of it backwards.
// A mechanism adds the step between, an AttentionFunction.
//
//   scores(i, j)  given, or a(s(i), h(j)) by the energy function
//   attention     = function(scores)
//   c(i)          = sum over j of attention(i, j) h(j)
//
// With T entries, U outputs and size d this takes O(U T d) from states, and
// O(U T) memory.
#ifndef ATTNBENCH_MECHANISMS_TRAINING_ATTENTION_FUNCTION_H_
#define ATTNBENCH_MECHANISMS_TRAINING_ATTENTION_FUNCTION_H_

#include <memory>
#include <utility>

#include "mechanisms/energy/energy_reference.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

template <class Number>
struct ScoreTables {
  MatrixView<const Number> choice;          // [U, T], p_choose or energies
  bool probabilities = false;               // choice is p_choose
  MatrixView<const Number> chunk_energies;  // [U, T], where they are used
  std::span<const Number> start = {};       // SequenceInputs::start
  int threads = 1;                          // Sequence::threads
};

// dL/d of ScoreTables, written.
template <class Number>
struct ScoreGradients {
  MatrixView<Number> choice;              // [U, T]
  MatrixView<Number> chunk_energies;      // [U, T], where they are used
  std::span<Number> start = {};           // [T]; empty: not wanted
  std::span<const ScorePlace> only = {};  // Gradients::only
};

// Goes from scores to attention and back. One object serves one thread.
template <class Number>
class AttentionFunction {
 public:
  virtual ~AttentionFunction() = default;
  virtual bool has_chunk_energies() const = 0;
  // Writes out.attention [U, T], and what else of `out` has data.
  virtual void Forward(const ScoreTables<Number>& scores,
                       const Expectation<Number>& out) = 0;
  // Writes what of `out` has data, and makes the gradients from dL/d attention,
  // and from dL/d selection where that has data; contexts are not looked at.
  // out.arrived is read, as Mechanism::Gradient does.
  virtual void Gradient(const ScoreTables<Number>& scores,
                        const Cotangent<Number>& cotangent,
                        const Expectation<Number>& out,
                        const ScoreGradients<Number>& gradients) = 0;
};

// T and U, from whichever array of a sequence says so.
struct Lengths {
  Index T = 0;
  Index U = 0;
};
template <class Real>
Lengths LengthsOf(const Sequence<Real>& sequence);

// All states one after another, moved to `joined` where they have padding.
template <class Real>
std::span<const Real> JoinStates(const Sequence<Real>& sequence,
                                 Buffer<Real>& joined);

// A SequenceTrainer by a function. `config` outlives it.
template <class Real>
class FunctionTrainer final : public SequenceTrainer<Real> {
 public:
  FunctionTrainer(const Config& config,
                  std::unique_ptr<AttentionFunction<Real>> function)
      : config_(config), function_(std::move(function)) {}
  void Expect(const Sequence<Real>& sequence,
              const Expectation<Real>& out) override;
  void Gradient(const Sequence<Real>& sequence,
                const Cotangent<Real>& cotangent, const Expectation<Real>& out,
                const Gradients<Real>& gradients) override;

 private:
  const Config& config_;
  std::unique_ptr<AttentionFunction<Real>> function_;
};

// These are Mechanism::Expect and Mechanism::Gradient by a function in Real,
// or, for the variant `reference`, in Wider<Real>, where everything else is in
// scalar loops and that type too.
template <class Real>
void ExpectByFunction(AttentionFunction<Real>& function, const Config& config,
                      const Sequence<Real>& sequence,
                      const Expectation<Real>& out);
template <class Real>
void GradientByFunction(AttentionFunction<Real>& function, const Config& config,
                        const Sequence<Real>& sequence,
                        const Cotangent<Real>& cotangent,
                        const Expectation<Real>& out,
                        const Gradients<Real>& gradients);
template <class Real>
void ExpectByReference(AttentionFunction<Wider<Real>>& function,
                       const Config& config, const Sequence<Real>& sequence,
                       const Expectation<Real>& out);
template <class Real>
void GradientByReference(AttentionFunction<Wider<Real>>& function,
                         const Config& config, const Sequence<Real>& sequence,
                         const Cotangent<Real>& cotangent,
                         const Expectation<Real>& out,
                         const Gradients<Real>& gradients);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_TRAINING_ATTENTION_FUNCTION_H_
