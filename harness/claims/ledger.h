// The part of a ledger (experiments/claims.json) that measuring needs: its
// claims, and which measurements their parts read. The rules are for the judge
// (plots/analysis/judge). results/schema/claims_ledger.schema.json is its
// schema.
#ifndef ATTNBENCH_HARNESS_CLAIMS_LEDGER_H_
#define ATTNBENCH_HARNESS_CLAIMS_LEDGER_H_

#include <string>
#include <vector>

#include "harness/base/json.h"

namespace attnbench {

struct LedgerPart {
  std::string claim;  // the claim's id
  std::string from;   // the name of the measurement
  Json quantity;
};

struct ClaimsLedger {
  std::string path;
  Json measurements;  // name -> measurement, made once for all parts
  std::vector<std::string> claims;  // the ids of the claims
  std::vector<LedgerPart> parts;
};

// Throws UserError naming file and place if `schema` does not allow something,
// if a claim is there twice, or if a part reads a measurement that is not
// there. `schema` is the path of the ledger's schema.
ClaimsLedger ReadClaimsLedger(const std::string& path,
                              const std::string& schema);

// Keeps the claims of these ids, in the ledger's order; all where there are
// none. Throws UserError for an id that is not there.
void KeepClaims(const std::vector<std::string>& ids, ClaimsLedger& ledger);

// The names of the measurements that the claims read, in the ledger's order.
std::vector<std::string> MeasurementsOf(const ClaimsLedger& ledger);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CLAIMS_LEDGER_H_
