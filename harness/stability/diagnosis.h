// Says what published ways to compute the training expectation make of a user's
// own p or energies: how wrong each is against the exact one, where it goes
// wrong first, and which bound on the denominator would have been enough.
//
// All numbers are rounded to f32 first, as for `attnbench stability`. The exact
// expectation in f64 is the yardstick. Only a sample is measured of what takes
// long: the first outputs of the first sequence (an output depends on none that
// follows), and the gradients of a few scores of them. The answer names it.
#ifndef ATTNBENCH_HARNESS_STABILITY_DIAGNOSIS_H_
#define ATTNBENCH_HARNESS_STABILITY_DIAGNOSIS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/document.h"
#include "harness/latency/latency.h"
#include "harness/machine/context.h"
#include "harness/stability/inputs.h"
#include "harness/stability/result.h"

namespace attnbench {

// All count from 1.
struct DiagnosedPlace {
  std::int64_t sequence = 1, output = 1;
  std::optional<std::int64_t> entry = {};
  std::optional<std::int64_t> batch = {}, head = {};

  static void Fields(auto& self, auto& visit) {
    visit("sequence", self.sequence, kAtLeastOne);
    visit("batch", self.batch,
          Rule{.description =
                   "index in the batch, from 1, where the array has heads",
               .minimum = 1,
               .absent_if_unset = true});
    visit("head", self.head, Rule{.minimum = 1, .absent_if_unset = true});
    visit("output", self.output, kAtLeastOne);
    visit("entry", self.entry, kAtLeastOne);
  }
};

struct DiagnosedGradient {
  std::int64_t outputs = 0, scores = 0;
  Figure error = {}, relative_error = {};
  std::int64_t not_finite = 0;

  static void Fields(auto& self, auto& visit) {
    visit("outputs", self.outputs,
          Rule{.description = "the first outputs of the first sequence, whose "
                              "attention the gradient is of",
               .minimum = 1});
    visit("scores", self.scores,
          Rule{.description = "the places of them that were compared",
               .minimum = 1});
    visit("error", self.error,
          Rule{.description = "largest |gradient - exact|", .minimum = 0});
    visit("relative_error", self.relative_error,
          Rule{.description = "the same over the largest exact |gradient| of "
                              "these places",
               .minimum = 0});
    visit("not_finite", self.not_finite, kAtLeastZero);
  }
};

struct DiagnosedVariant : AttentionErrors {
  std::string variant = {};
  std::optional<std::string> preset = {};
  std::int64_t sequences = 0, outputs = 0;
  Figure mean_mass_error = {};
  std::optional<DiagnosedPlace> worst = {};
  std::vector<Figure> mass_errors = {};
  Figure moved = {};
  std::optional<DiagnosedPlace> first_wrong = {};
  std::int64_t not_finite = 0;
  std::optional<DiagnosedGradient> gradient = {};

  static void Fields(auto& self, auto& visit) {
    visit("variant", self.variant, kNotEmpty);
    visit("preset", self.preset);
    visit("sequences", self.sequences,
          Rule{.description = "how many were measured, from the first on; 0: "
                              "none, it takes too long",
               .minimum = 0});
    visit("outputs", self.outputs,
          Rule{.description = "of each, from the first on", .minimum = 0});
    AttentionErrors::Fields(self, visit);
    visit("mean_mass_error", self.mean_mass_error,
          Rule{.description = "the same as a mean over outputs", .minimum = 0});
    visit("worst", self.worst, Rule{.description = "where attention_error is"});
    visit("mass_errors", self.mass_errors,
          Rule{.description = "for each output the largest over the sequences "
                              "of exact - sum of attention over the memory: "
                              "mass lost, or made up (negative)"});
    visit("moved", self.moved,
          Rule{.description = "share of the outputs whose largest attention is "
                              "at another entry",
               .minimum = 0,
               .maximum = 1});
    visit("first_wrong", self.first_wrong,
          Rule{.description = "the first output with an error above the "
                              "tolerance, or a number that is not finite"});
    visit("not_finite", self.not_finite, kAtLeastZero);
    visit("gradient", self.gradient,
          Rule{.description = "null where even one output takes too long"});
  }
};

struct DiagnosedMechanism {
  std::string mechanism = {};
  std::int64_t sequences = 1, outputs = 1;
  double hard_distance = 0;
  ThresholdDecoding decoding = {};  // of the same numbers
  std::vector<DiagnosedVariant> variants = {};

  static void Fields(auto& self, auto& visit) {
    visit("mechanism", self.mechanism, kNotEmpty);
    visit("sequences", self.sequences,
          Rule{.description = "how many were measured, from the first on",
               .minimum = 1});
    visit("outputs", self.outputs,
          Rule{.description = "of each, from the first on", .minimum = 1});
    visit("hard_distance", self.hard_distance,
          Rule{.description = "between expected and decoded attention: total "
                              "variation, mean over outputs; 0 where every p "
                              "is 0 or 1",
               .minimum = 0,
               .maximum = 1});
    visit("decoding", self.decoding);
    visit("variants", self.variants);
  }
};

struct DiagnosedForm {
  std::string preset = {};
  double difference = 0;

  static void Fields(auto& self, auto& visit) {
    visit("preset", self.preset, kNotEmpty);
    visit("difference", self.difference,
          Rule{.description = "as that from exact", .minimum = 0});
  }
};

// An alpha that a user's own code made of the same numbers.
struct DiagnosedAlpha {
  std::string file = {};
  double tolerance = 1e-3;
  double off = 0;
  DiagnosedPlace off_at = {};
  double lost_mass = 0;
  std::optional<DiagnosedPlace> first_wrong = {};
  double difference = 0;
  bool is_exact = false;
  std::vector<DiagnosedForm> looks_like = {};
  DiagnosedVariant errors = {};

  static void Fields(auto& self, auto& visit) {
    visit("file", self.file, kNotEmpty);
    visit("tolerance", self.tolerance,
          Rule{.description = "the largest share of its mass by which an "
                              "output may be off",
               .exclusive_minimum = 0,
               .exclusive_maximum = 1});
    visit("off", self.off,
          Rule{.description = "largest sum of |alpha - exact| of an output, "
                              "over the exact sum of its alpha, its mass",
               .minimum = 0});
    visit("off_at", self.off_at);
    visit("lost_mass", self.lost_mass,
          Rule{.description = "largest share of its mass that an output lost",
               .minimum = 0,
               .maximum = 1});
    visit("first_wrong", self.first_wrong,
          Rule{.description = "the first output that is off by more than the "
                              "tolerance"});
    visit("difference", self.difference,
          Rule{.description = "sum of |alpha - exact| of all outputs, over "
                              "their mass",
               .minimum = 0});
    visit("is_exact", self.is_exact,
          Rule{.description = "the difference is no more than rounding"});
    visit("looks_like", self.looks_like,
          Rule{.description = "the published closed forms that are far nearer "
                              "than the exact alpha, if any are"});
    visit("errors", self.errors,
          Rule{.description = "as those of variants, without a gradient"});
  }
};

// A bound that would have been enough: if a closed form clips its denominator
// to this or less, no output loses more than the tolerance of its mass by it,
// beside what outputs before it have lost.
struct DiagnosedBound {
  Figure log10 = {};
  std::optional<DiagnosedPlace> at = {};

  static void Fields(auto& self, auto& visit) {
    visit("log10", self.log10,
          Rule{.description = "its decimal logarithm, 0 where a bound of 1 "
                              "does no harm; null: no bound is "
                              "enough, a p of 1 stands before the mass"});
    visit("at", self.at, Rule{.description = "the output that needs it"});
  }
};

// The exact sum of alpha over the memory, which the attention of every
// mechanism has too: the probability that an output chooses an entry. It is
// below 1 where the sampled process may choose none (MAD, section 2.3).
struct DiagnosedMass {
  double least = 0, greatest = 0, mean = 0;
  std::optional<DiagnosedPlace> at = {};
  std::vector<double> outputs = {};

  static void Fields(auto& self, auto& visit) {
    visit("least", self.least, kAtLeastZero);
    visit("greatest", self.greatest, kAtLeastZero);
    visit("mean", self.mean,
          Rule{.description = "over all outputs", .minimum = 0});
    visit("at", self.at, Rule{.description = "the output of the least"});
    visit(
        "outputs", self.outputs,
        Rule{.description = "the exact sum of alpha over the memory, for each "
                            "output the least over the sequences; below 1 by "
                            "the probability that it chooses no entry",
             .minimum = 0});
  }
};

// How near p is to a decision.
struct DiagnosedChoices {
  double near_zero = 0, near_one = 0;

  static void Fields(auto& self, auto& visit) {
    const Rule share{.minimum = 0, .maximum = 1};
    visit("near_zero", self.near_zero, share);
    visit("near_one", self.near_one, share);
  }
};

struct Diagnosis {
  static constexpr char kTitle[] = "Result of attnbench diagnose";

  int schema_version = kSchemaVersion;
  std::string kind = "diagnosis";
  Context context = {};
  std::string source = {};
  std::vector<std::int64_t> shape = {};
  std::int64_t sequences = 1, output_length = 1, memory_length = 1;
  Precision precision = Precision::kF32;
  double tolerance = 0.01;
  std::optional<std::string> chunk_width = {};
  DiagnosedMass mass = {};
  DiagnosedChoices choices = {};
  DiagnosedBound bound = {};
  Latency expected_latency = {};
  std::vector<DiagnosedMechanism> mechanisms = {};
  std::optional<DiagnosedAlpha> alpha = {};

  static void Fields(auto& self, auto& visit) {
    visit("schema_version", self.schema_version, kThisSchemaVersion);
    visit("kind", self.kind, Rule{.one_of = {"diagnosis"}});
    visit("context", self.context);
    visit("source", self.source, Rule{.one_of = {"p_choose", "energies"}});
    visit("shape", self.shape,
          Rule{.description = "of the array that was given", .min_items = 2});
    visit("sequences", self.sequences, kAtLeastOne);
    visit("output_length", self.output_length,
          Rule{.description = "of the longest sequence", .minimum = 1});
    visit("memory_length", self.memory_length,
          Rule{.description = "of the longest sequence", .minimum = 1});
    visit("precision", self.precision,
          Rule{.description = "of what is measured"});
    visit("tolerance", self.tolerance,
          Rule{.description = "the largest error, and loss of mass, that is "
                              "not called wrong",
               .exclusive_minimum = 0,
               .exclusive_maximum = 1});
    visit("chunk_width", self.chunk_width,
          Rule{.description = "of MoChA, or inf"});
    visit("mass", self.mass, Rule{.may_be_absent = true});
    visit("choices", self.choices,
          Rule{.description = "the shares of p below 0.01 and above 0.99",
               .may_be_absent = true});
    visit("bound", self.bound);
    visit("expected_latency", self.expected_latency,
          Rule{.description = "mean over sequences; ap is the expectation, the "
                              "others are those of the expected delays"});
    visit("mechanisms", self.mechanisms, Rule{.min_items = 1});
    visit("alpha", self.alpha,
          Rule{.description = "of --alpha", .may_be_absent = true});
  }
};

struct DiagnosisRequest {
  std::string source = "p_choose";  // or energies: the table of each sequence
  std::vector<std::int64_t> shape = {};
  // [U, T] of each sequence, U and T >= 1: `source`, and chunk_energies for
  // mechanisms that take them.
  std::vector<StabilityScores> sequences = {};
  std::vector<std::string> mechanisms = {"monotonic"};
  Index chunk_width = 4;  // of MoChA
  bool in_f64 = false;
  double tolerance = 0.01;
  std::uint64_t seed = 1;  // of the cotangent and the sampled places
  // A user's own alpha of each sequence, or nothing.
  std::string alpha_file = {};
  std::vector<Table<double>> alpha = {};
  double mass_tolerance = 1e-3;  // of it: a share of an output's mass
};

// The result, without its context. The sequences are worked on by all threads;
// threads change nothing.
Diagnosis Diagnose(const DiagnosisRequest& request);

// Says how far request.alpha, one table for each sequence, is from the exact
// alpha, and which published closed form it looks like.
//
// An output is wrong if the sum over the entries of |alpha - exact| is more
// than a share of its mass, the exact sum of alpha. A form is named if over all
// outputs it is within 1e-3 of the mass, and ten times nearer than the exact
// alpha, and with it all forms that are at most twice as far as the nearest:
// many clip nothing that tells them apart. An alpha within rounding of the
// exact one looks like none.
// attnbench.torch.check has the same rules.
DiagnosedAlpha DiagnoseAlpha(const DiagnosisRequest& request);

// The answer for people.
std::string DiagnosisText(const Diagnosis& diagnosis);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STABILITY_DIAGNOSIS_H_
