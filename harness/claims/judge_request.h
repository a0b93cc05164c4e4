// What `attnbench claims` asks the judge for, in a file:
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

// What a measurement gave.
struct MeasuredDocument {
  std::optional<std::string> path =
      {};  // of the document; none: there is none,
  std::optional<std::string> none = {};  // and why
  // The path as the verdicts name it; none: the document is not kept.
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
  std::string ledger = {};               // its path
  std::vector<std::string> claims = {};  // the ids
  Context context = {};                  // of the result of kind "claims"
  // What to do where an interval is too wide to decide; may be empty.
  std::string remedy = {};
  MeasuredDocuments measurements = {};

  static void Fields(auto& self, auto& visit) {
    visit("ledger", self.ledger);
    visit("claims", self.claims);
    visit("context", self.context);
    visit("remedy", self.remedy);
    visit("measurements", self.measurements);
  }
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CLAIMS_JUDGE_REQUEST_H_
