// Makes the measurements that claims read, each once, all sweeps in one program
// with the machine's limits measured once.
#ifndef ATTNBENCH_HARNESS_CLAIMS_MEASURE_H_
#define ATTNBENCH_HARNESS_CLAIMS_MEASURE_H_

#include <map>
#include <optional>
#include <string>

#include "harness/claims_document.h"
#include "harness/claims_ledger.h"

namespace attnbench {

struct ClaimsOptions {
  std::string root;      // of the sources: experiments/ and results/ are in it
  std::string folder;    // where documents go, NAME.json for each measurement
  bool is_kept = false;  // the folder stays, so evidence can name it
  bool quick = false;
  bool force = false;        // replace what is in the folder
  bool resume = false;       // sweeps go on from what is in the folder
  bool judge = false;        // nothing is measured: the folder has it all
  std::string command_line;  // as the user typed it
};

// By the name of the measurement. What cannot be measured here is a document
// without JSON that says why; nothing where the user interrupts. Tells on
// stderr which is being made. Throws UserError as a sweep does.
std::optional<std::map<std::string, ClaimDocument>> MeasureClaims(
    const AxisTable& table, const ClaimsLedger& ledger,
    const ClaimsOptions& options);

// A result of kind "computed": every quantity that the claims read of this
// measurement. results/schema/computed.schema.json is its schema.
Json ComputedDocument(const ClaimsLedger& ledger,
                      const std::string& measurement, const Json& context);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CLAIMS_MEASURE_H_
