// The result documents of kinds "gap" and "model_gap".
// results/schema/gap.schema.json and model_gap.schema.json are made from them.
#ifndef ATTNBENCH_HARNESS_GAP_RESULT_H_
#define ATTNBENCH_HARNESS_GAP_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/document.h"
#include "harness/machine/context.h"
#include "harness/results/sweep_result.h"
#include "harness/training/checkpoint.h"

namespace attnbench {

// A total variation, the mean over decoders or outputs, with its interval.
struct GapEstimate {
  double value = 0;
  double low = 0, high = 0;
  double floor = 0;

  static void Fields(auto& self, auto& visit) {
    const Rule share{.minimum = 0, .maximum = 1};
    visit("value", self.value, share);
    visit("low", self.low, share);
    visit("high", self.high, share);
    visit("floor", self.floor,
          Rule{.description = "the total variation that sampling error alone "
                              "gives",
               .minimum = 0});
  }
};

// Something of each part of a gap (gap.h).
template <class T>
struct GapParts {
  T removed_noise = {}, mean_field = {}, threshold = {}, total = {},
    lattice = {};

  static void Fields(auto& self, auto& visit) {
    visit("removed_noise", self.removed_noise,
          Rule{.description = "the expectation with noise on energies to that "
                              "without"});
    visit("mean_field", self.mean_field,
          Rule{.description = "the expectation to the entries of the sampled "
                              "process; of outputs at its mean state and "
                              "context"});
    visit("threshold", self.threshold,
          Rule{.description = "the sampled process to the threshold process"});
    visit("total", self.total,
          Rule{.description = "from the first to the last of them"});
    visit("lattice", self.lattice,
          Rule{.description = "the lattice to the sampled process"});
  }
};

// Outputs have one part more than entries.
template <class T>
struct OutputGapParts : GapParts<T> {
  T sampling = {};

  static void Fields(auto& self, auto& visit) {
    GapParts<T>::Fields(self, visit);
    visit("sampling", self.sampling,
          Rule{.description = "p(y | mean context) to the mean of "
                              "p(y | context)"});
  }
};

template <class T>
struct OfParts {
  GapParts<T> entries = {};
  OutputGapParts<T> outputs = {};
};

struct GapRow : OfParts<GapEstimate> {
  std::optional<std::int64_t> output = {};

  static void Fields(auto& self, auto& visit) {
    visit("output", self.output,
          Rule{.description = "from 1", .minimum = 1, .absent_if_unset = true});
    visit("entries", self.entries,
          Rule{.description = "of the entry that the output chooses, or none"});
    visit("outputs", self.outputs, Rule{.description = "of the output itself"});
  }
};

struct GapPoint {
  double sharpness = 1, feedback = 0;
  double kept_mass = 1;
  GapRow mean = {};
  std::vector<GapRow> rows = {};

  static void Fields(auto& self, auto& visit) {
    visit("sharpness", self.sharpness,
          Rule{.description = "what energies are multiplied by", .minimum = 0});
    visit("feedback", self.feedback,
          Rule{.description = "what the last context is multiplied by when the "
                              "state reads it"});
    visit("kept_mass", self.kept_mass,
          Rule{.description = "the least mass that a decoder's lattice had at "
                              "its last output; the rest was given up",
               .minimum = 0});
    visit("mean", self.mean,
          Rule{.description = "over the outputs of all decoders"});
    visit("rows", self.rows,
          Rule{.description = "a row for each output, each the mean over "
                              "decoders",
               .min_items = 1});
  }
};

struct DecoderSizes {
  std::int64_t memory_length = 80, output_length = 20;  // T, U
  std::int64_t dim = 16, vocabulary = 16;               // d, V

  static void Fields(auto& self, auto& visit) {
    visit("memory_length", self.memory_length, kAtLeastOne);
    visit("output_length", self.output_length, kAtLeastOne);
    visit("dim", self.dim,
          Rule{.description = "numbers of an entry and of a state",
               .minimum = 1});
    visit("vocabulary", self.vocabulary,
          Rule{.description = "symbols, of which an output is one",
               .minimum = 2});
  }
};

struct GapSettings {
  DecoderSizes sizes = {};
  std::int64_t decoders = 4, paths = 4000;
  double noise = 1;
  std::int64_t states = 81;

  static void Fields(auto& self, auto& visit) {
    DecoderSizes::Fields(self.sizes, visit);
    visit("decoders", self.decoders,
          Rule{.description = "random decoders, each with parameters and a "
                              "memory of its own",
               .minimum = 2});
    visit("paths", self.paths,
          Rule{.description = "of each decoder; noise is drawn once for eight",
               .minimum = 1});
    visit("noise", self.noise,
          Rule{.description = "standard deviation of what training adds to "
                              "energies",
               .minimum = 0});
    visit("states", self.states,
          Rule{.description = "that the lattice keeps after an output",
               .minimum = 1});
  }
};

// The gap of random decoders.
struct GapResult {
  static constexpr char kTitle[] = "Result of attnbench gap";

  int schema_version = kSchemaVersion;
  std::string kind = "gap";
  Context context = {};
  GapSettings settings = {};
  std::vector<GapPoint> points = {};

  static void Fields(auto& self, auto& visit) {
    visit("schema_version", self.schema_version, kThisSchemaVersion);
    visit("kind", self.kind, Rule{.one_of = {"gap"}});
    visit("context", self.context);
    visit("settings", self.settings);
    visit("points", self.points, Rule{.min_items = 1});
  }
};

// The mean of a figure over a model's outputs, with an interval of sequences.
struct GapMean {
  double value = 0;
  double low = 0, high = 0;

  static void Fields(auto& self, auto& visit) {
    visit("value", self.value);
    visit("low", self.low);
    visit("high", self.high);
  }
};

// What an output costs, in nats (model_gap.h).
struct GapNats {
  GapMean expectation = {}, mean_field = {}, sampling = {}, sampled = {},
          thresholding = {}, threshold = {}, lattice = {};

  static void Fields(auto& self, auto& visit) {
    visit("expectation", self.expectation,
          Rule{.description = "of training, without noise"});
    visit("mean_field", self.mean_field,
          Rule{.description = "what states of sampled contexts add"});
    visit("sampling", self.sampling,
          Rule{.description = "what the mean of p(y | context) adds"});
    visit("sampled", self.sampled,
          Rule{.description = "of what sampled paths put out: the three "
                              "together"});
    visit("thresholding", self.thresholding,
          Rule{.description = "what the threshold's path adds"});
    visit("threshold", self.threshold,
          Rule{.description = "of the threshold's path: both together"});
    visit("lattice", self.lattice,
          Rule{.description = "of what the lattice puts out"});
  }
};

// How many outputs have another most probable symbol than the target's, as
// shares.
struct GapErrors {
  GapMean expectation = {}, sampled = {}, threshold = {};

  static void Fields(auto& self, auto& visit) {
    visit("expectation", self.expectation);
    visit("sampled", self.sampled);
    visit("threshold", self.threshold);
  }
};

// The gap of a trained model.
struct ModelGap {
  static constexpr char kTitle[] = "Result of attnbench gap --model";

  int schema_version = kSchemaVersion;
  std::string kind = "model_gap";
  Context context = {};
  TrainingRun run = {};
  std::int64_t step = 0;
  std::int64_t sequences = 2, outputs = 0, paths = 1;
  double noise = 0;
  std::optional<std::int64_t> states = {};
  double kept_mass = 1;
  GapRow gap = {};
  GapNats nats = {};
  GapErrors errors = {};

  static void Fields(auto& self, auto& visit) {
    visit("schema_version", self.schema_version, kThisSchemaVersion);
    visit("kind", self.kind, Rule{.one_of = {"model_gap"}});
    visit("context", self.context);
    visit("run", self.run);
    visit("step", self.step, kAtLeastZero);
    visit("sequences", self.sequences,
          Rule{.description = "of its held-out set, from the first on",
               .minimum = 2});
    visit("outputs", self.outputs,
          Rule{.description = "of all of them, end symbols included",
               .minimum = 1});
    visit("paths", self.paths,
          Rule{.description = "of each sequence", .minimum = 1});
    visit("noise", self.noise,
          Rule{.description = "standard deviation of what is added to energies",
               .minimum = 0});
    visit("states", self.states,
          Rule{.description = "that the lattice keeps after an output; absent: "
                              "all",
               .minimum = 1,
               .absent_if_unset = true});
    visit(
        "kept_mass", self.kept_mass,
        Rule{.description = "the least of a sequence's lattice", .minimum = 0});
    visit("gap", self.gap,
          Rule{.description = "total variations, the mean over outputs"});
    visit("nats", self.nats,
          Rule{.description = "of an output, given the target's symbols before "
                              "it"});
    visit("errors", self.errors,
          Rule{.description = "shares of the outputs that are wrong, given the "
                              "target's symbols before them"});
  }
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_GAP_RESULT_H_
