// Documents that no measurement made, from which a part of a claim reads a
// number that was chosen beforehand.
#ifndef ATTNBENCH_TESTS_SUPPORT_DOCTORED_CLAIMS_H_
#define ATTNBENCH_TESTS_SUPPORT_DOCTORED_CLAIMS_H_

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "harness/claims_document.h"
#include "harness/claims_ledger.h"
#include "tests/support/made_up_results.h"

namespace attnbench::testing {

inline Json FirstOf(const Json& wanted) {
  return wanted.is_array() ? wanted.at(0) : wanted;
}

// What a rule allows, and what it does not: numbers that every quantity with
// such a rule can be.
inline double Allowed(const ClaimPart& part) {
  const ClaimRule& rule = *part.rule;
  if (std::isinf(rule.high)) return rule.low > 0 ? 2 * rule.low : rule.low + 1;
  if (!std::isinf(rule.low)) return (rule.low + rule.high) / 2;
  if (rule.high > 0) return rule.high / 2;
  return part.unit == "correlation" ? -1 : 0;
}
inline double Forbidden(const ClaimPart& part) {
  const ClaimRule& rule = *part.rule;
  if (!std::isinf(rule.high)) return rule.high + 1;
  return rule.low > 0 ? rule.low / 2 : rule.low - 1;
}

class DoctoredCells {
 public:
  explicit DoctoredCells(const Json& quantity) : quantity_(quantity) {}

  // One that the selector picks, with values for axes that it leaves open.
  Json& Add(const char* side, int point, double time_ns,
            const Json& axes = Json::object()) {
    Json cell = MadeUpCell("soft", point, std::vector<double>(15, time_ns));
    // As many as show what layout does.
    cell["processes"] = 5;
    cell.update({{"energy", "dot"}, {"num_contexts", 8}, {"chunk_width", 4}});
    cell.update({{"length", 20}, {"beam", 10}, {"dim", 16}});
    cell.update({{"memory_length", 12}, {"output_length", 12}});
    cell.update(axes);
    for (const auto& [field, wanted] : quantity_.at(side).items()) {
      if (wanted == "greatest") continue;
      if (axes.contains(field)) continue;
      cell[field] = FirstOf(wanted);
    }
    cell["attention_samples_ns"] = std::vector<double>(15, kTime);
    cell["prepare_ns"] = 0;
    cells_.push_back(std::move(cell));
    return cells_.back();
  }
  // Both sides, with this ratio.
  void AddPair(int point, double ratio, const Json& axes = Json::object()) {
    Add("of", point, kTime * ratio, axes);
    Add("to", point, kTime, axes);
  }
  Json Document(const std::string& kind) const {
    return {{"kind", kind}, {"cells", cells_}};
  }

  static constexpr double kTime = 1000;

 private:
  const Json& quantity_;
  std::vector<Json> cells_;
};

// Of the kinds that read cells.
inline std::vector<Json> DoctoredFitCounts() {
  return {{{"energies", 10}, {"chunk_energies", 0}},
          {{"energies", 20}, {"chunk_energies", 4}},
          {{"energies", 40}, {"chunk_energies", 2}},
          {{"energies", 50}, {"chunk_energies", 16}},
          {{"energies", 70}, {"chunk_energies", 8}}};
}

inline void AddFit(const Json& quantity, double value, DoctoredCells& cells) {
  const std::string give = quantity.at("give");
  for (const Json& counts : DoctoredFitCounts()) {
    double time = DoctoredCells::kTime;
    for (const Json& term : quantity.at("terms")) {
      const double slope = give == term ? value : 1;
      time += slope * counts.at(term.get<std::string>()).get<double>();
    }
    // An outlier, for a residual.
    if (give == "residual" && counts.at("chunk_energies") == 16) {
      time *= 1 + 2 * value;
    }
    cells.Add("of", 10, time)["operations"] = counts;
  }
}

inline void AddAlong(const Json& quantity, double value, DoctoredCells& cells) {
  const std::string kind = quantity.at("kind");
  const std::string axis = quantity.at("against").at(0);
  const double center = kind == "break_even" ? value * 50 : 0;
  int step = 0;
  for (const double x : {8.0, 16.0, 32.0}) {
    Json axes = {{axis, x}};
    if (kind == "break_even") {
      axes = {{axis, center * x / 16}, {"memory_length", 100}};
      axes["output_length"] = 100;
    }
    const double ratio = kind == "steps"        ? std::pow(value, step)
                         : kind == "break_even" ? 16 / x
                                                : std::pow(x, value);
    // Points differ in the axis, but where it belongs to one side alone.
    cells.AddPair(kind == "break_even" ? 1 : ++step + 1, ratio, axes);
  }
}

inline void AddGrowth(const Json& quantity, double value,
                      DoctoredCells& cells) {
  const std::string axis = quantity.at("against").at(0);
  const bool is_growth = quantity.at("kind") == "time_growth";
  const std::string field = is_growth ? "time" : quantity.at("field");
  for (const int x : {8, 16}) {
    Json axes = Json::object();
    for (const Json& name : quantity.at("against")) {
      axes[name.get<std::string>()] = x;
    }
    const double figure = is_growth ? (x == 8 ? 1 : value) : std::pow(x, value);
    Json& cell = cells.Add(
        "of", x, field == "time" ? DoctoredCells::kTime * figure : 1, axes);
    if (field == "peak_memory_bytes") {
      cell[field] = figure;
    } else if (field != "time") {
      cell["operations"][field] = figure;
    }
  }
}

inline Json DoctoredCellsDocument(const Json& quantity, double value,
                                  const std::string& kind_of_document) {
  const std::string kind = quantity.at("kind");
  DoctoredCells cells(quantity);
  if (kind == "count") {
    const Json axes = {{"memory_length", 12}, {"output_length", 12}};
    Json& cell = cells.Add("of", 12, 1, axes);
    cell["operations"][quantity.at("field").get<std::string>()] =
        value * FormulaValue(quantity.at("over"), cell);
  } else if (kind == "fit") {
    AddFit(quantity, value, cells);
  } else if (kind == "exponent" || kind == "time_growth") {
    AddGrowth(quantity, value, cells);
  } else if (kind == "place_of_greatest") {
    cells.AddPair(1, 5, {{"memory_length", 8}, {"output_length", 8 * value}});
    cells.AddPair(2, 2, {{"memory_length", 8}, {"output_length", 80 * value}});
  } else if (quantity.contains("against")) {
    AddAlong(quantity, value, cells);
  } else {
    cells.AddPair(10, kind == "ratio_to_published" ? 2 * value : value);
  }
  return cells.Document(kind_of_document);
}

// Of the mechanism, with so many quantities that fail, or that error.
inline Json DoctoredVerify(const Json& quantity, double value) {
  const Json& of = quantity.at("of");
  const bool counts = quantity.at("field") == "failed";
  const auto failed = static_cast<int>(counts ? value : 0);
  Json list = Json::array();
  for (int n = 0; n <= failed; ++n) {
    list.push_back({{"what", FirstOf(of.value("what", Json("attention")))},
                    {"worst", {{"place", "output 1"}}},
                    {"tolerance", 1e-12},
                    {"largest_error", counts ? 0 : value},
                    {"verdict", n < failed ? "failed" : "passed"}});
  }
  Json one = {{"mechanism", of.at("mechanism")},
              {"scores", of.value("scores", "uniform")},
              {"method", of.value("method", "sampling")},
              {"failure", nullptr},
              {"quantities", list}};
  return {{"kind", "verify"}, {"cases", Json::array({one})}};
}

inline Json DoctoredStability(const Json& quantity, double value) {
  Json row = {{"memory_length", 8}, {"output_length", 3}};
  for (const auto& [field, wanted] : quantity.at("of").items()) {
    row[field] = FirstOf(wanted);
  }
  const double over =
      quantity.contains("over") ? FormulaValue(quantity.at("over"), row) : 1;
  row[quantity.at("field").get<std::string>()] = value * over;
  Json document = {{"kind", "stability"}};
  document[quantity.at("list").get<std::string>()] = Json::array({row});
  return document;
}

inline Json DoctoredNamed(const Json& quantity, double value) {
  Json row = {{"name", quantity.at("name")},
              {"labels", quantity.value("of", Json::object())},
              {"value", value},
              {"interval", nullptr}};
  if (quantity.contains("inputs")) row["inputs"] = quantity.at("inputs");
  return {{"kind", quantity.at("kind")}, {"quantities", Json::array({row})}};
}

// A document of the kind that the part reads, from which it reads `value`.
inline ClaimDocument Doctored(const Json& measurement, const ClaimPart& part,
                              double value) {
  const Json& quantity = part.quantity;
  const std::string kind = quantity.at("kind");
  ClaimDocument document{
      .measurement = quantity.at("from"), .file = "doctored.json", .json = {}};
  document.json =
      kind == "verify"      ? DoctoredVerify(quantity, value)
      : kind == "stability" ? DoctoredStability(quantity, value)
      : kind == "computed" || kind == "training"
          ? DoctoredNamed(quantity, value)
          : DoctoredCellsDocument(quantity, value, measurement.at("kind"));
  return document;
}

// Rows of a published table in which the ratio of DoctoredCells' sides is 2.
inline Json DoctoredPublished(const ClaimsLedger& ledger) {
  Json tables = Json::object();
  for (const Claim& claim : ledger.claims) {
    for (const ClaimPart& part : claim.parts) {
      if (part.quantity.at("kind") != "ratio_to_published") continue;
      const std::string column = part.quantity.at("column");
      Json& rows = tables[part.quantity.at("table").get<std::string>()];
      for (const auto& [side, figure] :
           {std::pair("of", 2), std::pair("to", 1)}) {
        Json row = {{"mechanism", part.quantity.at(side).at("mechanism")}};
        row[column] = figure;
        rows.push_back(row);
      }
    }
  }
  return tables;
}

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_DOCTORED_CLAIMS_H_
