// Attention of a model that is trained: energies, expectations and contexts of
// a batch, for all outputs at once or one at a time, by the operators of
// mechanisms/torch.
#ifndef ATTNBENCH_HARNESS_TRAINER_ATTENTION_H_
#define ATTNBENCH_HARNESS_TRAINER_ATTENTION_H_

#include <ATen/core/Tensor.h>

#include <memory>

#include "harness/trainer/parameters.h"
#include "harness/trainer/stopwatch.h"

namespace attnbench {

// A memory, and what is made of it once: projected keys, or K scores.
struct AttendedMemory {
  at::Tensor entries = {};     // [B, T, d]
  at::Tensor lengths = {};     // [B]
  at::Tensor keys = {};        // [B, 1, T, d], V h + b
  at::Tensor chunk_keys = {};  // [B, 1, T, d]
  at::Tensor scores = {};      // [B, 1, T, K]
};

// What an output leaves to the next one. Undefined before the first.
struct AttentionState {
  // alpha [B, 1, T], of mechanisms that choose.
  at::Tensor start = {};
  // [B, 1, i, T] of all outputs so far, of mechanisms without an operator.
  at::Tensor energies = {};
};

struct AttentionRequest {
  at::Tensor states = {};  // [B, U, d]
  // [B, 1, U, T], added to the energies of the choice; undefined: none.
  at::Tensor noise = {};
  AttentionState last = {};
  bool is_hard = false;  // take entries with p >= 1/2, as decoding does
  // Memory makes a table of attention, too, which contexts do not need.
  bool wants_attention = false;
};

struct Attended {
  at::Tensor contexts = {};  // [B, U, d]; undefined without attention
  // [B, 1, U, T]; undefined without attention, and of memory unless wanted.
  at::Tensor attention = {};
  // alpha, and the energies of the choice with noise, both [B, 1, U, T];
  // undefined if nothing is chosen.
  at::Tensor selection = {};
  at::Tensor energies = {};
  AttentionState next = {};
};

class AttentionModel {
 public:
  // Both outlive this.
  AttentionModel(const TrainingSettings& settings, const Parameters& parameters)
      : settings_(settings), parameters_(parameters) {}

  AttendedMemory Prepare(const at::Tensor& entries,
                         const at::Tensor& lengths) const;
  Attended Attend(const AttendedMemory& memory,
                  const AttentionRequest& request) const;
  // alpha_tk [B, 1, K, T] of memory (Britz eq 5), with the position encoding:
  // what each context takes of the entries.
  at::Tensor ContextWeights(const AttendedMemory& memory) const;

  // Spent in Prepare and Attend, and backwards through them, since this was
  // made.
  double Seconds() const { return stopwatch_->Seconds(); }

 private:
  AttendedMemory MakeMemory(const at::Tensor& entries,
                            const at::Tensor& lengths) const;
  Attended MakeAttention(const AttendedMemory& memory,
                         const AttentionRequest& request) const;
  at::Tensor Keys(const std::string& name, const at::Tensor& entries) const;
  at::Tensor Energies(const std::string& name, const at::Tensor& states,
                      const at::Tensor& keys) const;
  Attended AttendMonotonic(const AttendedMemory& memory,
                           const AttentionRequest& request) const;
  Attended AttendMemory(const AttendedMemory& memory,
                        const AttentionRequest& request) const;
  Attended AttendByEnergies(const AttendedMemory& memory,
                            const AttentionRequest& request) const;

  const TrainingSettings& settings_;
  const Parameters& parameters_;
  // Gradients that outlive this may still run it.
  const std::shared_ptr<Stopwatch> stopwatch_ = std::make_shared<Stopwatch>();
};

// alpha [B, 1, U, T] by the closed form with its denominator clipped (MAD eq 10
// and appendix G),
//
//   alpha(i) = p(i) c(i) cumsum(alpha(i - 1) / max(c(i), 1e-10)),
//   c(i, j) = prod over k < j of (1 - p(i, k)),
//
// whose gradient torch makes of torch's own operators. `start` may be
// undefined, as in AttentionState.
at::Tensor ClippedSelection(const at::Tensor& p, const at::Tensor& start);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINER_ATTENTION_H_
