// Answers whether another attention than soft pays in a decoder of some shape.
// The answer tells what attention alone gains, what the whole decoder gains,
// how late its outputs come, and at which length each mechanism becomes faster.
// It is a pure function of a sweep of whole decoders (AdviceRequest says
// which).
#ifndef ATTNBENCH_HARNESS_ANSWERS_ADVICE_H_
#define ATTNBENCH_HARNESS_ANSWERS_ADVICE_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/latency/latency.h"
#include "harness/results/sweep_result.h"
#include "harness/stats/statistics.h"
#include "harness/sweep/request.h"
#include "harness/sweep/workload_name.h"

namespace attnbench {

// One sequence of T entries and U outputs.
struct AdvisedShape {
  std::int64_t memory_length = 400, output_length = 400, dim = 256, beam = 1;
  std::int64_t vocabulary = 1000, layers = 2, chunk_width = 4;
  std::int64_t num_contexts = 32;
  std::string energy = "additive", encoder = "timed";
  double memory_read = 1;  // by scans

  static void Fields(auto& self, auto& visit) {
    visit("memory_length", self.memory_length, kAtLeastOne);
    visit("output_length", self.output_length, kAtLeastOne);
    visit("dim", self.dim, kAtLeastOne);
    visit("beam", self.beam, kAtLeastOne);
    visit("vocabulary", self.vocabulary, kAtLeastOne);
    visit("layers", self.layers, kAtLeastOne);
    visit("chunk_width", self.chunk_width, kAtLeastOne);
    visit("num_contexts", self.num_contexts, kAtLeastOne);
    visit("energy", self.energy);
    visit("encoder", self.encoder);
    visit("memory_read", self.memory_read,
          Rule{.description = "share of the memory that scans read",
               .minimum = kLeastShare,
               .maximum = 1});
  }
};

// The trained model that shape and share of the memory are from, and how its
// own decoding by the threshold went.
struct AdvisedModel : ThresholdDecoding {
  std::string text = {};  // for people

  static void Fields(auto& self, auto& visit) {
    visit("text", self.text, kNotEmpty);
    ThresholdDecoding::Fields(self, visit);
  }
};

inline constexpr std::int64_t kMostAdvisedLength = 20'000;
inline constexpr double kLeastRead = 0.9;

// A time, and how many times as fast as with soft attention that is, with the
// intervals of 95 percent.
struct AdvisedTime {
  double time_ns = 0;
  std::optional<Interval> time_interval_ns = {};
  double speedup = 1;
  std::optional<Interval> speedup_interval = {};

  static void Fields(auto& self, auto& visit) {
    visit("time_ns", self.time_ns, kAboveZero);
    visit("time_interval_ns", self.time_interval_ns);
    visit("speedup", self.speedup, kAboveZero);
    visit("speedup_interval", self.speedup_interval);
  }
};

// From which T on attention alone is faster than soft attention, where U grows
// with T: between the two measured lengths, about at `about`, linear in ln T
// and in the logarithm of the ratio. None for an end beyond what was measured.
struct BreakEven {
  std::optional<std::int64_t> above, below;
  std::optional<double> about;

  static void Fields(auto& self, auto& visit) {
    visit("above", self.above);
    visit("below", self.below);
    visit("about", self.about);
  }
};

struct AdvisedMechanism {
  std::string mechanism = {};  // "mocha w=4"; "none": without attention
  // Why there is no time.
  std::optional<std::string> message = {};
  std::optional<AdvisedTime> attention = {}, decoder = {};
  std::optional<double> energies_per_output = {};
  std::optional<double> memory_read = {}, zero_contexts = {};
  // It read kLeastRead of what scans are to read of the memory
  // (AdvisedShape::memory_read), as trained weights do, and left no more than
  // kMostZeroContexts of its outputs without a context.
  bool is_as_trained = false;
  std::optional<Latency> latency = {};  // of one that decodes online
  std::optional<BreakEven> break_even = {};

  static void Fields(auto& self, auto& visit) {
    visit("mechanism", self.mechanism);
    visit("message", self.message);
    visit("attention", self.attention);
    visit("decoder", self.decoder);
    visit("energies_per_output", self.energies_per_output);
    visit("memory_read", self.memory_read);
    visit("zero_contexts", self.zero_contexts);
    visit("is_as_trained", self.is_as_trained);
    visit("latency", self.latency);
    visit("break_even", self.break_even);
  }
};

// The document (results/schema/advice.schema.json).
struct Advice {
  static constexpr char kTitle[] = "Result of attnbench advise";

  int schema_version = kSchemaVersion;
  std::string kind = "advice";
  SweepContext context;
  AdvisedShape shape;
  std::optional<AdvisedModel> model = {};
  std::vector<std::int64_t> lengths;  // T that were measured, ascending
  // Of a decoder's time with soft attention.
  std::optional<double> attention_share;
  std::vector<AdvisedMechanism> mechanisms;
  std::string conclusion;

  static void Fields(auto& self, auto& visit) {
    visit("schema_version", self.schema_version, kThisSchemaVersion);
    visit("kind", self.kind, Rule{.one_of = {"advice"}});
    visit("context", self.context);
    visit("shape", self.shape);
    visit("model", self.model, Rule{.absent_if_unset = true});
    visit("lengths", self.lengths, kAtLeastOne);
    visit("attention_share", self.attention_share, kAtLeastZero);
    visit("mechanisms", self.mechanisms);
    visit("conclusion", self.conclusion);
  }
};

// The sweep to measure: whole decoders without attention and with each
// mechanism, of a source with T symbols and an empty one, at T and at a quarter
// and a sixteenth of it, with U in proportion.
SweepRequest AdviceRequest(const AdvisedShape& shape);

// Throws UserError where soft attention has no time.
Advice AdviceOf(const SweepResult& result, const AdvisedShape& shape);

// What `advise` prints: whether it is valid, the table, and the conclusion.
std::string AdviceText(const Advice& advice);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_ANSWERS_ADVICE_H_
