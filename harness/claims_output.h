// The ledger with its verdicts, as a result document and for people.
#ifndef ATTNBENCH_HARNESS_CLAIMS_OUTPUT_H_
#define ATTNBENCH_HARNESS_CLAIMS_OUTPUT_H_

#include <map>
#include <string>

#include "harness/claims_document.h"
#include "harness/claims_ledger.h"

namespace attnbench {

// Reads, judges and writes down every claim: a result of kind "claims", whose
// schema is results/schema/claims.schema.json. `context` becomes invalid with
// every measurement that is. `published` as for ReadQuantity; `remedy` as for
// JudgePart.
Json ClaimsResult(const ClaimsLedger& ledger,
                  const std::map<std::string, ClaimDocument>& documents,
                  const Json& published, Json context,
                  const std::string& remedy);

// The document as a table: a claim with its verdict, and a line for each part.
std::string ClaimsText(const Json& result);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CLAIMS_OUTPUT_H_
