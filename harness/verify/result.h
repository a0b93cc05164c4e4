// The result document of kind "verify". results/schema/verify.schema.json is
// made from it.
#ifndef ATTNBENCH_HARNESS_VERIFY_RESULT_H_
#define ATTNBENCH_HARNESS_VERIFY_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/document.h"
#include "harness/machine/context.h"
#include "harness/results/sweep_result.h"
#include "harness/stats/monte_carlo.h"

namespace attnbench {

inline const Rule kVerdict{.one_of = {"passed", "failed"}};

// A figure that is not finite is null in the document.
struct WorstResult {
  std::string place;
  std::optional<std::int64_t> row = {}, column = {}, previous = {};
  std::optional<double> expected = {}, seen = {}, p_value = {};

  static void Fields(auto& self, auto& visit) {
    visit("place", self.place,
          Rule{.description = "the comparison in one line"});
    visit("row", self.row,
          Rule{.description = "from 1: the output, or the entry of arrays that "
                              "have a row for each",
               .minimum = 1});
    visit("column", self.column,
          Rule{.description = "from 1: the entry, component or context; null "
                              "where no entry was chosen",
               .minimum = 1});
    visit("previous", self.previous,
          Rule{.description = "from 1, of pairs of choices: the entry chosen "
                              "by the output before",
               .minimum = 1});
    visit("expected", self.expected,
          Rule{.description = "by Expect or Gradient; null where it is not "
                              "finite"});
    visit("seen", self.seen,
          Rule{.description = "by the decoder, or by differences of Expect; "
                              "null where it is not finite"});
    visit("p_value", self.p_value,
          Rule{.description = "null of exact comparisons",
               .minimum = 0,
               .maximum = 1});
  }
};

struct QuantityResult {
  std::string what;
  std::int64_t comparisons = 1;
  WorstResult worst;
  std::optional<double> tolerance = {}, largest_error = {};
  double detectable = 0;
  std::string verdict;

  static void Fields(auto& self, auto& visit) {
    visit("what", self.what);
    visit("comparisons", self.comparisons, kAtLeastOne);
    visit("worst", self.worst);
    visit("tolerance", self.tolerance,
          Rule{.description = "of exact comparisons: the largest error "
                              "allowed, over max(1, |expected|)",
               .minimum = 0});
    visit("largest_error", self.largest_error,
          Rule{.description = "of exact comparisons", .minimum = 0});
    visit("detectable", self.detectable,
          Rule{.description = "the smallest discrepancy that would have been "
                              "seen with probability `power`, at the number of "
                              "this quantity where it is largest",
               .minimum = 0});
    visit("verdict", self.verdict, kVerdict);
  }
};

struct CaseResult {
  std::string mechanism, name, method, scores;
  bool from_states = false;
  std::int64_t memory_length = 1, output_length = 1, trials = 0;
  std::vector<QuantityResult> quantities = {};
  std::optional<ChiSquare> chi_square = {};
  std::optional<std::string> failure = {};
  std::string verdict;

  static void Fields(auto& self, auto& visit) {
    visit("mechanism", self.mechanism, kNotEmpty);
    visit("case", self.name, Rule{.description = "axes, options and scores"});
    visit("method", self.method,
          Rule{.description = "decoded once, all outcomes of the sampled "
                              "process, or trials of it",
               .one_of = {"exact", "enumeration", "sampling"}});
    visit("scores", self.scores,
          Rule{.description = "how scores are drawn, or the workload of the "
                              "states"});
    visit("from_states", self.from_states);
    visit("memory_length", self.memory_length, kAtLeastOne);
    visit("output_length", self.output_length, kAtLeastOne);
    visit("trials", self.trials,
          Rule{.description = "sampled, or outcomes enumerated", .minimum = 0});
    visit("quantities", self.quantities);
    visit("chi_square", self.chi_square,
          Rule{.description = "of selection; no part of the verdict"});
    visit("failure", self.failure,
          Rule{.description = "why it could not be computed"});
    visit("verdict", self.verdict, kVerdict);
  }
  // A case without a failure has compared something; one with a failure failed.
  static Json Conditions() {
    const auto of = [](const char* member, Json schema) {
      return Json{{"properties", {{member, std::move(schema)}}}};
    };
    return {{"if", of("failure", {{"type", "null"}})},
            {"then", of("quantities", {{"minItems", 1}})},
            {"else", of("verdict", {{"const", "failed"}})}};
  }
};

struct VerifyResult {
  static constexpr char kTitle[] = "Result of attnbench verify";

  int schema_version = kSchemaVersion;
  std::string kind = "verify";
  Context context = {};
  double false_alarm_rate = 0;
  double power = kPower;
  std::int64_t trials = 1, comparisons = 0, sampled_comparisons = 0;
  std::string verdict, worst;
  std::vector<std::string> not_verified;
  std::vector<CaseResult> cases = {};

  static void Fields(auto& self, auto& visit) {
    visit("schema_version", self.schema_version, kThisSchemaVersion);
    visit("kind", self.kind, Rule{.one_of = {"verify"}});
    visit("context", self.context);
    visit("false_alarm_rate", self.false_alarm_rate,
          Rule{.description = "the probability that a run in which everything "
                              "is right fails",
               .exclusive_minimum = 0,
               .exclusive_maximum = 1});
    visit("power", self.power,
          Rule{.exclusive_minimum = 0, .exclusive_maximum = 1});
    visit("trials", self.trials, kAtLeastOne);
    visit("comparisons", self.comparisons, kAtLeastZero);
    visit("sampled_comparisons", self.sampled_comparisons, kAtLeastZero);
    visit("verdict", self.verdict, kVerdict);
    visit("worst", self.worst,
          Rule{.description = "the worst comparison of all, in one line"});
    visit("not_verified", self.not_verified,
          Rule{.description = "mechanisms without mode expect"});
    visit("cases", self.cases, Rule{.min_items = 1});
  }
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_VERIFY_RESULT_H_
