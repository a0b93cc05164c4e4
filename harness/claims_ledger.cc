#include "harness/claims_ledger.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "harness/error.h"
#include "harness/json_file.h"
#include "harness/schema_check.h"

namespace attnbench {
namespace {

ClaimRule RuleOf(const Json& json) {
  ClaimRule rule;
  rule.json = json;
  const Json& kind = json.at("kind");
  if (kind != "at_most") {
    rule.low = json.at(kind == "within" ? "low" : "bound");
  }
  if (kind != "at_least") {
    rule.high = json.at(kind == "within" ? "high" : "bound");
  }
  return rule;
}

ClaimPart PartOf(const Json& json) {
  ClaimPart part{.name = json.at("name"),
                 .is_beside = json.at("role") == "beside",
                 .unit = json.at("unit"),
                 .per = json.value("per", std::vector<std::string>()),
                 .rule = {},
                 .quantity = json.at("quantity")};
  if (json.contains("rule")) part.rule = RuleOf(json.at("rule"));
  return part;
}

Claim ClaimOf(const Json& json) {
  Claim claim{.id = json.at("id"),
              .source = json.at("source"),
              .claim = json.at("claim"),
              .parts = {}};
  for (const Json& part : json.at("parts")) claim.parts.push_back(PartOf(part));
  return claim;
}

// Which quantities read a measurement: those of its name, or any of cells.
bool Fits(const std::string& quantity, const std::string& measurement) {
  const std::set<std::string> own = {"verify", "stability", "computed",
                                     "training"};
  return own.contains(quantity) ? quantity == measurement
                                : !own.contains(measurement);
}

void CheckParts(const ClaimsLedger& ledger, const std::string& path) {
  std::vector<std::string> names;
  for (const auto& [name, measurement] : ledger.measurements.items()) {
    names.push_back(name);
  }
  for (const Claim& claim : ledger.claims) {
    for (const ClaimPart& part : claim.parts) {
      const std::string where =
          fmt::format("{}: {}, '{}'", path, claim.id, part.name);
      const std::string from = part.quantity.at("from");
      if (!Contains(names, from)) {
        throw UserError(where, UnknownName("measurement", from, names));
      }
      const std::string kind = part.quantity.at("kind");
      const std::string made = ledger.measurements.at(from).at("kind");
      if (!Fits(kind, made)) {
        throw UserError(where, fmt::format("a quantity {} is not of {}, which "
                                           "is a measurement of kind {}",
                                           kind, from, made));
      }
    }
  }
}

}  // namespace

std::string RuleText(const Json& rule) {
  const auto number = [&rule](const char* name) {
    return rule.at(name).get<double>();
  };
  if (rule.at("kind") != "within") {
    return fmt::format("{} {}",
                       rule.at("kind") == "at_most" ? "at most" : "at least",
                       number("bound"));
  }
  if (rule.at("low") == rule.at("high")) {
    return fmt::format("exactly {}", number("low"));
  }
  return fmt::format("from {} to {}", number("low"), number("high"));
}

ClaimsLedger ReadClaimsLedger(const std::string& path,
                              const std::string& schema) {
  const Json json = ReadJsonFile(path);
  CheckSchema(ReadJsonFile(schema), schema, json, path);
  ClaimsLedger ledger{.measurements = json.at("measurements"), .claims = {}};
  for (const Json& claim : json.at("claims")) {
    ledger.claims.push_back(ClaimOf(claim));
  }
  CheckParts(ledger, path);
  return ledger;
}

void KeepClaims(const std::vector<std::string>& ids, ClaimsLedger& ledger) {
  if (ids.empty()) return;
  std::vector<std::string> valid;
  for (const Claim& claim : ledger.claims) valid.push_back(claim.id);
  for (const std::string& id : ids) {
    if (!Contains(valid, id)) {
      throw UserError("claims", UnknownName("claim", id, valid));
    }
  }
  std::erase_if(ledger.claims,
                [&](const Claim& claim) { return !Contains(ids, claim.id); });
}

std::vector<std::string> MeasurementsOf(const ClaimsLedger& ledger) {
  std::set<std::string> read;
  for (const Claim& claim : ledger.claims) {
    for (const ClaimPart& part : claim.parts) {
      read.insert(part.quantity.at("from").get<std::string>());
    }
  }
  std::vector<std::string> names;
  for (const auto& [name, measurement] : ledger.measurements.items()) {
    if (read.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace attnbench
