// Makes the measurements that claims read, each once, all sweeps in one program
// with the machine's limits measured once.
#ifndef ATTNBENCH_HARNESS_CLAIMS_MEASURE_H_
#define ATTNBENCH_HARNESS_CLAIMS_MEASURE_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/claims/judge_request.h"
#include "harness/claims/ledger.h"

namespace attnbench {

struct ClaimsOptions {
  std::string root;      // of the sources, with experiments/ and results/
  std::string folder;    // for documents, NAME.json for each measurement
  bool is_kept = false;  // the folder stays, so evidence can name it
  bool quick = false;
  bool force = false;   // replace what is in the folder
  bool resume = false;  // sweeps go on from what is in the folder
  bool judge = false;   // measure nothing: take everything from the folder
  std::vector<std::string> builds = {};  // relinks that measure sweeps in turn
  // Folders of Eigen for the program of MAD's authors; none: the default.
  std::vector<std::string> eigens = {};
  std::string command_line;  // as the user typed it
};

// A measurement that cannot be made here has no path, and says why; nothing
// comes back if the user interrupts. Tells on stderr which is being made.
// Throws UserError as a sweep does; with `judge`, also if the folder has none
// of the documents, or a sweep's document has other cells than the measurement,
// or not all of them.
std::optional<MeasuredDocuments> MeasureClaims(const ClaimsLedger& ledger,
                                               const ClaimsOptions& options);

// Whether the claims read times of the program of MAD's authors.
bool MeasuresAuthors(const ClaimsLedger& ledger);

// Builds and times that program with these folders of Eigen, and gives the exit
// code of the script that does it (experiments/authors/measure.py), which says
// what is wrong. With the argument --ready it only looks whether it can.
int RunAuthors(const std::vector<std::string>& eigens,
               std::vector<std::string> arguments);

// Every quantity that the claims read of this measurement, each once.
ComputedResult ComputedDocument(const ClaimsLedger& ledger,
                                const std::string& measurement,
                                const Context& context);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CLAIMS_MEASURE_H_
