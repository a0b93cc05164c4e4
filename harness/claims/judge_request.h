// The request of `attnbench claims` to the judge, a file:
// results/schema/judge_request.schema.json.
#ifndef ATTNBENCH_HARNESS_CLAIMS_JUDGE_REQUEST_H_
#define ATTNBENCH_HARNESS_CLAIMS_JUDGE_REQUEST_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/document.h"
#include "harness/machine/context.h"

namespace attnbench {

// The document of a measurement, or the reason why there is none.
struct MeasuredDocument {
  // The path of the document; if there is none, `none` says why.
  std::optional<std::string> path = {};
  std::optional<std::string> none = {};
  // The path that the verdicts name; none where the document is not kept.
  std::optional<std::string> file = {};

  static void Fields(auto& self, auto& visit) {
    visit("path", self.path);
    visit("file", self.file);
    visit("none", self.none);
  }
};

// The keys are the names of the measurements.
using MeasuredDocuments = std::map<std::string, MeasuredDocument>;

struct JudgeRequest {
  std::string ledger = {};               // the ledger's path
  std::vector<std::string> claims = {};  // the ids of claims; empty for all
  Context context = {};                  // context of the result
  bool quick = false;                    // measured by the quick profiles
  MeasuredDocuments measurements = {};

  static void Fields(auto& self, auto& visit) {
    visit("ledger", self.ledger);
    visit("claims", self.claims);
    visit("context", self.context);
    visit("quick", self.quick);
    visit("measurements", self.measurements);
  }
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CLAIMS_JUDGE_REQUEST_H_
