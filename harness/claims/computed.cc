#include "harness/claims/computed.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/base/error.h"
#include "mechanisms/common/check.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

std::vector<NamedQuantity> AllQuantities() {
  std::vector<NamedQuantity> all;
  for (const auto& some : {DecodingQuantities(), GapQuantities(),
                           ClosedFormQuantities(), FormulaQuantities()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace

Json JsonForm<ExactNumber>::Write(const ExactNumber& number) {
  return std::isnan(number.value) ? Json(nullptr) : NumberOrName(number.value);
}

Json JsonForm<ExactNumber>::Schema(const Rule& /*rule*/) {
  return {
      {"description", "inf and -inf as texts; null: there is no number"},
      {"anyOf", {{{"type", "number"}}, {{"enum", {"inf", "-inf", nullptr}}}}}};
}

ComputedRow::ComputedRow(OrderedMap<Json> the_labels, double number)
    : labels(std::move(the_labels)), value{number} {
  if (std::isnan(number)) why = "not a number";
}

ComputedRow::ComputedRow(OrderedMap<Json> the_labels, const Estimate& estimate)
    : ComputedRow(std::move(the_labels), estimate.value) {
  interval = {{estimate.interval.low}, {estimate.interval.high}};
}

std::vector<std::string> ComputedQuantityNames() {
  std::vector<std::string> names;
  for (const NamedQuantity& quantity : AllQuantities()) {
    names.emplace_back(quantity.name);
  }
  return names;
}

Computation ReadQuantity(const std::string& name, const Json& inputs,
                         const Place& place) {
  for (const NamedQuantity& quantity : AllQuantities()) {
    if (name == quantity.name) return quantity.read(inputs, Place(place, name));
  }
  FailAt(place, UnknownName("quantity", name, ComputedQuantityNames()));
}

std::vector<Computation> ReadQuantities(
    const std::vector<AskedQuantity>& quantities) {
  std::vector<Computation> computations;
  for (const AskedQuantity& one : quantities) {
    const Computation compute =
        ReadQuantity(one.name, ToJson(one.inputs), Place(one.place));
    computations.emplace_back([one, compute](std::uint64_t seed) {
      ComputedRows rows = compute(seed);
      for (ComputedRow& row : rows) {
        row.name = one.name;
        row.inputs = OrderedMap<Json>(one.inputs);
      }
      return rows;
    });
  }
  return computations;
}

Rule AxisRule(const std::string& axis) { return RuleOf(FindAxis(axis, axis)); }

Rule OptionRule(const std::string& mechanism, const std::string& option) {
  const auto& options = FindMechanism<double>(mechanism)->Describe().options;
  const auto spec = std::ranges::find(options, option, &OptionSpec::name);
  ATTN_CHECK(spec != options.end());
  return {.one_of = spec->allowed};
}

}  // namespace attnbench
