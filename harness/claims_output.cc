#include "harness/claims_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/claims_judge.h"
#include "harness/claims_quantities.h"
#include "harness/result_schema.h"
#include "harness/validity.h"

namespace attnbench {
namespace {

// ---- the document -----------------------------------------------------------

Json ReadingJson(const Reading& reading) {
  Json labels = Json::object();
  for (const auto& [name, value] : reading.labels.items()) {
    if (!value.is_null()) labels[name] = value;
  }
  Json json = {{"value", NumberJson(reading.value)},
               {"interval", nullptr},
               {"labels", std::move(labels)}};
  if (reading.interval) {
    json["interval"] = {NumberJson(reading.interval->low),
                        NumberJson(reading.interval->high)};
  }
  return json;
}

const char* StateName(GroupState state) {
  switch (state) {
    case GroupState::kHolds:
      return "holds";
    case GroupState::kFails:
      return "fails";
    case GroupState::kUndecided:
      return "undecided";
    case GroupState::kNotJudged:
      break;
  }
  return "not judged";
}

Json GroupJson(const ClaimGroup& group) {
  return {{"labels", group.labels},
          {"verdict", StateName(group.state)},
          {"why", group.why.empty() ? Json(nullptr) : Json(group.why)},
          {"readings", group.num_readings},
          {"least", ReadingJson(group.least)},
          {"greatest", ReadingJson(group.greatest)}};
}

Json PartJson(const ClaimPart& part, const PartVerdict& judged) {
  Json groups = Json::array();
  for (const ClaimGroup& group : judged.groups) {
    groups.push_back(GroupJson(group));
  }
  return {{"name", part.name},
          {"role", part.is_beside ? "beside" : "claim"},
          {"unit", part.unit},
          {"rule", part.rule ? part.rule->json : Json(nullptr)},
          {"verdict", judged.verdict.Text()},
          {"groups", std::move(groups)}};
}

// Where the least and the greatest readings of the claim's own parts stand,
// each once.
Json EvidenceJson(const Claim& claim, const std::vector<PartVerdict>& parts) {
  Json evidence = Json::array();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (claim.parts[i].is_beside) continue;
    for (const ClaimGroup& group : parts[i].groups) {
      for (const Reading* reading : {&group.least, &group.greatest}) {
        for (const Json& entry : reading->evidence) {
          if (std::ranges::find(evidence, entry) != evidence.end()) continue;
          evidence.push_back(entry);
        }
      }
    }
  }
  return evidence;
}

std::string BoundText(const Claim& claim) {
  std::string text;
  for (const ClaimPart& part : claim.parts) {
    if (part.is_beside) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", part.name,
                        RuleText(part.rule->json));
  }
  return text;
}

Json ClaimJson(const Claim& claim,
               const std::map<std::string, ClaimDocument>& documents,
               const Json& published, const std::string& remedy) {
  std::vector<PartVerdict> parts;
  Json measured = Json::array();
  for (const ClaimPart& part : claim.parts) {
    const std::string from = part.quantity.at("from");
    parts.push_back(JudgePart(
        part, ReadQuantity(part, documents.at(from), published), remedy));
    measured.push_back(PartJson(part, parts.back()));
  }
  return {{"id", claim.id},
          {"source", claim.source},
          {"claim", claim.claim},
          {"measured", std::move(measured)},
          {"bound", BoundText(claim)},
          {"verdict", JudgeClaim(claim, parts, remedy).Text()},
          {"evidence", EvidenceJson(claim, parts)}};
}

// Times that mean nothing in one measurement mean nothing in the ledger.
void TakeValidity(const std::map<std::string, ClaimDocument>& documents,
                  Json& context) {
  for (const auto& [name, document] : documents) {
    const Json& of = FieldOf(document.json, "context");
    if (of.is_null()) continue;
    for (const Json& reason : of.at("invalid_reasons")) {
      context["valid"] = false;
      context["invalid_reasons"].push_back(name + ": " +
                                           reason.get<std::string>());
    }
    Json& warnings = context["warnings"];
    for (const Json& warning : of.at("warnings")) {
      if (std::ranges::find(warnings, warning) == warnings.end()) {
        warnings.push_back(warning);
      }
    }
  }
}

// ---- for people -------------------------------------------------------------

std::string NumberText(const Json& value) {
  return value.is_number() ? fmt::format("{:.3g}", value.get<double>())
         : value.is_null() ? "-"
                           : value.get<std::string>();
}

std::string ReadingText(const Json& reading) {
  const Json& interval = reading.at("interval");
  if (interval.is_null()) return NumberText(reading.at("value"));
  return fmt::format("{} [{}, {}]", NumberText(reading.at("value")),
                     NumberText(interval[0]), NumberText(interval[1]));
}

// The least and the greatest of all groups.
std::string FigureText(const Json& part) {
  const Json* least = nullptr;
  const Json* greatest = nullptr;
  const auto value = [](const Json& reading) {
    return NumberOf(reading.at("value"));
  };
  for (const Json& group : part.at("groups")) {
    const Json& low = group.at("least");
    const Json& high = group.at("greatest");
    if (low.at("value").is_null()) continue;
    if (least == nullptr || value(low) < value(*least)) least = &low;
    if (greatest == nullptr || value(high) > value(*greatest)) {
      greatest = &high;
    }
  }
  if (least == nullptr) return "-";
  const std::string low = ReadingText(*least);
  const std::string high = ReadingText(*greatest);
  return low == high ? low : low + " .. " + high;
}

// Without the reason where the claim's own verdict ends in it.
std::string Shortened(const std::string& verdict, const std::string& of_claim) {
  const std::string_view kind = "not measurable here";
  const bool is_said =
      verdict.starts_with(kind) &&
      of_claim.ends_with(std::string_view(verdict).substr(kind.size() + 2));
  return is_said ? std::string(kind) : verdict;
}

std::string PartText(const Json& part, const std::string& verdict_of_claim) {
  const std::string verdict = Shortened(part.at("verdict"), verdict_of_claim);
  const bool is_beside = part.at("role") == "beside";
  std::string text =
      fmt::format("    {}{}: {} {}", is_beside ? "beside: " : "",
                  part.at("name").get<std::string>(), FigureText(part),
                  part.at("unit").get<std::string>());
  const Json& rule = part.at("rule");
  if (!rule.is_null()) text += fmt::format("; {}: {}", RuleText(rule), verdict);
  return text + "\n";
}

}  // namespace

Json ClaimsResult(const ClaimsLedger& ledger,
                  const std::map<std::string, ClaimDocument>& documents,
                  const Json& published, Json context,
                  const std::string& remedy) {
  TakeValidity(documents, context);
  Json claims = Json::array();
  for (const Claim& claim : ledger.claims) {
    claims.push_back(ClaimJson(claim, documents, published, remedy));
  }
  return {{"schema_version", kSchemaVersion},
          {"kind", "claims"},
          {"context", std::move(context)},
          {"claims", std::move(claims)}};
}

std::string ClaimsText(const Json& result) {
  std::string text;
  std::vector<std::pair<std::string, int>> counts = {
      {"hold", 0},
      {"fail", 0},
      {"hold only if", 0},
      {"not measurable here", 0}};
  for (const Json& claim : result.at("claims")) {
    const std::string verdict = claim.at("verdict");
    const std::size_t kind = verdict == "holds"                     ? 0
                             : verdict == "fails"                   ? 1
                             : verdict.starts_with("holds only if") ? 2
                                                                    : 3;
    ++counts[kind].second;
    text +=
        fmt::format("{:<23} {}\n  {} ({})\n", claim.at("id").get<std::string>(),
                    verdict, claim.at("claim").get<std::string>(),
                    claim.at("source").get<std::string>());
    for (const Json& part : claim.at("measured"))
      text += PartText(part, verdict);
  }
  std::string sum;
  for (const auto& [name, count] : counts) {
    sum += fmt::format("{}{} {}", sum.empty() ? "" : ", ", count, name);
  }
  text += fmt::format("{} claims: {}; {}\n", result.at("claims").size(), sum,
                      ValidityText(result.at("context")));
  for (const Json& warning : result.at("context").at("warnings")) {
    text += "  warning: " + warning.get<std::string>() + "\n";
  }
  return text;
}

}  // namespace attnbench
