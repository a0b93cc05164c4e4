#include "harness/claims/computed.h"

#include <cmath>

#include "harness/base/error.h"

namespace attnbench {
namespace {

std::vector<NamedQuantity> AllQuantities() {
  std::vector<NamedQuantity> all;
  for (const auto& some :
       {DecodingQuantities(), ClosedFormQuantities(), FormulaQuantities()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

Json NumberJson(double value) {
  return std::isnan(value) ? Json(nullptr) : NumberOrName(value);
}

}  // namespace

Json ComputedRow(const Json& labels, double value) {
  return {{"labels", labels},
          {"value", NumberJson(value)},
          {"interval", nullptr},
          {"why", std::isnan(value) ? Json("not a number") : Json(nullptr)}};
}

Json ComputedRow(const Json& labels, const Estimate& estimate) {
  Json row = ComputedRow(labels, estimate.value);
  row["interval"] = {NumberJson(estimate.interval.low),
                     NumberJson(estimate.interval.high)};
  return row;
}

Json MissingRow(const Json& labels, const std::string& why) {
  Json row = ComputedRow(labels, std::nan(""));
  row["why"] = why;
  return row;
}

std::vector<std::string> ComputedQuantityNames() {
  std::vector<std::string> names;
  for (const NamedQuantity& quantity : AllQuantities()) {
    names.emplace_back(quantity.name);
  }
  return names;
}

std::vector<Json> ComputeQuantity(const std::string& name, const Json& inputs,
                                  std::uint64_t seed) {
  const std::string where = "quantity " + name;
  for (const NamedQuantity& quantity : AllQuantities()) {
    if (name != quantity.name) continue;
    try {
      return quantity.compute(inputs, seed);
    } catch (const Json::exception& error) {
      throw UserError(where, std::string("its inputs are not as it wants "
                                         "them: ") +
                                 error.what());
    }
  }
  throw UserError(where,
                  UnknownName("quantity", name, ComputedQuantityNames()));
}

}  // namespace attnbench
