// A result document as the parts of claims read it: rows that selectors pick,
// labels, and the place of a row as evidence.
#ifndef ATTNBENCH_HARNESS_CLAIMS_DOCUMENT_H_
#define ATTNBENCH_HARNESS_CLAIMS_DOCUMENT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/claims_reading.h"

namespace attnbench {

// What a measurement gave.
struct ClaimDocument {
  std::string measurement = {};  // its name
  Json file = {};                // path of the document; null: it was not kept
  Json json = {};                // null where there is none,
  std::string none = {};         // and why
};

// Element `index` of a list of the document.
Json EvidenceOf(const ClaimDocument& document, const std::string& list,
                std::size_t index);

// A member of a row, "options.NAME" of its options; null where there is none.
const Json& FieldOf(const Json& row, const std::string& name);

// The indices of the rows that match: each field has the value, one of the list
// of values, or, for the text "greatest", the greatest value of the rows that
// match otherwise.
std::vector<std::size_t> SelectRows(const Json& rows, const Json& selector);

// A number as strict JSON has it: "inf" or "-inf" where it is infinite, null
// where it is none; and back, null being NaN.
Json NumberJson(double value);
double NumberOf(const Json& json);

// "max(T, U)", "K d (T + U)" ... of the axes or labels; throws
// std::invalid_argument for a formula that is none.
double FormulaValue(const std::string& formula, const Json& labels);

// Values with the same key together, keys in the order of their first value.
template <class Value>
using KeyedGroups = std::vector<std::pair<Json, std::vector<Value>>>;
template <class Value>
std::vector<Value>& GroupOf(KeyedGroups<Value>& groups, const Json& key) {
  for (auto& [of_group, values] : groups) {
    if (of_group == key) return values;
  }
  return groups.emplace_back(key, std::vector<Value>()).second;
}

// The labels without those of these names.
Json Without(Json labels, const std::vector<std::string>& names);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CLAIMS_DOCUMENT_H_
