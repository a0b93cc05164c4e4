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
                                            "training"};
  return own.contains(quantity) ? quantity == measurement
                                : !own.contains(measurement);
}

LedgerPart PartOf(const std::string& claim, const Json& part,
                  const Json& measurements, const std::string& path) {
  const Json& quantity = part.at("quantity");
  const std::string where = fmt::format("{}: {}, '{}'", path, claim,
                                        part.at("name").get<std::string>());
  const std::string from = quantity.at("from");
  if (!measurements.contains(from)) {
    std::vector<std::string> names;
    for (const auto& [name, value] : measurements.items()) {
      names.push_back(name);
    }
    throw UserError(where, UnknownName("measurement", from, names));
  }
  const std::string kind = quantity.at("kind");
  const std::string made = measurements.at(from).at("kind");
  if (!Fits(kind, made)) {
    throw UserError(where, fmt::format("a quantity {} is not read from {}, a "
                                       "measurement of kind {}",
                                       kind, from, made));
  }
  return {.claim = claim, .from = from, .quantity = quantity};
}

}  // namespace

ClaimsLedger ReadClaimsLedger(const std::string& path,
                              const std::string& schema) {
  const Json json = ReadJsonFile(path);
  CheckSchema(ReadJsonFile(schema), schema, json, path);
  ClaimsLedger ledger{.path = path,
                      .measurements = json.at("measurements"),
                      .claims = {},
                      .parts = {}};
  for (const Json& claim : json.at("claims")) {
    const std::string id = claim.at("id");
    if (Contains(ledger.claims, id)) {
      throw UserError(path, fmt::format("claim {} is there twice", id));
    }
    ledger.claims.push_back(id);
    for (const Json& part : claim.at("parts")) {
      ledger.parts.push_back(PartOf(id, part, ledger.measurements, path));
    }
  }
  return ledger;
}

void KeepClaims(const std::vector<std::string>& ids, ClaimsLedger& ledger) {
  if (ids.empty()) return;
  for (const std::string& id : ids) {
    if (!Contains(ledger.claims, id)) {
      throw UserError("claims", UnknownName("claim", id, ledger.claims));
    }
  }
  std::erase_if(ledger.claims,
                [&](const std::string& id) { return !Contains(ids, id); });
  std::erase_if(ledger.parts, [&](const LedgerPart& part) {
    return !Contains(ids, part.claim);
  });
}

std::vector<std::string> MeasurementsOf(const ClaimsLedger& ledger) {
  std::vector<std::string> names;
  for (const auto& [name, measurement] : ledger.measurements.items()) {
    const auto reads = [&name = name](const LedgerPart& part) {
      return part.from == name;
    };
    if (std::ranges::any_of(ledger.parts, reads)) names.push_back(name);
  }
  return names;
}

}  // namespace attnbench
