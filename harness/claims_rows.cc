#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "harness/claims_cells.h"
#include "harness/claims_quantities.h"
#include "harness/error.h"

namespace attnbench {
namespace {

// What is not finite in a calculation stands as null: it is larger than any
// bound.
double NumberOrInfinity(const Json& value) {
  return value.is_number() ? value.get<double>()
                           : std::numeric_limits<double>::infinity();
}

// ---- verify -----------------------------------------------------------------

// What is asked for, over all cases.
struct VerifySum {
  std::size_t compared = 0;
  double failed = 0;
  double largest_error = 0;
  Json worst;  // evidence: of the first failure, else of the largest error
};

Json EvidenceOfCase(const ClaimDocument& document, std::size_t index,
                    const std::string& place) {
  Json evidence = EvidenceOf(document, "cases", index);
  evidence["place"] =
      fmt::format("{}: {}", evidence["place"].get<std::string>(), place);
  return evidence;
}

void AddQuantity(const Json& quantity, const ClaimDocument& document,
                 std::size_t index, VerifySum& sum) {
  ++sum.compared;
  const bool failed = quantity.at("verdict") != "passed";
  const bool is_exact = !quantity.at("tolerance").is_null();
  const double error =
      is_exact ? NumberOrInfinity(quantity.at("largest_error")) : 0;
  const bool is_worse = sum.worst.is_null() || (failed && sum.failed == 0) ||
                        (sum.failed == 0 && error > sum.largest_error);
  if (is_worse) {
    sum.worst =
        EvidenceOfCase(document, index, quantity.at("worst").at("place"));
  }
  sum.failed += failed ? 1 : 0;
  sum.largest_error = std::max(sum.largest_error, error);
}

Readings ReadVerify(const Json& part, const ClaimDocument& document) {
  const Json& cases = document.json.at("cases");
  const Json what = part.at("of").value("what", Json());
  VerifySum sum;
  for (const std::size_t i :
       SelectRows(cases, Without(part.at("of"), {"what"}))) {
    // A case that could not be computed has compared nothing, and has failed.
    if (!cases[i].at("failure").is_null()) {
      if (sum.failed == 0) {
        sum.worst = EvidenceOfCase(document, i, cases[i].at("failure"));
      }
      ++sum.compared;
      ++sum.failed;
      sum.largest_error = std::numeric_limits<double>::infinity();
      continue;
    }
    for (const Json& quantity : cases[i].at("quantities")) {
      const bool is_wanted =
          what.is_null() ||
          std::ranges::find(what, quantity.at("what")) != what.end();
      if (is_wanted) AddQuantity(quantity, document, i, sum);
    }
  }
  if (sum.compared == 0) {
    return {.list = {},
            .none = "nothing was compared of " + part.at("of").dump()};
  }
  const Json labels = {{"compared", sum.compared}};
  return {
      .list = {ReadingOf(
          labels, part.at("field") == "failed" ? sum.failed : sum.largest_error,
          Json::array({sum.worst}))}};
}

// ---- stability --------------------------------------------------------------

Readings ReadStability(const Json& quantity, const ClaimDocument& document) {
  const std::string list = quantity.at("list");
  const std::string field = quantity.at("field");
  const Json& rows = document.json.at(list);
  Readings readings;
  for (const std::size_t i : SelectRows(rows, quantity.at("of"))) {
    const Json& value = rows[i].at(field);
    Json labels = Json::object();
    for (const auto& [name, label] : rows[i].items()) {
      if (!label.is_array()) labels[name] = label;
    }
    const double over = quantity.contains("over")
                            ? FormulaValue(quantity.at("over"), labels)
                            : 1;
    const Json evidence = Json::array({EvidenceOf(document, list, i)});
    // A ledger has one for each output.
    for (const Json& one : value.is_array() ? value : Json::array({value})) {
      readings.list.push_back(
          ReadingOf(labels, NumberOrInfinity(one) / over, evidence));
    }
  }
  readings.none = "no row is " + quantity.at("of").dump();
  return readings;
}

// ---- quantities by name -----------------------------------------------------

Reading NamedReading(const Json& row, const Json& evidence) {
  Reading reading =
      ReadingOf(row.at("labels"), NumberOf(row.at("value")), evidence);
  const Json& why = FieldOf(row, "why");
  if (!why.is_null()) reading.why = why;
  const Json& interval = FieldOf(row, "interval");
  if (!interval.is_null()) {
    reading.interval =
        Interval{NumberOf(interval.at(0)), NumberOf(interval.at(1))};
  }
  return reading;
}

// Of kinds computed and training: {"quantities": [{"name", "labels", "value",
// "interval"}]}; what was computed says its inputs too.
Readings ReadNamed(const Json& quantity, const ClaimDocument& document) {
  const Json& rows = document.json.at("quantities");
  Json selector = {{"name", quantity.at("name")}};
  if (quantity.contains("inputs")) selector["inputs"] = quantity.at("inputs");
  const Json wanted = quantity.value("of", Json::object());
  Readings readings;
  for (const std::size_t i : SelectRows(rows, selector)) {
    bool matches = true;
    for (const auto& [name, value] : wanted.items()) {
      matches = matches && FieldOf(rows[i].at("labels"), name) == value;
    }
    if (!matches) continue;
    readings.list.push_back(NamedReading(
        rows[i], Json::array({EvidenceOf(document, "quantities", i)})));
  }
  readings.none =
      "it has no quantity " + quantity.at("name").get<std::string>();
  return readings;
}

}  // namespace

Readings ReadRows(const ClaimPart& part, const ClaimDocument& document) {
  const std::string kind = part.quantity.at("kind");
  if (kind == "verify") return ReadVerify(part.quantity, document);
  if (kind == "stability") return ReadStability(part.quantity, document);
  return ReadNamed(part.quantity, document);
}

}  // namespace attnbench
