// Records what the attention of one translation is asked for, so that its own
// time can be taken without the model around it: Replay goes through the same
// memory, states and forks of hypotheses again.
#ifndef ATTNBENCH_HARNESS_MODEL_ATTENTION_RECORD_H_
#define ATTNBENCH_HARNESS_MODEL_ATTENTION_RECORD_H_

#include <vector>

#include "harness/model/translator.h"

namespace attnbench {

// Counts what was read of the memory, over all outputs of all hypotheses, those
// that were given up on the way included.
struct AttentionReads {
  double outputs = 0;
  double energies = 0;       // StepResult::inspected, of all heads
  double zero_contexts = 0;  // outputs that weighted no entry
  // The number of entries up to the last one that a hypothesis read on its own
  // way, as a mean over the hypotheses of the last step. What others read does
  // not count.
  double furthest = 0;
  // How many entries each hypothesis of the last step had read before each of
  // its outputs (the g(i) of latency/latency.h): the whole memory where a head
  // weighted nothing, and never less than before.
  std::vector<std::vector<double>> delays;
};

template <class Real>
class AttentionRecord {
 public:
  // Translates, greedily where `beam` is 1. What was captured for the task
  // outlives this.
  AttentionRecord(Translator<Real>& translator, const TranslationTask& task,
                  Index beam);

  // Makes all contexts of the translation again, its keys included.
  void Replay(BeamAttention<Real>& attention);
  // Does the same, and counts what is read.
  AttentionReads Reads(BeamAttention<Real>& attention);

  Index memory_length() const { return memory_length_; }

 private:
  // Calls on_step(parents) after each step.
  template <class OnStep>
  void ReplaySteps(BeamAttention<Real>& attention, const OnStep& on_step);

  const bool alone_;
  const CapturedScores* const captured_;
  Index dim_ = 0;
  Index memory_length_ = 0;
  Buffer<Real> memory_;                      // [T, d]
  std::vector<std::vector<Index>> parents_;  // of each step, one a row
  Buffer<Real> states_;                      // of all steps, [rows, d] each
  Buffer<Real> contexts_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MODEL_ATTENTION_RECORD_H_
