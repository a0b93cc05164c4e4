#include "harness/claims_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "harness/json_number.h"

namespace attnbench {
namespace {

constexpr char kGreatest[] = "greatest";

bool Has(const Json& wanted, const Json& value) {
  if (!wanted.is_array()) return wanted == value;
  return std::ranges::find(wanted, value) != wanted.end();
}

double Number(const Json& labels, const char* name) {
  return labels.at(name).get<double>();
}

}  // namespace

Json EvidenceOf(const ClaimDocument& document, const std::string& list,
                std::size_t index) {
  const Json& row = document.json.at(list).at(index);
  return {{"measurement", document.measurement},
          {"file", document.file},
          {"point", row.value("point", Json())},
          {"place", fmt::format("{}[{}]", list, index)}};
}

const Json& FieldOf(const Json& row, const std::string& name) {
  static const Json null;
  static const std::string prefix = "options.";
  const bool is_option = name.starts_with(prefix);
  if (is_option && !row.contains("options")) return null;
  const Json& object = is_option ? row.at("options") : row;
  const std::string key = is_option ? name.substr(prefix.size()) : name;
  return object.contains(key) ? object.at(key) : null;
}

std::vector<std::size_t> SelectRows(const Json& rows, const Json& selector) {
  std::vector<std::size_t> selected;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    bool matches = true;
    for (const auto& [field, wanted] : selector.items()) {
      matches = matches &&
                (wanted == kGreatest || Has(wanted, FieldOf(rows[i], field)));
    }
    if (matches) selected.push_back(i);
  }
  for (const auto& [field, wanted] : selector.items()) {
    if (wanted != kGreatest || selected.empty()) continue;
    const auto value = [&rows, &name = field](std::size_t i) -> const Json& {
      return FieldOf(rows[i], name);
    };
    const Json greatest =
        value(*std::ranges::max_element(selected, std::less<>(), value));
    std::erase_if(selected,
                  [&](std::size_t i) { return value(i) != greatest; });
  }
  return selected;
}

Json NumberJson(double value) {
  return std::isnan(value) ? Json(nullptr) : NumberOrName(value);
}

double NumberOf(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json.is_null()) return std::numeric_limits<double>::quiet_NaN();
  return json == "-inf" ? -std::numeric_limits<double>::infinity()
                        : std::numeric_limits<double>::infinity();
}

double FormulaValue(const std::string& formula, const Json& labels) {
  if (formula == "K d (T + U)") {
    return Number(labels, "num_contexts") * Number(labels, "dim") *
           (Number(labels, "memory_length") + Number(labels, "output_length"));
  }
  const double U = Number(labels, "output_length");
  if (formula == "2 U") return 2 * U;
  const double T = Number(labels, "memory_length");
  if (formula == "max(T, U)") return std::max(T, U);
  if (formula == "T + U - 1") return T + U - 1;
  if (formula == "T U / (T + U)") return T * U / (T + U);
  if (formula == "U / T") return U / T;
  const double d = Number(labels, "dim");
  if (formula == "d^2 T U") return d * d * T * U;
  if (formula == "d T U") return d * T * U;
  throw std::invalid_argument("no formula '" + formula + "'");
}

Json Without(Json labels, const std::vector<std::string>& names) {
  for (const std::string& name : names) labels.erase(name);
  return labels;
}

}  // namespace attnbench
