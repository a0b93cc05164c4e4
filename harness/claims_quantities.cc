#include "harness/claims_quantities.h"

#include <set>
#include <string>

namespace attnbench {

Readings ReadQuantity(const ClaimPart& part, const ClaimDocument& document,
                      const Json& published) {
  if (document.json.is_null()) return {.list = {}, .none = document.none};
  static const std::set<std::string> growth = {"count", "exponent", "fit",
                                               "time_growth"};
  static const std::set<std::string> rows = {"verify", "stability", "computed",
                                             "training"};
  const std::string kind = part.quantity.at("kind");
  if (growth.contains(kind)) return ReadGrowth(part, document);
  if (rows.contains(kind)) return ReadRows(part, document);
  return ReadRatios(part, document, published);
}

}  // namespace attnbench
