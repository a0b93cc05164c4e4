// The result document of kind "stability". results/schema/stability.schema.json
// is made from it.
#ifndef ATTNBENCH_HARNESS_STABILITY_RESULT_H_
#define ATTNBENCH_HARNESS_STABILITY_RESULT_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/document.h"
#include "harness/base/precision.h"
#include "harness/machine/context.h"
#include "harness/results/sweep_result.h"

namespace attnbench {

// A figure that is not finite is null.
using Figure = std::optional<double>;

// The condition of a schema that these figures are not null if every number was
// finite.
inline Json NumbersIfFinite(std::initializer_list<const char*> figures) {
  Json numbers = Json::object();
  for (const char* figure : figures) numbers[figure] = {{"type", "number"}};
  return {{"if", {{"properties", {{"not_finite", {{"const", 0}}}}}}},
          {"then", {{"properties", std::move(numbers)}}}};
}

// A subject in one precision, and what it was measured on.
struct StabilityLabels {
  std::string mechanism = {}, variant = {};
  std::optional<std::string> preset = {};
  Precision precision = Precision::kF32;
  std::string family = {};
  std::optional<double> chunk_energy_scale = {};
  std::int64_t memory_length = 1, output_length = 1;

  static void Fields(auto& self, auto& visit) {
    visit("mechanism", self.mechanism, kNotEmpty);
    visit("variant", self.variant, kNotEmpty);
    visit("preset", self.preset,
          Rule{.description = "the source of the constants, of a variant that "
                              "takes them"});
    visit("precision", self.precision);
    visit("family", self.family,
          Rule{.description = "how p is drawn: uniform; recommended, "
                              "sigmoid(N(-4, 1)); sharpness_S, sigmoid(S N(0, "
                              "1)); normal, of scores that are no p",
               .not_empty = true});
    visit("chunk_energy_scale", self.chunk_energy_scale,
          Rule{.description = "standard deviation of u, where there are chunk "
                              "energies",
               .exclusive_minimum = 0});
    visit("memory_length", self.memory_length, kAtLeastOne);
    visit("output_length", self.output_length, kAtLeastOne);
  }
};

struct AttentionErrors {
  Figure attention_error = {}, relative_error = {}, mass_error = {};

  static void Fields(auto& self, auto& visit) {
    visit("attention_error", self.attention_error,
          Rule{.description = "largest |attention - exact|; null where a "
                              "number was not finite",
               .minimum = 0});
    visit("relative_error", self.relative_error,
          Rule{.description = "the same, of each output over its largest exact "
                              "entry",
               .minimum = 0});
    visit("mass_error", self.mass_error,
          Rule{.description = "largest |sum of attention over the memory - "
                              "exact|, of an output",
               .minimum = 0});
  }
};

// The errors of attention and selection.
struct StabilityRow : StabilityLabels, AttentionErrors {
  std::int64_t draws = 1;
  Figure selection_error = {};
  std::int64_t not_finite = 0;

  static void Fields(auto& self, auto& visit) {
    StabilityLabels::Fields(self, visit);
    visit("draws", self.draws, kAtLeastOne);
    AttentionErrors::Fields(self, visit);
    visit("selection_error", self.selection_error,
          Rule{.description = "largest |alpha - exact|, of mechanisms that "
                              "choose",
               .minimum = 0});
    visit("not_finite", self.not_finite,
          Rule{.description = "numbers that were NaN or infinite; where any "
                              "was, errors are null",
               .minimum = 0});
  }
  static Json Conditions() {
    return NumbersIfFinite({"attention_error", "relative_error", "mass_error"});
  }
};

// The way of the mass of each output.
struct StabilityLedger : StabilityLabels {
  std::vector<Figure> mass_before = {}, selected = {}, structural_loss = {},
                      numerical_loss = {};
  std::int64_t not_finite = 0;

  static void Fields(auto& self, auto& visit) {
    StabilityLabels::Fields(self, visit);
    visit("mass_before", self.mass_before,
          Rule{.description = "mass that output i starts with: 1, then what "
                              "the variant selected before; = selected + "
                              "structural_loss + numerical_loss; null where "
                              "not finite",
               .minimum = 0,
               .min_items = 1});
    visit("selected", self.selected,
          Rule{.description = "sum of the variant's alpha; null where not "
                              "finite",
               .min_items = 1});
    visit("structural_loss", self.structural_loss,
          Rule{.description = "of that mass, what reaches the end of the "
                              "memory having chosen nothing; null where not "
                              "finite",
               .minimum = 0,
               .min_items = 1});
    visit("numerical_loss", self.numerical_loss,
          Rule{.description = "the rest: what the variant loses, or makes up "
                              "(negative), in this output; null where not "
                              "finite",
               .min_items = 1});
    visit("not_finite", self.not_finite,
          Rule{.description = "outputs whose sum is not finite", .minimum = 0});
  }
};

// What alpha loses as the memory grows. No entry changes alpha before it, so a
// memory of T entries is the first T of a longer one.
struct StabilityLoss : StabilityLabels {
  std::int64_t draws = 1;
  Figure lost = {}, selection_error = {};
  std::optional<std::int64_t> first_length = {};
  std::int64_t not_finite = 0;

  static void Fields(auto& self, auto& visit) {
    StabilityLabels::Fields(self, visit);
    visit("draws", self.draws, kAtLeastOne);
    visit("lost", self.lost,
          Rule{.description = "largest (exact sum of alpha over the memory - "
                              "sum of the variant's), of an output, whose "
                              "whole mass is 1; 0 if none has less",
               .minimum = 0});
    visit("selection_error", self.selection_error,
          Rule{.description = "largest |alpha - exact|", .minimum = 0});
    visit("first_length", self.first_length,
          Rule{.description = "the shortest memory, up to memory_length, over "
                              "which an output loses more than 0.01, or is "
                              "not finite; null if none does",
               .minimum = 1});
    visit("not_finite", self.not_finite,
          Rule{.description = "numbers that were NaN or infinite; where any "
                              "was, lost and selection_error are null",
               .minimum = 0});
  }
  static Json Conditions() {
    return NumbersIfFinite({"lost", "selection_error"});
  }
};

// The errors and sizes of dL/d scores, L = <cotangent, attention>.
struct StabilityGradient : StabilityLabels {
  Figure gradient_error = {}, relative_error = {}, largest_gradient = {};
  double largest_exact = 0;
  std::int64_t not_finite = 0;

  static void Fields(auto& self, auto& visit) {
    StabilityLabels::Fields(self, visit);
    visit("gradient_error", self.gradient_error,
          Rule{.description = "largest |gradient - exact| over all scores",
               .minimum = 0});
    visit("relative_error", self.relative_error,
          Rule{.description = "the same over the largest exact |gradient|",
               .minimum = 0});
    visit("largest_gradient", self.largest_gradient,
          Rule{.description = "largest |gradient|", .minimum = 0});
    visit("largest_exact", self.largest_exact,
          Rule{.description = "largest exact |gradient|", .minimum = 0});
    visit("not_finite", self.not_finite, kAtLeastZero);
  }
};

// A reported figure of others, beside ours: the largest error of a draw, or one
// element of attention. Results of older programs have these; today they are in
// results/published/closed_forms.csv, and a test compares.
struct StabilityPeer {
  std::string test = {}, preset = {}, quantity = {};
  Figure least = {}, median = {}, largest = {};
  std::int64_t draws = 1, not_finite = 0;
  Figure reported = {};

  static void Fields(auto& self, auto& visit) {
    visit("test", self.test, kNotEmpty);
    visit("preset", self.preset, kNotEmpty);
    visit("quantity", self.quantity,
          Rule{.one_of = {"attention_error", "mass_error", "attention"}});
    visit("least", self.least, kAtLeastZero);
    visit("median", self.median, kAtLeastZero);
    visit("largest", self.largest, kAtLeastZero);
    visit("draws", self.draws, kAtLeastOne);
    visit("not_finite", self.not_finite,
          Rule{.description = "draws left out of least, median and largest",
               .minimum = 0});
    visit("reported", self.reported,
          Rule{.description = "by others, of a draw of theirs; null: NaN",
               .minimum = 0});
  }
};

// The longest memory up to which published algorithms of more than linear cost
// are measured.
struct StabilityLimit {
  std::string mechanism = {}, variant = {};
  std::int64_t expect = 1;    // the longest memory in mode expect
  std::int64_t gradient = 1;  // the longest memory in mode gradient

  static void Fields(auto& self, auto& visit) {
    visit("mechanism", self.mechanism, kNotEmpty);
    visit("variant", self.variant, kNotEmpty);
    visit("memory_length", self.expect,
          Rule{.description = "the longest memory of its rows", .minimum = 1});
    visit("memory_length_of_gradients", self.gradient,
          Rule{.description = "and of its gradients", .minimum = 1});
  }
};

struct StabilityResult {
  static constexpr char kTitle[] = "Result of attnbench stability";

  int schema_version = kSchemaVersion;
  std::string kind = "stability";
  Context context = {};
  std::vector<StabilityRow> rows = {};
  std::vector<StabilityLedger> ledger = {};
  std::vector<StabilityLoss> losses = {};
  std::vector<StabilityGradient> gradients = {};
  std::optional<std::vector<StabilityPeer>> peers = {};
  std::vector<StabilityLimit> limits = {};

  static void Fields(auto& self, auto& visit) {
    visit("schema_version", self.schema_version, kThisSchemaVersion);
    visit("kind", self.kind, Rule{.one_of = {"stability"}});
    visit("context", self.context);
    visit("rows", self.rows);
    visit("ledger", self.ledger);
    visit("losses", self.losses, Rule{.may_be_absent = true});
    visit("gradients", self.gradients);
    visit("peers", self.peers, Rule{.absent_if_unset = true});
    visit("limits", self.limits);
  }
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STABILITY_RESULT_H_
