// A ledger as far as measuring wants it (experiments/claims.json): its claims,
// and which measurements their parts read. The rules are the judge's
// (plots/analysis/judge). results/schema/claims_ledger.schema.json is its
// schema.
#ifndef ATTNBENCH_HARNESS_CLAIMS_LEDGER_H_
#define ATTNBENCH_HARNESS_CLAIMS_LEDGER_H_

#include <string>
#include <vector>

#include "harness/base/json.h"

namespace attnbench {

struct LedgerPart {
  std::string claim;  // the id
  std::string from;   // the name of the measurement
  Json quantity;
};

struct ClaimsLedger {
  std::string path;
  Json measurements;  // name -> what is made once, however many parts read it
  std::vector<std::string> claims;  // the ids
  std::vector<LedgerPart> parts;
};

// Throws UserError naming file and place for what `schema` does not allow, for
// a claim that is there twice, and for a part that reads a measurement that is
// not there. `schema` is the path of the ledger's schema.
ClaimsLedger ReadClaimsLedger(const std::string& path,
                              const std::string& schema);

// Keeps the claims of these ids, in the ledger's order; all where there are
// none. Throws UserError for an id that is not there.
void KeepClaims(const std::vector<std::string>& ids, ClaimsLedger& ledger);

// The names of the measurements that the claims read, in the ledger's order.
std::vector<std::string> MeasurementsOf(const ClaimsLedger& ledger);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CLAIMS_LEDGER_H_
