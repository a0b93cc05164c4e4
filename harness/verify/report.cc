#include "harness/verify/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "harness/inputs/declared_inputs.h"

namespace attnbench {
namespace {

// The names of an array's rows and columns.
struct IndexNames {
  const char* row;
  const char* column;
};
IndexNames NamesOf(const std::string& what) {
  if (what.starts_with("gradient of parameter") ||
      what.starts_with("gradient of energy_")) {
    return {"row", "column"};
  }
  const auto name_of = [](char letter) {
    return letter == 'T'   ? "entry"
           : letter == 'U' ? "output"
           : letter == 'K' ? "context"
                           : "component";
  };
  constexpr std::string_view kPrefix = "gradient of ";
  const std::string input =
      what.starts_with(kPrefix) ? what.substr(kPrefix.size()) : what;
  const InputSpec* const declared = FindInput(input);
  const std::string shape = declared != nullptr ? declared->shape
                            : input == "memory" ? "Td"
                            : input == "states" || input == "context" ? "Ud"
                                                                      : "UT";
  return {name_of(shape[0]), name_of(shape[1])};
}

// Whether `a` is worse than `b`: one that could not be computed is worst, then
// the smaller p-value, then the larger discrepancy.
bool IsWorse(const CaseReport& a, const CaseReport& b) {
  const auto rank = [](const CaseReport& report) {
    double p_value = 1;
    double discrepancy = 0;
    if (const Quantity* worst = report.Worst(); worst != nullptr) {
      p_value = worst->worst().p_value;
      discrepancy = std::abs(worst->worst().seen - worst->worst().expected);
      if (std::isnan(discrepancy)) {
        discrepancy = std::numeric_limits<double>::infinity();
      }
    }
    return std::tuple(report.passed(), !report.failure.has_value(), p_value,
                      -discrepancy);
  };
  return rank(a) < rank(b);
}

const char* VerdictText(bool passed) { return passed ? "passed" : "failed"; }

double Scale(double expected) { return std::max(1.0, std::abs(expected)); }

}  // namespace

Quantity Quantity::Exact(std::string what, double tolerance) {
  Quantity quantity;
  quantity.what_ = std::move(what);
  quantity.exact_ = true;
  quantity.tolerance_ = tolerance;
  return quantity;
}

Quantity Quantity::Sampled(std::string what, std::int64_t trials) {
  Quantity quantity;
  quantity.what_ = std::move(what);
  quantity.trials_ = trials;
  return quantity;
}

void Quantity::CompareExact(Index row, Index column, double expected,
                            double seen) {
  const double error = std::abs(seen - expected) / Scale(expected);
  const bool good = error <= tolerance_;  // false for NaN
  ArrayNumber comparison{
      .row = row, .column = column, .expected = expected, .seen = seen};
  comparison.p_value = good ? 1 : 0;
  const bool is_worst = comparisons_ == 0 || !(error <= largest_error_);
  ++comparisons_;
  if (!is_worst || std::isnan(largest_error_)) return;
  worst_ = comparison;
  largest_error_ = error;
}

void Quantity::CompareExact(const Table<double>& expected,
                            const Table<double>& seen) {
  ATTN_CHECK_EQ(expected.values.size(), seen.values.size());
  for (Index r = 0; r < expected.rows; ++r) {
    for (Index c = 0; c < expected.cols; ++c) {
      CompareExact(r, c, expected(r, c), seen(r, c));
    }
  }
}

void Quantity::CompareCount(ArrayNumber at, std::int64_t hits,
                            double rounding) {
  at.seen = static_cast<double>(hits) / static_cast<double>(trials_);
  at.p_value = CountPValue(trials_, hits, at.expected, rounding);
  Add(at);
  if (!hardest_count_.has_value() ||
      std::abs(at.expected - 0.5) < std::abs(*hardest_count_ - 0.5)) {
    hardest_count_ = at.expected;
  }
}

void Quantity::CompareMean(Index row, Index column, double expected,
                           const SampleMean& sample) {
  Add({.row = row,
       .column = column,
       .expected = expected,
       .seen = sample.mean,
       .p_value = MeanPValue(sample, expected)});
  // Any level shows which of the two is harder.
  if (!hardest_mean_.has_value() ||
      MeanDetectable(sample, 1e-9) > MeanDetectable(*hardest_mean_, 1e-9)) {
    hardest_mean_ = sample;
  }
}

void Quantity::Add(const ArrayNumber& comparison) {
  const auto distance = [](const ArrayNumber& one) {
    return std::abs(one.seen - one.expected);
  };
  const bool is_worst = p_values_.empty() ||
                        comparison.p_value < worst_.p_value ||
                        (comparison.p_value == worst_.p_value &&
                         distance(comparison) > distance(worst_));
  if (is_worst) worst_ = comparison;
  p_values_.push_back(comparison.p_value);
  ++comparisons_;
}

void Quantity::Judge(double threshold, double level) {
  if (exact_) {
    passed_ = comparisons_ > 0 && worst_.p_value > 0;
    detectable_ = tolerance_;
    return;
  }
  passed_ = comparisons_ > 0 && worst_.p_value > threshold;
  detectable_ = 0;
  if (hardest_count_.has_value()) {
    detectable_ = CountDetectable(trials_, *hardest_count_, level);
  }
  if (hardest_mean_.has_value()) {
    detectable_ = std::max(detectable_, MeanDetectable(*hardest_mean_, level));
  }
}

QuantityResult Quantity::Result() const {
  const auto one_based = [](Index index) {
    return index < 0 ? std::nullopt : std::optional(index + 1);
  };
  QuantityResult result = {.what = what_,
                           .comparisons = comparisons_,
                           .worst = {.place = WorstText(),
                                     .row = one_based(worst_.row),
                                     .column = one_based(worst_.column),
                                     .previous = one_based(worst_.previous),
                                     .expected = worst_.expected,
                                     .seen = worst_.seen},
                           .detectable = detectable_,
                           .verdict = VerdictText(passed_)};
  if (exact_) {
    result.tolerance = tolerance_;
    result.largest_error = largest_error_;
  } else {
    result.worst.p_value = worst_.p_value;
  }
  return result;
}

std::string Quantity::WorstText() const {
  const IndexNames names = NamesOf(what_);
  std::string place = what_;
  if (worst_.row >= 0) {
    place += fmt::format(", {} {}", names.row, worst_.row + 1);
  }
  const auto add = [&](Index index, const char* after) {
    if (index == kNoEntry) place += fmt::format(", no entry{}", after);
    if (index < 0) return;
    place += fmt::format(", {} {}{}", names.column, index + 1, after);
  };
  add(worst_.previous, " then");
  add(worst_.column, "");
  const std::string judged =
      exact_ ? fmt::format("error {:.2g} of {:.2g} allowed", largest_error_,
                           tolerance_)
             : fmt::format("p-value {:.2g}", worst_.p_value);
  return fmt::format("{}: expected {}, seen {}, {}", place, worst_.expected,
                     worst_.seen, judged);
}

bool CaseReport::passed() const {
  return !failure.has_value() && !quantities.empty() &&
         std::all_of(quantities.begin(), quantities.end(),
                     [](const Quantity& q) { return q.passed(); });
}

const Quantity* CaseReport::Worst() const {
  const Quantity* worst = nullptr;
  for (const Quantity& quantity : quantities) {
    if (worst == nullptr ||
        std::pair(quantity.passed(), quantity.worst().p_value) <
            std::pair(worst->passed(), worst->worst().p_value)) {
      worst = &quantity;
    }
  }
  return worst;
}

std::string CaseReport::Text() const {
  const std::string name = fmt::format(
      "{}, {} {}{}", verify_case.mechanism, MethodName(verify_case.method),
      verify_case.name, verify_case.from_states ? " (from states)" : "");
  if (failure.has_value()) return fmt::format("{}: {}", name, *failure);
  const Quantity* worst = Worst();
  return fmt::format(
      "{}: {}", name,
      worst == nullptr ? "nothing was compared" : worst->WorstText());
}

CaseResult CaseReport::Result() const {
  CaseResult result = {.mechanism = verify_case.mechanism,
                       .name = verify_case.name,
                       .method = MethodName(verify_case.method),
                       .scores = verify_case.scores,
                       .from_states = verify_case.from_states,
                       .memory_length = verify_case.memory_length,
                       .output_length = verify_case.output_length,
                       .trials = trials,
                       .chi_square = chi_square,
                       .failure = failure,
                       .verdict = VerdictText(passed())};
  for (const Quantity& quantity : quantities) {
    result.quantities.push_back(quantity.Result());
  }
  return result;
}

void JudgeAll(double level, std::vector<CaseReport>& reports) {
  std::vector<double> p_values;
  for (const CaseReport& report : reports) {
    for (const Quantity& quantity : report.quantities) {
      p_values.insert(p_values.end(), quantity.p_values().begin(),
                      quantity.p_values().end());
    }
  }
  const double threshold = HolmThreshold(p_values, level);
  const double of_one =
      level / static_cast<double>(std::max<std::size_t>(1, p_values.size()));
  for (CaseReport& report : reports) {
    for (Quantity& quantity : report.quantities) {
      quantity.Judge(threshold, of_one);
    }
  }
}

VerifyTotals TotalsOf(const std::vector<CaseReport>& reports) {
  VerifyTotals totals;
  for (std::size_t n = 0; n < reports.size(); ++n) {
    for (const Quantity& quantity : reports[n].quantities) {
      totals.comparisons += quantity.comparisons();
      if (!quantity.exact()) totals.sampled += quantity.comparisons();
    }
    if (!reports[n].passed()) ++totals.failed_cases;
    if (IsWorse(reports[n], reports[totals.worst_case])) totals.worst_case = n;
  }
  return totals;
}

VerifyResult MakeVerifyResult(const std::vector<CaseReport>& reports,
                              const VerifyRun& run) {
  const VerifyTotals totals = TotalsOf(reports);
  VerifyResult result = {.context = run.context,
                         .false_alarm_rate = run.false_alarm_rate,
                         .trials = run.trials,
                         .comparisons = totals.comparisons,
                         .sampled_comparisons = totals.sampled,
                         .verdict = VerdictText(totals.failed_cases == 0),
                         .worst = reports.at(totals.worst_case).Text(),
                         .not_verified = run.not_verified};
  for (const CaseReport& report : reports) {
    result.cases.push_back(report.Result());
  }
  return result;
}

}  // namespace attnbench
