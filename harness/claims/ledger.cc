#include "harness/claims/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/base/error.h"
#include "harness/base/json_file.h"
#include "harness/base/schema_check.h"

namespace attnbench {
namespace {

// Whether a quantity reads such a measurement: one of its own name, or any that
// has cells.
bool Fits(const std::string& quantity, const std::string& measurement) {
  static const std::set<std::string> own = {"verify", "stability", "computed",
                                            "trained"};
  return own.contains(quantity) ? quantity == measurement
                                : !own.contains(measurement);
}

// Checks that the quantity reads a measurement of its kind, and reads what it
// computes.
void Complete(const OrderedMap<Measurement>& measurements, const Place& place,
              LedgerQuantity& quantity) {
  const auto found = measurements.find(quantity.from);
  if (found == measurements.end()) {
    std::vector<std::string> names;
    for (const auto& [name, one] : measurements) names.push_back(name);
    FailAt(place, UnknownName("measurement", quantity.from, names));
  }
  const std::string& made = found->second.kind;
  if (!Fits(quantity.kind, made)) {
    FailAt(place, fmt::format("a quantity {} is not read from {}, a "
                              "measurement of kind {}",
                              quantity.kind, quantity.from, made));
  }
  if (made != "computed") return;
  quantity.compute =
      ReadQuantity(quantity.name, ToJson(quantity.inputs), place);
}

}  // namespace

std::vector<std::string> ClaimsLedger::Ids() const {
  std::vector<std::string> ids;
  for (const LedgerClaim& claim : claims) ids.push_back(claim.id);
  return ids;
}

std::vector<LedgerQuantity> ClaimsLedger::QuantitiesOf(
    const std::string& measurement) const {
  std::vector<LedgerQuantity> quantities;
  for (const LedgerClaim& claim : claims) {
    for (const LedgerPart& part : claim.parts) {
      if (part.quantity.from == measurement) {
        quantities.push_back(part.quantity);
      }
    }
  }
  return quantities;
}

ClaimsLedger ReadClaimsLedger(const std::string& path,
                              const std::string& schema) {
  const Json json = ReadJsonFile(path);
  CheckSchema(ReadJsonFile(schema), schema, json, path);
  auto ledger = FromJson<ClaimsLedger>(json, path);
  for (LedgerClaim& claim : ledger.claims) {
    if (std::ranges::count(ledger.claims, claim.id, &LedgerClaim::id) > 1) {
      throw UserError(path, fmt::format("claim {} is there twice", claim.id));
    }
    for (LedgerPart& part : claim.parts) {
      const std::string where =
          fmt::format("{}: {}, '{}'", path, claim.id, part.name);
      Complete(ledger.measurements, Place(where), part.quantity);
    }
  }
  return ledger;
}

void KeepClaims(const std::vector<std::string>& ids, ClaimsLedger& ledger) {
  if (ids.empty()) return;
  for (const std::string& id : ids) {
    if (!Contains(ledger.Ids(), id)) {
      throw UserError("claims", UnknownName("claim", id, ledger.Ids()));
    }
  }
  std::erase_if(ledger.claims, [&](const LedgerClaim& claim) {
    return !Contains(ids, claim.id);
  });
}

std::vector<std::string> MeasurementsOf(const ClaimsLedger& ledger) {
  std::vector<std::string> names;
  for (const auto& [name, measurement] : ledger.measurements) {
    if (!ledger.QuantitiesOf(name).empty()) names.push_back(name);
  }
  return names;
}

}  // namespace attnbench
