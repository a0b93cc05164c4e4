#include "harness/claims_quantities.h"

#include <fmt/format.h>

#include <set>
#include <string>

namespace attnbench {
namespace {

// Whether readings of the part are made of times.
bool IsTimed(const Json& quantity, const ClaimDocument& document) {
  const Json& kind = document.json.at("kind");
  if (kind != "sweep" && kind != "decoder") return false;
  if (quantity.at("kind") == "count") return false;
  return quantity.at("kind") != "exponent" || quantity.at("field") == "time";
}

Readings Read(const ClaimPart& part, const ClaimDocument& document,
              const Json& published) {
  static const std::set<std::string> growth = {"count", "exponent", "fit",
                                               "time_growth"};
  static const std::set<std::string> rows = {"verify", "stability", "computed",
                                             "training"};
  const std::string kind = part.quantity.at("kind");
  if (growth.contains(kind)) return ReadGrowth(part, document);
  if (rows.contains(kind)) return ReadRows(part, document);
  return ReadRatios(part, document, published);
}

}  // namespace

Readings ReadQuantity(const ClaimPart& part, const ClaimDocument& document,
                      const Json& published) {
  if (document.json.is_null()) return {.list = {}, .none = document.none};
  Readings readings = Read(part, document, published);
  const Json& context = FieldOf(document.json, "context");
  const bool is_valid = context.is_null() || context.at("valid").get<bool>();
  if (is_valid || !IsTimed(part.quantity, document)) return readings;
  for (Reading& reading : readings.list) {
    if (!reading.why.empty()) continue;
    reading.why =
        fmt::format("the times of {} are not valid: {}", document.measurement,
                    AxisValueText(context.at("invalid_reasons").at(0)));
  }
  return readings;
}

}  // namespace attnbench
