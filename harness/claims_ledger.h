// The ledger of claims (experiments/claims.json): what the papers say, which
// measurement tells of it, and the rule by which a number agrees. Data, so that
// a claim is added, or its bound disputed, without a line of code.
// results/schema/claims_ledger.schema.json is its schema.
#ifndef ATTNBENCH_HARNESS_CLAIMS_LEDGER_H_
#define ATTNBENCH_HARNESS_CLAIMS_LEDGER_H_

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "harness/axes.h"

namespace attnbench {

// The numbers that agree with a claim: [low, high].
struct ClaimRule {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  Json json = {};  // as it stands in the ledger

  bool Allows(double value) const { return low <= value && value <= high; }
};

// Of a rule as it stands in the ledger: "at most 1", "from 3.5 to 45".
std::string RuleText(const Json& rule);

struct ClaimPart {
  std::string name = {};
  bool is_beside = false;  // shown, and no part of the verdict
  std::string unit = {};
  std::vector<std::string> per = {};   // labels by which readings are grouped
  std::optional<ClaimRule> rule = {};  // there unless it is beside
  Json quantity = {};
};

struct Claim {
  std::string id = {};
  std::string source = {};
  std::string claim = {};
  std::vector<ClaimPart> parts = {};
};

struct ClaimsLedger {
  Json measurements;  // name -> what is made once, however many parts read it
  std::vector<Claim> claims;
};

// Throws UserError naming file and place for what `schema` does not allow, and
// for a part that reads a measurement that is not there. `schema` is the path
// of the ledger's schema.
ClaimsLedger ReadClaimsLedger(const std::string& path,
                              const std::string& schema);

// Keeps the claims of these ids, in the ledger's order; all where there are
// none. Throws UserError for an id that is not there.
void KeepClaims(const std::vector<std::string>& ids, ClaimsLedger& ledger);

// The names of the measurements that the claims read, in the ledger's order.
std::vector<std::string> MeasurementsOf(const ClaimsLedger& ledger);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CLAIMS_LEDGER_H_
