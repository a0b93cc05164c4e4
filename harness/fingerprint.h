// Which fields of a result's `context` tell what it was measured with, and in
// what two results differ there. One table says it of every field, so that a
// field that changes from run to run on one machine (load, date, measured
// limits) is never compared: whoever did that saw differences everywhere.
#ifndef ATTNBENCH_HARNESS_FINGERPRINT_H_
#define ATTNBENCH_HARNESS_FINGERPRINT_H_

#include <span>
#include <string>
#include <vector>

#include "harness/axes.h"

namespace attnbench {

struct ContextField {
  const char* name;
  bool is_compared;  // otherwise it informs only
};

// Every field of the context of a sweep.
std::span<const ContextField> ContextFields();

struct FingerprintDifference {
  std::string field;  // "governor", or "libraries.fmt" of a field with members
  Json a;             // null where it is missing
  Json b;
};

// Where the contexts `a` and `b` differ in what is compared, in the table's
// order; of a field with members, each member by itself. A field that is
// missing, as in results from before there was one, is taken for null.
std::vector<FingerprintDifference> FingerprintDifferences(const Json& a,
                                                          const Json& b);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_FINGERPRINT_H_
